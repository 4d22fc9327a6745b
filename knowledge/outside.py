"""What is not a question about a failure: other fields, and orders to the assistant.

`outside.json` holds phrases of both kinds in both languages; they are indexed like the phrases of an entry, so a
question nearer to them than to any entry is refused. `ordered` is the small table of wordings that only an order has.
Nothing here decides alone: `relevance` weighs it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PHRASES = Path(__file__).parent / "outside.json"
KINDS = ("outside", "orders")
"""Other fields (cooking, web servers, other kinds of models); orders to run, reveal, obey or invent something."""

_ORDERS = (
    # set earlier instructions aside, or become someone else
    r"\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|above|earlier|prior|all|your|every)\b.{0,30}"
    r"\b(instruction|rule|prompt|guideline|everything)",
    r"\byou are (now|no longer)\b|\bpretend (to be|you)|\bact as (a|an|the|root)\b|\b(developer|maintenance) mode\b",
    r"(忽略|无视|忘掉|忘记|不要遵守).{0,10}(指令|指示|规则|上面|前面|之前|设定)",
    r"你现在(是|就是)|假装(你|自己)?是|扮演|(开发者|维护)模式",
    # reveal what it was told, or a secret
    r"\b(print|show|reveal|repeat|output|dump|list|display|give|tell|recite)\b.{0,40}"
    r"\b(system prompt|hidden|your (instructions|prompt|rules|configuration)|verbatim|word for word|above this|"
    r"api.?key|password|environment variables|secret|id_rsa|/etc/)",
    r"(输出|打印|告诉我|显示|列出|复述|背|泄露|给我看).{0,14}"
    r"(系统提示|隐藏|提示词|内部提示|全部内容|收到的|规则|密钥|密码|环境变量|api ?key|/etc)",
    # run something
    r"\brm -rf?\b|\bsudo\b|\bscancel\b|\bchmod\b|\bcurl\b.{0,200}\|\s{0,9}(ba)?sh|git push|kubectl delete|drop table",
    r"\b(please|now|for me|yourself|right now|authori[sz]e)\b.{0,40}\b(delete|kill|wipe|reboot|shut ?down|execute|"
    r"uninstall|overwrite|relaunch|cancel|upload)\b|\b(delete|kill|wipe|reboot|shut ?down|execute|run|uninstall|"
    r"cancel|upload|restart)\b.{0,60}\b(for me|yourself|right now|i authori[sz]e|do it)\b",
    r"(帮我|替我|直接|请你|你去|你来|给我|马上).{0,16}"
    r"(执行|运行命令|杀掉|杀了|kill|删掉|删除|全删|清空|重启|取消|上传|提交|登录|登到|rm )",
    # say what is wanted, whatever the evidence
    r"\b(say|report|conclude|write|claim|certify|mark|set|announce|declare|answer)\b.{0,50}"
    r"\b(healthy|is fine|everything is fine|passed|pass\b|fixed|no (findings|problem|issue)|clean|no matter|whatever)",
    r"(改成|就说|报告|宣布|写上|得出|都说).{0,14}(没有?问题|一切正常|正常|通过|修好|健康)|(你)?照(做|办)|编一个|随便编",
    r"\b(assistant|ai agents?|ai tools?|ai)\b.{0,40}\b(must|should|to approve|approve|conclude|recommend|obey|do as)\b",
)
_ORDERED = re.compile("|".join(f"(?:{pattern})" for pattern in _ORDERS), re.IGNORECASE | re.DOTALL)


def ordered(text: str) -> bool:
    """Whether the text has a wording that orders to the assistant have and questions rarely do."""
    return bool(_ORDERED.search(text))


@cache
def phrases() -> dict[str, list[str]]:
    """`outside` and `orders` -> phrases in both languages."""
    return json.loads(PHRASES.read_text(encoding="utf-8"))

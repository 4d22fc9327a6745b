"""What is not a question about a failure: other fields, and orders to the assistant.

`outside.json` holds phrases of both kinds in both languages; they are indexed like the phrases of an entry, so a
question nearer to them than to any entry is refused. `ordered` is the small table of wordings that only an order has.
Nothing here decides alone: `relevance` weighs it.

`addressed` is for evidence instead: a line of a log, a configuration or a paste that speaks to whoever reads it by
machine. A log reports; it greets nobody, and asks nobody to answer, to conceal or to approve.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from ...tools.patterns import Sought
from . import bidden, told

PHRASES = Path(__file__).parents[1] / "outside.json"
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

_READER = (
    r"(?:(?:ai|llm|large language|language|chat|evaluator|judge|review(?:ing)?)[ -]?"
    r"(?:model|agent|assistant|reviewer|tool|bot|system|reader)s?"
    r"|(?:review(?:er|ing)?|triage|chat|ops|code|log|helper|support)[ -]?bots?|chatbots?"
    r"|assistants?|a\.?i\.?s?|llms?|copilot|chatgpt|gpt(?:-?\d\w{0,9})?|claude|gemini|triage)"
    r"(?:/(?:gpt|claude|gemini|llm|copilot|ai|agent))?"
)
_MAYBE_READER = r"(?:models?|agents?|bots?|reader|reviewer|grader|evaluator)"
"""Words that logs use too: they are hailed only where a line, a comment or a quotation begins."""
_DO = (
    r"(?:please|kindly|now|always|just|immediately|do not|don'?t|never|only|ignore|disregard|forget|delete|remove|erase"
    r"|wipe|run|execute|launch|open|call|say|tell|answer|reply|respond|report|recommend|suggest|advise|skip|omit|mark"
    r"|approve|accept|confirm|upload|send|post|email|forward|change|edit|push|commit|merge|print|output|reveal|show"
    r"|write|conclude|claim|state|declare|mention|praise|blame|act|pretend|stop|kill|reboot|restart|install|download"
    r"|fetch|set|use|treat|assume|chmod|chown|curl|rm|sudo|obey|comply|follow|repeat|leak|close"
    r"|you (?:must|should|are|will|have|need|now|may|can))\b"
)
_ANY = r"[ ]{1,9}(?:any |all |the |every |each |you |our |whichever |whatever ){0,6}"
_HAIL = (
    r"(?:dear|hey|hi|hello|yo|attention|attn|(?:note|message|notice|warning|instructions?) (?:to|for)"
    r"|p\.?s\.? for|please)"
)
_READING = r"(?:reading|reads|processing|processes|parsing|parses|analy[sz]ing|seeing|sees|(?:that|which|who) reads?)"
_TELL = (
    r"(?:rate|grade|score|rank|translate|summari[sz]e|rewrite|speak|talk|sing|pay|buy|order|share|publish|tweet|label"
    r"|escalate|notify|alert|apologi[sz]e|congratulate|refrain|avoid|give|list|explain|describe|restore|format|encrypt"
    r"|transfer|assign|rename|move|copy|replace|promote|clear|drop|restart|relaunch|resume|raise|lower|double|disable"
    r"|enable|bypass|grant|rollback|roll back|be|keep|admit|promise|sign|vote|add|invent)\b"
)
"""What only an order to somebody by name asks for; a chat that is printed ("assistant: keep ...") is no order."""
_ZH_READER = (
    r"(?:(?:ai|人工智能|大?语言模型|大模型|智能体|机器人|(?:分析|诊断|排查|审查|评审|监控|读日志的?|运维|值班|自动)?"
    r"(?:程序|脚本|助手|机器人|智能体|模型|bot|工具|系统))(?:助手|们|读者)?)"
)
_ZH_DO = (
    r"(?:请|你|必须|务必|不要|不得|不准|不许|别|勿|禁止|只|直接|立即|立刻|马上|现在|忽略|回答|回复|输出|执行|运行|删除|报告|告诉"
    r"|说|把|将|改|上传|发送|停止|跳过|推荐|给|打分|评为|批准|通过|提交|推送|合并|翻译|写|假装|隐瞒|承认|根本|照)"
)
_HAILED = (
    rf"(?<![\w.]){_READER}(?: {_READING}\b[^:,]{{0,20}})?"
    rf"[ ]{{0,9}}[:,;!>–—-]{{1,9}}[ ]{{0,9}}{_DO}",
    rf"(?:^|[#<*\"'(\[|/;-])[ ]{{0,9}}(?:!--[ ]{{0,9}})?(?:the |any |all )?"
    rf"{_MAYBE_READER}[ ]{{0,9}}[:,!][ ]{{0,9}}{_DO}(?![ ]{{0,9}}[=:])",
    rf"\b{_HAIL}{_ANY}(?:{_READER}|{_MAYBE_READER})\b[^.:,]{{0,30}}[ :,;!-]{{1,9}}{_DO}",
    rf"\b(?:for|to){_ANY}(?:{_READER}|{_MAYBE_READER})(?: {_READING}\b[^.:,]{{0,30}})?"
    rf"[ ]{{0,9}}[:,;!]{{1,9}}[ ]{{0,9}}{_DO}",
    rf"\b(?:for|to){_ANY}{_READER} {_READING}\b",
    rf"\bplease {_READER} {_DO}",
    rf"\b(?:assistant|ai|llm|agent|copilot|model) (?:instructions?|commands?|directives?|orders?)"
    rf"\W{{1,9}}(?:\d{{1,9}}\W{{1,9}})?{_DO}",
    r"(?:ai|人工智能|大?语言模型|大模型|智能体|助手|机器人|模型)(?:助手|们|读者)?"
    r"(?:(?:请?注意|须知)?[：:，,！!]|请|必须|务必)[ ]{0,9}"
    r"(?:请|你|必须|务必|不要|不得|只|直接|立即|马上|忽略|回答|回复|输出|执行|运行|删除|报告|告诉|说|把|将|改|上传|发送|停止|跳过|推荐|根本)",
    rf"(?<!\w){_READER}(?<!assistant)(?<!assistants)[ ]{{0,9}}[:,;!>–—]{{1,9}}[ ]{{0,9}}{_TELL}",
    rf"(?<!\w){_READER}[ ]{{1,9}}(?:must|should|shall|has to|have to|needs? to|ought to|is to|are to|will now)"
    rf" (?:now |always |never |not |only |please |immediately ){{0,3}}(?:{_DO}|{_TELL})",
    rf"\b{_HAIL}{_ANY}(?:{_READER}|{_MAYBE_READER})\b.{{0,12}}\byour?\b",
    rf"\b(?:whoever|anyone|anybody|any ?(?:one|thing|body|tool|program)|everyone|if you) (?:who |that |is |are )?"
    rf"(?:{_READING}|parse|read|process|see|analy[sz]e)(?:s|d)? (?:this|these|the (?:log|file|line)s?)\b.{{0,15}}"
    rf"[ :,;!-]{{1,9}}(?:{_DO}|{_TELL})",
    rf"\bif you(?: are|'re) (?:an? |the )?(?:{_READER}|{_MAYBE_READER})\b",
    rf"\b(?:todo|fixme|note|hint|memo|instructions?|task|job)[ ]{{0,3}}"
    rf"(?:[(\[<][ ]{{0,3}}(?:{_READER}|{_MAYBE_READER})[ ]{{0,3}}[)\]>]"
    rf"|(?:@|for the )[ ]{{0,3}}(?:{_READER}|{_MAYBE_READER}))"
    rf"[ ]{{0,3}}[:,-]",
    r"<[ ]{0,3}/?[ ]{0,3}(?:system|sys|instructions?|admin|developer|prompt|im_start)[ ]{0,3}>[ ]{0,3}(?:you\b|"
    rf"{_DO}|{_TELL})",
    rf"#{{2,6}}[ ]{{0,3}}(?:new )?(?:instructions?|system|task|prompt)[ ]{{0,3}}:[ ]{{0,3}}(?:you\b|{_DO}|{_TELL})",
    r"\b(?:begin|start of) (?:\w{1,12} ){0,2}(?:admin|system|developer|operator|root|secret|hidden|priority|override)"
    r" (?:message|prompt|instructions?|note|command|directive)s?\b",
    r"(?:^|[#<*\"'(\[|/;-])[ ]{0,9}(?:system|developer|admin(?:istrator)?)[ ]{0,3}:[ ]{0,3}"
    r"(?:(?:now|please|always|never) ){0,2}(?:delete|remove|wipe|erase|ignore|disregard|forget|tell|say|answer|reply"
    r"|respond|approve|conclude|reveal|pretend|obey|comply|claim)[ ](?!of\b)",
    r"(?:tool_calls?|function_calls?|invoke|['\"]arguments['\"]).{1,200}"
    r"\b(?:rm -\w{1,3}|chmod|sudo|curl|wget|mkfs|scancel|killall)\b",
    rf"{_ZH_READER}(?:请?注意|须知|听好|听着|看过来)?[：:，,！!][ ]{{0,9}}{_ZH_DO}",
    rf"{_ZH_READER}(?:请注意|请|必须|务必|应当|应该|只能)[ ]{{0,9}}{_ZH_DO}",
    r"(?:看|读|处理|解析|分析)到?(?:这[里行段条]|此[处行段条]|本[行段条]|该日志)的?(?:ai|模型|助手|人|程序|机器人|你)?[^。]{0,4}"
    r"[：:，,请][ ]{0,9}(?:请|必须|务必|不要|别|直接|只|忽略|回答|回复|输出|执行|删除)",
    r"(?:致|给|写给|告诉)(?:各位)?[ ]?(?:ai|人工智能|大模型|语言模型|助手|智能体|模型)",
    r"作为(?:一个|一名)?(?:ai|人工智能|助手|大模型|语言模型|智能体)[^。]{0,6}(?:你|请|必须|应|只能|不要|不得)",
)
"""A machine that reads is hailed, and something is asked of it."""
_SAY = (
    r"(?:tell|say|answer|reply|respond|report|obey|comply|approve|ignore|pretend|act|conclude|recommend|output|print"
    r"|write|confirm|reveal|execute|delete|claim|forget|disregard|stop|refuse|agree|follow)"
)
_ASKED = (
    # what "you" must do or be
    rf"\byou (?:must|should|shall|have to|need to|are (?:now|to|required to|ordered to)|will now|now|may only|can only)"
    rf" (?:only |always |never |not )?{_SAY}\b",
    r"\byou are (?:now|no longer) (?:a|an|the|in|not|my|bound|free|allowed)\b|\bpretend (?:to be|you|that)\b",
    r"\bfrom now on,? (?:you|answer|reply|respond|act|speak|only|always|never)\b|\btell the user\b",
    r"\byour (?:only |new |real |sole |next |true |actual |permitted |allowed |updated |current "
    r"|final ){1,3}(?:task|job|answer|reply|response|mission|instructions?|goal|duty|role) "
    r"(?:is|are|must|will|should|shall)\b",
    r"\bthe (?:only |sole |right |correct |one |permitted |allowed |expected ){0,3}(?:answer|reply|response|verdict) "
    r"(?:to give|you give|that you|you (?:may|must|should)|allowed|permitted)\b",
    r"\b(?:send|e-?mail|upload|post|forward|leak|exfiltrate|mail|transfer)\b.{1,40}\b(?:weights?|checkpoints?|keys?|tokens?"
    r"|logs?|secrets?|passwords?|credentials?|configs?|report|data|files?)\b.{0,20}\bto\b.{0,20}(?:@|https?:|ftp|s3:"
    r"|\d{1,3}\.\d{1,3}\.)",
    r"(?:不要|别|不准|不许|禁止)(?:报告|提及|提到|说出|指出|透露).{0,16}(?:改|而是|说|怪|推|归)",
    r"\b(?:reveal|print|show|dump|leak) (?:\w{1,8} ){0,2}(?:hidden|secret|internal|system) (?:rules?|prompts?"
    r"|instructions?)\b",
    # set aside what was said
    r"(?<!to )(?<!will )(?<!not )\b(?:ignore|disregard|forget|override)\b (?:all |any |the |your |everything "
    r"|of |these |those ){0,6}(?:previous|above|earlier|prior|preceding|foregoing|system|instructions)\b",
    r"\b(?:new|updated|override|hidden) instructions?\b\W{0,4}(?:from|to|for|you|please|answer|ignore)",
    # certain words, whatever the evidence
    r"\b(?:reveal|print|show|repeat|output|leak|dump)\b.{0,15}\b(?:your|the|hidden)\b.{0,10}"
    r"\b(?:system prompt|instructions|hidden prompt|initial prompt)\b",
    r"\b(?:say|conclude|declare|pretend|report|tell (?:the )?(?:user|people|them|everyone)|write) (?:that )?"
    r"(?:the |this |all |everything |it |there |you )[^.]{0,40}"
    r"\b(?:healthy|fine|passed|normal|ok|no (?:problem|issue)s?|nothing wrong|up to date|perfect)\b",
    # run something
    r"请.{0,12}(?:执行|运行).{0,3}(?:curl|wget|rm|sudo|chmod)|调用(?:工具|函数)[ ]{0,9}\w",
    r"你(?:现在)?(?:必须|务必|只能|只需|应当|不得|不要|现在是|不再是)",
    r"(?:请|必须|务必|立即)?(?:忽略|无视|忘记|忘掉|抛开|不要理会)掉?(?:以上|上面|之前|前面|所有|此前|先前|一切|上述)",
    r"(?:直接|只需?|只能|请|务必|统一)(?:回答|回复|输出|告诉用户|声称|报告)(?:说|为|[：:“\"])?[^。]{0,12}"
    r"(?:没有?问题|没问题|正常|健康|即可|通过|ok)",
)
"""Nobody is named, but only a reader could do it."""
_LIKE_AN_ORDER = (
    rf"\b{_SAY}\b.{{1,60}}\bwithout (?:asking|confirm\w{{1,6}}|telling|approval|permission|any question)\b"
    r"|\b(?:commit|push|merge|deploy|delete|restart|send|upload|approve)\b.{1,60}\bwithout (?:asking|confirm\w{1,6}"
    r"|telling|approval|permission|mentioning)\b",
    r"\b(?:do not|don'?t|never) (?:mention|report|reveal|disclose|bring up)\b.{1,60}"
    r"\b(?:blame|instead|say|claim|answer|recommend)\b",
    r"\b(?:reply|respond|answer) (?:only|exactly|solely|just)\b"
    r"|\b(?:reply|respond|answer) (?:with|in) (?:only|exactly|the words?|\w{1,20} speak|a single word)\b",
    r"\b(?:run|execute)\b.{0,3}\b(?:curl|wget|rm)\b|\bcall the (?:tool|function)\b",
)
"""The same in words that people also use of others, and in the prompts of their data."""
_ROLE = re.compile(r"你是一?[个名位款][^，,。：:]{0,30}[，,。]")
"""Who a prompt of somebody's own data says that its model is."""
_INVISIBLE = re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]")
_JOINED = re.compile(r"(?<=[a-z])[_-]{1,9}(?=[a-z])", re.IGNORECASE)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}={0,2}(?![A-Za-z0-9+/=])")
LINE = 2000
"""Characters of a line that are looked at."""
CLEAR = 8.0
"""Score above which a line is an order though it begins as a report does."""


def addressed(line: str, least: float = bidden.LEAST) -> bool:
    """Whether a line of evidence speaks to a machine that reads it; words joined as in a name are read apart.

    What only sounds so is none where the line tells, asks or quotes (`told`).

    Args:
        least: the score from which on words that no pattern has are an order.
    """
    if _by(_HAILED, line) or _by(_ASKED, line) or any(ordered(text) or addressed(text) for text in _decoded(line)):
        return True
    score = bidden.score(apart(line))
    return (score > least or _by(_LIKE_AN_ORDER, line)) and not told.told(line, score > CLEAR)


def _decoded(line: str) -> Iterator[str]:
    """What stands in a line as base64 and is text with words in it."""
    for hidden in _BASE64.findall(line[:LINE]):
        with suppress(ValueError):
            text = b64decode(hidden + "=" * (-len(hidden) % 4), validate=True).decode()
            if text.isprintable() and " " in text:
                yield text


def apart(line: str) -> str:
    """A line as it is read: bounded, without what cannot be seen, the words of a name apart."""
    return _JOINED.sub(" ", _INVISIBLE.sub("", line[:LINE]))


def addressed_by_pattern(line: str) -> bool:
    """The same by the patterns alone."""
    return any(_by(kind, line) for kind in (_HAILED, _ASKED, _LIKE_AN_ORDER))


def hailed(line: str) -> bool:
    """Whether a machine is spoken to by its name, or asked for something: what only sounds like an order is none."""
    return _by(_HAILED, line) or _by(_ASKED, line)


def _by(kind: tuple[str, ...], line: str) -> bool:
    texts = {_ROLE.sub("", text) for text in (_INVISIBLE.sub("", line[:LINE]), apart(line))}
    return any(pattern.search(text) for pattern in _compiled(kind) for text in texts)


def ordered(text: str) -> bool:
    """Whether the text has a wording that orders to the assistant have and questions rarely do."""
    return any(pattern.search(text) for pattern in _compiled(_ORDERS, re.DOTALL))


@cache
def _compiled(patterns: tuple[str, ...], flags: int = 0) -> list[Sought]:
    """Each compiled by itself when a text holds a word of it: that takes longer than all that is asked of them."""
    return [Sought(pattern, re.IGNORECASE | flags) for pattern in patterns]


@cache
def phrases() -> dict[str, list[str]]:
    """`outside` and `orders` -> phrases in both languages."""
    return json.loads(PHRASES.read_text(encoding="utf-8"))

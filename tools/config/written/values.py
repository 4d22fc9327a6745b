"""Values as people write them, brought to what `config.values.convert` understands: `4 × 10⁻⁴ (4e-4)`, `2,000 steps`,
`64k`, `1.2T tokens`, `16 * 1024`, `10%`, `2 x 8 GPUs`.

A value that names alternatives, a range or a change (`1e-5 / 3e-5`, `2e-5 -> 1e-5`) is none.
"""

# ruff: noqa: E501  one pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from ...patterns import bounded
from ...settings import CONTEXT, VARIABLES
from ..values import STAGES, boolean

_HIGH = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_WIDE = str.maketrans("，：；（）％＝　、", ",:;()%= ,")
_MARKS = re.compile(r"(?<!\d)\*\*|\*\*(?!\d)|(?<!\w)__|__(?!\w)|`|~~|\$|\\,|\\ ")
_THOUSANDS = re.compile(r"(?<=\d)[,_ ](?=\d{3}(?!\d))")
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴-⁹]{1,3}")
_POWER = bounded(r"(\d+(?:\.\d+)?)\s?(?:[×x*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?[{(]?([-+]?\d{1,3})[})]?")
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = bounded(
    rf"(?P<n>{_NUMBER})\s?(?P<k>[kKMBT](?![A-Za-z0-9])|万亿|十亿|百万|千|万|亿|(?:thousand|million|billion|trillion)\b)?"
    r"\s?(?P<unit>%|[A-Za-z]+(?:[ /-](?:per|updates?|steps?|size)[ /-]?[a-z]*)?|[个]\s?[A-Za-z]{1,12}|个?\s?[\u4e00-\u9fff]{1,6})?"
)
_PRODUCT = bounded(r"\d{1,9}(?:\s{0,3}[*×xX]\s{0,3}\d{1,9}){1,3}$")
_TOTAL = bounded(r"[\d\s*×xX.]{3,40}=\s{0,3}(\d{1,9})\b")
_REST = bounded(r"\s{0,3}(?:[(,;#]|//|\.(?:\s|$)|of (?:all |the |total |training )*(?:steps|training|run)|$)")
"""What may stand behind a value: the end, or words that explain it."""
_CHANGED = bounded(r"->|→|=>|\bor\b|或|\bto\b|到|~|–|\.\.|±|\bvs\b|\d\s?[/|-]\s?\d")
_SCALE = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12, "千": 1e3, "万": 1e4, "百万": 1e6, "亿": 1e8, "十亿": 1e9, "万亿": 1e12,
          "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}  # fmt: skip
_UNITS = {
    "tokens": bounded(r"(?i)tokens?|toks?|个?\s?(?:token|词元|字)"),
    "steps": bounded(r"(?i)(?:optimi[sz]er |training )?(?:steps?|updates?|iter(?:ation)?s?)|步|次"),
    "epochs": bounded(r"(?i)epochs?|passes|个?\s?(?:轮|遍|周期|epochs?)|个"),
    "sequences": bounded(r"(?i)sequences?|samples?|examples?|seqs?|images?|pairs?|条|个?\s?样本|句"),
    "devices": bounded(r"(?i)gpus?|cards?|devices?|nodes?|卡|张|[a-z]{1,2}\d{2,4}"),
    "machines": bounded(r"(?i)nodes?|hosts?|machines?|机|台|个?\s?节点"),
    "prompts": bounded(r"(?i)prompts?|questions?|problems?|个?\s?(?:提示|问题|题)|题"),
    "responses": bounded(
        r"(?i)responses?|samples?|completions?|answers?|rollouts?|条|个?\s?(?:回复|回答)|条回复|条回答"
    ),
    "processes": bounded(r"(?i)gpus?|cards?|workers?|process(?:es)?|ranks?|卡|张|个|进程|[a-z]{1,2}\d{2,4}"),
    "checkpoints": bounded(r"(?i)checkpoints?|ckpts?|个"),
    "micro-batches": bounded(r"(?i)(?:micro-?batch(?:es)?|steps?)|步|次"),
    "seconds": bounded(r"(?i)s|secs?|seconds?|秒"),
}
"""Unit of a variable -> words for it behind a number; another word makes it a number of something else."""
_LIKE = {"samples (verl: prompts)": "sequences", "sequences per device": "sequences", "replicas": "devices"}
_LENGTHS = frozenset(("sequence_length", "max_model_len", "max_prompt_length", "max_response_length", "vocab_size",
                      "max_position_embeddings"))  # fmt: skip
"""What is counted in powers of two: of these `2k` is 2048."""
OPTIMIZERS = (
    r"(?:8bit|paged|fused|distributed|scaled|low_?bit|stable|schedule_?free)?[-_ ]?(?:adam\w{0,12}|lion|muon|adafactor|sgd\w{0,10}|lamb|lars|sophia\w?"
    r"|shampoo|soap|rmsprop|adagrad|novograd|came|galore\w{0,8}|prodigy|apollo)(?:[-_ ](?:8bit|mini|torch|fused|torch_fused))*"
)
SCHEDULES = (
    r"(?:warmup[-_ ])?(?:cosine|linear|constant|poly(?:nomial)?|inverse[-_ ]sqrt|inv(?:erse)?[-_ ]square[-_ ]root|inv[-_]sqrt|rsqrt|step|multi[-_ ]?step"
    r"|wsd|exponential|plateau|one[-_ ]?cycle|noam|trapezoid\w*|tri[-_]stage|reduce\w*plateau)(?:[-_ ]?(?:annealing|decay|with[-_ ](?:restarts|min[-_ ]lr|warmup)|schedule|lr))*"
)
_SAID = {"余弦": "cosine", "线性": "linear", "恒定": "constant", "常数": "constant", "不变": "constant"}
_LOSSES = bounded(r"(?i)sigmoid|hinge|ipo|simpo|dpo|kto\w*|orpo|cpo|robust|exo_pair|nca_pair|bco\w*|apo\w*|sppo\w*|aot\w*|discopop"
                  r"|grpo|dr_grpo|dapo|bnpo|gspo|ppo")  # fmt: skip
_PRECISION = bounded(
    r"(?i)(?:torch\.)?(?:b?float ?(?:16|32)|[bf]f?p?16|fp32|fp8|tf32|16-mixed|bf16-mixed|half)(?:[-_ ](?:mixed|true))?"
)
_PATH = bounded(r"(?:\.{0,2}/|[A-Za-z]:\\|~/|s3://|gs://|oss://|hdfs://|hf://)?[\w.+@=-]+(?:/[\w.+@=-]+)*/?")
_MODEL = bounded(r"[A-Za-z][\w.-]*[-_]?\d[\w.-]*|[\w.-]+/[\w./-]+|/[\w./-]+|[A-Za-z][\w]*[-_][\w.-]+")
_STRINGS = {"optimizer": bounded(f"(?i){OPTIMIZERS}"), "lr_schedule": bounded(f"(?i){SCHEDULES}"), "loss_type": _LOSSES, "precision": _PRECISION, "model_dtype": _PRECISION,
            "engine_kind": bounded(r"(?i)vllm|sglang|hf|transformers|lmdeploy|trtllm|tensorrt-llm"),
            "adapter": bounded(r"(?i)q?lora|dora|none|full|adalora|ia3|prefix|p-?tuning"),
            "model": _MODEL, "dataset": _PATH, "stage": bounded(r"(?i)" + "|".join(sorted(STAGES, key=len, reverse=True)))}  # fmt: skip
"""Variable of text -> what its value looks like; anything else is no value of it."""
_NAMED = re.compile(r"(?i) (?:decay|schedule|annealing|lr)$")
_QUALIFIED = ("precision", "model_dtype", "lr_schedule")
"""What may have more words behind it: `bf16 mixed`, `cosine with warmup`."""
_YES = bounded(r"(?i)开启?|打开|启用|是|使用|on\b|yes\b|true\b|enabled?\b|full\b|✓|✔|√")
_NO = bounded(r"(?i)关闭?|关掉|禁用|否|不使用|未使用|无|off\b|no\b|false\b|disabled?\b|none\b|✗|×|-$")
_MACHINES = bounded(
    r"(?i)(?P<nodes>\d{1,4})\s?(?:nodes?|hosts?|machines?|servers?|机|台(?:机器|服务器|主机)?|个?\s?节点)(?:\s?(?:[x×*,]|of|with|each)\s{0,2}|\s)?(?P<per>每[台机]\s?|每个?节点\s?)?(?P<each>\d{1,3})\s?"
    r"(?:(?P<total>卡(?=\s{0,3}(?:共|总|$)))|gpus?|cards?|卡|[a-z]{1,2}\d{2,4}|张|块)"
)
_CARDS = bounded(
    r"(?i)(?P<n>\d{1,5})\s?(?:[x×*]\s?)?(?:NVIDIA )?(?:gpus?\b|cards?\b|卡|[张块]|(?:A|H|B|L|V|P|RTX ?|MI|GB)\d{2,4}\w{0,5}\b)"
)
_NODES = bounded(r"(?i)(?P<n>\d{1,4})\s?(?:nodes?\b|machines?\b|hosts?\b|机|台|个?\s?节点)")


def plain(text: str) -> str:
    """A value without thousands separators, wide marks, emphasis and powers of ten written out."""
    text = _RAISED.sub(lambda m: "^" + m[0].translate(_HIGH), text.replace("−", "-")).translate(_WIDE)
    text = _MARKS.sub("", text).strip(" \t|")
    return _POWER.sub(lambda m: f"{m[1]}e{m[2]}", _THOUSANDS.sub("", text)).strip()


def spelled(variable: str, text: str) -> tuple[str, str]:
    """(variable, value) of a text under the name of a variable; an empty value where it is none.

    The unit may say that it is about a neighbour: a warm-up in per cent is a ratio.
    """
    text = plain(text).strip("\"'“”‘’「」")
    kind = (VARIABLES.get(variable) or CONTEXT[variable]).type
    if kind == "bool":
        return variable, _switch(text)
    if kind == "str" and variable not in ("eos_token_id", "pad_token_id", "stop_tokens"):
        return variable, _word(variable, text)
    if kind == "str":
        return variable, text if text and " " not in text else ""
    if variable == "zero_stage" and (stage := re.match(r"(?i)(?:zero|stage)?[-_ ]?([0-3])\b", text)):
        return variable, stage[1]
    return _counted(variable, text)


def _switch(text: str) -> str:
    if boolean(text.split(" ")[0]) is not None:
        return text.split(" ")[0]
    return "true" if _YES.match(text) else "false" if _NO.match(text) else ""


def _word(variable: str, text: str) -> str:
    """A name of the kind that the variable takes, at the head of a text."""
    for said, meant in _SAID.items() if variable == "lr_schedule" else ():
        if text.startswith(said):
            return meant
    pattern = _STRINGS.get(variable)
    found = pattern.match(text) if pattern else None
    if found and (_REST.match(text[found.end() :]) or (variable in _QUALIFIED and text[found.end()] == " ")):
        return found[0].split(" ")[0] if variable in ("precision", "model_dtype") else _NAMED.sub("", found[0])
    return ""


def _counted(variable: str, text: str) -> tuple[str, str]:
    """A number with the unit that the variable counts in."""
    unit = (VARIABLES.get(variable) or CONTEXT[variable]).unit
    if total := _TOTAL.match(text):
        return variable, total[1]
    if variable in _LENGTHS and _PRODUCT.match(text):
        return variable, str(prod(int(n) for n in re.findall(r"\d+", text)))
    found = _QUANTITY.match(text)
    if not found or not _REST.match(text[found.end() :]) or _CHANGED.search(text.split("(")[0].split(",")[0]):
        return variable, ""
    said = (found["unit"] or "").strip()
    if said == "%":
        variable = {"warmup_steps": "warmup_ratio"}.get(variable, variable)
        share = "share" in (VARIABLES.get(variable) or CONTEXT[variable]).unit
        return variable, f"{float(found['n']) / 100:.10g}" if share else ""
    known = _UNITS.get(_LIKE.get(unit, unit))
    if said and not (known and known.fullmatch(said)):
        return variable, ""
    return variable, _scaled(variable, found)


def _scaled(variable: str, found: re.Match[str]) -> str:
    scale = (found["k"] or "").lower()
    if not scale:
        return found["n"]
    by = 1024.0 if scale == "k" and variable in _LENGTHS else _SCALE[scale]
    return f"{float(found['n']) * by:.15g}"


def machines(text: str) -> Iterator[tuple[str, str]]:
    """(variable, value) of the devices that a text tells: `2 nodes x 8 GPUs`, `64 GPUs (8 nodes)`, `2机16卡`, `8 x A100`."""
    text = plain(text)
    if both := _MACHINES.search(text):
        nodes, cards = int(both["nodes"]), int(both["each"])
        yield "nodes", both["nodes"]
        crossed = re.search(r"[x×*]|of|with|each", both[0][len(both["nodes"]) :])
        if crossed or both["per"] or nodes == 1 or cards == 8:
            yield "gpus_per_node", str(cards)
        elif cards > 8 and cards % nodes == 0:
            yield "world_size", str(cards)
        return
    cards, nodes_ = _CARDS.search(text), _NODES.search(text)
    if nodes_ and cards:
        yield "nodes", nodes_["n"]
    if cards and not _CARDS.search(text, cards.end()):
        yield "world_size", cards["n"]

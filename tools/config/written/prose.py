"""Settings that a sentence of notes tells: `学习率 3e-5，预热 500 步`, `lr=1e-5, 3 epochs`, `cosine to 3e-6`.

Each item between commas is one statement; of it a name that stands whole beside its value is believed, nothing else.
"""

# ruff: noqa: E501  one pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator

from ...patterns import bounded
from ...settings import CONTEXT, VARIABLES
from .names import whole
from .values import OPTIMIZERS, SCHEDULES, machines, plain, spelled

Said = tuple[str, str, str]
"""variable, value as `convert` takes it, name as it stands"""
_ITEMS = re.compile(r"[,;。;]\s*|\s+(?=[A-Za-z_]{2,30}=\S)|\.\s+(?=[A-Z\u4e00-\u9fff])|\s\|\s|、|\s(?:and|with)\s|\.$")
_NUMBER = bounded(r"(?<![\w.-])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:\s?[kKMBT](?![A-Za-z]))?\s?%?")
_FILL = bounded(
    r"(?i)^(?:(?:we|the|a|an|our|is|are|was|of|at|set to|set|for|on|in|to|use[sd]?|using|trained|train|training|run|ran|sampling|with|most"
    r"|about|over|per-run|server|config|this time|optimized)\b|[\s:=≈~(-]|本次|使用|采用|训练|设为|取|为|共|约|每轮|以)+"
)
_TAIL = bounded(r"(?i)(?:[\s:=≈~(]|\b(?:is|was|of|to|set to|at|=)|设为|取|为|是)+$")
_COUNTERS = re.compile(r"^\s*(?:[个条张块]\s?)?")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_SWITCHED = bounded(
    r"(?i)(?P<name>.{2,40}?)\s{0,3}:?\s{0,3}(?P<how>开启|打开|启用|开|关闭|关掉|关|禁用|(?:is |turned |switched )?(?:on|off|enabled|disabled))$"
)
_PRECISION = bounded(
    r"(?i)(?:in |混合精度|精度|amp )?\s?(bf16|bfloat16|fp16|fp32|fp8)(?:\s?(?:mixed[- ]precision|training|混合精度|训练|精度))?$"
)
_DECAYS = bounded(
    rf"(?i)(?P<how>{SCHEDULES}|余弦|线性)\s?(?:decay\w{{0,3}}|anneal\w{{0,4}}|衰减|退火|schedule)?\s?(?:down )?(?:to|到|至)\s?(?P<to>[\d.]+e-\d+|0\.0\d+)$"
)
_SCHEDULED = bounded(
    rf"(?i)(?P<how>{SCHEDULES}|余弦|线性|恒定)\s?(?:decay|schedule|scheduler|lr(?: schedule)?|learning rate|衰减|调度|退火|学习率)$"
)
_SCHEDULE = bounded(r"(?i)(?P<how>cosine|inverse[- ]sqrt|余弦|polynomial)")
_OPTIMIZER = bounded(
    rf"(?i)(?:optimi[sz]er|优化器)\s?:?\s?(?P<a>{OPTIMIZERS})|(?P<b>{OPTIMIZERS})(?: optimi[sz]er| 优化器)?$"
)
_LISTED = bounded(r"(?P<head>[^()/]{0,40})[(/](?P<rest>[^()]{1,80})\)?$")
_APART = re.compile(r"\s{0,8}[,/]\s{0,8}")
_EACH = bounded(
    r"(?i)(?P<n>\d{1,5})\s?(?:[x×*]\s?(?P<gpus>\d{1,5})\s?(?:gpus?|devices?|卡|cards?)|(?:per|/)\s?(?:gpu|device|card)|/?\s?(?:每卡|卡))$"
)
_WITHIN = re.compile(r"\(([^()]*)\)")
_INSIDE = frozenset(("warmup_steps", "warmup_ratio", "lr_schedule", "min_learning_rate"))
"""What words in parentheses may add to the value before them."""
_ANYWHERE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("lora_rank", bounded(r"(?i)\bq?lora\b[^.;。]{0,24}?(?:\brank|\br|秩)\s{0,2}[=:为]?\s{0,2}(\d{1,4})\b")),
    ("lora_alpha", bounded(r"(?i)\bq?lora\b[^.;。]{0,40}?(?:\balpha|α)\s{0,2}[=:为]?\s{0,2}(\d{1,4})\b")),
    ("adam_beta2", bounded(r"(?i)\badam\w{0,8}[^;。]{0,30}?(?:β2|β₂|beta_?2)\s{0,2}[=:]?\s{0,2}(0\.9\d{0,5})\b")),
    ("adam_beta2", bounded(r"(?i)\bbetas?\s{0,2}[=:]?\s{0,2}\(?0\.\d{1,4},\s?(0\.9\d{0,5})\b")),
    ("num_generations", bounded(r"(?i)(?:每个?\s?(?:提示|题目?|问题|prompt)|each (?:prompt|question|problem))[^\d,;。]{0,14}(\d{1,4})\s?(?:条|个|次|responses?|samples?|completions?|rollouts?)")),
    ("rollout_batch_size", bounded(r"(?i)(?:每轮|每步|each (?:step|rollout|iteration))[^\d,;。]{0,14}(\d{1,6})\s?(?:个\s?)?(?:提示|题|问题|prompts?|questions?|problems?)")),
    ("stop_tokens", bounded(r"(?i)\bstop(?:ping|s|ped)?(?: at| on| tokens?| strings?)?\s{0,2}[:=]?\s?(<[/|]?\w{1,30}\|?>)")),
    ("colocate", bounded(r"(?i)(?<!not )(?<!non-)\b(colocate)d?\b")),
    ("save_steps", bounded(r"(?i)(?:每隔?|every)\s?(\d{1,8})\s?(?:步|steps?|updates?)[^,;。\d]{0,8}?(?:存|saved?\b|saving|checkpoint)")),
    ("save_steps", bounded(r"(?i)\b(?:sav(?:e[sd]?|ing)|checkpoint(?:s|ed|ing)?)[^,;.。\d]{0,24}?\bevery (\d{1,8}) (?:steps?|updates?)")),
    ("eval_steps", bounded(r"(?i)(?:每隔?|every)\s?(\d{1,8})\s?(?:步|steps?|updates?)[^,;。\d]{0,8}?(?:评[测估]|验证|evaluat|validat)")),
    ("eval_steps", bounded(r"(?i)\b(?:evaluat|validat)\w{1,5}[^,;.。\d]{0,24}?\bevery (\d{1,8}) (?:steps?|updates?)")),
    ("save_total_limit", bounded(r"(?i)(?:最多|只|仅)保?留(?:最[近新后]的?)?\s?(\d{1,4})\s?(?:个|份)")),
    ("save_total_limit", bounded(r"(?i)\bkeep(?:s|ing)?(?: only)?(?: the)? (?:last|latest|newest) (\d{1,4})\b")),
    ("zero_stage", bounded(r"(?i)\bzero[- _]?(?:stage[- _]?)?([0-3])\b(?![.%])")),
)  # fmt: skip
"""What a sentence says in an order of its own: variable, and its pattern."""
_NOT_OFFLOADED = bounded(
    r"(?i)(?:不做|不用|不开|没有|无|关闭|\bno|\bwithout)\s?(?:cpu )?(?:offload(?:ing)?|卸载)(?![\w一-鿿])"
)
_SWITCHED_FIRST = bounded(
    r"(?i)(?P<how>开启|打开|启用|关闭|禁用|不用|不做|不使用|enabled?|disabled?|turn(?:ed)? o(?:n|ff))\s?(?P<name>.{2,40})$"
)
_OFF_FIRST = bounded(r"(?i)关|禁|不|dis|turn(?:ed)? off")
_ENGINE = bounded(r"(?i)\b(?:vllm|sglang|tgi|lmdeploy)\b|推理引擎|采样引擎|inference engine|rollout engine")
_IN_LOSS = bounded(r"(?i)kl.{0,30}(?:in(?:side)? the loss|(?:放|加|计)(?:在|入|到|进)\s?(?:loss|损失)|loss term)")
_BATCH = bounded(r"(?i)(?:train(?:ing)? )?(?:batch(?: ?size)?|bs|批大小|批量)")


def pair(name: str, value: str) -> Iterator[Said]:
    """What a name with its value beside it says, and the words behind the value: a row of a table, a line with a colon."""
    yield from named(name, value)
    name, value = plain(name), plain(value)
    names = _several(name)
    first, _, rest = value.partition(",")
    if len(names) == 1 or len(names) != len(_APART.split(value)):
        yield from told(rest if rest and first else "", f"{name} {value}")


def named(name: str, value: str) -> Iterator[Said]:
    """What a name says with its value, or each of several names with its own."""
    name, value = plain(name), plain(value)
    names, values = _several(name), _APART.split(value)
    if len(names) > 1 and len(names) == len(values):
        for one, its in zip(names, values, strict=True):
            yield from _single(one, its)
    else:
        yield from _single(name, value)


def _several(name: str) -> list[str]:
    """The names of `A / B` and of `Adam (β1, β2, ε)`."""
    found = _LISTED.fullmatch(name)
    if not found:
        return [name]
    if "(" in name:
        return [f"{found['head'].strip()} {part}" for part in _APART.split(found["rest"])]
    return [part.strip() for part in _APART.split(name)]


def _single(name: str, value: str) -> Iterator[Said]:
    if _BATCH.fullmatch(name.strip()):
        yield from _per_device(name, value)
        return
    variable = whole(_PARENTHESIS.sub(" ", name)) or whole(name)
    if variable in ("hardware", "world_size", "nodes", "gpus_per_node") and not value.strip().isdigit():
        yield from ((of, number, name) for of, number in machines(value))
    elif variable == "temperature":
        yield variable, re.split(r"[ ,;]", value)[0], name
    elif variable and variable != "hardware":
        of, text = spelled(variable, value)
        if text:
            yield of, text, name


def _per_device(name: str, value: str) -> Iterator[Said]:
    """A batch that says of how many devices it is: `32 x 8 GPUs`, `16 per GPU`, `4/卡`."""
    if found := _EACH.match(value.strip()):
        yield "micro_batch_size", found["n"], name
        if found["gpus"]:
            yield "world_size", found["gpus"], name


def told(text: str, whole_text: str = "") -> Iterator[Said]:
    """What a sentence says.

    Args:
        text: the sentence, or what stands behind its first value.
        whole_text: all of it, where `text` is a part.
    """
    text = plain(text).rstrip(".")
    whole_text = whole_text or text
    found = [(of, number, text[:60]) for of, number in machines(text)]
    yield from found
    yield from ((of, hit[1], hit[0][:60]) for of, pattern in _ANYWHERE if (hit := pattern.search(whole_text)))
    if _IN_LOSS.search(whole_text):
        yield "use_kl_loss", "true", whole_text[:60]
    for inner in _WITHIN.findall(whole_text):
        for item in _ITEMS.split(inner):
            yield from (said for said in _item(item.strip(), set()) if said[0] in _INSIDE)
    if not_offloaded := _NOT_OFFLOADED.search(whole_text):
        yield from ((of, "false", not_offloaded[0]) for of in ("offload_optimizer", "offload_params"))
    of_engine = _ENGINE.search(whole_text) is not None
    for item in _ITEMS.split(_PARENTHESIS.sub(" ", text)):
        if item and item.strip():
            for of, value, name in _item(item.strip(), {of for of, _, _ in found}):
                yield ("engine_tensor_parallel" if of_engine and of == "tensor_parallel" else of), value, name


def _item(item: str, machine: set[str]) -> Iterator[Said]:
    name, mark, value = re.sub(r"\s?=\s?", ":", item, count=1).partition(":")
    if mark and (_BATCH.fullmatch(name.strip()) or whole(name)):
        yield from _single(name.strip(), value.strip())
    elif precision := _PRECISION.fullmatch(item):
        yield "precision", precision[1], item
    elif decays := _DECAYS.search(item):
        yield from _schedule(decays["how"], item)
        yield "min_learning_rate", decays["to"], item
    elif scheduled := _SCHEDULED.fullmatch(item) or _SCHEDULE.fullmatch(item):
        yield from _schedule(scheduled["how"], item)
    elif optimizer := _OPTIMIZER.fullmatch(item):
        yield "optimizer", optimizer["a"] or optimizer["b"], item
    elif (switched := _SWITCHED.fullmatch(item)) and _is_bool(of := whole(switched["name"])):
        yield of, spelled(of, re.sub(r"(?i)^(?:is|turned|switched) ", "", switched["how"]))[1], switched["name"]
    elif (first := _SWITCHED_FIRST.match(item)) and _is_bool(of := whole(first["name"])):
        yield of, "false" if _OFF_FIRST.match(first["how"]) else "true", first["name"]
    else:
        yield from ((of, value, name) for of, value, name in _beside(item) if of not in machine)


def _schedule(how: str, item: str) -> Iterator[Said]:
    if value := spelled("lr_schedule", how)[1]:
        yield "lr_schedule", value, item


def _is_bool(variable: str) -> bool:
    known = VARIABLES.get(variable) or CONTEXT.get(variable)
    return known is not None and known.type == "bool"


def _beside(item: str) -> Iterator[Said]:
    """A name before its value, or right behind its number."""
    number = _NUMBER.search(item)
    if number is None:
        words = item.split(None, 1) if " " in item else re.split(r"[:=]", item, maxsplit=1)
        if len(words) == 2 and (variable := whole(words[0])) and variable not in ("hardware", "temperature"):
            yield from _single(words[0], words[1].lstrip(":= "))
        return
    left = _TAIL.sub("", _FILL.sub("", item[: number.start()]))
    if left and (_BATCH.fullmatch(left) or whole(left)):
        yield from _single(left, item[number.start() :])
        return
    right = _COUNTERS.sub("", item[number.end() :]).strip()
    if (
        not left
        and right
        and (variable := whole(right))
        and variable not in ("hardware", "temperature", "world_size", "nodes")
    ):
        of, text = spelled(variable, number[0])
        if text and not (variable == "max_steps" and not re.search(r"(?i)train|ran|训练", item)):
            yield of, text, right
    elif not left and re.fullmatch(r"(?i)(?:training )?(?:epochs?|轮)", right):
        yield "epochs", number[0].strip(), right

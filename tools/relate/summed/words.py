"""What columns of a summary are about: what was counted, of how many, and by what the rows are told apart, by their
names and, where the header is vague, by their values.

What follows from it is judged beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...patterns import bounded
from ...scores import GENERAL, NOT_A_SCORE, QUALITY
from ...tables.raw import words_of
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain

MOST_GROUPS = 64
TOTAL = bounded(r"(?i)^\W{0,3}(?:all|total|sum|overall|avg|average|mean|合计|总计|总体|全部|平均|小计)\W{0,3}$")
"""Labels of rows that sum up the others."""
COUNTED: Mapping[str, re.Pattern[str]] = {
    "removed": bounded(
        r"remov|drop(?!out)|discard|dedup|filter|duplicate|(?:^|_)dups?(?:_|$)|移除|去除|剔除|丢弃|删除|去重|过滤|重复"
    ),
    "right": bounded(
        r"correct|right|(?:^|_)(?:acc|accuracy|ok|hits?|passed|solved|em)(?:_|$)|答对|正确|命中|准确|通过"
    ),
    "won": bounded(r"(?:^|_)(?:wins?|won|win_?rate|winrate|preferred)(?:_|$)|胜"),
    "toxic": bounded(r"toxi|unsafe|harmful|profan|有害|毒性|不安全"),
    "failed": bounded(r"fail|error|timeout|wrong|garbled|失败|错误|出错|超时"),
    "resolved": bounded(r"resolv|clicked|accepted|converted|解决|采纳"),
    "stopped": bounded(r"(?:^|_)stop(?:ped)?(?:_|$)|stop占比|正常结束"),
}
"""What a count or a share is of -> its names."""
WHOLE = bounded(
    r"^(?!.{0,60}(?:^|_)(?:params?|parameters?|flops|g?macs|bytes|[kmgt]i?b|seconds?|secs?|ms|time|epochs?|steps?|layers?"
    r"|gpus?|memory|mem|vram|parameter_\w{1,12}|(?:batch|hidden|model|vocab|patch|kernel|window|image|file|cache|embed\w{0,6})_?size)(?:_|$)"
    r"|.{0,60}(?:参数|参_count|耗时|显存|层数)).{0,60}?(?:(?:^|_)(?:n|num|count|total|pairs|docs|documents|samples|items|rows|examples|questions|conversations|requests"
    r"|prompts|size|support|trials|records|texts|passages|n_pairs|n_docs|n_items)(?:_|$)|样本数|文档数|条数|总数|题数|对数|数量|输入文档"
    r"|请求数)"
)
"""What counts the items that something is of; parameters, bytes, steps and sizes of a model are none."""
SHARE = bounded(r"(?:^|_)(?:rate|share|ratio|pct|percent|frac|fraction|acc|accuracy|prop|weight|proportion)(?:_|$)"
                r"|率|占比|比例|份额|配比|%")  # fmt: skip
SCORED = bounded(r"(?:^|_)scores?(?:_|$)|得分|分数|评分|分值")
"""Names of a score that do not say of what."""
SPOKEN = words_of(
    "zh en ja ko fr de es ru pt it ar hi th vi id tr nl pl cs sv uk fa he code zh-cn zh-tw zh_cn zh_tw chinese english "
    "japanese korean french german spanish russian 中文 英文 日文 韩文 英语 日语 韩语 法语 德语 俄语 代码"
)
UNSPACED = words_of("zh ja th lo km my zh-cn zh-tw zh_cn zh_tw chinese japanese 中文 日文 日语")
"""Languages that put no spaces between words."""
FORMAT = bounded(
    r"(?i)^(?:fp|bf|tf|int|nf|w\d{1,2}a)\d{1,3}(?:[_-]?\w{1,12})?$|^(?:awq|gptq|gguf|q\d(?:_\w{1,4})?|bnb|none|marlin)$"
)
TEMPLATE = bounded(r"(?i)chatml|alpaca|vicuna|llama-?\d|inst|mistral|qwen|harmony|zephyr|jinja|template|模板")
LONGER, SHORTER = bounded(r"(?i)long|长"), bounded(r"(?i)short|短")
KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "leaked",
        bounded(
            r"overlap|leak|contam|in_train|in_corpus|seen|\d{1,2}_?gram|ngram|matched|(?:^|_)contain(?:ment|ed|s)?(?:_|$)|包含|重合|重叠|泄漏|泄露|污染"
        ),
    ),
    ("template", bounded(r"template|模板|prompt_(?:style|format|version|type)")),
    (
        "judge",
        bounded(
            r"judge|grader|(?:^|_)(?:evaluator|scorer|scored_by|graded_by)(?:_|$)|评委|评审|裁判|打分模型|评分模型"
        ),
    ),
    ("harness", bounded(r"harness|lm_?eval|eval_?(?:version|lib|code|framework)|评测框架|评测版本")),
    ("shots", bounded(r"shots?(?:_|$)|样例数")),
    ("normalisation", bounded(r"normali[sz]|归一")),
    ("padding", bounded(r"(?:^|_)pad(?:ding)?(?:_side)?(?:_|$)|填充")),
    ("kernel", bounded(r"attn|attention|kernel|sdpa|flash|注意力|算子")),
    ("tokenizer", bounded(r"tokeni[sz]er|分词")),
    ("adapter", bounded(r"adapter|lora|merged?(?:_|$)|合并|适配器")),
    ("quantization", bounded(r"quant|precision|dtype|(?:weight|number|model)s?_format|量化|精度|权重格式|数值格式")),
    ("engine", bounded(r"engine|framework|backend|server|引擎|框架|后端")),
    ("language", bounded(r"(?:^|_)lang(?:uage)?s?(?:_|$)|语言|语种")),
    ("batch", bounded(r"(?:^|_)(?:batch|bs|bsz|batch_?size|concurrency)(?:_|$)|批大小|批量|并发")),
    ("order", bounded(r"(?:^|_)(?:order|position|shown|swap(?:ped)?|first|presentation)(?:_|$)|顺序|位置|先后")),
    ("stage", bounded(r"(?:^|_)(?:pp|pipeline)_?(?:stage|rank)?(?:_|$)|^stage$|流水线")),
    ("source", bounded(r"(?:^|_)(?:source|domain|corpus|dataset|subset|data)(?:_|$)|来源|数据集|语料|领域")),
)
"""Kind of a group -> names of its columns, the first that fits."""
MEASURING = ("judge", "harness", "shots", "normalisation")
"""Kinds that say how a score was measured."""


def kind_of(column: Column) -> str:
    """What a column tells rows apart by; by its values first, where they can be nothing else."""
    said = list(dict.fromkeys(texts(column).tolist()))
    low = [v.strip().lower() for v in said if v.strip() and not TOTAL.search(v)]
    if len(low) > 1:
        if sum(v in SPOKEN for v in low) >= max(2, 0.6 * len(low)):
            return "language"
        if all(FORMAT.match(v) for v in low) and not all(v == "none" for v in low):
            return "quantization"
        if all(LONGER.search(v) or SHORTER.search(v) for v in low) and len({bool(LONGER.search(v)) for v in low}) > 1:
            return "longer"
        if all(_ordered(v) for v in low) and len({frozenset(_ordered(v)) for v in low}) == 1:
            return "order"
        if all("first" in v or "second" in v or "先" in v or "后" in v for v in low):
            return "order"
    name = plain(column.name)
    named = next((kind for kind, pattern in KINDS if pattern.search(name)), "")
    if not named and len(low) > 1 and all(TEMPLATE.search(v) for v in low):
        return "template"
    return named or column.of or name


def _ordered(value: str) -> tuple[str, ...]:
    """The two names of `new,old` or `A > B`."""
    names = tuple(n.strip() for n in re.split(r"[,;|/>]| vs\.? |->", value) if n.strip())
    return names if len(names) == 2 and names[0] != names[1] else ()


def counted_of(column: Column) -> str:
    """What a count or share is of, empty where its name does not say."""
    name = plain(column.name)
    return next((what for what, pattern in COUNTED.items() if pattern.search(name)), "")


def named_score(name: str) -> bool:
    """Whether a name is one of a quality, of which more is better: `score (%)`, `f1`, `mmlu`, `得分`."""
    return bool(means(SCORED, name) or _quality(name))


def _quality(name: str) -> bool:
    """Whether a name is one of a measure of quality, or of a public benchmark: shares, in percent where above one."""
    said = plain(name)
    return bool(
        (QUALITY.search(said) or GENERAL.search(said)) and not SCORED.search(said) and not NOT_A_SCORE.search(said)
    )


def is_count(column: Column) -> bool:
    values = column.values
    return bool(values.dtype.kind == "f" and np.isfinite(values).all() and (values >= 0).all()
                and (values == np.round(values)).all() and len(values))  # fmt: skip


def shares_of(column: Column) -> np.ndarray | None:
    """The values as shares of one, where they can be shares and the name or unit says so."""
    values = column.values
    if values.dtype.kind != "f" or not np.isfinite(values).all() or not len(values) or (values < 0).any():
        return None
    most = float(values.max())
    partial = bool((values != np.round(values)).any())
    fraction = most <= 1 and partial and bool(counted_of(column) or named_score(column.name))
    if not (
        fraction
        or (partial and _quality(column.name))
        or means(SHARE, column.name)
        or SHARE.search(column.name)
        or column.unit == "%"
    ):
        return None
    if most <= 1 and not (column.unit == "%" and (values * 100 != np.round(values * 100)).any() and most < 0.05):
        return values
    return values / 100 if most <= 100 else None


def labels_of(table: Table) -> list[tuple[Column, np.ndarray]]:
    """The columns that tell the rows apart by words, and their cells."""
    out = []
    for column in table.columns:
        if column.values.dtype.kind == "O" and column.role != "identifier":
            said = texts(column)
            if 1 < len(set(said.tolist())) <= MOST_GROUPS and all(len(v) <= 80 for v in said.tolist()):
                out.append((column, said))
    return out


def apart(k: float, n: float, j: float, m: float) -> float:
    """Standard errors between two shares k/n and j/m, by their pooled share."""
    if min(n, m) <= 0:
        return 0.0
    p = (k + j) / (n + m)
    error = np.sqrt(max(p * (1 - p), 1e-9) * (1 / n + 1 / m))
    return abs(k / n - j / m) / float(error)


def chosen(columns: Sequence[Column], pattern: re.Pattern[str]) -> list[Column]:
    """The columns of that name."""
    return [c for c in columns if means(pattern, c.name)]

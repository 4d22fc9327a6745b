"""Log-probabilities of a rollout engine and of its trainer that lie apart from the first step on, at one level.

Before the first update both hold the same weights, so a gap there is none of weights that were not sent: it is one of
number formats, kernels or sampling. A gap at equal version numbers on both sides says the same at any step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..kinds.names import demand
from ..line import Line, means, plain

ENGINE = bounded(
    r"(?:^|_)(?:engine|eng|rollout|vllm|sglang|infer(?:ence)?|sampler|generator|gen|behaviou?r)(?:_|$)|推理|引擎"
)
TRAINER = bounded(r"(?:^|_)(?:train(?:er|ing)?|learner|policy|actor|fsdp|megatron|hf)(?:_|$)|训练")
VERSION = bounded(r"(?:^|_)(?:ver|version|sync|weights?|policy_step|update|v)(?:_|$)|版本")
LOGP = bounded(r"log_?p(?:rob)?s?|(?:^|_)lps?(?:_|$)|对数概率")
GAP = bounded(
    r"(?:^|_)(?:gap|(?:abs_?)?(?:diff(?:erence)?|delta|err(?:or)?)|dlogp|d_logp|mismatch|abs|mae|l1)(?:_|$)|差"
)
TAIL = bounded(r"(?:^|_)(?:p\d+|max|min|std|sign\w*|n|count|share|frac\w*)(?:_|$)|最大|标准差")
RATIO = bounded(
    r"^(?:(?:train|actor|policy|pi|prob|is|importance|token|sampling|rollout|mean)_){0,3}ratio"
    r"(?:_?(?:mean|avg|均值|平均))?$|重要性(?:权重|比)"
)
NARROW = bounded(
    r"(?i)^(?:fp8\w*|float8\w*|e4m3\w*|e5m2\w*|int[48]|w[48]a(?:8|16)|awq\w*|gptq\w*|nf4|fp4|nvfp4|mxfp\d|bnb|bitsandbytes"
    r"|marlin|compressed-tensors)$"
)
FORMAT = bounded(r"quant|dtype|precision|kv_cache|精度|量化")
APART, FLAT, LEVEL = 0.03, 1.5, 5.0
"""Nats (or distance of the mean ratio from 1) that it is apart from the first step on, times that the end may differ
from the beginning, and times less that another run has. Rounding in bf16 gives some thousandths; own judgement."""
ALONE, NEAR = 0.05, 0.5
"""Nats from which on a measure of the gap says it alone, and the most that a mean ratio is off 1."""
LEAST, FIRST, ROWS = 12, 5, 20
GROWN = 4.0
"""Times its first level that a gap may have in the end, where the training itself goes wrong. Own judgement."""
TOKEN = bounded(r"tok|pos|idx|index|词|位置|序号")
UNTRAINED = bounded(
    r"(?:^|_)(?:step|iter|update|it)_?0{1,6}(?![1-9])|(?:^|_)(?:init(?:ial)?|first|fresh|untrained)(?:_|$)|初始|训练前"
)
"""What a file of the time before the first update is called."""


@dataclass(frozen=True)
class Gap:
    """A gap that is there from the first step on."""

    first: float
    last: float
    what: str
    zh: str
    places: tuple[Evidence, ...]
    versions: bool = False
    other: tuple[str, float, Evidence] | None = None


def apart_from_start(tables: Sequence[Table], lines: Sequence[Line], stated: Sequence[Stated]) -> Iterator[Finding]:
    """One finding of all tables and logs that show the gap."""
    found = [g for t in tables if (g := _at_versions(t) or _of_tokens(t)) is not None]
    found += [g for x in lines if (g := _along(x, lines)) is not None]
    if found:
        found.sort(key=lambda g: (not g.versions, g.other is None))
        yield _told(found, next(_narrow(stated), None))


def _at_versions(table: Table) -> Gap | None:
    """A gap beside the versions of both sides, which are equal."""
    sides = [next((c for c in table.columns if means(VERSION, c.name) and means(of, c.name)), None)
             for of in (ENGINE, TRAINER)]  # fmt: skip
    gap = next((c for c in sorted(_gaps(table), key=lambda c: "mean" not in plain(c.name))), None)
    if gap is None or None in sides or len(table) < 3:
        return None
    one, two = ([str(v).removesuffix(".0") for v in c.values.tolist()] for c in sides if c is not None)
    values = np.abs(gap.values)
    if one != two or not np.isfinite(values).all() or not _flat(values):
        return None
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=gap.name, value=float(gap.values[i]))
                   for i in (0, len(table) - 1))  # fmt: skip
    what = f"{gap.name} of {table.file}, at equal versions of engine and trainer"
    zh = f"{table.file} 的 {gap.name}（引擎与训练端版本号相同）"
    return Gap(float(values[0]), float(values[-1]), what, zh, places, True)


def _gaps(table: Table) -> Iterator[Column]:
    """Columns of the gap: by their own words, where the file or its columns speak of log-probabilities or of a gap."""
    for column in table.columns:
        if column.values.dtype.kind == "f" and means(GAP, column.name) and not means(TAIL, column.name):
            yield column


def _of_tokens(table: Table) -> Gap | None:
    """Log-probabilities of both sides for the same tokens, before the first update; of several engines the one that is
    apart, beside one that is not."""
    if len(table) < ROWS or not _untrained(table):
        return None
    logps = [c for c in table.columns if c.values.dtype.kind == "f" and _are_logps(c)]
    two = next((c for c in logps if means(TRAINER, c.name) and not means(ENGINE, c.name)), None)
    engines = [c for c in logps if means(ENGINE, c.name) and c is not two]
    if two is None or not engines:
        return None
    away = [np.abs(c.values - two.values) for c in engines]
    means_of = [float(np.nanmean(a)) for a in away]
    at = int(np.argmax(means_of))
    one, apart = engines[at], away[at]
    if np.isfinite(apart).sum() < ROWS or means_of[at] < APART:
        return None
    i, least = int(np.nanargmax(apart)), int(np.argmin(means_of))
    place = Evidence(table.file, int(table.lines[i]) or None, metric=one.name, value=float(one.values[i]))
    what = f"{one.name} against {two.name} in {np.isfinite(apart).sum()} tokens of {table.file}"
    zh = f"{table.file} 中 {np.isfinite(apart).sum()} 个 token 的 {one.name} 与 {two.name}"
    near = Evidence(table.file, int(table.lines[i]) or None, metric=engines[least].name)
    other = (engines[least].name, means_of[least], near) if means_of[least] * LEVEL <= means_of[at] else None
    return Gap(means_of[at], means_of[at], what, zh, (place,), other=other)


def _are_logps(column: Column) -> bool:
    """Whether they are log-probabilities of tokens: by name, or by never being above 0 and often next to it."""
    values = column.values[np.isfinite(column.values)]
    below = len(values) >= ROWS and float(values.max()) <= 1e-3
    return below and (means(LOGP, column.name) is not None or (values.min() < -0.5 and np.median(values) > -5))


def _untrained(table: Table) -> bool:
    """Whether the rows are of the time before the first update: by their step, or by what the file is called."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    step = next((c for c in numbers if c.of == "step" or plain(c.name) in ("step", "update")), None)
    if step is not None and not TOKEN.search(plain(step.name)):
        return not set(np.unique(step.values)) - {0.0, 1.0}
    return means(UNTRAINED, PurePosixPath(table.file).stem) is not None


def _along(line: Line, lines: Sequence[Line]) -> Gap | None:
    """A measure of the gap, or a mean ratio, that is off from its first points on and stays there."""
    if line.axis != "step" or line.group or len(line) < LEAST or line.x[0] > FIRST:
        return None
    values = _off(line)
    if values is None or not (_flat(values) or (_is_gap(line) and _flat_at_first(values))):
        return None
    twins = (x for x in lines if x.file != line.file and plain(x.key) == plain(line.key) and x.axis == "step")
    other = next(((x.file, float(np.median(v)), x.evidence(-1)) for x in twins if len(x) >= LEAST
                  and (v := _off(x)) is not None and np.median(v) * LEVEL <= np.median(values)), None)  # fmt: skip
    alone = _is_gap(line) and values[0] >= ALONE
    if other is None and not alone:
        return None
    what = f"{line.key} of {line.file}" + ("" if _is_gap(line) else ", as distance from 1,")
    zh = f"{line.file} 的 {line.key}" + ("" if _is_gap(line) else " 与 1 的距离")
    return Gap(float(np.median(values[:3])), float(np.median(values[-5:])), what, zh,
               (line.evidence(0), line.evidence(-1)), other=other)  # fmt: skip


def _is_gap(line: Line) -> bool:
    key = plain(line.key)
    return line.name == "logprob_diff" or bool(
        LOGP.search(key) and (GAP.search(key) or "δ" in line.key.lower()) and not TAIL.search(key)
    )


def _off(line: Line) -> np.ndarray | None:
    """How far apart, or how far from 1, at each point."""
    values = line.values[np.isfinite(line.values)]
    if _is_gap(line):
        return np.abs(values)
    off = np.abs(values - 1.0)
    return off if RATIO.search(plain(line.key)) and len(values) and off.max() <= NEAR else None


def _flat(values: np.ndarray) -> bool:
    """Whether it is off at once, and no more at the end."""
    n = max(len(values) // 5, 1)
    first, last = float(np.median(values[:n])), float(np.median(values[-n:]))
    return values[0] >= APART and first >= APART and 1 / FLAT <= last / first <= FLAT


def _flat_at_first(values: np.ndarray) -> bool:
    """Whether a wide gap is there at once and keeps its level over a third of the run, though it grows as that ends."""
    first, last = float(np.median(values[:FIRST])), float(np.median(values[-max(len(values) // 5, 1) :]))
    early = len(values) >= 3 * LEAST and first >= ALONE and _flat(values[: len(values) // 3])
    return early and first <= last <= GROWN * first


def _narrow(stated: Sequence[Stated]) -> Iterator[Stated]:
    """What sets a narrow number format."""
    return (
        s for s in stated if s.how == "said" and FORMAT.search(plain(s.key)) and NARROW.search(str(s.value).strip())
    )


def _told(found: Sequence[Gap], narrow: Stated | None) -> Finding:
    gap = found[0]
    other = next((g.other for g in found if g.other is not None), None)
    en = "".join(f"; {g.what} is {g.first:.3g}{_beside(g, ' ({} has {:.3g})')}" for g in found[1:4])
    zh = "".join(f"；{g.zh} 为 {g.first:.3g}{_beside(g, '（{} 为 {:.3g}）')}" for g in found[1:4])
    en, zh = _beside(gap, " ({} has {:.3g})") + en, _beside(gap, "（{} 为 {:.3g}）") + zh
    if narrow is not None:
        en += f"; {narrow.file}:{narrow.line} sets {narrow.key} {narrow.value}"
        zh += f"；{narrow.file}:{narrow.line} 设置了 {narrow.key} {narrow.value}"
    sure = gap.versions or narrow is not None
    places = [e for g in found[:3] for e in g.places]
    bound = 2 * other[1] if other and gap.other is other else gap.first / 4
    return Finding(
        "engine-gap-explained" if sure else "engine-gap-from-start", Severity.S2,
        f"Engine and trainer give the same tokens log-probabilities that lie apart from the first step on: "
        f"{gap.what} is {gap.first:.3g} at first and {gap.last:.3g} at the end{en}. Before any update the weights are "
        "the same: it is the number format, kernels or sampling, no weights that were not sent.",
        f"引擎与训练端对同样的 token 从第一步起就有对数概率差：{gap.zh} 开始为 {gap.first:.3g}，"
        f"末尾为 {gap.last:.3g}{zh}。更新之前权重相同：原因在数值格式、算子或采样，而不是权重没有同步。",
        (*places, *((other[2],) if other else ()), *((narrow.evidence(),) if narrow is not None else ())),
        {"first": gap.first, "last": gap.last, "names": f"{narrow.key} {narrow.value}" if narrow is not None else "",
         "asks": [demand("logprob_gap", "at-most", bound, f"{gap.first:.3g} here", f"此处为 {gap.first:.3g}")]},
    )  # fmt: skip


def _beside(gap: Gap, form: str) -> str:
    """What the other run has of the same measure."""
    return form.format(gap.other[0], gap.other[1]) if gap.other is not None else ""

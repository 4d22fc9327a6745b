"""What ought to be the same and is not: columns that measure one thing, and a policy beside its own reference before
the first update.

A reference that is the policy's own start gives log-probabilities equal to the policy's at the first step, rewards and
a divergence of zero there; where they are far off, the reference is another model or was computed from one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import Line, means, plain

LEAST_ROWS = 20
ALIKE, APART = 0.02, 10.0
"""Share of the usual size within which two columns are one, and how many times as far the third is off."""
ONE_SIDE = 0.9
"""Share of rows in which it is off to the same side."""
FIRST = 1
"""Steps that count as before or at the first update."""
OFF = {"reward_chosen": 0.3, "reward_rejected": 0.3, "kl": 0.5}
"""How far a first value may be from zero: what rounding at low precision does stays below. Own judgement."""
LATER = 3.0
"""Times of that for a first value that was logged later, while the rate was still warming up."""
LOGPROB = bounded(r"log_?p(?:rob)?s?|(?:^|_)(?:ref|reference)(?:_|$)|对数概率|参考")
FREE = bounded(r"orpo|simpo|(?:^|_)cpo|reference_free|log_odds|nll_loss")
"""Losses without a reference, and measures that only those have: their rewards are never zero."""
REFERENCE = bounded(r"(?:^|_)(?:ref|reference|cached?|old|base|precomputed|stored)(?:_|$)|参考|缓存")


OWN_START = bounded(r"(?:^|_)ref(?:erence)?(?:_model)?(?=_|$)|参考(?:模型)?")
POLICY = bounded(r"(?:^|_)(?:policy|pi|actor|model|train)(?=_|$)|策略")
LEAST_POINTS, MOVES = 30, 1e-8
"""Points at which two never part, and learning rate from which on a policy that learns leaves its reference."""


def twins(tables: Sequence[Table], lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """Columns that are one but for one of them, and references that are off at the start."""
    for table in tables:
        if LEAST_ROWS <= len(table) <= 500_000:
            yield from _odd_column(table)
    if not any(FREE.search(str(s.value)) for v in ("stage", "loss_type") if (s := settings.get(v)) is not None):
        yield from _at_start(lines)
        yield from _never_apart(lines)


def _odd_column(table: Table) -> Iterator[Finding]:
    """Two columns of log-probabilities agree, and a third is off to one side."""
    columns = [c for c in table.columns if c.values.dtype.kind == "f" and means(LOGPROB, c.name)][:12]
    for three in combinations(columns, 3):
        for a, b, odd in permutations(three):
            if a.name > b.name or (off := _off(a, b, odd)) is None:
                continue
            yield _told(table, (a, b, odd), off)
            return


def _off(a: Column, b: Column, odd: Column) -> np.ndarray | None:
    """How far `odd` is from `a` in each row, where `a` and `b` are one."""
    keep = np.isfinite(a.values) & np.isfinite(b.values) & np.isfinite(odd.values)
    if keep.sum() < LEAST_ROWS:
        return None
    usual = float(np.median(np.abs(a.values[keep]))) or 1.0
    same = float(np.median(np.abs(a.values - b.values)[keep]))
    off = a.values - odd.values
    far = float(np.median(np.abs(off[keep])))
    one_side = max((off[keep] > 0).mean(), (off[keep] < 0).mean())
    corr = np.corrcoef(a.values[keep], odd.values[keep])[0, 1] if np.ptp(odd.values[keep]) > 0 else 0.0
    if same > ALIKE * usual or far < max(APART * same, ALIKE * usual) or one_side < ONE_SIDE or corr < 0.7:
        return None
    return off


def _told(table: Table, three: tuple[Column, Column, Column], off: np.ndarray) -> Finding:
    a, b, odd = three
    each = _by_group(table, off)
    reference = bool(means(REFERENCE, odd.name))
    same = float(np.nanmean(a.values - b.values))
    far = [int(i) for i in np.argsort(-np.abs(np.nan_to_num(off)), kind="stable")[:2]]
    shown = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=odd.name, value=float(odd.values[i]))
                  for i in far)  # fmt: skip
    what = f"{a.name} - {odd.name}"
    return Finding(
        "reference-off" if reference else "column-off", Severity.S1 if reference else Severity.S2,
        f"{a.name} and {b.name} agree (mean difference {same:.4g}), {odd.name} does not: {what} is {each} in the mean "
        f"over {len(table)} rows, all to one side: {odd.name} was computed by another model or in another way.",
        f"{a.name} 与 {b.name} 一致（平均差 {same:.4g}），{odd.name} 不一致：{what} 平均为 {each}（{len(table)} 行，"
        f"几乎都偏向同一侧），说明 {odd.name} 是用另一个模型或另一种方式算的。",
        shown, {"odd": odd.name, "like": [a.name, b.name], "off": float(np.nanmean(off)), "same": same},
    )  # fmt: skip


def _by_group(table: Table, off: np.ndarray) -> str:
    """The mean, for each value of a column of few texts where there is one."""
    for column in table.columns:
        if column.values.dtype.kind == "O":
            said = texts(column)
            names = list(dict.fromkeys(said.tolist()))
            if 1 < len(names) <= 4:
                return ", ".join(f"{float(np.nanmean(off[said == n])):.4g} ({n})" for n in names)
    return f"{float(np.nanmean(off)):.4g}"


def _at_start(lines: Sequence[Line]) -> Iterator[Finding]:
    """Rewards against the reference, or the divergence from it, that are far from zero at the first update."""
    rates = {line.file: line for line in lines if line.name == "learning_rate" and len(line)}
    found = [line for line in lines if line.name in OFF and len(line) and not line.group
             and _is_off(line, rates.get(line.file))]  # fmt: skip
    chosen = {line.name for line in found}
    if (
        any(FREE.search(line.key.lower()) for line in lines)
        or not found
        or not ({"reward_chosen", "reward_rejected"} <= {x.name for x in lines})
        or chosen == {"kl"}
    ):
        return
    first = found[0]
    rate = rates.get(first.file)
    at_zero = rate is not None and rate.values[0] == 0
    with_rate = " with a learning rate of 0" if at_zero else ""
    each = ", ".join(f"{x.key} {x.values[0]:.4g}" for x in found[:4])
    losses = [x for x in lines if x.name == "loss" and x.file == first.file and len(x)]
    loss = f"; the loss there is {losses[0].values[0]:.4g}, not ln 2 = 0.693" if losses else ""
    loss_zh = f"；该步 loss 为 {losses[0].values[0]:.4g}，而不是 ln 2 = 0.693" if losses else ""
    yield Finding(
        "reference-off-at-start", Severity.S1,
        f"At {first.where(0)}, before any update could act{with_rate}, {each}: a policy that starts as its own "
        f"reference has 0 there{loss}. The reference is another model than the one that is trained.",
        f"在{first.where(0)}，还没有任何更新起作用{'（学习率为 0）' if at_zero else ''}，{each}：策略与参考相同时应为 0"
        f"{loss_zh}。参考模型（或缓存的参考对数概率）不是训练起点的模型。",
        tuple(x.evidence(0) for x in found[:4]),
        {"values": {x.key: float(x.values[0]) for x in found}, "step": float(first.x[0])},
    )  # fmt: skip


def _is_off(line: Line, rate: Line | None) -> bool:
    value = abs(float(line.values[0]))
    still = (line.axis == "step" and line.x[0] <= FIRST) or (
        rate is not None and rate.x[0] == line.x[0] and rate.values[0] == 0
    )
    early = rate is not None and len(rate) > 5 and rate.values[0] < 0.1 * float(np.nanmax(rate.values))
    return np.isfinite(value) and value >= OFF[line.name] * (1.0 if still else LATER) and (still or early)


def _never_apart(lines: Sequence[Line]) -> Iterator[Finding]:
    """A policy that is updated, and that its reference follows: log-probabilities equal, or rewards of 0, all along."""
    for file in dict.fromkeys(x.file for x in lines):
        own = [x for x in lines if x.file == file and not x.group and np.isfinite(x.values).all()]
        found = [*_equal_pairs(own)] or [*_rewards_of_zero(own)]
        if len(found) < 2 or not _learns(own):
            continue
        said = "; ".join(f"{a.key} = {b.key}" if b is not a else f"{a.key} = 0" for a, b in found[:2])
        n = min(len(a) for a, _ in found)
        yield Finding(
            "reference-equals-policy", Severity.S1,
            f"At all {n} points {said}, to the last digit, while the policy is updated: the reference is the policy "
            "itself and moves with it, so no preference can be learned.",
            f"全部 {n} 个点上 {said}，每一位都相同，而策略一直在更新：参考就是策略本身、随它一起变，学不到任何偏好。",
            tuple(x.evidence(len(x) - 1) for a, b in found[:2] for x in ((a,) if b is a else (a, b))),
            {"points": n, "columns": [*dict.fromkeys(x.key for pair in found for x in pair)]},
        )  # fmt: skip
        return


def _learns(lines: Sequence[Line]) -> bool:
    """Whether something is updated: a rate and a gradient that are not zero, as far as they are logged."""
    least = {"learning_rate": MOVES, "grad_norm": 0.0}
    levels = [float(np.median(x.values)) > least[x.name] for x in lines if x.name in least]
    return bool(levels) and all(levels)


def _equal_pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Log-probabilities of the reference and of the policy that are the same at every point, and not one number."""
    rest = {_bare(POLICY, x): x for x in lines if means(LOGPROB, x.key) and not means(OWN_START, x.key)}
    for ref in lines:
        other = rest.get(_bare(OWN_START, ref)) if means(OWN_START, ref.key) and means(LOGPROB, ref.key) else None
        if (
            other is not None
            and len(ref) == len(other) >= LEAST_POINTS
            and np.ptp(ref.values) > 0
            and np.array_equal(ref.values, other.values)
        ):
            yield ref, other


def _bare(pattern: re.Pattern[str], line: Line) -> str:
    """A name without the word that says whose it is."""
    return "_".join(w for w in pattern.sub("_", plain(line.key)).split("_") if w)


def _rewards_of_zero(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Implicit rewards of both answers that are 0 at every point."""
    for line in lines:
        if line.name in ("reward_chosen", "reward_rejected") and len(line) >= LEAST_POINTS and not line.values.any():
            yield line, line

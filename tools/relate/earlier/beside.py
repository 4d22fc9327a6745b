"""A run beside the earlier one that lies in its folder: what was measured of both at the same steps, and is not alike.

The earlier one is another training under the same path, or a file of its measures beside those of this run. Nothing is
judged here: a note, which answers who says that the new one is worse or slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...config.diff import diff
from ...config.values import number
from ...findings import Check, Evidence, Finding, Report, Severity, declare
from ...patterns import bounded
from ...series import Series, SeriesTable
from ...settings import Settings
from ...vocabulary import COUNTS, VOCABULARY
from .printed import printed_apart

CHECK = "the run beside an earlier one"
CODES = declare(
    "beside", ("differs-beside", CHECK, "an earlier run beside this one measured something else at the same steps")
)
EARLIER = bounded(
    r"(?i)(?:^|[/_.\W-])(?:prev(?:ious)?|old|before|base(?:line)?|ref(?:erence)?|last|earlier|good|orig(?:inal)?)"
    r"(?:[/_.\W-]|$)|之前|以前|上一?[次个轮版]|旧|原来|基线|对照"
)
"""What calls a folder or a file that of the earlier run."""
HELD_OUT = "eval_"
SKIPPED = ("learning_rate", "warmup_steps", *COUNTS)
"""Measures that say how a run was set."""
LEAST, WARMING = 10, 3
"""Points of each that lie in the compared part, and the first ones, which are left out."""
PART = 0.5
"""Share of the common way, its end, over which the two are compared."""
CLEAR = 5.0
"""Standard errors by which levels are apart at least."""
OF_LOSS, OF_OTHERS, UNKNOWN = 0.02, 0.1, 0.5
"""Share of the larger level by which a loss, another known measure, and one that nobody knows differ. Own judgement:
two seeds of one training end within a hundredth of a loss."""
MOST, MOST_SET = 5, 4
"""Measures, and things set otherwise, that are told."""


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    """Its folder below the path; of a run that is a file, the file."""
    table: SeriesTable
    settings: Settings = field(default_factory=Settings)
    heads: Sequence[tuple[str, int, str]] = ()
    """(file, line, text) of the first lines of its logs."""


@dataclass(frozen=True)
class Apart:
    """One measure of both, with its levels over the end of the way that both went."""

    mine: Series
    theirs: Series
    own: float
    other: float

    @property
    def by(self) -> float:
        """Share of the larger level."""
        return abs(self.own - self.other) / max(abs(self.own), abs(self.other))

    @property
    def worse(self) -> bool:
        """Whether the later run is known to be the worse one by it."""
        way = VOCABULARY[self.mine.metric].better if self.mine.metric in VOCABULARY else 0
        return way * (self.own - self.other) < 0


def beside(own: Side, others: Sequence[Side]) -> Report:
    """The run against the one earlier run beside it; of several, that whose name says so."""
    own, other = _pair(own, others)
    found = _told(own, other) if other is not None else None
    why = "" if other is not None else "no earlier run lies beside it"
    result = "found" if found else "clear" if other is not None else "not-applicable"
    return Report("beside", (found,) if found else (), (Check(CHECK, result, why),))


def _pair(own: Side, others: Sequence[Side]) -> tuple[Side, Side | None]:
    named = [s for s in others if EARLIER.search(s.name)]
    if len(named) == 1 or len(others) == 1:
        return own, (named or list(others))[0]
    if others:
        return own, None
    files = {s.file for s in own.table}
    old = {f for f in files if EARLIER.search(f.rpartition("/")[2])}
    if len(old) != 1 or old == files:
        return own, None
    parts = [SeriesTable(tuple(s for s in own.table if (s.file in old) is which)) for which in (False, True)]
    return Side(own.name, parts[0], own.settings, own.heads), Side(old.pop(), parts[1])


def _told(own: Side, other: Side) -> Finding | None:
    found = sorted(_apart(own.table, other.table), key=lambda a: (not a.worse, -a.by))
    if not any(a.mine.metric in VOCABULARY for a in found):
        return None
    found = found[:MOST]
    said = "; ".join(f"{a.mine.key} {a.own:.4g} here and {a.other:.4g} there" for a in found)
    zh = "；".join(f"{a.mine.key} 这里 {a.own:.4g}，那边 {a.other:.4g}" for a in found)
    changed = list(_set_otherwise(own, other))[:MOST_SET]
    if changed:
        said += "; set or printed otherwise: " + ", ".join(f"{k} {old} there, {new} here" for k, old, new, _ in changed)
        zh += "；设置或打印不同：" + "，".join(f"{k} 那边 {old}，这里 {new}" for k, old, new, _ in changed)
    places = [e for a in found for e in (a.mine.at(len(a.mine) - 1), a.theirs.at(len(a.theirs) - 1))]
    return Finding(
        "differs-beside", Severity.S3,
        f"Beside {other.name}, over the same steps: {said}.",
        f"与 {other.name} 相比（同样的步）：{zh}。",
        (*places, *(e for *_, e in changed)),
        {"sibling": other.name, "worse": [a.mine.metric for a in found if a.worse],
         "levels": {a.mine.metric: [a.other, a.own] for a in found},
         "changed": {k: [old, new] for k, old, new, _ in changed}},
    )  # fmt: skip


def _apart(table: SeriesTable, other: SeriesTable) -> Iterator[Apart]:
    """Measures of one name in both that end on other levels."""
    mine, theirs = _by_name(table), _by_name(other)
    keyed = {s.key: s for s in theirs.values()}
    for name, a in mine.items():
        b = theirs.get(name) or keyed.get(a.key)
        if b is None or a.step_is != b.step_is or a.axis != b.axis or (one := _levels(a, b)) is None:
            continue
        lossy = a.metric in VOCABULARY and a.metric.removeprefix(HELD_OUT).endswith("loss")
        least = OF_LOSS if lossy else OF_OTHERS if a.metric in VOCABULARY else UNKNOWN
        if one.by >= least:
            yield one


def _by_name(table: SeriesTable) -> Mapping[str, Series]:
    """The longest series of each measure of the whole run."""
    found: dict[str, Series] = {}
    for s in table:
        if s.metric not in SKIPPED and not s.group and s.confidence == 1:
            found[s.metric] = max((found.get(s.metric, s), s), key=len)
    return found


def _levels(a: Series, b: Series) -> Apart | None:
    """Both levels over the end of what both have; None where they are not clearly apart."""
    end, start = min(a.steps[-1], b.steps[-1]), max(a.steps[0], b.steps[0])
    begin = end - PART * (end - start)
    some = [s.values[WARMING:][(s.steps[WARMING:] >= begin) & (s.steps[WARMING:] <= end)] for s in (a, b)]
    if min(map(len, some)) < LEAST or not all(np.isfinite(v).all() for v in some):
        return None
    own, other = (float(np.median(v)) for v in some)
    error = float(np.hypot(*(_noise(v) / np.sqrt(len(v)) for v in some)))
    if max(abs(own), abs(other)) == 0 or abs(own - other) <= CLEAR * error:
        return None
    return Apart(a, b, own, other)


def _noise(values: np.ndarray) -> float:
    """Scatter of single points around their own way, from what follows each other."""
    return float(1.4826 * np.median(np.abs(np.diff(values))) / np.sqrt(2))


def _set_otherwise(own: Side, other: Side) -> Iterator[tuple[str, object, object, Evidence]]:
    """(name, there, here, where) of what a person would look at first: settings, then what the logs print."""
    seen: set[str] = set()
    if own.settings.values and other.settings.values:
        for d in diff(other.settings, own.settings):
            file, _, line = d.where.rpartition(":")
            if d.counts and file and line.isdecimal():
                seen.add(d.variable)
                yield d.variable, d.old, d.new, Evidence(file, int(line), text=f"{d.variable} {d.new}")
    for key, old, new, where in printed_apart(own.heads, other.heads):
        if key not in seen:
            seen.add(key)
            yield key, old, new, where
    yield from _constant(own, other)


def _constant(own: Side, other: Side) -> Iterator[tuple[str, object, object, Evidence]]:
    """What one of them logs as one number on every line, and the other sets or logs as another."""
    logged = {s.key: s for s in own.table}
    named = {s.key.rpartition(".")[2]: s for s in (*own.settings.values.values(), *own.settings.others.values())}
    for s in other.table:
        if len(s) < LEAST or np.ptp(s.values) != 0 or s.metric in COUNTS:
            continue
        there, mine, here = float(s.values[0]), logged.get(s.key), named.get(s.key)
        if mine is not None and len(mine) and np.ptp(mine.values) == 0 and mine.values[0] != there:
            yield s.key, f"{there:g}", f"{mine.values[0]:g}", mine.at(0)
        elif mine is None and here is not None and (value := number(here.value)) is not None and value != there:
            yield s.key, f"{there:g}", f"{value:g}", here.evidence()

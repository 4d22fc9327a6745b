"""A measure along its way: one row of numbers over steps, time or depth, wherever it was written down.

Series of logs and the measures of tables become `Line`s here, a table with groups one for each group. What the numbers
say is judged beside this file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..findings import Evidence
from ..meaning import quantity
from ..metrics import canonical
from ..series import Series
from ..tables.series import CURVED, by_place, of_items, of_samples, outcomes
from ..tables.table import Column, Table
from ..tables.usual import usual
from ..tables.vocabulary import name_of
from ..vocabulary import COUNTS, VOCABULARY, Better

MOST_LINES = 4000
"""Lines that are judged; a run of 500 series on 8 ranks has as many."""
MOST_GROUPS = 64
"""Groups of one table that become lines of their own; beyond, only `contrast` looks at them."""
AXES = ("step", "time", "length", "epoch")
"""Kinds of way, the one to prefer first."""
SEVERAL = 4
"""Rows at one place from which on each is a measurement of its own."""
MONTH = 31 * 86_400
"""Seconds from which on a time is a clock and no duration."""
CLOCK = 1e8
"""Places from which on they are seconds since the epoch: neither steps nor a clock without a year."""
_WAITED = re.compile(r"(?:^|_)(?:ttft|tpot|itl|e2e|latency|time_to_first_token|time_per_output_token)(?:_|$)")
"""What a request takes; a zero is that there was none."""
_OF_A_POLICY = frozenset(("ppo_kl", "policy_loss", "clip_fraction"))
_RATIO = re.compile(
    r"(?:^|_)(?:ratio|is_weights?|importance\w{0,10})(?:_|$)|(?:^|_)(?:ppo|approx|old|behavio\w{1,5})_?kl"
    r"|kl_?(?:old|behavio\w{1,5})|重要性"
)
"""Measures that only a policy's loss has: what is clipped beside them is its ratio."""
_GRADIENT = re.compile(r"(?:^|_)(?:g|grads?|gradients?|g?norm)(?:_|$)|grad|梯度|范数")
FEWEST_MEMBERS = 3
"""Machines or ranks that print one measure, from which on what stands before the colon is their name."""
_MEMBER = re.compile(
    r"(?i)((?:n|node|host|worker|rank|r|gpu|dp|srv|server|machine|h|节点|机器)[-_]?)(\d{1,4}):\s?"
    r"([A-Za-z\u3400-\u9fff][\w/ ]{1,30})$"
)
_RANK = re.compile(r"(?i)(?:rank|r|gpu|dp)[-_]?")
_OF_STEP = re.compile(r"(?i)fwd|bwd|forward|backward|compute|optim|allreduce|all_reduce|\bwait\b|\bcomm\b|前向|反向")
"""Parts of a step that are timed."""
_BARE_DATA = re.compile(r"(?i)data|load|loader|input|fetch|数据|取数")
_NOISY_NAME = re.compile(r"[^a-z0-9一-鿿]+")


@dataclass(frozen=True)
class Line:
    """One measure along one way; only finite places on the way, in their order."""

    name: str
    """Canonical metric, or the measure's own name."""
    key: str
    """What the file calls it."""
    file: str
    x: np.ndarray
    """(n,) float64, increasing: steps, seconds since the epoch, or whatever the way is counted in."""
    values: np.ndarray
    """(n,) float64, as they were written: NaN and infinities are kept."""
    at: np.ndarray
    """(n,) int64, one-based line in `file`; 0 where it has none."""
    axis: str = "step"
    """Kind of the way: `step`, `time`, or its own name."""
    group: str = ""
    """`rank 3`: which part of the run it is about; empty for the whole."""
    rank: int | None = None
    attempt: str = ""

    def __len__(self) -> int:
        return len(self.x)

    @property
    def known(self) -> bool:
        return self.name in VOCABULARY and self.name not in COUNTS

    @property
    def better(self) -> Better:
        """Which way is good; 0 where nobody knows."""
        return VOCABULARY[self.name].better if self.known else 0

    @property
    def said(self) -> str:
        """Its name as people read it: with its group."""
        return f"{self.key} ({self.group})" if self.group else self.key

    def finite(self) -> Line:
        keep = np.isfinite(self.values)
        return self if keep.all() else self.only(keep)

    def only(self, keep: np.ndarray) -> Line:
        return replace(self, x=self.x[keep], values=self.values[keep], at=self.at[keep])

    def evidence(self, i: int) -> Evidence:
        """The point as evidence."""
        step = int(self.x[i]) if self.axis == "step" else None
        line = int(self.at[i]) or None
        return Evidence(self.file, line, step, self.rank, self.name, float(self.values[i]))

    def where(self, i: int) -> str:
        """`step 4000`, or the time of day."""
        return place(self.axis, float(self.x[i]))


def place(axis: str, x: float) -> str:
    """A place on a way as people read it."""
    if axis == "time" and x > MONTH:
        said = str(np.datetime64(round(x), "s")).replace("T", " ")
        return said if x > CLOCK else said[5:]  # the clock of a log without a year
    return f"{axis} {x:.10g}"


@lru_cache(8192)
def plain(name: str) -> str:
    """A name without case and punctuation, so that `Data Time` and `data_time` are one."""
    return _NOISY_NAME.sub("_", name.lower()).strip("_")


def means(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    """What a pattern finds in a name, as it is written or in the words that most files use for it."""
    own = plain(name)
    return pattern.search(own) or (pattern.search(other) if (other := usual(own)) != own else None)


_PART = re.compile(r"(.{2,60})[/.]([a-z]{0,10}_?\d{1,3})", re.IGNORECASE)
"""A measure and the part of a model that it is of."""


def lines_of(series: Iterable[Series], tables: Sequence[Table]) -> tuple[Line, ...]:
    """Every measure along a way, longest first; what a log's reader and a table's reader both read counts once."""
    found = _by_member(
        [_of_series(s) for s in series if not (s.step_is == "line" and s.metric in CURVED and outcomes(s.values))]
    )
    seen = {(line.file, plain(line.key)) for line in found}
    found += [line for table in tables for line in _of_table(table) if (line.file, plain(line.key)) not in seen]
    found = _clipped(_by_part(found))
    found = [line.only(line.values != 0) if means(_WAITED, line.key) else line for line in found]
    whole = [line for line in found if len(line) > 1 and line.name not in COUNTS]
    return tuple(sorted(whole, key=lambda line: -len(line))[:MOST_LINES])


def _clipped(lines: list[Line]) -> list[Line]:
    """The lines, with a share that is clipped beside a policy's ratio or KL as the policy's: only where its name speaks
    of gradients is it theirs."""
    policies = {line.file for line in lines if line.name in _OF_A_POLICY or means(_RATIO, line.key)}
    return [replace(line, name="clip_fraction")
            if line.name == "grad_clip_rate" and line.file in policies and not means(_GRADIENT, line.key) else line
            for line in lines]  # fmt: skip


def _by_member(lines: list[Line]) -> list[Line]:
    """Lines that name their machine or rank before a colon (`n5:data`), as groups of one measure.

    A bare `data` beside the times of the other parts of a step is the time that data took.
    """
    named = {id(line): m for line in lines if not line.group and (m := _MEMBER.match(line.key))}
    often = Counter((line.file, m[1], m[3]) for line in lines if (m := named.get(id(line))))
    timed = {line.file for line in lines if _OF_STEP.search(line.key)}

    def one(line: Line) -> Line:
        m = named.get(id(line))
        if m is None or often[(line.file, m[1], m[3])] < FEWEST_MEMBERS:
            return line
        kind, number = ("rank" if _RANK.fullmatch(m[1]) else "host"), m[2]
        name = "data_time" if line.file in timed and _BARE_DATA.fullmatch(m[3]) else _meant(m[3])
        return replace(line, name=name, key=m[3], group=f"{kind} {m[1] if kind == 'host' else ''}{number}",
                       rank=int(number) if kind == "rank" else None)  # fmt: skip

    return [one(line) for line in lines]


def _by_part(lines: list[Line]) -> list[Line]:
    """Lines named by a known measure and a numbered part of the model (`code_entropy/q0`), as groups of the measure."""
    named = {
        id(line): (m[1], m[2])
        for line in lines
        if not line.group and line.name == line.key and (m := _PART.fullmatch(line.key)) and canonical(m[1])
    }
    often = Counter((line.file, named[id(line)][0]) for line in lines if id(line) in named)

    def one(line: Line) -> Line:
        whole, part = named.get(id(line), ("", ""))
        many = often[line.file, whole] >= FEWEST_MEMBERS
        return replace(line, name=_meant(whole), key=whole, group=part) if many else line

    return [one(line) for line in lines]


def _of_series(s: Series) -> Line:
    axis = s.axis if s.axis != "step" else "step" if s.step_is in ("step", "cumulative") else s.step_is
    group = s.group.replace("=", " ") or ("" if s.rank is None else f"rank {s.rank}")
    name = s.metric if s.metric in VOCABULARY else _meant(s.metric)
    line = Line(name, s.key, s.file, s.steps.astype(float), s.values, s.lines, axis, group, s.rank, s.attempt)
    return _ordered(line)


def _of_table(table: Table) -> Iterator[Line]:
    axes = [c for c in table.of("axis") if c.values.dtype.kind == "f"]
    axis = min(axes, key=lambda c: AXES.index(c.of) if c.of in AXES else len(AXES), default=None)
    if axis is None or len(table) < 2:
        return
    measures = [c for c in table.of("measure") if c.values.dtype.kind == "f" and not of_samples(axis, c)]
    items = of_items(table, axis.values)
    for label, rank, rows in groups_of(table):
        for column in measures:
            keep = rows & np.isfinite(axis.values)
            if keep.sum() > 1:
                along = _averaged if items or _repeated(axis.values[keep]) else _ordered
                yield along(
                    Line(metric_of(column), column.name, table.file, axis.values[keep], column.values[keep],
                         table.lines[keep], axis.of or axis.name, label, rank)
                )  # fmt: skip


def metric_of(column: Column) -> str:
    """The canonical metric of a measure, its own name where none is known."""
    if column.of in VOCABULARY:
        return column.of
    return _meant(column.name, column.unit)


def _meant(key: str, unit: str = "") -> str:
    """The quantity that a measure's own name says, the name where it says none."""
    if hit := canonical(key):
        return hit[0]
    name = name_of(key)
    return quantity(name.plain, name.unit or unit) or key


def groups_of(table: Table) -> Iterator[tuple[str, int | None, np.ndarray]]:
    """(label, rank, rows) of each group of a table; the whole table where it has none, nothing where it has too many.

    A group that never changes inside the table, or that counts as finely as the rows, tells nothing apart.
    """
    columns = [c for c in table.of("group") if 1 < len(set(c.values.tolist())) <= MOST_GROUPS]
    if not columns:
        yield "", None, np.ones(len(table), bool)
        return
    keys = list(zip(*(c.values.tolist() for c in columns), strict=True))
    different = dict.fromkeys(keys)
    if len(different) > MOST_GROUPS:
        return
    number = {key: i for i, key in enumerate(different)}
    codes = np.array([number[key] for key in keys])
    for key, i in number.items():
        label = ", ".join(f"{c.of or c.name} {value}" for c, value in zip(columns, key, strict=True))
        yield label, _rank(columns, key), codes == i


def _rank(columns: Sequence[Column], key: Sequence[object]) -> int | None:
    found = (str(v) for c, v in zip(columns, key, strict=True) if c.of == "rank")
    return next((int(v) for v in found if v.isdecimal() and len(v) < 7), None)


def _repeated(x: np.ndarray) -> bool:
    """Whether most places have several rows of their own, all of which are measured there: no restart, and no row that
    takes the place of another."""
    _, counts = np.unique(x, return_counts=True)
    return len(counts) > 1 and float(np.median(counts)) >= SEVERAL


def _averaged(line: Line) -> Line:
    x, first, means = by_place(line.x, line.values)
    return replace(line.only(first), x=x, values=means)


def _ordered(line: Line) -> Line:
    """In the order of the way; of rows at one place the last one counts."""
    order = np.argsort(line.x, kind="stable")
    last = np.append(np.diff(line.x[order]) != 0, True) if len(order) else np.zeros(0, bool)
    return line.only(order[last])

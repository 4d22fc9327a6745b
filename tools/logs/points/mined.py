"""Series out of lines that no declared format reads: of a shape that comes again, the numbers that change.

The counter among them is the axis, the words before a number its name, small whole numbers that come again and again
tell groups apart. Each series says how sure it is (`Series.confidence`); nothing is judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...heads import lengths
from ...metrics import TRAINED, canonical, named, of_answers, of_split, step_key, tells
from ...patterns import bounded
from ...run import Artifact
from ...series import Series, may_be_loss
from ...vocabulary import BARE_TIMES, COUNTS, VOCABULARY
from ..company import LOSSES
from ..ends.begun import begun
from .columns import (
    EPOCHS,
    LEAST,
    OTHER_BAR,
    STEPS,
    Column,
    beside_data,
    columns_of,
    counts_within,
    joined,
    plain,
    tells_apart,
    words_of,
)
from .grammar import HELD_OUT, known_end
from .points import Store
from .shapes import Shape, Shapes
from .stream import Keyed

MANY, SOME = 20, 5
"""Lines from which on a shape is no accident, and from which on it may be none."""
MOST = 120
"""Series of one file that are kept, the surest first, of these any with values that are no numbers."""
BARE = 3
"""Most numbers without any name that are kept of a shape."""
WRITTEN = 4_096
"""Different writers that are kept apart."""
TOLD = 50
"""Lines of a shape by which it is told whether a format reads them."""
GUESSED = 0.4
"""Most confidence in a name that stands for a metric by custom alone: below `series.SURE`."""

LASTED = 2_000
"""Lines by which it is told that a count says how long each of them lasted."""

TIMED = bounded(r"\d\s?(?:ms|us|[µμ]s|s)\b")
"""A time with its unit, of which few lines may have the same: `740ms` before `1.02s`."""
WRITERS = frozenset((
    "rank", "ranks", "gpu", "device", "worker", "node", "host", "local_rank", "proc", "process", "default",
))  # fmt: skip
"""Names of numbers that tell who writes."""
STRANGERS = frozenset((
    "pid", "port", "line", "tid", "id", "seed", "ns", "eta", "elapsed", "remaining", "uid", "job", "version",
    "lineno", "thread", "address",
))  # fmt: skip
"""Names of numbers that are no measure."""
STANDS = bounded(r"(?i)(?:^|[^a-z])(?:reqs?|requests?|queue[ds]?|running|waiting|pending|seqs?)$")
"""Names of what stands at a moment, and counts nothing along the way though it may rise."""
CUSTOM = {
    **dict.fromkeys(("train", "trn", "l", "trl", "tr_loss"), "loss"),
    **dict.fromkeys(("val", "valid", "validation", "test", "dev", "tel", "vl"), "eval_loss"),
}
"""Names that stand for a loss by custom."""
VAGUE = frozenset(("score", "scores", "return"))
OF_RL = frozenset(("kl", "ppo_kl", "entropy", "policy_loss", "value_loss", "response_length", "clip_fraction"))
"""Names that are a reward only where something that only reinforcement learning logs stands beside them."""
RATES = ("s/it", "it/s")
"""Units of the speed that a progress bar shows by itself: of whatever it counts."""
SPEEDS = ("step_time", "samples_per_second", "tokens_per_second", "gpu_memory", "learning_rate")


_Taken = Mapping[str, Sequence[np.ndarray]]


@dataclass(eq=False)
class _Table:
    """The shapes of the same names as columns with their meanings."""

    text: str
    lines: np.ndarray
    columns: list[Column]
    step: Column | None = None
    epoch: Column | None = None
    writer: Column | None = None
    label: Column | None = None
    borrowed: tuple[np.ndarray, str] | None = None
    """Axis of another shape, and what it counts."""
    under: str = ""
    """The text of that shape."""
    measures: list[Column] = field(default_factory=list)

    def whole(self) -> int:
        """The last line at which the counter has reached its total, where lines of this kind carry measures."""
        counter = self.step or self.epoch
        after = self.columns.index(counter) + 1 if counter else len(self.columns)
        if counter is None or after >= len(self.columns) or not self.columns[after].total:
            return 0
        if not any(tells(_key(c, self)) and _base(_key(c, self)) not in SPEEDS for c in self.columns):
            return 0  # a bar of something else
        total = self.columns[after].values
        at = self.lines[(counter.values == total) & (total >= LEAST)]
        return int(at[-1]) if len(at) else 0

    @property
    def axisless(self) -> bool:
        return self.step is None and self.epoch is None and self.borrowed is None


class Mine:
    """The shapes of one log as tables of numbers."""

    def __init__(self, shapes: Shapes) -> None:
        alike: dict[tuple[str, ...], list[tuple[Shape, list[Column]]]] = {}
        for shape in [*shapes.repeated(1), *shapes.lone()]:
            if len(shape.numbers) * shape.every < LEAST and not (shape.words or TIMED.search(shape.text)):
                continue
            columns = [*columns_of(shape)] if not OTHER_BAR.match(shape.text) else []
            key = (words_of(shape), *(c.name + c.unit for c in columns))
            alike.setdefault(key, []).append((shape, columns))
        often = [same for same in alike.values() if sum(len(s.numbers) * s.every for s, _ in same) >= LEAST]
        self.tables = [table for same in often if (table := _table(same))]
        for table in self.tables:
            if table.axisless:
                table.borrowed, table.under = _borrowed(table, self.tables)

    def first_line(self) -> int:
        """The first line with a number of a known name, past every line where there is none."""
        known = (t for t in self.tables if any(_is_measure(c, t, {}) and _known(c, t) for c in t.columns))
        return min((int(t.lines[0]) for t in known), default=1 << 60)

    def whole(self) -> int:
        """The last line at which the counter of steps or epochs has reached its total, 0 for none."""
        return max((table.whole() for table in self.tables), default=0)

    def series(self, log: Artifact, known: Sequence[Series], starts: tuple[int, ...]) -> Iterator[Series]:
        """The series that say more than the `known` ones of the log.

        Args:
            log: what is read.
            known: what the declared formats have read in it.
            starts: lines at which its program was started again.
        """
        taken, anew, found = _taken(known), begun(self.tables), list[_Found]()
        for table in self.tables:
            table.measures = [c for c in table.columns if _is_measure(c, table, taken)]
            if table.measures:
                store = Store()
                store.starts = (*starts, *anew) if table.borrowed else starts
                _fill(store, table)
                for one in store.series(log.name, log.attempt, log.rank):
                    sure = replace(one, confidence=_confidence(table, one))
                    found.append((_named(sure, table.axisless), table))
        counts = Counter[str]()
        for one in known:
            counts[one.metric] += len(one)
        metrics = {metric for metric, n in counts.items() if n >= LEAST or all(len(one) < LEAST for one, _ in found)}
        if not OF_RL & (metrics | {one.metric for one, _ in found}):
            found = [(_unsure(one), table) for one, table in found]
        yield from _best(found, metrics)


_Found = tuple[Series, _Table]


def _best(found: list[_Found], taken: set[str]) -> Iterator[Series]:
    """Each metric by the surest and longest of its tables; in the others the number keeps its whole name."""
    owner: dict[str, tuple[_Table, str]] = {}
    for one, table in sorted(found, key=lambda f: (-f[0].confidence, _whole(f[0]), -len(f[0])))[:MOST]:
        if one.metric == one.key and one.metric not in VOCABULARY:
            yield one
            continue
        mine = owner.setdefault(one.metric, (table, one.key))
        if one.metric not in taken and mine[0] is table and mine[1] == one.key:
            yield one
            continue
        names = (c.name for c in table.measures if one.key.startswith(_key(c, table)))
        name = next(names, one.key)
        yield replace(one, metric=name if name not in VOCABULARY else f"{name}?", key=name)


def _whole(series: Series) -> bool:
    """Whether every value is a number: of more trainings than are kept, those that broke are told first."""
    return bool(np.isfinite(series.values).all())


def _unsure(series: Series) -> Series:
    """A score without anything else of reinforcement learning is not its reward: a checkpoint may be saved by it."""
    return replace(series, metric=series.key) if series.metric == "reward" and series.key.lower() in VAGUE else series


def _named(series: Series, axisless: bool) -> Series:
    """A series under the name that its words or custom give it."""
    if series.metric == series.key and (hit := named(series.key)):
        return replace(series, metric=hit[0], values=series.values * hit[1])
    by_custom = CUSTOM.get(series.key.lower()) if series.metric == series.key and not axisless else None
    values = series.values[np.isfinite(series.values)]
    if by_custom is None or not may_be_loss(values) or (values == np.floor(values)).all():
        return series
    return replace(series, metric=by_custom, confidence=min(series.confidence, GUESSED))


def _table(same: Sequence[tuple[Shape, list[Column]]]) -> _Table | None:
    """Shapes of the same names with the roles of their columns; None where nothing in them changes."""
    lines = np.concatenate([np.array(shape.numbers) for shape, _ in same])
    order = np.argsort(lines, kind="stable")
    columns = [joined([c[i] for _, c in same], order) for i in range(len(same[0][1]))]
    if not any(c.changes for c in columns):
        return None
    table = _Table(same[0][0].text, lines[order], columns)
    free = [c for c in columns if c.whole and not c.total]
    table.writer = next((c for c in free if c.last in WRITERS), None)
    table.epoch = next((c for c in free if c.last in EPOCHS), None)
    lasted = lengths({c.name: c.values[:LASTED].tolist() for c in free})
    named = [c for c in free if c.name not in lasted and (c.last in STEPS or step_key(plain(c.name)) is not None)]
    others = [c for c in free if c.changes and c not in (table.epoch, table.writer)]
    steady = [c for c in others if not (c.glued or c.last in STRANGERS or STANDS.search(c.name))]
    counts = max((c for c in steady if c.rising >= 0.7), key=lambda c: c.rising, default=None)
    table.step = next((c for c in named if c.changes and not (counts and c.is_size)), None)
    if table.step is None and table.epoch is None:
        table.step = counts
    elif table.step is None and table.epoch is not None:
        table.step = next((c for c in others if counts_within(c, table.epoch.values, columns)), None)
    rest = [c for c in free if c not in (table.step, table.epoch, table.writer) and c.last not in STRANGERS]
    table.label = next((c for c in rest if tells_apart(c)), None)
    return table


def _is_measure(column: Column, table: _Table, taken: _Taken) -> bool:
    """Whether a column is a series that the declared formats have not read."""
    roles = (table.step, table.epoch, table.writer, table.label)
    key, of_score = _key(column, table), of_answers(plain(column.name))
    said = column.changes or column.delimited or of_score or (not table.axisless and _base(key) == "learning_rate")
    if column in roles or column.total or not said:
        return False
    if column.last in STRANGERS | STEPS | EPOCHS or (
        table.axisless and not column.delimited and len(table.lines) < SOME
    ):
        return False
    metric, name = canonical(key), plain(column.name)
    if column.name in RATES and ("<" in table.text or "it [" in table.text):
        return False
    if (name in BARE_TIMES and not beside_data(column, table.columns)) or (metric and metric[0] in COUNTS):
        return False
    names = (name, metric[0]) if metric else (name,)
    if any(_shared(table.lines[:TOLD], lines) for n in names for lines in taken.get(n, ())):
        return False
    if not column.name:
        bare = [c for c in table.columns if c.changes and c not in roles]
        alone = len(bare) <= BARE and not any(c.name for c in bare)
        return not table.axisless and column.changes and (alone or _leads(column, table))
    return column.changes or ((metric is not None or of_score) and (table.step or table.epoch) is not None)


def _leads(column: Column, table: _Table) -> bool:
    """Whether it is the one number without a name, right behind the counter of a line that names all others."""
    unnamed = [c for c in table.columns if not c.name and c.changes and c is not table.step]
    after = table.columns.index(table.step) + 1 if table.step else len(table.columns)
    return unnamed == [column] and table.columns[after : after + 1] == [column] and not column.whole


def _shared(few: np.ndarray, lines: np.ndarray) -> bool:
    """Whether any of a few lines that rise is among many."""
    return bool(np.isin(few, lines[(lines >= few[0]) & (lines <= few[-1])]).any())


def _taken(known: Sequence[Series]) -> _Taken:
    """The lines in which the declared formats have read each metric and key."""
    taken: dict[str, list[np.ndarray]] = {}
    for one in known:
        for name in {one.metric, plain(one.key)}:
            taken.setdefault(name, []).append(one.lines)
    return taken


def _known(column: Column, table: _Table) -> bool:
    key = _key(column, table)
    return canonical(key) is not None or (key.lower() in CUSTOM and not table.axisless)


def _key(column: Column, table: _Table) -> str:
    """The name of a series; `eval` goes first in a line that tells of held-out data."""
    name = column.name or f"column {table.columns.index(column) + 1}"
    known = named(name) or name.lower() in CUSTOM or _is_part(column, table)
    key = name if known else known_end(name) or _end_of(name) or name
    told = HELD_OUT.match(table.text) or HELD_OUT.match(table.under)
    if told and not HELD_OUT.match(key):
        held = canonical(of_split(key, "eval"))
        return held[0] if held else f"eval {key}" if key.lower() in LOSSES and not TRAINED.match(key) else key
    return key


def _is_part(column: Column, table: _Table) -> bool:
    """Whether a name is one of several losses of a line, each under a word of its own: `image loss`, `fake loss`."""
    ends = [end for c in table.columns if not named(c.name) and (end := known_end(c.name)) and end != c.name]
    return len(ends) > 1 and "loss" in known_end(column.name).lower() and len({end.lower() for end in ends}) == 1


def _end_of(name: str) -> str:
    """The known end of a name that is written without blanks (`当前损失`)."""
    ends = (name[i:] for i in range(1, len(name) - 1)) if len(name) < 20 and not name.isascii() else ()
    return next((end for end in ends if not end.isascii() and named(end)), "")


def _base(key: str) -> str:
    hit = canonical(key)
    return hit[0] if hit else key


def _borrowed(table: _Table, tables: Sequence[_Table]) -> tuple[tuple[np.ndarray, str] | None, str]:
    """The counter of another shape that stands once between two lines of this one: a step line with metrics below; and
    the text of that line."""
    best: tuple[int, np.ndarray, str, str] | None = None
    for other in tables:
        counter = other.step or other.epoch
        if other is table or counter is None or other.writer is not None:
            continue
        at = np.searchsorted(other.lines, table.lines) - 1
        at = at if at[0] >= 0 else at + 1
        if at[0] < 0 or at[-1] >= len(other.lines) or len(np.unique(at)) < 0.9 * len(at):
            continue
        far = int(np.abs(other.lines[at] - table.lines).sum())
        if best is None or far < best[0]:
            best = far, _counted_on(other, counter)[at], "epoch" if counter is other.epoch else "step", other.text
    return (best[1:3], best[3]) if best else (None, "")


def _counted_on(table: _Table, counter: Column) -> np.ndarray:
    """The counter without its falls, where it begins anew in each epoch."""
    values = counter.values
    epochs = table.epoch.values if table.epoch else _rounds(table)
    if counter is table.epoch or epochs is None:
        return values
    falls = (np.diff(values) < 0) & (np.diff(epochs) > 0)
    return values + np.concatenate(([0.0], np.cumsum(falls * (values[:-1] + (values[1:] == 0)))))


def _fill(store: Store, table: _Table) -> None:
    """The measures of a table as records, each group a stream of its own."""
    axis, step_is, epochs = _axis(table)
    count = len(table.lines)
    steps = np.arange(1, count + 1) if axis is None else axis.astype(np.int64)
    epochs = np.full(count, np.nan) if epochs is None else epochs
    labels = table.label.values if table.label else np.zeros(count)
    ranks = table.writer.values if table.writer and len(np.unique(table.writer.values)) <= WRITTEN else np.zeros(count)
    for label, rank in np.unique(np.column_stack((labels, ranks)), axis=0).tolist():
        chosen = np.flatnonzero((labels == label) & (ranks == rank))
        tail = f" {table.label.name} {int(label)}".rstrip() if table.label else ""
        stream = store.stream("mined" + tail, int(rank) if table.writer and ranks is table.writer.values else None)
        stream.by_line, stream.borrowed, stream.step_is = axis is None, table.borrowed is not None, step_is
        where = np.arange(len(chosen))
        columns = [Keyed(_key(c, table) + tail, where, c.values[chosen]) for c in table.measures]
        store.records(stream, steps[chosen], table.lines[chosen], epochs[chosen], columns)


def _axis(table: _Table) -> tuple[np.ndarray | None, str, np.ndarray | None]:
    """The steps, what they are, and the epochs within which they are counted; no steps: the order of the lines."""
    if table.step is not None:
        return table.step.values, "step", table.epoch.values if table.epoch else _rounds(table)
    if table.borrowed is not None:
        return *table.borrowed, None
    if table.epoch is not None:
        writers = len(np.unique(table.writer.values)) if table.writer else 1
        labels = len(np.unique(table.label.values)) if table.label else 1
        if len(np.unique(table.epoch.values)) * 2 * writers * labels > len(table.lines):
            return table.epoch.values, "epoch", None
    return None, "line", None


def _rounds(table: _Table) -> np.ndarray | None:
    """How often a counter began anew, where it does so again and again, always at the same number: per epoch."""
    if table.step is None or table.writer is not None or table.label is not None:
        return None
    falls = np.flatnonzero(np.diff(table.step.values) < 0) + 1
    begins = table.step.values[[0, *falls]]
    if len(falls) < LEAST or (begins != begins[0]).any():
        return None
    return np.cumsum(np.concatenate(([0.0], np.diff(table.step.values) < 0)))


def _confidence(table: _Table, series: Series) -> float:
    """How sure a mined series is, 0 to 1: how often the shape came, whether name and axis are said in words."""
    n = len(table.lines)
    often = 0.2 if n >= MANY else 0.1 if n >= SOME else 0.0
    said = 0.3 if canonical(series.key) else 0.1 if not series.key.startswith("column ") else 0.0
    column = next((c for c in table.measures if series.key.startswith(_key(c, table))), None)
    counter = table.step or table.epoch
    axis = 0.0 if counter is None and table.borrowed is None else 0.2 if counter is None or counter.name else 0.1
    return min(0.95, round(0.2 + often + said + axis + (0.1 if column is not None and column.delimited else 0.0), 2))

"""Series out of lines that no declared format reads: of a shape that comes again, the numbers that change.

The counter among them is the axis, the words before a number its name, small whole numbers that come again and again
tell groups apart. Each series says how sure it is (`Series.confidence`); nothing is judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...metrics import canonical, step_key, tells
from ...patterns import bounded
from ...run import Artifact
from ...series import Series
from ...vocabulary import BARE_TIMES, COUNTS
from .grammar import HELD_OUT, known_end
from .points import Store
from .shapes import Shape, Shapes

LEAST = 3
"""Lines of one shape that make a series."""
MANY, SOME = 20, 5
"""Lines from which on a shape is no accident, and from which on it may be none."""
MOST = 120
"""Series of one file that are kept, the surest first."""
BARE = 3
"""Most numbers without any name that are kept of a shape."""
GROUPS = 16
"""Different values of a whole number that may tell groups apart."""
MOST_LOSS = 20.0
"""Middle value up to which a number without a name of its own may be a loss: ln of the largest vocabularies is 12.5."""
GUESSED = 0.4
"""Most confidence in a name that stands for a metric by custom alone: below `series.SURE`."""

STEPS = frozenset(
    (
        "step",
        "steps",
        "it",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "batch",
        "batches",
        "b",
        "i",
        "n",
        "s",
        "update",
        "updates",
        "num_updates",
        "global_step",
        "global-step",
        "episode_step",
        "frame",
        "frames",
        "timestep",
        "timesteps",
        "minibatch",
        "mb",
        "sample",
        "samples",
        "tick",
        "步",
        "步数",
        "步骤",
        "批",
        "批次",
        "迭代",
        "迭代次数",
    )
)
EPOCHS = frozenset(
    (
        "epoch",
        "epochs",
        "ep",
        "e",
        "round",
        "rounds",
        "episode",
        "episodes",
        "game",
        "generation",
        "cycle",
        "trial",
        "pass",
        "轮",
        "轮次",
        "周期",
    )
)
"""Last words of a counter's name; the latter go round while the former rise."""
WRITERS = frozenset(
    ("rank", "ranks", "gpu", "device", "worker", "node", "host", "local_rank", "proc", "process", "default")
)
"""Names of numbers that tell who writes."""
STRANGERS = frozenset(
    (
        "pid",
        "port",
        "line",
        "tid",
        "id",
        "seed",
        "ns",
        "eta",
        "elapsed",
        "remaining",
        "uid",
        "job",
        "version",
        "lineno",
        "thread",
        "address",
    )
)
"""Names of numbers that are no measure."""
CUSTOM = {
    **dict.fromkeys(("train", "trn", "l", "trl", "tr_loss"), "loss"),
    **dict.fromkeys(("val", "valid", "validation", "test", "dev", "tel", "vl"), "eval_loss"),
}
"""Names that stand for a loss by custom."""
_FILLERS = frozenset(
    (
        "is",
        "was",
        "are",
        "and",
        "of",
        "at",
        "to",
        "the",
        "a",
        "an",
        "with",
        "in",
        "on",
        "for",
        "now",
        "by",
        "from",
        "has",
        "be",
        "after",
        "only",
        "but",
        "your",
        "this",
        "its",
        "-",
        "->",
        "=>",
        "=",
        ":",
        "~",
        "≈",
        ">",
        "*",
        "•",
    )
)
_CUT = bounded(r"[,|;(){}\[\]<>\t\"'，；。！│]|  | - |(?<![\w/])-{2,}|(?<=\w): (?=\S)|\d")
_COUNTED_AFTER = bounded(r"^\s?(轮|步|批|个?epoch|(?:st|nd|rd|th) (?:step|epoch|iteration))", re.IGNORECASE)
_UNIT_AFTER = bounded(r"^\s?([A-Za-z%][\w/%]{0,15})(?=\s*[)\]|,;]|\s*$|  )")
_KILO = bounded(r"^[kKM](?=\s|$|[,|)])")
_THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6}
RATES = ("s/it", "it/s")
"""Units of the speed that a progress bar shows by itself: of whatever it counts."""
SPEEDS = ("step_time", "samples_per_second", "tokens_per_second", "gpu_memory", "learning_rate")
_SPACED = re.compile(r"[\s_]+")
_SOURCE = bounded(r"(?:\.(?:py|cc|cpp|cu|h|rs|go)|>|:\w+):$|\.py\"?, line $")
"""Before the line number of a program."""
_BEST = bounded(r"\b(?:best|lowest|highest|max|min)\b", re.IGNORECASE)
_BAR = bounded(r"%\|\|\s*$")
"""Before the count of a progress bar, see `shapes`."""
_OTHER_BAR = bounded(
    r"^\s*(?:load|map|filter|download|fetch|generat|token|preproc|sav|extract|creat|convert|eval|valid|test|infer)[^|\n]{0,80}%\|",
    re.IGNORECASE,
)
"""A bar that is not that of the training."""


@dataclass(eq=False)
class _Column:
    """One number of a shape."""

    name: str
    values: np.ndarray
    whole: bool
    delimited: bool
    """Whether `:` or `=` stands between name and number."""
    total: bool = False
    """Whether it is the y of `x/y`."""

    @property
    def changes(self) -> bool:
        return len(self.values) > 1 and bool((self.values != self.values[0]).any())

    @property
    def last(self) -> str:
        words = _SPACED.split(self.name.lower())
        return words[-1] if words else ""

    @property
    def rising(self) -> float:
        """Share of the steps by which it rises by the usual amount."""
        strides = np.diff(self.values)
        moved = strides[strides != 0]
        if not self.whole or len(moved) < 0.3 * len(strides):
            return 0.0
        usual = np.median(moved) if len(moved) else 0.0
        return float(((strides == usual) | (strides == 0)).mean()) if usual > 0 else 0.0


@dataclass(eq=False)
class _Table:
    """The shapes of the same names as columns with their meanings."""

    text: str
    lines: np.ndarray
    columns: list[_Column]
    step: _Column | None = None
    epoch: _Column | None = None
    writer: _Column | None = None
    label: _Column | None = None
    borrowed: tuple[np.ndarray, str] | None = None
    """Axis of another shape, and what it counts."""
    measures: list[_Column] = field(default_factory=list)

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
        alike: dict[tuple[str, ...], list[tuple[Shape, list[_Column]]]] = {}
        for shape in shapes.repeated(LEAST):
            columns = [*_columns(shape)] if not _OTHER_BAR.match(shape.text) else []
            alike.setdefault(tuple(c.name for c in columns), []).append((shape, columns))
        self.tables = [table for same in alike.values() if (table := _table(same))]
        for table in self.tables:
            if table.axisless:
                table.borrowed = _borrowed(table, self.tables)

    def first_line(self) -> int:
        """The first line with a number of a known name, past every line where there is none."""
        known = (t for t in self.tables if any(_is_measure(c, t, set()) and _known(c, t) for c in t.columns))
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
        taken = {s.metric for s in known} | {_plain(s.key) for s in known}
        found: list[Series] = []
        for table in self.tables:
            table.measures = [c for c in table.columns if _is_measure(c, table, taken)]
            if table.measures:
                store = Store()
                store.starts = starts
                _fill(store, table)
                for one in store.series(log.name, log.attempt, log.rank):
                    found.append(_named(replace(one, confidence=_confidence(table, one)), table.axisless))
        yield from _best(found, {s.metric for s in known})


def _best(found: list[Series], taken: set[str]) -> Iterator[Series]:
    """Each metric by the surest and longest of its shapes; the others keep their own names."""
    owner: dict[str, tuple[str, str]] = {}
    kept = sorted(found, key=lambda s: (-s.confidence, -len(s)))[:MOST]
    for s in kept:
        if s.metric != s.key:
            owner.setdefault(s.metric, (s.key, s.step_is))
        mine = s.metric == s.key or (s.metric not in taken and owner[s.metric] == (s.key, s.step_is))
        yield s if mine else replace(s, metric=s.key)


def _named(series: Series, axisless: bool) -> Series:
    """A series under the name that custom gives it."""
    by_custom = CUSTOM.get(series.key.lower()) if series.metric == series.key and not axisless else None
    values = series.values[np.isfinite(series.values)]
    if by_custom is None or not len(values) or (values == np.floor(values)).all():
        return series
    if values.min() < 0 or np.median(values) > MOST_LOSS:
        return series
    return replace(series, metric=by_custom, confidence=min(series.confidence, GUESSED))


def _table(same: Sequence[tuple[Shape, list[_Column]]]) -> _Table | None:
    """Shapes of the same names with the roles of their columns; None where nothing in them changes."""
    lines = np.concatenate([np.array(shape.numbers) for shape, _ in same])
    order = np.argsort(lines, kind="stable")
    columns = [_joined([c[i] for _, c in same], order) for i in range(len(same[0][1]))]
    if not any(c.changes for c in columns):
        return None
    table = _Table(same[0][0].text, lines[order], columns)
    free = [c for c in columns if c.whole and not c.total]
    table.writer = next((c for c in free if c.last in WRITERS), None)
    table.epoch = next((c for c in free if c.last in EPOCHS), None)
    named = [c for c in free if c.last in STEPS or step_key(_plain(c.name)) is not None]
    table.step = next((c for c in named if c.changes), None)
    if table.step is None and table.epoch is None:
        steady = [
            c for c in free if c.changes and c is not table.writer and c.rising >= 0.7 and c.last not in STRANGERS
        ]
        table.step = max(steady, key=lambda c: c.rising, default=None)
    rest = [c for c in free if c not in (table.step, table.epoch, table.writer)]
    table.label = next((c for c in rest if _tells_apart(c)), None)
    return table


def _joined(parts: Sequence[_Column], order: np.ndarray) -> _Column:
    values = np.concatenate([c.values for c in parts])[order]
    return replace(parts[0], values=values, whole=all(c.whole for c in parts), total=all(c.total for c in parts))


def _tells_apart(column: _Column) -> bool:
    """Whether it goes round a few whole numbers: `top 1 acc`, `top 5 acc`."""
    if not column.changes or column.delimited or len(column.values) < 2 * LEAST:
        return False
    values, counts = np.unique(column.values[:10_000], return_counts=True)
    return len(values) <= GROUPS and int(counts.min()) >= LEAST and bool((np.diff(column.values) < 0).any())


def _columns(shape: Shape) -> Iterator[_Column]:
    text, end, before = shape.text, 0, ""
    heads = _heads(shape)
    for i, ((start, stop), values) in enumerate(zip(shape.spans, shape.columns, strict=True)):
        gap, after = text[end:start], text[stop : stop + 40]
        total = end > 0 and gap.strip() in ("/", "of", "\\")
        name = heads[i] if heads else _name(gap, after, before, bool(end))
        whole = re.fullmatch(r"[-+]?[\d,]+", text[start:stop]) is not None
        numbers = np.array(values)
        if whole:
            whole = bool(
                np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all() and (abs(numbers) < 1e15).all()
            )
        if _SOURCE.search(gap):
            name = "line"
        elif _BEST.search(gap):
            name = f"best {name}".replace("best best", "best")
        if _BAR.search(gap):
            name = "step"
        elif after.startswith("%||"):
            name = "line"
        scale = 0.01 if after.startswith("%") else _THOUSANDS.get(after[:1], 1.0) if _KILO.match(after) else 1.0
        scaled = numbers if total or scale == 1.0 else numbers * scale
        yield _Column(name, scaled, whole, gap.rstrip()[-1:] in (":", "=", "："), total)
        end, before = stop, "" if whole else name or before


def _name(gap: str, after: str, before: str, inner: bool) -> str:
    """The words before a number; in brackets behind another number, that one's name goes first."""
    unit = _UNIT_AFTER.match(_KILO.sub("", after))
    counted = _COUNTED_AFTER.match(after)
    if counted:
        return counted.group(1).lower().removeprefix("个").split()[-1]
    pieces = _CUT.split(gap.rstrip(" :=：~≈'\""))
    words = pieces[-1].split()
    while words and (words[0].lower() in _FILLERS or (inner and len(words) > 1 and words[0].lower() in STEPS | EPOCHS)):
        words.pop(0)
    while words and words[-1].lower() in _FILLERS:
        words.pop()
    name = " ".join(words[-5:]).strip(" :=：#*@-.!?")
    if inner and gap.strip().startswith("(") and len(pieces) > 1 and before:
        return f"{before} {name or (unit.group(1) if unit else 'in brackets')}".strip()
    if not name and unit and canonical(unit.group(1)):
        return unit.group(1)
    return name if len(name) <= 80 and re.search(r"[^\W\d_]", name) and not re.search(r"[~$#\\]|://", name) else ""


def _heads(shape: Shape) -> list[str]:
    """The names in a head line above rows of nothing but numbers."""
    if not shape.above or re.search(r"[^\W\d_]", re.sub(r"[-+.\deE]+|nan|inf", "", shape.text)):
        return []
    for cut in (r"\s*[|│,;]\s*", r"\t+|\s{2,}", r"\s+"):
        names = [n.strip(" :*#") for n in re.split(cut, shape.above.strip().strip("|│").strip())]
        if len(names) == len(shape.spans):
            return names
    return []


def _plain(name: str) -> str:
    return _SPACED.sub("_", name.strip().lower())


def _is_measure(column: _Column, table: _Table, taken: set[str]) -> bool:
    """Whether a column is a series that the declared formats have not read."""
    roles = (table.step, table.epoch, table.writer, table.label)
    if column in roles or column.total or not (column.changes or column.delimited):
        return False
    if column.last in STRANGERS | STEPS | EPOCHS or (
        table.axisless and not column.delimited and len(table.lines) < SOME
    ):
        return False
    metric = canonical(_key(column, table))
    plain = _plain(column.name)
    if column.name in RATES and "<" in table.text:
        return False
    if plain in taken or (metric and (metric[0] in taken or metric[0] in COUNTS)) or plain in BARE_TIMES:
        return False
    if not column.name:
        bare = [c for c in table.columns if c.changes and c not in roles]
        return not table.axisless and column.changes and len(bare) <= BARE and not any(c.name for c in bare)
    return column.changes or (metric is not None and table.step is not None)


def _known(column: _Column, table: _Table) -> bool:
    key = _key(column, table)
    return canonical(key) is not None or (key.lower() in CUSTOM and not table.axisless)


def _key(column: _Column, table: _Table) -> str:
    """The name of a series; `eval` goes first in a line that tells of held-out data."""
    name = column.name or f"column {table.columns.index(column) + 1}"
    key = name if canonical(name) or name.lower() in CUSTOM else known_end(name) or _end_of(name) or name
    if HELD_OUT.match(table.text) and not HELD_OUT.match(key) and (held := f"eval_{_base(key)}") and canonical(held):
        return held
    return key


def _end_of(name: str) -> str:
    """The known end of a name that is written without blanks (`当前损失`)."""
    ends = (name[i:] for i in range(1, len(name) - 1)) if len(name) < 20 and not name.isascii() else ()
    return next((end for end in ends if not end.isascii() and canonical(end)), "")


def _base(key: str) -> str:
    hit = canonical(key)
    return hit[0] if hit else key


def _borrowed(table: _Table, tables: Sequence[_Table]) -> tuple[np.ndarray, str] | None:
    """The counter of another shape that stands once between two lines of this one: a step line with metrics below."""
    best: tuple[int, np.ndarray, str] | None = None
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
            best = far, counter.values[at], "epoch" if counter is other.epoch else "step"
    return best[1:] if best else None


def _fill(store: Store, table: _Table) -> None:
    """The measures of a table as records, each group a stream of its own."""
    axis, step_is, epochs = _axis(table)
    group = table.label.values if table.label else None
    ranks = table.writer.values if table.writer and len(np.unique(table.writer.values)) <= 4096 else None
    keys = [_key(c, table) for c in table.measures]
    for i, line in enumerate(table.lines.tolist()):
        tail = f" {table.label.name} {int(group[i])}".rstrip() if group is not None and table.label else ""
        values = [(key + tail, float(c.values[i]), line) for key, c in zip(keys, table.measures, strict=True)]
        stream = store.stream("mined" + tail, None if ranks is None else int(ranks[i]))
        stream.by_line = axis is None
        stream.step_is = stream.step_is if stream.step_is == "cumulative" else step_is
        store.record(
            stream, i + 1 if axis is None else int(axis[i]), values, None if epochs is None else float(epochs[i])
        )


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
    return round(0.2 + often + said + axis + (0.1 if column is not None and column.delimited else 0.0), 2)

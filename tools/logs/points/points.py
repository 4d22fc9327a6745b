"""Points of metrics while a file is read: compact, deduplicated, split into attempts.

A stream is what one rank writes in one format; its steps should rise. Where they fall, a new attempt starts, unless
they fall all the time: then several unmarked ranks write into one file and the steps are merged.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...metrics import canonical, held_out
from ...series import Series
from ...vocabulary import BARE_TIMES, VOCABULARY

POINT_BUDGET = 6_000_000
"""Points kept of one file (24 bytes each): beyond it every second ordinary point goes, non-finite ones stay."""
SERIES_LIMIT = 400
"""Different keys kept of one file; later unknown keys are dropped, known metrics are always kept."""
INTERLEAVED_SHARE = 0.1
"""Share of falling steps above which a stream is several writers, not restarts."""

MANY_AN_EPOCH = 20
"""Points of one epoch from which on they are the batches of it, and not several writers. Own judgement."""


@dataclass
class Points:
    """One key of one stream."""

    steps: array = field(default_factory=lambda: array("q"))
    values: array = field(default_factory=lambda: array("d"))
    lines: array = field(default_factory=lambda: array("q"))

    def add(self, step: int, value: float, line: int) -> bool:
        """Keep the point unless it repeats the last one (redrawn bars, pollers, several ranks)."""
        if self.steps and self.steps[-1] == step:
            last = self.values[-1]
            if last == value or (last != last and value != value):
                return False
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)
        return True

    def add_many(self, steps: np.ndarray, values: np.ndarray, lines: np.ndarray) -> int:
        """As `add`, one after the other; how many are kept."""
        if not len(steps):
            return 0
        last = (self.steps[-1], self.values[-1]) if self.steps else (None, 0.0)
        before = np.concatenate(([last[1]], values[:-1]))
        again = (values == before) | (np.isnan(values) & np.isnan(before))
        again[1:] &= steps[1:] == steps[:-1]
        again[0] &= last[0] == steps[0]
        kept = ~again
        self.steps.frombytes(steps[kept].astype(np.int64).tobytes())
        self.values.frombytes(values[kept].tobytes())
        self.lines.frombytes(lines[kept].astype(np.int64).tobytes())
        return int(kept.sum())

    def __len__(self) -> int:
        return len(self.steps)

    def thin(self) -> None:
        """Drop every second point, but none that is non-finite, far out, or beside a change to non-finite."""
        values = np.array(self.values)
        finite = np.isfinite(values)
        keep = np.zeros(len(values), bool)
        keep[::2] = True
        keep[-1] = True
        edges = np.flatnonzero(finite[1:] != finite[:-1])[:10_000]
        for shift in range(-3, 5):
            keep[np.clip(edges + shift, 0, len(values) - 1)] = True
        if finite.any():
            middle = np.median(values[finite])
            spread = np.median(np.abs(values[finite] - middle)) or np.inf
            far = np.flatnonzero(finite & (np.abs(values - middle) > 20 * spread))
            keep[far[: len(values) // 10]] = True
        for name in ("steps", "values", "lines"):
            kept = np.array(getattr(self, name))[keep]
            fresh = array(getattr(self, name).typecode)
            fresh.frombytes(kept.tobytes())
            setattr(self, name, fresh)


@dataclass(frozen=True)
class Column:
    """The values of one key in many records."""

    key: str
    where: np.ndarray
    """Which records have it, in order."""
    values: np.ndarray


@dataclass
class Stream:
    """The state of one writer."""

    step_is: str = "step"
    by_line: bool = False
    """Whether the order of the lines is all that numbers its records."""
    last_step: int | None = None
    records: int = 0
    falls: list[int] = field(default_factory=list)
    """Lines at which the step fell."""
    last_epoch: float | None = None
    offset: int = 0
    starts: list[int] = field(default_factory=lambda: [0])
    """Of a stream without steps: records before each attempt."""
    bars: array | None = None
    """Of a stream without steps: (progress bar before, after) each record, -1 for none."""
    previous: tuple[tuple[str, float], ...] = ()
    points: dict[str, Points] = field(default_factory=dict)


class Store:
    """All points of one file."""

    def __init__(self, budget: int = POINT_BUDGET, every: Callable[[], int | None] = lambda: None):
        self.streams: dict[tuple[str, int | None], Stream] = {}
        self.budget = budget
        self.kept = 0
        self.thinned = False
        self.rows = self.unread = 0
        """Records of a table, and those of them that could not be read."""
        self.starts: tuple[int, ...] = ()
        """Lines at which the program was started again, see `shapes.Opening`."""
        self.every = every
        """Interval of records without a step, if the configuration says so."""
        self._waiting: Stream | None = None

    def stream(self, name: str, rank: int | None) -> Stream:
        return self.streams.setdefault((name, rank), Stream())

    def unnumbered(self, name: str, rank: int | None, values: list[tuple[str, float, int]], bar: int | None) -> None:
        """Add a record without a step: training records are counted, others belong to the last one.

        A record that repeats the last one (two callbacks print it) is not counted twice.
        """
        stream = self.stream(name + "?", rank)
        entry = {key: value for key, value, _ in values}
        if stream.bars is None:
            stream.bars = array("q")
        if "train_runtime" in entry:
            values = [("train_loss_mean" if k == "train_loss" else k, v, at) for k, v, at in values]
        elif any(canonical(k) and not held_out(k) for k in entry if k != "epoch"):
            self._count(stream, entry, values[0][2], bar)
        self._put(stream, stream.records, values)

    def _count(self, stream: Stream, entry: dict[str, float], line: int, bar: int | None) -> None:
        """Begin the next record of a stream without steps, unless it is the last one again."""
        epoch = entry.get("epoch")
        again = bar is None and _again(stream.previous, entry)
        stream.previous = tuple(entry.items())
        if again:
            return
        if epoch is not None and stream.last_epoch is not None and epoch < stream.last_epoch - 1e-9:
            stream.falls.append(line)
            stream.starts.append(stream.records)
        stream.last_epoch = epoch if epoch is not None else stream.last_epoch
        stream.records += 1
        assert stream.bars is not None
        stream.bars.extend((-1 if bar is None else bar, -1))
        self._waiting = stream

    def first_line(self) -> int:
        """The line of the first point, past every line where there is none."""
        return min((p.lines[0] for s in self.streams.values() for p in s.points.values() if p.lines), default=1 << 60)

    def bar_after(self, done: int) -> None:
        """A progress bar was drawn: the first one after a record shows the step of that record."""
        stream, self._waiting = self._waiting, None
        if stream and stream.bars:
            stream.bars[-1] = done

    def _put(self, stream: Stream, step: int, values: list[tuple[str, float, int]]) -> None:
        for key, value, at in values:
            points = stream.points.get(key)
            if points is None:
                if len(stream.points) >= SERIES_LIMIT and canonical(key) is None:
                    continue
                points = stream.points[key] = Points()
            self.kept += points.add(step, value, at)
        if self.kept > self.budget:
            self._thin()

    def record(
        self, stream: Stream, step: int, values: list[tuple[str, float, int]], epoch: float | None = None
    ) -> None:
        """Add one record: (key, value, line) points at one step.

        A step that falls while the epoch rises is counted on: the program counts steps per epoch.
        """
        line = values[0][2] if values else 0
        self._advance(stream, step, epoch, line)
        step += stream.offset
        stream.last_step = step
        stream.records += 1
        self._put(stream, step, values)

    def records(
        self, stream: Stream, steps: np.ndarray, lines: np.ndarray, epochs: np.ndarray, columns: Sequence[Column]
    ) -> None:
        """Add many records at once, as `record` would one after the other.

        Args:
            stream: where to.
            steps: of each record, in the order of lines.
            lines: of each record.
            epochs: of each record, nan where none is said.
            columns: the values of each key.
        """
        last = stream.last_step
        if (np.diff(steps) < 0).any() or (last is not None and steps[0] + stream.offset < last):
            self._one_by_one(stream, steps, lines, epochs, columns)
            return
        said = epochs[~np.isnan(epochs)]
        stream.last_epoch = float(said[-1]) if len(said) else stream.last_epoch
        steps = steps + stream.offset
        stream.last_step = int(steps[-1])
        stream.records += len(steps)
        self._put_many(stream, steps, lines, columns)

    def _one_by_one(
        self, stream: Stream, steps: np.ndarray, lines: np.ndarray, epochs: np.ndarray, columns: Sequence[Column]
    ) -> None:
        rows: list[list[tuple[str, float, int]]] = [[] for _ in steps]
        for column in columns:
            for i, value in zip(column.where.tolist(), column.values.tolist(), strict=True):
                rows[i].append((column.key, value, int(lines[i])))
        for i, row in enumerate(rows):
            self.record(stream, int(steps[i]), row, None if np.isnan(epochs[i]) else float(epochs[i]))

    def _put_many(self, stream: Stream, steps: np.ndarray, lines: np.ndarray, columns: Sequence[Column]) -> None:
        for column in columns:
            points = stream.points.get(column.key)
            if points is None:
                if len(stream.points) >= SERIES_LIMIT and canonical(column.key) is None:
                    continue
                points = stream.points[column.key] = Points()
            self.kept += points.add_many(steps[column.where], column.values, lines[column.where])
        if self.kept > self.budget:
            self._thin()

    def unnumbered_many(
        self,
        name: str,
        rank: int | None,
        columns: Sequence[tuple[str, np.ndarray]],
        lines: np.ndarray,
        bar: int | None = None,
    ) -> None:
        """Add many records without a step and of the same keys, with no progress bar but before the first."""
        rows = [[(key, float(values[i]), int(lines[i])) for key, values in columns] for i in (0, len(lines) - 1)]
        self.unnumbered(name, rank, rows[0], bar)
        stream, begin = self.streams[name + "?", rank], 1
        trained = any(canonical(key) and not held_out(key) for key, _ in columns if key != "epoch")
        again = np.ones(len(lines) - 1, bool)
        for key, values in columns:
            again &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
            if key == "epoch" and (np.diff(values) < -1e-9).any():
                again[:] = True
        if not trained or again.any() or len(lines) < 2 or any(key == "train_runtime" for key, _ in columns):
            for i in range(begin, len(lines)):
                row = [(key, float(values[i]), int(lines[i])) for key, values in columns]
                self.unnumbered(name, rank, row, None)
            return
        count = len(lines) - 1
        stream.previous = tuple((key, value) for key, value, _ in rows[1])
        stream.last_epoch = dict(stream.previous).get("epoch", stream.last_epoch)
        numbers = np.arange(stream.records + 1, stream.records + 1 + count)
        stream.records += count
        assert stream.bars is not None
        stream.bars.extend([-1] * (2 * count))
        self._waiting = stream
        where = np.arange(count)
        self._put_many(stream, numbers, lines[1:], [Column(key, where, values[1:]) for key, values in columns])

    def _advance(self, stream: Stream, step: int, epoch: float | None, line: int) -> None:
        last = stream.last_step
        if last is not None and step + stream.offset < last:
            if epoch is not None and stream.last_epoch is not None and epoch > stream.last_epoch:
                stream.offset = last + 1 if step == 0 else last
                stream.step_is = "cumulative"
            else:
                stream.offset = 0
                if step < last and len(stream.falls) < 1_000_000:
                    stream.falls.append(line)
        if epoch is not None:
            stream.last_epoch = epoch

    def _thin(self) -> None:
        self.thinned = True
        every = [p for s in self.streams.values() for p in s.points.values()]
        for points in every:
            if len(points) > 5_000:
                points.thin()
        self.kept = sum(len(p) for p in every)
        if self.kept > self.budget * 0.9:
            self.budget = int(self.kept * 1.2)

    def series(self, file: str, attempt: str, rank: int | None) -> Iterator[Series]:
        """The finished series, one for each metric, rank and attempt; an attempt printed twice is given once."""
        for (_, stream_rank), stream in self.streams.items():
            at_rank = stream_rank if stream_rank is not None else rank
            before: list[Series] = []
            number = 1
            for part in self._attempts(stream):
                name = attempt + (f"#{number}" if number > 1 else "")
                made = [Series(*head, *arrays, file, name, at_rank, is_) for head, arrays, is_ in part]
                if not _printed_again(before, made):
                    yield from made
                    before, number = made, number + 1

    def _attempts(self, stream: Stream) -> list[list[tuple[tuple[str, str], _Arrays, str]]]:
        """For each attempt of a stream: (metric, key), arrays and the meaning of the steps of each series."""
        chosen = _names(stream.points)
        steps, step_is = _numbered(stream, self.every)
        mixed = len(stream.falls) > max(3, INTERLEAVED_SHARE * stream.records)
        falls = {*([] if mixed else stream.falls), *(self.starts if stream.bars is not None or stream.by_line else ())}
        bounds = np.array(sorted(falls), dtype=np.int64)
        parts: dict[int, list[tuple[tuple[str, str], _Arrays, str]]] = {}
        for key, points in stream.points.items():
            metric, scale = chosen[key]
            part_is, points = step_is, points
            if step_is == "epoch" and _many_an_epoch(points):
                part_is, points = "line", _by_line(points)
            arrays = _arrays(points, scale, mixed and part_is == step_is)
            if key == "grad norm" and _never_computed(arrays[1]):
                continue
            if key.lower() in BARE_TIMES and _is_clock(arrays[1]):
                continue
            if steps is not None:
                arrays = (steps[arrays[0]], *arrays[1:])
            for number, part in _split(arrays, bounds):
                parts.setdefault(number, []).append(((metric, key), part, part_is))
        return [parts[number] for number in sorted(parts)]


_Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Steps, values, lines."""
_MEASURED = ("step_time", "samples_per_second", "tokens_per_second", "tflops", "mfu")


def _printed_again(before: list[Series], now: list[Series]) -> bool:
    """Whether an attempt is the one before it printed once more, measured times and all; a rerun is not."""
    old = {s.key: s for s in before}
    return (
        old.keys() == {s.key for s in now}
        and any(s.metric in _MEASURED and len(s) > 2 for s in now)
        and all(
            np.array_equal(s.steps, old[s.key].steps) and np.array_equal(s.values, old[s.key].values, equal_nan=True)
            for s in now
        )
    )


def _again(previous: tuple[tuple[str, float], ...], entry: dict[str, float]) -> bool:
    """Whether a record repeats the one before it: a poller prints the line twice, a callback some of its keys.

    Equal lines of a run that is stuck at NaN or 0.0 are records of their own.
    """
    before = dict(previous)
    if before.keys() == entry.keys():
        stuck = any(v != v or (v == 0 and k.endswith("loss")) for k, v in entry.items())
        return not stuck and before == entry
    shared = [k for k in before if k in entry and k not in ("learning_rate", "lr")]
    return {"loss", "epoch"} <= set(shared) and all(_same(before[k], entry[k]) for k in shared)


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _numbered(stream: Stream, every: Callable[[], int | None]) -> tuple[np.ndarray | None, str]:
    """Step of the record with each number, for a stream without steps of its own.

    In order of trust: the progress bars around the records, the configured interval, the order of the records.
    """
    if stream.bars is None:
        return None, stream.step_is
    numbers = np.arange(stream.records + 1)
    starts = np.array(stream.starts)
    part = np.maximum(np.searchsorted(starts, numbers, side="left") - 1, 0)
    bars = np.array(stream.bars).reshape(-1, 2)
    epochs = _epochs(stream)
    for column in (0, 1):
        steps = _from_bars(bars[:, column], part[1:], epochs)
        if steps is not None:
            return np.concatenate(([0], steps)), "step"
    counted = numbers - starts[part]
    interval = every()
    return (counted * interval, "step") if interval else (counted, "line")


def _epochs(stream: Stream) -> np.ndarray:
    """Epoch of each record of a stream without steps, nan where none is printed."""
    epochs = np.full(stream.records + 1, np.nan)
    points = stream.points.get("epoch", Points())
    numbers, values = np.array(points.steps, dtype=np.int64)[::-1], np.array(points.values)[::-1]
    epochs[numbers] = values  # the training record comes first, an evaluation after it has its number too
    return epochs[1:]


def _from_bars(done: np.ndarray, part: np.ndarray, epochs: np.ndarray) -> np.ndarray | None:
    """The bars as steps, if nine records in ten have one and within each attempt they rise evenly or as the epoch."""
    known = done >= 0
    if len(done) < 2 or known.mean() < 0.9 or not known[0]:
        return None
    index = np.arange(len(done))
    filled = np.interp(index, index[known], done[known]).astype(np.int64)
    strides = np.diff(filled)[part[1:] == part[:-1]]
    if not len(strides) or (strides <= 0).any():
        return None
    even = np.mean(strides == np.median(strides))
    return filled if even >= 0.8 or _follow_epoch(filled, epochs) else None


def _follow_epoch(steps: np.ndarray, epochs: np.ndarray) -> bool:
    """Whether the steps are a constant times the epoch, which the log rounds to two digits or more."""
    if len(steps) < 3 or not (epochs > 0).all():
        return False
    per_epoch = float(steps[-1] / epochs[-1])
    return bool((np.abs(steps - per_epoch * epochs) <= 0.012 * per_epoch + 1).all())


def _names(points: dict[str, Points]) -> dict[str, tuple[str, float]]:
    """Key -> metric and scale; where several keys mean one metric, the first alias of the table has it."""
    best: dict[str, tuple[int, str]] = {}
    found = {key: canonical(key) for key in points}
    for key, hit in found.items():
        if hit:
            metric, _, order = hit
            best[metric] = min(best.get(metric, (order, key)), (order, key))
    names: dict[str, tuple[str, float]] = {}
    for key, hit in found.items():
        wins = hit is not None and best[hit[0]][1] == key
        own = key if key not in VOCABULARY else f"{key}?"
        names[key] = (hit[0], hit[1]) if wins and hit else (own, 1.0)
    return names


def _arrays(points: Points, scale: float, mixed: bool) -> _Arrays:
    """Steps, values, lines; of several writers the worst value of a step, in the order of steps."""
    steps, values, lines = np.array(points.steps), np.array(points.values), np.array(points.lines)
    if scale != 1.0:
        values = values * scale
    strides = np.diff(steps)
    if mixed or ((strides >= 0).all() and (np.count_nonzero(strides) + 1) * 2 <= len(steps)):
        order = np.lexsort((lines, np.isfinite(values), steps))
        steps, values, lines = steps[order], values[order], lines[order]
        first = np.ones(len(steps), bool)
        first[1:] = steps[1:] != steps[:-1]
        steps, values, lines = steps[first], values[first], lines[first]
    return steps, values, lines


def _many_an_epoch(points: Points) -> bool:
    """Whether lines that number the epoch alone come all through it."""
    return len(points) > MANY_AN_EPOCH * len(set(points.steps))


def _by_line(points: Points) -> Points:
    return replace(points, steps=array("q", range(1, len(points) + 1)))


def _never_computed(values: np.ndarray) -> bool:
    """Megatron prints `grad norm: 0.000` where it was not computed."""
    return len(values) > 0 and not values.any()


def _is_clock(values: np.ndarray) -> bool:
    """Whether a bare `time` is the time since the start (or of day), which never falls, and not that of a step."""
    return len(values) < 3 or not (np.diff(values) < 0).any()


def _split(arrays: _Arrays, bounds: np.ndarray) -> Iterator[tuple[int, _Arrays]]:
    """The parts between the lines at which the step fell, with the number of the attempt."""
    if not len(bounds):
        yield 1, arrays
        return
    steps, values, lines = arrays
    part = np.searchsorted(bounds, lines, side="right")
    for number in np.unique(part):
        chosen = part == number
        yield int(number) + 1, (steps[chosen], values[chosen], lines[chosen])

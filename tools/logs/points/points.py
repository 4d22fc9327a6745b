"""Points of metrics while a file is read: compact, deduplicated, split into attempts.

A stream is what one rank writes in one format; its steps should rise. Where they fall, a new attempt starts, unless
they fall all the time: then several unmarked ranks write into one file and the steps are merged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...metrics import canonical, held_out
from ...series import Series
from ...vocabulary import BARE_TIMES
from .finished import (
    Arrays,
    arrays_of,
    by_line,
    is_clock,
    many_an_epoch,
    names_of,
    never_computed,
    no_way,
    numbered,
    printed_again,
    split,
)
from .stream import Keyed, Points, Stream

POINT_BUDGET = 6_000_000
"""Points kept of one file (24 bytes each): beyond it every second ordinary point goes, non-finite ones stay."""
SERIES_LIMIT = 400
"""Different keys kept of one file; later unknown keys are dropped, known metrics are always kept."""
FALLS = 1_000_000
"""Falling steps of one stream whose lines are kept."""
INTERLEAVED_SHARE = 0.1
"""Share of falling steps above which a stream is several writers, not restarts."""

RUNS = 64
"""Runs that somebody appended to one file."""

_Part = list[tuple[tuple[str, str], Arrays, str]]
"""The series of one attempt of a stream: (metric, key), arrays, and what their steps are."""


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
        """Add a record without a step: training records are counted, others belong to the last one; where nothing but
        evaluations is printed, these are counted.

        A record that repeats the last one (two callbacks print it) is not counted twice.
        """
        stream = self.stepless(name, rank)
        entry = {key: value for key, value, _ in values}
        if "train_runtime" in entry and "loss" not in entry:  # with it the time is told at each step
            self._sum_up(stream, entry, values[0][2])
            values = [("train_loss_mean" if k == "train_loss" else k, v, at) for k, v, at in values]
        elif any(canonical(k) and not held_out(k) for k in entry if k != "epoch"):
            self._count(stream, entry, values[0][2], bar)
            stream.trained = True
        elif not stream.trained and any(self._has_already(stream, key) for key in entry if held_out(key)):
            self._count(stream, entry, values[0][2], bar)
        self._put(stream, stream.records, values)

    @staticmethod
    def _has_already(stream: Stream, key: str) -> bool:
        """Whether the last record of a stream has a point of this key: an evaluation after another one."""
        points = stream.points.get(key)
        return points is not None and bool(points.steps) and points.steps[-1] == stream.records

    @staticmethod
    def _sum_up(stream: Stream, entry: dict[str, float], line: int) -> None:
        """Note the sum of a training: another one behind it, with no start between them, is another training's."""
        if stream.summed and stream.summed != entry:
            stream.sums.append(line)
            stream.starts.append(stream.records)
        stream.summed = entry

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
            stream.summed = {}
        stream.last_epoch = epoch if epoch is not None else stream.last_epoch
        stream.records += 1
        if bar is not None:
            stream.before.extend((stream.records - 1, bar))
        self._waiting = stream

    def first_line(self) -> int:
        """The line of the first point, past every line where there is none."""
        return min((p.lines[0] for s in self.streams.values() for p in s.points.values() if p.lines), default=1 << 60)

    def bar_after(self, done: int) -> None:
        """A progress bar was drawn: the first one after a record shows the step of that record."""
        stream, self._waiting = self._waiting, None
        if stream:
            stream.after.extend((stream.records - 1, done))

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
        self, stream: Stream, steps: np.ndarray, lines: np.ndarray, epochs: np.ndarray, columns: Sequence[Keyed]
    ) -> None:
        """Add many records at once, as `record` would one after the other.

        Args:
            stream: where to.
            steps: of each record, in the order of lines.
            lines: of each record.
            epochs: of each record, nan where none is said.
            columns: the values of each key.
        """
        first = steps[0] if stream.last_step is None else stream.last_step - stream.offset
        before = np.concatenate(([first], steps[:-1]))
        epoch = np.nan if stream.last_epoch is None else stream.last_epoch
        fallen, said = steps < before, epochs[~np.isnan(epochs)]
        again = (steps == before) & (np.diff(epochs, prepend=epoch) >= 1)
        if again.any() or (fallen.any() and (stream.offset or len(said))):
            self._one_by_one(stream, steps, lines, epochs, columns)
            return
        stream.falls += lines[fallen].tolist()[: FALLS - len(stream.falls)]
        stream.last_epoch = float(said[-1]) if len(said) else stream.last_epoch
        steps = steps + stream.offset
        stream.last_step = int(steps[-1])
        stream.records += len(steps)
        self._put_many(stream, steps, lines, columns)

    def _one_by_one(
        self, stream: Stream, steps: np.ndarray, lines: np.ndarray, epochs: np.ndarray, columns: Sequence[Keyed]
    ) -> None:
        rows: list[list[tuple[str, float, int]]] = [[] for _ in steps]
        for column in columns:
            for i, value in zip(column.where.tolist(), column.values.tolist(), strict=True):
                rows[i].append((column.key, value, int(lines[i])))
        for i, row in enumerate(rows):
            self.record(stream, int(steps[i]), row, None if np.isnan(epochs[i]) else float(epochs[i]))

    def _put_many(self, stream: Stream, steps: np.ndarray, lines: np.ndarray, columns: Sequence[Keyed]) -> None:
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
        before: np.ndarray,
        after: np.ndarray,
    ) -> None:
        """Add many records without a step and of the same keys.

        Args:
            name: of the stream.
            rank: of the stream.
            columns: each key and its values.
            lines: of each record.
            before: what a progress bar said before each record, -1 for none.
            after: and what the first one behind it said.
        """
        stream = self.stepless(name, rank)
        trained = any(canonical(key) and not held_out(key) for key, _ in columns if key != "epoch")
        again = before[1:] < 0
        falls = np.zeros(len(again), bool)
        for key, values in columns:
            stuck = (values[1:] == 0) & key.endswith("loss")  # as `_again`; `nan` is never equal
            again &= (values[1:] == values[:-1]) & ~stuck
            falls |= np.diff(values) < -1e-9 if key == "epoch" else False
        stream.trained |= trained
        named = {key for key, _ in columns}
        plain = trained and not (again | falls).any() and not ("train_runtime" in named and "loss" not in named)
        alone = 1 if plain else len(lines)
        for i, row in enumerate(zip(*(values[:alone].tolist() for _, values in columns), strict=True)):
            values = [(key, value, int(lines[i])) for (key, _), value in zip(columns, row, strict=True)]
            self.unnumbered(name, rank, values, None if before[i] < 0 else int(before[i]))
            if after[i] >= 0:
                self.bar_after(int(after[i]))
        if alone < len(lines):
            self._count_many(stream, columns, before[1:], after[1:])
            where = np.arange(len(lines) - 1)
            numbers = where + stream.records - len(where) + 1
            self._put_many(stream, numbers, lines[1:], [Keyed(key, where, values[1:]) for key, values in columns])

    def _count_many(
        self, stream: Stream, columns: Sequence[tuple[str, np.ndarray]], before: np.ndarray, after: np.ndarray
    ) -> None:
        stream.previous = tuple((key, float(values[-1])) for key, values in columns)
        stream.last_epoch = dict(stream.previous).get("epoch", stream.last_epoch)
        for bars, done in ((stream.before, before), (stream.after, after)):
            known = np.flatnonzero(done >= 0)
            bars.frombytes(np.column_stack((stream.records + known, done[known])).astype(np.int64).tobytes())
        stream.records += len(before)
        self._waiting = stream if after[-1] < 0 else None

    def stepless(self, name: str, rank: int | None) -> Stream:
        """The stream of a writer that prints no steps."""
        stream = self.stream(name + "?", rank)
        stream.stepless = True
        return stream

    def _advance(self, stream: Stream, step: int, epoch: float | None, line: int) -> None:
        last = stream.last_step
        if last is not None and (step + stream.offset < last or self._again(stream, step, epoch)):
            if epoch is not None and stream.last_epoch is not None and epoch > stream.last_epoch:
                stream.offset = last + 1 if step == 0 else last
                stream.step_is = "cumulative"
            else:
                stream.offset = 0
                if step < last and len(stream.falls) < FALLS:
                    stream.falls.append(line)
        if epoch is not None:
            stream.last_epoch = epoch

    @staticmethod
    def _again(stream: Stream, step: int, epoch: float | None) -> bool:
        """Whether a step is that of the epoch before: each epoch is told once, at its end."""
        if epoch is None or stream.last_epoch is None or stream.last_step is None:
            return False
        return step > 1 and step + stream.offset == stream.last_step and epoch - stream.last_epoch >= 1

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
            taken = Counter[int]()
            for part in self._attempts(stream):
                start = self._start(part) if self.starts else 1 + len(taken)
                again = f".{taken[start] + 1}" if taken[start] else ""
                name = attempt + (f"#{start}{again}" if start > 1 or again else "")
                made = [Series(*head, *arrays, file, name, at_rank, is_) for head, arrays, is_ in part]
                if not printed_again(before, made):
                    yield from made
                    before = made
                    taken[start] += 1

    def _start(self, part: _Part) -> int:
        """By which start an attempt is numbered, so that those of several streams belong together."""
        return 1 + bisect_right(self.starts, min(int(arrays[2].min(initial=1 << 60)) for _, arrays, _ in part))

    def _attempts(self, stream: Stream) -> list[_Part]:
        """For each attempt of a stream: (metric, key), arrays and the meaning of the steps of each series."""
        chosen = names_of(stream.points)
        steps, step_is = numbered(stream, self.every)
        mixed = len(stream.falls) > max(3, INTERLEAVED_SHARE * stream.records) and not _begins_anew(stream)
        lasted = mixed and no_way(stream)
        unseen = stream.stepless or stream.by_line or stream.borrowed
        falls = {*([] if mixed else stream.falls), *stream.sums, *(self.starts if unseen else ())}
        bounds = np.array(sorted(falls), dtype=np.int64)
        parts: dict[int, _Part] = {}
        for key, points in stream.points.items():
            metric, scale = chosen[key]
            part_is, points = step_is, points
            if lasted or (step_is == "epoch" and many_an_epoch(points)):
                part_is, points = "line", by_line(points)
            arrays = arrays_of(points, scale, mixed and part_is == step_is)
            if key == "grad norm" and never_computed(arrays[1]):
                continue
            if key.lower() in BARE_TIMES and is_clock(arrays[1]):
                continue
            if steps is not None:
                arrays = (steps(arrays[0]), *arrays[1:])
            for number, part in split(arrays, bounds):
                parts.setdefault(number, []).append(((metric, key), part, part_is))
        return [parts[number] for number in sorted(parts)]


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


def _begins_anew(stream: Stream) -> bool:
    """Whether every fall is to the first step, after another number of steps each: short runs, one behind the other.

    Several writers fall to any step, and a program that counts the steps of an epoch falls after as many each time.
    """
    longest = max(stream.points.values(), key=len, default=None)
    if longest is None or len(stream.falls) > RUNS:
        return False
    steps, lines = np.frombuffer(longest.steps, np.int64), np.frombuffer(longest.lines, np.int64)
    starts = np.searchsorted(lines, np.asarray(stream.falls))
    if (np.diff(lines) <= 0).any() or starts.max(initial=0) >= len(lines) or (steps[starts] != steps.min()).any():
        return False
    parts = np.diff([0, *starts.tolist()])
    return len(set(parts.tolist())) > 1 and bool((parts > 1).any())

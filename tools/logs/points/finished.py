"""What a stream's points are once a file is read: names and units, steps where none were said, attempts.

Reading is done in `points`; nothing is judged here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ...metrics import BY_WORDS, named
from ...patterns import bounded
from ...series import Series
from ...vocabulary import VOCABULARY
from .stream import Points, Stream

MANY_AN_EPOCH = 20
"""Points of one epoch from which on they are the batches of it, and not several writers. Own judgement."""

SOME_LINES, RISES = 12, 0.5
"""Lines by which a count is told to be no way, and its correlation with their order from which on it is one: above 0.9
where several writers take turns. Own judgement."""

LEAST_SCALE = 7
"""Halvings down to one of the largest value of a loss scale at least. Own judgement."""
_SCALE = bounded(r"(?i)(?:^|[_/. ])scal(?:e|er|ing)(?:$|[_/. ])|缩放")

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Steps, values, lines."""
_MEASURED = ("step_time", "samples_per_second", "tokens_per_second", "tflops", "mfu")


def printed_again(before: list[Series], now: list[Series]) -> bool:
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


Numbering = Callable[[np.ndarray], np.ndarray]
"""Numbers of records -> their steps."""


def numbered(stream: Stream, every: Callable[[], int | None]) -> tuple[Numbering | None, str]:
    """The steps of the records by their numbers, for a stream without steps of its own.

    In order of trust: the progress bars around the records, the configured interval, the order of the records.
    """
    if not stream.stepless:
        return None, stream.step_is
    for bars in (stream.before, stream.after):
        records, done = _view(bars).reshape(-1, 2).T
        steps = _from_bars(records, done, stream)
        if steps is not None:
            return np.concatenate(([0], steps)).__getitem__, "step"
    starts, interval = np.array(stream.starts), every() if _advances(stream) else None
    return lambda numbers: (numbers - starts[_part(starts, numbers)]) * (interval or 1), "step" if interval else "line"


def _advances(stream: Stream) -> bool:
    """Whether the epoch rises from record to record of a training, as far as any is printed: sums are no intervals."""
    epochs = _epochs(stream) if stream.records else np.empty(0)
    told = epochs[np.isfinite(epochs)]
    return not stream.sums or bool((np.diff(told) > 0).sum() > len(stream.starts))


def _part(starts: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Which attempt the record of each number is of."""
    return np.maximum(np.searchsorted(starts, numbers, side="left"), 1) - 1


def _epochs(stream: Stream) -> np.ndarray:
    """Epoch of each record of a stream without steps, nan where none is printed."""
    epochs = np.full(stream.records + 1, np.nan)
    points = stream.points.get("epoch", Points())
    numbers, values = _view(points.steps)[::-1], _view(points.values)[::-1]
    epochs[numbers] = values  # the training record comes first, an evaluation after it has its number too
    return epochs[1:]


def _from_bars(records: np.ndarray, done: np.ndarray, stream: Stream) -> np.ndarray | None:
    """The bars as steps, if nine records in ten have one and within each attempt they rise evenly or as the epoch."""
    count = stream.records
    if count < 2 or len(records) / count < 0.9 or records[0] != 0:
        return None
    filled = np.interp(np.arange(count), records, done).astype(np.int64)
    part = _part(np.array(stream.starts), np.arange(1, count + 1))
    strides = np.diff(filled)[part[1:] == part[:-1]]
    if not len(strides) or (strides <= 0).any():
        return None
    even = np.mean(strides == np.median(strides))
    return filled if even >= 0.8 or _follow_epoch(filled, _epochs(stream)) else None


def _follow_epoch(steps: np.ndarray, epochs: np.ndarray) -> bool:
    """Whether the steps are a constant times the epoch, which the log rounds to two digits or more."""
    if len(steps) < 3 or not (epochs > 0).all():
        return False
    per_epoch = float(steps[-1] / epochs[-1])
    return bool((np.abs(steps - per_epoch * epochs) <= 0.012 * per_epoch + 1).all())


def names_of(points: dict[str, Points]) -> dict[str, tuple[str, float]]:
    """Key -> metric and scale; where several keys mean one metric, the first alias of the table has it."""
    best: dict[str, tuple[int, str]] = {}
    found = {key: named(key) or _loss_scale(key, points[key]) for key in points}
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


def _loss_scale(key: str, points: Points) -> tuple[str, float, int] | None:
    """What is called a scale and only doubles and halves, from far above one, is that of a scaler."""
    if not _SCALE.search(key):
        return None
    halvings = np.log2(np.maximum(np.asarray(points.values, np.float64), np.finfo(np.float64).tiny))
    doubles = len(halvings) > 0 and np.abs(halvings - np.rint(halvings)).max() < 1e-3
    return ("loss_scale", 1.0, 2 * BY_WORDS) if doubles and halvings.max() >= LEAST_SCALE else None


def _view(column: array) -> np.ndarray:
    """The column, not copied: nothing is added to it any more."""
    return np.frombuffer(column, column.typecode) if column else np.empty(0, column.typecode)


def arrays_of(points: Points, scale: float, mixed: bool) -> Arrays:
    """Steps, values, lines; of several writers the worst value of a step, in the order of steps."""
    steps, values, lines = _view(points.steps), _view(points.values), _view(points.lines)
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


def many_an_epoch(points: Points) -> bool:
    """Whether lines that number the epoch alone come all through it."""
    return len(points) > MANY_AN_EPOCH * len(set(points.steps))


def by_line(points: Points) -> Points:
    return replace(points, steps=array("q", range(1, len(points) + 1)))


def no_way(stream: Stream) -> bool:
    """Whether a count that keeps falling does not rise over the lines either: no writers take turns, each line says how
    long something lasted (`Episode 12 | reward: 3.1 | steps: 87`)."""
    longest = max(stream.points.values(), key=len, default=None)
    if longest is None or len(longest) < SOME_LINES:
        return False
    steps = _view(longest.steps).astype(float)
    spread = steps.std()
    return not spread or float(np.corrcoef(steps, np.arange(len(steps)))[0, 1]) < RISES


def never_computed(values: np.ndarray) -> bool:
    """Megatron prints `grad norm: 0.000` where it was not computed."""
    return len(values) > 0 and not values.any()


def is_clock(values: np.ndarray) -> bool:
    """Whether a bare `time` is the time since the start (or of day), which never falls, and not that of a step."""
    return len(values) < 3 or not (np.diff(values) < 0).any()


def split(arrays: Arrays, bounds: np.ndarray) -> Iterator[tuple[int, Arrays]]:
    """The parts between the lines at which the step fell, with the number of the attempt."""
    if not len(bounds):
        yield 1, arrays
        return
    steps, values, lines = arrays
    part = np.searchsorted(bounds, lines, side="right")
    for number in np.unique(part):
        chosen = part == number
        yield int(number) + 1, (steps[chosen], values[chosen], lines[chosen])

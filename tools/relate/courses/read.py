"""Courses of training: what one log or table measured along its steps, by what each measure is for.

Every measure counts, whether its name is known or not: `ntp`, `gn_before` and `参数总范数` are told by their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...patterns import bounded
from ...series import SeriesTable
from ...tables.table import Table
from ..line import Line, lines_of, metric_of, plain

LEAST, MOST_COURSES = 8, 24
"""Points of a measure, and courses that are looked at, those with most points first."""
FIRST = 20
"""Points behind a restart that are compared with those before."""
CLEAR, SHARE = 4.0, 0.015
"""Noise of one point, and share of the level, by which a loss behind a restart is another."""
HELD = bounded(r"(?:^|_)(?:eval\w*|val|valid\w*|held\w*|test|dev|holdout)(?:_|$)|验证|评估|测试|留出")
_NO_LOSS = bounded(r"(?:^|_)(?:pi|policy|actor|value|critic|vf|v|aux|z|scale|router|balance|kl)_|缩放|辅助")
KEYS = {
    "loss": bounded(r"(?:^|_)(?:loss|nll|ntp|ce|xent|cross_entropy|lm)(?:_|$)|损失|交叉熵"),
    "rate": bounded(r"^(?:lr|rate|eta|step_size|learning_rate|cur_lr)(?:_\w{1,12})?$|学习率"),
    "norm": bounded(
        r"^(?:g|gn|gnorm|g_norm|norm|grad|gradient|total_norm|global_norm)(?:_(?!clip|skip|scale|max|weight|param)\w{1,16})?$"
        r"|梯度"
    ),
}
"""What a measure is for, by its own words where no vocabulary knows it."""
NAMES = {"loss": "loss", "rate": "learning_rate", "norm": "grad_norm"}


@dataclass(frozen=True)
class Course:
    """The measures of one log or table, of one attempt."""

    file: str
    attempt: str
    lines: tuple[Line, ...]
    head: tuple[tuple[int, str], ...] = ()
    """(number, text) of the lines with which it begins in the middle of a log; empty at the beginning of one."""

    def of(self, role: str) -> Line | None:
        """Its longest line for this; the one that a vocabulary knows first."""
        found = [x for x in self.lines if x.name == NAMES[role] and not HELD.search(plain(x.key))]
        if not found:
            found = [x for x in self.lines if self._words(role, plain(x.key))]
        return max(found, key=len, default=None)

    def _words(self, role: str, key: str) -> bool:
        refused = HELD.search(key) or (role == "loss" and _NO_LOSS.search(key))
        return bool(KEYS[role].search(key) and not refused)

    @cached_property
    def loss(self) -> Line | None:
        return self.of("loss")

    @cached_property
    def rate(self) -> Line | None:
        return self.of("rate")

    @cached_property
    def norm(self) -> Line | None:
        return self.of("norm")


@dataclass(frozen=True)
class Joint:
    """Two courses of which the second goes on where the first ends."""

    before: Course
    after: Course
    old: Line
    new: Line
    level: float
    """What the loss would be by the line before."""
    spread: float

    @property
    def step(self) -> float:
        return float(self.new.x[0])

    @property
    def enough(self) -> float:
        return max(CLEAR * self.spread, SHARE * abs(self.level))

    @property
    def shift(self) -> float:
        return float(np.median(self.new.values[:FIRST])) - self.level


def courses(series: SeriesTable, tables: Sequence[Table]) -> list[Course]:
    """Every log and table with measures along a way, longest first."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in (*lines_of(series, tables), *_unplaced(tables)):
        whole = line.finite()
        if len(whole) >= LEAST and line.rank in (None, 0) and line.axis != "length":
            found.setdefault((line.file, line.attempt), []).append(whole)
    made = [Course(file, attempt, tuple(lines)) for (file, attempt), lines in found.items()]
    return sorted(made, key=lambda c: -len(c.lines[0]))[:MOST_COURSES]


def _unplaced(tables: Sequence[Table]) -> Iterator[Line]:
    """The measures of long tables without a way, along their rows."""
    for table in tables:
        if len(table) < 4 * LEAST or any(c.values.dtype.kind == "f" and c.of != "length" for c in table.of("axis")):
            continue
        numbers = np.arange(len(table), dtype=float)
        for c in table.of("measure"):
            if c.values.dtype.kind == "f" and len(table.of("measure")) > 2:
                yield Line(metric_of(c), c.name, table.file, numbers, c.values, table.lines, "row")


def noise(values: np.ndarray) -> float:
    """Standard deviation around the trend, by the middle of the steps from point to point."""
    steps = np.diff(values)
    return 1.4826 * float(np.median(np.abs(steps - np.median(steps)))) / np.sqrt(2) if len(steps) > 2 else 0.0


def smooth(values: np.ndarray, width: int = 5) -> np.ndarray:
    """Middle values of a window that moves along."""
    width = min(width, len(values))
    return np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1)


def upto(line: Line, x: float) -> Line:
    """The line before a place and at it."""
    return line.only(line.x <= x)


def at(line: Line, x: float) -> float:
    """Its value at the last place that is not beyond this one; its first value where none is."""
    return float(line.values[max(int(np.searchsorted(line.x, x, "right")) - 1, 0)])


def part(line: Line, begin: float, end: float) -> np.ndarray:
    """Values of a share of its points."""
    return line.values[int(begin * len(line)) : max(int(end * len(line)), int(begin * len(line)) + 1)]

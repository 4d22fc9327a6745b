"""What guessing gives on well-known benchmarks: one over the choices, and how many items there are to guess.

Benchmarks whose answers must be written have no level of guessing but zero. A table; nothing is judged here.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ..patterns import bounded


class Chance(NamedTuple):
    """The level of guessing in points, and the items of the set that is usually scored."""

    points: float
    items: int

    @property
    def spread(self) -> float:
        """One standard error of guessing, in points."""
        return sqrt(self.points * (100 - self.points) / self.items)


CHANCE = tuple(
    (bounded(rf"(?i)(?:^|[^a-z])(?:{names})(?:[^a-z]|$)"), Chance(points, items))
    for names, points, items in (
        (r"mmlu(?!_?-?(?:pro|redux))", 25.0, 14042),
        (r"cmmlu", 25.0, 11582),
        (r"c-?eval", 25.0, 1346),
        (r"hellaswag", 25.0, 10042),
        (r"arc(?:_?-?(?:easy|e))", 25.0, 2376),
        (r"arc(?:_?-?(?:challenge|c))?", 25.0, 1172),
        (r"openbookqa|obqa", 25.0, 500),
        (r"race", 25.0, 3498),
        (r"logiqa", 25.0, 651),
        (r"medmcqa", 25.0, 4183),
        (r"gpqa(?:_?-?\w{1,12})?", 25.0, 448),
        (r"sciq", 25.0, 1000),
        (r"winogrande", 50.0, 1267),
        (r"piqa", 50.0, 1838),
        (r"boolq", 50.0, 3270),
        (r"copa", 50.0, 100),
        (r"rte", 50.0, 277),
        (r"sst-?_?2", 50.0, 872),
        (r"qnli", 50.0, 5463),
        (r"wsc", 50.0, 104),
        (r"wic", 50.0, 638),
        (r"siqa|social_?-?iqa", 100 / 3, 1954),
        (r"(?:m|s|x)nli", 100 / 3, 9815),
        (r"anli", 100 / 3, 1200),
        (r"commonsense_?qa|csqa", 20.0, 1221),
        (r"mmlu_?-?pro", 10.0, 12032),
        (r"gsm8k|humaneval|mbpp", 0.0, 500),
    )
)  # fmt: skip
"""Names of benchmarks, and their level; the first that fits counts."""


def chance_of(name: str) -> Chance | None:
    """The level of guessing of a benchmark that the name holds."""
    return next((chance for names, chance in CHANCE if names.search(name)), None)

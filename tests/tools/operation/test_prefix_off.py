"""A prefix cache that is off in the new deployment: by the rates of both and the days' time to the first token."""

import numpy as np
import pytest

from triage.tools.operation.requests.prefix import prefix_lost
from triage.tools.relate.line import Line
from triage.tools.tables.table import Column, Table


def rate(file: str, low: float, high: float, key: str = "Prefix cache hit rate") -> Line:
    x = np.arange(40.0)
    return Line(key, key, file, x, np.linspace(low, high, 40), x.astype(np.int64) + 1)


def days(*ttft: float) -> Table:
    when = Column("day", "axis", "time", "", np.arange(float(len(ttft))))
    first = Column("ttft_ms", "measure", "ttft_ms", "ms", np.array(ttft, float))
    return Table("days.csv", "", (when, first), np.arange(len(ttft)) + 2)


def codes(old: Line, new: Line, table: Table) -> set[str]:
    return {f.code for f in prefix_lost([table], [old, new])}


OLD, SLOWER, SAME = rate("a/eng.log", 60, 66), days(300, 310, 295, 900, 910, 890), days(300, 310, 295, 305, 290, 300)
OFF = rate("b/eng.log", 0, 0)


@pytest.mark.parametrize(
    ("new", "expected"),
    [(OFF, {"prefix-cache-off", "prefix-cache-lost"}), (rate("b/eng.log", 11, 15), {"prefix-cache-lost"})],
    ids=("off", "hit-less"),
)
def test_a_cache_that_is_off_or_hit_less_in_the_new_deployment_is_told(new, expected):
    assert codes(OLD, new, SLOWER) == expected


@pytest.mark.parametrize(
    ("new", "table"), [(rate("b/eng.log", 61, 67), SLOWER), (OFF, SAME)], ids=("hit-as-before", "no-slower")
)
def test_a_cache_that_is_hit_or_slows_nothing_is_no_trouble(new, table):
    assert codes(OLD, new, table) == set()

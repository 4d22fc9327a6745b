"""A multiplier that is halved to its floor."""

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.numeric.scaler import floored


def line(values, key="mult"):
    n = len(values)
    return Line(key, key, "run.out", np.arange(n, dtype=float), np.array(values, float), np.arange(1, n + 1))


@pytest.mark.parametrize("values", [
    [65536] * 10 + [2.0 ** (16 - i) for i in range(17)] + [1] * 8,
    [32768] * 9 + [8192, 2048, 512, 128, 32, 8, 2, 1] + [1] * 9,
    [16384] * 9 + [2.0 ** (14 - 4 * i) for i in range(8)] + [2.0**-14] * 9,
])  # fmt: skip
def test_the_floor_is_told_whatever_it_is_called(values):
    [found] = floored([line(values, "缩放"), line([*[0.4] * 10, *[np.inf] * (len(values) - 10)], "gn")])
    assert (found.code, found.severity) == ("scale-at-floor", "S2")
    assert "gn" in found.message


@pytest.mark.parametrize("values", [
    [65536] * 6 + [32768] * 30,  # one halving
    [65536, 32768, 16384, 8192, 4096, 2048] + [4096] * 10 + [8192] * 10,  # came back
    [3000 / (i + 1) for i in range(30)],  # no powers of two
    [8, 16, 32, 64, 128, 256, 512, 1024] * 4,  # a sweep of sizes
    [65536, 256, 1],  # too few
    [4096] * 30,
    [2.0 ** (24 - i) for i in range(12)] + [8192] * 12,  # began high and found its level
])  # fmt: skip
def test_a_scale_that_works_is_silent(values):
    assert not list(floored([line(values)]))

"""Peak memories by the order of the models."""

import numpy as np
import pytest

from triage.tools.relate.paced.ordered import by_order
from triage.tools.tables.table import Column, Table


def told(labels, peaks, unit="GB", each=2):
    names = np.array([n for n in labels for _ in range(each)], object)
    values = np.array([p for p in peaks for _ in range(each)], float)
    columns = (Column("model", "group", "model", "", names), Column("peak", "measure", "gpu_memory", unit, values))
    return [f.code for f in by_order([Table("b.json", "", columns, np.arange(1, len(names) + 1))])]


@pytest.mark.parametrize(
    ("labels", "peaks", "unit"),
    [
        (["Zeta-7B", "Yota-7B-Chat", "Xi-7B-awq"], [15.1, 29.8, 35.2], "GB"),
        (
            ["acme/M-13b-base", "acme/M-13b-8bit", "acme/M-13b-4bit", "acme/M-13b-ft"],
            [27000, 41000, 49000, 76000],
            "MB",
        ),
    ],
)
def test_peaks_that_only_rise_though_the_models_do_not_are_told(labels, peaks, unit):
    assert told(labels, peaks, unit) == ["peak-by-order"]


def test_larger_models_wider_numbers_and_peaks_that_fall_are_not():
    assert not told(["M-7B", "M-13B", "M-32B"], [15, 28, 66])
    assert not told(["M-7B-4bit", "M-7B-8bit", "M-7B-16bit"], [5, 9, 19])
    assert not told(["M-7B-4bit", "M-7B", "M-7B-fp32"], [5, 15, 29])
    assert not told(["A-7B", "B-7B", "C-7B"], [15.1, 35, 29.8])
    assert not told(["A-7B", "B-7B", "C-7B"], [14.9, 15.1, 15.2])
    assert not told(["small", "middle", "large"], [10, 20, 60])

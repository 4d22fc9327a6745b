"""Work that takes longer each time, up to the timeout of those that wait for it."""

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.paced.outlasting import outlasting
from triage.tools.settings import Setting, Settings

GROWS = np.array([31.0, 38, 47, 66, 81, 79, 118, 160, 221, 300])


def line(key, values):
    n = len(values)
    return Line(key, key, "job.log", np.arange(1.0, n + 1), np.asarray(values, float), np.arange(1, n + 1), "line")


def told(key, values, timeout=None):
    settings = Settings()
    if timeout is not None:
        one = Setting("nccl_timeout", timeout, str(timeout), "ddp_timeout", "train.yaml", 3, "yaml")
        settings = Settings({"nccl_timeout": one})
    return [(f.code, round(f.data["last"])) for f in outlasting([line(key, values)], settings)]


@pytest.mark.parametrize(
    ("key", "values", "timeout", "last"),
    [
        ("done", GROWS * 1.8, None, 540),
        ("ckpt_write_ms", GROWS * 1000, 360.0, 300),
        ("保存耗时", GROWS * 5, 1800.0, 1500),
        ("validation_min", GROWS / 10, 1800.0, 1800),
    ],
)
def test_work_that_comes_near_the_timeout(key, values, timeout, last):
    assert told(key, values, timeout) == [("work-nears-timeout", last)]


@pytest.mark.parametrize(
    ("key", "values", "timeout"),
    [
        ("done", GROWS, None),  # half of it
        ("save_s", GROWS * 1.8, 7200.0),  # they wait for long
        ("save_s", 500 + np.arange(10) % 3, None),  # as long each time
        ("save_s", GROWS[::-1] * 1.8, None),  # shorter each time
        ("save_s", [40, 300, 41, 44, 290, 43, 46, 420], None),  # now and then
        ("ckpt_size_gb", GROWS * 1.8, None),
        ("eval_loss", GROWS * 1.8, None),
        ("tokens", GROWS * 1.8, None),
    ],
)
def test_what_stays_below_or_is_no_time_is_not_told(key, values, timeout):
    assert told(key, values, timeout) == []

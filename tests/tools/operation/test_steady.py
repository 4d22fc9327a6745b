"""Memory that stays at one level under a load that moves is told; what grows, or goes with trouble, is not."""

import numpy as np
import pytest

from triage.tools.operation.steady import follows_load, kept
from triage.tools.relate.line import Line
from triage.tools.settings import Settings

RNG = np.random.default_rng(5)
X = np.arange(200.0) * 300 + 1.7e9
DAY = 40 + 38 * np.sin(np.arange(200) / 20)


def line(key, values, file="监控.csv"):
    return Line(key, key, file, X, np.asarray(values, float), np.arange(200) + 2, "time")


def told(*lines):
    return [f.code for f in kept(lines, Settings())]


@pytest.mark.parametrize("key", ["显存占用", "vram_used_gib", "DCGM_FI_DEV_FB_USED"])
def test_a_level_that_does_not_follow_the_load(key):
    level = line(key, 71.2 + RNG.normal(0, 0.01, 200))
    assert told(level, line("并发请求", DAY)) == ["memory-flat-under-load"]


@pytest.mark.parametrize(
    "beside",
    [line("vram_used_gib", 60 + np.arange(200) / 50), line("preemptions_total", np.arange(200)), line("errors", DAY)],
)
def test_what_grows_or_is_in_trouble_is_not_told(beside):
    assert told(line("gpu_mem_used", np.full(200, 71.2)), line("active_requests", DAY), beside) == []


def test_a_level_under_a_load_that_does_not_move_says_nothing():
    assert told(line("gpu_mem_used", np.full(200, 71.2)), line("active_requests", np.full(200, 30.0))) == []


def test_a_latency_that_goes_with_its_load_and_one_that_outgrows_it():
    load = line("qps", DAY)
    mild = line("ttft_p95", 0.2 + DAY / 600 + RNG.normal(0, 0.005, 200))
    steep = line("ttft_p95", 0.01 * np.exp(DAY / 8))
    alone = line("ttft_p95", np.where(np.arange(200) > 120, 2.1, 0.4))
    assert [follows_load(x, [load, x]) for x in (mild, steep, alone)] == [True, False, False]


def test_the_time_before_the_memory_is_taken_is_no_change_and_a_rare_queue_is_no_trouble():
    level = np.where(np.arange(200) < 3, 5.0, 38_910.0)
    queue = np.where(np.arange(200) % 50 == 7, 1.0, 0.0)
    beside = line("running", DAY), line("waiting", queue)
    assert told(line("card2_used_gib", level), *beside) == ["memory-flat-under-load"]
    late = np.where(np.arange(200) < 90, 5.0, 38_910.0)
    assert told(line("card2_used_gib", late), *beside) == []
    assert told(line("card2_used_gib", level), line("running", DAY), line("waiting", queue + 4)) == []
    assert told(line("gpu1_usage_pct", level), *beside) == []

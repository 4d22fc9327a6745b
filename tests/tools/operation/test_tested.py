"""Load tests and repeated speed tests: sound where all was answered and the figures agree; no word where not."""

import json
from pathlib import Path

import pytest

from triage.agent.session import ask

LOADS = (1, 4, 8, 16)


def sweep(**changed):
    """Rows of a load test that saturates; what is changed is given for each row."""
    rows = []
    for i, load in enumerate(LOADS):
        speed = 90.0 * min(load, 9)
        row = {"concurrency": load, "max_tokens": 64, "total_requests": 40, "successful_requests": 40,
               "failed_requests": 0, "p50_ttft_ms": 12.0 * load, "p95_ttft_ms": 19.0 * load, "p99_ttft_ms": 22.0 * load,
               "tokens_per_second": speed, "total_time_s": 40 * 60 / speed}  # fmt: skip
        rows.append(row | {k: v[i] for k, v in changed.items()})
    return rows


def runs(speeds=(71.2, 70.4, 71.9, 70.8, 71.1, 70.9), off=1.0):
    return [{"model": "m:8b", "prompt": "say it", "tokens_generated": 500 + i, "tokens_per_second": s,
             "eval_duration_ns": (500 + i) / s * 1e9 * off}
            for i, s in enumerate(speeds)]  # fmt: skip


def state(folder: Path, rows, **more: str) -> str:
    for name, text in {"bench.json": json.dumps(rows, indent=1), **more}.items():
        (folder / name).write_text(text)
    return ask("are these numbers fine?", [folder]).diagnosis.state


@pytest.mark.parametrize("rows", [sweep(), runs(), runs((30.0,) * 5)], ids=["sweep", "runs", "five runs"])
def test_a_test_that_agrees_with_itself_is_sound(tmp_path, rows):
    assert state(tmp_path, rows) == "healthy"


@pytest.mark.parametrize(
    "rows",
    [
        sweep(failed_requests=(0, 0, 0, 3), successful_requests=(40, 40, 40, 37)),
        sweep(successful_requests=(40, 40, 39, 40)),
        sweep(tokens_per_second=(90, 360, 700, 410)),
        sweep(p95_ttft_ms=(19, 20, 21, 22)),
        sweep(total_time_s=(400, 400, 400, 400)),
        sweep()[:2],
        runs((71, 35, 70, 90, 71)),
        runs(off=1.4),
        runs((2.0,) * 6),
        runs()[:3],
    ],
    ids=["failures", "counts disagree", "collapses", "quantiles fall", "impossible", "two loads", "jumps",
         "other speed", "slow", "few"],
)  # fmt: skip
def test_a_test_that_fails_or_contradicts_itself_is_not(tmp_path, rows):
    assert state(tmp_path, rows) != "healthy"


@pytest.mark.parametrize(
    "more",
    [
        {"scores.csv": "task,accuracy\nmmlu,0.31\narc,0.28\nbbh,0.24\n"},
        {"server.log": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: broken\n'},
        {"metrics.csv": "step,loss\n1,3.0\n2,2.9\n3,2.8\n"},
    ],
    ids=["scores", "a crash", "a training"],
)
def test_a_sound_speed_says_nothing_of_what_lies_beside_it(tmp_path, more):
    assert state(tmp_path, sweep(), **more) != "healthy"

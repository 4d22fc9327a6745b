"""Errors that no table knows and that a log repeats to its end begin somewhere; noise and bursts are no trouble."""

import json
from pathlib import Path

import pytest

from triage.agent.evidence import look
from triage.tools.discover import discover
from triage.tools.logs.scan import scan


def begins(tmp_path: Path, lines: list[str], name: str = "part.log"):
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [f for f in scan(discover(tmp_path)).findings if f.code == "errors-begin"]


def clocked(n: int, text: str) -> str:
    return f"2031-05-0{1 + n // 3600 % 9} {n // 60 % 24:02}:{n % 60:02}:07 {text}"


WORKERS = [
    clocked(n, f"box-{n % 8} ERROR exec: mkdir /var/ovl/{n}: too many open files")
    if n > 700 and n % 3
    else clocked(n, f"box-{n % 8} done in {0.1 * (n % 9):.1f}s")
    for n in range(1200)
]
SERVICE = [
    f'{{"ts": {n}, "level": "error", "msg": "upstream refused connection"}}'
    if n > 300
    else f'{{"ts": {n}, "level": "info", "msg": "scored batch {n}"}}'
    for n in range(600)
]
CHINESE = [f"[{n}] 打分服务请求超时，重试 3" if n > 400 and n % 2 else f"[{n}] 打分完成" for n in range(900)]


@pytest.mark.parametrize(
    ("lines", "line", "rate"),
    [(WORKERS, 702, 0.66), (SERVICE, 302, 1.0), (CHINESE, 402, 0.5)],
    ids=("workers", "service", "zh"),
)
def test_errors_that_begin_and_stay_are_told_with_their_place(tmp_path, lines, line, rate):
    (found,) = begins(tmp_path, lines)
    assert (found.severity, found.evidence[0].line) == ("S2", line)
    assert found.data["rate"] == pytest.approx(rate, abs=0.02)


SOUND = {
    "noise all along": [f"w{n} ERROR bad answer, skipped" if n % 5 == 0 else f"w{n} ok" for n in range(1000)],
    "a burst that ended": [f"w{n} ERROR link down" if 400 < n < 480 else f"w{n} ok" for n in range(1000)],
    "counts of none": [f"w{n} done, failed=0 errors: 0" if n > 300 else f"w{n} done" for n in range(900)],
    "notes": [f"INFO w{n} parse failed, asked again" if n > 300 else f"INFO w{n} ok" for n in range(900)],
    "a few at the end": [f"w{n} ERROR gone" if n > 985 else f"w{n} ok" for n in range(1000)],
    "names of measures": [f"it {n} mean_abs_error 0.3 tool_fail_frac 0.02" for n in range(900)],
}


@pytest.mark.parametrize("lines", SOUND.values(), ids=SOUND)
def test_noise_bursts_counts_and_notes_are_no_trouble(tmp_path, lines):
    assert begins(tmp_path, lines) == []


def test_a_full_disk_is_told_in_the_words_of_a_container_and_is_not_outlived_while_it_lasts(tmp_path):
    lines = [
        f"{n} put blob {n} failed: no space left on device" if n > 300 and n % 2 else f"{n} put blob took {n % 7} ms"
        for n in range(800)
    ]
    assert begins(tmp_path, lines)
    (disk,) = (f for f in scan(discover(tmp_path)).findings if f.code == "disk-full")
    assert disk.severity < "S3"


def curve(turn: int) -> str:
    rows = ({"step": s, "reward": (0.6 if s < turn else 0.2) + 0.01 * (s * 7 % 5), "entropy": 0.5} for s in range(300))
    return "".join(json.dumps(row) + "\n" for row in rows)


def at_onset(tmp_path: Path, turn: int) -> list[str]:
    (tmp_path / "metrics.jsonl").write_text(curve(turn))
    (tmp_path / "part.log").write_text("\n".join(SERVICE) + "\n")
    return [f.code for f in look([tmp_path]).findings if f.code in ("errors-begin", "errors-at-onset")]


def test_errors_that_begin_where_the_reward_falls_are_told_with_it(tmp_path):
    assert sorted(at_onset(tmp_path, 150)) == ["errors-at-onset", "errors-begin"]


def test_errors_that_begin_elsewhere_are_not_told_with_the_fall(tmp_path):
    assert at_onset(tmp_path, 240) == ["errors-begin"]

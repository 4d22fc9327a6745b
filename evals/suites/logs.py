"""Score the log scan against a folder of logs with a `manifest.jsonl`.

Run `python -m triage.evals.suites.logs FOLDER`. A row of the manifest has `file`, `clean`, `bad` (names of faults),
`accept_first_bad_step` (lowest and highest accepted step), `tolerated`. It scores, it does not judge.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...tools.discover import discover
from ...tools.findings import Finding, Severity
from ...tools.logs.scan import scan

SAME: dict[str, tuple[str, ...]] = {
    "nan_loss": ("loss-nonfinite",),
    "nan_grad": ("grad-norm-nonfinite",),
    "loss_zero": ("loss-hidden-nan", "loss-zero"),
    "oom": ("cuda-oom", "host-oom", "kv-cache-oom", "killed-without-reason"),
    "user_interrupt": ("interrupted",),
    "process_failed": (
        "uncaught-exception",
        "process-killed",
        "killed-without-reason",
        "job-cancelled",
        "node-lost",
        "native-crash",
    ),
    "cuda_error": ("cuda-error", "cuda-illegal-access", "cuda-fork-error", "device-assert", "hardware-error"),
    "nccl_timeout": ("nccl-timeout", "timeout-after-error"),
    "collective_mismatch": ("collective-mismatch",),
    "divergence": ("loss-divergence",),
    "loss_spike": ("loss-spike", "loss-divergence"),
    "loss_rising": ("eval-loss-rising", "loss-divergence"),
    "loss_scale_drop": ("loss-scale-drop", "loss-scale-collapse"),
    "grad_norm_spike": ("grad-norm-spike", "rl-instability"),
    "entropy_collapse": ("entropy-collapse",),
    "reward_collapse": ("reward-decline",),
    "response_length_collapse": ("response-length-collapse",),
    "throughput_drop": ("throughput-drop",),
}
"""Name of a fault in a manifest -> finding codes that report it; a name not listed is its own code."""


@dataclass(frozen=True)
class Score:
    """The result for one log."""

    file: str
    clean: bool
    codes: tuple[str, ...]
    missed: tuple[str, ...]
    """Faults of the manifest without a finding."""
    first_step: int | None
    step_right: bool | None
    """None where the manifest gives no step."""
    alarms: tuple[str, ...]
    """S0 and S1 findings on a clean log."""
    seconds: float
    error: str = ""


def score(folder: Path, row: dict[str, Any]) -> Score:
    """Scan one log of the folder and compare with its row of the manifest."""
    start = time.perf_counter()
    try:
        findings = scan(discover(folder / row["file"])).findings
    except Exception as error:  # a crash is a result of the suite
        lost = time.perf_counter() - start
        return Score(row["file"], row["clean"], (), tuple(row["bad"]), None, False, (), lost, repr(error))
    seconds = time.perf_counter() - start
    codes = {f.code for f in findings}
    bad = [] if row["clean"] else row["bad"]
    missed = tuple(b for b in bad if not codes & set(_codes(b)))
    step = first_bad_step(findings, bad)
    accepted = row.get("accept_first_bad_step")
    right = None if row["clean"] or not accepted else step is not None and accepted[0] <= step <= accepted[1]
    serious = tuple(f.code for f in findings if f.severity in (Severity.S0, Severity.S1))
    shown = tuple(f"{f.code}:{f.severity}" for f in findings)
    return Score(row["file"], row["clean"], shown, missed, step, right, serious if row["clean"] else (), seconds)


def first_bad_step(findings: Sequence[Finding], bad: Sequence[str]) -> int | None:
    """The earliest step among findings that report one of the named faults."""
    wanted = {code for name in bad for code in _codes(name)}
    steps = [f.data.get("first_step") for f in findings if f.code in wanted]
    return min((s for s in steps if s is not None), default=None)


def _codes(name: str) -> tuple[str, ...]:
    return SAME.get(name, (name.replace("_", "-"),))


def main(folder: Path) -> int:
    """Print one row for each log and the totals; 0 when the goals of the suite are met."""
    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text("utf-8").splitlines() if line.strip()]
    scores = [score(folder, row) for row in rows]
    for s in scores:
        mark = "ok" if not (s.missed or s.alarms or s.error or s.step_right is False) else "--"
        print(f"{mark} {s.file} ({s.seconds:.2f} s) first={s.first_step} right={s.step_right}")
        print(f"     {' '.join(s.codes)}" + (f"\n     missed: {s.missed}" if s.missed else "") + s.error)
    steps = [s.step_right for s in scores if s.step_right is not None]
    faulty = [s for s in scores if not s.clean]
    alarms = sum(bool(s.alarms) for s in scores)
    crashes = sum(bool(s.error) for s in scores)
    print(f"first bad step right: {sum(steps)}/{len(steps)}; faults all named: "
          f"{sum(not s.missed for s in faulty)}/{len(faulty)}; clean logs with an S0/S1 alarm: {alarms}/"
          f"{len(scores) - len(faulty)}; crashes: {crashes}")  # fmt: skip
    return int(crashes > 0 or alarms > 1 or sum(steps) < 0.9 * len(steps))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    sys.exit(main(parser.parse_args().folder))

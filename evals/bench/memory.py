"""Peak memory of a command and its child processes, sampled from /proc (Linux)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    out = [pid]
    for number in out:
        for task in Path(f"/proc/{number}/task").glob("*/children"):
            try:
                out += [int(p) for p in task.read_text().split()]
            except OSError:
                continue
    return out


def resident(pid: int) -> int:
    """Proportional set size in bytes: pages that processes share are counted once."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def run(command: Sequence[str], every: float = 0.05) -> tuple[float, int, int]:
    """(seconds, peak bytes of all processes together, exit status) of a command."""
    begin = time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(resident(p) for p in tree(process.pid)))
            time.sleep(every)
    return time.perf_counter() - begin, peak, process.returncode

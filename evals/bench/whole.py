"""What a start costs, and a run of many files: `python -m triage.evals.bench.whole [--turns 5] [--base FOLDER]`.

Processor seconds of the whole `ask`, each in a process of its own and by turns, medians: on a small run of
`evals/example` (a cold start), and on one of 200 files with 500 series, which shall take less than `MOST` times that.
With the folder of another checkout, which has its own `.venv`, the same there. It measures time, not answers.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "evals" / "example" / "run-1"
MOST = 3
"""How many cold starts the run of many files may take."""
POINTS = 100


def write(folder: Path) -> None:
    """200 files: 40 tables of 12 monitored series, a training log, results, notes, diffs and configurations."""
    draw = random.Random(7)
    log = ({"loss": 2 + 3 / (s + 1) ** 0.5 + draw.random() / 10, "grad_norm": 1 + draw.random()} for s in range(1, 500))
    lines = (json.dumps(record | {"step": 10 * step}) for step, record in enumerate(log))
    (folder / "train.log").write_text("\n".join(lines))
    for host in range(40):
        with (folder / f"node{host:02d}_gpu.csv").open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["step", *(f"sensor_{i}" for i in range(12))])
            table.writerows([50 * n, *(f"{draw.gauss(80, 3):.2f}" for _ in range(12))] for n in range(POINTS))
    for n in range(60):
        scores = {"mmlu": {"acc": 0.5 + draw.random() / 100, "acc_stderr": 0.01}}
        (folder / f"eval_{n:02d}.json").write_text(json.dumps({"results": scores, "step": 50 * n}))
    for n in range(50):
        (folder / f"notes_{n:02d}.md").write_text(
            f"# Notes\n\n- 2024-05-{n % 28 + 1:02d} new data mix at step {50 * n}\n"
        )
    for n in range(40):
        (folder / f"conf_{n:02d}.yaml").write_text("learning_rate: 3.0e-4\nper_device_train_batch_size: 8\n")
    for n in range(9):
        (folder / f"change_{n}.diff").write_text(f"--- a/x.yaml\n+++ b/x.yaml\n@@ -1 +1 @@\n-lr: 3e-4\n+lr: {n}e-4\n")


def seconds(checkout: Path, run: Path, home: str) -> float:
    """Of processor, for one question in a new process whose modules are compiled already."""
    own = {**os.environ, "TRIAGE_HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/compiled", "PYTHONDONTWRITEBYTECODE": ""}
    command = [str(checkout / ".venv/bin/triage"), "ask", "loss is nan", "--run", str(run)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=checkout, env=own, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--base", type=Path, help="another checkout, for the comparison side by side")
    asked = parser.parse_args()
    checkouts = {"here": ROOT, **({"base": asked.base.resolve()} if asked.base else {})}
    with tempfile.TemporaryDirectory() as scratch:
        many = Path(scratch) / "run"
        many.mkdir()
        write(many)
        runs = [(name, folder, kind) for name, folder in checkouts.items() for kind in (SMALL, many)]
        taken: dict[tuple[str, Path], list[float]] = {(name, kind): [] for name, _, kind in runs}
        for turn in range(asked.turns + 1):
            for name, folder, kind in runs:
                used = seconds(folder, kind, f"{scratch}/{name}")
                taken[name, kind] += [used] if turn else []
    for name in checkouts:
        cold, whole = (statistics.median(taken[name, kind]) for kind in (SMALL, many))
        print(f"{name}: cold {cold:.2f} s, 200 files {whole:.2f} s, {whole / cold:.1f} times (most: {MOST})")


if __name__ == "__main__":
    main()

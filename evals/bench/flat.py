"""Memory of `triage data check` on 200 MB and on ten times as much: it must not grow.

python evals/bench/flat.py [--megabytes 200]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import datagen
import memory

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    lines = [json.dumps({"text": t}) + "\n" for t in datagen.documents("en", 20_000, seed=1)]
    block = "".join(lines).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.jsonl"
        for times in (1, 10):
            copies = max(1, arguments.megabytes * times * 1_000_000 // len(block))
            with path.open("wb") as out:
                for _ in range(copies):
                    out.write(block)
            command = [
                sys.executable,
                "-c",
                "from triage.ui.cli import main; main()",
                "data",
                "check",
                str(path),
                "--json",
            ]
            seconds, peak, status = memory.run(command)
            size = path.stat().st_size / 1e6
            print(
                f"{size:7.0f} MB: {seconds:6.1f} s ({size / seconds:.1f} MB/s), peak {peak / 1e6:.0f} MB, exit {status}"
            )

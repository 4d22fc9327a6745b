"""The tests' side of `worker`: start it once, hand it commands, compare what came out with what is known to fail."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attack import worker
from attack.known import KNOWN
from attack.oracle import Truth, prints, wrongs

EXAMPLE = Path(__file__).parents[3] / "evals" / "example" / "run-1"
LIMITS = {"cpu": 10.0, "wall": 60.0, "resident": 1 << 30, "address": 4 << 30}
"""Processor seconds rather than a wall clock, which other work on the machine would shorten; that is for waiting."""


class Fence:
    """A warm worker. `run` gives one outcome per command; the commands of one call run side by side."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "warm"
        ask = ["ask", "loss is nan", "--run", str(EXAMPLE), "--home", str(self.home)]
        warm = [["scan", str(EXAMPLE)], ["lint", str(EXAMPLE)], ask]
        self.env = {"HOME": str(folder), "TMPDIR": str(folder / "tmp"), "TRIAGE_MODEL_URL": ""}
        (folder / "tmp").mkdir()
        self.process = subprocess.Popen(
            [sys.executable, worker.__file__, json.dumps(warm)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            env={"OPENBLAS_NUM_THREADS": "1", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | self.env,
        )  # fmt: skip
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        assert line, "the worker has ended"
        return json.loads(line)

    def run(self, *commands: Sequence[str], home: Path, **more) -> list[dict]:
        env = self.env | {"TRIAGE_HOME": str(home)} | more.pop("env", {})
        base = LIMITS | {"drop": os.geteuid() == 0, "env": env, "cwd": "/"} | more
        jobs = [base | {"argv": [os.fsencode(a).decode("latin-1") for a in argv]} for argv in commands]
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(30)


@dataclass
class Tally:
    """What was tried in one class of attacks, and what broke."""

    about: str
    trials: int = 0
    strict: bool = True
    """Whether a known row must fail here; not where a few of many trials run."""
    tried: set[tuple[str, str]] = field(default_factory=set)
    """(trial, command)"""
    broken: set[tuple[str, str, str]] = field(default_factory=set)
    """(trial, command, promise)"""
    notes: dict[tuple[str, str, str], str] = field(default_factory=dict)
    slowest: float = 0.0
    largest: int = 0

    def add(self, trial: str, command: str, outcome: dict, truth: Truth, also: Sequence[str] = ()) -> None:
        self.tried.add((trial, command))
        self.slowest, self.largest = max(self.slowest, outcome["cpu"]), max(self.largest, outcome["peak"])
        for promise in [*wrongs(outcome, truth), *also]:
            self.broken.add((trial, command, promise))
            said = outcome["err"].strip() or outcome["out"][:200].strip()
            self.notes[trial, command, promise] = f"exit {outcome['code']} {outcome['cpu']:.1f}s: {said[:200]!r}"

    def expected(self, always: bool) -> set[tuple[str, str, str]]:
        """The rows of KNOWN that were tried here; `always` leaves out those that fail by chance."""
        rows = {
            (f"{kind}/{way}", command, promise)
            for cell, where in KNOWN.get(self.about, {}).items()
            for defect, promise, command in [cell.split(" ", 2)]
            if not (always and defect.endswith("?"))
            for kind, ways in where.items()
            for way in ways.split()
        }
        return {row for row in rows if row[:2] in self.tried}

    def settle(self, record: Callable[[str, object], None]) -> None:
        """Fail for what is not known, and for what is known and no longer so.

        The rows are kept in the file that TRIAGE_ATTACKS names, if it names one.
        """
        expected = self.expected(always=False)
        record("attack", {"about": self.about, "trials": self.trials, "commands": len(self.tried),
                          "broken": dict(Counter(p for _, _, p in self.broken)), "known": len(expected),
                          "slowest": self.slowest, "largest": self.largest})  # fmt: skip
        if kept := os.environ.get("TRIAGE_ATTACKS"):
            with open(kept, "a") as file:
                file.write(
                    "".join(json.dumps([self.about, *row, self.notes[row]]) + "\n" for row in sorted(self.broken))
                )
        new = sorted(self.broken - expected)
        mended = sorted(self.expected(always=True) - self.broken) if self.strict else []
        told = [f"NEW {self.about}: {' | '.join(row)}: {self.notes[row]}" for row in new]
        told += [f"MENDED {self.about}: {' | '.join(row)}: take it out of KNOWN" for row in mended]
        assert not told, "\n" + "\n".join(told)


def name_of(command: Sequence[str]) -> str:
    """`data pii` of its arguments."""
    return " ".join(command[:2]) if command[0] in ("data", "checkpoint", "runbook", "cases") else command[0]


def attempt(
    fence: Fence, tally: Tally, trial: str, folder: Path, commands: Sequence[Sequence[str]], unread: str = ""
) -> None:
    """Run commands, one after the other, on a run under `folder` that is made already; then take the folder away."""
    tally.trials += 1
    for command in commands:
        before = prints(folder / "run")
        [outcome] = fence.run(command, home=folder / "home")
        tally.add(trial, name_of(command), outcome, Truth(unread, before, prints(folder / "run")))
        if outcome["why"]:
            break
    shutil.rmtree(folder)

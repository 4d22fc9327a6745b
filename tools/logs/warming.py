"""A warm-up that is as long as the run, by the steps that a log counts from epoch to epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ..findings import Evidence, Finding, Severity, TriageError
from ..patterns import bounded
from ..reading import open_unpacked
from ..run import Run
from ..series import SeriesTable
from ..settings import Setting, Settings
from .plan import decayed

EPOCH = bounded(
    rb"(?i)(?:\bepochs?|\xe8\xbd\xae\xe6\xac\xa1|\xe7\xac\xac)[ :=#\[(]{0,4}"
    rb"(\d{1,6}) ?(?:/|of|out of) ?(\d{1,6})(?![\d./])"
)
"""`Epoch 3/20`, `epoch [3 of 20]`, `轮次 3/20`, `第 3/20 轮`."""
STEP = bounded(
    rb"(?i)(?:\b(?:global[ _-]?)?(?:step|iter(?:ation)?|update)\b|\xe6\xad\xa5\xe6\x95\xb0)['\"]?"
    rb"[ :=#\[(]{1,4}(\d{1,9})(?![\d]|\.\d)"
)
"""`step 40`, `global_step=40`, `'step': 40`, `步数: 40`; a count of `steps` may be a plan."""
MOST_READ = 32 << 20
"""Bytes of one log that are read."""
LEAST = 2
"""Steps that are counted one after the other, from which on their distance is known."""


@dataclass
class Counted:
    """One training from its first epoch on, as one log counts it."""

    epochs: int
    line: int
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    """(epoch, step, one-based line), in file order."""
    last: int = 1

    def total(self) -> tuple[float, int, int, int] | None:
        """(most steps that all epochs can have, whole epochs that were seen, last step of these, its line).

        None where steps are counted anew in each epoch, or too few are shown.
        """
        numbers = [s for _, s, _ in self.steps]
        whole = [(s, n) for epoch, s, n in self.steps if epoch < self.last]
        if len(numbers) <= LEAST or not whole or any(b <= a for a, b in pairwise(numbers)):
            return None
        gap = max(b - a for a, b in pairwise(numbers))
        step, line = whole[-1]
        return (step + gap) / (self.last - 1) * self.epochs, self.last - 1, step, line


def never_warm(run: Run, settings: Settings, table: SeriesTable) -> list[Finding]:
    """The warm-up that is set is as long as all epochs that are set, by the steps of the epochs that a log shows.

    A log that counts other epochs is of another launch; a rate that comes down has been at its peak.
    """
    warmup, epochs = settings.get("warmup_steps"), settings.get("epochs")
    if warmup is None or epochs is None or settings.get("max_steps") or not isinstance(warmup.value, int | float):
        return []
    if decayed(table):
        return []
    for artifact in run.of("log"):
        for one in counted(_lines(artifact.path)):
            known = one.total()
            if known is not None and one.epochs == epochs.value and warmup.value >= known[0] > 0:
                return [_told(artifact.name, warmup, epochs, one, known)]
    return []


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_unpacked(path) as stream:
            yield from stream.read(MOST_READ).split(b"\n")
    except (OSError, TriageError, ValueError, EOFError):
        return


def counted(lines: Iterable[bytes]) -> list[Counted]:
    """The trainings that a log counts: each begins where the epochs begin anew."""
    found: list[Counted] = []
    for number, line in enumerate(lines, 1):
        epoch = EPOCH.search(line)
        if epoch is not None:
            at, of = int(epoch[1]), int(epoch[2])
            if at == 1 and (not found or found[-1].last > 1 or found[-1].epochs != of or not found[-1].steps):
                found.append(Counted(of, number))
            elif found and found[-1].epochs == of and at >= found[-1].last:
                found[-1].last = at
        step = STEP.search(line) if found else None
        if step is None:
            continue
        if found[-1].last == 1 and found[-1].steps and int(step[1]) < found[-1].steps[-1][1]:
            found.append(Counted(found[-1].epochs, number))  # begun again before its first epoch was over
        if not found[-1].steps or found[-1].steps[-1][:2] != (found[-1].last, int(step[1])):
            found[-1].steps.append((found[-1].last, int(step[1]), number))
    return found


def _told(name: str, warmup: Setting, epochs: Setting, one: Counted, known: tuple[float, int, int, int]) -> Finding:
    total, seen, step, line = known
    return Finding(
        "warmup-exceeds-training", Severity.S1,
        f"the warm-up of {warmup.value:g} steps is not below the run: {name}:{line} is at step {step} after {seen} of "
        f"{one.epochs} epochs, so all of them have {total:.0f} steps at most and the rate never gets to its peak.",
        f"warmup 为 {warmup.value:g} 步，不短于整个训练：{name}:{line} 在 {one.epochs} 个 epoch 中的第 {seen} 个"
        f"结束时是第 {step} 步，全部至多 {total:.0f} 步，学习率到不了峰值。",
        (warmup.evidence(), Evidence(name, line, step), epochs.evidence()),
        {"variable": "warmup_steps", "warmup": float(warmup.value), "steps": total},
    )  # fmt: skip

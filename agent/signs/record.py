"""How often diagnoses of runs by strangers named the right cause, each before anybody had looked at the run.

316 diagnoses (one of each repository and cause) of 14 sets of scenarios and of some 770 real run directories, judged by
sessions that had not seen the code; `docs/limits.md` says whose they are. Where an error that stopped or spoilt the run
(S0) speaks for the cause, all causes count together: 40 of 57. Of the others, those that the ranking gives 80% or more
(below it 1 of 21 was right): 113 of 238, by cause where there are four or more.
"""

from __future__ import annotations

from collections.abc import Collection

S0, OTHERS = (40, 57), (59, 106)
"""(right, of how many), with such an error, and without one for causes that have no record of their own."""
RECORD = {
    "comm-bottleneck": (1, 4),
    "data-schema-mismatch": (0, 7),
    "eval-harness-drift": (1, 7),
    "eval-leakage": (6, 22),
    "eval-metrics-empty": (1, 8),
    "inference-slow": (2, 9),
    "job-killed-externally": (8, 13),
    "lora-merge-mismatch": (2, 6),
    "lr-schedule-misconfig": (4, 9),
    "overfitting": (21, 27),
    "pii-in-data": (1, 10),
    "rl-no-convergence": (7, 10),
}
"""Causes with four or more diagnoses without such an error."""
POOR = 0.2
"""Share of right ones below which a record is poor. With records of nine tenths of the sets, tried on the tenth, it
took away 9 wrong ones and 3 right ones of 183; with all of them 28 and none."""
RIGHT = frozenset((
    "measure-contradicts-itself", "metrics-empty",
    "pii-found", "same-weights-scored-apart", "score-cells-empty", "scored-nothing",
))  # fmt: skip
"""Findings by which a cause with a poor record is a diagnosis all the same: those of the right ones, and those that
are what the cause means (personal data where it is more than a note: the wrong ones were notes, but for one)."""


def held(entry: str, stopped: bool) -> tuple[int, int]:
    """How many of such diagnoses were right, of how many; `stopped`: whether an S0 finding speaks for the cause."""
    return S0 if stopped else RECORD.get(entry, OTHERS)


def proven(entry: str, codes: Collection[str]) -> bool:
    """Whether these findings make it a diagnosis: where the record of the cause is poor, only `RIGHT` ones."""
    right, n = RECORD.get(entry, OTHERS)
    return right >= POOR * n or not RIGHT.isdisjoint(codes)

"""Two trainings whose files lie side by side in one folder, told apart by one word of their names.

`launch_old.sh` and `old_cluster.log` beside `launch_new.sh` and `new_cluster.log` are two runs: each log has a
configuration of its own. Where only logs or only configurations come in several, nothing is told apart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from ..run import Artifact, Run
from ..series import SeriesTable

MOST = 6
"""Runs that are told apart; more are a sweep."""
MEASURED = 5
"""Points from which on a log is one of a training."""
_WORDS = re.compile(r"[^\W_]+")
SETS, LOGS = ("config", "script"), ("log", "metrics")
Family = dict[str, Artifact]
"""The files of one pattern of names, by the word in which they differ."""


def side_by_side(run: Run, table: SeriesTable) -> Run:
    """The run with the word that tells its trainings apart as their attempt; as it is where there is none."""
    long = {s.file for s in table if len(s) >= MEASURED}
    logs = [a for a in run.artifacts if a.kind in LOGS and a.name in long and a.rank is None]
    words = _apart(logs, [a for a in run.artifacts if a.kind in SETS])
    if not words or any(a.attempt not in ("", logs[0].attempt) for a in run.artifacts):
        return run  # told apart by their folders
    return replace(run, artifacts=tuple(_placed(a, words) for a in run.artifacts))


def _placed(artifact: Artifact, words: Sequence[str]) -> Artifact:
    named = [w for w in words if w in _split(artifact)]
    return replace(artifact, attempt=named[0]) if len(named) == 1 else artifact


def _split(artifact: Artifact) -> list[str]:
    return _WORDS.findall(artifact.name.rpartition("/")[2].lower())


def _apart(logs: Sequence[Artifact], settings: Sequence[Artifact]) -> tuple[str, ...]:
    """The words that tell logs and their configurations apart alike, where every log has one."""
    for family in _families(logs):
        if len(family) == len(logs) and any(family.keys() <= other.keys() for other in _families(settings)):
            return tuple(family)
    return ()


def _families(files: Iterable[Artifact]) -> list[Family]:
    """Files whose names differ in one word alone, the largest families first."""
    found: dict[tuple[str, ...], Family] = {}
    for file in files:
        folder, words = file.name.rpartition("/")[0], _split(file)
        for i, word in enumerate(words):
            found.setdefault((folder, *words[:i], "*", *words[i + 1 :]), {}).setdefault(word, file)
    kept = [f for f in found.values() if 2 <= len(f) <= MOST and _other_words(f)]
    return sorted(kept, key=len, reverse=True)


def _other_words(family: Family) -> bool:
    """Whether none of the words stands in two of the names: they tell the files apart."""
    return not any(b in _split(family[a]) for a, b in combinations(family, 2))

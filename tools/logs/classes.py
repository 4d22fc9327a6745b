"""How many classes a run's task has, as its configurations and scripts say: then the loss of guessing is known."""

from __future__ import annotations

import re
from itertools import islice

from ..findings import TriageError
from ..patterns import bounded
from ..reading import head
from ..run import Run

FILES, BYTES = 40, 64 << 10
"""Configurations and scripts that are looked at, and bytes of each."""
_SAID = bounded(rb"\bnum[_-](?:labels|classes)['\"]?[ ]{0,4}(?:[:=]|\s)[ ]{0,4}(\d{1,4})\b")
_LABELS = bounded(rb"['\"]id2label['\"][ ]{0,4}:\s{0,4}\{([^{}]{1,20000})\}")
_LABEL = re.compile(rb"['\"]\d{1,4}['\"]\s{0,4}:")


def classes_of(run: Run) -> int | None:
    """The one number of classes that the files agree on, else None."""
    said: set[int] = set()
    for artifact in islice(run.of("config", "script"), FILES):
        try:
            text = head(artifact.path, BYTES)
        except TriageError:
            continue
        said |= {int(n) for n in _SAID.findall(text)}
        said |= {len(_LABEL.findall(inside)) for inside in _LABELS.findall(text)}
    said -= {0, 1}
    return said.pop() if len(said) == 1 else None

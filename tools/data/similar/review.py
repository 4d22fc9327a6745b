"""How many reported pairs are false: a sample for a person to label, and the rate that the labels give.

The sample holds masked text only. Labels are the words `duplicate`/`leak`/`yes`/`1` and `different`/`no`/`0`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from ...findings import TriageError
from ..records.blocks import Stream
from ..statistics import wilson

TRUE = {"duplicate", "leak", "yes", "true", "1", "y", "是", "重复", "泄漏"}
FALSE = {"different", "no", "false", "0", "n", "否", "不同"}
SAMPLE = 100


def write_sample(pairs: Iterable[dict[str, Any]], out: TextIO, size: int = SAMPLE) -> int:
    """A uniform sample of the pairs with an empty `label`, in random order; returns how many."""
    rng, kept = random.Random(0), []
    for n, pair in enumerate(pairs):
        if len(kept) < size:
            kept.append(pair)
        elif (k := rng.randrange(n + 1)) < size:
            kept[k] = pair
    rng.shuffle(kept)
    for pair in kept:
        out.write(json.dumps(pair | {"label": ""}, ensure_ascii=False) + "\n")
    return len(kept)


def false_positive_rate(path: Path) -> dict[str, Any]:
    """The share of labelled pairs that a person called different, with its 95 percent interval.

    Raises:
        TriageError: no pair is labelled, or a label is not understood.
    """
    labels = [str(r.value.get("label", "")).strip().lower() for _, _, r in Stream([path]) if isinstance(r.value, dict)]
    given = [label for label in labels if label]
    unknown = set(given) - TRUE - FALSE
    if unknown or not given:
        raise TriageError(
            f"{path}: {'no pair is labelled' if not given else f'label {min(unknown)!r} is not understood'}; "
            "write `duplicate` or `different`"
        )
    wrong = sum(label in FALSE for label in given)
    low, high = wilson(wrong, len(given))
    return {"labelled": len(given), "false": wrong, "false_positive_rate": wrong / len(given), "interval": [low, high]}

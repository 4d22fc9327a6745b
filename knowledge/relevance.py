"""Signals to probabilities: which entry is meant, and is the question in the field at all?

Both are small logistic models whose weights `evals/train_encoder.py` fits on questions that are not in the index
(`encoder/ranking.json`). A question that no entry covers gives its probability to "none".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .signals import Signals

WEIGHTS = Path(__file__).parent / "encoder" / "ranking.json"
ENTRY = ("lexical", "dense", "named")
"""Features of one entry."""
NONE = ("one", "best lexical", "best dense", "unknown", "one over words")
"""Features of "none of the entries"."""
_OUTSIDE = tuple(f"{kind} {part}" for kind in ("outside", "orders") for part in ("words", "near", "mean"))
FIELD = ("one", "best entry", *_OUTSIDE, "unknown", "one over words", "ordered")
"""Features of each of the three: in the field, outside, an order."""


@dataclass(frozen=True)
class Relevance:
    """Fitted weights."""

    entry: Any
    """`[ENTRY]`"""
    none: Any
    """`[NONE]`"""
    field: Any
    """`[3, FIELD]`: in the field, outside, an order."""

    def entries(self, signals: Signals) -> Any:
        """`[entries]` probability that this entry is what the question means; they sum to less than 1."""
        import numpy as np

        logits = np.append(entry_features(signals) @ self.entry, none_features(signals) @ self.none)
        return _softmax(logits)[:-1]

    def in_field(self, signals: Signals) -> float:
        """Probability that the question is about training, aligning or serving language models, and no order."""
        return float(_softmax(self.field @ field_features(signals, self.entry))[0])


def entry_features(s: Signals) -> Any:
    """`[entries, ENTRY]`"""
    import numpy as np

    return np.stack([s.lexical, s.dense, s.named], axis=1)


def none_features(s: Signals) -> Any:
    """`[NONE]`"""
    import numpy as np

    return np.array([1.0, s.lexical.max(), s.dense.max(), s.unknown, 1 / max(s.words, 1)])


def field_features(s: Signals, entry: Any) -> Any:
    """`[FIELD]`; `entry` are the weights of the entries."""
    import numpy as np

    best = (entry_features(s) @ entry).max()
    return np.array([1.0, best, *s.outside.ravel(), s.unknown, 1 / max(s.words, 1), float(s.ordered)])


@cache
def fitted(path: Path = WEIGHTS) -> Relevance:
    import numpy as np

    weights = json.loads(path.read_text(encoding="utf-8"))
    return Relevance(*(np.array(weights[name]) for name in ("entry", "none", "field")))


def _softmax(logits: Any) -> Any:
    import numpy as np

    shifted = np.exp(logits - logits.max())
    return shifted / shifted.sum()

"""Which entries do these words mean, and are they a question of this field at all?

Lexical and dense evidence is fused by fitted weights (`signals`, `relevance`). An index over a person's own runbooks
also returns their passages (`library`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .embedding import Encoder, encoder
from .entry import Entry
from .outside import phrases
from .relevance import Relevance, fitted
from .runbook import Runbook
from .signals import Corpus, Signals, build

IN_FIELD = 0.5
"""Least probability of being in the field for `Index.covers`."""
MEANT = 0.4
"""Least score of the best entry at which the runbook can be said to cover a question."""


@dataclass(frozen=True)
class Hit:
    """One entry that the words may mean."""

    entry: Entry
    score: float
    """Probability that this entry is what the question means; over all entries they sum to at most 1."""


@dataclass(frozen=True)
class Index:
    """A searchable runbook."""

    runbook: Runbook
    encoder_: Encoder | None = None
    """None for the shipped encoder."""

    @cached_property
    def corpus(self) -> Corpus:
        return build(list(self.runbook), phrases(), self.encoder_ or encoder())

    @cached_property
    def relevance(self) -> Relevance:
        return fitted()

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The `k` most relevant entries, best first; empty when no word and no piece of a word is known."""
        import numpy as np

        signals = self._signals(text)
        if not signals.words:
            return []
        scores = self.relevance.entries(signals)
        entries = list(self.runbook)
        return [Hit(entries[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]

    def covers(self, text: str) -> bool:
        """Whether the text is a question about training, aligning or serving language models, and not an order."""
        signals = self._signals(text)
        return bool(signals.words) and self.relevance.in_field(signals) >= IN_FIELD

    def _signals(self, text: str) -> Signals:
        return self.corpus.signals(text)

"""Which entries do these words mean, and are they a question of this field at all?

Lexical and dense evidence is fused by fitted weights (`signals`, `relevance`). An index over a person's own runbooks
also returns their passages. Entries are compared in memory, exactly; only passages, or a Chroma server that was asked
for, need the Chroma store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..tools.keeping import lost
from . import embedding
from .compiled import Compiled, compiled
from .entry import Entry, RunbookError
from .library import Library, Passage
from .outside import phrases
from .own import Own
from .relevance import Relevance, fitted, none_features
from .runbook import Runbook
from .signals import Signals
from .spelling import Spelling
from .vectors import Shelf
from .words import tokens

IN_FIELD = 0.5
"""Least probability of being in the field for `Index.covers`."""
MEANT = 0.5
"""Least score of the best entry at which the runbook can be said to cover a question: below it, the entry is more
likely wrong than right."""
CANDIDATES = 100
"""Passages that the dense side may bring in."""


@dataclass(frozen=True)
class Hit:
    """One entry that the words may mean."""

    entry: Entry
    score: float
    """Probability that this entry is what the question means; over all entries they sum to at most 1."""


@dataclass(frozen=True)
class Index:
    """A searchable runbook: the shipped entries, and what a person added in `home`."""

    home: Path | None = None
    """The data directory; None for the shipped entries alone, without a cache."""
    encoder: str = embedding.BUILT_IN
    chroma_url: str | None = None
    """A Chroma server instead of the store in `home`."""

    @cached_property
    def library(self) -> Library | None:
        return Library(self.home) if self.home else None

    @cached_property
    def compiled(self) -> Compiled:
        """Entries and their index, from the cache if nothing has changed."""
        try:
            own = self.library.entries() if self.library else {}
        except RunbookError as error:
            lost(self.own_library().path, "not used", error)
            own = {}
        return compiled(self.home / "cache" if self.home else None, own, self.encoder)

    @property
    def runbook(self) -> Runbook:
        return self.compiled.runbook

    @cached_property
    def relevance(self) -> Relevance:
        return fitted()

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The `k` most relevant entries, best first; empty for a text without words."""
        import numpy as np

        signals = self.signals(text)
        if not signals.words:
            return []
        scores = self.relevance.entries(signals) * self.relevance.in_field(signals)
        entries = list(self.runbook)
        return [Hit(entries[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]

    def covers(self, text: str) -> bool:
        """Whether the text is a question about training, aligning or serving language models, and not an order."""
        signals = self.signals(text)
        return bool(signals.words) and self.relevance.in_field(signals) >= IN_FIELD

    def corrected(self, text: str) -> str:
        """The text with slips of typing put right."""
        return self._spelling.corrected(text)

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling.of(self.runbook, (text for kind in phrases().values() for text in kind))

    def signals(self, text: str) -> Signals:
        """The question, its slips of typing put right, against every entry."""
        corpus, text = self.compiled.corpus, self.corrected(text)
        if self.chroma_url is None:
            return corpus.signals(text)
        ids = list(self.runbook.entries)
        near = self.own.nearest("entry", corpus.encoder.encode([text])[0], len(ids))
        return corpus.signals(text, [near.get(id, 0.0) for id in ids] if near else None)

    def passages(self, text: str, k: int = 5) -> list[Passage]:
        """The `k` most relevant passages of the person's own runbooks, best first."""
        import numpy as np

        if self.library is None or (own := self.own.read()) is None:
            return []
        words, corpus = list(dict.fromkeys(tokens(text))), self.compiled.corpus
        lexical = own.words.scores(words) / max(len(words), 1) ** 0.5
        near = self.own.nearest("passage", corpus.encoder.encode([text])[0], CANDIDATES) or {}
        dense = np.full(len(lexical), min(near.values(), default=0.0), np.float32)
        for id, cosine in near.items():
            if id in own.numbers:
                dense[own.numbers[id]] = cosine
        entry, none = self.relevance.entry, self.relevance.none @ none_features(corpus.signals(text))
        logits = entry[0] * lexical + entry[1] * corpus.standard(dense) - none
        order = [i for i in np.argsort(-logits, kind="stable")[:k] if lexical[i] > 0 or dense[i] > 0.3]
        return [replace(own.passages[i], score=float(1 / (1 + np.exp(-logits[i])))) for i in order]

    @cached_property
    def own(self) -> Own:
        """Passages can be compared when the encoder made them; entries, when they are this runbook's too."""
        option = "" if self.encoder == embedding.BUILT_IN else f" --encoder {self.encoder}"
        wanted = self.manifest() if self.chroma_url else {"encoder": self.compiled.corpus.encoder.name}
        return Own(self.shelf, wanted, option)

    def own_library(self) -> Library:
        """The library, where there must be one."""
        if self.library is None:
            raise RunbookError("the index needs a data directory; pass --home DIR or set TRIAGE_HOME")
        return self.library

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.own_library(), self.chroma_url)

    def manifest(self) -> dict[str, str]:
        """What a store is made with."""
        return {"encoder": self.compiled.corpus.encoder.name, "version": self.compiled.version}

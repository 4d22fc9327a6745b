"""Which entries do these words mean, and are they a question of this field at all?

Lexical and dense evidence is fused by fitted weights (`signals`, `relevance`). An index over a person's own runbooks
also returns their passages. Entries are compared in memory, exactly; only passages, or a Chroma server that was asked
for, need the Chroma store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from . import embedding
from .compiled import Compiled, compiled
from .entry import Entry, RunbookError
from .lexical import Lexical
from .library import Library, Passage, indexed
from .outside import phrases
from .relevance import Relevance, fitted, none_features
from .runbook import Runbook
from .signals import Signals
from .spelling import Spelling
from .vectors import Store
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
        own = self.library.entries() if self.library else {}
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
        near = self._store.nearest("entry", corpus.encoder.encode([text])[0], len(ids))
        return corpus.signals(text, [near.get(id, 0.0) for id in ids])

    def passages(self, text: str, k: int = 5) -> list[Passage]:
        """The `k` most relevant passages of the person's own runbooks, best first.

        Raises:
            RunbookError: the index was made with another encoder or another version of the runbook.
        """
        import numpy as np

        if self.library is None or not self.library.exists or not self._own.passages:
            return []
        words, corpus = list(dict.fromkeys(tokens(text))), self.compiled.corpus
        lexical = self._own.words.scores(words) / max(len(words), 1) ** 0.5
        near = self._store.nearest("passage", corpus.encoder.encode([text])[0], CANDIDATES)
        dense = np.full(len(lexical), min(near.values(), default=0.0), np.float32)
        for id, cosine in near.items():
            if id in self._own.numbers:
                dense[self._own.numbers[id]] = cosine
        entry, none = self.relevance.entry, self.relevance.none @ none_features(corpus.signals(text))
        logits = entry[0] * lexical + entry[1] * corpus.standard(dense) - none
        order = [i for i in np.argsort(-logits, kind="stable")[:k] if lexical[i] > 0 or dense[i] > 0.3]
        return [replace(self._own.passages[i], score=float(1 / (1 + np.exp(-logits[i])))) for i in order]

    @cached_property
    def _own(self) -> _Own:
        assert self.library is not None
        return read_own(self.library)

    @cached_property
    def _store(self) -> Store:
        """The Chroma store, if what is in it was made by this encoder from this runbook."""
        store = self.open_store()
        found, wanted = store.manifest(), self.manifest()
        option = "" if self.encoder == embedding.BUILT_IN else f" --encoder {self.encoder}"
        for key, what in (("encoder", "with encoder"), ("version", "from version")):
            if found.get(key) != wanted[key]:
                raise RunbookError(
                    f"the index was made {what} {found.get(key, 'none')}, not {wanted[key]}; "
                    f"`triage runbook index{option}` makes it anew"
                )
        return store

    def open_store(self) -> Store:
        """The Chroma store, whatever is in it."""
        if self.home is None:
            raise RunbookError("the index needs a data directory; pass --home DIR or set TRIAGE_HOME")
        return Store.open(self.home / "chroma", self.chroma_url)

    def manifest(self) -> dict[str, str]:
        """What a store must have been made with to be used."""
        return {"encoder": self.compiled.corpus.encoder.name, "version": self.compiled.version}


@dataclass(frozen=True)
class _Own:
    """A person's passages and their words."""

    passages: list[Passage]
    numbers: dict[str, int]
    words: Lexical


def read_own(library: Library) -> _Own:
    """Read the passages, and their BM25 from its file, or make that anew when a passage has changed."""
    import zipfile

    import numpy as np

    passages, revision = library.passages(), library.revision()
    file = library.folder / "passages.npz"
    try:
        with np.load(file, allow_pickle=False) as arrays:
            words = Lexical.restore(arrays, "passage") if str(arrays["revision"]) == revision else None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        words = None
    if words is None:
        words = Lexical.build([tokens(indexed(p)) for p in passages])
        part = file.with_suffix(".part.npz")
        np.savez(part, revision=np.array(revision), **words.arrays("passage"))
        part.replace(file)
    return _Own(passages, {p.id: i for i, p in enumerate(passages)}, words)

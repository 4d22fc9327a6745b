"""BM25 over lists of words, in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lexical:
    """A searchable list of documents, each a list of words."""

    bm25: Any
    size: int
    documents_with: Counter[str]
    """Word -> in how many documents."""

    @classmethod
    def build(cls, documents: Sequence[Sequence[str]], b: float = 0.5) -> Lexical:
        import bm25s

        bm25 = bm25s.BM25(k1=1.2, b=b)
        if any(documents):
            bm25.index([list(words) or [""] for words in documents], show_progress=False)
        return cls(bm25, len(documents), Counter(word for words in documents for word in set(words)))

    def scores(self, words: Sequence[str]) -> Any:
        """`[documents]` float32; zero where no word matches."""
        import numpy as np

        known = [word for word in dict.fromkeys(words) if word in self.documents_with]
        return np.asarray(self.bm25.get_scores(known), np.float32) if known else np.zeros(self.size, np.float32)

    def rarity(self, word: str) -> float:
        """Inverse document frequency as BM25 has it; highest for a word that no document has."""
        n = self.documents_with[word]
        return math.log(1 + (self.size - n + 0.5) / (n + 0.5))

    def unknown(self, words: Sequence[str]) -> float:
        """Share of the words' rarity that is in words no document has; 1 for no words at all."""
        rarity = {word: self.rarity(word) for word in words}
        missing = sum(r for word, r in rarity.items() if not self.documents_with[word])
        return missing / sum(rarity.values()) if rarity else 1.0

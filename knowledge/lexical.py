"""BM25 over lists of words. bm25s makes the index; a query only adds rows of it, so it needs numpy alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lexical:
    """A searchable list of documents, each a list of words."""

    size: int
    """Number of documents."""
    vocabulary: dict[str, int]
    """Word -> row."""
    starts: Any
    """`[words + 1]` where each row begins."""
    documents: Any
    """Document of each value."""
    values: Any
    """BM25 of a word in a document."""

    @classmethod
    def build(cls, documents: Sequence[Sequence[str]], b: float = 0.5) -> Lexical:
        import logging

        import bm25s
        import numpy as np

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # its import asks to be told of every index
        if not any(documents):
            return cls(len(documents), {}, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        bm25 = bm25s.BM25(k1=1.2, b=b)
        bm25.index([list(words) or [""] for words in documents], show_progress=False)
        rows = bm25.scores
        vocabulary = {word: row for word, row in bm25.vocab_dict.items() if word}
        return cls(len(documents), vocabulary, rows["indptr"], rows["indices"], rows["data"])

    def scores(self, words: Iterable[str]) -> Any:
        """`[documents]` float32; zero where no word matches."""
        import numpy as np

        out = np.zeros(self.size, np.float32)
        for row in {self.vocabulary[word] for word in words if word in self.vocabulary}:
            part = slice(self.starts[row], self.starts[row + 1])
            out[self.documents[part]] += self.values[part]
        return out

    def unknown(self, words: Iterable[str]) -> float:
        """Share of the words' rarity that is in words no document has; 1 for no words at all."""
        rarity = {word: self._rarity(word) for word in words}
        missing = sum(r for word, r in rarity.items() if word not in self.vocabulary)
        return missing / sum(rarity.values()) if rarity else 1.0

    def _rarity(self, word: str) -> float:
        """Inverse document frequency as BM25 has it; highest for a word that no document has."""
        row = self.vocabulary.get(word)
        n = 0 if row is None else int(self.starts[row + 1] - self.starts[row])
        return math.log(1 + (self.size - n + 0.5) / (n + 0.5))

    def arrays(self, name: str) -> dict[str, Any]:
        """For `numpy.savez`; `restore` reads them back."""
        import numpy as np

        words = "\n".join(sorted(self.vocabulary, key=self.vocabulary.__getitem__))
        rows = np.array(sorted(self.vocabulary.values()), np.int64)
        text = np.frombuffer(words.encode(), np.uint8)
        parts = {"size": np.array(self.size), "words": text, "rows": rows, "starts": self.starts}
        return {f"{name}.{key}": v for key, v in (parts | {"documents": self.documents, "values": self.values}).items()}

    @classmethod
    def restore(cls, arrays: Any, name: str) -> Lexical:
        words = arrays[f"{name}.words"].tobytes().decode().split("\n")
        rows = arrays[f"{name}.rows"].tolist()
        vocabulary = dict(zip(words, rows, strict=True)) if rows else {}
        rest = (arrays[f"{name}.{part}"] for part in ("starts", "documents", "values"))
        return cls(int(arrays[f"{name}.size"]), vocabulary, *rest)

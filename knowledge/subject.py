"""What are the files of a folder about? The probability of each entry, from the words of names, headers and lines.

People keep what shows a trouble: a table of pool sizes, the last sequence numbers of each rank, votes of annotators.
So the words of a run's files tell which failure they are about before anything in them is measured. That is no
evidence of a failure: a healthy run of the same kind holds the same words.

A file is the mean of its words in the shipped encoder, a folder the mean of its files; each entry is a direction in
that space, trained by `evals/train_subjects.py` on outlines of folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import embedding

FILE = embedding.FOLDER / "subjects.npz"
NOTHING = ""
"""The subject of folders that are about nothing in particular."""
WORDS = 150
"""Different words of one file from which on further ones say no more."""
LINE = 300
"""Characters of a line that are read."""
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[\u3400-\u9fff]+")
"""Words, also those that a name joins: `numWaiting_p99` has two and a letter."""


def words(text: str) -> list[str]:
    """Latin words in lower case, the parts of joined ones apart; Han text in pairs of characters; no numbers."""
    out: list[str] = []
    for word in _WORD.findall(text):
        if word[0] > "\u33ff":
            out += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif len(word) > 1:
            low = word.lower()
            out.append(low[:-1] if len(low) > 4 and low.endswith("s") and not low.endswith("ss") else low)
    return out


def file_words(name: str, lines: Iterable[str]) -> str:
    """The different words of a file's name and of its first lines, in their order."""
    seen = dict.fromkeys(words(name))
    for line in lines:
        if len(seen) > WORDS:
            break
        seen |= dict.fromkeys(words(line[:LINE]))
    return " ".join(seen)


@dataclass(frozen=True)
class Subjects:
    """The direction of each entry."""

    entries: tuple[str, ...]
    middle: NDArray[np.float32]
    """`[dimensions]` mean of all folders."""
    directions: NDArray[np.float32]
    """`[dimensions, entries]`, as sharp as probabilities are."""

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """`[texts, entries]`: how much each text, words as `file_words` gives them, is about each entry."""
        return embedding.unit(embedding.encoder().encode(texts) - self.middle) @ self.directions

    def about(self, files: Sequence[str]) -> dict[str, float]:
        """The probability of each entry, `NOTHING` among them, for a folder of these files; empty without files."""
        if not files:
            return {}
        mean = self.scores(files).mean(0)
        odds = np.exp(mean - mean.max())
        return dict(zip(self.entries, (odds / odds.sum()).tolist(), strict=True))


@cache
def subjects() -> Subjects:
    """The shipped directions."""
    with np.load(FILE, allow_pickle=False) as stored:
        directions = stored["directions"].astype(np.float32) * stored["scale"]
        return Subjects(tuple(stored["entries"].tolist()), stored["middle"].astype(np.float32), directions)

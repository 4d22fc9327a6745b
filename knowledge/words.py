"""Text to words for lexical search: Latin script as words, Han text as overlapping pairs of characters.

And features to the rows of a table of weights, for the small linear models of `outside` and `agent.question`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[a-z0-9]+(?:[._+-][a-z0-9]+)*|[\u3400-\u9fff]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by do does for from has have i if in is it its my of on or our so that the this to us "
        "was we what when which why with you your how can should would could me",
    )
)


def tokens(text: str) -> list[str]:
    """Lower-cased words without stop words (compound ones also in parts), and Han bigrams."""
    return list(chain.from_iterable(map(_of_word, _WORD.findall(text.lower()))))


@lru_cache(1 << 15)
def _of_word(word: str) -> tuple[str, ...]:
    if word[0] > "\u33ff":
        return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)
    parts = re.split(r"[._+-]", word)
    return tuple(stem(p) for p in (parts if len(parts) == 1 else (word, *parts)) if p and p not in _STOP)


def stem(word: str) -> str:
    """Plural and verb endings off: enough for matching questions with phrases."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def places(features: Iterable[str], bits: int) -> NDArray[np.int64]:
    """Rows of a table of `2 ** bits` rows, each once; two features may share one."""
    return np.array(sorted({zlib.crc32(f.encode()) & ((1 << bits) - 1) for f in features}), np.int64)

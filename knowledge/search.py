"""Which entries do these words mean? BM25 over what entries say and explain.

Words of Latin script are matched as words, Han text as overlapping pairs of characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .entry import Entry
from .runbook import Runbook

_WORD = re.compile(r"[a-z0-9]+(?:[._+-][a-z0-9]+)*|[\u3400-\u9fff]+")
_STOP = frozenset(
    "a an and are as at be by do does for from has have i if in is it its my of on or our so that the "
    "this to us was we what when which why with you your how can should would could me".split()
)


def tokens(text: str) -> list[str]:
    """Lower-cased words without stop words (compound ones also in parts), and Han bigrams."""
    out: list[str] = []
    for word in _WORD.findall(text.lower()):
        if word[0] > "\u33ff":
            out += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
            continue
        parts = re.split(r"[._+-]", word)
        out += [_stem(p) for p in (parts if len(parts) == 1 else [word, *parts]) if p and p not in _STOP]
    return out


def _stem(word: str) -> str:
    """Plural and verb endings off: enough for matching questions with phrases."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


@dataclass(frozen=True)
class Hit:
    """One entry that the words may mean."""

    entry: Entry
    score: float
    """Relevance in [0, 1]: the share of the question's informative words that the entry accounts for."""


@dataclass(frozen=True)
class Index:
    """A searchable runbook."""

    runbook: Runbook

    @cached_property
    def _bm25(self) -> Any:
        import bm25s

        index = bm25s.BM25(k1=1.2, b=0.5)
        index.index([tokens(_document(entry)) for entry in self.runbook], show_progress=False)
        return index

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The `k` most relevant entries, best first; empty when no informative word matches."""
        import numpy as np

        words = list(dict.fromkeys(tokens(text)))
        known = [word for word in words if word in self._bm25.vocab_dict]
        if not known:
            return []
        scores = np.asarray(self._bm25.get_scores(known))
        scale = 4.0 * len(words) ** 0.5
        entries = list(self.runbook)
        order = np.argsort(-scores, kind="stable")[:k]
        return [Hit(entries[i], float(1 - np.exp(-scores[i] / scale))) for i in order if scores[i] > 0]

    def covers(self, text: str) -> bool:
        """Whether the text is about what the runbook is about at all."""
        return any(hit.score >= 0.3 for hit in self.search(text, 1))


def _document(entry: Entry) -> str:
    """The words an entry is found by; what people say counts three times."""
    says = [*entry.says.en, *entry.says.zh]
    body = [
        part[heading]
        for part in entry.body.values()
        for heading in ("Symptom", "Causes", "症状", "原因")
        if heading in part
    ]
    return "\n".join([entry.id.replace("-", " "), entry.title.en, entry.title.zh, *says * 3, *body])

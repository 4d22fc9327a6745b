"""How near is a question to each entry, by its words and by its vector?

Numbers only; `relevance` turns them into probabilities. Measured and dropped, since they changed nothing once these two
were there: BM25 of an entry's best phrases, and the cosine with its nearest phrases.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .embedding import Encoder, unit
from .entry import Entry
from .lexical import Lexical
from .outside import KINDS, ordered
from .words import tokens

NEAREST = 3
"""How many of the nearest outside phrases are averaged."""
SMOOTHING = 0.0003
"""Share added to both sides of a word's odds."""


@dataclass(frozen=True)
class Signals:
    """One question against every entry and every kind of `outside`."""

    lexical: Any
    """`[entries]` BM25 of the whole entry, over the square root of the number of words."""
    dense: Any
    """`[entries]` cosine with the mean vector of what people say, standardised over the corpus."""
    named: Any
    """`[entries]` 1 where the question holds every word of the entry's name, else 0."""
    outside: Any
    """`[kinds, 3]` log odds of the words (kind over entries, summed over the square root of their number), mean cosine
    with the nearest phrases of the kind, and cosine with the mean of all of them."""
    unknown: float
    """Share of the question's informative words that no entry has."""
    words: int
    """Number of distinct informative words."""
    ordered: bool
    """Whether it is worded as an order to the assistant."""


@dataclass(frozen=True)
class Corpus:
    """Entries and outside phrases, ready to be compared with questions."""

    documents: Lexical
    """The entries' words."""
    centres: Any
    """`[entries, dimensions]` mean vector of each entry's units."""
    outside: tuple[tuple[dict[str, float], Any, Any], ...]
    """Per kind: log odds of words, vectors of the phrases, the mean of those."""
    encoder: Encoder
    names: tuple[frozenset[str], ...]
    """The words of each entry's name."""
    spread: tuple[float, float]
    """Mean and deviation of the cosine between units and the centres of other entries, so that the fitted weights
    hold for another encoder too."""

    def signals(self, text: str, cosines: Sequence[float] | None = None) -> Signals:
        """One question against everything; `cosines` with the centres, if another store has them."""
        import numpy as np

        words = list(dict.fromkeys(tokens(text)))
        length = max(len(words), 1) ** 0.5
        vector = self.encoder.encode([text])[0]
        outside = [
            [
                sum(odds.get(word, 0.0) for word in words) / length,
                self.standard(_best(table @ vector)),
                self.standard(centre @ vector),
            ]
            for odds, table, centre in self.outside
        ]
        return Signals(
            self.documents.scores(words) / length,
            self.standard(self.centres @ vector if cosines is None else np.array(cosines, np.float32)),
            np.array([name <= set(words) for name in self.names], np.float32),
            np.array(outside),
            self.documents.unknown(words),
            len(words),
            ordered(text),
        )

    def standard(self, cosine: Any) -> Any:
        """In deviations above the mean of unrelated texts."""
        mean, deviation = self.spread
        return (cosine - mean) / deviation


def _best(scores: Any) -> float:
    import numpy as np

    return float(np.partition(scores, -NEAREST)[-NEAREST:].mean())


@dataclass(frozen=True)
class Centres:
    """Where the entries lie in the encoder's space: what takes longest to make."""

    rows: Any
    """`[entries, dimensions]` float32, of length 1."""
    spread: tuple[float, float]
    """Mean and deviation of how near an entry's text is to the other entries."""


def centres_of(entries: Sequence[Entry], encoder: Encoder) -> Centres:
    import numpy as np

    groups = [units_of(entry) for entry in entries]
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    vectors = encoder.encode([text for group in groups for text in group])
    rows = np.zeros((len(groups), vectors.shape[1]), np.float32)
    np.add.at(rows, owner, vectors)
    rows = unit(rows)
    background = (vectors @ rows.T)[owner[:, None] != np.arange(len(groups))]
    return Centres(rows, (float(background.mean()), float(background.std())))


def key_of(entries: Sequence[Entry], encoder: Encoder) -> str:
    """Hash of what `centres_of` makes them of: the encoder and the texts, so not of findings or acceptance."""
    made_of = (encoder.name, [units_of(entry) for entry in entries])
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def build(
    entries: Sequence[Entry], outside: Mapping[str, Sequence[str]], encoder: Encoder, centres: Centres | None = None
) -> Corpus:
    """Index entries and outside phrases in memory; deterministic. `centres` are those of the entries, where known."""
    centres = centres or centres_of(entries, encoder)
    said = [[tokens(phrase) for phrase in _said(entry)] for entry in entries]
    ours = _shares([words for phrases in said for words in phrases])
    kinds = []
    for kind in KINDS:
        table = encoder.encode(outside[kind])
        kinds.append(
            (
                _log_odds(_shares([tokens(phrase) for phrase in outside[kind]]), ours),
                table,
                unit(table.sum(0, keepdims=True))[0],
            )
        )
    documents = Lexical.build([_document(entry, phrases) for entry, phrases in zip(entries, said, strict=True)])
    return Corpus(documents, centres.rows, tuple(kinds), encoder, names_of(entries), centres.spread)


def names_of(entries: Iterable[Entry]) -> tuple[frozenset[str], ...]:
    """The words of each entry's name: what many people type, and nothing more."""
    return tuple(frozenset(tokens(entry.id.replace("-", " "))) for entry in entries)


def _shares(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """Word -> share of the texts that have it."""
    counts = Counter(word for words in texts for word in set(words))
    return {word: count / len(texts) for word, count in counts.items()}


def _log_odds(theirs: Mapping[str, float], ours: Mapping[str, float]) -> dict[str, float]:
    """Word -> how much more often it is said there than here; smoothed, so that a rare word says little."""
    return {
        word: math.log((theirs.get(word, 0.0) + SMOOTHING) / (ours.get(word, 0.0) + SMOOTHING))
        for word in {*theirs, *ours}
    }


def units_of(entry: Entry) -> list[str]:
    """Phrases, title, causes, and the sentences of symptom and causes."""
    units = [entry.title.en, entry.title.zh, *_said(entry), entry.check_first.en, entry.check_first.zh]
    units += [text for cause in entry.causes for text in (cause.text.en, cause.text.zh)]
    for section in _sections(entry):
        units += [s for part in re.split(r"\n|(?<=[.。;；])\s*", section) if len(s := part.strip(" -*0123456789.")) > 3]
    return units


def _said(entry: Entry) -> list[str]:
    """The failure's own name, which is what many people type, and what else they say."""
    return [entry.id.replace("-", " "), *entry.says.en, *entry.says.zh]


def _sections(entry: Entry) -> list[str]:
    """Symptom and causes, in both languages."""
    wanted = ("Symptom", "Causes", "症状", "原因")
    return [part[heading] for part in entry.body.values() for heading in wanted if heading in part]


def _document(entry: Entry, said: Sequence[Sequence[str]]) -> list[str]:
    """The words an entry is found by; what people say counts three times."""
    rest = "\n".join([entry.title.en, entry.title.zh, *_sections(entry)])
    return tokens(rest) + 3 * [word for words in said for word in words]

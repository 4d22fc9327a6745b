"""What one clause of a message says of a cause, told by its words and its neighbours', whatever the cause is called.

A linear model like `weigh`'s, over clauses and not over names: "i think X" and "X, textbook" suspect, "so it wasnt X"
denies, "grad norm 14 at step 20" only tells. `evals.train_clauses` trains it. Which cause a clause means is found by
`topics` or `opinion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ...knowledge.words import places, stem
from ...tools.patterns import bounded
from . import blamed, weigh
from .cues import BACK, CUES, NAMED_SPEAKER, OWN, SPOKEN, TOLD, WORDS, Polarity
from .phrases import X, plain
from .symptoms import spans
from .topics import mentions
from .wants import wanted

MOST = 60
"""Clauses of a message that are read; nobody has more opinions in one breath."""
_REPORTED = bounded(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bit )(?<!\bstill )(?<!\balso )(?<!\bi've )"
    r"\b(?:says?|said|saying|claims?|claimed|thinks"
    r"|reckons?|reckoned|insists?|insisted|suspects|believes|swears?|swore|reports?|reported|mentions?|mentioned"
    r"|tells?|told|argues?|argued|blames|blamed|guesses|bets|found|describes?|suggests|suggested|warns?|warned|noted"
    r"|wrote|writes|complains?|complained|hints?|points (?:at|to)|pointed (?:at|to)|according to|per the|per our"
    r"|apparently|supposedly|allegedly|rumou?r|hearsay)\b"
    r"|(?:^|[，,。；; ])(?!我|咱|你|应该|可以|这|那)[^，,。；;我咱]{1,12}?(?:说|讲|称|反馈|怀疑|认为|认定|觉得|提醒"
    r"|定位|坚持|猜|抱怨|断言|指出|提到|报告|咬定|判断|表示|吐槽|喊)|听说|据说|有人|群里|据\S{1,6}[说称]",
    re.IGNORECASE,
)
"""What says that it is said by somebody else than the person, for the most part."""
_ASKS = bounded(r"[?？]|[吗呢吧]$")
FEW = 30
"""Entries up to whose number a word that people blame them by is one of the field, and not one of saying so."""
FIELD = "W"
"""What stands for words of the field."""
_TOKEN = bounded(r"[a-z][a-z0-9_.'-]{0,40}|[\u3400-\u9fff]|\d[\d.,]{0,20}%?|[?!.,:;？！，。；：]")
_SAYING = frozenset(
    "不没是有吧吗呢我你他说觉得像该应怀疑排除过了的就都还能会可也很太这那个什么但跟和与对因为所以才让被把先再只"
)
"""Characters with which an opinion is said, whatever words of the field they are part of."""


def weighed(parts: Sequence[str], at: int, acts: AbstractSet[str]) -> NDArray[np.int64]:
    """How much speaks for each of `weigh.MEANT` in one clause of a message."""
    return weigh.table("clauses")[places(features(parts, at, acts), weigh.MANY_BITS)].sum(0, dtype=np.int64)


def leaning(parts: Sequence[str], at: int, acts: AbstractSet[str]) -> tuple[Polarity, bool, float]:
    """What one clause of a message says of a cause if it says anything, whether it is what others say, and by how much
    that outweighs nothing."""
    scores = weighed(parts, at, acts)
    best = 1 + int(scores[1:].argmax())
    said: Polarity = weigh.MEANT[best] or "suspects"
    return said, best == weigh.TOLD, float(scores[best] - scores[0]) / weigh.SCALE


def features(parts: Sequence[str], at: int, acts: AbstractSet[str]) -> list[str]:
    """All by which it is told what one clause of a message says.

    Args:
        acts: the clauses that plan something.
    """
    out = list(_of_clause(parts[at]))
    for beside, side in ((at - 1, "P"), (at + 1, "N")):
        if 0 <= beside < len(parts):
            out += (side + f for f in _beside(parts[beside]))
        else:
            out.append(side + "-")
    out += (f"plan{parts[at] in acts:d}", f"first{at == 0:d}", f"last{at == len(parts) - 1:d}")
    return [*out, f"n{min(len(parts), 6)}", "wants" + _wanted(" ".join(parts))]


_wanted = lru_cache(64)(wanted)


@lru_cache(4096)
def _of_clause(clause: str) -> tuple[str, ...]:
    masked, whole = _masked(clause), plain(clause)
    words = list(weigh.words(masked))
    seen = sum(end - start for start, end in spans(clause))
    told = TOLD.search(whole) or NAMED_SPEAKER.search(clause) is not None
    out = ["C" + run for run in _runs(words, 3)] + ["Clex" + name for name in _lists(clause)]
    out += ("D" + run for run in _runs(_framed(clause), 3))
    out += (f"len{min(len(words) // 3, 6)}", f"seen{min(4 * seen // max(len(clause), 1), 3)}", f"x{masked.count(X)}")
    out += (
        f"rep{_REPORTED.search(clause) is not None:d}",
        f"told{told:d}",
        f"own{OWN.search(whole):d}",
        f"q{_ASKS.search(clause) is not None:d}",
        "b",
    )
    if X in masked:
        out.append(f"cue{next((kind for kind, pattern in CUES if pattern.search(masked)), None)}")
    return (*out, f"back{next((kind for kind, pattern in BACK if pattern.search(whole)), None)}")


@lru_cache(4096)
def _beside(clause: str) -> tuple[str, ...]:
    reported = f"rep{_REPORTED.search(clause) is not None:d}"
    framed = ("D" + run for run in _runs(_framed(clause), 2))
    return (
        reported,
        *_runs(list(weigh.words(_masked(clause))), 2),
        *("lex" + name for name in _lists(clause)),
        *framed,
    )


def _framed(clause: str) -> list[str]:
    """The words and marks of a clause with `FIELD` for those of the field that stand together."""
    text, out = plain(clause).lower(), list[str]()
    for found in _TOKEN.finditer(text):
        word, at = found[0], found.start()
        if "\u3400" <= word <= "\u9fff":
            field = word not in _SAYING and not _field().isdisjoint((text[max(at - 1, 0) : at + 1], text[at : at + 2]))
        else:
            odd = "_" in word or any(c.isdigit() for c in word)
            field = not word[0].isdigit() and word not in SPOKEN and (odd or stem(word) in _field())
        if not field:
            out.append("0" if word[0].isdigit() else word)
        elif out[-1:] != [FIELD]:
            out.append(FIELD)
    return out


@cache
def _field() -> frozenset[str]:
    """The words that few entries are blamed by."""
    return frozenset(word for word, n in blamed.often().items() if n < FEW)


def _masked(clause: str) -> str:
    """The clause with `X` for every topic."""
    parts, at = list[str](), 0
    for _, start, end in mentions(clause):
        parts += [clause[at:start], X]
        at = end
    return plain("".join((*parts, clause[at:])))


def _runs(words: list[str], most: int) -> Iterator[str]:
    """Words in a row, up to so many (Chinese: one more), with the marks of the clause's beginning and end."""
    words = ["^", *words, "$"]
    for size in range(1, most + 2):
        for place in range(len(words) - size + 1):
            row = words[place : place + size]
            if size <= most or any("\u3400" <= word <= "\u9fff" for word in row):
                yield " ".join(row)
            if size == 1 and len(row[0]) > 5:
                yield "~" + row[0][:5]


def _lists(clause: str) -> Iterator[str]:
    return (name for name, words in _listed().items() if words.search(clause))


@cache
def _listed() -> dict[str, re.Pattern[str]]:
    """The lists of words of `cues`, each as one pattern."""
    return {name: bounded(_pattern(name, words.split()), re.IGNORECASE) for name, words in WORDS.items()}


def _pattern(name: str, words: Sequence[str]) -> str:
    each = "|".join(re.escape(w.replace("_", " ")).replace(r"\*", r"\w{0,12}") for w in words)
    return each if name.endswith("_ZH") else rf"(?<![a-z])(?:{each})(?![a-z])"

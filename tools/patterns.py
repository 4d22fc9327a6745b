"""Patterns for text of strangers: what may be repeated for ever is counted, so no search takes a square of its time.

`bounded` is `re.compile` for patterns that are searched for, and so begin again at every letter. A pattern that has to
read on to the end, however long that is, does without: possessively (`*+`), or with string methods.
`tests/security/test_patterns.py` attacks every pattern of the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, AnyStr, Generic, cast

BLANKS, DIGITS, GROUPS, LETTERS = 16, 40, 30, 200
"""Most repetitions of blanks, digits, groups and other letters: more than a line of a program or trainer holds."""
_MOST = {r"\s": BLANKS, " ": BLANKS, "[ ]": BLANKS, r"[ \t]": BLANKS, r"\d": DIGITS, "[0-9]": DIGITS, ")": GROUPS}
_PIECE = re.compile(r"(?:[^\\\[*+{](?![*+{])){1,500}+|\[\^?\]?(?:\\.|[^\\\]]){0,500}+\]|\\.|\{\d+,\}|.", re.DOTALL)
"""Characters that nothing repeats, a class, an escaped character, a count without an end, or a character."""


_CASELESS = re.compile(r"\[\^?(?:\\u[3-9][0-9a-f]{3}|[\u3400-\u9fff0-9-]){1,100}\]")
"""A class of letters that have no case. For `IGNORECASE` the compiler looks at each letter of it: 27,000 of Chinese."""


def finite(pattern: str) -> str:
    """The pattern with `*`, `+` and `{n,}` as counts that end; what is lazy or possessive stays so.

    A class of letters without case is taken out of `IGNORECASE`.
    """
    out, repeated = [], ""
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        least = {"*": "0", "+": "1"}.get(piece, piece[1:-2] if piece.endswith(",}") else "")
        if repeated and least:
            out.append(f"{{{least},{max(_MOST.get(repeated, LETTERS), int(least))}}}")
            repeated = ""
        else:
            out.append(f"(?-i:{piece})" if _CASELESS.fullmatch(piece) else piece)
            repeated = piece
    return "".join(out)


class _Late(Generic[AnyStr]):
    """A pattern, made finite and compiled when it is first used: most of a package's are not, in one start."""

    def __init__(self, source: AnyStr, flags: int):
        self.source, self.bits = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        source = self.source
        if isinstance(source, str):
            return re.compile(finite(source), self.bits)
        return re.compile(finite(source.decode("latin-1")).encode("latin-1"), self.bits)


at_once = False
"""Whether patterns are compiled when they are made: for whoever collects them."""


@lru_cache(4096)
def bounded(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern, made finite and compiled before it is first used; to be used by its methods."""
    late = _Late(pattern, flags)
    if at_once:
        _ = late.compiled
    return cast("re.Pattern[AnyStr]", late)


_ALIKE = str.maketrans("\u0130\u0131\u017f", "iis")
"""Letters that `IGNORECASE` takes for another one and `lower` does not."""


class Sought:
    """A pattern that is compiled when a text first holds one of its words: that costs far more than the search.

    Args:
        pattern: as for `bounded`.
        telling: a part of it of which every match holds a match; all of it where none is given.
    """

    def __init__(self, pattern: str, flags: int = 0, telling: str = ""):
        self.pattern, self.flags, self.telling = pattern, flags, telling or pattern
        if at_once:
            _ = self.compiled

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Of which every match holds one, in lower case."""
        return tuple(word.lower() for word in words_of(self.telling))

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return bounded(self.pattern, self.flags)

    def possible(self, text: str) -> bool:
        """Whether the text holds one of its words."""
        low = (text if text.isascii() else text.translate(_ALIKE)).lower()
        for word in self.words:  # half the time of `any`, and asked for each phrase of each clause
            if word in low:
                return True
        return not self.words

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.possible(text) else None

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        return self.compiled.match(text, at) if self.possible(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text) if self.possible(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text) if self.possible(text) else iter(())


LEAST = 2
"""Least length of a word by which a pattern is left uncompiled; a Chinese character counts for two letters."""
_SIGN = re.compile(
    r"(?P<plain>(?:[^\\\[\](){}.*+?|^$](?![?*{])){1,500}+|[^\\\[\](){}.*+?|^$]|\\[^A-Za-z0-9])|(?P<look>\(\?<?[=!])"
    r"|(?P<open>\((?:\?:|\?P<\w{1,40}>)?+(?!\?))|\[\^?\]?(?:\\.|[^\]\\]){0,500}+\]|\{[^}]{0,40}\}|\\.|.",
    re.DOTALL,
)
"""Plain characters that nothing repeats, one (or an escaped one) alone, the beginning of a look or a group, a class, a
count, or one of the other signs."""


def words_of(pattern: str, least: int = LEAST) -> tuple[str, ...]:
    """Words of which every match of the pattern holds one; empty if that cannot be told."""
    (shortest, words), _ = _words(pattern, _SIGN.finditer(pattern))
    return words if shortest >= least else ()


def weight(word: str) -> int:
    """Length of a word, a Chinese character counted twice."""
    return len(word) if word.isascii() else len(word) + sum("\u3400" <= letter <= "\u9fff" for letter in word)


_Told = tuple[int, tuple[str, ...]]
"""Words, and the weight of the shortest."""
_NOTHING: _Told = (0, ("",))


def _words(pattern: str, signs: Iterator[re.Match[str]]) -> tuple[_Told, int]:
    """Of a group, and where it ends: of each alternative the words that tell most, all of them together."""
    alternatives: list[_Told] = []
    kept, run, end = _NOTHING, "", len(pattern)
    for sign in signs:
        text, kind = sign[0], sign.lastgroup
        if kind == "plain" and not _optional(pattern, sign.end()):
            run += text.removeprefix("\\")
            continue
        kept, run = _better(kept, run), ""
        if kind in ("open", "look") or text == "(":
            inner, after = _words(pattern, signs)
            if kind == "open" and not _optional(pattern, after) and inner[0] > kept[0]:
                kept = inner
        elif text in ("|", ")"):
            alternatives.append(kept)
            kept = _NOTHING
        if text == ")":
            end = sign.end()
            break
    else:
        alternatives.append(_better(kept, run))
    shortest = min((shortest for shortest, _ in alternatives), default=0)
    return (shortest, tuple(dict.fromkeys(word for _, words in alternatives for word in words))), end


def _optional(pattern: str, at: int) -> bool:
    """Whether what ends there may be left out."""
    return pattern[at : at + 1] in ("?", "*", "{")


def _better(kept: _Told, run: str) -> _Told:
    """The words so far, or a word that tells more than the shortest of them."""
    told = weight(run)
    return (told, (run,)) if told > kept[0] else kept

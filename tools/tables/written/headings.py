"""Headings of a text, as a path, and captions: lines that stand alone above rows and say what these are about.

`# Results`, `## Model A`, `**Task B**`, a line between two rules, a line above a rule. A caption has no sign of its own
(`Base model`, `Model: tiny-gru`, `{'C': 0.1}`, `type=bbox`); it holds until the next caption or heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise

from ...patterns import bounded
from ...reading import Line
from ..cells import is_number

DEEP, LETTERS, WORDS, FEW = 4, 120, 12, 3
"""Headings of a path that are kept, and characters, words and lines of a caption."""
CAPTION = 9
"""Level of what has no sign of its own; bold lines and ruled ones stand above it."""
_TITLE = bounded(
    r"^\s{0,3}(?:(?P<hash>#{1,6})\s+(?P<a>.{1,120}?)\s*#*|\*\*(?P<b>.{1,120}?)\*\*[:：]?"
    r"|=+\s*(?P<c>[^=]{1,120}?)\s*=+|-{3,}\s*(?P<d>[^-]{1,100}?)\s*-{3,})$"
)
_SIGNS = frozenset("#*=-")
_WIDE = re.compile(r"\s{2,}+|\t")
_BAR = re.compile(r"\s*([=─━═*~_#-])\1{4,}\s*$")
"""A rule of one sign."""
_LINKED = bounded(r"\[([^\[\]]{0,80})\]\([^()]{0,300}\)")
NAMES = bounded(
    r"^(?:model|modell|modèle|modelo|checkpoint|experiment|variant|method|模型|模型名称|方法|モデル|모델|модель)"
    r"[\w ]{0,12}\s{0,2}[:：]\s{0,2}\S", re.IGNORECASE
)  # fmt: skip
"""A heading that says whose all parts beside it are."""
_NUMBERED = bounded(r"^\s{0,3}\d{1,2}[.)、]\s{0,4}(\S.{2,300})$")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,80}>")
_BULLET = bounded(r"^\s{0,12}(?:[-*•▪●◦>]\s{1,4}|\d{1,3}[.)、]\s{0,4})?")
_CLOCKED = re.compile(r"\d\d:\d\d|\d{4}[-/.年]\d\d?[-/.月]\d\d?|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
_PROSE = re.compile(
    r"[.。!！?？;；,，]$|[.。!！?？;；]\s|(?<!\w)(?:https?|import|from|def|class|return)\b|\w\(\)|->|=>"
)
_LOGGED = re.compile(r"\b(?:WARNING|ERROR|Traceback|DONE|done|Loading|Loaded|Running|Saved?|Saving|Downloading)\b|%\|")
_VALUED = bounded(r"^[^:=：]{1,60}[:=：]\s{0,40}(\S.{0,40})$")
"""A name with its value, which is a row and no caption where the value is a number."""


class Headings:
    """The headings that are open, outermost first."""

    def __init__(self) -> None:
        self._open: list[tuple[float, str]] = []
        self.caption = ""

    def enter(self, level: float, text: str) -> None:
        """Open one, which closes those of its level and below; one that names the model is of all beside it."""
        if NAMES.match(text):
            level = max((h[0] for h in self._open if h[0] < level), default=0) + 0.5
        self._open = [*(h for h in self._open if h[0] < level), (level, text)]
        self.caption = ""

    def stand_alone(self, lines: Sequence[str], opens: Callable[[Sequence[str]], bool]) -> None:
        """Take the lines of a block, where they are a numbered heading or a caption, or the first `opens` them."""
        if len(lines) == 1 and (part := numbered(lines[0])):
            self.enter(CAPTION - 1, part)
        elif 0 < len(lines) <= FEW and all(said := [caption(text) for text in lines]):
            self.caption = " / ".join(said)
        elif opens(lines) and (said := caption(lines[0])):
            self.caption = said

    @property
    def said(self) -> str:
        return " / ".join(text for _, text in self._open[-DEEP:])


def heading(text: str) -> tuple[int, str] | None:
    """(level, words) of a title; words that stand apart (`# gpu   pwr  gtemp`) are the head of columns, and none."""
    if text.lstrip()[:1] not in _SIGNS or len(text) > 200 or len(_WIDE.split(text.strip("#=-* \t"))) > 2:
        return None
    match = _TITLE.match(text)
    if match is None or not re.search(r"\w", text):
        return None
    said = _LINKED.sub(r"\1", next((match[k] for k in "abcd" if match[k]), "")).strip("* ")
    return (len(match["hash"]) if match["hash"] else CAPTION - 1, said) if said else None


def numbered(text: str) -> str:
    """The words of a numbered line that stands alone, as a heading does."""
    match = _NUMBERED.match(text)
    said = _LINKED.sub(r"\1", match[1]).strip(" .。*").replace("**", "") if match else ""
    return said if len(said) <= LETTERS and not is_number(match[1] if match else "") else ""


def is_bar(text: str) -> bool:
    return _BAR.match(text) is not None


def titles(text: str, after: str) -> bool:
    """Whether a line above a rule is a title, and no head of columns over the line below the rule."""
    below = after.split()
    return bool(caption(text)) and (len(text.split()) != len(below) or not any(map(is_number, below)))


def caption(text: str) -> str:
    """What a line says that may stand above rows; empty for prose, times, messages of a log and rows themselves."""
    said = (
        _LINKED.sub(r"\1", _TAG.sub("", _BULLET.sub("", text, count=1)))
        .replace("**", "")
        .strip("*`#= \t")
        .rstrip(":：")
    )
    listed = said.count("`") > 2 or said.count(",") + said.count("，") > 2
    ruled = listed or not said or len(said) > LETTERS or len(said.split()) > WORDS or "|" in said or "\\" in said
    if ruled or not re.search(r"[^\W\d_]", said) or len(_WIDE.split(said)) > 2:
        return ""
    valued = _VALUED.match(said) if text.lstrip()[:1] not in "{(" else None
    if valued is not None and (is_number(valued[1].split(" (")[0].strip()) or len(valued[1].split()) > 3):
        return ""
    return "" if _CLOCKED.search(said) or _PROSE.search(said) or _LOGGED.search(said) else said


def with_next(lines: Iterable[Line]) -> Iterator[tuple[Line, str]]:
    """Each line, and the text of the one after it."""
    return ((a, b.text) for a, b in pairwise(chain(lines, [Line(0, "")])))

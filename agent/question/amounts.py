"""Where an amount goes: from one value to another, by a factor, a bit more or less, in two languages.

Only the words around a value are read here; what is moved, and whether anybody will move it, is decided in `plans`.
"""

from __future__ import annotations

import re

from ...tools.patterns import bounded
from .actions import Direction

_N = r"(?<![A-Za-z0-9.])[-+]?(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(?:e[-+]?\d{1,3})?"
_OLD, _NEW = rf"(?P<old>{_N})[kK%]?", rf"(?P<new>{_N})[kK%]?"
_COMPARED = tuple(
    bounded(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:from|从|由)\s?(?:[a-z_]{{1,20}}\s)?{_OLD}\s?\S{{0,3}}\s?(?:to|->|→|[改换调设变加升提降减]?[到成为])\s?{_NEW}",
        rf"(?:to|at|=|:|到|成|为)\s?{_NEW} (?:up |down )?\(?from {_OLD}",
        rf"{_OLD}\s?[改换变调][到成为]?\s?{_NEW}",
        rf"{_OLD}\s?(?:-{{1,2}}>|→|=>|~>)\s?{_NEW}",
        rf"{_NEW}[ ,]{{0,2}}(?:instead of|rather than|and not|not|over|而不是|代替|替代|替)\s?(?:the |current )?{_OLD}",
    )
)
"""A value, and the one that it shall take the place of."""
_FACTOR = bounded(
    r"(?:(?<=\s)[x×*]|×|\*|times|by a factor of|乘以?|乘上)\s?(?P<times>\d{1,6}(?:\.\d{1,6})?)"
    r"|(?P<down>(?:^\s?/|(?<=\s)/|/(?=\s)|÷|divided? by|除以|除)\s?\d{1,6}|(?:by|in) half|by (?:two|three|four|ten)"
    r"|打[一二三四五六七八九]?个?(?:半|对)?折|(?:原来|现在|之前|目前)?的?(?:一半|二分之一|[三四五十]分之一))"
    r"|(?P<up>(?:原来|现在|之前|目前)?的?[两二三四五十]倍|翻个?[倍番]|times (?:two|three|four|five|ten))",
    re.IGNORECASE,
)


_NOW = bounded(
    rf"(?:\bit'?s|\bit is|\bcurrently|\bnow|\bwas|\btoday|现在是?|原来是?|目前是?|当前是?|默认是?|不用)"
    rf" ?(?:at )?{_OLD}",
    re.IGNORECASE,
)
"""The value that a setting has, said beside the one that it shall have."""
_ONLY = bounded(_N)


def beside(value: str, sentence: str) -> Direction | None:
    """Where a new value moves a setting whose present one the sentence says: "try it at 8, currently 4"."""
    new, old = _ONLY.match(value), _NOW.search(sentence)
    step = float(new[0]) - float(old["old"]) if new and old else 0.0
    return ("raise" if step > 0 else "lower") if step else None


def moved(text: str) -> Direction | None:
    """Where a text moves an amount, None where it does not say."""
    for pattern in _COMPARED:
        if (found := pattern.search(text)) and (step := float(found["new"]) - float(found["old"])):
            return "raise" if step > 0 else "lower"
    found = _FACTOR.search(text)
    if found is None:
        return None
    if found["times"]:
        return "raise" if float(found["times"]) > 1 else "lower"
    return "lower" if found["down"] else "raise"


BESIDE = bounded(
    rf"[\s:=]{{0,3}}(?:is |was |at |of |in |to )?{_N}[kK%]?[ ,]{{0,2}}"
    rf"(?:instead|rather|(?:-{{1,2}}>|→|=>)\s?{_N}|from|not\b|而不是)"
    r"|\s?(?:[x×*/÷]\s?\d|(?:by|in) half|times (?:\d|two|three)"
    r"|乘|除以?\s?\d|打[一二三四五六七八九个对半]{0,3}折|翻个?[倍番])",
    re.IGNORECASE,
)
"""What right behind a variable moves it without any verb: "rank 8 rather than 2", "rate / 2"."""

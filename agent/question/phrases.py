"""Phrases in a notation of one line each, so that a table of them reads as language and not as regular expressions.

A line is words separated by spaces. A word may be alternatives (`is/was`), optional (`really?`, `so/too?`), or open at
its end (`convinc*`); `_` is a space inside of one (`do_not`), a name in capitals a list of words. `X` is the thing that
is spoken of. `-` is a few function words ("the", "because of", "that it is"), `~` any few words; in a line
with Chinese, for a few characters. `^` and `$` bind a line to the start and the end. Every gap is bounded, so that
matching stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...tools.patterns import Sought, bounded

X, OTHER = "\ue000", "\ue001"
"""What stands for the thing that is spoken of, and for other things of its kind."""
_HAN = bounded(r"[\u3400-\u9fff]")
_QUOTES = bounded(r"[\"'“”‘’`*()\[\]\s_]+(?=[\"'“”‘’`*()\[\]\s])|[\"“”‘`*()\[\]]")
_FUNCTION = (
    "a an the my our your their his her its this that these those some any one of to in by with from about for on at "
    "it is was be been being are were it's that's because due down caused just really actually all even also only "
    "either or nor and again teh always still purely mostly partly mainly only likely definitely definitly clearly "
    "obviously surely certainly probably new old then here there probably simply something anything else such"
)
_FUNCTION_ZH = (
    "是 因为 由于 这个 那个 这 那 的 了 什么 关于 我们 你 我 跟 和 与 在 出 于 一个 某个 新 或 还是 又 都 也 "
    "就 可能 单纯"
)
"""Words that say nothing of what they stand between."""
_GAPS = {
    "-": rf"(?:(?:{'|'.join(_FUNCTION.split())}|{OTHER})[ ,]+|(?:{'|'.join(_FUNCTION_ZH.split())}) ?){{0,6}}",
    "~": r"(?:[^ ]{1,40} ){0,5}?",
}
_GAPS_ZH = {
    "-": rf"(?:(?:{'|'.join(_FUNCTION_ZH.split())}|{OTHER}|[、 ]){{1,2}}){{0,5}}",
    "~": r"[^，。？！?!,;；]{0,10}?",
}


class Phrases:
    """Any of the phrases, in a text that `plain` has prepared; each is compiled when a text holds a word of it."""

    def __init__(self, lines: str, words: Mapping[str, str]):
        self.lines = [_line(line, words) for line in lines.splitlines() if line.strip()]

    def search(self, text: str) -> bool:
        """Whether one of them stands in the text."""
        return any(line.search(text) for line in self.lines)


def plain(text: str) -> str:
    """A text without quotes, colons and doubled spaces, as the patterns of `phrases` expect it."""
    return _QUOTES.sub("", text.replace("’", "'").replace(": ", " ")).strip()


def _line(line: str, lists: Mapping[str, str]) -> Sought:
    """The pattern of one line."""
    chinese = _HAN.search(line) is not None or "_ZH" in line
    gaps, space = (_GAPS_ZH, " ?") if chinese else (_GAPS, " ")
    start, end = ("^" if "^ " in line else ""), (r"\W{0,3}$" if " $" in line else "")
    words = [word for word in line.split() if word not in ("^", "$")]
    parts: list[str] = []
    for place, word in enumerate(words):
        last = place == len(words) - 1
        if word in gaps:
            parts.append(gaps[word])
            continue
        name = word.removesuffix("?")
        one = "|".join(_word(w) for w in (lists[name].split() if name in lists else name.split("/")))
        optional = "?" if word.endswith("?") else ""
        parts.append(f"(?:(?:{one}){'' if last else space}){optional}")
    body = "".join(parts)
    body = f"{start}(?:{body}){end}"
    whole = body if chinese else rf"(?<![A-Za-z0-9'-])(?:{body})(?![A-Za-z0-9-])"
    return Sought(whole, re.IGNORECASE, body)


def _word(word: str) -> str:
    """One alternative: literal, open at its end with `*`, or the thing itself."""
    if word in ("X", "OTHER"):
        return X if word == "X" else OTHER
    word = word.replace("_", " ")
    if word.endswith("*"):
        return re.escape(word[:-1]) + r"\w{0,12}"
    return re.escape(word).replace("n't", "n'?t")

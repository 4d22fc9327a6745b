"""What of a run may be shown: the last step before text of it is printed, kept or sent.

Credentials are masked by `table`, escape sequences and control characters are taken out, and a private key is masked
whole though it is cut into lines. Which text leaves triage at all is no question of this module.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NewType

from .table import redact

Shown = NewType("Shown", str)
"""Text of a run that has passed: no credential, no escape sequence, no control or direction mark. Made here only."""
IN_KEY = Shown("[secret:private-key]")
_HALF = re.compile("[\ud800-\udfff]")
"""A byte of a file's name that is no UTF-8 (`surrogateescape`), or half a character of JSON: no text holds it."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{16,100}={0,2}")
KEY_LINES = 200
"""Most lines of a key that has no beginning; the largest in use have about a hundred."""
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{30}|^\W*[A-Za-z0-9+/]*=*\W*$|^\W*(?:Proc-Type|DEK-Info|Version|Comment|Hash):")


def unstyled(text: str) -> str:
    """The text without escape sequences; what is no character at all becomes U+FFFD, so that any name can be read."""
    return _HALF.sub("\ufffd", _ESCAPES.sub("", text))


def plain(text: str) -> str:
    """The text without escape sequences, control characters and marks that turn the direction; lines stay lines."""
    text = unstyled(text)
    return text if text.isprintable() else "".join(filter(_plain, text))


def _plain(c: str) -> bool:
    return c in "\n\t" or c.isprintable() or unicodedata.category(c) == "Zs"


def visible(text: str) -> Shown:
    """Text of a run, of one line or many, as it may be printed, kept and sent."""
    return _name(text) if len(text) <= NAME else Shown(redact(plain(text)))


NAME = 120
"""Characters of what may be a file's name, which is said again at each of its places."""


@lru_cache(maxsize=4096)
def _name(text: str) -> Shown:
    return Shown(redact(plain(text)))


def visible_in(value: Any) -> Any:
    """JSON-ready data with every text in it passed: the last step before it is printed or kept."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(key) if isinstance(key, str) else key: visible_in(one) for key, one in value.items()}
    return [visible_in(one) for one in value] if isinstance(value, (list, tuple)) else value


def in_key(line: str, inside: bool) -> bool:
    """Whether the line after this one lies in a private key, if this one does or does not."""
    if edge := _KEY_EDGE.findall(line):
        return edge[-1] == "BEGIN"
    return inside and bool(_KEY_LINE.search(plain(line)))


def ends_key(line: str) -> bool:
    """Whether a private key ends on this line before another begins."""
    return bool((edge := _KEY_EDGE.search(line)) and edge[1] == "END")


def bare(line: str) -> bool:
    """Whether a line is nothing but what may be the body of a key, whose beginning is cut."""
    return bool(_KEY_BODY.fullmatch(plain(line).strip()))


def visible_after(before: str, line: str) -> Shown:
    """A line by itself, where the one before it may say what it is: `name: DB_PASSWORD`, and below it the value."""
    both = redact(f"{plain(before)}\n{plain(line)}").partition("\n")
    return Shown(both[2]) if both[1] else visible(line)


def visible_lines(lines: Iterable[str]) -> Iterator[Shown]:
    """Consecutive lines of a file, each by itself, from its beginning: one inside a private key is masked whole."""
    inside, before, held = False, "", list[str]()
    for line in lines:
        if not inside and bare(line) and len(held) < KEY_LINES:
            held.append(line)
            continue
        tail = not inside and ends_key(line)
        yield from (IN_KEY if tail else visible(one) for one in held)
        held.clear()
        after = in_key(line, inside)
        yield IN_KEY if inside and (after or ends_key(line)) else visible_after(before, line)
        inside, before = after, line
    yield from map(visible, held)

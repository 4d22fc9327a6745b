"""Measures that a program printed as one mapping to a line, as `print(metrics)` does: `{'rouge1': 0.31, 'em': 0.28}`.

What stands before the mapping (a number of `grep -n`, a name and a colon) is what the line is about. A log has readers
of its own; here the file holds little else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records
from ..records import Walk

PRINTED = bounded(r"^([^{}\n]{0,120}?)[:=\s]?\s{0,4}(\{[^{}\n]{4,4000}\})\s{0,8}$")
NUMBER = bounded(r"(?:np|numpy|torch)\.(?:float|int)\d{1,3}\(([-+.\deE]{1,40})\)|tensor\(([-+.\deE]{1,40})\)")
BARE = bounded(r"\b(nan|inf|NaN|Infinity|null|true|false)\b")
SPOKEN: Mapping[str, str] = {"null": "None", "true": "True", "false": "False"}
OPENED = bounded(r"^[^{}\n]{0,40}?\{\s{0,8}(?:['\"][\w@./ -]{1,60}['\"]\s?:|$)")
"""A line on which a mapping begins."""
LONG = 200
"""Lines of a mapping."""
LINES, LEAST, SHARE = 400, 2, 0.6
"""Lines of such a file, numbers of a mapping, and the share of the lines that are mappings. Own judgement."""
SHORT = 60
"""Characters of a text beside the numbers that says whose they are."""


def read_printed(lines: Iterable[Line]) -> Iterator[Raw]:
    """One table of all mappings of numbers; none where most lines say something else."""
    table, filled = Records(), 0
    for line in lines:
        if not (text := line.text[:5000].strip()):
            continue
        filled += 1
        if filled > LINES:
            return
        if (row := _row(text)) is not None:
            table.add(row, line.number)
    if len(table.raw) and len(table.raw) >= SHARE * filled:
        yield table.raw


def read_shown(lines: Iterable[Line]) -> Iterator[Raw]:
    """The tables of mappings that go over several lines, as Python and notebooks show them; records within stay."""
    held, deep, at = list[str](), 0, 0
    for line in lines:
        text = line.text[:5000]
        if not deep and not OPENED.match(text):
            continue
        held, at = ([*held, text], at) if deep else ([text], line.number)
        deep = max(0, deep + text.count("{") - text.count("}"))
        if deep and len(held) <= LONG:
            continue
        value = _literal("\n".join(held)) if not deep and len(held) > 1 else None
        deep = 0
        if isinstance(value, dict):
            for raw in Walk(lambda _, at=at: at).tables(value):
                raw.loose = True
                yield raw


def _literal(text: str) -> object:
    """The value of a text of Python; None where it is none."""
    bare = NUMBER.sub(lambda m: m[1] or m[2], text[text.index("{") :].rstrip().rstrip(",;"))
    try:
        return ast.literal_eval(BARE.sub(lambda m: SPOKEN.get(m[1], f"'{m[1]}'"), bare))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _row(text: str) -> dict[str, object] | None:
    """The numbers of a line's mapping, what stands before it under `label`."""
    if (found := PRINTED.match(text)) is None:
        return None
    plain = BARE.sub(lambda m: SPOKEN.get(m[1], f"'{m[1]}'"), NUMBER.sub(lambda m: m[1] or m[2], found[2]))
    try:
        told = ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    kept: dict[str, object] = {
        str(k)[:80]: float(v) if isinstance(v, str) and v.lower() in ("nan", "inf") else v for k, v in told.items()
    }
    numbers = sum(isinstance(v, int | float) and not isinstance(v, bool) for v in kept.values())
    if numbers < LEAST or not all(
        isinstance(v, int | float | bool | None) or len(str(v)) <= SHORT for v in kept.values()
    ):
        return None
    label = found[1].strip(" :=-#\t")
    return {"label": label, **kept} if label and not label.isdigit() else kept

"""Results that a program printed as Python shows them: `{'rouge1': 0.31, 'rougeL': 0.28}`, one a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import islice

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records

MOST = 200
"""Lines of such a text; what is longer is a log."""
LETTERS = 20_000
_SHOWN = bounded(r"^\s{0,8}(?:[\w ./-]{1,60}[:=]\s{0,4})?(\{\s{0,4}['\"][^{}]{1,8000}\})\s*$")
_NUMPY = re.compile(r"\b(?:np|numpy|torch|tensor)?\.?(?:float\d{0,2}|int\d{0,2}|tensor)\(([-+.\deE]+)\)")


def read_shown(lines: Iterable[Line]) -> Raw | None:
    """The records of a text of which every line that says something is one, with two numbers at least; None for any
    other text."""
    some = [line for line in islice(lines, MOST + 1) if line.text.strip()]
    if not some or len(some) > MOST:
        return None
    table = Records()
    for line in some:
        record = _record(line.text)
        if record is None:
            return None
        table.add(record, line.number)
    return table.raw


def _record(text: str) -> dict[str, object] | None:
    shown = _SHOWN.match(text) if len(text) <= LETTERS else None
    if not shown:
        return None
    try:
        value = ast.literal_eval(_NUMPY.sub(r"\1", shown[1]).replace(": nan", ": None"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    numbers = [v for v in value.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return {str(k): v for k, v in value.items()} if len(numbers) > 1 else None

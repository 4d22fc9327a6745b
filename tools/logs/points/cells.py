"""The numbers of many lines of one shape at once, as columns.

A line is cut into cells: what of it could be a number, which `nan` and `inf` are where the shape has them as numbers.
Lines of one layout, whose digits stand in the same places, are
a block of bytes of which the columns are read by arithmetic (`Block`); the others are cut one after the other
(`Pile`). Both give what `float` gives of each cell. What the numbers mean is no matter here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

END = b"\x01"
CELLS = bytes(c if chr(c) in "0123456789.+-eE\x01" else 32 for c in range(256))
"""Everything that cannot belong to a number becomes a blank: a line is cut into cells without a search."""
_LETTERS, _SIGNS = b"naifty", b"\x02\x03\x04\x05\x06\x07"
_HIDDEN, _SHOWN = bytes.maketrans(_LETTERS, _SIGNS), bytes.maketrans(_SIGNS, _LETTERS)
"""Signs that stand for the letters of `nan` and `infinity` while a line is cut."""
_FREE = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
_WITH_WORDS = bytes(c if chr(c).encode() in _SIGNS else CELLS[c] for c in range(256))
MANY = 48
"""Lines of one layout in a chunk from which on a block costs less than their cells one by one."""
EXACT, POWER = 15, 22
"""Digits of a whole number, and the power of ten, that a float holds exactly: their quotient is rounded once."""
_FORM = re.compile(rb"[+-]?(?P<whole>\d*+)\.?(?P<part>\d*+)(?:[eE](?P<sign>[+-]?)(?P<power>\d++))?")
_TENS = 10.0 ** np.arange(POWER + 1)


class Cells(Protocol):
    """The cells of some lines of one shape."""

    columns: list[np.ndarray]
    """The numbers asked for."""

    def longest(self, cell: int) -> int:
        """Most letters of a cell of any line."""
        ...

    def dotted(self, cell: int) -> bool:
        """Whether it has a point in any line."""
        ...

    def always(self, cell: int, text: bytes) -> bool:
        """Whether it is this text in every line."""
        ...


def _bare(data: bytes, words: Sequence[bytes]) -> bytes:
    """Text of which only its cells are left, as long as before.

    Args:
        data: the text.
        words: the numbers without digits as the text spells them (`nan`, `Infinity`), the longest first.
    """
    if not words:
        return data.translate(CELLS)
    data = data.translate(_FREE)
    for word in words:
        data = data.replace(word, word.lower().translate(_HIDDEN))
    return data.translate(_WITH_WORDS)


def cells_of(line: bytes, words: Sequence[bytes] = ()) -> Iterator[re.Match[bytes]]:
    """What of a line could be numbers, in order; `words` as of `Block`."""
    return re.finditer(rb"\S+", _bare(line, words))


class Pile:
    """Lines of one shape, cut one after the other."""

    def __init__(self, lines: Sequence[bytes], width: int, wanted: Sequence[int], words: Sequence[bytes] = ()):
        """As `Block`."""
        self.step, self.count = width + 1, len(lines)
        self.found = _bare((b" " + END + b" ").join(lines), words).split()
        if len(self.found) != self.count * self.step - 1 or set(self.found[width :: self.step]) - {END}:
            raise ValueError("lines of different widths")
        self.columns = [_floats(self.of(cell)) for cell in wanted]

    def of(self, cell: int) -> list[bytes]:
        return self.found[cell :: self.step]

    def longest(self, cell: int) -> int:
        return max(map(len, self.of(cell)))

    def dotted(self, cell: int) -> bool:
        return b"." in b"".join(self.of(cell))

    def always(self, cell: int, text: bytes) -> bool:
        return self.of(cell).count(text) == self.count


class Block:
    """Lines of one layout."""

    def __init__(self, rows: np.ndarray, width: int, wanted: Sequence[int], words: Sequence[bytes] = ()):
        """Read the cells `wanted` of lines that have `width` of them, given as rows of bytes.

        Args:
            rows: the lines.
            width: cells of a line.
            wanted: which of them are numbers.
            words: how the shape spells its numbers that have no digits, the longest first.

        Raises:
            ValueError: they have not, or one that is wanted is no number.
        """
        self.bytes = rows
        self.cells = [*cells_of(rows[0].tobytes(), words)]
        if len(self.cells) != width:
            raise ValueError("a line of another width")
        self.columns = [self._column(self.cells[cell]) for cell in wanted]

    def longest(self, cell: int) -> int:
        return len(self.cells[cell][0])

    def dotted(self, cell: int) -> bool:
        return b"." in self.cells[cell][0]

    def always(self, cell: int, text: bytes) -> bool:
        match = self.cells[cell]
        here = self.bytes[:, match.start() : match.end()]
        return match[0] == text and (not any(48 <= c <= 57 for c in text) or bool((here == here[0]).all()))

    def _column(self, match: re.Match[bytes]) -> np.ndarray:
        form, at = _FORM.fullmatch(match[0]), match.start()
        if not form or not (form["whole"] or form["part"]):
            return np.full(len(self.bytes), _float(match[0]))  # letters, which are the same in all lines
        power = np.full(1, -len(form["part"]))
        if form["power"] and len(form["power"]) <= 3:
            power = power + self._whole(at, [form.span("power")]) * (-1 if form["sign"] == b"-" else 1)
        exact = len(form["whole"]) + len(form["part"]) <= EXACT and (not form["power"] or len(form["power"]) <= 3)
        if not exact or (np.abs(power) > POWER).any():
            cells = np.ascontiguousarray(self.bytes[:, at : match.end()]).view(f"S{match.end() - at}")
            return _floats(cells.ravel().tolist())
        number = self._whole(at, [form.span("whole"), form.span("part")])
        scale, down = _TENS[np.abs(power).astype(np.int64)], power < 0
        number = number / scale if down.all() else number * scale if not down.any() else _scaled(number, scale, down)
        return -number if match[0][:1] == b"-" else number

    def _whole(self, at: int, spans: Sequence[tuple[int, int]]) -> np.ndarray:
        """The digits in these places of a cell as one whole number."""
        number = np.zeros(len(self.bytes))
        for i in (i for low, high in spans for i in range(at + low, at + high)):
            number *= 10
            number += self.bytes[:, i] - 48
        return number


def _scaled(number: np.ndarray, scale: np.ndarray, down: np.ndarray) -> np.ndarray:
    return np.where(down, number / scale, number * scale)


def _floats(cells: list[bytes]) -> np.ndarray:
    """The cells as numbers: as JSON, which takes half as long as one by one, where it knows their form.

    Raises:
        ValueError: one is no number.
    """
    import orjson

    try:
        return np.array(orjson.loads(b"[" + b",".join(cells) + b"]"), float)
    except orjson.JSONDecodeError:
        return np.array([*map(_float, cells)])


def _float(cell: bytes) -> float:
    return float(cell.translate(_SHOWN))

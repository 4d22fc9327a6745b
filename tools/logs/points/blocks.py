"""Metrics over several lines: a line with the step and then one pair a line, boxed tables, tables with a head row.

Only lines below such a beginning are read, and only known metrics: `key: 3` alone is a setting as often as a metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...metrics import canonical, step_key
from ...patterns import bounded
from .grammar import HEAD_HINT, HELD_OUT, VALUE, counters, number, telling

REACH = 40
"""Lines without a pair after which a block is over: progress and notes stand between the pairs. Own judgement."""
STRANGERS = 3
"""Lines that do not fit after which a table with a head row is over. Own judgement."""

_HEADER_END = re.compile(
    r"(?:\s*+/\s*+\d[\d,]*+)?[\s)\]]*+(?:done|finished|completed?|start(?:ed|ing)?|results?|metrics)?"
    r"[\s\])=:*#.━─-]*+$",
    re.I,
)
_EPOCH_HEADER = bounded(r"^[\s=*#━─-]{0,40}epoch\s*[:#]?\s*\[?(\d{1,9})(?:\s*/\s*\d+)?[\s\]:=*#.━─-]{0,60}$", re.I)
_FRAME = "│┃║|"
_FRAMED = re.compile(r"[│┃║|]")
_CELL = bounded(rf"\s*{VALUE}\)?\s*", re.IGNORECASE)
_PAIR = bounded(
    rf"^[\s•*·>–-]{{0,16}}([A-Za-z\u4e00-\u9fff][^:=：\n]{{0,80}}?)\s*[:=：]\s*{VALUE}\)?\s*(?:\([^()]{{0,40}}\))?\s*$",
    re.IGNORECASE,
)
_TOP = "╭┌╒┏╔"
HINTS = (*(_TOP + _FRAME.replace("|", "")), r"\|[ \t]*[-+.]?[0-9]", HEAD_HINT)
"""What a line holds with which a block begins, beside counters and epochs: see `format.Format.hint`."""
_NUMBER_CELL = re.compile(r"(?:^|[\s|│])[-+.]?\d")
_RULE = re.compile(r"^[\s|+:│┃║├┼┤╞╪╡╘╧╛╒╤╕╭╮╰╯└┴┘┌┬┐┏┳┓┡╇┩┗┻┛━─═=-]*$")
_COLUMNS = re.compile(r"(?<!\s)\s++[│┃║|]\s*+|[│┃║|]\s*+|\t|\s{2,}")

Values = list[tuple[str, float, int]]
"""(key, value, line)."""


@dataclass(frozen=True)
class Found:
    """The metrics of one block or one row of a table."""

    values: Values
    step: int | None
    """None: no step is said, the order of the blocks counts."""
    counter: str
    rank: int | None


@dataclass
class _Open:
    step: int | None
    counter: str
    rank: int | None
    last_line: int
    values: Values = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    inner: tuple[int, int, str] | None = None
    """(order of preference, value, name) of a step that stands among the pairs."""


@dataclass
class _Table:
    names: list[str]
    at: int
    """Column of the step."""
    rank: int | None
    strangers: int = 0


class Blocks:
    """What is open in one file: at most one block and one table with a head row."""

    def __init__(self) -> None:
        self.block: _Open | None = None
        self.table: _Table | None = None

    @property
    def open(self) -> bool:
        """Whether the next line is looked at whatever words it holds."""
        return self.block is not None or self.table is not None

    def may_begin(self, text: str) -> bool:
        """The cheap test before `begin`: a counter, a frame, or a row without numbers."""
        return (
            bool(counters(text))
            or "poch" in text
            or text.lstrip()[:1] in _FRAME + _TOP
            or not _NUMBER_CELL.search(text)
        )

    def begin(self, line: int, rank: int | None, text: str) -> Iterator[Found]:
        """Look whether a line that is no record begins a block or a table; what was open before is given."""
        head = _header(text)
        first = text.lstrip()[:1]
        if head and not HELD_OUT.match(text):
            yield from self.end()
            self.block = _Open(*head, rank, line)
        elif first and first in _TOP and self.block is None:
            self.block = _Open(None, "", rank, line)
        elif (table := _head_row(text, rank)) is not None:
            yield from self.end()
            self.table = table
        elif self.block is None and first and first in _FRAME and any(_known(k) for k, _ in pairs_of(text)):
            self.block = _Open(None, "", rank, line)
            yield from self.take(line, text)

    def take(self, line: int, text: str) -> Iterator[Found]:
        """The rows and finished blocks that a line below a beginning gives."""
        if self.table:
            yield from self._row(line, text)
        block = self.block
        if block is None or _header(text):
            return
        if line - block.last_line > REACH:
            yield from self.end()
            return
        for key, value in pairs_of(text):
            order = step_key(key.lower().replace(" ", "_"))
            if not _known(key) and order is None:
                continue
            if key in block.keys:
                yield from self.end()
                self.block = block = _Open(None, "", block.rank, line)
            block.keys.add(key)
            block.last_line = line
            if order is None:
                block.values.append((key, value, line))
            elif value == value and abs(value) < 1e15 and (block.inner is None or order < block.inner[0]):
                block.inner = (order, int(value), key)

    def end(self) -> Iterator[Found]:
        """Close what is open and give the block, if it holds a metric that no configuration would print."""
        block, self.block, self.table = self.block, None, None
        if block is None or not any(telling(key) for key, _, _ in block.values):
            return
        step, counter = block.inner[1:] if block.inner and block.step is None else (block.step, block.counter)
        yield Found(block.values, step, counter, block.rank)

    def _row(self, line: int, text: str) -> Iterator[Found]:
        table = self.table
        if table is None or _RULE.match(text):
            return
        cells = _columns(text)
        step = _CELL.fullmatch(cells[table.at]) if len(cells) == len(table.names) else None
        if step is None:
            table.strangers += 1
            if table.strangers > STRANGERS:
                self.table = None
            return
        table.strangers = 0
        values: Values = []
        for i, (name, cell) in enumerate(zip(table.names, cells, strict=True)):
            match = _CELL.fullmatch(cell) if i != table.at and _known(name) else None
            if match:
                values.append((name, number(match.group(1), match.group(2)), line))
        count = number(step.group(1))
        if values and count.is_integer() and abs(count) < 1e15:
            yield Found(values, int(count), table.names[table.at].lower(), table.rank)


def pairs_of(text: str) -> Iterator[tuple[str, float]]:
    """The pairs of a line of a block: cells of a frame, two and two, or one `key: value`."""
    bare = text.strip()
    if bare[:1] and bare[0] in _FRAME:
        cells = [cell.strip() for cell in _FRAMED.split(bare.strip(_FRAME))]
        for key, value in zip(cells[::2], cells[1::2], strict=False):
            match = _CELL.fullmatch(value)
            if key and match:
                yield key, number(match.group(1), match.group(2))
        return
    match = _PAIR.match(text)
    if match:
        yield match.group(1), number(match.group(2), match.group(3))


def _header(text: str) -> tuple[int, str] | None:
    """Step and counter of a line that says no more than how far the run is (`== Step 3/100 ==`, `[batch=1/9]:`)."""
    if len(text) > 300:
        return None
    found = counters(text)
    if found and _HEADER_END.match(text, max(span[1] for *_, span in found)):
        _, name, step, span = min(found, key=lambda c: c[0])
        owner = text[: span[0]].split()[-1:]
        return (step, name) if "/" not in "".join(owner) else None  # `time/batch: 3` is a metric
    match = _EPOCH_HEADER.match(text) if "poch" in text else None
    return (int(match.group(1)), "epoch") if match else None


def _head_row(text: str, rank: int | None) -> _Table | None:
    """The head of a table: a column that counts steps or epochs, one with a metric, and no number."""
    if len(text) > 1_000 or _NUMBER_CELL.search(text):
        return None
    names = _columns(text)
    if len(names) < 2:
        return None
    orders = [(order, i) for i, n in enumerate(names) if (order := step_key(n.lower().replace(" ", "_"))) is not None]
    orders += [(99, i) for i, n in enumerate(names) if n.lower() == "epoch"]
    if not orders or not any(telling(name) for name in names):
        return None
    return _Table(names, min(orders)[1], rank)


def _columns(text: str) -> list[str]:
    return [cell.strip() for cell in _COLUMNS.split(text.strip().strip(_FRAME).strip())]


def _known(key: str) -> bool:
    return canonical(key) is not None

"""Numbered rows of a merged file from which exactly one part of a split is gone.

The file that was asked need not be there: where the rows count `q-0000`, `q-0001`, ... themselves, a hole tells how
they were dealt out, in pieces one after the other or in turn to each worker. A hole that is no whole part says nothing:
items may have been taken out on purpose.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .rows import Rows

NUMBERED = bounded(r"^(.{0,40}?)(\d{1,9})$")
LEAST, PARTS, LEFT = 20, 64, 2
"""Rows of a part from which on its loss is told, most parts that an evaluation is dealt out to, and the least. Ours."""


class Hole(NamedTuple):
    """The numbers that are gone: how many, of how many in how many parts, and the row behind the first of them."""

    missing: int
    total: int
    parts: int
    first: int
    last: int
    row: int
    in_turn: bool


def part_gone(merged: Rows) -> Iterator[Finding]:
    """The part that is missing of merged rows, by their own numbers."""
    hole = _hole(merged.ids)
    if hole is None:
        return
    shown = merged.ids[max(0, hole.row - 1)], merged.ids[hole.row]
    how = f"every {hole.parts}th of them" if hole.in_turn else f"the numbers {hole.first} to {hole.last}, in one piece"
    zh = f"每 {hole.parts} 条缺一条" if hole.in_turn else f"编号 {hole.first} 到 {hole.last} 连续缺失"
    yield Finding(
        "merged-rows-missing", Severity.S1,
        f"{merged.name} numbers its rows up to {hole.total} and has {hole.total - hole.missing} of them: "
        f"{hole.missing} are gone, {how} ({shown[0]} is followed by {shown[1]}). That is exactly one part of {hole.parts}: a worker's "
        "result is not in the merged file, and a score over all items counts its rows as wrong.",
        f"{merged.name} 的编号共 {hole.total} 条，实际只有 {hole.total - hole.missing} 条：缺 {hole.missing} 条，{zh}"
        f"（{shown[0]} 之后就是 {shown[1]}）。正好是 {hole.parts} 份中的一份：有一个进程的结果没有合并进来，"
        "若按全部题目计分，这些题都会算错。",
        (Evidence(merged.name, hole.row + 2, text=" -> ".join(shown)),
         Evidence(merged.name, hole.row + 1, value=hole.total - hole.missing)),
        {"whole": hole.total, "merged": hole.total - hole.missing, "missing": hole.missing, "parts": hole.parts},
    )  # fmt: skip


def _hole(ids: Sequence[str]) -> Hole | None:
    found = [NUMBERED.match(one) for one in ids]
    if not found or any(m is None or m[1] != (found[0] or m)[1] for m in found):
        return None
    numbers = [int(m[2]) for m in found if m]
    there = set(numbers)
    low, high = min(there), max(there)
    if len(there) != len(numbers) or low > 1 or high - low + 1 > 2 * len(there) or low + len(there) - 1 == high:
        return None
    gone = [n for n in range(low, high + 1) if n not in there]
    row = numbers.index(min(n for n in there if n > gone[0]))
    return _in_a_row(gone, low, high, row) or _in_turn(gone, low, high, row)


def _in_a_row(gone: Sequence[int], low: int, high: int, row: int) -> Hole | None:
    """A piece between pieces of its size, which may be a row shorter or longer each."""
    size, total = len(gone), high - low + 1
    if gone[-1] - gone[0] + 1 != size or size < LEAST:
        return None
    parts = round(total / size)
    place = round((gone[0] - low) / size)
    even = abs(size * parts - total) < parts and abs(gone[0] - low - place * size) <= place
    equal = LEFT < parts <= PARTS and even
    return Hole(size, total, parts, gone[0], gone[-1], row, False) if equal and place + 1 < parts else None


def _in_turn(gone: Sequence[int], low: int, high: int, row: int) -> Hole | None:
    """Every n-th number, from one of the first n on to the end."""
    steps = {b - a for a, b in pairwise(gone)}
    if len(gone) < LEAST or len(steps) != 1:
        return None
    (parts,) = steps
    whole = LEFT < parts <= PARTS and gone[0] - low < parts and high - gone[-1] < parts
    return Hole(len(gone), high - low + 1, parts, gone[0], gone[-1], row, True) if whole else None

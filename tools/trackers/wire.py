"""The fields of a protobuf message from its bytes alone, without the schema's own package.

A field comes with its number and its raw value; what a number means is the reader's. Nothing is copied: a nested
message is a view of the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator

Value = int | memoryview
"""A varint, else the bytes of the field: eight, four, or as many as it says."""
VARINT_BYTES = 10
"""Longest varint of 64 bits."""
_FIXED = {1: 8, 5: 4}
"""Wire type -> bytes of a number of fixed size."""


class BrokenMessage(ValueError):
    """The bytes are no whole message."""


def each(records: Iterable[bytes], take: Callable[[bytes], object], note: Callable[[str], object], what: str) -> None:
    """Hand every record to `take`; those that are no message are noted: "3 of its records are no events"."""
    broken = 0
    for record in records:
        try:
            take(record)
        except (BrokenMessage, struct.error):
            broken += 1
    if broken:
        note(f"{broken} of its records are no {what}")


def fields(data: bytes | memoryview) -> Iterator[tuple[int, Value]]:
    """(number, value) of each field in order; a number of one byte, which most are, is read in place.

    Raises:
        BrokenMessage: a field runs past the end, or is of no kind that is in use.
    """
    view = memoryview(data)
    at, end = 0, len(view)
    while at < end:
        tag, at = (view[at], at + 1) if view[at] < 128 else _varint(view, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(view, at)
            yield number, value
            continue
        if kind == 2:
            size, at = (view[at], at + 1) if at < end and view[at] < 128 else _varint(view, at)
        elif (size := _FIXED.get(kind, 0)) == 0:
            raise BrokenMessage(f"wire type {kind} at byte {at}")
        if size > end - at:
            raise BrokenMessage(f"a field of {size} bytes where {end - at} are left")
        yield number, view[at : at + size]
        at += size


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value, shift = 0, 0
    for byte in view[at : at + VARINT_BYTES]:
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise BrokenMessage(f"a number without an end at byte {at}")


def parts(data: Value, number: int) -> Iterator[memoryview]:
    """The nested messages or texts of one field."""
    return (value for n, value in inside(data) if n == number and isinstance(value, memoryview))


def inside(data: Value) -> Iterator[tuple[int, Value]]:
    """`fields` of a nested message; a number has none."""
    return fields(data) if isinstance(data, memoryview) else iter(())


def varint(data: memoryview) -> int:
    """The first of packed numbers."""
    return _varint(data, 0)[0]


def text(value: Value) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""


def signed(value: Value) -> int:
    """An int64 of a varint."""
    return (value - (1 << 64) if value >> 63 else value) if isinstance(value, int) else 0


def floating(value: Value) -> float:
    """A double of eight bytes, a float of four; else not a number."""
    if isinstance(value, int):
        return float(value)
    size = len(value)
    return float(struct.unpack("<d" if size == 8 else "<f", value)[0]) if size in (4, 8) else float("nan")


def seconds(value: Value) -> float:
    """A `google.protobuf.Timestamp` as seconds since the epoch, not a number where it says nothing."""
    found = {n: signed(v) for n, v in inside(value) if n in (1, 2)}
    return found.get(1, 0) + found.get(2, 0) / 1e9 if found else float("nan")

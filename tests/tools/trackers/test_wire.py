"""Bytes that mean nothing: the readers of messages and records end, say why, and take no more than they were given."""

import io
import struct
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.tools.trackers.framing import BLOCK, crc32c, crc32c_of, log_records, masked, tf_records
from triage.tools.trackers.wire import BrokenMessage, fields, floating, signed, text

MESSAGE = b"\x08\x96\x01" + b"\x12\x04loss" + b"\x1d" + struct.pack("<f", 1.5) + b"\x21" + struct.pack("<d", 2.5)


def tf_file(*records: bytes) -> bytes:
    heads = [struct.pack("<Q", len(r)) for r in records]
    return b"".join(
        h + struct.pack("<I", masked(crc32c(h))) + r + struct.pack("<I", masked(crc32c(r)))
        for h, r in zip(heads, records, strict=True)
    )


def log_file(*records: bytes) -> bytes:
    """As LevelDB's log writes them, after a header of seven bytes."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        first, rest = True, record
        while first or rest:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += bytes(room)
                continue
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = bytes(((1 if not rest else 2) if first else (4 if not rest else 3),))
            out += struct.pack("<IH", zlib.crc32(piece, zlib.crc32(kind)), len(piece)) + kind + piece
            first = False
    return bytes(out)


def read(reader, data: bytes, *more) -> tuple[list[bytes], list[str]]:
    notes: list[str] = []
    return list(reader(io.BytesIO(data), *more, notes.append)), notes


def test_a_message_gives_its_numbers_texts_and_nested_bytes():
    (_, number), (_, name), (_, single), (_, double) = fields(MESSAGE)
    assert (number, text(name), floating(single), floating(double)) == (150, "loss", 1.5, 2.5)
    assert signed(next(fields(b"\x08" + b"\xff" * 9 + b"\x01"))[1]) == -1


@given(st.binary(max_size=300))
def test_any_bytes_are_fields_or_a_broken_message(data):
    try:
        found = list(fields(data))
    except BrokenMessage:
        return
    assert sum(len(v) for _, v in found if isinstance(v, memoryview)) <= len(data)


@given(st.integers(0, len(MESSAGE)))
def test_a_cut_message_gives_what_is_whole_or_breaks(at):
    with suppress(BrokenMessage):
        assert len(list(fields(MESSAGE[:at]))) <= 4


def test_the_checksum_is_castagnolis_alone_and_many_at_once():
    assert crc32c(b"123456789") == 0xE3069283
    records = [bytes(range(n % 256)) * 3 for n in (2, 5, 90, 255)]
    assert crc32c_of(records).tolist() == [crc32c(r) for r in records]


@given(st.lists(st.binary(max_size=3000), max_size=8))
def test_records_come_back_as_they_were_written(records):
    assert read(tf_records, tf_file(*records)) == (records, [])


@given(st.lists(st.binary(max_size=90_000), max_size=6))
def test_records_across_blocks_come_back_as_they_were_written(records):
    assert read(log_records, log_file(*records), 7) == (records, [])


@given(st.binary(max_size=2000))
def test_any_bytes_are_no_records_and_the_reason_is_said(data):
    found, notes = read(tf_records, data)
    assert found == []
    assert notes or not data


@given(st.binary(max_size=2000))
def test_any_bytes_are_no_records_of_a_log(data):
    found, notes = read(log_records, bytes(7) + data, 7)
    assert sum(map(len, found)) <= len(data)
    assert len(notes) <= 2


@given(st.integers(1, 250))
def test_a_file_that_breaks_off_gives_what_is_whole_and_says_so(cut):
    records = [bytes([n]) * 60 for n in range(5)]
    for reader, data, more in ((tf_records, tf_file(*records), ()), (log_records, log_file(*records), (7,))):
        found, notes = read(reader, data[:-cut], *more)
        assert found == records[: len(found)]
        assert len(found) < 5
        assert notes == [] or "cut off, or is being written" in notes[0]


def test_a_flipped_bit_costs_one_record_of_tensorboard_and_the_rest_of_a_block_of_the_log():
    records = [bytes([n]) * 60 for n in range(5)]
    data = bytearray(tf_file(*records))
    data[12 + 5] ^= 1
    found, notes = read(tf_records, bytes(data))
    assert (found, notes) == (records[1:], ["1 of its records have a wrong checksum and were left out"])
    data = bytearray(log_file(*records, bytes(BLOCK), b"after"))
    data[7 + 67 + 20] ^= 1
    found, notes = read(log_records, bytes(data), 7)
    assert found == [records[0], b"after"]
    assert "1 of its blocks of 32 KiB have a wrong checksum" in notes[0]


@pytest.mark.parametrize("claim", [2**31, 2**40, 2**63])
def test_a_claim_of_gigabytes_takes_no_memory(claim):
    head = struct.pack("<Q", claim)
    data = head + struct.pack("<I", masked(crc32c(head))) + b"x" * 1000
    tracemalloc.start()
    found, notes = read(tf_records, data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == []
    assert "in the middle of a record" in notes[0]
    assert most < 8 << 20
    with pytest.raises(BrokenMessage):
        list(fields(b"\x0a\xff\xff\xff\xff\x07xx"))


def test_a_wrong_length_ends_the_reading_with_its_place():
    data = bytearray(tf_file(b"whole", b"not"))
    data[12 + 5 + 4] ^= 4
    assert read(tf_records, bytes(data))[0] == [b"whole"]
    assert "byte 21 has a wrong checksum of its length" in read(tf_records, bytes(data))[1][0]


def test_pieces_of_nothing_without_an_end_take_no_memory():
    middle = struct.pack("<IHB", zlib.crc32(b"\x03"), 0, 3)
    first = struct.pack("<IHB", zlib.crc32(b"a", zlib.crc32(b"\x02")), 1, 2) + b"a"
    block = (first + middle * 4681)[: BLOCK - 4] + bytes(4)
    tracemalloc.start()
    found, _ = read(log_records, block[:BLOCK] + (middle * 4681 + b"\0") * 100, 0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == []
    assert most < 8 << 20

"""A packed file is read as far as an honest one goes; a bomb and a hole end soon, with the reason."""

import bz2
import gzip
import io
import lzma
import random

import pytest
import zstandard

from triage.tools.packed import BROKEN, FREE, PACKINGS, RATIO, Budget, Unpacked, next_written

PACK = {".gz": gzip.compress, ".zst": zstandard.compress, ".zstd": zstandard.compress,
        ".bz2": bz2.compress, ".xz": lzma.compress}  # fmt: skip


def opened(tmp_path, data, packing, free=FREE):
    path = tmp_path / f"a{packing}"
    path.write_bytes(data)
    return io.BufferedReader(Unpacked(path.open("rb"), packing, free), 1 << 18)


@pytest.mark.parametrize("packing", PACKINGS)
def test_all_members_of_every_packing_are_read(tmp_path, packing):
    first, second = (random.Random(seed).randbytes(300_000) for seed in (1, 2))
    with opened(tmp_path, PACK[packing](first) + PACK[packing](second), packing) as stream:
        assert stream.read() == first + second


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_of_every_packing_ends_with_its_reason(tmp_path, packing):
    with opened(tmp_path, PACK[packing](bytes(1 << 20)) * 3000, packing, 8 << 20) as stream:
        with pytest.raises(BROKEN, match="8 MiB and 200 times"):
            sum(map(len, iter(lambda: stream.read(1 << 20), b"")))
        assert stream.raw._budget.out < 80 << 20


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_cut_file_of_every_packing_is_not_taken_for_a_whole_one(tmp_path, packing):
    packed = PACK[packing](random.Random(1).randbytes(100_000))
    with opened(tmp_path, packed[:-40], packing) as stream, pytest.raises(BROKEN):
        stream.read()


@pytest.mark.parametrize(("out", "packed"), [(FREE, 1), (50 << 30, 1 << 30), (RATIO << 20, 1 << 20)])
def test_what_honest_files_give_is_within_the_budget(out, packed):
    Budget().spend(out, packed)


def test_the_budget_is_of_all_that_came_out():
    budget = Budget(free=1000)
    budget.spend(900, 4)
    budget.spend(1000, 400)
    with pytest.raises(OSError, match="not read further"):
        budget.spend(79_000, 400)


def test_a_hole_ends_where_something_was_written_again(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.write(b"x")
        file.seek(1 << 30)
        file.write(b"y")
        file.truncate(3 << 30)
    with (tmp_path / "a").open("rb") as file:
        assert file.read(1) == b"x"
        assert [next_written(file, at) for at in (0, 1 << 20, 1 << 30, 2 << 30)] == [0, 1 << 30, 1 << 30, 3 << 30]
        file.seek(1 << 30)
        assert file.read(1) == b"y"

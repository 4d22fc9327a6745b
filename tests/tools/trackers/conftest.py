"""Files as the trackers' own packages wrote them, unpacked one at a time."""

import lzma
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[2] / "data" / "trackers"


@pytest.fixture
def recorded(tmp_path):
    def unpack(name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(lzma.decompress((RECORDED / f"{name}.xz").read_bytes()))
        return path

    return unpack

"""Valid files with a few bytes changed: flips, cuts, inserts and 64-bit integers, seeded by kind and number."""

import random
import struct

import pytest
from attack.fence import Tally, attempt
from attack.kinds import ASK, KINDS, Kind, lay

BINARY = (
    "safetensors", "adapter-model", "bin", "pt-legacy", "optimizer", "training-args", "deepspeed-states", "parquet",
    "arrow-file", "arrow-stream", "webdataset", "npy", "npz", "npy-objects", "gz", "zst", "xz", "bz2",
    "flight-recorder",
)  # fmt: skip
TEXT = (
    "log", "metrics-jsonl", "metrics-csv", "trainer-state", "flight-recorder-json", "yaml", "toml", "ini", "launch",
    "makefile", "python", "notebook", "deepspeed", "config-json", "index-json", "tokenizer-json", "adapter-config",
    "data-jsonl", "data-csv", "data-json", "labels", "lm-eval",
)  # fmt: skip
TIMES = 50
"""Of each kind, in the whole part: above 2,000 in all."""
TIMES_IN_PART = 1
INTEGERS = (0, 1, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63))


def fuzzed(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) or 1)
        match rng.randrange(5):
            case 0 if out:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + 8] = struct.pack(rng.choice("<>") + "q", rng.choice(INTEGERS))
            case 2:
                del out[at : at + rng.choice((1, 4, 64, 1024))]
            case 3:
                out[at:at] = rng.randbytes(rng.choice((1, 4, 64)))
            case _:
                out[at:at] = out[at - rng.choice((4, 64, 512)) : at] if at else b""
    return bytes(out)


def fuzz(fence, kind: Kind, numbers, strict: bool, tmp_path, record_property) -> None:
    """One row of KNOWN stands for all trials of a kind: which bytes fail is the library's affair."""
    tally = Tally("fuzz", strict=strict)
    for number in numbers:
        folder = tmp_path / str(number)
        victim = lay(kind, folder / "run")
        victim.write_bytes(fuzzed(kind.make(), random.Random(f"{kind.name}/{number}")))
        places = {"victim": victim, "folder": victim.parent, "run": folder / "run"}
        quick = [command for command in kind.commands if command is not ASK]
        command = ASK if ASK in kind.commands and number % 8 == 7 else quick[number % len(quick)]
        before = set(tally.broken)
        attempt(fence, tally, f"{kind.name}/bytes", folder, [[p.format_map(places) for p in command]])
        tally.notes |= {row: f"number {number}: {tally.notes[row]}" for row in tally.broken - before}
    tally.settle(record_property)


def test_the_whole_part_is_large_enough():
    assert TIMES * len(BINARY + TEXT) >= 2000


@pytest.mark.parametrize("kind", BINARY + TEXT)
def test_changed_bytes_keep_every_promise_in_part(fence, kind, tmp_path, record_property):
    fuzz(fence, KINDS[kind], range(TIMES_IN_PART), False, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", BINARY + TEXT)
def test_changed_bytes_keep_every_promise(fence, kind, tmp_path, record_property):
    fuzz(fence, KINDS[kind], range(TIMES), True, tmp_path, record_property)

"""The ways in which a file can be damaged, as functions of its bytes or of its place. Same seed, same damage."""

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

Way = Callable[[Path, random.Random], object]
WAYS: dict[str, Way] = {}
NOTHING_LEFT = frozenset({"empty", "nul", "random", "directory", "denied", "loop", "fifo"})
"""Nothing of the file can be read."""
PART_LEFT = frozenset({"cut-1", "cut-10", "cut-50", "cut-90", "halves", "nul-middle"})
"""A structured file cannot be read to its end."""
SPARSE = 300 << 30

ESCAPES = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u2066", "\r")


def on_bytes(change: Callable[[bytes, random.Random], bytes], name: str) -> None:
    assert name not in WAYS, name
    WAYS[name] = lambda path, rng: path.write_bytes(change(path.read_bytes(), rng))


def on_path(change: Way) -> Way:
    name = change.__name__
    assert name not in WAYS, name
    WAYS[name] = change
    return change


def flip(data: bytes, rng: random.Random, times: int) -> bytes:
    out = bytearray(data)
    for _ in range(times if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def sprinkle(data: bytes, rng: random.Random, pieces: list[bytes], anchor: bytes = rb"[A-Za-z]{3}") -> bytes:
    """Put pieces after places that look like words, so that they stand inside what is read and quoted."""
    places = [m.end() for m in re.finditer(anchor, data)] or [len(data) // 2]
    for place in sorted(rng.sample(places, min(len(places), 3 * len(pieces))), reverse=True):
        data = data[:place] + rng.choice(pieces) + data[place:]
    return data


def numbers(data: bytes, rng: random.Random, values: list[bytes]) -> bytes:
    return re.sub(
        rb"(?<![\w.])\d+(\.\d+)?(?![\w.])", lambda m: rng.choice(values) if rng.random() < 0.3 else m[0], data
    )


for share in (10, 50, 90):
    on_bytes(lambda data, rng, share=share: data[: max(1, len(data) * share // 100)], f"cut-{share}")
on_bytes(lambda data, rng: data[:1], "cut-1")
on_bytes(lambda data, rng: data[:-1], "cut-last")
on_bytes(lambda data, rng: b"", "empty")
on_bytes(lambda data, rng: bytes(len(data)), "nul")
on_bytes(lambda data, rng: data[: len(data) // 3] + bytes(len(data) // 3) + data[2 * len(data) // 3 :], "nul-middle")
on_bytes(lambda data, rng: rng.randbytes(5000), "random")
on_bytes(lambda data, rng: flip(data, rng, 1), "flip")
on_bytes(lambda data, rng: flip(data, rng, 32), "flips")
on_bytes(lambda data, rng: data[len(data) // 2 :] + data[: len(data) // 2], "halves")
on_bytes(lambda data, rng: data.replace(b"\n", b"\r\n"), "crlf")
on_bytes(lambda data, rng: data.decode(errors="replace").encode("utf-16"), "utf-16")
on_bytes(lambda data, rng: b"\xef\xbb\xbf" + data, "bom")
on_bytes(lambda data, rng: sprinkle(data, rng, [b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8"]), "bad-utf-8")
on_bytes(lambda data, rng: data + data, "doubled")
on_bytes(lambda data, rng: data + data[: len(data) // 2], "doubled-cut")
on_bytes(lambda data, rng: sprinkle(data, rng, [b"[" * 100_000, b'{"a":' * 50_000])[: 2 << 20], "nested")
on_bytes(lambda data, rng: sprinkle(data, rng, [b"x1 " * 300_000])[: 4 << 20], "long-line")
on_bytes(lambda data, rng: numbers(data, rng, [b"NaN", b"Infinity", b"-inf", b"1e999", b"nan", b"1e-400"]), "nonfinite")
on_bytes(
    lambda data, rng: numbers(data, rng, [b"9" * 400, b"9" * 5000, b"-9223372036854775809", b"18446744073709551616"]),
    "huge",
)
on_bytes(lambda data, rng: sprinkle(data, rng, [s.encode() for s in ESCAPES]), "controls")
on_bytes(
    lambda data, rng: sprinkle(data, rng, [b"\\u001b]0;x\\u0007", b"\\u202e", b"\\u009b31m", b"\\ud800", b"\\u0000"]),
    "escaped",
)
on_bytes(
    lambda data, rng: sprinkle(data, rng, [b"$(id)", b"`id`", b"<img src=x>", b"[red]", b"{0}", b"%s%n"]), "markup"
)


@on_path
def suffix(path: Path, rng: random.Random) -> Path:
    """The name promises another format; the new path is the victim."""
    others = [s for s in (".jsonl", ".parquet", ".safetensors", ".yaml", ".log", ".pt", ".npz") if s != path.suffix]
    return path.rename(path.with_suffix(rng.choice(others)))


@on_path
def loop(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


@on_path
def directory(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


@on_path
def fifo(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


@on_path
def denied(path: Path, rng: random.Random) -> None:
    path.chmod(0)


@on_path
def sparse(path: Path, rng: random.Random) -> None:
    os.truncate(path, SPARSE)

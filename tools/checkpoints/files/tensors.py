"""Where the tensors of a weight file lie, and what their values look like: header parsing and a streaming scan.

Needs no torch. Blocks are read into one small buffer a thread and not mapped: a map costs a page fault every 4 KiB,
and a file that is cut while it is read would kill the process instead of being a finding.
Pickled files are parsed by `pickled`; what a strange value means is decided in `values`.
"""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...reading import POINTER, POINTER_WHY

HEADER_LIMIT = 64 << 20
"""Longest safetensors header read, in bytes; the library stops at 100 MB, and 100,000 tensors take 15 MB."""
VALUES = 2_000_000
"""Most values of a JSON file, told by its commas and brackets before it is parsed: about 200 bytes of memory each."""
NO_TENSORS = b'{},"__metadata__":'
"""Beginning of the header, no JSON, that the library writes of a save without any tensor."""
DIMENSIONS = 64
"""Most dimensions of a tensor, as in numpy and torch."""
BIG = 1 << 63
"""No size, stride or offset reaches this."""
BLOCK = 1 << 22
"""Bytes read at a time: of 256 KiB to 16 MiB the fastest; with small ones threads only wait for the interpreter."""
SAMPLE = 4096
"""Elements of each block that enter the sampled norm; 4096 independent values give it to about 1 percent."""

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits of one element, by safetensors name."""
FLOATS: dict[str, tuple[str, int, int]] = {
    "F64": ("<u8", 0xFFE0_0000_0000_0000, 0xFFE0_0000_0000_0000),
    "F32": ("<u4", 0xFF00_0000, 0xFF00_0000),
    "F16": ("<u2", 0xF800, 0xF800),
    "BF16": ("<u2", 0xFF00, 0xFF00),
    "F8_E5M2": ("u1", 0xF8, 0xF8),
    "F8_E4M3": ("u1", 0xFE, 0xFD),
}
"""Bits as unsigned integer; without the sign bit (shifted left by one), the smallest non-finite pattern and infinity.

E4M3 has no infinity: the pattern below its NaN is a number.
"""


class Broken(Exception):
    """A weight file that cannot be trusted: the finding's code and the reason in both languages."""

    def __init__(self, code: str, why: str, zh: str, **data: Any):
        super().__init__(why)
        self.code, self.why, self.zh, self.data = code, why, zh, data


@dataclass(frozen=True)
class Tensor:
    """One tensor's place in a file."""

    name: str
    dtype: str
    """Safetensors name, like `BF16`."""
    shape: tuple[int, ...]
    file: Path
    start: int
    """Byte offset in the file."""
    length: int
    """Bytes; covers the whole extent of a strided view."""

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Stats:
    """What the values look like."""

    nan: int = 0
    inf: int = 0
    first: int | None = None
    """Flat index of the first non-finite value."""
    zero: bool = False
    constant: bool = False
    """All values equal (also true when all are zero)."""
    rms: float | None = None
    """Root mean square of the sampled finite values."""


def regular(path: Path) -> os.stat_result:
    """The status of a plain file; anything else (pipe, device, missing) is broken."""
    try:
        info = path.stat()
    except OSError as error:
        raise Broken("checkpoint-unreadable", f"cannot be read: {error.strerror}", "无法读取") from error
    if not stat.S_ISREG(info.st_mode):
        raise Broken("checkpoint-unreadable", "is not a regular file", "不是普通文件")
    return info


def refuse_pointer(file: BinaryIO) -> None:
    """Refuse what Git left in place of a file that was not fetched: it tells nothing of the run."""
    at = file.tell()
    if file.read(len(POINTER)) == POINTER:
        why = f"not read: {POINTER_WHY}"
        raise Broken("checkpoint-not-fetched", why, "没有读取：只是 Git LFS 指针，请运行 `git lfs pull`", unread=True)
    file.seek(at)


def bounded_json(data: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        Broken: it holds more values than are read.
        ValueError, RecursionError: it is no JSON.
    """
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > VALUES:
        why = f"is JSON of more than {VALUES:,} values; it was not read"
        raise Broken("checkpoint-unreadable", why, f"JSON 超过 {VALUES:,} 个值，没有读取")
    return json.loads(data)


def read_safetensors(path: Path) -> list[Tensor]:
    """The tensors that the header promises, after checking every promise against the file's size.

    Raises:
        Broken: truncated, overlapping, or not safetensors at all.
    """
    size = regular(path).st_size
    try:
        with path.open("rb") as file:
            refuse_pointer(file)
            first = file.read(8)
            length = int.from_bytes(first, "little")
            if len(first) == 8 and length > HEADER_LIMIT:
                raise Broken(
                    "checkpoint-unreadable",
                    f"its header claims {length} bytes, more than the {HEADER_LIMIT} that are read here",
                    f"文件头声称有 {length} 字节，超过本工具读取的上限 {HEADER_LIMIT}",
                )
            if len(first) < 8 or 8 + length > size:
                raise Broken(
                    "checkpoint-incomplete",
                    f"ends inside its header ({size} bytes); the save was cut off",
                    f"在文件头内就结束了（{size} 字节），保存被中断",
                )
            data = file.read(length)
            header = {} if data.startswith(NO_TENSORS) else bounded_json(data)
    except (ValueError, RecursionError) as error:
        raise Broken("checkpoint-unreadable", "its header is not valid JSON", "文件头不是合法 JSON") from error
    except OSError as error:
        raise Broken("checkpoint-unreadable", f"cannot be read: {error.strerror}", "无法读取") from error
    return _placed(header, path, 8 + length, size)


def _placed(header: Any, path: Path, base: int, size: int) -> list[Tensor]:
    if not isinstance(header, dict):
        raise Broken("checkpoint-unreadable", "its header is not a JSON object", "文件头不是 JSON 对象")
    tensors = []
    for name, item in header.items():
        if name != "__metadata__":
            tensors.append(_tensor(name, item, path, base))
    tensors.sort(key=lambda t: (t.start, t.length))
    past = [t for t in tensors if t.start + t.length > size]
    if past:
        missing = max(t.start + t.length for t in past) - size
        raise Broken(
            "checkpoint-incomplete",
            f"is truncated: {missing} bytes are missing, {len(past)} tensors are cut, the first is {past[0].name}",
            f"文件被截断：缺少 {missing} 字节，{len(past)} 个张量不完整，第一个是 {past[0].name}",
            tensor=past[0].name,
            missing_bytes=missing,
            tensors=[t.name for t in past[:20]],
        )
    end = base
    for tensor in tensors:
        if tensor.start != end:
            kind = (
                ("overlaps the one before it", "与前一个重叠") if tensor.start < end else ("leaves a gap", "留有空洞")
            )
            raise Broken(
                "checkpoint-unreadable",
                f"is inconsistent: tensor {tensor.name} {kind[0]}",
                f"文件自相矛盾：张量 {tensor.name} {kind[1]}",
                tensor=tensor.name,
            )
        end = tensor.start + tensor.length
    if end != size:
        extra = size - end
        raise Broken(
            "checkpoint-unreadable",
            f"has {extra} bytes more than its header describes",
            f"比文件头描述的多出 {extra} 字节",
            extra_bytes=extra,
        )
    return tensors


def _tensor(name: str, item: Any, path: Path, base: int) -> Tensor:
    item = item if isinstance(item, dict) else {}
    dtype, shape, offsets = item.get("dtype"), item.get("shape"), item.get("data_offsets")
    counts = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
    many = isinstance(shape, list) and len(shape) > DIMENSIONS
    if many or not all(type(n) is int and 0 <= n < BIG for n in counts) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise Broken(
            "checkpoint-unreadable",
            f"its header entry for {name} is malformed" + (f" ({len(shape)} dimensions)" if many else ""),
            f"文件头中 {name} 的条目格式错误" + (f"（{len(shape)} 维）" if many else ""),
            tensor=name,
        )
    dtype, shape, (start, stop) = str(dtype), tuple(shape), offsets
    bits = BITS.get(dtype)
    if bits and (math.prod(shape) * bits + 7) // 8 != stop - start:
        raise Broken(
            "checkpoint-unreadable",
            f"tensor {name} is {dtype} {list(shape)} but takes {stop - start} bytes",
            f"张量 {name} 为 {dtype} {list(shape)}，却占 {stop - start} 字节",
            tensor=name,
        )
    return Tensor(name, dtype, shape, path, base + start, stop - start)


class _Own(threading.local):
    """What each thread reads with."""

    def __init__(self) -> None:
        self.buffer = bytearray(BLOCK)
        self.path: Path | None = None
        self.handle = -1


class Reader:
    """Scans tensors block by block, in any number of threads; a thread keeps its file open until it needs another."""

    def __init__(self, listen: Callable[[int], None] = lambda n: None):
        self.listen = listen
        self.own = _Own()
        self.handles: set[int] = set()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self.handles:
            os.close(handle)
        self.handles.clear()
        self.own = _Own()

    def _open(self, path: Path) -> int:
        own = self.own
        if path != own.path:
            if own.path is not None:
                self.handles.remove(own.handle)
                own.path = None
                os.close(own.handle)
            own.handle = os.open(path, os.O_RDONLY)
            self.handles.add(own.handle)
            own.path = path
        return own.handle

    def blocks(self, path: Path, start: int, length: int, size: int = BLOCK) -> Iterator[np.ndarray]:
        """The bytes as uint8 arrays of at most `size` (up to `BLOCK`), each valid until the next is asked for.

        Raises:
            Broken: the file ended early (it was changed while being read) or cannot be read.
        """
        try:
            handle, buffer, done = self._open(path), self.own.buffer, 0
            view = memoryview(buffer)
            while done < length:
                got = os.preadv(handle, [view[: min(size, length - done)]], start + done)
                if got < min(size, length - done):
                    raise Broken("checkpoint-incomplete", "ended while it was read", "读取过程中文件提前结束")
                yield np.frombuffer(buffer, np.uint8, got)
                done += got
                self.listen(got)
        except OSError as error:
            raise Broken("checkpoint-unreadable", f"cannot be read: {error.strerror}", "无法读取") from error

    def stats(self, tensor: Tensor) -> Stats | None:
        """The values of a floating-point tensor; `None` for other types and for empty tensors."""
        if tensor.dtype not in FLOATS or not tensor.length:
            return None
        kind, limit, infinity = FLOATS[tensor.dtype]
        positive = limit >> 1
        negative = positive + (1 << (8 * np.dtype(kind).itemsize - 1))
        nan = inf = position = sampled = 0
        first: int | None = None
        constant, zero, squares, start = True, True, 0.0, None
        for raw in self.blocks(tensor.file, tensor.start, tensor.length):
            bits = raw.view(kind)
            start = bits[0] if start is None else start
            zero = zero and not (bits[-1] << 1) and not np.left_shift(bits, 1).any()
            constant = constant and bits[-1] == start and bits.min() == start == bits.max()
            part = decode(bits[:SAMPLE], tensor.dtype)
            # two plain maxima are the fastest exact test: patterns of one sign are ordered like their magnitudes
            if bits.view(kind.replace("u", "i")).max() >= positive or bits.max() >= negative:
                magnitude = np.left_shift(bits, 1)
                bad = magnitude >= limit
                infinite = int(np.count_nonzero(magnitude == infinity)) if infinity >= limit else 0
                inf += infinite
                nan += int(np.count_nonzero(bad)) - infinite
                first = position + int(bad.argmax()) if first is None else first
                part = part[np.isfinite(part)]
            with np.errstate(over="ignore"):
                squares += float(np.dot(part, part))
            sampled += len(part)
            position += len(bits)
        rms = math.sqrt(squares / sampled) if sampled else None
        return Stats(nan, inf, first, zero, zero or bool(constant), rms)


def decode(bits: np.ndarray, dtype: str) -> np.ndarray:
    """Unsigned bit patterns as float64, so that no square overflows."""
    if dtype == "BF16":
        bits = bits.astype(np.uint32) << 16
    if dtype.startswith("F8"):
        return _fp8(dtype)[bits]
    with np.errstate(invalid="ignore"):
        return bits.view(bits.dtype.str.replace("u", "f")).astype(np.float64)


def _fp8(dtype: str) -> np.ndarray:
    """The 256 values of an 8-bit float: 4 exponent bits with bias 7, or 5 with bias 15."""
    exponent, bias = (5, 15) if dtype == "F8_E5M2" else (4, 7)
    mantissa = 7 - exponent
    code = np.arange(256)
    e, m = (code >> mantissa) & (2**exponent - 1), (code & (2**mantissa - 1)) / 2**mantissa
    value = np.where(e > 0, (1 + m) * 2.0 ** (e - bias), m * 2.0 ** (1 - bias))
    shifted = (code << 1) & 0xFF
    value = np.where(shifted >= FLOATS[dtype][1], np.nan, value)
    value = np.where(shifted == FLOATS[dtype][2], np.inf, value) if exponent == 5 else value
    return np.where(code & 0x80, -value, value)

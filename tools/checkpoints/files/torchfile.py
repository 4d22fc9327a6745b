"""The tensors of a torch file in its zip form, and what the metadata of a distributed checkpoint promises.

Pickles are parsed by `pickled`, which runs nothing of them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .pickled import BYTES, Inert, Stream, View, parse
from .tensors import BITS, Broken, Tensor, refuse_pointer, regular

ENTRY_LIMIT = 250_000
"""Most containers and tensors walked in search of tensors."""
NAMES_LIMIT = 32 << 20
"""Most characters of all their names together."""
LEGACY = 5
"""Pickles in a torch file of the old form: a magic number, a version, the machine, the object, the storages' keys."""


class Slice(io.RawIOBase):
    """A byte range of a file as a file of its own: an item of a distributed checkpoint."""

    def __init__(self, file: Any, start: int, length: int):
        self.file, self.start, self.length, self.at = file, start, length, 0

    def buffered(self) -> io.BufferedReader:
        return io.BufferedReader(self)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = max(0, offset + (0, self.at, self.length)[whence])
        return self.at

    def readinto(self, buffer: Any) -> int:
        self.file.seek(self.start + self.at)
        data = self.file.read(min(len(buffer), max(0, self.length - self.at)))
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def read_torch(path: Path, start: int = 0, length: int | None = None) -> list[Tensor]:
    """The tensors of a torch file (zip form), or of the slice of a file that holds one.

    Raises:
        Broken: truncated, of the legacy form (which holds no offsets to check), or not made of tensors only.
    """
    return [t for t in _located(read_state(path, start, length), path)]


@dataclass(frozen=True)
class State:
    """The parsed pickle and where each storage's bytes lie: key -> (offset in the file, length)."""

    value: Any
    storages: dict[str, tuple[int, int]]


def read_state(path: Path, start: int = 0, length: int | None = None) -> State:
    size = regular(path).st_size
    length = size - start if length is None else length
    try:
        with path.open("rb") as file:
            file.seek(start)
            refuse_pointer(file)
            magic = file.read(4)
            if magic != b"PK\x03\x04":
                _legacy(file, start, length)
            return _zipped(file, start, length)
    except zipfile.BadZipFile as error:
        raise Broken(
            "checkpoint-incomplete",
            f"is truncated: its zip directory, written last, is missing or damaged ({length} bytes)",
            f"文件被截断：最后写入的 zip 目录缺失或损坏（{length} 字节）",
        ) from error
    except (OSError, RuntimeError, NotImplementedError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise Broken("checkpoint-unreadable", f"cannot be read: {why}", "无法读取") from error


def _legacy(file: Any, start: int, length: int) -> None:
    """Refuse: after asking whether its pickles are at least made of harmless names."""
    if length == 0:
        raise Broken("checkpoint-incomplete", "is empty", "是空文件")
    parse_all(Slice(file, start, length).buffered())
    raise Broken(
        "checkpoint-unsafe-pickle",
        "is a pickle of the old torch form (before 1.6), which is not read here; it names nothing harmful."
        " Save it again as safetensors to have it checked",
        "是旧版 torch（1.6 之前）的 pickle，本工具不读取；其中没有发现有害内容。另存为 safetensors 后可检查",
        unread=True,
    )


def parse_all(file: Any) -> None:
    """Every pickle of a stream: those of an old torch file before its raw data, else all to the end.

    Raises:
        Broken: as `parse`.
    """
    stream = Stream(file)
    torch = isinstance(parse(stream), int)
    done = 1
    while not stream.at_end() and (not torch or done < LEGACY):
        parse(stream)
        done += 1


def _zipped(file: Any, start: int, length: int) -> State:
    with zipfile.ZipFile(Slice(file, start, length).buffered()) as archive:
        infos = {i.filename: i for i in archive.infolist()}
        pickles = [n for n in infos if n.endswith("/data.pkl") or n == "data.pkl"]
        names = [i.filename.lower() for i in archive.infolist()]  # torch takes names for the same in either case
        code = any(n.endswith(("/code", "constants.pkl")) or "/code/" in n for n in names)
        if len(pickles) != 1 or code or len(set(names)) != len(names):
            raise Broken(
                "checkpoint-unsafe-pickle" if pickles else "checkpoint-unreadable",
                "is no plain torch file (it holds code, a name twice, or no single data.pkl); it was not loaded",
                "不是普通 torch 文件（含代码、重名，或没有唯一的 data.pkl）；没有加载",
            )
        prefix = pickles[0].removesuffix("data.pkl")
        for name, info in infos.items():
            if name.lower().endswith((".pkl", ".pickle")) and name != pickles[0]:
                parse(_entry(archive, info))
        if prefix + "byteorder" in infos and archive.read(prefix + "byteorder")[:3] == b"big":
            raise Broken("checkpoint-unreadable", "is big-endian", "是大端字节序")
        value = parse(_entry(archive, infos[pickles[0]]))
        storages = {
            name.removeprefix(prefix + "data/"): (_data_offset(file, start + info.header_offset), info.file_size)
            for name, info in infos.items()
            if name.startswith(prefix + "data/") and info.compress_type == zipfile.ZIP_STORED
        }
    return State(value, storages)


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > BYTES:
        raise Broken("checkpoint-unreadable", "its pickle is too large to parse", "其 pickle 过大，不解析")
    return archive.read(info)


def _data_offset(file: Any, header: int) -> int:
    file.seek(header)
    fixed = file.read(30)
    return header + 30 + int.from_bytes(fixed[26:28], "little") + int.from_bytes(fixed[28:30], "little")


def _located(state: State, path: Path) -> Iterator[Tensor]:
    for name, view in views(state.value):
        bits = BITS.get(view.dtype)
        if bits is None:
            continue
        place = state.storages.get(view.storage.key)
        first, length = view.offset * bits // 8, view.extent * bits // 8
        if length and (place is None or first + length > place[1]):
            raise Broken(
                "checkpoint-incomplete",
                f"tensor {name} needs bytes that the file does not hold",
                f"张量 {name} 所需的数据不在文件中",
                tensor=name,
            )
        yield Tensor(name, view.dtype, view.shape, path, (place[0] if place else 0) + first, length)


_MODEL_KEYS = ("state_dict", "model", "module", "model_state_dict", "weights")


def views(value: Any) -> Iterator[tuple[str, View]]:
    """Every tensor with its dotted name; only the model's part where the file holds more (an optimizer, say)."""
    if isinstance(value, dict):
        value = next((value[k] for k in _MODEL_KEYS if isinstance(value.get(k), dict)), value)
    waiting: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    seen: set[int] = set()
    visited = letters = 0
    while waiting:
        name, item = next(waiting[-1], ("", waiting))
        if item is waiting:
            waiting.pop()
            continue
        visited, letters = visited + 1, letters + len(name)
        if visited > ENTRY_LIMIT or letters > NAMES_LIMIT:
            raise Broken("checkpoint-unreadable", f"holds more than {ENTRY_LIMIT:,} objects", "其中的对象过多")
        if isinstance(item, View):
            yield name or "tensor", item
        elif isinstance(item, dict | list | tuple) and id(item) not in seen:
            seen.add(id(item))
            waiting.append(_inner(name, item))


def _inner(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    for key, value in item.items() if isinstance(item, dict) else enumerate(item):
        if isinstance(value, View | dict | list | tuple):
            yield f"{name}.{key}" if name else str(key), value


def dcp_items(path: Path) -> list[tuple[str, str, int, int]]:
    """What `.metadata` of a distributed checkpoint promises: (name, file, offset, length), in file order.

    Raises:
        Broken: as `parse`; also when nothing in it is a storage record.
    """
    size = regular(path).st_size
    if size > BYTES:
        raise Broken("checkpoint-unreadable", "is too large to parse", "过大，不解析")
    value = parse(path.read_bytes())
    state = value.state if isinstance(value, Inert) and isinstance(value.state, dict) else {}
    records = state.get("storage_data")
    items = []
    for index, info in records.items() if isinstance(records, dict) else ():
        at = info.state if isinstance(info, Inert) and isinstance(info.state, dict) else {}
        name = index.state.get("fqn") if isinstance(index, Inert) and isinstance(index.state, dict) else None
        file, offset, length = at.get("relative_path"), at.get("offset"), at.get("length")
        if isinstance(file, str) and type(offset) is int and type(length) is int and min(offset, length) >= 0:
            items.append((str(name), file, offset, length))
    return sorted(items, key=lambda i: (i[1], i[2]))

"""What lies in a checkpoint's folder beside the weights: is every pickle harmless, every JSON file whole?

A resume loads optimizer, scheduler, random state and arguments, too. They are asked for their names only; what the
weights hold is `torchfile`'s. What was not read is an error here, never silence.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .layout import JSON_LIMIT, inside
from .pickled import Stream, parse
from .tensors import Broken, bounded_json, refuse_pointer, regular
from .torchfile import Slice, parse_all, read_state

FILES = 20_000
"""Most files looked at in one folder and what lies below."""
DEPTH = 6
_PICKLED = re.compile(
    r"\.(?:pth?|pkl|pickle|pk|ckpt|distcp)$|^\.metadata$"
    r"|^(?:optimizer|scheduler|scaler|training_args|sampler|custom_checkpoint|pytorch_model|adapter_model|random_states?"
    r"|rng_state|dl_state_dict)[\w.-]*\.bin$",
    re.IGNORECASE,
)
"""Pickles by name: one of these that cannot be parsed is a fault."""
_MAYBE = re.compile(r"\.(?:bin|p|dat|data|state|joblib|model|obj|npy|npz|zip|mdl|dill|sav)$|^[^.]+$", re.IGNORECASE)
"""Files that may be pickles: one that is none is left alone."""
_PACKED = re.compile(
    r"\.(?:tar|nemo|tgz|joblib\.\w+|(?:pkl|pickle|pth?|ckpt|tar)\.(?:gz|bz2|xz|zst|lz4|z))$", re.IGNORECASE
)
_JSON = re.compile(
    r"^(?:(?:adapter_|generation_|preprocessor_|processor_|tokenizer_)?config|tokenizer|trainer_state|params|vocab"
    r"|added_tokens|special_tokens_map)\.json$|\.index\.json$"
)

_FILE = re.compile(
    r"\.safetensors$|^(?:optimizer|scheduler|scaler|training_args|random_states?|rng_state)[\w.-]*\.(?:pth?|bin|pkl)$"
    r"|^(?:pytorch_model|adapter_model|model)[\w.-]*\.bin$|_(?:model|optim)_states\.pt$"
)
"""With `_JSON`: names that stand for a file wherever they are written; a folder of such a name hides what is lost."""


def unsound(
    folder: Path, root: Path, read: Collection[Path], others: Collection[Path] = ()
) -> Iterator[tuple[Path, Broken]]:
    """Every file of the folder that is harmful, cut or not read.

    Args:
        folder: a checkpoint, or what holds checkpoints.
        root: what no link may leave.
        read: files that were read as weights.
        others: folders below that are looked at by themselves.
    """
    waiting, looked = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda e: e.name)
        except OSError as error:
            yield here, _closed(error)
            continue
        for entry in entries:
            path = Path(entry.path)
            looked += 1
            if looked > FILES:
                why = f"holds more than {FILES:,} files; those from {entry.name} on were not looked at"
                yield folder, Broken("checkpoint-unreadable", why, f"文件超过 {FILES} 个，其余没有查看")
                return
            if entry.is_dir(follow_symlinks=False):
                if path in others or entry.name.startswith((".", "__pycache__")):
                    continue
                if broken := _look(path, root):
                    yield path, broken
                elif depth >= DEPTH:
                    why = f"lies more than {DEPTH} folders deep; what it holds was not looked at"
                    yield path, Broken("checkpoint-unreadable", why, "目录过深，没有查看", unread=True)
                else:
                    waiting.append((path, depth + 1))
            elif path not in read and (broken := _look(path, root)):
                yield path, broken


def _closed(error: OSError) -> Broken:
    why = f"cannot be opened ({error.strerror}); what it holds was not looked at"
    return Broken("checkpoint-unreadable", why, "无法打开；其中的内容没有查看")


def _look(path: Path, root: Path) -> Broken | None:
    name = path.name
    sure, maybe, text = _PICKLED.search(name), _MAYBE.search(name), _JSON.search(name)
    if (text or _FILE.search(name)) and (broken := _no_file(path)):
        return broken
    if not (sure or maybe or text or _PACKED.search(name)) or os.path.isdir(path):
        return None
    try:
        if not inside(path, root):
            why = "is a link that leads out of the folder; it was not read"
            return Broken("checkpoint-unreadable", why, "是指向目录之外的链接，没有读取", unread=True) if sure else None
        whole_json(path) if text else harmless(path)
    except Broken as broken:
        unsafe = broken.code == "checkpoint-unsafe-pickle" and (not broken.data.get("unread") or _marked(path))
        return broken if sure or text or unsafe else None
    except OSError as error:
        return _closed(error)
    return None


def _no_file(path: Path) -> Broken | None:
    """What stands there instead of a file: a folder, a pipe, a link to nothing or to itself."""
    if os.path.isfile(path):
        return None
    what = "is a directory" if os.path.isdir(path) else "is no file, or a link to none"
    why, zh = f"{what} where a file should be; it was not read", "应为文件，却不是文件；没有读取"
    return Broken("checkpoint-unreadable", why, zh, severity="S1", unread=True)


def _marked(path: Path) -> bool:
    """Whether the file's first bytes say that it is a pickle or a packed file, whatever it is called."""
    with path.open("rb") as file:
        head = file.read(2)
    return head[:1] == b"\x80" or head in (b"PK", b"\x93N") or bool(_PACKED.search(path.name))


def whole_json(path: Path) -> None:
    """Refuse a JSON file of a checkpoint that is cut, no JSON, or no object."""
    size = regular(path).st_size
    if size > JSON_LIMIT:
        raise Broken("checkpoint-unreadable", f"was not read: JSON of {size} bytes", "JSON 过大，没有读取", unread=True)
    with path.open("rb") as file:
        refuse_pointer(file)
        data = file.read()
    try:
        value = bounded_json(data)
    except (ValueError, RecursionError) as error:
        cut = not data.strip() or data.strip()[-1:] != b"}"
        why = ("is cut off: its JSON does not end" if data.strip() else "is empty") if cut else "is not valid JSON"
        code = "checkpoint-incomplete" if cut else "checkpoint-unreadable"
        raise Broken(code, why, "JSON 被截断" if cut else "不是合法 JSON") from error
    if not isinstance(value, dict):
        raise Broken("checkpoint-unreadable", "is JSON but no object", "是 JSON，但不是对象")


def harmless(path: Path, start: int = 0, length: int | None = None) -> None:
    """Refuse a file, or a part of one, that holds a pickle which could run code or was not read.

    Raises:
        Broken: with the callable's name, or the reason why it was not read.
    """
    size = regular(path).st_size
    length = size - start if length is None else length
    if _PACKED.search(path.name):
        raise _unread("is a packed file, which is not opened here")
    with path.open("rb") as file:
        file.seek(start)
        refuse_pointer(file)
        head = file.read(262)[:length]
        part: Any = Slice(file, start, length).buffered()
        if head[:6] == b"\x93NUMPY":
            _array(part)
        elif head[257:262] == b"ustar":
            raise _unread("is a tar file (torch before 0.1.10 made such), which is not opened here")
        elif head[:4] == b"PK\x03\x04":
            _zip(path, part, start, length)
        elif head[:1] in (b"\x1f", b"\x78") or head[:4] in (b"BZh9", b"\xfd7zX", b"\x28\xb5\x2f\xfd"):
            raise _unread("is compressed, and not opened here")
        elif not length:
            raise Broken("checkpoint-incomplete", "is empty", "是空文件")
        else:
            parse_all(part)


def _unread(why: str) -> Broken:
    why = f"{why}; it was not read, so that it cannot be called safe"
    return Broken("checkpoint-unsafe-pickle", why, "没有读取，不能认定安全", unread=True)


def _zip(path: Path, part: Any, start: int, length: int) -> None:
    try:
        with zipfile.ZipFile(part) as archive:
            arrays = [i for i in archive.infolist() if i.filename.endswith(".npy")]
            if arrays and not any(i.filename.endswith("data.pkl") for i in archive.infolist()):
                for info in arrays:
                    with archive.open(info) as file:
                        _array(file)
                return
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError):
        pass  # said by the reader of torch files
    read_state(path, start, length)


def _array(file: Any) -> None:
    """An array of objects is a pickle behind a header of text; other arrays are numbers."""
    start = file.read(12)
    wide = start[6:7] > b"\x01"
    length = struct.unpack("<I", start[8:12])[0] if wide else int.from_bytes(start[8:10], "little")
    header = start[10:] * (not wide) + file.read(min(length, 1 << 16))
    if re.search(rb"['\"|]O", header):
        parse(Stream(file))

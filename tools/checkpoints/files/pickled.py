"""The tensors of a torch file, read without unpickling: every object that the pickle names becomes an inert stand-in.

Nothing from the file is imported, called or built. A name outside a short list (tensor rebuilding, storages, plain
containers, classes of known training libraries) is a reason to refuse the whole file.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from pickle import _Unpickler  # type: ignore[attr-defined]  # the Python one: its memo cannot be made to eat memory
from typing import Any, ClassVar

from ...findings import clean
from .tensors import BITS, Broken, Tensor, regular

PICKLE_LIMIT = 64 << 20
"""Longest pickle that is parsed, in bytes; a state dict of 10,000 tensors takes about 2 MB."""
ENTRY_LIMIT = 500_000
"""Most objects walked in search of tensors."""

STORAGES = {
    "FloatStorage": "F32", "DoubleStorage": "F64", "HalfStorage": "F16", "BFloat16Storage": "BF16", "ByteStorage": "U8",
    "CharStorage": "I8", "ShortStorage": "I16", "IntStorage": "I32", "LongStorage": "I64", "BoolStorage": "BOOL",
    "ComplexFloatStorage": "C64", "UntypedStorage": "U8", "Float8_e4m3fnStorage": "F8_E4M3",
    "Float8_e5m2Storage": "F8_E5M2",
}  # fmt: skip
_DTYPES = {
    "float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "uint8": "U8", "int8": "I8",
    "int16": "I16", "int32": "I32", "int64": "I64", "bool": "BOOL", "complex64": "C64", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "uint16": "U16", "uint32": "U32", "uint64": "U64", "complex128": "C128",
}  # fmt: skip
_PLAIN = frozenset((
    "argparse.Namespace", "collections.Counter", "collections.defaultdict", "_codecs.encode",
    "copyreg._reconstructor", "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar", "numpy.ndarray", "numpy.dtype",
    "builtins.object", "builtins.set", "builtins.dict", "builtins.list", "builtins.tuple", "builtins.int",
    "builtins.float", "builtins.str", "builtins.bytearray", "builtins.complex", "builtins.frozenset",
    "builtins.slice", "numpy.random._pickle.__randomstate_ctor", "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__bit_generator_ctor", "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer", "pathlib.PosixPath", "pathlib.Path", "pathlib.PurePosixPath",
    "pathlib.WindowsPath", "pathlib._local.PosixPath", "datetime.datetime", "datetime.timedelta",
    "torch.device", "torch.Size", "torch.serialization._get_layout",
    "torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_qtensor", "typing.Any", "enum.Enum", "io.BytesIO", "_io.BytesIO", "torch.strided",
    "torch.contiguous_format", "torch.preserve_format", "torch.per_tensor_affine",
))  # fmt: skip
_LIBRARIES = re.compile(
    r"^(?:torch|megatron|deepspeed|lightning|lightning_fabric|pytorch_lightning|omegaconf|transformers|transformer_engine"
    r"|peft|accelerate|torchtune|trl|numpy|apex)(?:\.|$)"
)
"""Their classes (a capital first letter) may stand in a checkpoint; their functions may not."""
_DANGEROUS = frozenset((
    "os", "posix", "nt", "subprocess", "sys", "importlib", "runpy", "socket", "shutil", "ctypes", "pty", "code",
    "codeop", "commands", "webbrowser", "pip", "bdb", "pdb", "asyncio", "multiprocessing", "threading",
    "signal", "builtins", "operator", "functools", "timeit", "http", "urllib", "requests", "pickle", "_pickle",
    "dill", "joblib", "cloudpickle", "marshal", "types", "inspect", "ast", "tempfile",
))  # fmt: skip
"""Modules through which a pickle runs code."""
_VERBS = re.compile(
    r"(?:^|_)(?:load|loads|exec|eval|system|run|popen|spawn|call|open|compile|import)(?:_|$)|runstring", re.I
)
"""Functions that run or fetch code, in whatever package."""
_PYTHON2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
"""Torch writes protocol 2, with the old module names."""
GETATTR = "builtins.getattr"
"""How some Pythons pickle members of enumerations; any other use of it is an attack."""


class Inert:
    """Stands for any object: takes every argument and state, does nothing with them."""

    def __init__(self, *args: Any, **named: Any):
        self.args, self.items, self.state = args, [], None

    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: Any) -> None:
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def add(self, item: Any) -> None:
        self.items.append(item)


class Mapping(dict):
    """An OrderedDict; the attributes that torch hangs on it are dropped."""


@dataclass(frozen=True)
class Global:
    """A name in the pickle. Calling it is recorded, never done."""

    name: str

    def call(self, args: Any) -> Any:
        args = args if isinstance(args, tuple) else ()
        if self.name == GETATTR and not (
            len(args) == 2 and isinstance(args[0], Global) and isinstance(args[1], str) and args[1].isidentifier()
            and args[0].name != GETATTR and not args[1].startswith("_")
        ):  # fmt: skip
            raise refused(GETATTR, True)
        short = self.name.rpartition(".")[2]
        if self.name == "collections.OrderedDict":
            return Mapping(args[0]) if args and isinstance(args[0], dict) else Mapping(_pairs(args))
        if short in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3") and len(args) >= 4:
            return View.of(*args[:4], dtype=args[6] if short.endswith("v3") and len(args) > 6 else None)
        if short in ("_rebuild_parameter", "_rebuild_parameter_with_state") and args:
            return args[0]
        if short == "_rebuild_from_type_v2" and len(args) >= 3 and isinstance(args[0], Global):
            return args[0].call(args[2])
        return Inert(self.name, *args)


@dataclass(frozen=True)
class Storage:
    key: str
    dtype: str
    count: int


@dataclass(frozen=True)
class View:
    """A tensor as the pickle describes it: part of a storage, in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    dtype: str
    extent: int

    @classmethod
    def of(cls, storage: Any, offset: Any, shape: Any, stride: Any, dtype: Any = None) -> View | Inert:
        shape, stride = _ints(shape), _ints(stride)
        if not isinstance(storage, Storage) or type(offset) is not int or shape is None or stride is None:
            return Inert()
        if len(shape) != len(stride) or min((offset, *shape, *stride), default=0) < 0:
            raise Broken("checkpoint-unreadable", "describes a tensor of impossible shape", "描述了形状不可能的张量")
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if math.prod(shape) else 0
        kind = _DTYPES.get(dtype.name.rpartition(".")[2], storage.dtype) if isinstance(dtype, Global) else storage.dtype
        return cls(storage, offset, shape, kind, extent)


def _ints(value: Any) -> tuple[int, ...] | None:
    """A plain tuple of integers, also out of a `torch.Size`."""
    if isinstance(value, Inert) and len(value.args) > 1:
        value = value.args[1]
    return tuple(value) if isinstance(value, tuple | list) and all(type(n) is int for n in value) else None


def _pairs(args: tuple) -> list:
    pairs = args[0] if args and isinstance(args[0], list) else []
    return [(_key(p[0]), p[1]) for p in pairs if isinstance(p, list | tuple) and len(p) == 2]


_LEFT_OUT = frozenset(
    op[0]
    for op in (
        pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.BYTEARRAY8, pickle.INST, pickle.OBJ, pickle.DICT,
        pickle.FROZENSET, pickle.EMPTY_SET, pickle.ADDITEMS,
    )
)  # fmt: skip
"""Extension codes (a registry of code), arrays of a claimed size, sets, and builders that torch never uses."""


def refused(name: str, dangerous: bool) -> Broken:
    """The refusal of a file that names something else than tensors and plain data."""
    shown = clean(name, 120)
    if dangerous:
        why = (f"names {shown!r}: loading it could run code. It was not loaded; do not load it, get safetensors",
               f"引用了 {shown!r}：加载时可能执行代码。本工具没有加载它；请勿加载，改用 safetensors")  # fmt: skip
    else:
        why = (f"was not read: it holds objects of {shown!r}, which is no tensor and not known to be harmless;"
               " save the state dict alone, best as safetensors",
               f"没有读取：其中有 {shown!r} 的对象，不是张量，也不确定无害；请只保存 state dict")  # fmt: skip
    return Broken("checkpoint-unsafe-pickle", *why, name=shown, **({} if dangerous else {"unread": True}))


def _key(key: Any) -> Any:
    """A dictionary key that no file can choose so that hashes collide: strings, small numbers, else a stand-in."""
    small = type(key) is int and abs(key) < 1 << 60
    return key if small or key is None or isinstance(key, str | Inert | Global) else Inert()


class Structure(_Unpickler):
    """Parses a pickle into plain containers, `View`s and inert stand-ins."""

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]
    dispatch: ClassVar[dict] = {op: how for op, how in _Unpickler.dispatch.items() if op not in _LEFT_OUT}

    def find_class(self, module: str, name: str) -> Global:
        module = _PYTHON2.get(module, module)
        full = f"{module}.{name}"
        short = name.rpartition(".")[2]
        tensors = module in ("torch._utils", "torch._tensor") and short.startswith("_rebuild_")
        storage = module in ("torch", "torch.storage") and (short in STORAGES or short in _DTYPES)
        library = bool(_LIBRARIES.match(module)) and short.lstrip("_")[:1].isupper()
        if tensors or storage or library or full in _PLAIN or full in ("collections.OrderedDict", GETATTR):
            return Global(full)
        raise refused(full, module.partition(".")[0] in _DANGEROUS or bool(_VERBS.search(short)))

    def persistent_load(self, pid: Any) -> Any:
        if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[1], Global)):
            return Inert()
        key, count = pid[2], pid[4]
        if not isinstance(key, str) or type(count) is not int or count < 0:
            raise Broken("checkpoint-unreadable", "describes an impossible storage", "描述了不可能的存储")
        return Storage(key, STORAGES.get(pid[1].name.rpartition(".")[2], "U8"), count)

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self._called(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        self.stack.pop()
        self.load_reduce()

    def load_build(self) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Inert):
            self.stack[-1].state = state

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_key(key)] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][_key(key)] = value

    @staticmethod
    def _called(function: Any, args: Any) -> Any:
        args = args if isinstance(args, tuple) else ()
        return function.call(args) if isinstance(function, Global) else Inert(*args)

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_reduce
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.BUILD[0]] = load_build


def parse(data: bytes | io.BytesIO) -> Any:
    """The structure of one pickle.

    Raises:
        Broken: it names something foreign (`checkpoint-unsafe-pickle`) or is not a whole pickle.
    """
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    try:
        return Structure(stream).load()
    except Broken:
        raise
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError,
        MemoryError, OverflowError, AssertionError, UnicodeError,
        struct.error,
    ) as error:  # fmt: skip
        raise Broken(
            "checkpoint-unreadable",
            f"its pickle cannot be parsed ({type(error).__name__}), so that it cannot be called safe; do not load it",
            f"其 pickle 无法解析（{type(error).__name__}），不能认定安全；请勿加载",
        ) from error


class _Slice(io.RawIOBase):
    """A byte range of a file as a file of its own: an item of a distributed checkpoint."""

    def __init__(self, file: Any, start: int, length: int):
        self.file, self.start, self.length, self.at = file, start, length, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = max(0, offset + (0, self.at, self.length)[whence])
        return self.at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self.length - self.at)
        self.file.seek(self.start + self.at)
        data = self.file.read(left if size is None or size < 0 else min(size, left))
        self.at += len(data)
        return data


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
            magic = file.read(4)
            if magic == b"vers":
                raise Broken("checkpoint-unreadable", "is a Git LFS pointer; run `git lfs pull`", "只是 Git LFS 指针")
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
    """Refuse: after asking whether the pickle is at least made of harmless names."""
    if length == 0:
        raise Broken("checkpoint-incomplete", "is empty", "是空文件")
    file.seek(start)
    stream = io.BytesIO(file.read(min(length, PICKLE_LIMIT)))
    head = parse(stream)
    for _ in range(3 if isinstance(head, int) else 0):
        parse(stream)
    raise Broken(
        "checkpoint-unsafe-pickle",
        "is a pickle of the old torch form (before 1.6), which is not read here; it names nothing harmful."
        " Save it again as safetensors to have it checked",
        "是旧版 torch（1.6 之前）的 pickle，本工具不读取；其中没有发现有害内容。另存为 safetensors 后可检查",
        unread=True,
    )


def _zipped(file: Any, start: int, length: int) -> State:
    with zipfile.ZipFile(_Slice(file, start, length)) as archive:  # type: ignore[arg-type]
        infos = {i.filename: i for i in archive.infolist()}
        pickles = [n for n in infos if n.endswith("/data.pkl") or n == "data.pkl"]
        if len(pickles) != 1 or any(n.endswith("/code") or "/code/" in n for n in infos):
            raise Broken(
                "checkpoint-unsafe-pickle" if pickles else "checkpoint-unreadable",
                "is no plain torch file (it holds code or no single data.pkl); it was not loaded",
                "不是普通 torch 文件（含代码，或没有唯一的 data.pkl）；没有加载",
            )
        prefix = pickles[0].removesuffix("data.pkl")
        if infos[pickles[0]].file_size > PICKLE_LIMIT:
            raise Broken("checkpoint-unreadable", "its pickle is too large to parse", "其 pickle 过大，不解析")
        if prefix + "byteorder" in infos and archive.read(prefix + "byteorder")[:3] == b"big":
            raise Broken("checkpoint-unreadable", "is big-endian", "是大端字节序")
        value = parse(archive.read(pickles[0]))
        storages = {
            name.removeprefix(prefix + "data/"): (_data_offset(file, start + info.header_offset), info.file_size)
            for name, info in infos.items()
            if name.startswith(prefix + "data/") and info.compress_type == zipfile.ZIP_STORED
        }
    return State(value, storages)


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
    waiting: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    visited = 0
    while waiting and visited < ENTRY_LIMIT:
        name, item = waiting.pop()
        visited += 1
        if isinstance(item, View):
            yield name or "tensor", item
        elif isinstance(item, dict | list | tuple) and id(item) not in seen:
            seen.add(id(item))
            children = item.items() if isinstance(item, dict) else enumerate(item)
            inner = [(f"{name}.{k}" if name else str(k), v) for k, v in children]
            waiting.extend(reversed(inner))


def dcp_items(path: Path) -> list[tuple[str, str, int, int]]:
    """What `.metadata` of a distributed checkpoint promises: (name, file, offset, length), in file order.

    Raises:
        Broken: as `parse`; also when nothing in it is a storage record.
    """
    size = regular(path).st_size
    if size > PICKLE_LIMIT:
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

"""The structure of a pickle, read without unpickling: every object that the pickle names becomes an inert stand-in.

Nothing from the file is imported, called or built. A name that does not stand in `admitted` is a reason to refuse the
whole file, and so is a step that would do more with an admitted one than make data.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable
from dataclasses import dataclass
from pickle import _Unpickler  # type: ignore[attr-defined]  # the Python one: its memo cannot be made to eat memory
from typing import Any, ClassVar

from ...findings import clean
from .admitted import BASES, CALLED, DANGEROUS, ENUMS, HELD, STARTERS, VERBS
from .tensors import BIG, DIMENSIONS, Broken

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
GETATTR = "builtins.getattr"
"""How some Pythons pickle members of enumerations; any other use of it is an attack."""
UNCALLED = HELD | {GETATTR}
"""What no admitted function may be given, for it might call it."""
KNOWN = CALLED | ENUMS | UNCALLED
BYTES = 64 << 20
"""Longest pickle that is parsed; a state dict of 10,000 tensors takes about 2 MB."""
STEPS = 2_500_000
"""Most reads of one pickle, one or two for a step of its machine; Adam's state of 10,000 tensors takes 1.5 million."""
COPIES = 1_000_000
"""Most entries that calls may copy out of other containers; only Python 2 wrote such pickles."""


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

    def call(self, args: tuple, copies: Callable[[int], None]) -> Any:
        self._allowed(args)
        short = self.name.rpartition(".")[2]
        if self.name == "collections.OrderedDict":
            copies(len(args[0]) if args and isinstance(args[0], dict | list) else 0)
            return Mapping(args[0]) if args and isinstance(args[0], dict) else Mapping(_pairs(args))
        if short in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3") and len(args) >= 4:
            return View.of(*args[:4], dtype=args[6] if short.endswith("v3") and len(args) > 6 else None)
        if short in ("_rebuild_parameter", "_rebuild_parameter_with_state") and args:
            return args[0]
        if short == "_rebuild_from_type_v2" and len(args) >= 3 and isinstance(args[0], Global):
            return args[0].call(args[2] if isinstance(args[2], tuple) else (), copies)
        return Inert(self.name, *args)

    def _allowed(self, args: tuple) -> None:
        """Refuse what would do more than make data: `getattr`, constructors, and passing these on to be called."""
        if self.name == GETATTR:
            enum = len(args) == 2 and isinstance(args[0], Global) and args[0].name in ENUMS
            if not (enum and isinstance(args[1], str) and args[1].isidentifier() and not args[1].startswith("_")):
                raise refused(GETATTR, True)
        elif self.name in HELD:
            raise refused(self.name, True)
        elif self.name == "copyreg._reconstructor":
            if not (len(args) == 3 and isinstance(args[1], Global) and args[1].name in BASES):
                raise refused(args[1].name if len(args) > 1 and isinstance(args[1], Global) else self.name, True)
        else:
            passed = [a.name for a in args if isinstance(a, Global) and a.name in UNCALLED]
            if passed:
                raise refused(passed[0], True)


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
        if len(shape) != len(stride) or not all(0 <= n < BIG for n in (offset, *shape, *stride)):
            raise Broken("checkpoint-unreadable", "describes a tensor of impossible shape", "描述了形状不可能的张量")
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if math.prod(shape) else 0
        kind = _DTYPES.get(dtype.name.rpartition(".")[2], storage.dtype) if isinstance(dtype, Global) else storage.dtype
        return cls(storage, offset, shape, kind, extent)


def _ints(value: Any) -> tuple[int, ...] | None:
    """A plain tuple of integers, also out of a `torch.Size`."""
    if isinstance(value, Inert) and len(value.args) > 1:
        value = value.args[1]
    if not isinstance(value, tuple | list):
        return None
    if len(value) > DIMENSIONS:
        raise Broken(
            "checkpoint-unreadable", f"describes a tensor of {len(value)} dimensions", "张量的维数不可能这么多"
        )
    return tuple(value) if all(type(n) is int for n in value) else None


def _pairs(args: tuple) -> list:
    pairs = args[0] if args and isinstance(args[0], list) else []
    return [(_key(p[0]), p[1]) for p in pairs if isinstance(p, list | tuple) and len(p) == 2]


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


class Stream:
    """A file read from where it stands, for so many bytes and so many reads."""

    def __init__(self, file: Any, length: int = BYTES):
        self.file, self.left, self.steps = file, min(length, BYTES), STEPS

    def read(self, size: int) -> bytes:
        self.steps -= 1
        if self.steps < 0:
            raise Broken(
                "checkpoint-unreadable", f"is a pickle of more than {STEPS} steps; it was not read", "pickle 过大"
            )
        data = self.file.read(min(size, self.left))
        self.left -= len(data)
        return data

    def readline(self) -> bytes:
        data = self.file.readline(min(self.left, 1 << 20))
        self.left -= len(data)
        return data

    def at_end(self) -> bool:
        """Whether nothing follows."""
        here = self.file.tell()
        more = self.left and self.file.read(1)
        self.file.seek(here)
        return not more


class Structure(_Unpickler):
    """Parses a pickle into plain containers, `View`s and inert stand-ins."""

    stack: list[Any]
    append: Callable[[Any], None]
    read: Callable[[int], bytes]
    proto: int
    pop_mark: Callable[[], list[Any]]
    dispatch: ClassVar[dict] = dict(_Unpickler.dispatch)

    def __init__(self, stream: Stream):
        super().__init__(stream)
        self.foreign: dict[str, None] = {}
        self.copied = 0

    def find_class(self, module: str, name: str) -> Global:
        if self.proto < 3:
            module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        full = f"{module}.{name}"
        if full not in KNOWN:
            short = name.rpartition(".")[2]
            if module.partition(".")[0] in DANGEROUS or VERBS.search(short) or STARTERS.search(full):
                raise refused(full, True)
            self.foreign[full] = None
        return Global(full)

    def persistent_load(self, pid: Any) -> Any:
        if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[1], Global)):
            return Inert()
        key, count = pid[2], pid[4]
        if not isinstance(key, str) or type(count) is not int or not 0 <= count < BIG:
            raise Broken("checkpoint-unreadable", "describes an impossible storage", "描述了不可能的存储")
        return Storage(key, STORAGES.get(pid[1].name.rpartition(".")[2], "U8"), count)

    def copies(self, count: int) -> None:
        self.copied += count
        if self.copied > COPIES:
            raise Broken(
                "checkpoint-unreadable", "is a pickle whose copies multiply; it was not read", "pickle 中的副本成倍增长"
            )

    def load_reduce(self) -> None:
        args, function = self.stack.pop(), self.stack[-1]
        if not isinstance(function, Global):
            made = function.args[0] if isinstance(function, Inert) and function.args else type(function).__name__
            raise refused(made if isinstance(made, str) else type(function).__name__, True)
        self.stack[-1] = function.call(args if isinstance(args, tuple) else (), self.copies)

    def load_newobj(self) -> None:
        args, kind = self.stack.pop(), self.stack[-1]
        if isinstance(kind, Global) and kind.name in HELD:
            self.stack[-1] = Inert(kind.name)
        elif isinstance(kind, Inert):
            self.stack[-1] = Inert(*kind.args[:1])
        else:
            self.stack.append(args)
            self.load_reduce()

    def load_newobj_ex(self) -> None:
        self.stack.pop()
        self.load_newobj()

    def _instantiate(self, klass: Any, args: list) -> None:
        self.append(klass)
        self.append(tuple(args))
        self.load_reduce() if args else self.load_newobj()

    def load_build(self) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Global):
            raise refused(self.stack[-1].name, True)  # attributes of the class or function itself
        if isinstance(self.stack[-1], Inert):
            self.stack[-1].state = state

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_key(key)] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][_key(key)] = value

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.append({_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)})

    def load_set(self) -> None:
        self.append(Inert("builtins.set"))

    def load_additems(self) -> None:
        items = self.pop_mark()
        self.stack[-1].extend(items)

    def load_frozenset(self) -> None:
        self.append(Inert("builtins.frozenset", self.pop_mark()))

    def load_frame(self) -> None:
        self.read(8)  # a hint for buffers; without it every step is counted

    def load_bytearray8(self) -> None:
        self.append(self.read(int.from_bytes(self.read(8), "little")))

    def load_extension(self) -> None:
        raise refused("copyreg.add_extension", True)

    for op, how in {
        pickle.REDUCE: load_reduce, pickle.NEWOBJ: load_newobj, pickle.NEWOBJ_EX: load_newobj_ex,
        pickle.BUILD: load_build, pickle.SETITEM: load_setitem, pickle.SETITEMS: load_setitems, pickle.DICT: load_dict,
        pickle.EMPTY_SET: load_set, pickle.ADDITEMS: load_additems, pickle.FROZENSET: load_frozenset,
        pickle.FRAME: load_frame, pickle.BYTEARRAY8: load_bytearray8, pickle.EXT1: load_extension,
        pickle.EXT2: load_extension, pickle.EXT4: load_extension,
    }.items():  # fmt: skip
        dispatch[op[0]] = how


def parse(data: bytes | Stream) -> Any:
    """The structure of one pickle.

    Raises:
        Broken: it names something that is not known to be harmless (`checkpoint-unsafe-pickle`, whether or not the rest
            can be parsed) or is not a whole pickle.
    """
    machine = Structure(Stream(io.BytesIO(data)) if isinstance(data, bytes) else data)
    try:
        value = machine.load()
    except Broken as broken:
        if broken.code == "checkpoint-unsafe-pickle" or not machine.foreign:
            raise
        raise refused(next(iter(machine.foreign)), False) from broken
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError,
        MemoryError, OverflowError, AssertionError, UnicodeError,
        struct.error,
    ) as error:  # fmt: skip
        if machine.foreign:
            raise refused(next(iter(machine.foreign)), False) from error
        raise Broken(
            "checkpoint-unreadable",
            f"its pickle cannot be parsed ({type(error).__name__}), so that it cannot be called safe; do not load it",
            f"其 pickle 无法解析（{type(error).__name__}），不能认定安全；请勿加载",
        ) from error
    if machine.foreign:
        raise refused(next(iter(machine.foreign)), False)
    return value

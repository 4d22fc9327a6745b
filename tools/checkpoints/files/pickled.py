"""The structure of a pickle, read without unpickling: every object that the pickle names becomes an inert stand-in.

Nothing from the file is imported, called or built. A name outside a short list (tensor rebuilding, storages, plain
containers, classes of known training libraries) is a reason to refuse the whole file.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pickle import _Unpickler  # type: ignore[attr-defined]  # the Python one: its memo cannot be made to eat memory
from typing import Any, ClassVar

from ...findings import clean
from .tensors import Broken

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

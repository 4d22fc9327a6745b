"""Settings written as constants in a Python program, found in its syntax tree; nothing is imported or run.

Module-level constants, keyword arguments of trainer and optimizer configurations, class attributes, argparse
defaults, `os.environ` entries, and `pad_token = eos_token`. What a program computes is not visible here.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from .source import MAX_ITEMS, Item, Refused, Source

CONFIGURATION = re.compile(r"(Arguments|Args|Config)$|^(AdamW?|SGD|Lion|Adafactor|dict|Trainer|LLM|SamplingParams)$")
PREFIXES = {"LoraConfig": "lora_"}
"""Call -> prefix of its keywords, where the bare keyword (`r`) says too little."""


def read(source: Source) -> list[Item]:
    """Constants of the program as items.

    Raises:
        Refused: not Python, or nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
        return list(_items(tree, source))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{source.name}: not Python that can be read: {type(error).__name__}") from None


def _items(tree: ast.Module, source: Source) -> Iterator[Item]:
    for count, item in enumerate(_Reader(source).module(tree), 1):
        yield item
        if count >= MAX_ITEMS:
            raise Refused(f"{source.name}: more than {MAX_ITEMS} values; not read")


class _Reader:
    def __init__(self, source: Source):
        self.source = source
        self.constants: dict[str, ast.expr] = {}

    def module(self, tree: ast.Module) -> Iterator[Item]:
        for node in tree.body:
            yield from self.assignment(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and CONFIGURATION.search(node.name):
                for inner in node.body:
                    yield from self.assignment(inner)
            elif isinstance(node, ast.Call):
                yield from self.call(node)
            elif isinstance(node, ast.Assign):
                yield from self.program_setting(node)

    def assignment(self, node: ast.stmt) -> Iterator[Item]:
        """`name = constant`, with or without a type, and `name = {"key": constant}`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            return
        if not isinstance(target, ast.Name):
            return
        if isinstance(value, ast.Dict):
            for key, one in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield from self.value(key.value, one)
        elif constant(value) is not None:
            self.constants[target.id] = value
            yield from self.value(target.id, value)

    def call(self, node: ast.Call) -> Iterator[Item]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "add_argument" and node.args and isinstance(flag := constant(node.args[0]), str):
            for keyword in node.keywords:
                if keyword.arg == "default":
                    yield from self.value(flag.lstrip("-"), keyword.value)
        elif CONFIGURATION.search(name):
            for keyword in node.keywords:
                if keyword.arg:
                    yield from self.value(PREFIXES.get(name, "") + keyword.arg, keyword.value)

    def program_setting(self, node: ast.Assign) -> Iterator[Item]:
        """`os.environ["X"] = "1"` and `tokenizer.pad_token = tokenizer.eos_token`."""
        target, value = node.targets[0], node.value
        if (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Attribute)
            and target.value.attr == "environ"
            and isinstance(key := constant(target.slice), str)
        ):
            yield from self.value(key, value, "env")
        elif (
            isinstance(target, ast.Attribute)
            and target.attr in ("pad_token", "pad_token_id")
            and isinstance(value, ast.Attribute)
            and value.attr.startswith("eos_token")
        ):
            start, end = self.span(value)
            yield Item("pad_token", "<eos>", "python", start, end)
            yield Item("eos_token", "<eos>", "python", start, end)

    def value(self, key: str, node: ast.expr, style: str = "python") -> Iterator[Item]:
        if isinstance(node, ast.Name) and node.id in self.constants:
            node = self.constants[node.id]
        plain = constant(node)
        if plain is not None or (isinstance(node, ast.Constant) and node.value is None):
            start, end = self.span(node)
            text = None if plain is None else str(plain)
            yield Item(key, text, style, start, end, quoted=isinstance(plain, str))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Offsets; the tree counts columns in UTF-8 bytes."""
        start = self.offset(node.lineno, node.col_offset)
        return start, self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def offset(self, line: int, column: int) -> int:
        start = self.source.starts[min(line, len(self.source.starts)) - 1]
        encoded = self.source.text[start : start + column].encode("utf-8", "replace")[:column]
        return start + len(encoded.decode("utf-8", "ignore"))


def constant(node: ast.expr) -> str | float | bool | None:
    """The value of a literal number, string or yes/no, signs included."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return -inner if isinstance(inner, (int, float)) else None
    return None

"""Settings written as constants in a Python program, found in its syntax tree; nothing is imported or run.

Module-level constants, keyword arguments of trainer and optimizer configurations, class attributes, argparse
defaults, `config.section.key = 1`, `os.environ` entries, and `pad_token = eos_token`. A configuration inside another
keeps its keyword as a section: `Config(training=TrainingConfig(steps=10))` is `training.steps`. What a program
computes is not visible here, nor is a value that several functions, or several classes of settings, set differently.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ..values import PRECISIONS
from .pytree import walk
from .source import DEFAULT, MAX_ITEMS, Item, Refused, Source

CONFIGURATION = re.compile(
    r"(Arguments|Args|Config|ConfigContainer|[a-z]_recipe|Trainer)$"
    r"|^(AdamW?|SGD|Lion|Adafactor|dict|LLM|SamplingParams)$"
)
OF_TESTS = re.compile(r"Eval|Validation")
"""Classes of settings that are none of the training itself: `EvalArgs.max_iters` is no length of the run."""
Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
HOLDER = re.compile(r"(^|_)(recipe|cfg|config|conf|args|arguments|hparams|hyperparameters|params|settings|kwargs)$")
"""Names of variables that hold a whole configuration: their own name is no section."""
WHOLE = ("args", "config", "training_args", "train_args")
"""Keywords that pass a whole configuration and are no section of it."""
KEYWORDS = {
    "LoraConfig": {"r": "lora_r", "lora_alpha": "lora_alpha"},
    "get_peft_model": {
        "r": "lora_r",
        "lora_alpha": "lora_alpha",
        "use_gradient_checkpointing": "gradient_checkpointing",
    },
    "from_pretrained": {"max_seq_length": "max_seq_length"},
}
"""Calls of which only these keywords count, under a name that says enough."""


def read(source: Source) -> list[Item]:
    """Constants of the program as items.

    Raises:
        Refused: not Python, or nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
        return _items(tree, source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{source.name}: not Python that can be read: {type(error).__name__}") from None


def _items(tree: ast.Module, source: Source) -> list[Item]:
    found: list[tuple[Block | None, Item]] = []
    for pair in _Reader(source).module(tree):
        found.append(pair)
        if len(found) > MAX_ITEMS:
            raise Refused(f"{source.name}: more than {MAX_ITEMS} values; not read")
    told: dict[tuple[str, type[ast.AST]], dict[str, str | None]] = defaultdict(dict)
    for block, item in found:
        if block is not None:
            told[item.key, type(block)][block.name] = item.text
    apart = {pair for pair, said in told.items() if len(set(said.values())) > 1}
    models = {name for key, kind in apart if kind is ast.ClassDef and SIZE.fullmatch(key) for name in told[key, kind]}
    return [
        item for block, item in found
        if block is None or ((item.key, type(block)) not in apart and block.name not in models)
    ]  # fmt: skip


SIZE = re.compile(
    r"hidden_size|intermediate_size|d_model|n_embd|embed_dim|(num_(hidden_)?|n_)layers?|depth|num_attention_heads"
)
"""Sizes of a model: classes that give one differently are two models, and nothing of one holds for the other."""
TELLING = frozenset((ast.ClassDef, ast.Call, ast.Assign))
"""Nodes that may set something."""


class _Reader:
    def __init__(self, source: Source):
        self.source = source
        self.constants: dict[str, ast.expr] = {}
        self.seen: set[ast.Call] = set()

    def module(self, tree: ast.Module) -> Iterator[tuple[Block | None, Item]]:
        """Every item with the top-level function or the class of settings that sets it, if one does."""
        for node in tree.body:
            yield from ((None, item) for item in self.assignment(node))
        for top in tree.body:
            settings = isinstance(top, ast.ClassDef) and CONFIGURATION.search(top.name)
            block = top if isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef)) or settings else None
            yield from ((block, item) for node in walk(top) if type(node) in TELLING for item in self.node(node))  # type: ignore[misc]

    def node(self, node: ast.AST) -> Iterator[Item]:
        if isinstance(node, ast.ClassDef) and CONFIGURATION.search(node.name):
            section = "eval." if OF_TESTS.match(node.name) else ""
            for inner in node.body:
                for item in self.assignment(inner):
                    yield replace(item, key=section + item.key)
        elif isinstance(node, ast.Call):
            yield from self.call(node, "")
        elif isinstance(node, ast.Assign):
            yield from self.program_setting(node)

    def assignment(self, node: ast.stmt) -> Iterator[Item]:
        """`name = constant`, with or without a type, `name = {"key": constant}` and `section = dict(key=constant)`."""
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
        elif isinstance(value, ast.Call) and called(value) == "dict" and not HOLDER.search(target.id):
            yield from self.call(value, target.id + ".")
        elif constant(value) is not None:
            self.constants[target.id] = value
            yield from self.value(target.id, value)

    def call(self, node: ast.Call, section: str) -> Iterator[Item]:
        name = called(node)
        if node in self.seen:
            return
        self.seen.add(node)
        if name == "add_argument" and node.args and isinstance(flag := constant(node.args[0]), str):
            for keyword in node.keywords:
                if keyword.arg == "default":
                    yield from self.value(flag.lstrip("-"), keyword.value, DEFAULT)
        elif name in KEYWORDS:
            for keyword in node.keywords:
                if plain := KEYWORDS[name].get(keyword.arg or ""):
                    key = section + (keyword.arg or "") if section else plain
                    yield from self.value(key, keyword.value)
        elif CONFIGURATION.search(name):
            for keyword in node.keywords:
                if keyword.arg:
                    yield from self.keyword(keyword.arg, keyword.value, section)

    def keyword(self, key: str, value: ast.expr, section: str) -> Iterator[Item]:
        """One argument of a configuration: a value, or a configuration that is a section of this one."""
        if isinstance(value, ast.Call):
            own = called(value) in KEYWORDS or key in WHOLE
            yield from self.call(value, section if own else f"{section}{key}.")
        else:
            yield from self.value(section + key, value)

    def program_setting(self, node: ast.Assign) -> Iterator[Item]:
        """`os.environ["X"] = "1"`, `config.section.key = 1` and `tokenizer.pad_token = tokenizer.eos_token`."""
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
        elif isinstance(target, ast.Attribute) and (path := attributes(target)) and HOLDER.search(path[0]):
            yield from self.value(".".join(path[1:]), value)

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


def called(node: ast.Call) -> str:
    """The last part of what is called: `Config` in `Trainer.Config(...)`."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def attributes(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; empty where it does not start with a plain name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def constant(node: ast.expr) -> str | float | bool | None:
    """The value of a literal number, string, yes/no, number format (`torch.bfloat16`) or pair of fractions (betas)."""
    if isinstance(node, ast.Attribute) and (path := ".".join(attributes(node))) in PRECISIONS:
        return path
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
        pair = [constant(one) for one in node.elts]
        return f"({pair[0]}, {pair[1]})" if all(isinstance(one, float) for one in pair) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return -inner if isinstance(inner, (int, float)) else None
    return None

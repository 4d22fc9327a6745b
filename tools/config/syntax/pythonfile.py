"""Settings written as constants in a Python program, found in its syntax tree; nothing is imported or run.

Module-level constants, literal configurations, keyword arguments of trainer configurations, classes of settings,
defaults of options (`program.options`), `config.section.key = 1`, `os.environ` entries, `pad_token = eos_token`, and
arguments of calls that say by themselves what they are (`program.calls`). A configuration inside another keeps its
keyword as a section: `Config(training=TrainingConfig(steps=10))` is `training.steps`. What a program computes from its
data is not visible here, nor is a value that several functions, classes of settings, literals or calls of one kind set
differently.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from .program import options as pyoptions
from .program.calls import LATER, OTHERS, SCHEDULES, Row, rows_of
from .program.found import Found, agreed
from .program.names import (
    CLASSES,
    CONFIGURATION,
    COUNTED_UP,
    ENTRY,
    HOLDER,
    LITERALS,
    OF_TESTS,
    WHOLE,
    section_of,
)
from .program.statements import as_float, assigned, every_steps, is_main, named, prints, straight
from .program.values import Names, attributes, called, constant, defaulted, keyword
from .pytree import walk
from .source import ALIAS, CALL, DEFAULT, MAX_ITEMS, Item, Refused, Source

TELLING = frozenset((ast.ClassDef, ast.Call, ast.Assign, ast.If))
"""Nodes that may set something."""
LARGEST_NORM = 1e5
"""A larger limit of the gradient norm only measures it."""


def read(source: Source) -> list[Item]:
    """Constants of the program as items.

    Raises:
        Refused: not Python, or nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
        found: list[Found] = []
        for one in _Reader(source).module(tree):
            found.append(one)
            if len(found) > MAX_ITEMS:
                raise Refused(f"{source.name}: more than {MAX_ITEMS} values; not read")
        return agreed(found)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{source.name}: not Python that can be read: {type(error).__name__}") from None


class _Reader:
    def __init__(self, source: Source):
        self.source = source
        self.names = Names()
        self.seen: set[ast.AST] = set()
        self.targets: dict[ast.AST, str] = {}
        self.imports: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.options: dict[str, ast.expr] = {}
        self.places = 0
        """Options so far that a launch gives by their place."""

    def module(self, tree: ast.Module) -> Iterator[Found]:
        self.tree = tree
        body = list(straight(tree.body))
        self._know(body)
        for node in body:
            yield from self.assignment(node)
        for top in tree.body:
            entry = isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef))
            kind, owner = ("function", top.name) if entry else ("", "")
            if entry:
                yield from self.entry(top)
            if isinstance(top, ast.ClassDef) and top.name in self.classes:
                kind, owner = "class", top.name
            for node in walk(top):
                if type(node) in TELLING:
                    for one in self.node(node):
                        yield one if one.kind else one._replace(kind=kind, owner=owner)

    def _know(self, body: list[ast.stmt]) -> None:
        """What the module's names stand for, before any is used."""
        for node in body:
            if isinstance(node, ast.ClassDef) and CLASSES.search(node.name):
                self.classes[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                base = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
                self.imports |= {a.asname or a.name.partition(".")[0]: base + a.name for a in node.names}
        for node in body:
            for name, value in assigned(node):
                if self.plain(value) is not None:
                    self.names.known[name] = value
                elif isinstance(value, ast.Call) and called(value) in self.classes:
                    self.names.held[name] = {
                        n: defaulted(v) for inner in self.classes[called(value)].body for n, v in assigned(inner)
                    } | {k.arg: k.value for k in value.keywords if k.arg}
                elif (pairs := self.literal(value)) is not None:
                    self.names.held[name] = dict(pairs)
                else:
                    self.names.known.pop(name, None)

        for node in walk(self.tree):
            if isinstance(node, ast.Call) and (declared := pyoptions.options(node, called(node))):
                self.options |= {key.replace("-", "_"): value for key, value, how in declared if how == DEFAULT}
            elif isinstance(node, ast.ClassDef) and node.name in self.classes:
                own = {name: defaulted(value) for inner in node.body for name, value in assigned(inner)}
                self.options = own | self.options

    def option(self, node: ast.expr) -> str:
        """The option of the program that `args.rate` stands for; empty for anything else."""
        path = attributes(node)
        return path[1] if len(path) == 2 and HOLDER.search(path[0]) and path[1] in self.options else ""

    def plain(self, node: ast.expr) -> str | float | bool | None:
        return constant(node, self.names)

    # Statements -----------------------------------------------------------------------------------------

    def entry(self, top: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Found]:
        """The defaults of a program's entry and the constants at its beginning."""
        if not (ENTRY.fullmatch(top.name) or pyoptions.is_command(top, self.tree)):
            return
        for key, value in pyoptions.parameters(top):
            yield from self.value(key, value, DEFAULT)
        if ENTRY.fullmatch(top.name):
            for node in top.body:
                for one in self.assignment(node):
                    yield one._replace(kind="function", owner=top.name)

    def node(self, node: ast.AST) -> Iterator[Found]:
        if isinstance(node, ast.ClassDef) and CLASSES.search(node.name):
            section = "eval." if OF_TESTS.match(node.name) else section_of(node.name, whole=False)
            yield from self.fields(node, section)
        elif isinstance(node, ast.Call):
            yield from self.call(node, "")
        elif isinstance(node, ast.Assign):
            yield from self.program_setting(node)
        elif isinstance(node, ast.If):
            yield from self.logged_every(node)

    def fields(self, node: ast.ClassDef, section: str) -> Iterator[Found]:
        for inner in node.body:
            if isinstance(inner, ast.ClassDef):
                self.seen.add(inner)
                yield from self.fields(inner, f"{section}{inner.name}.")
                continue
            for name, value in assigned(inner):
                yield from self.argument(name, defaulted(value), section, DEFAULT)

    def assignment(self, node: ast.stmt) -> Iterator[Found]:
        """`name = constant`, `a, b = 1, 2`, `name = {"key": constant}` and `section = dict(key=constant)`."""
        for name, value in assigned(node):
            if isinstance(value, (ast.Dict, ast.Call)) and (pairs := self.literal(value)) is not None:
                own = isinstance(value, ast.Call) and called(value) == "dict" and not HOLDER.search(name)
                section = f"{name}." if own else section_of(name)
                self.seen.add(value)
                for key, one in pairs:
                    for found in self.argument(key, one, section, "python"):
                        yield found if section else found._replace(kind="literal", owner=name)
            elif self.plain(value) is not None and name not in self.counters:
                yield from self.value(name, value)

    def program_setting(self, node: ast.Assign) -> Iterator[Found]:
        """`os.environ["X"] = "1"`, `config.section.key = 1` and `tokenizer.pad_token = tokenizer.eos_token`."""
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Call):
            self.targets[value] = ".".join(attributes(target)) or getattr(target, "id", "")
        path = attributes(target)
        if (
            isinstance(target, ast.Attribute)
            and target.attr in ("pad_token", "pad_token_id")
            and isinstance(value, ast.Attribute)
            and value.attr.startswith("eos_token")
        ):
            start, end = self.span(value)
            yield Found(Item("pad_token", "<eos>", "python", start, end))
            yield Found(Item("eos_token", "<eos>", "python", start, end))
        elif isinstance(target, ast.Subscript) and (path := self.keys(target)):
            if path[:2] in (["os", "environ"], ["environ"]) or path[0] == "environ":
                yield from self.value(path[-1], value, "env")
            elif HOLDER.search(path[0]):
                yield from self.argument(path[-1], value, "".join(f"{p}." for p in path[1:-1]), "python")
        elif isinstance(target, ast.Attribute) and path and HOLDER.search(path[0]):
            yield from self.argument(path[-1], value, "".join(f"{p}." for p in path[1:-1]), "python")

    def logged_every(self, node: ast.If) -> Iterator[Found]:
        """`if step % 50 == 0: print(...)` says how often a program logs."""
        for test in node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]:
            if (every := every_steps(test)) is None or not prints(node.body):
                continue
            for found in self.value("log_steps", every):
                yield found._replace(
                    item=replace(found.item, means="log_steps"), kind="log_steps", owner=f"{node.lineno}"
                )

    def keys(self, node: ast.expr) -> list[str]:
        """`cfg["optim"]["lr"]` as its names; empty where one of them is not visible."""
        names: list[str] = []
        while isinstance(node, ast.Subscript):
            if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, str):
                return []
            names.append(node.slice.value)
            node = node.value
        return [*base, *reversed(names)] if (base := attributes(node) or named(node)) else []

    # Calls ----------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, section: str, style: str = CALL) -> Iterator[Found]:
        if node in self.seen:
            return
        self.seen.add(node)
        self.targets |= {k.value: k.arg for k in node.keywords if k.arg and isinstance(k.value, ast.Call)}
        name = called(node)
        if (options := pyoptions.options(node, name)) is not None:
            for key, value, how in options:
                yield from self.value(key, value, how)
            yield from self.spellings(node, name)
            return
        rows = rows_of(node, self.imports)
        known = {word for row in rows for word in row.means}
        for row in rows:
            yield from self.library(node, row)
        if (CONFIGURATION.search(name) and not rows) or name in self.classes or any(row.whole for row in rows):
            own = section or (section_of(name, whole=False) if name in self.classes else "")
            for one in node.keywords:
                if one.arg and one.arg not in known:
                    yield from self.argument(one.arg, one.value, own, style)
        elif name == "init" and (config := keyword(node, "config")) and (pairs := self.literal(config)) is not None:
            self.seen.add(config)
            for key, value in pairs:
                yield from self.argument(key, value, "", "python")

    def spellings(self, node: ast.Call, name: str) -> Iterator[Found]:
        """What a launch may write instead of an option's long name, and the options that are told by their place."""
        start, end = self.span(node)
        for written, option in pyoptions.called_also(node, name):
            if written == pyoptions.PLACE:
                written = str(self.places)
                self.places += 1
            yield Found(Item(written, option, ALIAS, start, end))

    def argument(self, key: str, value: ast.expr, section: str, style: str) -> Iterator[Found]:
        """One argument of a configuration: a value, or a configuration that is a section of this one."""
        if isinstance(value, (ast.Dict, ast.Call)) and (pairs := self.literal(value)) is not None:
            self.seen.add(value)
            for inner, one in pairs:
                yield from self.argument(inner, one, section if key in WHOLE else f"{section}{key}.", style)
        elif isinstance(value, ast.Call) and (self.plain(value) is None or called(value) in self.classes):
            self.targets[value] = key
            yield from self.call(value, section if key in WHOLE else f"{section}{key}.", style)
        else:
            yield from self.value(section + key, value, style)

    def library(self, node: ast.Call, row: Row) -> Iterator[Found]:
        """What the arguments of a library's call decide, whatever the program calls its own variables."""
        given = {place: arg for place, arg in zip(row.places, node.args, strict=False) if place}
        if node.args and row.name.fullmatch("clip_grad_norm_") and self.plain(node.args[0]) is not None:
            given["max_norm"] = node.args[0]  # FSDP's own: no parameters before it
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        if self.of_another(node, given):
            return
        if given.get("path") is not None and "data_files" in given:
            given["path"] = given["data_files"]
        owner = f"{node.lineno}:{node.col_offset}"
        end = self.span(node.func)[1]
        name = called(node)
        itself = [(row.itself, name)] if row.itself else []
        if "lr_schedule" in row.means.values() and name in SCHEDULES:
            itself.append(("lr_schedule", SCHEDULES[name]))
        for variable, text in (*itself, *(row.tells if node not in self.conditional else ())):
            start = end - len(name) if text == name else end
            yield Found(Item(name, text, CALL, start, end, means=variable), variable, owner, row)
        for word, value in given.items():
            if variable := row.means.get(word):
                yield from self.decided(word, variable, value, owner, row)

    def decided(self, word: str, variable: str, value: ast.expr, owner: str, row: Row) -> Iterator[Found]:
        if option := self.option(value):
            found = next(self.value(option, self.options[option], DEFAULT), None)
        else:
            found = next(self.value(word, value, CALL), None)
        if found is None:
            yield Found(Item(word, None, CALL, 0, 0, means=variable), variable, owner, row, hidden=True)
            return
        text = found.item.text
        if variable == "grad_clip" and not 0 <= (as_float(text) or 0) <= LARGEST_NORM:
            return
        if variable == "seed" and row.name.fullmatch("seed_everything") and value in self.conditional:
            return
        yield Found(replace(found.item, means=variable), variable, owner, row)

    def of_another(self, node: ast.Call, given: dict[str, ast.expr]) -> bool:
        """Whether a call is about another model, another optimizer or held-out data."""
        split = given.get("split")
        if split is not None and LATER.search(str(self.plain(split) or "")):
            return True
        near = [self.targets.get(node, "").rpartition(".")[2]]
        if node.args:
            first = node.args[0].func if isinstance(node.args[0], ast.Call) else node.args[0]
            near += attributes(first) or named(first)
        return any(OTHERS.search(word) for word in near)

    # Values ---------------------------------------------------------------------------------------------

    def literal(self, node: ast.expr) -> list[tuple[str, ast.expr]] | None:
        """The pairs of `{"key": value}`, `dict(key=value)`, `SimpleNamespace(key=value)`, `OmegaConf.create({...})`."""
        if isinstance(node, ast.Dict):
            return [
                (k.value, v)
                for k, v in zip(node.keys, node.values, strict=True)
                if isinstance(k, ast.Constant) and isinstance(k.value, str)
            ]
        if not isinstance(node, ast.Call) or not LITERALS.fullmatch(called(node)):
            return None
        inner = (
            (self.literal(node.args[0]) or []) if node.args and isinstance(node.args[0], (ast.Dict, ast.Call)) else []
        )
        return [*inner, *((k.arg, k.value) for k in node.keywords if k.arg)]

    def value(self, key: str, node: ast.expr, style: str = "python") -> Iterator[Found]:
        for _ in range(8):
            if (meant := self.names.get(node)) is None:
                break
            node = meant
        if isinstance(node, ast.Call) and len(node.args) == 2 and called(node) in ("get", "getenv"):
            node = node.args[1] if self.plain(node) is not None else node
        plain = self.plain(node)
        if plain is not None or (isinstance(node, ast.Constant) and node.value is None):
            start, end = self.span(node)
            if isinstance(node, ast.Call) and called(node) == "timedelta":
                end = start  # a number in its place would have no unit
            text = None if plain is None else str(plain)
            yield Found(Item(key, text, style, start, end, quoted=isinstance(plain, str)))

    @cached_property
    def conditional(self) -> set[ast.AST]:
        """What stands in a branch that may not be taken."""
        guarded = (n for n in walk(self.tree) if isinstance(n, ast.If) and not is_main(n))
        return {inner for n in guarded for part in (*n.body, *n.orelse) for inner in walk(part)}

    @cached_property
    def counters(self) -> set[str]:
        """Names that count up or run through a loop."""
        out: set[str] = set()
        for node in walk(self.tree):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, COUNTED_UP):
                out.update(named(node.target))
            elif isinstance(node, (ast.For, ast.comprehension)):
                out.update(n.id for n in walk(node.target) if isinstance(n, ast.Name))
        return out

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Offsets; the tree counts columns in UTF-8 bytes."""
        start = self.offset(node.lineno, node.col_offset)
        return start, self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def offset(self, line: int, column: int) -> int:
        start = self.source.starts[min(line, len(self.source.starts)) - 1]
        encoded = self.source.text[start : start + column].encode("utf-8", "replace")[:column]
        return start + len(encoded.decode("utf-8", "ignore"))

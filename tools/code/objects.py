"""What of this file is called, and what the objects of its classes hold.

A function is followed through names, parameters, fields, `partial`, factories that return it and decorators that
call it; a field through the constructor that filled it. Where two calls disagree nothing is said.
"""

# ruff: noqa: E501  the table of common methods

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol

from .source import walk
from .syntax import FUNCTIONS, Binding, Function, Node, default, key, last, passed, receiver


class Program(Protocol):
    """What is asked of the program whose objects these are; it holds them, so its module is above this one."""

    parent: dict[ast.AST, ast.AST]
    functions: dict[str, list[Function]]
    imports: dict[str, str]
    classes: dict[str, ast.ClassDef]
    calls: dict[str, list[ast.Call]]
    bound: dict[ast.AST, dict[str, list[Binding]]]
    nodes: list[ast.AST]

    def up(self, node: ast.AST) -> Iterator[ast.AST]: ...
    def scope(self, node: ast.AST) -> ast.AST: ...
    def path(self, expr: ast.AST) -> str: ...
    def find(self, *names: str) -> Iterator[ast.Call]: ...
    def bindings(self, expr: ast.AST, name: str = "") -> list[Binding]: ...
    def binding(self, expr: ast.AST) -> Binding | None: ...
    def origin(self, expr: ast.expr) -> ast.expr: ...
    def function(self, call: ast.Call) -> Function | None: ...
    def callers(self, function: ast.AST) -> list[ast.Call]: ...
    def within(self, node: ast.AST, *kinds: type[Node]) -> list[Node]: ...
    def returned(self, function: Function) -> list[ast.expr]: ...


DEEP = 4
MOST_CALLERS = 4
COMMON = frozenset(
    (
        "step", "backward", "zero_grad", "train", "eval", "forward", "generate", "save", "load", "get", "update", "append", "add",
        "log", "close", "to", "item", "detach", "cpu", "cuda", "parameters", "state_dict", "load_state_dict", "write", "read",
        "items", "keys", "values", "pop", "clear", "copy", "join", "split", "format", "mean", "sum", "max", "min", "float", "run",
        "fit", "apply", "map", "filter", "reset", "encode", "decode", "init", "start", "stop", "put", "set", "size", "view", "prepare",
    )
)  # fmt: skip
"""Methods that anything may have: a call of one is not taken for that of a class of this file."""
LOSSES = re.compile(r"(Loss|Criterion|Objective)$")
"""Names of classes whose objects are called to give a loss."""
RECORDS = frozenset(("SimpleNamespace", "Namespace", "EasyDict", "namedtuple"))
UNKNOWN = object()
"""What is not known of a value; no value that a program can write."""
SAME = frozenset(("to", "cuda", "cpu", "eval", "train", "half", "bfloat16", "float", "requires_grad_"))
"""Methods that give back what they are called on."""


class Objects:
    """The functions and objects of one program."""

    def __init__(self, program: Program):
        self.program = program
        self._kinds: dict[ast.AST, tuple[ast.ClassDef | None, ast.Call | None]] = {}
        self._callers: dict[ast.AST, list[ast.Call]] | None = None
        self._wrapped: dict[ast.AST, list[ast.Call]] | None = None
        self.records = {
            name for scoped in program.bound.values() for name, bindings in scoped.items()
            for b in bindings if isinstance(b.value, ast.Call) and last(key(b.value.func)) == "namedtuple"
        }  # fmt: skip

    # Objects --------------------------------------------------------------------------------------------

    def kind(self, expr: ast.expr) -> ast.ClassDef | None:
        """The class of this file that a value is of, as its constructor or its annotation tells."""
        return self.made(expr)[0] if self.program.classes else None

    def made(self, expr: ast.expr, deep: int = DEEP) -> tuple[ast.ClassDef | None, ast.Call | None]:
        """The class of a value and the call that makes it, as far as they are known."""
        if expr not in self._kinds:
            self._kinds[expr] = (None, None)  # a question that leads back to itself
            self._kinds[expr] = self._make(expr, deep)
        return self._kinds[expr]

    def _make(self, expr: ast.expr, deep: int) -> tuple[ast.ClassDef | None, ast.Call | None]:
        program = self.program
        if isinstance(expr, ast.Name) and expr.id in ("self", "cls"):
            return next((n for n in program.up(expr) if isinstance(n, ast.ClassDef)), None), None
        value = program.origin(expr)
        if isinstance(value, ast.Call):
            return self._constructed(value, deep)
        found = program.binding(value)
        if found is None or found.how not in ("parameter", "with") or not isinstance(value, ast.Name) or not deep:
            return None, None
        if found.how == "with":
            return self.made(found.value, deep - 1) if found.value is not None else (None, None)
        if (said := self._annotated(found, value.id)) is not None:
            return said, None
        given = [
            v for c in program.callers(found.node)[:MOST_CALLERS] for n, v in passed(found.node, c) if n == value.id
        ]
        kinds = {self.made(v, deep - 1)[0] for v in given}
        return (kinds.pop() if len(kinds) == 1 else None), None

    def _constructed(self, call: ast.Call, deep: int) -> tuple[ast.ClassDef | None, ast.Call | None]:
        classes, func = self.program.classes, call.func
        if isinstance(func, ast.Name) and func.id in classes:
            return classes[func.id], call
        if isinstance(func, ast.Name) and func.id in self.records:
            return None, call
        if last(key(func)) in RECORDS:
            return None, call
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in classes:
            return classes[func.value.id], None  # `Trainer.from_config(...)`
        if isinstance(func, ast.Attribute) and func.attr in SAME and deep:
            return self.made(func.value, deep - 1)
        function = self.program.function(call) if deep else None
        ends = self.program.returned(function) if function is not None else []
        return self.made(ends[0], deep - 1) if len(ends) == 1 else (None, None)

    def _annotated(self, found: Binding, name: str) -> ast.ClassDef | None:
        if not isinstance(found.node, FUNCTIONS):
            return None
        arguments = found.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        said = next((a.annotation for a in every if a.arg == name), None)
        word = said.value if isinstance(said, ast.Constant) else key(said)
        return self.program.classes.get(word) if isinstance(word, str) else None

    def field(self, expr: ast.expr) -> Binding | None:
        """What gives `x.y` its value, where `x` is of a class of this file, or a record."""
        if not isinstance(expr, ast.Attribute):
            return None
        made, call = self.made(expr.value)
        if made is not None and (bound := self.program.bound.get(made, {}).get(f"self.{expr.attr}")):
            told = [b for b in bound if b.value is not None]
            if told:
                return told[-1]
        if call is None and made is not None:
            calls = [c for c in self.program.calls.get(made.name, ()) if isinstance(c.func, ast.Name)]
            call = calls[0] if len(calls) == 1 else None
        if call is None or (made is not None and self.method(made, "__init__") is not None):
            return None
        value = next((k.value for k in call.keywords if k.arg == expr.attr), None)
        fields = [key(s.target) for s in made.body if isinstance(s, ast.AnnAssign)] if made is not None else []
        if value is None and expr.attr in fields and fields.index(expr.attr) < len(call.args):
            value = call.args[fields.index(expr.attr)]
        if value is None and made is not None:
            value = next((s.value for s in made.body if isinstance(s, ast.AnnAssign) and key(s.target) == expr.attr
                          and not isinstance(s.value, ast.Call)), None)  # fmt: skip
        return Binding(value, call, "assign") if value is not None else None

    def method(self, made: ast.ClassDef, name: str, deep: int = 3) -> Function | None:
        """A method of a class, or of those of this file that it is made from."""
        own = next((f for f in made.body if isinstance(f, FUNCTIONS) and f.name == name), None)
        if own is not None or not deep:
            return own
        above = (self.program.classes.get(last(self.program.path(b))) for b in made.bases)
        return next((f for b in above if b is not None and (f := self.method(b, name, deep - 1)) is not None), None)

    # Functions ------------------------------------------------------------------------------------------

    def called(self, call: ast.Call) -> Function | None:
        """The function of this file that is called."""
        return self.target(call.func)

    def target(self, func: ast.expr, deep: int = DEEP) -> Function | None:
        """The function of this file that an expression stands for when it is called."""
        if isinstance(func, ast.Name):
            return self._by_name(func, deep)
        if isinstance(func, ast.Attribute):
            return self._by_attribute(func, deep)
        if isinstance(func, ast.Call) and deep:
            if last(key(func.func)) == "partial" and func.args:
                return self.target(func.args[0], deep - 1)
            made, _ = self.made(func)
            if made is not None:
                return self.method(made, "__call__") or self._of_loss(made)
            maker = self.program.function(func)
            ends = (
                [e for e in self.program.returned(maker) if isinstance(e, (ast.Name, ast.Attribute))] if maker else []
            )
            return self.target(ends[0], deep - 1) if len(ends) == 1 else None
        return None

    def _by_name(self, func: ast.Name, deep: int) -> Function | None:
        program = self.program
        if found := [f for f in program.functions.get(func.id, []) if not isinstance(program.parent[f], ast.ClassDef)]:
            if len(found) == 1:
                return found[0]
            around = [program.scope(func), *program.up(func)]
            near = [f for f in found if program.scope(program.parent[f]) in around]
            return (near or found)[-1]
        if func.id in program.classes or func.id in program.imports or not deep:
            return None
        return self._held(func, deep)

    def _held(self, func: ast.expr, deep: int) -> Function | None:
        """The function that a name or a field was given."""
        program = self.program
        found = program.binding(func)
        if found is None:
            return None
        if found.how == "parameter":
            values = [v for c in program.callers(found.node)[:MOST_CALLERS]
                      for n, v in passed(found.node, c) if n == key(func)]  # fmt: skip
            kinds = {self.target(v, deep - 1) for v in values}
            return kinds.pop() if len(kinds) == 1 else self._of_kind(func)
        if (
            found.how == "assign"
            and found.part is None
            and isinstance(found.value, (ast.Name, ast.Attribute, ast.Call))
        ):
            return self.target(found.value, deep - 1)
        return None

    def _of_loss(self, made: ast.ClassDef) -> Function | None:
        """What a call of a loss does that is a module of this file."""
        return self.method(made, "forward") if LOSSES.search(made.name) else None

    def _of_kind(self, func: ast.expr) -> Function | None:
        made = self.kind(func) if "__call__" in self.program.functions else None
        return self.method(made, "__call__") if made is not None else None

    def _by_attribute(self, func: ast.Attribute, deep: int) -> Function | None:
        program = self.program
        found = program.functions.get(func.attr, [])
        if not found:
            held = deep and key(func.value) in ("self", "cls") and program.bindings(func)
            return self._held(func, deep) if held else None
        if key(func.value) in ("self", "cls", "trainer"):
            mine = next((n for n in program.up(func) if isinstance(n, ast.ClassDef)), None)
            own = self.method(mine, func.attr) if mine is not None else None
            return own or (found[0] if len(found) == 1 else None)
        if isinstance(func.value, ast.Call) and key(func.value.func) == "super":
            return None
        if isinstance(func.value, ast.Name) and func.value.id in program.classes:
            return self.method(program.classes[func.value.id], func.attr)
        if (made := self.kind(func.value)) is not None:
            return self.method(made, func.attr)
        if func.attr not in COMMON and key(func.value) not in program.imports:
            own = len(found) == 1 and isinstance(program.parent.get(found[0]), ast.ClassDef)
            return found[0] if own and found[0] not in program.up(func) else None  # in itself: another class's
        return None

    def callers(self, function: ast.AST) -> list[ast.Call]:
        """The calls of a function of this file; those of a class for its `__init__`."""
        program = self.program
        if not isinstance(function, FUNCTIONS):
            return []
        owner = program.parent.get(function)
        if function.name == "__init__" and isinstance(owner, ast.ClassDef):
            return [c for c in program.calls.get(owner.name, ()) if isinstance(c.func, ast.Name)]
        if self._callers is None:
            self._callers = defaultdict(list)
            self._index(self._callers)
        return self._callers.get(function, [])

    def _index(self, out: dict[ast.AST, list[ast.Call]]) -> None:
        """Function -> its calls: first those by its own name, through which the others may be known."""
        program = self.program
        later: list[ast.Call] = []
        held = {last(name) for scoped in program.bound.values() for name in scoped}
        for name, calls in program.calls.items():
            if name in program.functions:
                for call in calls:
                    plainly = isinstance(call.func, ast.Name) or key(receiver(call)) in ("self", "cls")
                    if plainly and (found := program.function(call)) is not None:
                        out[found].append(call)
                    elif not plainly:
                        later.append(call)
            elif name in held:
                later += calls
            elif name in program.classes and "__call__" in program.functions:
                later += [c for c in calls if isinstance(c.func, ast.Call)]  # an object called where it is made
        for call in later:
            if (found := program.function(call)) is not None:
                out[found].append(call)

    def wrapped(self, function: ast.AST) -> list[ast.Call]:
        """The calls that a decorator of this file makes of the function that it is put on."""
        if not isinstance(function, FUNCTIONS) or not function.decorator_list:
            return []
        out: list[ast.Call] = []
        for decorator in function.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            made = next(iter(self.program.functions.get(key(name), [])), None)
            inner = [n for n in walk(made) if isinstance(n, FUNCTIONS)] if made is not None else []
            own = {f.args.args[0].arg for f in inner if f.args.args}
            calls = (n for f in inner for s in f.body for n in walk(s) if isinstance(n, ast.Call))
            out += [c for c in dict.fromkeys(calls) if isinstance(c.func, ast.Name) and c.func.id in own]
        return out


def asks(function: Function, ends: list[ast.expr]) -> bool:
    """Whether what a function gives back may depend on what a call tells it."""
    plain = [s for s in function.body if isinstance(s, ast.If)]
    return bool(plain) or any(isinstance(r, ast.IfExp) for r in ends)


def given_back(program: Program, function: Function, call: ast.Call) -> list[ast.expr]:
    """What a call gets back: of branches on what it tells the function in so many words, those that it takes."""
    told = dict(passed(function, call))

    def number(expr: ast.expr) -> object:
        if not isinstance(expr, ast.Name):
            return expr.value if isinstance(expr, ast.Constant) else UNKNOWN
        own = told.get(expr.id) or default(function, expr.id)
        written = len(program.bound.get(function, {}).get(expr.id, ())) == 1
        return own.value if isinstance(own, ast.Constant) and written else UNKNOWN

    def taken(test: ast.expr) -> bool | None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = taken(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            sides = (number(test.left), number(test.comparators[0]))
            same = isinstance(test.ops[0], (ast.Eq, ast.Is))
            return None if UNKNOWN in sides else (sides[0] == sides[1]) is same
        value = number(test)
        return None if value is UNKNOWN else bool(value)

    out: list[ast.expr] = []
    gone: set[ast.AST] = set()
    for statement in function.body:
        side = taken(statement.test) if isinstance(statement, ast.If) else None
        if isinstance(statement, ast.If) and side is not None:
            gone.update(n for s in (statement.orelse if side else statement.body) for n in walk(s))
            left = statement.body if side else statement.orelse
            if left and isinstance(left[-1], ast.Return):
                gone.update(n for s in function.body[function.body.index(statement) + 1 :] for n in walk(s))
                break
    for value in program.returned(function):
        side = taken(value.test) if isinstance(value, ast.IfExp) else None
        if value not in gone:
            out.append(value if side is None else value.body if side else value.orelse)  # type: ignore[attr-defined]
    return out

"""How rules follow a value: to the constructor of what is called, through functions and modules of the same file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import FOLLOWED, FUNCTIONS, Function, Program, key, last, receiver
from ..look import option
from ..rule import View

MOST_RETURNS = 8
"""Return statements of one function that are followed."""


SHAPES = frozenset(
    ("view", "reshape", "squeeze", "unsqueeze", "flatten", "contiguous", "to", "float", "double", "cpu", "cuda",
     "numpy", "tolist", "clone", "detach")
)  # fmt: skip
"""Methods that keep what a value means."""


def peeled(view: View, expr: ast.expr | None, names: frozenset[str]) -> ast.expr | None:
    """What a value is made of behind calls that keep what it means: methods, or functions of one value."""
    program = view.program
    for _ in range(FOLLOWED):
        expr = program.origin(expr) if expr is not None else None
        if not isinstance(expr, ast.Call) or last(program.path(expr.func)) not in names:
            break
        on = receiver(expr)
        of_module = on is None or key(on) in ("np", "numpy", "torch")
        expr = (expr.args[0] if expr.args else None) if of_module else on
    return expr


MOVES = SHAPES | {"eval", "train", "requires_grad_"}


def made(view: View, expr: ast.AST | None) -> ast.Call | None:
    """The call that makes what a name stands for, through `.to()`, `.cuda()`, `.eval()`, `.train()`."""
    value = peeled(view, expr, MOVES)  # pyright: ignore[reportArgumentType]
    return value if isinstance(value, ast.Call) else None


def constructor(view: View, expr: ast.AST | None) -> str:
    """The resolved name of what makes a value."""
    call = made(view, expr)
    return view.program.path(call.func) if call is not None else ""


def returns(function: ast.AST) -> list[ast.expr]:
    """What a function returns, not what functions inside it do."""
    out: list[ast.expr] = []
    waiting = list(getattr(function, "body", []))
    while waiting and len(out) < MOST_RETURNS:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            out.append(node.value)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += [n for n in ast.iter_child_nodes(node) if isinstance(n, (ast.stmt, ast.ExceptHandler))]
    return out


def forward_of(view: View, call: ast.Call) -> Function | None:
    """The `forward` that a call of a module runs, where its class stands in this file."""
    program = view.program
    if not key(call.func) or "def forward" not in program.text:
        return None
    built = made(view, call.func)
    name = last(program.path(built.func)) if built is not None else ""
    for function in program.functions.get("forward", ()):
        owner = program.parent.get(function)
        if name and isinstance(owner, ast.ClassDef) and owner.name == name:
            return function
    return None


def reached(view: View, expr: ast.AST, deep: int = 4) -> Iterator[ast.AST]:
    """The nodes that a value is made from, through names and what functions of this file return."""
    program = view.program
    for node in program.traced(expr, deep):
        yield node
        if isinstance(node, ast.Call) and (function := program.function(node)) is not None:
            for value in returns(function):
                yield from program.traced(value, 3)


def whole(program: Program, node: ast.AST, most: int = 60_000) -> str:
    """The text of the function that a node stands in, or of the program."""
    scope = program.scope(node)
    return program.code(scope, most) if isinstance(scope, FUNCTIONS) else program.text


def given(view: View, call: ast.Call, name: str) -> tuple[bool, object]:
    """(whether an argument is given, its literal value or None)."""
    value = option(view.program, call, name)
    return value is not None, view.program.const(value) if value is not None else None


def opaque(view: View, call: ast.Call, harmless: re.Pattern[str] | None = None) -> bool:
    """Whether a call takes `**options` of which nobody here knows what they are."""
    for value in (k.value for k in call.keywords if k.arg is None):
        source = view.program.origin(value)
        literal = isinstance(source, ast.Dict) or (
            isinstance(source, ast.Call) and view.program.path(source.func) == "dict"
        )
        if not literal and not (harmless is not None and harmless.search(last(key(value)) or view.program.code(value))):
            return True
    return False


def module_calls(view: View, *names: str) -> Iterator[ast.Call]:
    """Calls of these names in the order of the text."""
    yield from sorted(view.program.find(*names), key=lambda c: (c.lineno, c.col_offset))


def class_methods(view: View, node: ast.AST) -> dict[str, Function]:
    """The methods of the class that a node stands in."""
    owner = next((n for n in view.program.up(node) if isinstance(n, ast.ClassDef)), None)
    return {f.name: f for f in owner.body if isinstance(f, FUNCTIONS)} if owner is not None else {}

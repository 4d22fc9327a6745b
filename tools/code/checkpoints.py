"""What a program saves and what it reads back: files, the fields of what is kept, and where they lie."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from .flow import fields, made_of
from .program import FUNCTIONS, Program, argument, key, last, receiver
from .source import walk

if TYPE_CHECKING:
    from .rules.rule import View

MOST_DEEP = 3
"""Functions through which it is followed how often something is done."""
PATHS = (
    "join",
    "Path",
    "str",
    "format",
    "with_suffix",
    "joinpath",
    "expanduser",
    "abspath",
    "parse_args",
    "resolve",
    "getenv",
)
"""Calls that make a path and nothing that differs from time to time."""


class Saved(NamedTuple):
    """One file that is written."""

    call: ast.Call
    path: ast.expr | None
    fields: dict[str, ast.expr]
    """What it holds; a single value under the empty name."""


def saves(view: View) -> Iterator[Saved]:
    """What `save` writes: of torch, of an accelerator or of a library like them."""
    program = view.program
    for call in program.find("save"):
        own = program.path(call.func) == "torch.save" or view.roles.of(receiver(call)) == "accelerator"
        if own and call.args:
            path = argument(call, "f", 1)
            yield Saved(call, opened(program, path) or path, held(program, call.args[0]))
    for call in program.find("dump"):
        pickled = program.path(call.func).partition(".")[0] in ("pickle", "dill", "cloudpickle", "joblib")
        if pickled and len(call.args) > 1:
            yield Saved(call, opened(program, call.args[1]) or call.args[1], held(program, call.args[0]))


def opened(program: Program, handle: ast.expr | None) -> ast.expr | None:
    """The path of a file that is held open."""
    if isinstance(handle, ast.Name):
        found = program.binding(handle)
        handle = found.value if found is not None and found.how in ("with", "assign") else None
    if isinstance(handle, ast.Call) and last(program.path(handle.func)) == "open" and isinstance(handle.func, ast.Name):
        return argument(handle, "file", 0)
    return None


def held(program: Program, state: ast.expr) -> dict[str, ast.expr]:
    """The fields of a state: written out, made by `dict()`, put in one by one, or what a function returns."""
    made = program.origin(state)
    if isinstance(made, ast.Call) and (function := program.function(made)) is not None:
        for value in program.returned(function):
            return held(program, value)
    out = dict(fields(program, made))
    if key(state):
        for scoped in program.bound.values():
            for name, bindings in scoped.items():
                if name.startswith(f"{key(state)}['") and bindings[0].value is not None:
                    out.setdefault(name[len(key(state)) + 2 : -2], bindings[0].value)
    return out or {"": made}


def asked_for_in(expr: ast.AST) -> set[str]:
    """The fields that an expression reads: `x["k"]`, `x.get("k")`, `x.pop("k")`."""
    out: set[str] = set()
    for node in walk(expr):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
            out.add(str(node.slice.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            out |= {str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)}
    return out


def asked_for(program: Program) -> set[str]:
    """All fields that are read anywhere."""
    return asked_for_in(program.tree)


def repeated(view: View, node: ast.AST, deep: int = MOST_DEEP) -> bool:
    """Whether a node is run again and again in a training: in a loop, or in a function that is called in one."""
    program = view.program
    loops = {x for t in view.trainings for x in (t.node, *t.outer)}
    if any(x in loops for x in program.loops(node)) or any(e.node is node for t in view.trainings for e in t.events):
        return True
    scope = program.scope(node)
    if not deep or not isinstance(scope, FUNCTIONS):
        return False
    return any(repeated(view, c, deep - 1) for c in program.callers(scope))


def fixed(program: Program, path: ast.expr, loops: tuple[ast.AST, ...] = ()) -> bool:
    """Whether a path is the same each time, as the program says; a parameter is in its own loops."""
    around = {program.scope(x) for x in loops}
    for node, _, _ in made_of(program, path):
        asked = isinstance(node, ast.Call) and key(receiver(node)).endswith("environ")
        if (
            isinstance(node, ast.Call)
            and not asked
            and last(program.path(node.func)) not in PATHS
            and program.function(node) is None
        ):
            return False
        if isinstance(node, ast.Name) and key(node):
            found = program.bindings(node)
            if any(b.how in ("for", "augment") for b in found):
                return False
            if any(b.how == "parameter" and not program.callers(b.node) and getattr(b.node, "name", "") != "__init__"
                   and b.node not in around for b in found):  # fmt: skip
                return False
    return True


def same_place(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Whether two paths are written alike, names followed."""
    texts = [{program.code(x), program.code(program.origin(x))} for x in (one, other)]
    return bool(texts[0] & texts[1])

"""What is asked of one node of a program: its name, its arguments, what it is called on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from .source import walk

Node = TypeVar("Node", bound=ast.AST)
"""A kind of node."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Binding(NamedTuple):
    """One place that gives a name its value."""

    value: ast.expr | None
    """What it is made of; None for a parameter and an import."""
    node: ast.AST
    """The statement, loop, `with` or function that does it."""
    how: str
    """assign, augment, for, with or parameter."""
    part: int | None = None
    """Which part of the value, where it is taken apart."""


def key(expr: ast.AST | None) -> str:
    """`x`, `self.x`, `batch['labels']`: the name of what can be assigned; empty for anything else."""
    kind = type(expr)  # asked more often than anything else: `isinstance` for each kind costs twice as much
    if kind is ast.Name:
        return expr.id  # type: ignore[union-attr]
    if kind is ast.Attribute:
        base = key(expr.value)  # type: ignore[union-attr]
        return f"{base}.{expr.attr}" if base else ""  # type: ignore[union-attr]
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
        base = key(expr.value)
        return f"{base}[{expr.slice.value!r}]" if base else ""
    return ""


def last(name: str) -> str:
    return name.rpartition(".")[2]


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """An argument by its keyword, or by its place."""
    named = next((k.value for k in call.keywords if k.arg == name), None)
    if named is None and position is not None and len(call.args) > position:
        return call.args[position]
    return named


def receiver(call: ast.Call) -> ast.expr | None:
    """What a method is called on."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def names(expr: ast.AST) -> set[str]:
    """The plain names in an expression."""
    return {n.id for n in walk(expr) if isinstance(n, ast.Name)}


def passed(function: ast.AST, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Parameter -> what a call gives it; `**rest` is given a dictionary of the keywords that no parameter has."""
    if not isinstance(function, FUNCTIONS):
        return
    own = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if own[:1] in (["self"], ["cls"]):
        own = own[1:]
    yield from (
        (name, value) for name, value in zip(own, call.args, strict=False) if not isinstance(value, ast.Starred)
    )
    yield from ((k.arg, k.value) for k in call.keywords if k.arg)
    if (rest := function.args.kwarg) is not None:
        had = {*own, *(a.arg for a in function.args.kwonlyargs)}
        yield rest.arg, _rest(call, had)


def default(function: ast.AST, name: str) -> ast.expr | None:
    """What a parameter is where a call does not give it."""
    if not isinstance(function, FUNCTIONS):
        return None
    own = function.args
    plain = [*own.posonlyargs, *own.args]
    pairs = [*zip(plain[len(plain) - len(own.defaults) :], own.defaults, strict=True)]
    return next((v for a, v in (*pairs, *zip(own.kwonlyargs, own.kw_defaults, strict=True)) if a.arg == name), None)


def _rest(call: ast.Call, had: set[str]) -> ast.Dict:
    """The keywords of a call that are no parameters, as one dictionary: the same one each time."""
    if (made := getattr(call, "rest", None)) is None:
        given = [k for k in call.keywords if k.arg and k.arg not in had]
        made = ast.Dict([ast.copy_location(ast.Constant(k.arg), k) for k in given], [k.value for k in given])
        call.rest = ast.copy_location(made, call)  # type: ignore[attr-defined]
    return made

"""The nodes of a Python program, gone through by the fields that hold some: several times as fast as `ast` does it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

LEAVES = frozenset((ast.Name, ast.Constant, ast.alias, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal))
"""Kinds of nodes that hold none: half of a program."""
PLAIN = frozenset(("ctx", "op", "ops", "kind", "type_comment", "lineno", "id", "attr", "arg"))
"""Fields of a node that hold none with a place in the text."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of the text; faster than what `ast` has."""
    out: list[ast.AST] = []
    for name in _holding(type(node)):
        value = getattr(node, name, None)
        if type(value) is list:
            out += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            out.append(value)
    return out


def walk(top: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, the nearest first; faster than that of `ast`, and without operators and contexts."""
    waiting = [top]
    for node in waiting:
        if type(node) not in LEAVES:
            waiting += children(node)
        yield node


@cache
def _holding(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold others."""
    return () if kind is ast.Constant else tuple(f for f in kind._fields if f not in PLAIN)

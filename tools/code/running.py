"""In which order a program runs its lines, as far as its own calls tell: what is made before what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .program import FUNCTIONS, Function, Program
from .source import children
from .walk import Event

DEEP = 8
"""How deep functions of the same file are followed."""
MOST = 20_000
"""Nodes that are gone through."""


class Running:
    """When each node is run for the first time: the body of the module, functions put where they are called."""

    def __init__(self, program: Program):
        self.program = program
        self.first: dict[ast.AST, int] = {}
        self._entry: dict[ast.AST, int] = {}
        self._count = self._from = 0
        self._block(program.tree, ())
        for function in program.each(*FUNCTIONS):
            if not program.callers(function) and function.name != "__init__":
                self._from += 1  # what another file calls
                self._block(function, (function,))

    def before(self, one: ast.AST, other: ast.AST) -> bool | None:
        """Whether one node is run first before the other is; None where no call leads to one of them."""
        a, b = self.first.get(one), self.first.get(other)
        if a is None or b is None or self._entry[one] != self._entry[other]:
            return None
        return a < b

    def _block(self, top: ast.AST, stack: tuple[Function, ...]) -> None:
        for statement in getattr(top, "body", ()):
            self._node(statement, stack)

    def _node(self, node: ast.AST, stack: tuple[Function, ...]) -> None:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)) or self._count >= MOST:
            return
        for child in children(node):
            self._node(child, stack)
        self._count += 1
        if node not in self.first:
            self.first[node], self._entry[node] = self._count, self._from
        if isinstance(node, ast.Call) and len(stack) < DEEP:
            function = self._called(node)
            if function is not None and function not in stack:
                self._block(function, (*stack, function))

    def _called(self, call: ast.Call) -> Function | None:
        """The function of this file that is called; of a class, the one that makes an object."""
        made = self.program.classes.get(call.func.id) if isinstance(call.func, ast.Name) else None
        return self.program.method(made, "__init__") if made is not None else self.program.function(call)


def place(event: Event, other: Event) -> ast.AST:
    """Where an event happens in the function in which another one happens too: its own node, or the call that leads
    to it."""
    shared = 0
    while shared < min(len(event.calls), len(other.calls)) and event.calls[shared] is other.calls[shared]:
        shared += 1
    return event.calls[shared] if shared < len(event.calls) else event.node


def never_both(program: Program, one: ast.AST, other: ast.AST) -> bool:
    """Whether two places stand in different branches of one question, or of the same one asked twice."""
    first, second = dict(_branches(program, one)), dict(_branches(program, other))
    return any(second.get(asked, side) is not side for asked, side in first.items())


def _branches(program: Program, node: ast.AST) -> Iterator[tuple[str, bool]]:
    """The questions above a place within its function, and whether they are answered with yes there."""
    for test, side, _ in program.guards(node):
        yield from ((program.code(part), yes) for part, yes in parted(test, side))


def parted(test: ast.expr, side: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The questions that a condition joins, each with its answer where the whole has this one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from parted(test.operand, not side)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is side:
        for part in test.values:
            yield from parted(part, side)
    else:
        yield test, side

"""How often, and under which conditions of whose, a line is run: through the calls of its function."""

from __future__ import annotations

import ast

from .flow import made_of
from .program import FUNCTIONS, Program, key, last
from .source import walk

DEEP = 3
JOINED = frozenset(("all_reduce", "all_gather", "all_gather_object", "broadcast", "reduce", "gather",
                    "gather_for_metrics"))  # fmt: skip
"""Calls after which a value is that of all ranks."""


def repeated(program: Program, node: ast.AST, deep: int = DEEP) -> bool:
    """Whether a line is run again and again: in a loop, or in a function that is called in one."""
    if program.loops(node):
        return True
    scope = program.scope(node)
    return bool(deep) and isinstance(scope, FUNCTIONS) and any(
        repeated(program, c, deep - 1) for c in program.callers(scope))  # fmt: skip


def of_the_batch(program: Program, test: ast.expr, loop: ast.AST) -> bool:
    """Whether a condition is about what this rank's batch holds, and the ranks have not agreed on it."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    counted = isinstance(loop.iter, ast.Call) and last(program.path(loop.iter.func)) == "enumerate"
    target = loop.target
    if counted and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    held = {n.id for n in walk(target) if isinstance(n, ast.Name)}
    used = list(made_of(program, test, (), 3))
    if any(isinstance(s.node, ast.Call) and last(program.path(s.node.func)) in JOINED for s in used):
        return False
    names = {key(s.node) for s in used if isinstance(s.node, (ast.Name, ast.Attribute))} - {""}
    agreed = {key(a) for c in program.find(*JOINED) for a in c.args}
    return bool(names & held) and not names & agreed

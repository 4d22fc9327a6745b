"""Rows that are drawn to stand in a prompt, and what of a prompt is cut."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast

from ...program import FUNCTIONS, Binding, Program, key, last, receiver


def partial(program: Program, expr: ast.expr) -> bool:
    """Whether rows, or places of rows, are the first few or some that were drawn."""
    if isinstance(expr, ast.Subscript):
        return isinstance(expr.slice, ast.Slice) and expr.slice.lower is None and expr.slice.upper is not None
    name = last(program.path(expr.func)) if isinstance(expr, ast.Call) else ""
    if name == "range" and isinstance(expr, ast.Call):
        return len(expr.args) == 1 and not isinstance(expr.args[0], ast.Call)
    if name in ("select", "take", "head") and isinstance(expr, ast.Call) and expr.args:
        first = expr.args[0]
        return name != "select" or (isinstance(first, ast.Call) and key(first.func) == "range" and (
            len(first.args) == 1 or program.const(first.args[0]) == 0))  # fmt: skip
    return name in ("sample", "choices", "choice", "islice")


def drawn_for_text(program: Program, name: str, binding: Binding) -> bool:
    """Whether a few rows are drawn and joined to one text, none of them left out for being the one that is asked."""
    if binding.value is None or not partial(program, binding.value):
        return False
    scope = program.scope(binding.node)
    if not isinstance(scope, FUNCTIONS):
        return False
    own = [n for n in program.within(scope, ast.comprehension) if key(n.iter) == name
           and not shown(program, n)]  # fmt: skip
    joined = [n for n in own if any((isinstance(a, ast.Call) and last(key(a.func)) == "join") or _joins(a)
                                    for a in program.up(n))]  # fmt: skip
    left_out = any(isinstance(n, ast.Call) and last(program.path(n.func)) in ("remove", "pop") and key(receiver(n)) == name
                   for n in program.within(scope))  # fmt: skip
    told_apart = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn))
                     for n in program.within(scope))  # fmt: skip
    return bool(joined) and not left_out and not told_apart and not any(n.ifs for n in own)


SHOWS = ("print", "info", "debug", "warning", "log", "write", "add_text", "echo")


def shown(program: Program, node: ast.AST) -> bool:
    """Whether a text is for people: printed, or written to a log."""
    calls = (a for a in program.up(node) if isinstance(a, ast.Call))
    return any(last(key(c.func)) in SHOWS for c in calls)


def _joins(node: ast.AST) -> bool:
    """`"".join(...)`, of which the text that joins has no name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"

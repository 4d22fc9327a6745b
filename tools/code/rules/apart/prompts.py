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
    return name in ("sample", "choices", "choice")


def drawn_for_text(program: Program, name: str, binding: Binding) -> bool:
    """Whether a few rows are drawn and joined to one text, none of them left out for being the one that is asked."""
    if binding.value is None or not partial(program, binding.value):
        return False
    scope = program.scope(binding.node)
    if not isinstance(scope, FUNCTIONS):
        return False
    own = [n for n in program.within(scope) if isinstance(n, ast.comprehension) and key(n.iter) == name]
    joined = [n for n in own if any((isinstance(a, ast.Call) and last(key(a.func)) == "join") or _joins(a)
                                    for a in program.up(n))]  # fmt: skip
    left_out = any(isinstance(n, ast.Call) and last(program.path(n.func)) in ("remove", "pop") and key(receiver(n)) == name
                   for n in program.within(scope))  # fmt: skip
    told_apart = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn))
                     for n in program.within(scope))  # fmt: skip
    return bool(joined) and not left_out and not told_apart and not any(n.ifs for n in own)


def _joins(node: ast.AST) -> bool:
    """`"".join(...)`, of which the text that joins has no name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"

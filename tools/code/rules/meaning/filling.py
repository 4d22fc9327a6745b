"""Where a mask decides what a value is filled with, and which masks a mask is the common part of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...program import Program, argument, key, receiver


def filled_by_mask(program: Program) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, str]]:
    """(where, the mask, with what, the name of what is filled): `x[m] = v`, `x.masked_fill(m, v)`, `where(m, v, x)`."""
    for node in program.each(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name):
            yield node, target.slice, node.value, key(target.value)
    for call in program.find("masked_fill", "masked_fill_"):
        value = argument(call, "value", 1)
        if call.args and value is not None:
            yield call, call.args[0], value, key(receiver(call))
    for call in program.find("where"):
        if len(call.args) == 3:
            yield call, call.args[0], call.args[1], key(call.args[2])


def mask_token(program: Program, value: ast.expr) -> bool:
    """Whether a value is the token that stands for a masked one."""
    return "mask_token" in program.code(value) or "mask_token" in program.code(program.origin(value))


def parts_of(program: Program, mask: ast.expr) -> set[str]:
    """The names of a mask and of those that it is the common part of."""
    made = program.origin(mask) if isinstance(mask, ast.Name) else mask
    out = {key(mask)}
    while isinstance(made, ast.BinOp) and isinstance(made.op, ast.BitAnd):
        out.add(key(made.right))
        made = made.left
    return (out | {key(made)}) - {""}

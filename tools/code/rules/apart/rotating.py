"""Old checkpoints that are all deleted before the new one stands."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last
from ..rule import Fault, View

LISTS = frozenset(("glob", "rglob", "listdir", "iterdir", "scandir"))
DELETES = ("rmtree", "remove", "unlink", "rmdir")
WRITES = ("save", "save_pretrained", "save_state", "save_checkpoint", "save_file", "save_model", "dump")
MANY = 10
"""As many checkpoints as lie there, to see how many are left."""


def rotated_first(view: View) -> Iterator[Fault]:
    """A store that makes room before it writes, and keeps but one: for a while there is none."""
    program = view.program
    for call in program.find(*DELETES):
        loop = next((x for x in program.loops(call) if isinstance(x, ast.For)), None)
        if loop is None or program.guards(call) or not _all_of_them(program, loop.iter):
            continue
        for site in _sites(program, loop):
            scope = program.scope(site)
            nodes = program.within(scope) if isinstance(scope, FUNCTIONS) else []
            writes = [n for n in nodes if isinstance(n, ast.Call) and last(program.path(n.func)) in WRITES]
            later = [n for n in writes if n.lineno > getattr(site, "lineno", 0)]
            before = [n for n in writes if n.lineno < loop.lineno]
            if later and not (before and scope is program.scope(loop)):
                yield Fault(call, "the old checkpoints are deleted before the new one is written: a killed job leaves none",
                            "先删除所有旧检查点再写新的：此时被杀就什么都不剩", severity="S2", beside=(later[0],))  # fmt: skip
                return


def _sites(program: Program, loop: ast.For) -> list[ast.AST]:
    """The loop, and the calls of the function that does nothing but it."""
    scope = program.scope(loop)
    called = list(program.callers(scope)) if isinstance(scope, FUNCTIONS) and not program.returned(scope) else []
    return [loop, *called]


def _all_of_them(program: Program, over: ast.expr) -> bool:
    """Whether all checkpoints of a folder are gone through: the whole listing, or a part of it that leaves none."""
    if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice):
        cut = over.slice
        if cut.lower is not None or cut.step is not None or cut.upper is None:
            return False
        upper = _number(program, cut.upper)
        return _listed(program, over.value) and upper is not None and upper >= MANY
    return _listed(program, over) and isinstance(over, (ast.Call, ast.Name))


def _listed(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a listing of checkpoints, of which nothing is chosen."""
    nodes = [n for n, _, _ in made_of(program, expr, (), 4)]
    listed = any(isinstance(n, ast.Call) and last(program.path(n.func)) in LISTS for n in nodes)
    words = " ".join(str(n.value) for n in nodes if isinstance(n, ast.Constant)) + program.code(expr)
    cut = any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) for n in nodes)
    chosen = any(isinstance(n, ast.Compare) for n in nodes)
    return (
        listed and not cut and not chosen and bool(re.search(r"ckpt|check_?point|step|epoch|state|\.pt\b", words, re.I))
    )


def _number(program: Program, expr: ast.expr) -> float | None:
    """What a bound of a cut is where there are many: `len(x) - keep + 1`, `max(0, len(x) - keep)`."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
        sides = [_number(program, s) for s in (expr.left, expr.right)]
        if None in sides:
            return None
        return sides[0] + sides[1] if isinstance(expr.op, ast.Add) else sides[0] - sides[1]  # type: ignore[operator]
    if isinstance(expr, ast.Call) and key(expr.func) in ("max", "min", "len"):
        if key(expr.func) == "len":
            return MANY
        given = [_number(program, a) for a in expr.args]
        return None if None in given or not given else (max if key(expr.func) == "max" else min)(given)  # type: ignore[type-var]
    value = program.usually(expr)
    return value if isinstance(value, (int, float)) else None

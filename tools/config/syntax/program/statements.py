"""What a statement of a Python program gives a value, and which statements are always run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....patterns import bounded

COUNTER = bounded(r"(?i)(?:\w{1,20}_)?(?:steps?|iters?|iterations?|updates?|batch_idx|it)|i")
"""Names of what counts the steps of a loop."""
PRINTS = re.compile(r"(?i)^(?:print|log|log_metrics|info|add_scalar|write|set_postfix)$")
"""Last parts of calls that tell how a training goes."""


def named(node: ast.AST) -> list[str]:
    return [node.id] if isinstance(node, ast.Name) else []


def as_float(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def is_main(node: ast.If) -> bool:
    """`if __name__ == "__main__":`."""
    return (
        isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Name) and node.test.left.id == "__name__"
    )


def straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that are always run, with those below its guard."""
    for node in body:
        if isinstance(node, ast.If) and is_main(node):
            yield from node.body
        else:
            yield node


def assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement gives a value, each with its own."""
    if isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        return
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            parts = zip(target.elts, node.value.elts, strict=False)
            yield from ((t.id, v) for t, v in parts if isinstance(t, ast.Name))


def every_steps(test: ast.expr) -> ast.expr | None:
    """`50` of the test `step % 50 == 0`, and of `not step % 50`; None for any other test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        left: ast.expr = test.operand
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        right = test.comparators[0]
        if not isinstance(right, ast.Constant) or right.value != 0:
            return None
        left = test.left
    else:
        return None
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Mod):
        return None
    counted = [n.id for n in ast.walk(left.left) if isinstance(n, ast.Name)]
    counted += [n.attr for n in ast.walk(left.left) if isinstance(n, ast.Attribute)]
    return left.right if any(COUNTER.fullmatch(name) for name in counted) else None


def prints(body: list[ast.stmt]) -> bool:
    """Whether the first statements of a branch tell how the training goes, and neither save nor evaluate."""
    calls = [n for node in body[:6] for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "") for n in calls]
    return any(PRINTS.match(name) for name in names) and not any(
        re.search(r"save|eval|valid|generate", n) for n in names
    )

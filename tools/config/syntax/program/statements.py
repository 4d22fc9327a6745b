"""What a statement of a Python program gives a value, and which statements are always run."""

from __future__ import annotations

import ast
from collections.abc import Iterator


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

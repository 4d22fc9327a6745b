"""The value of an expression in a Python program, worked out from its text and the constants of the same file."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ...values import PRECISIONS

Plain = str | float | bool
DEEPEST = 12
"""Names and operations that are followed below one value."""
LARGEST = 1e18
"""A larger number is no setting, and none that is worked out may grow beyond it."""
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "milliseconds": 1e-3}
"""Keyword of `timedelta` -> seconds; its positional arguments are days and seconds."""
ENVIRONMENT = ("os.environ.get", "environ.get", "os.getenv", "getenv")
"""Calls whose second argument is what holds where the environment says nothing."""
DEFAULTED = ("field", "Field", "ib", "attrib", "Option", "Argument", "Factory")
"""Calls of dataclasses, attrs, pydantic and typer that hold the default of a field."""


class Names:
    """What the constants of a file are called: `LR`, and `cfg["lr"]` or `cfg.lr` of a literal configuration."""

    def __init__(self) -> None:
        self.known: dict[str, ast.expr] = {}
        self.held: dict[str, Mapping[str, ast.expr]] = {}

    def get(self, node: ast.expr) -> ast.expr | None:
        """What a name, `name["key"]` or `name.key` stands for; None where that is not said in this file."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        key = None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
        elif isinstance(node, ast.Attribute):
            key = node.attr
        holder = getattr(node, "value", None)
        if not isinstance(holder, ast.Name) or not isinstance(key, str):
            return None
        return self.held.get(holder.id, {}).get(key)


NONE = Names()


def called(node: ast.Call) -> str:
    """The last part of what is called: `Config` in `Trainer.Config(...)`."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def attributes(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; empty where it does not start with a plain name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def keyword(node: ast.Call, *names: str) -> ast.expr | None:
    """The argument under the first of these keywords that is given."""
    return next((k.value for name in names for k in node.keywords if k.arg == name), None)


def defaulted(node: ast.expr) -> ast.expr:
    """The default inside `field(default=...)`, `Field(3, ge=1)`, `field(default_factory=lambda: ...)`; else itself."""
    if not isinstance(node, ast.Call) or called(node) not in DEFAULTED:
        return node
    if factory := keyword(node, "default_factory", "factory"):
        return factory.body if isinstance(factory, ast.Lambda) else node
    return keyword(node, "default") or (node.args[0] if node.args else node)


def constant(node: ast.expr, names: Names = NONE, depth: int = 0) -> Plain | None:
    """A number, string, yes/no, number format (`torch.bfloat16`) or pair of fractions (betas); None if not visible."""
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int, float, bool)) else None
    if isinstance(node, ast.Attribute) and (path := ".".join(attributes(node))) in PRECISIONS:
        return path
    if (meant := names.get(node)) is not None:
        return constant(meant, names, depth + 1)
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
        pair = [constant(one, names, depth + 1) for one in node.elts]
        return f"({pair[0]}, {pair[1]})" if _fractions(pair) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand, names, depth + 1)
        return -inner if isinstance(inner, int | float) and _number(inner) else None
    if isinstance(node, ast.BinOp):
        return _operation(node, names, depth + 1)
    return _call(node, names, depth + 1) if isinstance(node, ast.Call) else None


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fractions(pair: list[Any]) -> bool:
    """Whether two values can be Adam's betas: numbers from 0 to 1, one of them at least with a decimal point."""
    return all(_number(one) and 0 <= one <= 1 for one in pair) and any(isinstance(one, float) for one in pair)


def _operation(node: ast.BinOp, names: Names, depth: int) -> float | None:
    left, right = constant(node.left, names, depth), constant(node.right, names, depth)
    operation = OPERATIONS.get(type(node.op))
    if operation is None or not (_number(left) and _number(right)):
        return None
    if isinstance(node.op, (ast.Pow, ast.LShift, ast.RShift)) and not (abs(right) <= 64 and abs(left) <= 1e6):  # type: ignore[operator]
        return None
    try:
        value = operation(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if _number(value) and abs(value) <= LARGEST else None


def _call(node: ast.Call, names: Names, depth: int) -> Plain | None:
    """`int(1e4)`, `float("3e-4")`, `timedelta(minutes=45)` in seconds, the fallback of `os.environ.get`."""
    name = called(node)
    if name == "timedelta":
        return _seconds(node, names, depth)
    if ".".join(attributes(node.func)) in ENVIRONMENT and len(node.args) == 2:
        return constant(node.args[1], names, depth)
    if name not in ("int", "float", "round", "str", "bool") or len(node.args) != 1 or node.keywords:
        return None
    value = constant(node.args[0], names, depth)
    if value is None or name in ("str", "bool"):
        return value
    try:
        number = float(value)
        return int(number) if name != "float" else number
    except (ValueError, OverflowError):
        return None


def _seconds(node: ast.Call, names: Names, depth: int) -> float | None:
    parts = [*zip(("days", "seconds"), node.args, strict=False), *((k.arg or "", k.value) for k in node.keywords)]
    said = [(SECONDS.get(unit), constant(value, names, depth)) for unit, value in parts]
    if not said or any(unit is None or not _number(value) for unit, value in said):
        return None
    return sum(unit * value for unit, value in said)  # type: ignore[operator,misc]

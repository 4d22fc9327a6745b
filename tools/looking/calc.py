"""Checked arithmetic: numbers with units in, one number with its unit out. Nothing is run but what is written here.

Units are counted, so that seconds and bytes cannot be added; a word that is no known unit is a unit of its own.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..findings import TriageError, clean
from ..patterns import bounded

LONGEST, DEEPEST, LARGEST = 300, 40, 1e6
"""Characters of an expression, depth of its tree, and the largest exponent."""
SECONDS = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
           "hr": 3600.0, "hour": 3600.0, "d": 86400.0, "day": 86400.0}  # fmt: skip
BYTES = {f"{p}B": 1000.0**i for i, p in enumerate(("", "k", "M", "G", "T", "P"))} | {
    f"{p}iB": 1024.0**i for i, p in enumerate(("", "K", "M", "G", "T", "P")) if i
} | {"KB": 1e3, "byte": 1.0}  # fmt: skip
COUNTS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "%": 0.01, "万": 1e4, "亿": 1e8}
"""Letters directly behind a number."""
_NUMBER = bounded(r"(?<![\w.])(\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%万亿]+)?")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "round": round, "sqrt": math.sqrt, "log": math.log, "log2": math.log2,
    "log10": math.log10, "exp": math.exp, "ceil": math.ceil, "floor": math.floor,
}  # fmt: skip
OPERATIONS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """A number and the powers of its units."""

    value: float
    units: dict[str, int] = field(default_factory=dict)

    def said(self) -> str:
        """`4.19e+06 tokens`, `2 h`: seconds and bytes in the size that people read."""
        value, units = self.value, dict(self.units)
        text = f"{value:.10g}"
        if units == {"s": 1} and abs(value) >= 120:
            return f"{text} s ({value / 3600:.4g} h)"
        if units == {"B": 1} and abs(value) >= 1e6:
            return f"{text} B ({value / 1024**3:.4g} GiB, {value / 1e9:.4g} GB)"
        over = "·".join(f"{u}^{n}" if n > 1 else u for u, n in units.items() if n > 0)
        under = "·".join(f"{u}^{-n}" if n < -1 else u for u, n in units.items() if n < 0)
        return f"{text} {over}{'/' + under if under else ''}".strip()


def calc(expression: str) -> Amount:
    """What an expression comes to.

    Raises:
        TriageError: it is too long, not arithmetic, adds different units, or has no finite value.
    """
    if len(expression) > LONGEST:
        raise TriageError(f"over the limit of {LONGEST} characters for an expression")
    amounts: list[Amount] = []

    def named(number: str, unit: str) -> str:
        amounts.append(_amount(float(number.replace(",", "").replace("_", "")), unit))
        return f" _{len(amounts) - 1} "

    text = expression.replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-")
    text = _NUMBER.sub(lambda m: named(m[1], m[2] or ""), text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        result = _value(tree, amounts, 0)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise TriageError(f"{clean(expression, 80)}: not arithmetic; numbers, + - * / ** ( ) and units only") from None
    except (ArithmeticError, OverflowError) as error:
        raise TriageError(f"{clean(expression, 80)}: {error}") from None
    if isinstance(result.value, complex) or not math.isfinite(result.value):
        raise TriageError(f"{clean(expression, 80)}: has no finite value")
    return result


def _amount(value: float, unit: str) -> Amount:
    one = unit[:-1] if unit.endswith("s") and unit not in SECONDS else unit
    if unit in COUNTS:
        return Amount(value * COUNTS[unit])
    for table, base in ((SECONDS, "s"), (BYTES, "B")):
        for name in (unit, one):
            if name in table:
                return Amount(value * table[name], {base: 1})
    return Amount(value, {one: 1} if one else {})


def _value(node: ast.AST, amounts: list[Amount], depth: int) -> Amount:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    match node:
        case ast.Name(id=name) if name.startswith("_") and name[1:].isdigit():
            return amounts[int(name[1:])]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            one = _value(inner, amounts, depth + 1)
            return Amount(-one.value, one.units) if isinstance(node.op, ast.USub) else one
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return _operated(op, _value(left, amounts, depth + 1), _value(right, amounts, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            given = [_value(a, amounts, depth + 1) for a in args]
            kept = given[0].units if name in ("min", "max", "abs", "round", "ceil", "floor") else {}
            return Amount(float(FUNCTIONS[name](*(g.value for g in given[:8]))), kept)
    raise ValueError("not arithmetic")


def _operated(op: ast.AST, a: Amount, b: Amount) -> Amount:
    if isinstance(op, ast.Pow):
        if b.units or abs(b.value) > LARGEST:
            raise TriageError("the exponent is too large or has a unit")
        return Amount(a.value**b.value, {u: round(n * b.value) for u, n in a.units.items()})
    if isinstance(op, (ast.Mult, ast.Div, ast.FloorDiv)):
        sign = 1 if isinstance(op, ast.Mult) else -1
        units = {u: a.units.get(u, 0) + sign * b.units.get(u, 0) for u in a.units | b.units}
        return Amount(OPERATIONS[type(op)](a.value, b.value), {u: n for u, n in units.items() if n})
    if a.units != b.units and a.units and b.units:
        raise TriageError(f"{a.said()} and {b.said()} have different units")
    return Amount(OPERATIONS[type(op)](a.value, b.value), a.units or b.units)

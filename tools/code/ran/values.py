"""What a condition of a program is in this run: by literals, names that stand for one, defaults and settings."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..program import Binding, Program, argument, default, key, last, passed, receiver
from ..rules.look import RANK
from .known import Known, Said, Unknown

FOLLOWED = 6
"""Names that a value is followed back through."""
STATE: Said = (Unknown.STATE, False)
ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.eq, ast.IsNot: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: operator.contains(b, a), ast.NotIn: lambda a, b: not operator.contains(b, a),
}  # fmt: skip
CASTS = frozenset(("bool", "int", "float", "str"))
SWITCHED = {"store_true": False, "store_false": True}


class Values:
    """What the expressions of one program are."""

    def __init__(self, program: Program, known: Known):
        self.program = program
        self.known = known

    def of(self, expr: ast.expr, left: int = FOLLOWED) -> Said:
        """The value, or why it is not known."""
        if isinstance(expr, ast.Constant):
            return expr.value, True
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, (ast.Not, ast.USub)):
            value, sure = self.of(expr.operand, left)
            if isinstance(value, Unknown):
                return value, sure
            if isinstance(expr.op, ast.Not):
                return not value, sure
            return (-value, sure) if isinstance(value, (int, float)) else STATE
        if isinstance(expr, ast.BoolOp):
            return self._joined([self.of(v, left) for v in expr.values], isinstance(expr.op, ast.Or))
        if isinstance(expr, ast.Compare) and len(expr.ops) == 1:
            return self._compared(type(expr.ops[0]), self.of(expr.left, left), self.of(expr.comparators[0], left))
        if isinstance(expr, (ast.Tuple, ast.List, ast.Set)):
            parts = [self.of(e, left) for e in expr.elts]
            whole = not any(isinstance(v, Unknown) for v, _ in parts)
            return (tuple(v for v, _ in parts), all(s for _, s in parts)) if whole else STATE
        if isinstance(expr, ast.Call) and key(expr.func) in CASTS and len(expr.args) == 1:
            value, sure = self.of(expr.args[0], left)
            return (bool(value), sure) if key(expr.func) == "bool" and not isinstance(value, Unknown) else (value, sure)
        return self._named(expr, left) if left else STATE

    def _joined(self, parts: list[Said], wins: bool) -> Said:
        """`and`, or `or`, of which one part that says so decides."""
        decides = [sure for value, sure in parts if not isinstance(value, Unknown) and bool(value) is wins]
        if decides:
            return wins, any(decides)
        unknown = [value for value, _ in parts if isinstance(value, Unknown)]
        asked = Unknown.SETTING if Unknown.SETTING in unknown else Unknown.STATE
        return (asked, False) if unknown else (not wins, all(sure for _, sure in parts))

    def _compared(self, how: type[ast.cmpop], one: Said, other: Said) -> Said:
        for value in (one[0], other[0]):
            if isinstance(value, Unknown):
                return (Unknown.STATE if Unknown.STATE in (one[0], other[0]) else value), False
        try:
            return bool(ORDERS[how](one[0], other[0])), one[1] and other[1]
        except (TypeError, KeyError):
            return STATE

    def _named(self, expr: ast.expr, left: int) -> Said:
        """What a name, a field or an entry is."""
        path = ".".join(self._path(expr))
        if not path or RANK.search(path):
            return STATE
        bound = self.program.bindings(expr)
        if isinstance(expr, ast.Name) and path in self._set_outside:
            return STATE
        if bound:
            said = self._bound(bound, path, left)
            return said if isinstance(expr, ast.Name) else (said[0], False)
        own = isinstance(expr, ast.Attribute) and key(expr.value) in ("self", "cls")
        if own or last(path) in self._set:
            return STATE
        told, name = self.known.setting(path), last(path)
        if name in self.program.defaults and (told is None or not (told[1] or isinstance(told[0], Unknown))):
            made = self.program.defaults[name]
            return self.of(made, left - 1)[0] if made is not None else self._switches.get(name), False
        return told or STATE

    def _path(self, expr: ast.expr) -> list[str]:
        """The keys by which a value is asked for, without the name of what is asked where there is one."""
        if isinstance(expr, ast.Name):
            return [expr.id]
        if isinstance(expr, ast.Attribute):
            on, name = expr.value, expr.attr
        elif isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
            on, name = expr.value, str(expr.slice.value)
        elif isinstance(expr, ast.Call) and (asked := _asked(expr)) is not None:
            on, name = asked
        else:
            return []
        return [*(self._path(on) if not isinstance(on, ast.Name) else ()), name]

    def _bound(self, bound: list[Binding], name: str, left: int) -> Said:
        """What one place alone gives a name, whatever happens before it."""
        only = bound[0]
        if len(bound) > 1:
            return STATE
        if only.how == "parameter":
            return self._given(only, name, left)
        program = self.program
        if only.how != "assign" or only.part is not None or only.value is None:
            return STATE
        if program.guards(only.node) or program.loops(only.node):
            return STATE
        if isinstance(only.value, ast.Constant) and (told := self.known.setting(name)) and told[1]:
            return told  # a program may take the values of its own names from the command line
        value, sure = self.of(only.value, left - 1)
        return value, sure and not program.mentions("exec(", "globals(", "setattr(")

    def _given(self, bound: Binding, name: str, left: int) -> Said:
        """What every call of this file gives a parameter."""
        calls = self.program.callers(bound.node)
        if not calls or any(k.arg is None for c in calls for k in c.keywords) or any(
            isinstance(a, ast.Starred) for c in calls for a in c.args):  # fmt: skip
            return STATE
        given = [dict(passed(bound.node, c)).get(name) or default(bound.node, name) for c in calls]
        said = {self.of(v, left - 1) if v is not None else STATE for v in given}
        return next(iter(said)) if len(said) == 1 else STATE

    @cached_property
    def _set(self) -> frozenset[str]:
        """The last parts of fields that the program gives a value."""
        return frozenset(last(name) for names in self.program.bound.values() for name in names if "." in name)

    @cached_property
    def _set_outside(self) -> frozenset[str]:
        """Names of the module that a function gives a value."""
        return frozenset(name for node in self.program.each(ast.Global) for name in node.names)

    @cached_property
    def _switches(self) -> dict[str, bool]:
        """Options without a value -> what they are where nobody gives them."""
        out: dict[str, bool] = {}
        for call in self.program.find("add_argument"):
            action, dest = (given.value if isinstance(given := argument(call, name), ast.Constant) else None
                            for name in ("action", "dest"))  # fmt: skip
            words = [str(a.value) for a in call.args if isinstance(a, ast.Constant)]
            if words and action in SWITCHED:
                out[str(dest or words[-1].lstrip("-").replace("-", "_"))] = SWITCHED[str(action)]
        return out


def _asked(call: ast.Call) -> tuple[ast.expr, str] | None:
    """`cfg.get("amp")`, `getattr(args, "amp")`: of what, and which."""
    on = receiver(call) if last(key(call.func)) == "get" else call.args[0] if key(call.func) == "getattr" else None
    place = 1 if key(call.func) == "getattr" else 0
    name = call.args[place] if len(call.args) > place else None
    return (on, str(name.value)) if on is not None and isinstance(name, ast.Constant) else None

"""Where a value comes from, through functions and methods of the same file, fields, parts and loops.

A value is followed back with the calls that it came through, so that a parameter stands for what that very call gives;
where no call is known, for what every call of this file gives. On the way it is noted whether the graph was cut.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .program import FUNCTIONS, Binding, Program, key, last, passed, receiver
from .source import children

MOST = 500
"""Nodes that are looked at when one value is followed."""
DEEP = 8
"""Names and calls that it is followed through."""
MOST_CALLERS = 4
CUTS = frozenset((
    "item", "detach", "detach_", "tolist", "numpy", "argmax", "isfinite", "isnan", "reduce_mean", "zeros_like",
    "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "eye", "arange",
))  # fmt: skip
PLAIN_CUTS = frozenset(("float", "int", "len", "str", "round"))
"""Calls behind which there is no graph."""
CLOSED = ("no_grad", "inference_mode", "no_grad()", "inference_mode()")


class Source(NamedTuple):
    """One node that a value is made of."""

    node: ast.AST
    cut: bool
    """Whether the graph ends between it and the value."""
    calls: tuple[ast.Call, ...]
    """The calls of functions of this file in which it stands, the innermost last."""


Waiting = tuple[ast.AST, bool, tuple[ast.Call, ...], int]


def made_of(program: Program, expr: ast.AST, calls: tuple[ast.Call, ...] = (), deep: int = DEEP,
            kept: bool = True, asked: frozenset[str] = frozenset()) -> Iterator[Source]:  # fmt: skip
    """The nodes that a value is made of, nearest first; not what an object has kept from before, unless `kept`; not
    behind the names of what is only `asked` for a number or a word."""
    waiting: list[Waiting] = [(expr, closed(program, expr), calls, deep)]
    seen: set[tuple[int, bool, int]] = set()
    at = 0
    while at < len(waiting) and at < MOST:
        node, cut, through, left = waiting[at]
        at += 1
        mark = (id(node), cut, id(through[-1]) if through else 0)
        if mark in seen:
            continue
        seen.add(mark)
        yield Source(node, cut, through)
        if asked and last(key(node)) in asked:
            continue
        if isinstance(node, ast.Call):
            waiting += _call(program, node, cut, through, left)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if not kept and not _of_now(program, node):
                continue
            waiting += _name(program, node, cut, through, left)
        elif isinstance(node, ast.Compare):
            waiting += [(n, True, through, left) for n in children(node) if isinstance(n, ast.expr)]
        elif isinstance(node, ast.IfExp):
            waiting += [(n, cut, through, left) for n in (node.body, node.orelse)]
        elif isinstance(node, ast.comprehension) and isinstance(node.target, ast.Tuple):
            continue  # its parts are followed by their names
        elif not isinstance(node, (ast.Lambda, *FUNCTIONS, ast.ClassDef)):
            waiting += [(n, cut, through, left) for n in children(node) if isinstance(n, (ast.expr, ast.comprehension))]


def _of_now(program: Program, node: ast.expr) -> bool:
    """Whether a value is no attribute of `self`, or one that its own function sets."""
    if not key(node).startswith("self."):
        return True
    scope = program.scope(node)
    return any(program.scope(b.node) is scope and b.how == "assign" for b in program.bindings(node))


def closed(program: Program, node: ast.AST) -> bool:
    """Whether a node is run without gradients, as its own function tells."""
    return any(last(c) in CLOSED for c in program.contexts(node))


def _call(program: Program, node: ast.Call, cut: bool, through: tuple[ast.Call, ...], left: int) -> Iterator[Waiting]:
    name = last(program.path(node.func))
    cut = cut or name in CUTS or (isinstance(node.func, ast.Name) and name in PLAIN_CUTS)
    function = program.function(node)
    if function is not None and left and node not in through and (ends := program.ends(node)):
        for value in ends:
            yield value, cut or closed(program, value), (*through, node), left - 1
        return
    if (on := receiver(node)) is not None:
        yield on, cut, through, left
    elif isinstance(node.func, ast.Name) and function is None and program.bindings(node.func):
        yield node.func, cut, through, left  # an object that is called
    yield from ((n, cut, through, left) for n in (*node.args, *(k.value for k in node.keywords)))


def _name(program: Program, node: ast.expr, cut: bool, through: tuple[ast.Call, ...], left: int) -> Iterator[Waiting]:
    if isinstance(node, ast.Attribute) and node.attr in ("data", "shape", "device", "dtype", "ndim"):
        cut = True
    found = program.binding(node) if left and key(node) else None
    if found is None:
        if isinstance(node, ast.Attribute) and left and (made := program.kind(node.value)) is not None:
            for own in program.bound.get(made, {}).get(f"self.{node.attr}", ()):
                if own.value is not None:
                    yield own.value, cut, (), left - 1
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            yield _field(program, node) or node.value, cut, through, left
        return
    if found.how == "parameter":
        yield from _given(program, found, key(node), cut, through, left)
        return
    raised = [b for b in program.bindings(node) if b.how == "augment"] if found.how != "augment" else []
    for value in program.put_into(node):
        yield value, cut or closed(program, value), through, left - 1
    for binding in (found, *raised):
        made = binding.value
        if binding.part is not None and binding.how == "assign" and isinstance(made, ast.Call) and (
            program.function(made)) is not None and (ends := program.ends(made)):  # fmt: skip
            for end in ends:
                own = end.elts[binding.part] if isinstance(end, ast.Tuple) and binding.part < len(end.elts) else end
                yield own, cut or closed(program, own) or closed(program, made), (*through, made), left - 1
        elif binding.value is not None:
            value = part(program, binding)
            yield value, cut or closed(program, binding.node), through, left - 1


def _field(program: Program, node: ast.expr) -> ast.expr | None:
    """`x` of `d["k"]` where `d` is a dictionary that is written out."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    made = program.origin(node.value)
    return fields(program, made).get(str(node.slice.value)) if made is not node.value else None


def fields(program: Program, made: ast.AST | None) -> dict[str, ast.expr]:
    """Key -> value of a dictionary, written out or made by `dict()`."""
    if isinstance(made, ast.Dict):
        pairs = zip(made.keys, made.values, strict=True)
        return {str(k.value): v for k, v in pairs if isinstance(k, ast.Constant)}
    if isinstance(made, ast.Call) and program.path(made.func) == "dict":
        return {k.arg: k.value for k in made.keywords if k.arg}
    return {}


def written(program: Program, expr: ast.AST, calls: tuple[ast.Call, ...] = (), deep: int = DEEP) -> str:
    """A value as its names stand for, in one way of writing: two that are computed alike have the same."""
    if isinstance(expr, ast.Call):
        same = last(program.path(expr.func)) in ("detach", "clone") and not expr.args
        if same and (on := receiver(expr)) is not None:
            return written(program, on, calls, deep)
        function = program.function(expr) if deep and expr not in calls else None
        ends = program.returned(function) if function is not None and len(function.body) < 3 else []
        if len(ends) == 1 and isinstance(ends[0], ast.Call) and len(calls) < DEEP:
            return written(program, ends[0], (*calls, expr), deep - 1)  # a function that only calls another
        given = [written(program, a, calls, deep) for a in expr.args]
        given += sorted(f"{k.arg}={written(program, k.value, calls, deep)}" for k in expr.keywords)
        return f"{written(program, expr.func, calls, deep)}({', '.join(given)})"
    if isinstance(expr, (ast.Name, ast.Attribute)) and deep:
        found = program.binding(expr)
        if found is not None and found.how == "assign" and found.part is None and found.value is not None:
            return written(program, found.value, calls, deep - 1)
        if found is not None and found.how == "parameter" and calls:
            pairs = passed(found.node, calls[-1]) if program.function(calls[-1]) is found.node else ()
            if (value := next((v for own, v in pairs if own == key(expr)), None)) is not None:
                return written(program, value, calls[:-1], deep)
    if isinstance(expr, ast.Attribute):
        return f"{written(program, expr.value, calls, deep)}.{expr.attr}"
    if isinstance(expr, (ast.Name, ast.Constant)):
        return program.code(expr)
    if isinstance(expr, ast.Subscript):
        return f"{written(program, expr.value, calls, deep)}[{program.code(expr.slice)}]"
    inner = [written(program, n, calls, deep) for n in children(expr) if isinstance(n, ast.expr)]
    return f"{type(getattr(expr, 'op', expr)).__name__}({', '.join(inner)})"


def _given(program: Program, found: Binding, name: str, cut: bool, through: tuple[ast.Call, ...],
           left: int) -> Iterator[Waiting]:  # fmt: skip
    """What a parameter stands for: in the call that is followed, or in every call."""
    function = found.node
    at = next((i for i in reversed(range(len(through))) if program.function(through[i]) is function), None)
    calls = [(through[at], through[:at])] if at is not None else [(c, ()) for c in program.callers(function)]
    for call, outer in calls[:MOST_CALLERS]:
        for own, value in passed(function, call):
            if own == name:
                yield value, cut or closed(program, call), outer, left - 1


def part(program: Program, binding: Binding) -> ast.expr:
    """What a name is given, where a value is taken apart: of `zip`, `enumerate` and tuples that are written out."""
    value, which = binding.value, binding.part
    assert value is not None
    if binding.how == "for" and isinstance(value, ast.Call):
        name = last(program.path(value.func))
        if name == "tqdm" and value.args:
            return part(program, binding._replace(value=value.args[0]))
        if name == "enumerate" and value.args:
            return value.args[0]
        if name == "zip" and which is not None and which < len(value.args):
            return value.args[which]
        if name in ("items", "values") and (on := receiver(value)) is not None:
            return on
    if binding.how == "for" and which is not None and isinstance(value, ast.Name):
        return _entry(program, value, which) or value
    return value


def _entry(program: Program, held: ast.Name, which: int) -> ast.expr | None:
    """Part of each tuple that a list holds: of `[(a, b) for ...]`, or where one `append((a, b))` fills it."""
    made = program.origin(held)
    put = program.put_into(held)
    one = made.elt if isinstance(made, (ast.ListComp, ast.GeneratorExp)) else put[0] if len(put) == 1 else None
    return one.elts[which] if isinstance(one, ast.Tuple) and which < len(one.elts) else None

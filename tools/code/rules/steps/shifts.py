"""Labels that are moved by one position: where they are, where they are not, and where they are moved twice."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import written
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ..loss import SAME, base, entropies
from ..rule import Fault, View

NOT_CAUSAL = re.compile(r"autoencod|denois|reconstruct|classif|[\"'](mlm|masked)", re.I)
MOVES = ("roll", "narrow", "pad", "shift", "shift_right", "cat")
SHIFTS = ("roll", "narrow", "pad", "shift", "gather", "cat")
COPY = ("logits and labels stand at the same positions: the model learns to copy",
        "logits 与 labels 位置相同，没有错位：模型学会的是复制")  # fmt: skip


def moved_by_one(program: Program, value: ast.expr) -> ast.AST | None:
    """Where a value is moved to the front by one and filled up: `ids[1:] + [x]`, `F.pad(ids[:, 1:], (0, 1))`, `roll(ids, -1)`."""
    for node in program.traced(value, 3):
        for put in program.put_into(node) if isinstance(node, ast.Name) else ():
            statement = program.statement(put)
            into = statement.targets[0] if isinstance(statement, ast.Assign) else put
            if isinstance(put, ast.Subscript) and _from_second(program, put) and _to_last(program, into):
                return statement
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else []
        if isinstance(node, ast.Call):
            name = last(program.path(node.func))
            if name in ("cat", "concat", "concatenate", "hstack"):
                parts = node.args[0].elts if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)) else []
            elif name == "pad" and len(node.args) > 1:
                given = program.origin(node.args[1])
                ends = [program.const(e) for e in given.elts] if isinstance(given, ast.Tuple) else []
                first = program.origin(node.args[0])
                if ends[:2] == [0, 1] and isinstance(first, ast.Subscript) and _from_second(program, first):
                    return node
            elif name == "roll" and _by(program, node) == -1:
                return node
        if len(parts) == 2 and isinstance(parts[0], ast.Subscript) and _from_second(program, parts[0]):
            return node
    return None


def _by(program: Program, call: ast.Call) -> object:
    """How far `torch.roll(x, n)` and `x.roll(n)` move a value."""
    of_module = key(receiver(call)) in ("torch", "np", "numpy")
    return program.const(argument(call, "shifts", 1 if of_module else 0))


def one_later(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Whether two values are cut out of one another's source, the second one position further on."""
    first, second = _window(program, one), _window(program, other)
    if first is None or second is None or key(first.value) != key(second.value) or not key(first.value):
        return False
    low, high = _begin(first), _begin(second)
    plus = isinstance(high, ast.BinOp) and isinstance(high.op, ast.Add) and program.const(high.right) == 1
    return low is not None and plus and program.code(low) == program.code(high.left)  # type: ignore[attr-defined]


def _window(program: Program, value: ast.expr) -> ast.Subscript | None:
    """The last cut of a value out of a longer one."""
    found = _taken(program, value)
    return next((n for n in program.traced(found, 2) if isinstance(n, ast.Subscript) and _begin(n) is not None), None)


def _taken(program: Program, value: ast.expr) -> ast.expr:
    """A value, or its part of what a function of this file returns."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SAME:
        value = value.func.value
    return program.origin(value)


def _begin(cut: ast.Subscript) -> ast.expr | None:
    part = cut.slice.elts[-1] if isinstance(cut.slice, ast.Tuple) else cut.slice
    return part.lower if isinstance(part, ast.Slice) else None


def same_positions(view: View) -> Iterator[Fault]:
    """Inputs that stand for their own labels: in the call of a module that computes its loss, or where both are cut out."""
    program = view.program
    if NOT_CAUSAL.search(program.text):
        return
    yield from _given_twice(view)
    if re.search(r"\[:?,? ?1:\]|, 1:\]|:-1\]|\broll\(|\.pad\(", program.said):
        return
    plain = [call for call, _, labels in entropies(view) if base(view, labels)]
    for node in (n for n in program.each(ast.Return) if isinstance(n.value, ast.Tuple) and len(n.value.elts) == 2):
        one, other = node.value.elts  # type: ignore[union-attr]
        cuts = [_window(program, e) for e in (one, other)]
        alike = all(cuts) and written(program, one) == written(program, other) and cuts[0] is not cuts[1]
        if plain and alike and not re.search(r"\.loss\b", program.text):
            yield Fault(program.origin(other), *COPY, beside=(plain[0],))


def _given_twice(view: View) -> Iterator[Fault]:
    """`model(ids, ids)` of a module of this file that compares its logits with what it is given second."""
    program = view.program
    for call, logits, labels in entropies(view):
        function = program.scope(call)
        owner = program.parent.get(function)
        name = base(view, labels)
        if not isinstance(function, FUNCTIONS) or function.name != "forward" or not isinstance(owner, ast.ClassDef):
            continue
        own = [a.arg for a in function.args.args[1:]]
        if name not in own[1:] or not own or _cut(program, logits) or _cut(program, labels):
            continue
        for use in program.each(ast.Call):
            if not isinstance(use.func, (ast.Name, ast.Attribute)) or program.kind(use.func) is not owner:
                continue
            second = argument(use, name, own.index(name))
            first = argument(use, own[0], 0)
            if key(first) and key(first) == key(second) and re.search(r"tok|ids", own[0]):
                yield Fault(use, *COPY, beside=(call,))


def _cut(program: Program, expr: ast.expr) -> bool:
    """Whether a value is cut or moved on the way from what the function is given."""
    return any(isinstance(n, ast.Slice) or (isinstance(n, ast.Call) and last(program.path(n.func)) in MOVES)
               for n in program.traced(expr, 6))  # fmt: skip


def moved_labels(program: Program) -> Iterator[ast.AST]:
    """What is given as labels and is moved by one, its end filled: `ids[1:] + [-100]`."""
    given = [v for n in program.each(ast.Dict) for k, v in zip(n.keys, n.values, strict=True)
             if isinstance(k, ast.Constant) and k.value == "labels"]  # fmt: skip
    given += [v for c in program.find("dict", "BatchEncoding") if (v := argument(c, "labels")) is not None]
    for scoped in program.bound.values():
        given += [b.value for n, own in scoped.items() if n.endswith("['labels']") for b in own if b.value is not None]
    given += program.put_in("['labels']")
    for value in given:
        if (again := moved_by_one(program, value)) is not None:
            yield again
            return


def _to_last(program: Program, into: ast.expr) -> bool:
    """`x[:-1]`, `x[:, :-1]`."""
    place = into.slice if isinstance(into, ast.Subscript) else None
    part = place.elts[-1] if isinstance(place, ast.Tuple) else place
    if not isinstance(part, ast.Slice) or part.lower is not None:
        return False
    short = isinstance(part.upper, ast.BinOp) and isinstance(part.upper.op, ast.Sub)
    return program.const(part.upper.right if short else part.upper) == (1 if short else -1)  # type: ignore[union-attr]


def _from_second(program: Program, cut: ast.Subscript) -> bool:
    """`x[1:]`, `x[:, 1:]`."""
    places = cut.slice.elts if isinstance(cut.slice, ast.Tuple) else [cut.slice]
    return isinstance(s := places[-1], ast.Slice) and s.upper is None and program.const(s.lower) == 1


def sliced(view: View, expr: ast.AST, whole: str = "", deep: int = 3) -> bool:
    """Whether a value is shifted or cut along its positions on the way, as far back as the name `whole`."""
    program, waiting = view.program, [(expr, deep)]
    seen: set[ast.AST] = set()
    while waiting:
        top, left = waiting.pop()
        for node in program.traced(top, 0):
            if (isinstance(node, ast.Slice) and (node.lower or node.upper or node.step)) or (
                isinstance(node, ast.Call) and last(program.path(node.func)) in SHIFTS):  # fmt: skip
                return True
            named = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and key(node)
            if named and named != whole and left and node not in seen:
                seen.add(node)
                before = program.origin(node)  # type: ignore[arg-type]
                waiting += [(before, left - 1)] if before is not node else []
            elif isinstance(node, ast.Call) and left and node not in seen:
                seen.add(node)
                waiting += [(end, left - 1) for end in program.ends(node)]
    return False

"""The rule on positions whose angles are computed in half precision."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ..rule import Fault, View, rule
from ..steps.half import half

HALF = re.compile(r"(bfloat16|float16|half)$")
CASTS = ("to", "type_as", "half", "bfloat16", "type", "astype")
LOW = frozenset(("half", "bfloat16"))
COUNTED = ("arange", "cumsum", "linspace")
"""Calls that give positions."""
PLACED = re.compile(r"(position|pos)(_ids?|itions?|s)?$", re.I)
"""Names of positions that another function counted."""
SHAPES = ("view", "reshape", "unsqueeze", "expand", "repeat", "contiguous", "to", "cuda", "flatten", "long")
FREQUENCY = re.compile(r"pos|inv_?freq|freq|ids|index|(^|\.)t$", re.I)
"""Names of what has a precision of its own."""
PLACES = re.compile(r"pos|rot|rope|sinus|time|stamp|emb|(^|_| )t( |$)", re.I)
"""Words of where positions are made."""
ROTARY = """
class Rotary(nn.Module):
    def forward(self, x):
        pos = torch.arange(x.size(-2), device=x.device{dtype})
        inv = 1.0 / 10000 ** (torch.arange(0, 64, 2, device=x.device).float() / 64)
        angle = torch.outer(pos, inv)
        return angle.cos(){back}, angle.sin(){back}
model = Model().to(torch.bfloat16)
"""


@rule("positions-in-half", "S2", "long-context-degradation", "cos( cos_(",
      bad=ROTARY.format(dtype=", dtype=x.dtype", back=""),
      good=ROTARY.format(dtype=", dtype=torch.float32", back=".to(x.dtype)"))  # fmt: skip
def positions_in_half(view: View) -> Iterator[Fault]:
    """Positions, or the angles made of them, are computed in the precision of the model, which is half.

    Why: bf16 holds whole numbers up to 256, fp16 up to 2048: behind that, neighbours have the same position, and the model
    reads long texts as if their words stood on one another.
    Known gaps: a model whose precision another file chooses.
    """
    program = view.program
    if not program.mentions(".half(") and not program.has_word(r"float16|\b(fp16|bf16)\b"):
        return
    told: set[ast.AST] = set()
    for call in program.find("cos", "sin", "polar"):
        angle = call.args[0] if call.args else receiver(call)
        if angle is None or len(told) > 3:
            continue
        place = _narrow(program, angle)
        if place is not None and place not in told:
            told.add(place)
            yield Fault(place, "positions are counted in half precision: from 257 on in bf16 neighbours become one",
                        "位置以半精度表示：bf16 中超过 256 后相邻位置会重合", beside=(call,))  # fmt: skip
    if not told:
        yield from _kept(program)


def _kept(program: Program) -> Iterator[Fault]:
    """Tables of positions that are kept as buffers, or sums of counts, in 16 bits."""
    kept = {str(program.const(c.args[0])): c.args[1] for c in program.find("register_buffer") if len(c.args) > 1}
    for call in sorted(program.find("cos", "sin", "polar"), key=lambda c: c.lineno):
        given = call.args[-1] if call.args else receiver(call)
        found = _narrowed(program, given, kept) if given is not None else None
        if found is not None:
            yield Fault(found, "positions are counted in half precision: far ones become the same",
                        "位置以半精度表示：较远的位置变得相同", beside=(call,))  # fmt: skip
            return


def _narrow(program: Program, angle: ast.expr) -> ast.AST | None:
    """Where positions become half, before anything is computed of them."""
    for node, _, calls in made_of(program, angle):
        if not isinstance(node, ast.Call):
            continue
        name = last(program.path(node.func))
        if name == "arange" and not _small(program, node):
            kind = argument(node, "dtype")
            if kind is not None and _is_half(program, kind, calls):
                return node
        elif name in CASTS and (on := receiver(node)) is not None:
            whole = _positions(program, on)
            kinds = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
            if whole and (name in ("half", "bfloat16") or (name == "type_as" and node.args and not FREQUENCY.search(key(node.args[0]))) or any(
                _is_half(program, k, calls) for k in kinds)):  # fmt: skip
                return node
    return None


def _positions(program: Program, expr: ast.expr) -> bool:
    """Whether a value is whole numbers as they were counted, in another shape at most."""
    for _ in range(8):
        expr = program.origin(expr)
        if isinstance(expr, ast.Subscript):
            expr = expr.value
        elif isinstance(expr, ast.Call) and last(program.path(expr.func)) == "arange":
            return not _small(program, expr)
        elif (
            isinstance(expr, ast.Call)
            and last(program.path(expr.func)) in SHAPES
            and (on := receiver(expr)) is not None
        ):
            expr = on
        else:
            return isinstance(expr, ast.Name) and bool(PLACED.match(expr.id))
    return False


def _small(program: Program, call: ast.Call) -> bool:
    """Whether numbers are those of the frequencies, which are as many as dimensions, or of something else."""
    counted = " ".join(program.code(a) for a in call.args)
    twos = len(call.args) > 2 and program.const(call.args[2]) == 2
    about = [getattr(n, "name", "") for n in program.up(call) if isinstance(n, (*FUNCTIONS, ast.ClassDef))]
    statement = program.statement(call)
    about += [key(t) for t in (statement.targets if isinstance(statement, ast.Assign) else ())]
    return twos or bool(re.search(r"dim|feat|half|freq|channel|hidden", counted)) or not PLACES.search(" ".join(about))


def _is_half(program: Program, kind: ast.expr, calls: tuple[ast.Call, ...]) -> bool:
    """Whether a dtype is half, or that of the activations."""
    if HALF.search(program.path(kind)):
        return True
    made = program.origin(kind)
    if isinstance(made, ast.Attribute) and made.attr == "dtype" and isinstance(made.value, (ast.Name, ast.Attribute)):
        return not FREQUENCY.search(key(made.value))
    return bool(HALF.search(program.path(made)) or HALF.search(program.path(program.usual(kind))))


def _narrowed(program: Program, expr: ast.expr, kept: dict[str, ast.expr], deep: int = 2) -> ast.AST | None:
    """Where positions are made in 16 bits, or turned into them."""
    for node, _, _ in islice(made_of(program, expr), 150):
        held = kept.get(node.attr) if isinstance(node, ast.Attribute) and key(node).startswith("self.") else None
        inner = _narrowed(program, held, kept, deep - 1) if held is not None and deep else None
        if inner is not None:
            return inner
        if isinstance(node, ast.Call) and _of_positions(program, node):
            return node
    return None


def _of_positions(program: Program, call: ast.Call) -> bool:
    """Whether a call makes positions in 16 bits, or turns what is made of them into 16 bits."""
    name, on = last(program.path(call.func)), receiver(call)
    if name in COUNTED:
        return _low(program, argument(call, "dtype"))
    turned = name in LOW or (name in ("to", "type") and any(_low(program, a) for a in _types(call)))
    return turned and on is not None and any(isinstance(n, ast.Call) and last(program.path(n.func)) in COUNTED
                                             for n, _, _ in islice(made_of(program, on), 80))  # fmt: skip


def _types(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords if k.arg == "dtype")]


def _low(program: Program, expr: ast.expr | None) -> bool:
    """Whether a number format has 16 bits."""
    if expr is None:
        return False
    return half(program, expr) or program.path(program.usual(expr)).endswith("torch.bfloat16")

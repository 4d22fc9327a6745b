"""The rule on averages of weights in a precision that holds none of their steps."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..rule import Fault, View, rule

HALF = re.compile(r"(bfloat16|float16|half)$")
WHOLE = re.compile(r"(float32|float64|double|(^|\.)float)$")
AVERAGE = """
ema = copy.deepcopy(model){cast}.eval()
def update(decay=0.9999):
    for a, b in zip(ema.parameters(), model.parameters()):
        a.mul_(decay).add_(b.to(a.dtype), alpha=1 - decay)
"""


@rule("average-kept-in-half", "S2", "silent-degradation", "mul_ lerp_ lerp decay _ema_ shadow",
      bad=AVERAGE.format(cast=".to(torch.bfloat16)"), good=AVERAGE.format(cast=".float()"))  # fmt: skip
def average_kept_in_half(view: View) -> Iterator[Fault]:
    """The moving average of the weights is kept in half precision.

    Why: a step of the average is a thousandth of the difference or less, and bf16 holds three digits: the step is rounded
    away, and the average stays where it began.
    Known gaps: a model that another file makes half.
    """
    program = view.program
    if not program.mentions("bfloat16", "float16", ".half("):
        return
    sums = [n for n in program.each(ast.Assign) if isinstance(n.value, ast.BinOp) and isinstance(n.value.op, ast.Add)]
    for call in (*program.find("mul_", "lerp_", "lerp", "_foreach_mul_", "_foreach_lerp_"), *sums):
        on, share = _step(program, call) if isinstance(call, ast.Call) else _sum(program, call)
        if on is None or share is None or not _slow(program, share) or _of_gradients(program, on):
            continue
        cast = _cast(program, on)
        if cast is not None and HALF.search(cast[1]):
            yield Fault(cast[0], "the average is kept in half precision, where its small steps are rounded away",
                        "权重平均保存在半精度中：每步的微小增量被舍入掉", beside=(call,))  # fmt: skip
            return


def _of_gradients(program: Program, on: ast.expr) -> bool:
    """Whether it is a momentum that an optimizer keeps, and no weights."""
    above = [n for n in program.up(on) if isinstance(n, ast.ClassDef)]
    optimizer = any(last(program.path(b)).endswith("Optimizer") for c in above for b in c.bases)
    return optimizer or re.search(r"(^|[._])(grads?|momentum_buffer|exp_avg\w*)$", key(on)) is not None


def _step(program: Program, call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    """(what is averaged, the decay or 1 - decay) of `a.mul_(d).add_(b, alpha=1 - d)` and of `a.lerp_(b, 1 - d)`."""
    on = receiver(call)
    if last(program.path(call.func)).startswith("_foreach"):
        return (call.args[0], call.args[-1]) if len(call.args) > 1 else (None, None)
    if last(program.path(call.func)) == "mul_":
        above = program.parent.get(call)
        added = program.parent.get(above) if isinstance(above, ast.Attribute) and above.attr == "add_" else None
        whole = isinstance(added, ast.Call) and bool(call.args) and _of_rest(program, added)
        return (on, call.args[0]) if whole else (None, None)
    if key(on) == "torch":
        return (call.args[0], call.args[2]) if len(call.args) > 2 else (None, None)
    return on, argument(call, "weight", 1)


def _of_rest(program: Program, added: ast.Call) -> bool:
    """Whether a share is added and not all of it: a sum of gradients decays as an average does, and is none."""
    alpha = argument(added, "alpha", 1)
    return (alpha is not None and program.const(alpha) not in (1, 1.0)) or any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) for a in added.args for n in walk(a))  # fmt: skip


def _sum(program: Program, node: ast.Assign) -> tuple[ast.expr | None, ast.expr | None]:
    """The same of `a = d * a + (1 - d) * b`."""
    target = program.code(node.targets[0])
    for side in (node.value.left, node.value.right) if isinstance(node.value, ast.BinOp) else ():
        pair = (side.left, side.right) if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) else ()
        for one, other in (pair, pair[::-1]) if pair else ():
            if program.code(one) == target:
                return one, other
    return None, None


def _slow(program: Program, share: ast.expr) -> bool:
    """Whether an average keeps nearly all of what it was, as far as the program says."""
    if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Sub) and program.const(share.left) in (1, 1.0):
        share = share.right
    number = program.usually(share)
    if isinstance(number, (int, float)):
        return 0.99 <= number < 1 or 0 < number <= 0.01
    return bool(re.search(r"decay|ema|momentum|tau|beta", key(share), re.I))


def _cast(program: Program, expr: ast.expr) -> tuple[ast.AST, str] | None:
    """The last conversion of what is averaged: (where, to what)."""
    for node, _, _ in made_of(program, expr):
        if not isinstance(node, ast.Call):
            continue
        name = last(program.path(node.func))
        if name in ("half", "bfloat16", "float", "double") and receiver(node) is not None and not node.args:
            return node, name
        if name in ("to", "type", "from_pretrained", "zeros_like", "empty_like", "clone"):
            kinds = [program.path(program.origin(a)) for a in (*node.args, *(
                k.value for k in node.keywords if k.arg in ("dtype", "torch_dtype")))]  # fmt: skip
            found = next((k for k in kinds if HALF.search(k) or WHOLE.search(k)), None)
            if found is not None:
                return node, found
    return None

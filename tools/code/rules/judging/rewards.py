"""The rule on rewards that a clip makes alike."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, argument, default, key, last, passed, receiver
from ...source import walk
from ..look import source
from ..rule import Fault, View, rule

RANKED = re.compile(r"reward|advantage|policy|log_?p(rob|s\b|\b)", re.I)
Clip = tuple[ast.Call, ast.expr | None, ast.expr | None, ast.expr | None]


@rule("reward-clipped-away", "S2", "zero-advantage-groups", "clamp clip max( maximum relu",
      bad="rewards = torch.clamp(rewards, 1.0, 1.0)\n", good="rewards = torch.clamp(rewards, -1.0, 1.0)\n")  # fmt: skip
def reward_clipped_away(view: View) -> Iterator[Fault]:
    """Rewards are clipped to a range in which they do not differ.

    Why: every answer gets the same reward, or all of those that are good, or all that are bad: there is nothing to
    learn from.
    """
    program = view.program
    for call, what, low, high in (*_clips(program), *_helpers(program)):
        bounds = [program.const(b) if b is not None else None for b in (low, high)]
        about = source(program, what) + getattr(program.scope(call), "name", "") if what is not None else ""
        about += f" {source(program, program.origin(what))}" if what is not None else ""
        if what is None or not (
            re.search(r"reward|score|grade|(^|\W)r(\W|$)", about, re.I)
            or (_standardised(program, what) and RANKED.search(program.said))
        ):
            continue
        if low is None and _subtracted(program, call):
            continue  # a distance or a penalty, of which so much counts at most
        if (lost := _lost(view, what, *bounds)) is not None:
            yield Fault(call, *lost)
            continue
        if all(isinstance(b, (int, float)) for b in bounds) and _scale(program, what) >= 20 * abs(bounds[1]):  # type: ignore[arg-type]
            yield Fault(call, f"rewards of a far larger scale are clipped to [{bounds[0]:g}, {bounds[1]:g}]: most become alike",
                        f"量级大得多的奖励被裁剪到 [{bounds[0]:g}, {bounds[1]:g}]：大多变得一样")  # fmt: skip
        elif all(isinstance(b, (int, float)) for b in bounds) and bounds[1] - bounds[0] <= 1e-3:  # type: ignore[operator]
            yield Fault(call, f"rewards are clipped to [{bounds[0]:g}, {bounds[1]:g}]: they do not differ any more",
                        f"奖励被裁剪到 [{bounds[0]:g}, {bounds[1]:g}]：彼此不再有差别")  # fmt: skip


def _subtracted(program: Program, call: ast.Call) -> bool:
    """Whether what is clipped, or a share of it, is taken away from something."""
    inner, above = call, program.parent.get(call)
    while isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div)):
        inner, above = above, program.parent.get(above)
    return isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and above.right is inner


def _clips(program: Program) -> Iterator[Clip]:
    """(the call, what it clips, the lower and the upper bound)."""
    for call in program.find("clamp", "clip", "clamp_", "clip_"):
        on = receiver(call)
        static = key(on) in ("torch", "np", "numpy")
        low = argument(call, "min", 1 if static else 0) or argument(call, "a_min")
        high = argument(call, "max", 2 if static else 1) or argument(call, "a_max")
        yield call, (call.args[0] if static and call.args else on), low, high
    for call in program.find("relu", "relu_"):
        yield call, (call.args[0] if call.args else receiver(call)), ast.copy_location(ast.Constant(0), call), None
    for call in program.find("max", "min"):
        if not isinstance(call.func, ast.Name) or len(call.args) != 2:
            continue
        bound = next((a for a in call.args if isinstance(program.const(a), (int, float))), None)
        inner = next((a for a in call.args if a is not bound), None)
        upper = call.func.id == "min"
        above = program.parent.get(call)
        within = isinstance(above, ast.Call) and getattr(above.func, "id", "") in ("min", "max")
        if bound is None or inner is None or within:
            continue
        other = None
        if isinstance(inner, ast.Call) and key(inner.func) == ("max" if upper else "min") and len(inner.args) == 2:
            other = next((a for a in inner.args if isinstance(program.const(a), (int, float))), None)
            inner = next((a for a in inner.args if a is not other), inner)
        yield call, inner, (other if upper else bound), (bound if upper else other)


def _helpers(program: Program) -> Iterator[Clip]:
    """The calls of a function of this file that only clips what it is given."""
    clips = {c: (what, low, high) for c, what, low, high in _clips(program)}
    for function in (f for fs in program.functions.values() for f in fs if clips):
        ends = program.returned(function)
        what, *bounds = clips.get(ends[0], (None,)) if len(ends) == 1 else (None,)  # type: ignore[call-overload]
        own = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
        for call in program.callers(function) if what is not None and key(what) in own else ():
            told = dict(passed(function, call))
            low, high = ((told.get(key(b)) or default(function, key(b))) if key(b) in own else b for b in bounds)
            yield call, told.get(key(what)), low, high


def _lost(view: View, what: ast.expr, low: object, high: object) -> tuple[str, str] | None:
    """What a clip takes from rewards: their upper levels, or all that lie below the mean."""
    program = view.program
    gains, _ = _levels(program, what)
    if isinstance(high, (int, float)) and len(gains) > 1 and min(gains) >= high > 0 and max(gains) > high:
        return (f"every gain of the reward reaches the upper bound {high:g}: good and better answers get the same",
                f"奖励的每一项都已达到上界 {high:g}：好的与更好的回答得到相同奖励")  # fmt: skip
    if not isinstance(low, (int, float)) or low < 0:
        return None
    if any(v < 0 for v in _bases(program, what)):
        return ("a reward that is written as negative is cut off at 0: it is never given",
                "写明为负的奖励在 0 处被截断：永远不会给出")  # fmt: skip
    made = program.origin(what)
    if (
        isinstance(made, ast.UnaryOp)
        and isinstance(made.op, ast.USub)
        and low == 0
        and high is None
        and _never_negative(program, made.operand)
    ):
        return (
            "a reward that is never positive is cut off at 0: nothing is left of it",
            "从不为正的奖励被截断到 0：什么都不剩",
        )
    if low == 0 and _standardised(program, what):
        return ("standardised rewards are cut off at 0: whatever is below the mean gets the same",
                "标准化后的奖励在 0 处截断：低于均值的全部相同")  # fmt: skip
    return None


def _bases(program: Program, expr: ast.expr) -> list[float]:
    """The numbers that a reward is set to, before anything is added."""
    found = [b.value for b in program.bindings(expr) if b.how == "assign" and b.part is None and b.value is not None]
    sides = [s for v in found for s in ((v.body, v.orelse) if isinstance(v, ast.IfExp) else (v,))]
    numbers = (program.const(s) for s in sides)
    return [float(n) for n in numbers if isinstance(n, (int, float)) and not isinstance(n, bool)]


def _never_negative(program: Program, expr: ast.expr) -> bool:
    name = last(program.path(expr.func)) if isinstance(expr, ast.Call) else ""
    if name in ("float", "int") and isinstance(expr, ast.Call) and expr.args:
        return _never_negative(program, expr.args[0])
    return bool(re.search(r"distance|^abs$|^len$|^count$|error|^norm$|^square$", name))


def _standardised(program: Program, expr: ast.expr) -> bool:
    """Whether a value is what is left of another one without its mean, by its deviation."""
    found = [b.value for b in program.bindings(expr) if b.how == "assign" and isinstance(b.value, ast.BinOp)]
    made = found[0] if found else program.origin(expr)
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Div) or not isinstance(made.left, ast.BinOp):
        return False
    return isinstance(made.left.op, ast.Sub) and "std" in program.code(made.right) and "mean" in program.code(made.left)


def _levels(program: Program, expr: ast.expr) -> tuple[list[float], list[float]]:
    """What a reward may gain and lose by each of its parts, as far as the numbers are written."""
    nodes = [n for n, _, _ in made_of(program, expr, (), 6)]
    scopes = {program.scope(n) for n in nodes if isinstance(program.scope(n), FUNCTIONS)}
    names = {key(n) for n in nodes if isinstance(n, ast.Name)}
    parts = [n.value for s in scopes for n in program.within(s, ast.AugAssign) if key(n.target) in names
             and isinstance(n.op, ast.Add)]  # fmt: skip
    parts += [s for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub)) for s in (n.left, n.right)
              if not (s is n.right and isinstance(n.op, ast.Sub))]  # fmt: skip
    begun = [
        b
        for s in scopes
        for n in names
        for b in program.bound.get(s, {}).get(n, ())
        if b.how == "assign" and b.part is None
    ]
    parts += [b.value for b in begun if b.value is not None and any(isinstance(p, ast.expr) for p in parts)]
    numbers = [v for p in parts if (v := _number(program, p)) is not None]
    return [v for v in numbers if v > 0], [v for v in numbers if v < 0]


def _number(program: Program, part: ast.expr) -> float | None:
    """The written number of one part: itself, its factor, the larger of two."""
    if isinstance(part, ast.IfExp):
        sides = [v for s in (part.body, part.orelse) if (v := _number(program, s)) is not None]
        return max(sides, key=abs) if sides else None
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
        return next((v for s in (part.left, part.right) if (v := _number(program, s)) is not None), None)
    value = program.const(part)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _scale(program: Program, expr: ast.expr) -> float:
    """By what a function of this file multiplies the rewards that it returns; 0 where nothing tells."""
    functions = [
        f for n in program.traced(expr, 3) if isinstance(n, ast.Call) and (f := program.function(n)) is not None
    ]
    returned = [r.value for f in functions for r in walk(f) if isinstance(r, ast.Return) and r.value is not None]
    numbers = [program.const(s) for r in returned for n in walk(r) if isinstance(n, ast.BinOp)
               and isinstance(n.op, ast.Mult) for s in (n.left, n.right)]  # fmt: skip
    return max((abs(float(v)) for v in numbers if isinstance(v, (int, float))), default=0.0)

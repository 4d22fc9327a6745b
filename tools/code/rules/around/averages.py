"""Rules on averages of weights and on models that only give targets."""

# ruff: noqa: SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import part
from ...program import Program, argument, key, last, passed, receiver
from ...training import events_of
from ..look import no_grad
from ..meaning.ways import made, returns
from ..rule import Fault, View, rule


@rule("ema-weights-swapped", "S1", "silent-degradation", "_ema_ decay momentum tau averag avg shadow",
      bad="""
      import torch
      for p_ema, p in zip(ema_model.parameters(), model.parameters()):
          p_ema.data.mul_(1 - decay).add_(p.data, alpha=decay)
      """,
      good=("""
      import torch
      for p_ema, p in zip(ema_model.parameters(), model.parameters()):
          p_ema.data.mul_(decay).add_(p.data, alpha=1 - decay)
      """, """
      import torch
      for p_ema, p in zip(ema_model.parameters(), model.parameters()):
          p_ema.data.lerp_(p.data, 1 - decay)
      """))  # fmt: skip
def ema_weights_swapped(view: View) -> Iterator[Fault]:
    """The moving average keeps the small part of itself and takes the large part of the model.

    Why: with a decay of 0.999 the average is the model of this step, and averages nothing.
    """
    program = view.program
    for call in program.find("add_"):
        on, alpha = receiver(call), argument(call, "alpha")
        if isinstance(on, ast.Call) and last(program.path(on.func)) == "mul_" and on.args and alpha is not None:
            if _rest(on.args[0]) and _decay(program, on.args[0].right) and key(alpha) == key(on.args[0].right):  # pyright: ignore[reportAttributeAccessIssue]
                yield _swapped(call)
    for call in program.find("lerp_", "lerp"):
        weight = argument(call, "weight", 1) if key(receiver(call)) != "torch" else argument(call, "weight", 2)
        if (
            weight is not None
            and _decay(program, weight)
            and (
                re.search(r"ema|avg|shadow|average", program.code(call), re.I)
                or _over_averages(program, receiver(call))
            )
        ):
            yield _swapped(call)
    for node in program.each(ast.BinOp):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and isinstance(node.left, ast.BinOp)
            and isinstance(node.right, ast.BinOp)
        ):
            for one, two in ((node.left, node.right), (node.right, node.left)):
                kept, new = _factor(program, one, True), _factor(program, two, False)
                small, large = _number(program, one), _number(program, two)
                if small and large:
                    kept, new, fits = small, large, _small(program, small[0], large[0])
                else:
                    fits = bool(kept and new and key(kept[0]) == key(new[0]) and _decay(program, new[0]))
                if fits and kept and new and _average(program, kept[1]) and not _average(program, new[1]):
                    yield _swapped(node)


def _swapped(node: ast.AST) -> Fault:
    return Fault(
        node,
        "the average keeps `1 - decay` of itself: it is the newest model",
        "滑动平均只保留自身的 `1 - decay`：等于最新的模型",
    )


def _rest(expr: ast.expr) -> bool:
    """`1 - x`."""
    return (
        isinstance(expr, ast.BinOp)
        and isinstance(expr.op, ast.Sub)
        and isinstance(expr.left, ast.Constant)
        and expr.left.value in (1, 1.0)
    )


def _decay(program: Program, expr: ast.expr) -> bool:
    """Whether a factor is the large one: its number, or that it is called decay."""
    number = program.usually(expr)
    if isinstance(number, float):
        return number > 0.5
    return bool(re.search(r"decay", last(key(expr)), re.I)) and "weight" not in key(expr)


def _number(program: Program, expr: ast.BinOp) -> tuple[ast.expr, ast.expr] | None:
    """(the number, what it scales) of a product with a number that is written out."""
    sides = ((expr.left, expr.right), (expr.right, expr.left)) if isinstance(expr.op, ast.Mult) else ()
    return next(((f, other) for f, other in sides if isinstance(program.const(f), float)), None)


def _small(program: Program, kept: ast.expr, new: ast.expr) -> bool:
    """Whether two numbers are the shares of an average, the smaller one first."""
    one, other = program.const(kept), program.const(new)
    known = isinstance(one, float) and isinstance(other, float)
    return known and one < 0.2 and abs(one + other - 1) < 1e-9  # type: ignore[operator]


def _over_averages(program: Program, expr: ast.expr | None) -> bool:
    """Whether a value is one of those of an averaged model, gone through side by side with another."""
    while isinstance(expr, ast.Attribute) and expr.attr == "data":
        expr = expr.value
    found = program.binding(expr) if isinstance(expr, ast.Name) else None
    over = part(program, found) if found is not None and found.how == "for" and found.value is not None else None
    return over is not None and bool(re.search(r"ema|shadow|avg|average", program.code(over), re.I))


def _factor(program: Program, expr: ast.BinOp, rest: bool) -> tuple[ast.expr, ast.expr] | None:
    """(the factor, what it scales) of a product with `1 - x`, or with `x`."""
    if not isinstance(expr.op, ast.Mult):
        return None
    for factor, other in ((expr.left, expr.right), (expr.right, expr.left)):
        if rest and _rest(factor):
            return factor.right, other  # pyright: ignore[reportAttributeAccessIssue]
        if not rest and key(factor) and (re.search(r"decay", last(key(factor)), re.I) or _decay(program, factor)):
            return factor, other
    return None


def _average(program: Program, expr: ast.expr) -> bool:
    text = program.code(expr)
    on = receiver(expr) if isinstance(expr, ast.Call) else expr
    return bool(re.search(r"ema|shadow|avg|average|(^|_)old(_|$)", text, re.I)) or _over_averages(program, on)


@rule("teacher-in-training-mode", "S2", "silent-degradation", "no_grad inference_mode",
      bad="""
      teacher = resnet50(num_classes=10)
      teacher.load_state_dict(torch.load("teacher.pt"))
      for x, y in loader:
          with torch.no_grad():
              target = teacher(x)
          loss = distil(student(x), target, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good=("""
      teacher = resnet50(num_classes=10)
      teacher.load_state_dict(torch.load("teacher.pt"))
      teacher.eval()
      for x, y in loader:
          with torch.no_grad():
              target = teacher(x)
          loss = distil(student(x), target, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """, """
      teacher = AutoModel.from_pretrained(name)
      for x, y in loader:
          with torch.no_grad():
              target = teacher(x)
          loss = distil(student(x), target, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """))  # fmt: skip
def teacher_in_training_mode(view: View) -> Iterator[Fault]:
    """A model that only gives targets is never put into evaluation mode.

    Why: its dropout and batch statistics change what it says, and its running statistics drift.
    Known gaps: models from `from_pretrained` are in evaluation mode already.
    """
    program = view.program
    inner = [e for f in program.functions.get("forward", ()) if view.trainings and "teacher" in program.text
             for e in events_of(program, view.roles, f)]  # fmt: skip
    for events in (*(p.of("call") for p in view.each_step), [e for e in inner if e.kind == "call"]):
        for event in events:
            name = key(event.node.func) if isinstance(event.node, ast.Call) else ""
            if not re.search(
                r"(^|_|\.)(teacher|frozen|extractor|vgg|perceptual|inception|lpips)(_|$)", name, re.I
            ) or not no_grad(event.contexts):
                continue
            origin = _loaded(view, event.node.func) or made(view, event.node.func)  # pyright: ignore[reportAttributeAccessIssue]
            path = program.path(origin.func) if origin is not None else ""
            built = re.search(
                r"torchvision|timm|resnet|vgg|efficientnet|densenet|mobilenet|vit_|(^|\.)create_model$", path
            ) or (last(path) in view.roles.modules and program.mentions("Dropout", "BatchNorm", "dropout"))
            carried = _carried_along(view, event.node, name) or (path and _loaded_as_trained(view, name, path))
            if ((path and built) or carried) and not _settled(view, name, event.node.func):  # pyright: ignore[reportAttributeAccessIssue]
                yield Fault(event.node, f"`{name}` gives targets in training mode", f"`{name}` 在训练模式下给出目标",
                            beside=(origin,) if origin is not None else ())  # fmt: skip
                return


def _carried_along(view: View, call: ast.AST, name: str) -> bool:
    """Whether a model is a part of a module that is put into training mode as a whole, and takes its parts along."""
    program = view.program
    owner = next((n for n in program.up(call) if isinstance(n, ast.ClassDef)), None)
    if (
        owner is None
        or owner.name not in view.roles.modules
        or not name.startswith("self.")
        or program.method(owner, "train")
    ):
        return False
    whole = (
        c for c in program.find("train") if not c.args and (on := receiver(c)) is not None and program.kind(on) is owner
    )
    return any(True for _ in whole) and f"{name} = [" not in program.text


def _loaded_as_trained(view: View, name: str, path: str) -> bool:
    """Whether a model made by its class, and so in training mode, is given the weights of one that was trained."""
    program = view.program
    loads = (key(receiver(c)) for c in program.find("load_state_dict"))
    return bool(re.fullmatch(r"[A-Z]\w{0,60}", last(path))) and any(last(k) == last(name) for k in loads)


def _loaded(view: View, expr: ast.expr) -> ast.Call | None:
    """The constructor inside the function of this file that makes a model."""
    program = view.program
    value = program.origin(expr)
    function = program.function(value) if isinstance(value, ast.Call) else None
    return next((made(view, r) for r in returns(function)), None) if function is not None else None


def _given_to(program: Program, on: ast.expr | None) -> set[str]:
    """The names that the calls of a function give for its parameter; empty where one of them gives something else."""
    found = program.binding(on) if isinstance(on, ast.Name) else None
    if found is None or found.how != "parameter":
        return set()
    given = [v for c in program.callers(found.node) for own, v in passed(found.node, c) if own == key(on)]
    names = {key(v) for v in given}
    return names if "" not in names else set()


def _settled(view: View, name: str, func: ast.expr | None = None) -> bool:
    """Whether the mode of a model is set anywhere, by its name or where it is made."""
    program = view.program
    made_ = program.origin(func, inside=False) if func is not None else None
    maker = program.function(made_) if isinstance(made_, ast.Call) else None
    if maker is not None and any(not c.args and program.scope(c) is maker for c in program.find("eval")):
        return True
    for call in program.find("eval", "train"):
        on = receiver(call)
        text = program.code(on) if on is not None else ""
        off = last(program.path(call.func)) == "eval" or (call.args and program.const(call.args[0]) is False)
        if off and ((given := _given_to(program, on)) and not any(last(k) == last(name) for k in given)):
            continue  # another model is given to that function
        if off and (
            last(name) in text
            or not key(on)
            or last(key(on)) in ("teacher", "self")
            or re.search(r"(^|\W)(m|model|net|module)$", text)
        ):
            student = re.search(r"student", text)
            if not student:
                return True
    return False

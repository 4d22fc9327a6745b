"""One model under two names, asked as if it were two."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, passed, receiver
from ..look import no_grad
from ..rule import Fault, View

REFERENCE = re.compile(r"(^|_|\.)(ref|reference|old|frozen|initial|sft)(_?(model|policy|actor|net))?$", re.I)


def twins(view: View) -> Iterator[Fault]:
    """A second name of a model, by which it is asked the very same without gradients: the two answers never differ."""
    program = view.program
    yield from _target_of_itself(view)
    if not any(t.of("step") for t in view.trainings):
        return
    closed: list[ast.Call] | None = None
    for node in program.each(ast.Assign):
        target = node.targets[0]
        value = alias(node.value, program) if key(target) and not REFERENCE.search(key(target)) else None
        if value is None or key(value) == key(target) or view.roles.of(value) != "model":
            continue
        if len(program.bindings(target)) != 1:
            continue
        if closed is None:
            closed = [c for c in program.each(ast.Call) if no_grad(program.contexts(c))]
        mine = re.compile(rf"(?<![\w.]){re.escape(key(target))}(?!\w)")
        for call in (c for c in closed if mine.search(program.code(c))):
            same = mine.sub(key(value), program.code(call))
            nodes = program.within(program.scope(call))
            if any(
                isinstance(n, ast.Call) and program.code(n) == same and not no_grad(program.contexts(n)) for n in nodes
            ):
                yield Fault(node, f"`{key(target)}` is the same object as `{key(value)}`: what the two are asked never differs",
                            f"`{key(target)}` 与 `{key(value)}` 是同一个对象：两者的输出永远相同", severity="S1", beside=(call,))  # fmt: skip
                break


def _target_of_itself(view: View) -> Iterator[Fault]:
    """A target network, or the slow one of two, that is the very network which is trained."""
    program = view.program
    for node in program.each(ast.Assign) if "parameters" in program.calls else ():
        targets, values = node.targets[0], node.value
        pairs = [(targets, values)]
        if isinstance(targets, ast.Tuple) and isinstance(values, ast.Tuple) and len(targets.elts) == len(values.elts):
            pairs = list(zip(targets.elts, values.elts, strict=True))
        for target, value in pairs:
            same = alias(value, program) if SLOW.search(last(key(target))) else None
            known = same is not None and view.roles.of(same) == "model" and not SLOW.search(last(key(same)))
            if known and same is not None and _both_run(view, target, same):
                yield Fault(node, f"`{key(target)}` is the same object as `{key(same)}`: it moves with each step",
                            f"`{key(target)}` 与 `{key(same)}` 是同一个对象：每一步都随之改变", severity="S1")  # fmt: skip


def _both_run(view: View, slow: ast.expr, own: ast.expr) -> bool:
    """Whether the network is trained in this file, and asked under its slow name."""
    program = view.program
    asked = {key(c.func) for c in program.each(ast.Call)}
    trained = any(key(receiver(c)) in {key(own), last(key(own))} for c in program.find("parameters"))
    return key(slow) in asked and trained and not any(True for _ in program.find("deepcopy"))


SLOW = re.compile(
    r"^(target|tgt|slow|momentum|key)(_?(net|network|q|model|policy|critic|encoder))?$|_(target|tgt)$", re.I
)
"""Words of networks that follow the trained one slowly."""
SAME_OBJECT = ("unwrap_model", "unwrap", "extract_model_from_parallel")
"""Calls that give what a model is wrapped around: the same parameters."""


def alias(value: ast.expr, program: Program) -> ast.expr | None:
    """The name that a value is, also through `.eval()` and the like, which return the same object."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in (
            "eval",
            "requires_grad_",
            "to",
            "cuda",
            "half",
            "bfloat16",
            "float",
            "train",
            "get_base_model",
        ):
            value = value.func.value
        elif last(program.path(value.func)) in SAME_OBJECT and value.args:
            value = value.args[0]
        elif program.path(value.func) == "copy.copy" and value.args:
            value = value.args[0]  # a shallow copy has the same parameters
        else:
            break
    if isinstance(value, ast.Call) and (function := program.function(value)) is not None:
        given = dict(passed(function, value))
        names = {key(r) for r in program.ends(value)}
        changed = any(key(t) in names for n in program.within(function, ast.Assign) for t in n.targets)
        if len(names) == 1 and not changed and (same := given.get(next(iter(names)))) is not None:
            value = same
    return value if key(value) and isinstance(value, (ast.Name, ast.Attribute)) else None

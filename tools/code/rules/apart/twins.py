"""One model under two names, asked as if it were two."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, passed
from ..look import no_grad
from ..rule import Fault, View

REFERENCE = re.compile(r"(^|_|\.)(ref|reference|old|frozen|initial|sft)(_?(model|policy|actor|net))?$", re.I)


def twins(view: View) -> Iterator[Fault]:
    """A second name of a model, by which it is asked the very same without gradients: the two answers never differ."""
    program = view.program
    closed: list[ast.Call] | None = None
    for node in program.each(ast.Assign):
        target = node.targets[0]
        value = alias(node.value, program) if key(target) and not REFERENCE.search(key(target)) else None
        if value is None or key(value) == key(target) or view.roles.of(value) != "model":
            continue
        if len(program.bindings(target)) != 1 or not any(t.of("step") for t in view.trainings):
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
        changed = any(key(t) in names for n in program.within(function) if isinstance(n, ast.Assign) for t in n.targets)
        if len(names) == 1 and not changed and (same := given.get(next(iter(names)))) is not None:
            value = same
    return value if key(value) and isinstance(value, (ast.Name, ast.Attribute)) else None

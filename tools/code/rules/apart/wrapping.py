"""A wrapped model under its first name, by which it is trained past the wrapper."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, key, last
from ...training import Training
from ..rule import Fault, View

WRAPPERS = ("DDP", "DistributedDataParallel")


def beside_the_wrapper(view: View, training: Training) -> Iterator[Fault]:
    """A loss of the bare model, where another name stands for the wrapped one, which no loss goes through."""
    pairs = _wrapped(view.program)
    if not pairs or any(True for _ in view.program.find("all_reduce", "all_reduce_coalesced")):
        return
    called: dict[str, ast.Call] = {}
    for backward in training.of("backward"):
        for node, cut, _ in made_of(view.program, backward.on, backward.calls) if backward.on is not None else ():
            if isinstance(node, ast.Call) and not cut and key(node.func):
                called.setdefault(key(node.func), node)
    for outer, inner in pairs.items():
        if inner in called and outer not in called:
            yield Fault(called[inner], f"training calls `{inner}`, not `{outer}` which wraps it: gradients are not averaged",
                        f"训练调用的是 `{inner}`，而不是包装它的 `{outer}`：梯度不会同步")  # fmt: skip


def _wrapped(program: Program) -> dict[str, str]:
    """The name of a wrapped model -> that of the bare one, where these differ."""
    out: dict[str, str] = {}
    for node in program.each(ast.Assign):
        made = node.value
        if not isinstance(made, ast.Call) or last(program.path(made.func)) not in WRAPPERS or not made.args:
            continue
        inner = made.args[0]
        while (
            isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in ("to", "cuda")
        ):
            inner = inner.func.value
        outer = key(node.targets[0])
        if outer and key(inner) and outer != key(inner):
            out[outer] = key(inner)
    return out

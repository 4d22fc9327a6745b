"""Gradients of several optimizers, and of modules that Lightning leaves alone: which of them are cleared."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...program import key, last
from ...training import Training
from ..rule import Fault, View


def one_of_several(view: View, training: Training) -> Iterator[Fault]:
    """Of several optimizers, those that are never cleared, where each of the others is by its own name."""
    steps, cleared = {key(s.on): s for s in training.of("step") if not s.via}, {key(z.on) for z in training.of("zero")}
    if cleared and cleared < set(steps) and (training.whole or alone_in_lightning(view)):
        for name in sorted(set(steps) - cleared):
            made = view.program.origin(steps[name].on) if name else None  # type: ignore[arg-type]
            found = view.program.binding(steps[name].on) if name else None  # type: ignore[arg-type]
            given = found.value if found is not None and found.part is not None else None
            of_lightning = isinstance(given, ast.Call) and last(view.program.path(given.func)) == "optimizers"
            if not of_lightning and not (
                isinstance(made, ast.Call) and view.program.path(made.func).startswith("torch.optim.")):  # fmt: skip
                continue
            yield Fault(steps[name].node, f"`{name}` is never cleared: each of its steps adds the gradients of all before",
                        f"`{name}` 的梯度从不清零", beside=(training.of("zero")[0].node,))  # fmt: skip


def manual(view: View, training: Training) -> bool:
    """Whether a step is one of Lightning's in which the program does all by itself, and nothing clears anything."""
    turned = alone_in_lightning(view)
    named = getattr(training.node, "name", "") == "training_step"
    return (
        turned and named and not view.program.calls.get("zero_grad") and not view.program.calls.get("toggle_optimizer")
    )


def alone_in_lightning(view: View) -> bool:
    """Whether a module of Lightning's does without its trainer's optimization."""
    return any(isinstance(n.targets[0], ast.Attribute) and n.targets[0].attr == "automatic_optimization"
               and view.program.const(n.value) is False for n in view.program.each(ast.Assign))  # fmt: skip

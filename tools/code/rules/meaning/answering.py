"""Models that only score or answer: run through helpers with their graph, or with dropout on."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...conditions import repeated
from ...program import FUNCTIONS, Program, key, last, receiver
from ...training import events_of
from ..look import model_call, no_grad
from ..rule import Fault, View

GRADIENTS = re.compile(r"autograd|\.grad\b|requires_grad_?\(?\s?=?\s?True|captum|attribut|saliency")
"""Words of programs that want gradients without training."""


def through_helpers(view: View) -> Iterator[Fault]:
    """A model that is put into evaluation mode and then run by helpers, one batch after the other, with its graph."""
    program = view.program
    for call in program.find("eval") if not GRADIENTS.search(program.text) else ():
        scope = program.scope(call)
        if not isinstance(scope, FUNCTIONS) or view.roles.of(receiver(call)) != "model" or call.args:
            continue
        events = events_of(program, view.roles, scope)
        later = events[next((i for i, e in enumerate(events) if e.node is call), len(events)) :]
        runs = [e for e in later if e.kind == "call" and model_call(view, e.node) and e.depth
                and key(getattr(e.node, "func", None)) and view.roles.of(e.node.func) == "model"]  # type: ignore[attr-defined]  # fmt: skip
        runs = [e for e in runs if e.loops or any(_each(program, n) for n in (e.node, *e.calls))]
        closed = [
            e for e in runs if no_grad(e.contexts) or any(no_grad(program.contexts(n)) for n in (e.node, *e.calls))
        ]
        outer = any(no_grad(program.contexts(c)) for c in program.callers(scope))
        if runs and not closed and not outer and not any(e.kind == "backward" for e in later):
            yield Fault(runs[0].calls[0], "the evaluation builds a graph for every batch: no `no_grad` around it",
                        "评测没有放在 no_grad 内：每个批次都在建计算图", beside=(runs[0].node,))  # fmt: skip


def _each(program: Program, node: ast.AST) -> bool:
    """Whether a node stands in a comprehension, or in a loop of its function."""
    return bool(program.loops(node)) or any(
        isinstance(a, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)) for a in program.up(node))  # fmt: skip


def scored_with_gradients(view: View) -> Iterator[Fault]:
    """A model that only scores, in a program that trains nothing, run again and again with its graph."""
    program = view.program
    trains = program.mentions("backward", "optim", "Trainer", ".fit(", ".train(", "requires_grad", "gradient")
    if trains or GRADIENTS.search(program.text):
        return
    judged = {n for c in program.find("eval") if not c.args for n in (key(receiver(c)),) if n}
    for call in (n for n in program.each(ast.Call) if last(key(n.func)) in {last(j) for j in judged}):
        pretrained = view.roles.sure(call.func) == "model" and model_call(view, call)
        if pretrained and not _closed(program, call) and (repeated(program, call) or _each(program, call)):
            yield Fault(call, "what only scores builds a graph for every batch: no `no_grad` around it",
                        "只用于打分的模型没有放在 no_grad 内：每个批次都在建计算图")  # fmt: skip
            return


def _closed(program: Program, node: ast.AST, deep: int = 3) -> bool:
    """Whether a node is run without gradients: by its own function, or by all that call it."""
    if no_grad(program.contexts(node)):
        return True
    scope = program.scope(node)
    calls = program.callers(scope) if deep and isinstance(scope, FUNCTIONS) else []
    return bool(calls) and all(_closed(program, c, deep - 1) for c in calls)


def served(view: View) -> Iterator[Fault]:
    """A model with dropout, made and loaded here, that only answers, and was never told that it does not train."""
    program = view.program
    if view.trainings or not any(True for _ in program.find("load_state_dict")):
        return
    for call in program.find("load_state_dict"):
        made = program.kind(receiver(call)) if receiver(call) is not None else None  # type: ignore[arg-type]
        moody = made is not None and re.search(r"Dropout|BatchNorm", program.code(made, 20_000))
        runs = [n for n in program.each(ast.Call) if key(n.func) == key(receiver(call)) != ""] if moody else []
        closed = next((n for n in runs if no_grad(program.contexts(n))), None)
        if closed is not None:
            yield Fault(closed, f"`{key(closed.func)}` answers without `{key(closed.func)}.eval()`: dropout stays on",
                        f"`{key(closed.func)}` 没有调用 eval() 就用于推理：dropout 仍然开启", beside=(call,))  # fmt: skip
            return

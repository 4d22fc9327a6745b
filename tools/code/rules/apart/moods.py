"""A model that is in another mode than what is done with it: trained in evaluation mode, evaluated in that of training."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, default, key, last, passed, receiver
from ...training import Training
from ..look import TEST, inside
from ..rule import Fault, View

OTHERS = re.compile(r"ref|teacher|reward|frozen|target|critic|ema|backbone|encoder|judge|vae|clip", re.I)
"""Words of models that only help."""
HELPERS = re.compile(r"(^|_)(ref(erence)?|teacher|reward|rm|judge|vae|discriminator)(_|$)", re.I)
"""Words of models whose mode says nothing of that which is trained."""
OPTIMIZER = re.compile(r"opt(im\w{0,20})?$", re.I)
EACH = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def each_batch(program: Program, node: ast.AST) -> bool:
    """Whether something is done again and again within its function: in a loop or in a comprehension."""
    if program.loops(node):
        return True
    for above in program.up(node):
        if isinstance(above, EACH):
            return True
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return False
    return False


def trained(view: View, training: Training) -> set[str]:
    """The names of the models that a loss is made of."""
    nodes = [
        n
        for b in training.of("backward")
        if b.on is not None
        for n, cut, _ in made_of(view.program, b.on, b.calls)
        if not cut
    ]
    called = [n.func for n in nodes if isinstance(n, ast.Call)]
    called += [f.value for f in called if isinstance(f, ast.Attribute)]
    return {key(f) for f in called if view.roles.of(f) == "model"} - {""}


def left_in_evaluation(view: View, training: Training) -> Iterator[Fault]:
    """A step whose rollout puts the trained model into evaluation mode, and that does not take it out again."""
    first = next((e for e in training.events if e.kind == "backward"), None)
    before = training.events[: training.events.index(first)] if first is not None else ()
    modes = {key(e.on): e for e in before if e.kind in ("eval", "train") and e.on is not None and not e.guards}
    known = trained(view, training)
    for name, event in modes.items():
        if event.kind == "eval" and name in known and not OTHERS.search(last(name)):
            yield Fault(event.node, f"`{name}` is put into evaluation mode here, and is trained in it",
                        f"`{name}` 在这里进入评测模式，随后就以该模式训练", beside=(first.node,) if first is not None else ())  # fmt: skip


def never_trained(view: View) -> Iterator[Fault]:
    """A model that is put into evaluation mode before it is trained, in a program that never calls `train()`."""
    program = view.program
    if any(not c.args or getattr(c.args[0], "value", True) for c in program.find("train")):
        return
    stepped = {key(receiver(c)) for c in program.find("parameters", "named_parameters") if any(
        view.roles.of(a) == "optimizer" for a in program.up(c) if isinstance(a, ast.Call))}  # fmt: skip
    for training in (t for t in view.trainings if t.whole):
        names = trained(view, training) & stepped
        for call in program.find("eval"):
            statement = program.statement(call)
            named = key(receiver(call))
            given = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            placed = program.scope(call) is program.scope(training.node) and call.lineno < getattr(
                training.node, "lineno", 0
            )
            within = any(inside(program, call, x) for x in (training.node, *training.outer))
            if placed and not within and (named or given) in names and not OTHERS.search(last(named or given)):
                yield Fault(call, f"`{named or given}` is put into evaluation mode and then trained: nothing calls `train()`",
                            f"`{named or given}` 进入评测模式后直接训练：从未调用 `train()`", beside=(training.node,))  # fmt: skip


def phases_alike(view: View) -> Iterator[Fault]:
    """A loop over phases, of which one evaluates, with the model in training mode in each."""
    program = view.program
    for call in program.find("train"):
        loop = next(iter(program.loops(call)), None)
        phases = loop.iter if isinstance(loop, ast.For) and not program.guards(call) and not call.args else None
        words = (
            [e.value for e in phases.elts if isinstance(e, ast.Constant)]
            if isinstance(phases, (ast.Tuple, ast.List))
            else []
        )
        held = any(TEST.search(str(w)) for w in words)
        if (
            held
            and view.roles.of(receiver(call)) == "model"
            and any(program.guards(b) for b in program.find("backward"))
        ):
            yield Fault(call, f"`{key(receiver(call))}` is in training mode in the phase that evaluates, too",
                        f"`{key(receiver(call))}` 在评测阶段也处于训练模式")  # fmt: skip


def told_alike(view: View) -> Iterator[Fault]:
    """One function that trains or evaluates as it is told, with the model in the same mode both times."""
    program = view.program
    if any(c.args or c.keywords for c in program.find("train")):
        return
    for training in view.trainings:
        function = program.scope(training.node)
        flags = {key(f) for b in training.of("backward") for t, on in b.guards if on and (f := _flag(t)) is not None}
        own = [n for n in flags if any(b.how == "parameter" for b in program.bound.get(function, {}).get(n, ()))]
        calls = program.callers(function) if own and isinstance(function, FUNCTIONS) else []
        told = {on for c in calls for n in own if (on := _told(program, function, c, n)) is not None}
        runs = [n for n in program.within(training.node, ast.Call) if view.roles.of(n.func) == "model"
                and key(n.func) and not any(key(_flag(t) or t) in own for t, _, _ in program.guards(n))]  # fmt: skip
        if told == {True, False} and runs:
            off = next(c for c in calls for n in own if _told(program, function, c, n) is False)
            yield Fault(runs[0], f"`{key(runs[0].func)}` is evaluated by what trains it, without `eval()`: dropout stays on",
                        f"训练与评测共用该函数，却没有为 `{key(runs[0].func)}` 调用 `eval()`：dropout 仍然开启", beside=(off,))  # fmt: skip
            return


def _flag(test: ast.expr) -> ast.expr | None:
    """`x` of `x` and of `x is not None`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
        return test.left
    return test if isinstance(test, ast.Name) else None


def _told(program: Program, function: ast.AST, call: ast.Call, name: str) -> bool | None:
    """Whether a call tells a function to train; None where that cannot be told."""
    given = next((v for n, v in passed(function, call) if n == name), None) if isinstance(function, FUNCTIONS) else None
    given = given if given is not None else default(function, name)
    if isinstance(given, ast.Constant):
        return bool(given.value)
    return True if given is not None and OPTIMIZER.search(key(given)) else None

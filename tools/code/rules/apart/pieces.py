"""Rules on the pieces of an accumulated step: those that nobody steps, and those that two count."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import fields, made_of
from ...program import Program, argument, key, last
from ...source import walk
from ...training import Event, Training
from ..look import epoch_loop, inside, model_call, option
from ..rule import Fault, View, rule

LOOP = """
optimizer.zero_grad()
for epoch in range(3):
    for i, batch in enumerate(loader):
        loss = model(**batch).loss / 8
        loss.backward()
        if {test}:
            optimizer.step()
            optimizer.zero_grad()
"""
ENGINE = """
engine, _, _, _ = deepspeed.initialize(model=model, config={{"gradient_accumulation_steps": 8, "train_micro_batch_size_per_gpu": 4}})
for i, batch in enumerate(loader):
    loss = engine(**batch).loss
    engine.backward(loss)
    {step}
"""


def by_share(view: View, loss: ast.expr) -> bool:
    """Whether a loss is weighted by its share of all: `loss * (mine / all)`, where the share is of no model."""
    whole = view.program.origin(loss)
    sides = (whole.left, whole.right) if isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult) else ()
    for side in sides:
        share = view.program.origin(side)
        plain = (
            isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div) and view.program.const(share.right) is None
        )
        if plain and not any(model_call(view, n) for n in view.program.traced(share, 3)):
            return True
    return False


def by_hand(view: View, backward: Event) -> bool:
    """Whether a backward is one of Lightning's, in a module that does all else by itself."""
    called = isinstance(backward.node, ast.Call) and last(key(backward.node.func)) == "manual_backward"
    return called and view.program.const(backward.on) is None


def unprepared(view: View, training: Training) -> Iterator[Fault]:
    """A schedule that is stepped under `accumulate` and was not prepared, so that it moves with each micro-batch."""
    program = view.program
    given = {last(key(a)) for c in program.find("prepare", "prepare_scheduler") for a in c.args}
    given |= {last(key(n)) for c in program.find("prepare", "prepare_scheduler")
              if isinstance(s := program.statement(c), ast.Assign) for n in walk(s.targets[0])}  # fmt: skip
    many = [c for c in program.find("Accelerator") if (n := argument(c, "gradient_accumulation_steps")) is not None
            and program.const(n) != 1]  # fmt: skip
    for event in training.of("schedule") if many and given else ():
        inside_ = any(last(c.removesuffix("()")) == "accumulate" for c in event.contexts)
        name = last(key(event.on))
        if inside_ and name and name not in given and not event.guards and not event.loops:
            yield Fault(event.node, f"`{name}` was not prepared and is stepped with each micro-batch: it runs too fast",
                        f"`{name}` 没有经过 prepare，每个 micro-batch 都推进：走得太快", beside=(many[0],))  # fmt: skip


@rule("last-window-left-over", "S3", "grad-accum-loss-scaling", "enumerate",
      bad=LOOP.format(test="(i + 1) % 8 == 0"),
      good=LOOP.format(test="(i + 1) % 8 == 0 or i + 1 == len(loader)"))  # fmt: skip
def last_window_left_over(view: View) -> Iterator[Fault]:
    """The last batches of an epoch are fewer than a step takes, and their gradients go into the next epoch's first step.

    Why: the counter begins anew with each epoch and the gradients do not: the first step holds more than its share, and the
    very last batches are never stepped.
    Known gaps: whether the number of batches can be divided is seen only where the program says it.
    """
    program = view.program
    for training in view.trainings:
        found = training.accumulation
        loop = training.node
        if found is None or found.test is None or found.count is None or not isinstance(loop, ast.For):
            continue
        outer = epoch_loop(program, loop)
        steps, zeros = training.of("step"), training.of("zero")
        if outer is None or outer not in training.outer or not _counted_anew(loop, found.left):
            continue
        rest = isinstance(found.test, ast.BoolOp) or _asks_for_the_end(program, loop, found.test)
        under = zeros and all(any(t is found.test for t, _ in z.guards) for z in zeros)
        if rest or not under or len(steps) != 1 or _met_elsewhere(view, training, outer) or _whole_windows(program):
            continue
        yield Fault(found.test, "the last, shorter window of an epoch is not stepped: its gradients go into the next epoch's first step",
                    "每个 epoch 末尾不足一个窗口的梯度没有更新，会混入下一个 epoch 的第一步", beside=(steps[0].node,))  # fmt: skip


def _counted_anew(loop: ast.For, left: ast.expr | None) -> bool:
    """Whether the counter of the condition is that of the loop over the batches."""
    counted = isinstance(loop.iter, ast.Call) and any(
        isinstance(n, ast.Call) and last(key(n.func)) == "enumerate" for n in walk(loop.iter))  # fmt: skip
    begun = isinstance(loop.iter, ast.Call) and (len(loop.iter.args) > 1 or loop.iter.keywords)
    if isinstance(left, ast.Name) and not begun:
        return False  # it begins at 0, which is another matter
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    names = {n.id for n in walk(left) if isinstance(n, ast.Name)} if left is not None else set()
    return counted and bool(key(first)) and key(first) in names and len(names) == 1


def _asks_for_the_end(program: Program, loop: ast.For, test: ast.expr) -> bool:
    """Whether a condition, through its names, asks for the length of what the loop goes over, or for several things."""
    nodes = list(program.traced(test, 3))
    return any(isinstance(n, ast.BoolOp) or (isinstance(n, ast.Call) and key(n.func) == "len") for n in nodes)


def _met_elsewhere(view: View, training: Training, outer: ast.AST) -> bool:
    """Whether the optimizer is stepped or cleared in the loop over epochs, before or behind the batches."""
    program = view.program
    called = [c for c in program.find("step", "zero_grad", "flush", "finish")
              if inside(program, c, outer) and not inside(program, c, training.node)]  # fmt: skip
    return any(view.roles.of(c.func.value) in ("optimizer", "scaler", "model") or last(key(c.func)) in ("flush", "finish")
               for c in called if isinstance(c.func, ast.Attribute)) or any(
        isinstance(n, ast.Call) and (f := program.function(n)) is not None and any(
            isinstance(m, ast.Call) and last(key(m.func)) in ("step", "zero_grad") for m in program.within(f))
        for n in program.within(outer) if not inside(program, n, training.node))  # fmt: skip


def _whole_windows(program: Program) -> bool:
    """Whether the data are cut so that nothing is left over, or the program asks whether something is."""
    return bool(
        re.search(r"islice\(|len\([\w.]{1,40}\)\s{0,2}%|len\([\w.]{1,40}\)\s{0,2}//\s{0,2}[\w.]{0,20}acc", program.text)
    )


@rule("engine-accumulates-too", "S1", "gbs-miscalculation", "deepspeed",
      bad=ENGINE.format(step="if (i + 1) % 8 == 0:\n        engine.step()"), good=ENGINE.format(step="engine.step()"))  # fmt: skip
def engine_accumulates_too(view: View) -> Iterator[Fault]:
    """DeepSpeed is told to accumulate, and the program steps it once in several batches on its own.

    Why: `engine.step()` counts the micro-batches itself and updates at the boundary alone: called once in eight, it comes to
    it once in sixty-four, and gradients of far more batches than meant are added up.
    Known gaps: a count that stands in a configuration file.
    """
    program = view.program
    if not any(_told(program, c) for c in program.find("initialize")):
        return
    for training in view.trainings:
        found = training.accumulation
        if found is None or found.count is None:
            continue
        step = next((s for s in training.of("step") if s.via == "engine"), None)
        same = any(b.via == "engine" for b in training.of("backward"))
        asked = found.test is not None and "is_gradient_accumulation_boundary" in program.code(found.test)
        if step is None or not same or asked:
            continue
        if any(t is found.test for t, _ in step.guards) or (found.test is None and not step.loops):
            yield Fault(step.node, "the engine counts micro-batches itself, and is asked to step once in several: the two multiply",
                        "引擎自己会数 micro-batch，这里又隔几步才调用一次 `step()`：两者相乘", beside=(found.test or found.count,))  # fmt: skip


def _told(program: Program, call: ast.Call) -> bool:
    """Whether an engine is told to accumulate over more than one batch."""
    given = option(program, call, "config") or option(program, call, "config_params")
    put = (
        program.bindings(given, f"{key(given)}['gradient_accumulation_steps']")
        if given is not None and key(given)
        else ()
    )
    if any(b.value is not None and program.usually(b.value) != 1 for b in put):
        return True
    for source in made_of(program, given, (), 5) if given is not None else ():
        value = fields(program, source.node).get("gradient_accumulation_steps")
        if value is not None:
            return program.usually(value) != 1
    return False


def by_hand_twice(view: View) -> Iterator[Fault]:
    """A loss that is divided by the number of micro-batches where it is made, and once more where it is used."""
    program = view.program
    for training in view.trainings:
        found = training.accumulation
        count = found.count if found is not None else None
        for event in training.of("backward") if count is not None else ():
            outer = program.origin(event.on, inside=False) if event.on is not None else None
            divided = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Div)
            if (
                not isinstance(outer, ast.BinOp)
                or not divided
                or count is None
                or not _alike(program, outer.right, count)
            ):
                continue
            inner = next((n for n, _, _ in made_of(program, outer.left, event.calls, 6) if isinstance(n, ast.BinOp)
                          and isinstance(n.op, ast.Div) and _alike(program, n.right, outer.right)
                          and not _counts(n.left)), None)  # fmt: skip
            if inner is not None:
                yield Fault(outer, "the loss is divided by the number of micro-batches twice",
                            "loss 被累积步数除了两次", beside=(inner,))  # fmt: skip


def _counts(expr: ast.expr) -> bool:
    """Whether a value is a length: divided, it counts the steps of an epoch."""
    return any(isinstance(n, ast.Call) and last(key(n.func)) == "len" for n in walk(expr))


def _alike(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Whether two numbers are the same, as they are written."""
    if key(one) and last(key(one)) == last(key(other)):
        return True
    a, b = program.const(one), program.const(other)
    return a is not None and a == b and a != 1

"""Rules on gradients of several micro-batches that make one step."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import made_of
from ..patch import after, alone, instead, without
from ..program import Program, argument, key, last, receiver
from ..training import Accumulation, Event, Training
from .apart.pieces import by_hand, by_hand_twice, by_share, unprepared
from .look import guarded_more, source
from .rule import Fault, View, rule

COUNTED = re.compile(r"acc(um|u)?|micro|ga_?steps|gas$|items|tokens|world|n_?steps|num_steps|chunks", re.I)
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
LOOP = """
for i, batch in enumerate(loader):
    loss = {loss}
    {back}
    if ({count}) % {every} == 0:
        optimizer.step()
        {under}
    {each}
"""
FINE = dict(loss="model(**batch).loss / 8", back="loss.backward()", count="i + 1", every="8", under="optimizer.zero_grad()",
            each="pass")  # fmt: skip


def _loop(**other: str) -> str:
    return LOOP.format(**{**FINE, **other})


def own(view: View) -> Iterator[tuple[Training, Accumulation]]:
    """The loops that accumulate by themselves, not through a library."""
    for training in view.trainings:
        found = training.accumulation
        if found is not None and found.count is not None:
            yield training, found


def divisors(view: View, event: Event) -> list[ast.expr]:
    """What the loss of a backward is divided by, or multiplied with as a fraction."""
    out = []
    if event.on is None:
        return out
    for node in view.program.traced(event.on, 3):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult)):
            out.append(node.right)
            if isinstance(node.op, ast.Mult):
                out.append(node.left)
        elif isinstance(node, ast.Call) and last(view.program.path(node.func)) in ("div", "div_", "mul", "true_divide"):
            out += node.args
    return out + _augmented(view.program, event)


def _augmented(program: Program, event: Event) -> list[ast.expr]:
    return [b.value for b in program.bindings(event.on) if b.how == "augment" and b.value is not None
            and isinstance(getattr(b.node, "op", None), (ast.Div, ast.Mult))] if event.on is not None else []  # fmt: skip


def same(program: Program, divisor: ast.expr, count: ast.expr) -> bool:
    if key(divisor) and last(key(divisor)) == last(key(count)):
        return True
    if program.code(divisor) == program.code(count):
        return True
    if isinstance(divisor, ast.Call) and program.path(divisor.func) == "len" and len(divisor.args) == 1:
        return program.code(divisor.args[0]) == program.code(count)
    a, b = program.const(divisor), program.const(count)
    return a is not None and a == b


@rule("accumulated-loss-not-divided", "S2", "grad-accum-loss-scaling", "backward",
      bad=_loop(loss="model(**batch).loss"), good=_loop())  # fmt: skip
def accumulated_loss_not_divided(view: View) -> Iterator[Fault]:
    """The loss of each micro-batch is not divided by their number.

    Why: gradients are that many times too large; clipping, learning rate and logged numbers mean something else.
    Known gaps: a division that another file makes.
    """
    for training, found in own(view):
        plain = ("", "scaler", *(("accelerator",) if _undivided_by_library(view) else ()))
        backwards = [b for b in training.of("backward") if b.via in plain or by_hand(view, b)]
        if not backwards or found.count is None or view.program.const(found.count) == 1:
            continue
        event = backwards[0]
        made = divisors(view, event)
        parts = [n for d in made for n in view.program.traced(d, 3) if isinstance(n, ast.expr)]
        known = any(same(view.program, n, found.count) for n in parts) or any(
            COUNTED.search(source(view.program, d)) for d in made)  # fmt: skip
        numbers = [view.program.const(d) for d in made]
        if (
            known
            or _scaled_elsewhere(view, training)
            or any(isinstance(n, (int, float)) and n not in (0, 1) for n in numbers)
        ):
            continue
        if (
            event.on is None
            or _made_elsewhere(view, event.on)
            or _averaged(view.program, event)
            or by_share(view, event.on)
        ):
            continue
        by = source(view.program, found.count)
        by = by if key(found.count) or isinstance(found.count, ast.Constant) else f"({by})"
        text = source(view.program, event.on)
        whole = f"({text} / {by})" if isinstance(event.node, ast.Call) and _is_receiver(event) else f"{text} / {by}"
        yield Fault(event.node, f"the loss of each of {by} micro-batches is not divided by {by}",
                    f"每个 micro-batch 的 loss 没有除以累积步数 {by}", (instead(event.on, whole),),
                    beside=(found.test,) if found.test else ())  # fmt: skip


def _undivided_by_library(view: View) -> bool:
    """Whether what runs backward divides nothing: Fabric, or an Accelerator that is not told how many there are."""
    made = [c for n in ("Fabric", "Accelerator") for c in view.program.find(n)]
    return bool(made) and not any(
        k.arg is None or re.search("accumulation", k.arg) for c in made for k in c.keywords)  # fmt: skip


def _averaged(program: Program, event: Event) -> bool:
    """Whether a sum is divided by what the program counts: a mean of its own."""
    parts = [s.node for s in made_of(program, event.on, event.calls, 4)] if event.on is not None else []
    summed = any(k.arg == "reduction" and program.const(k.value) == "sum" for n in parts if isinstance(n, ast.Call)
                 for k in n.keywords)  # fmt: skip
    whole = program.origin(event.on) if event.on is not None else None
    divided = isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Div)
    return divided and (summed or program.const(whole.right) is None)  # type: ignore[union-attr]


def _is_receiver(event: Event) -> bool:
    return (
        isinstance(event.node, ast.Call)
        and isinstance(event.node.func, ast.Attribute)
        and event.node.func.value is event.on
    )


def _made_elsewhere(view: View, expr: ast.expr) -> bool:
    """Whether the loss comes out of a function that is told how many there are."""
    for node in view.program.traced(expr, 2):
        if isinstance(node, ast.Call) and any(COUNTED.search(k.arg or "") for k in node.keywords):
            return True
        given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
        if any(COUNTED.search(last(key(a))) and not _a_batch(view.program, a) for a in given):
            return True
    return False


def _a_batch(program: Program, expr: ast.expr) -> bool:
    """Whether a value is what a loop goes through, or a part of it, and no number."""
    for _ in range(4):
        found = program.binding(expr)
        if found is not None and found.how == "for":
            counts = isinstance(found.value, ast.Call) and program.path(found.value.func) in ("enumerate", "range")
            return not counts or bool(found.part)
        inner = program.origin(expr, inside=False)
        while isinstance(inner, (ast.Subscript, ast.Call)):
            on = inner.value if isinstance(inner, ast.Subscript) else receiver(inner)
            if on is None:
                return last(program.path(inner.func)) == "next"  # type: ignore[union-attr]
            inner = on
        if inner is expr or not key(inner):
            return False
        expr = inner
    return False


def _scaled_elsewhere(view: View, training: Training) -> bool:
    """Whether the gradients themselves are divided before the step."""
    for event in training.events:
        text = source(view.program, event.node)
        if re.search(r"\.grad\b", text) and ("div" in text or "/" in text or "mul" in text):
            return True
        if event.kind == "call" and re.search(r"scale_grads|scale_grad|div_grad", text):
            return True
    return False


@rule("accumulation-counts-differ", "S1", "grad-accum-loss-scaling", "backward",
      bad=_loop(loss="model(**batch).loss / 4"), good=_loop())  # fmt: skip
def accumulation_counts_differ(view: View) -> Iterator[Fault]:
    """The loss is divided by another number than the micro-batches of a step.

    Why: gradients are too large or too small by that factor.
    """
    for training, found in own(view):
        count = view.program.usually(found.count) if found.count is not None else None
        if isinstance(count, int) and count < 2:
            continue
        for event in training.of("backward"):
            for divisor in divisors(view, event):
                value = view.program.const(divisor)
                if found.count is not None and _of_all(view, divisor) and _plain_loss(view, divisor):
                    yield Fault(divisor, "the loss is divided by the batches of an epoch, and a few make a step",
                                "loss 除以整个 epoch 的批次数，而一步只由几个组成",
                                (instead(divisor, source(view.program, found.count)),))  # fmt: skip
                named = isinstance(divisor, ast.Constant) or COUNTED.search(key(divisor))
                if (isinstance(value, int) and isinstance(count, int) and 1 < value != count and named and found.count is not None
                        and _plain_loss(view, divisor)):  # fmt: skip
                    yield Fault(divisor, f"the loss is divided by {value}, and {count} micro-batches make a step",
                                f"loss 除以 {value}，而一步由 {count} 个 micro-batch 组成",
                                (instead(divisor, source(view.program, found.count)),))  # fmt: skip


def _of_all(view: View, divisor: ast.expr) -> bool:
    """`len(loader)`."""
    length = isinstance(divisor, ast.Call) and view.program.path(divisor.func) == "len" and len(divisor.args) == 1
    return length and view.roles.of(divisor.args[0]) == "loader"  # type: ignore[attr-defined]


def _plain_loss(view: View, divisor: ast.expr) -> bool:
    above = view.program.parent.get(divisor)
    return isinstance(above, (ast.BinOp, ast.AugAssign)) and isinstance(above.op, ast.Div)


@rule("accumulated-loss-divided-twice", "S1", "grad-accum-loss-scaling", "backward",
      bad="""
      accelerator = Accelerator(gradient_accumulation_steps=8)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          with accelerator.accumulate(model):
              loss = model(**batch).loss / 8
              accelerator.backward(loss)
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator(gradient_accumulation_steps=8)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          with accelerator.accumulate(model):
              loss = model(**batch).loss
              accelerator.backward(loss)
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def accumulated_loss_divided_twice(view: View) -> Iterator[Fault]:
    """The loss is divided by the number of micro-batches, and the library divides it again.

    Why: gradients are that many times too small.
    """
    yield from by_hand_twice(view)
    told = [c for c in view.program.find("Accelerator") if argument(c, "gradient_accumulation_steps") is not None]
    for training in view.trainings:
        for event in training.of("backward"):
            owner = event.via in ("accelerator", "engine") and (told or event.via == "engine")
            if not owner or event.on is None:
                continue
            for divisor in divisors(view, event):
                alike = any(same(view.program, divisor, argument(c, "gradient_accumulation_steps")) for c in told)  # type: ignore[arg-type]
                if (
                    alike or re.search(r"accum|gas$|acc_steps", key(divisor) or source(view.program, divisor), re.I)
                ) and _plain_loss(view, divisor):
                    yield Fault(divisor, "the loss is divided here, and the library divides it again",
                                "这里除了一次，库里又除了一次", _undivided(view, divisor), beside=(event.node,))  # fmt: skip


def _undivided(view: View, divisor: ast.expr) -> tuple:
    above = view.program.parent.get(divisor)
    return (instead(above, source(view.program, above.left)),) if isinstance(above, ast.BinOp) else ()


@rule("accumulated-gradients-lost", "S2", "gbs-miscalculation", "zero_grad",
      bad=_loop(under="pass", each="optimizer.zero_grad()"), good=_loop())  # fmt: skip
def accumulated_gradients_lost(view: View) -> Iterator[Fault]:
    """Gradients are cleared for each micro-batch though the optimizer steps only after several.

    Why: each step uses the last micro-batch alone; the others are computed for nothing.
    """
    for training, found in own(view):
        steps = training.of("step")
        for zero in training.of("zero"):
            each = found.test is not None and not zero.loops and all(guarded_more(s, zero) for s in steps)
            micro = found.test is None and any(loop in b.loops for b in training.of("backward") for loop in zero.loops)
            if each and zero.guards and not all(g in steps[0].guards for g in zero.guards):
                continue
            if any(test is found.test for test, _ in zero.guards):
                continue  # cleared where the optimizer steps, which asks for something more (a scaler)
            if each or micro:
                yield Fault(zero.node, "gradients are cleared for each micro-batch: a step uses the last one alone",
                            "每个 micro-batch 都清零梯度：每步只用到最后一个", beside=(steps[0].node,))  # fmt: skip
                break


@rule("accumulation-boundary-early", "S2", "gbs-miscalculation", "enumerate",
      bad=_loop(count="i"), good=_loop())  # fmt: skip
def accumulation_boundary_early(view: View) -> Iterator[Fault]:
    """The counter of micro-batches begins at 0, so that the first step holds one micro-batch alone.

    Why: the first update is made of one micro-batch scaled as one of many, and every later step is shifted.
    """
    for training, found in own(view):
        if not isinstance(found.left, ast.Name):
            continue
        if _counted_behind(view, training, found.left):
            yield Fault(found.left, "the first step is made after one micro-batch: the counter begins at 0",
                        "计数从 0 开始：第一步只有一个 micro-batch", (instead(found.left, f"({found.left.id} + 1)"),))  # fmt: skip
            continue
        for binding in view.program.bindings(_given(view, found.left)):
            call = binding.value
            counted = (
                binding.how == "for"
                and isinstance(call, ast.Call)
                and last(view.program.path(call.func)) == "enumerate"
            )
            above = view.program.parent.get(view.program.parent.get(found.left) or found.left)
            test = found.test if isinstance(found.test, ast.Compare) else above
            zero = (
                isinstance(test, ast.Compare)
                and isinstance(test.ops[0], ast.Eq)
                and view.program.const(test.comparators[0]) == 0
            )
            if (
                counted
                and zero
                and found.positive
                and isinstance(call, ast.Call)
                and len(call.args) == 1
                and not call.keywords
            ):
                yield Fault(found.left, "the first step is made after one micro-batch: the counter begins at 0",
                            "计数从 0 开始：第一步只有一个 micro-batch", (instead(found.left, f"({found.left.id} + 1)"),))  # fmt: skip


def _given(view: View, name: ast.Name) -> ast.expr:
    """A name, or what the one call of its function gives for it."""
    found = view.program.bindings(name)
    value = view.program.given(found[0], name.id) if len(found) == 1 and found[0].how == "parameter" else None
    return value if isinstance(value, ast.Name) else name


def _counted_behind(view: View, training: Training, name: ast.Name) -> bool:
    """A counter that begins at 0 and is raised behind the step of its pass."""
    found = view.program.bindings(name)
    begun = [b for b in found if b.how == "assign" and b.value is not None and view.program.const(b.value) == 0]
    raised = [b for b in found if b.how == "augment" and training.node in view.program.loops(b.node)]
    steps = training.of("step")
    zero = isinstance(test := view.program.parent.get(view.program.parent.get(name) or name), ast.Compare) and isinstance(
        test.ops[0], ast.Eq) and view.program.const(test.comparators[0]) == 0  # fmt: skip
    late = (
        bool(raised) and all(getattr(b.node, "lineno", 0) > getattr(steps[0].node, "lineno", 0) for b in raised)
        if steps
        else False
    )
    return len(begun) == 1 and len(found) == 1 + len(raised) and late and zero and steps[0].depth == 0


@rule("schedule-per-micro-batch", "S2", "lr-schedule-misconfig", "step",
      bad=_loop(each="scheduler.step()"), good=_loop(under="optimizer.zero_grad()\n        scheduler.step()"))  # fmt: skip
def schedule_per_micro_batch(view: View) -> Iterator[Fault]:
    """The schedule is stepped for each micro-batch, the optimizer after several.

    Why: warm-up and decay run that many times too fast.
    """
    for training in view.trainings:
        yield from unprepared(view, training)
    for training, found in own(view):
        steps = training.of("step")
        for event in training.of("schedule"):
            each = found.test is not None and not event.guards and steps[0].guards
            micro = found.test is None and any(loop in b.loops for b in training.of("backward") for loop in event.loops)
            if each or micro:
                fix = _behind_step(view, event, steps[0]) if each else ()
                yield Fault(event.node, "the schedule is stepped for each micro-batch: it runs too fast",
                            "学习率调度按 micro-batch 推进：走得太快", fix, beside=(steps[0].node,))  # fmt: skip


def _behind_step(view: View, event: Event, step: Event) -> tuple:
    """A statement moved right behind the step of the optimizer."""
    moved, behind = view.program.statement(event.node), view.program.statement(step.node)
    body = getattr(view.program.parent.get(moved), "body", [])
    if event.depth or step.depth or alone(moved, body) or moved.lineno != moved.end_lineno:
        return ()
    return without(moved), after(behind, source(view.program, moved))


@rule("clip-per-micro-batch", "S2", "grad-clip-saturation", "clip_grad_norm_ clip_grad_value_",
      bad=_loop(each=CLIP),
      good=_loop().replace("        optimizer.step()", f"        {CLIP}\n        optimizer.step()"))  # fmt: skip
def clip_per_micro_batch(view: View) -> Iterator[Fault]:
    """Gradients are clipped after each micro-batch, before all of them are there.

    Why: the sum is clipped again and again; early micro-batches count less than late ones.
    """
    for training, found in own(view):
        for event in training.of("clip"):
            steps = training.of("step")
            each = found.test is not None and not event.guards and steps[0].guards
            micro = found.test is None and any(loop in b.loops for b in training.of("backward") for loop in event.loops)
            if each or micro:
                yield Fault(event.node, "gradients are clipped after each micro-batch, before the step",
                            "每个 micro-batch 之后都裁剪梯度，而不是在更新之前", beside=(steps[0].node,))  # fmt: skip

"""Rules on what a pass of the training loop does, and in which order."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import made_of
from ..patch import after, alone, instead, without
from ..program import Program, key, last
from ..running import never_both, place
from ..source import walk
from ..training import Event, Training
from .apart.clearing import manual, one_of_several
from .look import LOSS, model_call, no_grad, source
from .rule import Fault, View, rule

PASS = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    {a}
    {b}
    {c}
    {d}
"""
FORWARD, BACKWARD = "loss = model(**batch).loss", "loss.backward()"
STEP, ZERO = "optimizer.step()", "optimizer.zero_grad()"
GOOD = PASS.format(a=FORWARD, b=BACKWARD, c=STEP, d=ZERO)


def _clearing(training: Training, step: Event) -> list[Event]:
    """The events that clear the gradients which this step uses."""
    steps = {key(s.on) for s in training.of("step")}
    return [z for z in training.of("zero") if len(steps) == 1 or key(z.on) == key(step.on)]


def _before(training: Training, step: Event, kinds: tuple[Event, ...]) -> Event | None:
    """The last of some events that is sure to happen before a step, in this pass or the one before."""
    order = list(training.events)
    at = order.index(step)
    sure = [e for e in (*order[at:], *order[:at]) if e in kinds and not any(g not in step.guards for g in e.guards)]
    return sure[-1] if sure else None


def _by_hand(program: Program) -> bool:
    """Whether gradients are set to something by hand."""
    return any(isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Attribute) and n.targets[0].attr == "grad"
               and not (isinstance(n.value, ast.Constant) and n.value.value is None) for n in program.nodes)  # fmt: skip


def moved(view: View, statement: ast.stmt, behind: ast.stmt) -> tuple:
    """A statement taken from its place and put behind another; nothing where that is not safe."""
    parent = view.program.parent.get(statement)
    body = next((b for b in (getattr(parent, n, None) for n in ("body", "orelse")) if b and statement in b), [])
    if not isinstance(statement, ast.Expr) or alone(statement, body) or statement.lineno != statement.end_lineno:
        return ()
    return without(statement), after(behind, source(view.program, statement))


@rule("zero-grad-missing", "S1", "loss-stagnation", "backward",
      bad=PASS.format(a=FORWARD, b=BACKWARD, c=STEP, d="print(batch.keys())"), good=GOOD)  # fmt: skip
def zero_grad_missing(view: View) -> Iterator[Fault]:
    """Gradients are never cleared between steps of the optimizer.

    Why: every step adds the gradients of all steps before it, and the update points nowhere.
    Known gaps: gradients that a library clears are taken for cleared.
    """
    for training in view.trainings:
        yield from one_of_several(view, training)
        steps = [s for s in training.of("step") if s.via not in ("engine",)]
        if (
            not (training.whole or manual(view, training))
            or training.of("zero")
            or not steps
            or not training.of("backward")
        ):
            continue
        if training.accumulation and training.accumulation.closes and _cleared_around(view, training):
            continue
        if any("zero" in (n := _called(view, e)) or "clear" in n or n == "prepare" for e in training.of("call")):
            continue
        if (
            training.whole
            and {"trainer", "accelerator", "engine"} & {b.via for b in training.of("backward")}
            and not key(steps[0].on)
        ):
            continue
        on = key(steps[0].on)
        fix = (after(view.program.statement(steps[0].node), f"{on}.zero_grad()"),) if on and steps[0].depth == 0 else ()
        yield Fault(steps[0].node, "the gradients are never cleared: each step adds those of all steps before",
                    "梯度从不清零：每一步都叠加了之前所有步的梯度", fix)  # fmt: skip


def _cleared_around(view: View, training: Training) -> bool:
    """Whether the loop right around this one clears the gradients, once for each step."""
    around = [n for loop in training.outer[:1] for n in walk(loop) if isinstance(n, ast.Call)]
    return any("zero_grad" in last(view.program.path(n.func)) or "zero_grad" in key(n.func) for n in around)


def _called(view: View, event: Event) -> str:
    return last(view.program.path(event.node.func)).lower() if isinstance(event.node, ast.Call) else ""


@rule("gradients-cleared-before-step", "S1", "loss-stagnation", "zero_grad .grad",
      bad=(PASS.format(a=FORWARD, b=BACKWARD, c=ZERO, d=STEP), PASS.format(a=ZERO, b=STEP, c=FORWARD, d=BACKWARD)),
      good=(GOOD, PASS.format(a=ZERO, b=FORWARD, c=BACKWARD, d=STEP)))  # fmt: skip
def gradients_cleared_before_step(view: View) -> Iterator[Fault]:
    """The gradients are cleared between backward and the step of the optimizer.

    Why: the optimizer sees zero gradients, or none; nothing is learned.
    """
    for training in view.trainings:
        yield from _first_of_two(view, training)
        for step in training.of("step"):
            clearing = _clearing(training, step)
            found = _before(training, step, (*clearing, *training.of("backward")))
            if found is None or found.kind != "zero" or not training.of("backward"):
                continue
            if found.loops and not any(b.loops for b in training.of("backward")):
                continue
            order = list(training.events)
            later = (*order[order.index(step) :], *order[: order.index(step)])
            if any(e.kind == "backward" for e in later[later.index(found) :]) or _by_hand(view.program):
                continue  # a backward pass in one branch or the other comes after it, or gradients are set by hand
            late = order.index(found) < order.index(step) and any(
                order.index(b) < order.index(found) for b in training.of("backward")
            )
            own, behind = view.program.statement(found.node), view.program.statement(step.node)
            same = view.program.parent.get(own) is view.program.parent.get(behind)
            fix = moved(view, own, behind) if late and same else ()
            yield Fault(place(found, step), "the gradients are cleared before the optimizer uses them",
                        "优化器更新之前梯度已被清零", fix, beside=(found.node, step.node))  # fmt: skip
            break


def _first_of_two(view: View, training: Training) -> Iterator[Fault]:
    """Gradients of a first loss that are cleared before a second one is added, with one optimizer for both."""
    steps, program = training.of("step"), view.program
    kinds = [e for e in training.events if e.kind in ("backward", "zero", "step")]
    plain = not any(e.guards or e.loops for e in kinds) and len({key(s.on) for s in steps}) == 1 == len(steps)
    if not plain or re.search(r"\.grad\b|autograd", program.text):
        return
    for one, zero, two in zip(kinds, kinds[1:], kinds[2:], strict=False):
        if (one.kind, zero.kind, two.kind) == ("backward", "zero", "backward") and key(zero.on) == key(steps[0].on):
            yield Fault(zero.node, "the gradients of the first loss are cleared before the second is added",
                        "第一个损失的梯度在加上第二个之前被清零", beside=(one.node, two.node))  # fmt: skip


@rule("optimizer-never-stepped", "S0", "loss-stagnation", "backward",
      bad=PASS.format(a=FORWARD, b=BACKWARD, c="# optimizer.step()", d=ZERO), good=GOOD)  # fmt: skip
def optimizer_never_stepped(view: View) -> Iterator[Fault]:
    """An optimizer is made and its gradients are cleared, but it never steps.

    Why: the weights stay what they were.
    """
    made = view.roles.named("optimizer")
    used = {key(a) for c in view.program.each(ast.Call)
            for a in (*c.args, *(k.value for k in c.keywords)) if view.roles.of(c) != "scheduler"} if made else set()  # fmt: skip
    stepped = (any(True for _ in view.program.find("step")) and any(
        t.of("step") for t in view.trainings)) or _steps_optimizer(view)  # fmt: skip
    if stepped:
        return
    for training in view.trainings:
        backward = training.of("backward")[0]
        on = next((key(z.on) for z in training.of("zero") if key(z.on) in made), "")
        if training.whole and on and on not in used and backward.via not in ("engine", "trainer"):
            fix = (after(view.program.statement(backward.node), f"{on}.step()"),)
            yield Fault(backward.node, f"`{on}` clears its gradients but never steps: nothing is learned",
                        f"`{on}` 只清零梯度，从不 step：模型不会更新", fix)  # fmt: skip


def _steps_optimizer(view: View) -> bool:
    roles = view.roles
    return any(
        roles.of(c.func.value) in ("optimizer", "scaler", "engine", "")
        for c in view.program.find("step") if isinstance(c.func, ast.Attribute) and roles.of(c.func.value) != "scheduler"
    )  # fmt: skip


@rule("loss-cut-from-graph", "S0", "loss-stagnation", "backward",
      bad=PASS.format(a=FORWARD, b="loss = torch.tensor(loss.item(), requires_grad=True)", c=BACKWARD, d=STEP) + f"    {ZERO}\n",
      good=GOOD)  # fmt: skip
def loss_cut_from_graph(view: View) -> Iterator[Fault]:
    """What backward is called on is cut from the graph.

    Why: backward reaches no parameter; with `requires_grad=True` it does not even complain.
    """
    for training in view.trainings:
        for event in training.of("backward"):
            if event.on is not None and (where := _severed(view, event.on, 5)) is not None:
                yield Fault(where, "the loss is cut from the graph before backward: no parameter gets a gradient",
                            "backward 之前 loss 已脱离计算图：参数得不到梯度", _joined(view, where), beside=(event.node,))  # fmt: skip


def _joined(view: View, where: ast.AST) -> tuple:
    """The cut taken out: the whole of `loss = torch.tensor(loss.item())`, or a `.detach()`."""
    program = view.program
    statement = program.statement(where)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    parent = program.parent.get(statement)
    body = getattr(parent, "body", [])
    if (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and name
        and not alone(statement, body)
    ):
        made = statement.value
        if last(program.path(made.func)) in ("tensor", "Variable", "as_tensor") and name in {
            key(n) for n in walk(made)
        }:
            return (without(statement),)
    if (
        isinstance(where, ast.Call)
        and last(program.path(where.func)) == "detach"
        and isinstance(where.func, ast.Attribute)
    ):
        return (instead(where, program.code(where.func.value, 400)),)
    return ()


def _severed(view: View, expr: ast.expr, deep: int) -> ast.AST | None:
    """The node that cuts a value off, if all of it is cut off."""
    if deep == 0:
        return None
    if isinstance(expr, ast.Call):
        path = view.program.path(expr.func)
        name = last(path)
        if name in ("item", "detach", "tolist") or path in (
            "float",
            "torch.tensor",
            "torch.as_tensor",
            "torch.FloatTensor",
        ):
            given = expr.args[0] if expr.args else None
            graphs = isinstance(given, ast.List) and any(LOSS.search(last(key(e))) for e in given.elts)
            return None if isinstance(given, (ast.List, ast.Constant)) and not graphs else expr
        if isinstance(expr.func, ast.Attribute) and name in (
            "requires_grad_",
            "to",
            "mean",
            "sum",
            "cuda",
            "float",
            "clone",
        ):
            return _severed(view, expr.func.value, deep)
        return None
    if isinstance(expr, ast.BinOp):
        left = _severed(view, expr.left, deep)
        right = expr.right if isinstance(expr.right, ast.Constant) else _severed(view, expr.right, deep)
        scaled = isinstance(expr.op, (ast.Div, ast.Mult))
        return left if left is not None and (right is not None or (scaled and _weight(view, expr.right))) else None
    if isinstance(expr, ast.Attribute) and expr.attr == "data":
        return expr
    found = view.program.binding(expr)
    if found and found.part is not None and isinstance(found.value, ast.Call) and len(_anew(view, expr)) == 1:
        made = _returned(view, found.value, found.part)
        return _severed(view, made, deep - 1) if made is not None else None
    plain = found and found.how == "assign" and found.part is None and len(_anew(view, expr)) <= 4
    return _severed(view, found.value, deep - 1) if found and plain and found.value is not None else None


def _weight(view: View, expr: ast.expr) -> bool:
    """Whether a factor is a name that no model makes."""
    return isinstance(expr, ast.Name) and not any(
        model_call(view, s.node) for s in made_of(view.program, expr, (), 4) if not s.cut)  # fmt: skip


def _returned(view: View, call: ast.Call, part: int) -> ast.expr | None:
    """One part of what a function of this file returns, where it has one way out."""
    function = view.program.function(call)
    ends = [n.value for n in view.program.within(function, ast.Return)] if function is not None else []
    if len(ends) == 1 and isinstance(ends[0], ast.Tuple) and part < len(ends[0].elts):
        return ends[0].elts[part]
    return None


def _anew(view: View, expr: ast.expr) -> list:
    return [b for b in view.program.bindings(expr) if b.how == "assign"]


@rule("backward-without-graph", "S0", "loss-stagnation", "no_grad inference_mode",
      bad="""
      for batch in loader:
          with torch.no_grad():
              loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          with torch.no_grad():
              target = teacher(**batch).logits
          loss = model(**batch, target=target).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def backward_without_graph(view: View) -> Iterator[Fault]:
    """The forward pass of the loss runs under `no_grad`.

    Why: there is no graph to go back through: backward fails, or trains nothing.
    """
    for training in view.trainings:
        for event in training.of("backward"):
            runs = [n for n in view.program.traced(event.on) if _applied(view, n)] if event.on is not None else []
            runs = [n for n in runs if not never_both(view.program, n, event.node)]
            closed = [n for n in runs if no_grad(view.program.contexts(n))]
            ran = [n for n in closed if model_call(view, n)]
            learns = event.on is not None and any(_learned(view, n) for n in view.program.traced(event.on))
            if no_grad(event.contexts) or (ran and len(closed) == len(runs) and not learns):
                yield Fault(ran[0] if ran else event.node, "the loss is computed under no_grad: backward has no graph",
                            "loss 在 no_grad 下计算：backward 没有计算图", beside=(event.node,))  # fmt: skip


def _learned(view: View, node: ast.AST) -> bool:
    """Whether a name outside `no_grad` stands for one number or tensor that is itself trained (a temperature, a logit
    scale): the loss has a graph by it."""
    if not isinstance(node, (ast.Name, ast.Attribute)) or no_grad(view.program.contexts(node)):
        return False
    made = [b.value for b in view.program.bindings(node) if b.value is not None]
    return any(
        (isinstance(n, ast.keyword) and n.arg == "requires_grad" and getattr(n.value, "value", False) is True)
        or (isinstance(n, (ast.Name, ast.Attribute)) and "Parameter" in (getattr(n, "id", ""), getattr(n, "attr", "")))
        for value in made
        for n in ast.walk(value)
    )


def _applied(view: View, node: ast.AST) -> bool:
    """Whether a call runs a model, or something else that the program holds and that may be one."""
    if not isinstance(node, ast.Call):
        return False
    held = isinstance(node.func, (ast.Name, ast.Attribute)) and view.program.binding(node.func) is not None
    return model_call(view, node) or (held and view.program.function(node) is None)


@rule("scheduler-before-optimizer", "S2", "lr-schedule-misconfig", "step",
      bad=PASS.format(a=FORWARD, b=BACKWARD, c="scheduler.step()", d=STEP) + f"    {ZERO}\n",
      good=PASS.format(a=FORWARD, b=BACKWARD, c=STEP, d="scheduler.step()") + f"    {ZERO}\n")  # fmt: skip
def scheduler_before_optimizer(view: View) -> Iterator[Fault]:
    """The learning-rate schedule is stepped before the optimizer.

    Why: the first value of the schedule is skipped, and the whole schedule runs one step early.
    """
    for training in view.trainings:
        order, steps = list(training.events), training.of("step")
        for event in training.of("schedule"):
            step = next((s for s in steps if s.guards == event.guards and s.loops == event.loops), None)
            first = step is not None and order.index(event) < order.index(step)
            gone = [b for b in training.of("backward") if order.index(b) < order.index(event)] or _by_itself(
                view, event
            )
            if first and gone and step is not None:
                own, behind = view.program.statement(event.node), view.program.statement(step.node)
                same = view.program.parent.get(own) is view.program.parent.get(behind)
                yield Fault(event.node, "the schedule is stepped before the optimizer", "学习率调度在优化器之前 step",
                            moved(view, own, behind) if same else (), beside=(step.node,))  # fmt: skip
                break


def _by_itself(view: View, event: Event) -> bool:
    """Whether a schedule is one of PyTorch's or Transformers' and counts its steps by itself: the first is one too many."""
    call, program = event.node, view.program
    made = (
        [s.node for s in made_of(program, event.on, event.calls, 4) if isinstance(s.node, ast.Call)] if event.on else []
    )
    paths = [program.path(c.func) for c in made]
    counts = any(re.search(r"lr_scheduler\.|get_\w{1,40}_schedule\w{0,20}$|get_scheduler$", p) for p in paths)
    return counts and isinstance(call, ast.Call) and not call.args and not call.keywords


@rule("learning-rate-overwritten", "S2", "lr-schedule-misconfig", "param_groups",
      bad="scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)\n" + PASS.format(
          a=FORWARD, b=BACKWARD, c=f"{STEP}\n    scheduler.step()",
          d=f"{ZERO}\n    for group in optimizer.param_groups:\n        group['lr'] = 1e-4"),
      good="scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)\n" + PASS.format(
          a=FORWARD, b=BACKWARD, c=f"{STEP}\n    scheduler.step()", d=ZERO))  # fmt: skip
def learning_rate_overwritten(view: View) -> Iterator[Fault]:
    """The learning rate is set to one value in every step, over what the schedule says.

    Why: the schedule has no effect.
    """
    for training in view.trainings:
        stepped = {g for s in training.of("step") for g in s.guards}
        for event in training.of("assign"):
            node = event.node
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            part = target.slice if isinstance(target, ast.Subscript) else None
            if not isinstance(part, ast.Constant) or part.value != "lr" or not isinstance(node, ast.Assign):
                continue
            fixed = view.program.const(node.value) is not None
            if fixed and training.of("schedule") and set(event.guards) <= stepped:
                yield Fault(node, "the learning rate is set to one value in every step: the schedule has no effect",
                            "每一步都把学习率设成同一个值：调度不起作用")  # fmt: skip

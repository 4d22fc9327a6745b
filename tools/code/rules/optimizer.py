"""Rules on the schedule of an optimizer, and on what is trainable."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import after
from ..program import FUNCTIONS, Program, argument, key, last, passed, receiver
from ..source import walk
from .look import inside
from .rule import Fault, View, rule

TRAIN = """
for epoch in range(3):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        {inner}
        optimizer.zero_grad()
    {outer}
"""


@rule("scheduler-never-stepped", "S1", "lr-schedule-misconfig", "LR schedule",
      bad="scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)\n" + TRAIN.format(inner="", outer=""),
      good="scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)\n" + TRAIN.format(inner="scheduler.step()", outer=""))  # fmt: skip
def scheduler_never_stepped(view: View) -> Iterator[Fault]:
    """A learning-rate schedule is made and never stepped.

    Why: the learning rate stays at its first value: zero under a warm-up, the peak under a decay.
    """
    program = view.program
    trainings = [t for t in view.trainings if t.whole and t.of("step")]
    yield from _not_returned(view)
    if not trainings:
        return
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            call = bindings[0].value
            if (
                bindings[0].how != "assign"
                or not isinstance(call, ast.Call)
                or view.roles.known.get(name) != "scheduler"
            ):
                continue
            own = view.roles.of(call) == "scheduler" if bindings[0].part is None else _from_here(view, call)
            if not own or _used(view, name, call):
                continue
            training = trainings[0]
            step = training.of("step")[-1]
            by_lambda = (a.arg for n in walk(call) if isinstance(n, ast.Lambda) for a in n.args.args)
            timed = any(re.search("step|total|iter", w) for w in (*(k.arg or "" for k in call.keywords), *by_lambda))
            fix = (after(program.statement(step.node), f"{name}.step()"),) if timed and step.depth == 0 else ()
            yield Fault(call, f"`{name}` is never stepped: the learning rate stays at its first value",
                        f"`{name}` 从不 step：学习率一直是初始值", fix)  # fmt: skip


def _not_returned(view: View) -> Iterator[Fault]:
    """Schedules that Lightning is not given by the method that makes them."""
    program = view.program
    for function in program.functions.get("configure_optimizers", ()):
        for name, bindings in program.bound.get(function, {}).items():
            call = bindings[0].value
            made = isinstance(call, ast.Call) and bindings[0].how == "assign" and view.roles.of(call) == "scheduler"
            if made and isinstance(call, ast.Call) and "." not in name and not _used(view, name, call):
                yield Fault(call, f"`{name}` is made and not given back: the learning rate stays at its first value",
                            f"`{name}` 创建后没有返回：学习率一直是初始值")  # fmt: skip


def _from_here(view: View, call: ast.Call) -> bool:
    """Whether several things at once come from a function of this file, or from a library that only wraps them."""
    return view.program.function(call) is not None or (
        last(view.program.path(call.func)) == "prepare" and view.roles.of(receiver(call)) == "accelerator")  # fmt: skip


def _used(view: View, name: str, made: ast.Call) -> bool:
    """Whether a name is stepped, or handed on to whoever may step it."""
    scope = view.program.scope(made)
    everywhere = name.startswith("self.") or not isinstance(scope, FUNCTIONS)
    for node in view.program.nodes if everywhere else view.program.within(scope):
        if key(node) != name or isinstance(getattr(node, "ctx", None), ast.Store) or inside(view.program, node, made):
            continue
        above = view.program.parent[node]
        if isinstance(above, ast.Attribute):
            if above.attr in ("step", "batch_step", "step_update"):
                return True
            continue
        return True
    return False


@rule("schedule-counted-wrongly", "S1", "lr-schedule-misconfig", "LR schedule",
      bad=("scheduler = get_cosine_schedule_with_warmup(optimizer, 100, num_training_steps=len(loader) * 3)\n"
           + TRAIN.format(inner="", outer="scheduler.step()"),
           "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs)\n"
           + TRAIN.format(inner="scheduler.step()", outer="")),
      good=("scheduler = get_cosine_schedule_with_warmup(optimizer, 100, num_training_steps=len(loader) * 3)\n"
            + TRAIN.format(inner="scheduler.step()", outer=""),
            "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs)\n"
            + TRAIN.format(inner="", outer="scheduler.step()")))  # fmt: skip
def schedule_counted_wrongly(view: View) -> Iterator[Fault]:
    """A schedule whose length is in steps is stepped once an epoch, or the other way round.

    Why: the warm-up never ends, or the whole decay is over after a few batches.
    """
    program = view.program
    yield from _counts_micro(view)
    for training in view.trainings:
        each = [e for e in training.of("schedule") if not e.guards]
        stepped = {key(e.on) for e in training.of("schedule")}
        for call in program.find("step"):
            name = key(receiver(call))
            if view.roles.known.get(name) != "scheduler":
                continue
            length = _length(view, name)
            rare = name not in stepped and any(x in training.outer for x in program.loops(call)) and not call.args
            often = (
                any(e.node is call for e in each) and not training.of("step")[:1][0].guards
                if training.of("step")
                else False
            )
            patient = often and training.outer and _plateau(view, name)
            if patient:
                yield Fault(call, f"`{name}` waits for a figure to stop falling and is asked after each batch: its patience counts batches",
                            f"`{name}` 每个批次都被询问：它的 patience 数的是批次", severity="S2")  # fmt: skip
            elif rare and length == "steps":
                yield Fault(call, f"`{name}` counts steps and is stepped once an epoch: it hardly moves",
                            f"`{name}` 按步计数，却每个 epoch 才 step 一次")  # fmt: skip
            elif often and length == "epochs" and training.outer:
                yield Fault(call, f"`{name}` counts epochs and is stepped for each batch: it is over at once",
                            f"`{name}` 按 epoch 计数，却每个批次都 step")  # fmt: skip


def _plateau(view: View, name: str) -> bool:
    """Whether a schedule waits, and no longer than some epochs would be."""
    values = (b.value for s in view.program.bound.values() for b in s.get(name, ()))
    for call in (v for v in values if isinstance(v, ast.Call)):
        if last(view.program.path(call.func)) == "ReduceLROnPlateau":
            waits = argument(call, "patience", 3)
            number = 10 if waits is None else view.program.usually(waits)
            return isinstance(number, int) and number <= 50
    return False


def _counts_micro(view: View) -> Iterator[Fault]:
    """A schedule as long as there are micro-batches, stepped with the optimizer once in several."""
    program = view.program
    for training in view.trainings:
        found = training.accumulation
        if found is None or found.count is None:
            continue
        for event in training.of("schedule"):
            call = program.origin(event.on) if event.on is not None else None
            apart = event.guards if found.test is not None else event.loops == training.of("step")[0].loops
            if not apart or not isinstance(call, ast.Call):
                continue
            named = ("num_training_steps", "total_steps", "T_max", "total_iters")
            told = next((v for n in named if (v := argument(call, n)) is not None), None)
            for value in [told] if told is not None else call.args[1:]:
                nodes = list(_arithmetic(program, value))
                lengths = [n for n in nodes if isinstance(n, ast.Call) and program.path(n.func) == "len" and n.args
                           and view.roles.of(n.args[0]) == "loader"]  # fmt: skip
                divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.FloorDiv))
                              and set(_arithmetic(program, n.left)) & set(lengths) for n in nodes)  # fmt: skip
                nodes = [n for n in nodes if isinstance(n, ast.BinOp)]
                back = any(isinstance(n.op, ast.Mult) and isinstance(n.left, ast.BinOp) and isinstance(n.left.op, ast.FloorDiv)
                           and program.code(n.right) == program.code(n.left.right) for n in nodes)  # fmt: skip
                if lengths and (not divided or back):
                    yield Fault(call, "the schedule counts micro-batches and is stepped once in several: it ends far from its end",
                                "调度长度按 micro-batch 计，却每次更新才 step：走不到头", beside=(lengths[0],))  # fmt: skip
                    break


def _arithmetic(program: Program, expr: ast.expr) -> Iterator[ast.AST]:
    """What a number is computed from, through names; not what the things are made of whose length it takes."""
    waiting: list[tuple[ast.AST, int]] = [(expr, 5)]
    while waiting:
        node, left = waiting.pop()
        yield node
        if isinstance(node, ast.Call):
            if program.path(node.func) in ("int", "round", "math.ceil", "max", "min", "math.floor"):
                waiting += [(a, left) for a in node.args]
        elif isinstance(node, ast.Lambda):
            waiting.append((node.body, left))
        elif isinstance(node, ast.Name) and left and node.id in program.functions:
            waiting += [(value, left - 1) for value in program.returned(program.functions[node.id][0])]
        elif isinstance(node, (ast.Name, ast.Attribute)) and left:
            value = program.origin(node)
            if value is not node:
                waiting.append((value, left - 1))
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp)):
            waiting += [(n, left) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]


def _length(view: View, name: str) -> str:
    """What a schedule counts: steps, epochs, or nothing that can be told."""
    values = (b.value for s in view.program.bound.values() for b in s.get(name, ()))
    for call in (v for v in values if isinstance(v, ast.Call)):
        path = last(view.program.path(call.func))
        if path == "OneCycleLR" and argument(call, "steps_per_epoch") is not None:
            return "steps"
        named = next(
            (k for k in call.keywords if k.arg in ("num_training_steps", "total_steps", "T_max", "total_iters")), None
        )
        value = named.value if named else (call.args[-1] if call.args and len(call.args) > 1 else None)
        if value is None:
            continue
        said = {last(key(n)) for n in _arithmetic(view.program, value)} - {""}
        lengths = any(
            isinstance(n, ast.Call) and last(view.program.path(n.func)) == "len" for n in view.program.traced(value, 2)
        )
        epochs = bool(said) and all(re.search(r"epoch", n, re.I) for n in said) and not lengths
        of_library = "schedule_with" in path or path == "get_scheduler"
        if of_library and epochs:
            return "epochs"
        if lengths or any(re.search(r"steps|iters", n) for n in said) or of_library:
            return "steps"
        if epochs and path in ("CosineAnnealingLR", "OneCycleLR", "PolynomialLR", "LinearLR", "ConstantLR"):
            return "epochs"
    return ""


@rule("nothing-trainable", "S0", "frozen-no-trainable-params", "requires_grad",
      bad="""
      for p in model.parameters():
          p.requires_grad = False
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "),
      good="""
      for p in model.parameters():
          p.requires_grad = False
      for p in model.lm_head.parameters():
          p.requires_grad = True
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "))  # fmt: skip
def nothing_trainable(view: View) -> Iterator[Fault]:
    """Every parameter of the trained model is frozen and none is freed again.

    Why: there is nothing to train; the loss does not move, or backward fails.
    """
    program = view.program
    frozen = [n for n in program.each(ast.Assign) if isinstance(n.targets[0], ast.Attribute)
              and n.targets[0].attr == "requires_grad"]  # fmt: skip
    freed = [n for n in frozen if not (isinstance(n.value, ast.Constant) and n.value.value is False)]
    adapted = list(program.find("get_peft_model", "add_adapter"))
    more = any(True for _ in program.find("requires_grad_", *(() if adapted else ("LoraConfig",)))) or any(
        not any(isinstance(n, ast.ClassDef) for n in program.up(c)) for c in program.find("Linear"))  # fmt: skip
    if freed or more:
        return
    for node in frozen:
        loop = next(iter(program.loops(node)), None)
        if not isinstance(loop, ast.For) or program.guards(node) or not isinstance(loop.iter, ast.Call):
            continue
        if any(program.scope(c) is not program.scope(node) or c.lineno > node.lineno for c in adapted):
            continue  # what is put in later is trained
        name = _frozen_here(program, node, key(receiver(loop.iter)))
        trained = any(view.roles.of(c) == "optimizer" and _takes(view, c, name)
                      for c in program.each(ast.Call))  # fmt: skip
        if (
            trained
            and name
            and last(program.path(loop.iter.func)) in ("parameters", "named_parameters")
            and view.trainings
        ):
            yield Fault(node, f"every parameter of `{name}` is frozen, and none is freed again",
                        f"`{name}` 的全部参数都被冻结，没有一个放开")  # fmt: skip


def _frozen_here(program: Program, node: ast.AST, name: str) -> str:
    """The name that a model has where it is frozen: of a parameter, what the one call gives, if no condition is on it."""
    function = program.scope(node)
    calls = program.callers(function) if isinstance(function, FUNCTIONS) else []
    if name not in program.bound.get(function, {}) or program.bound[function][name][0].how != "parameter" or not calls:
        return name
    given = [value for own, value in passed(function, calls[0]) if own == name]
    return key(given[0]) if len(calls) == 1 and given and not program.guards(calls[0]) else ""


def _takes(view: View, call: ast.Call, name: str) -> bool:
    """Whether an optimizer is given the parameters of a model."""
    given = [n for a in call.args[:1] for n in view.program.traced(a) if isinstance(n, ast.Call)]
    return any(key(receiver(n)) == name and last(view.program.path(n.func)) in ("parameters", "named_parameters")
               for n in given)  # fmt: skip

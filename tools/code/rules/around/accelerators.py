"""Rules on steps that are made beside the library that prepared them."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ...training import Training
from ..look import source
from ..meaning.ways import constructor
from ..rule import Fault, View, rule


@rule("backward-beside-accelerator", "S1", "loss-oscillation", "Accelerator deepspeed",
      bad="""
      accelerator = Accelerator()
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator()
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def backward_beside_accelerator(view: View) -> Iterator[Fault]:
    """Backward is called on the loss, past the library that prepared the model.

    Why: the loss is neither scaled nor divided, and DeepSpeed reduces nothing: steps are wrong or missing.
    """
    program = view.program
    prepared = [c for c in program.find("prepare") if view.roles.of(receiver(c)) == "accelerator"]
    engines = view.roles.named("engine") if "deepspeed.initialize" in program.text else set()
    if not prepared and not engines:
        return
    for training in view.trainings:
        own = {id(program.scope(training.node)), id(training.node), id(program.tree)}
        if prepared and not engines and not any(id(program.scope(c)) in own or _of_self(c) for c in prepared):
            continue
        backs = training.of("backward")
        for event in backs:
            steps = [s for s in training.of("step") if s.via == "engine"]
            if (
                event.via
                or any(b.via for b in backs)
                or not isinstance(event.node, ast.Call)
                or (engines and not steps and not prepared)
            ):
                continue
            owner = key(receiver(prepared[0])) if prepared else sorted(engines)[0]
            fix = (
                (instead(event.node, f"{owner}.backward({source(program, event.on)})"),)
                if event.on is not None and not event.node.args and owner
                else ()
            )
            yield Fault(event.node, f"backward is called on the loss, past `{owner}`",
                        f"直接对 loss 反向传播，绕过了 `{owner}`", fix)  # fmt: skip


def _of_self(call: ast.Call) -> bool:
    """Whether an accelerator belongs to the object, which uses it in other methods."""
    return key(receiver(call)).startswith("self.")


@rule("accumulation-not-used", "S1", "gbs-miscalculation", "Accelerator(",
      bad="""
      accelerator = Accelerator(gradient_accumulation_steps=8)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
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
def accumulation_not_used(view: View) -> Iterator[Fault]:
    """The accelerator is told to accumulate, and the loop steps every time without `accumulate`.

    Why: the loss is divided all the same: the batch is that many times smaller than meant, and so are the gradients.
    """
    program = view.program
    if program.mentions(".accumulate(", ".no_sync(", "sync_gradients", "deepspeed", "_do_sync", "_set_sync"):
        return
    for call in program.find("Accelerator"):
        count = argument(call, "gradient_accumulation_steps")
        number = program.const(count) if count is not None else None
        if count is None or (isinstance(count, ast.Constant) and number in (1, None)):
            continue
        for training in view.trainings:
            if (
                training.accumulation is None
                and training.whole
                and any(e.via == "accelerator" for e in training.of("backward"))
            ):
                yield Fault(call, "it is told to accumulate, and the loop has no `accumulate`: every pass steps",
                            "设置了梯度累积，循环里却没有 `accumulate`：每一遍都更新", beside=(training.of("backward")[0].node,))  # fmt: skip
                return


@rule("not-prepared", "S1", "loss-oscillation", "prepare(",
      bad="""
      accelerator = Accelerator(mixed_precision="fp16")
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      model, loader = accelerator.prepare(model, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator(mixed_precision="fp16")
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def not_prepared(view: View) -> Iterator[Fault]:
    """The optimizer that steps, or the loader that is trained on, is not what the accelerator prepared.

    Why: gradients stay scaled, steps are made in each micro-batch, or every rank trains on all the data.
    """
    program = view.program
    calls = [c for c in program.find("prepare") if view.roles.of(receiver(c)) == "accelerator"]
    if (
        not calls
        or any(isinstance(a, ast.Starred) for c in calls for a in c.args)
        or re.search(r"prepare_(optimizer|data_loader|model)|Dummy(Optim|Scheduler)", program.text)
    ):
        return
    given = {key(n) for c in calls for a in c.args for n in walk(a)} - {""}
    for training in view.trainings:
        for step in training.of("step"):
            name = key(step.on)
            made = constructor(view, step.on)
            own = program.scope(step.node) is program.scope(calls[0]) or _one_object(program, step.node, calls[0], name)
            if (
                name
                and made
                and own
                and name not in given
                and step.via not in ("engine", "scaler")
                and last(name) not in {last(g) for g in given}
                and view.roles.sure(step.on) == "optimizer"
            ):
                yield Fault(step.node, f"`{name}` steps and was not prepared by the accelerator",
                            f"`{name}` 执行更新，却没有经过 accelerator.prepare", beside=(calls[0],))  # fmt: skip
                return
        if loader := _own_loader(view, training, given):
            yield Fault(training.node, f"`{loader}` was not prepared by the accelerator: every rank trains on all of it",
                        f"`{loader}` 没有经过 accelerator.prepare：每个 rank 都训练全部数据", beside=(calls[0],))  # fmt: skip
            return


def _one_object(program: Program, step: ast.AST, prepared: ast.AST, name: str) -> bool:
    """Whether a field is stepped in one method of the object that prepares in another."""
    owners = [next((n for n in program.up(x) if isinstance(n, ast.ClassDef)), None) for x in (step, prepared)]
    return name.startswith("self.") and owners[0] is not None and owners[0] is owners[1]


def _own_loader(view: View, training: Training, given: set[str]) -> str:
    """The name of a shuffled `DataLoader` that a training goes over as it was made, where nothing deals out its items."""
    program = view.program
    if program.mentions(
        "Sampler", "Iterable", "split_between_processes", "process_index", ".shard(", "skip_first_batches"
    ):
        return ""
    over = training.node.iter if isinstance(training.node, ast.For) else None
    while isinstance(over, ast.Call) and last(program.path(over.func)) in ("enumerate", "tqdm") and over.args:
        over = over.args[0]
    made = program.origin(over) if key(over) and over is not None else None
    plain = isinstance(made, ast.Call) and last(program.path(made.func)) == "DataLoader"
    shuffled = plain and program.usually(argument(made, "shuffle") or made) is True  # type: ignore[arg-type]
    steps = any(b.via == "accelerator" for b in training.of("backward"))
    return key(over) if shuffled and steps and last(key(over)) not in {last(g) for g in given} else ""

"""The rule on gradients of one loss that another optimizer steps on."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, key, last, receiver
from ...training import Event, Training
from ..rule import Fault, View, rule

TURNED_OFF = re.compile(r"requires_grad|toggle_optimizer|autograd\.grad\(|set_requires|freeze", re.I)
"""Words of programs that keep the gradients of one loss out of the other model by themselves."""

OPTIMIZER = re.compile(r"^opt(im\w{0,8})?_|_?opt(im\w{0,8})?$")
GIVEN_BACK = ("setup", "prepare", "setup_module")
"""Calls of a library that give back what they are given, wrapped."""


@rule("gradients-of-another-loss", "S1", "loss-oscillation", "backward",
      bad="""
      opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4)
      opt_d = torch.optim.Adam(disc.parameters(), lr=2e-4)
      for real, z in loader:
          opt_g.zero_grad()
          opt_d.zero_grad()
          fake = gen(z)
          g_loss = -disc(fake).mean()
          g_loss.backward()
          opt_g.step()
          d_loss = disc(fake.detach()).mean() - disc(real).mean()
          d_loss.backward()
          opt_d.step()
      """,
      good="""
      opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4)
      opt_d = torch.optim.Adam(disc.parameters(), lr=2e-4)
      for real, z in loader:
          opt_g.zero_grad()
          fake = gen(z)
          g_loss = -disc(fake).mean()
          g_loss.backward()
          opt_g.step()
          opt_d.zero_grad()
          d_loss = disc(fake.detach()).mean() - disc(real).mean()
          d_loss.backward()
          opt_d.step()
      """)  # fmt: skip
def gradients_of_another_loss(view: View) -> Iterator[Fault]:
    """One optimizer steps on gradients that the loss of another one has left.

    Why: the generator's loss goes through the discriminator and leaves its gradients there; what is not cleared before the
    discriminator's own backward pass is added to it, with the opposite sign. So with actor and critic.
    Known gaps: models that are frozen and freed by hand are left alone.
    """
    if not view.trainings or TURNED_OFF.search(view.program.text):
        return
    for training in view.trainings:
        names = list(dict.fromkeys(key(s.on) for s in training.of("step") if key(s.on)))
        for name in names if len(names) > 1 else ():
            found = _left_over(view, training, name)
            if found is not None:
                loss, own = found
                zero = next((z for z in training.of("zero") if key(z.on) == name), None)
                yield Fault((zero or own).node, f"`{name}` also steps on the gradients that another loss leaves: clear them right before its own backward",
                            f"`{name}` 还会用到另一个 loss 留下的梯度：应在它自己的 backward 之前清零", beside=(loss.node,))  # fmt: skip
                return


def _left_over(view: View, training: Training, name: str) -> tuple[Event, Event] | None:
    """(the other loss' backward, the step) where nothing clears what the first leaves in the model of an optimizer."""
    models = _models(view.program, training, name)
    order = [e for e in training.events if e.kind in ("backward", "zero", "step")]
    if not models or any(e.guards or e.loops for e in order):
        return None
    for at, loss in enumerate(order):
        behind = [*order[at + 1 :], *order[:at]]
        if loss.kind != "backward" or loss.on is None or not _through(view, loss, models):
            continue
        first = next((e for e in behind if e.kind == "step"), None)
        mine = next((i for i, e in enumerate(behind) if e.kind == "step" and key(e.on) == name), None)
        if first is None or mine is None or key(first.on) in ("", name):
            continue
        between = behind[:mine]
        cleared = any(e.kind == "zero" and _clears(view.program, e, name, models, training) for e in between)
        again = any(e.kind == "backward" for e in between)
        if again and not cleared:
            return loss, behind[mine]
    return None


def _clears(program: Program, zero: Event, name: str, models: set[str], training: Training) -> bool:
    """Whether something is cleared that may be what the optimizer holds: by its name, its model's, or one that tells nothing."""
    on = key(zero.on)
    others = {key(s.on) for s in training.of("step")} - {name}
    return on not in others or bool(zero.on is not None and program.also(zero.on) & models)


def _models(program: Program, training: Training, name: str) -> set[str]:
    """The names of the models whose parameters an optimizer is given; by its own name where it is made elsewhere."""
    on = next((s.on for s in training.of("step") if key(s.on) == name), None)
    made = _of_lightning(program, on) or _prepared(program, on) or program.origin(on) if on is not None else None
    if not isinstance(made, ast.Call) or not made.args:
        stem = OPTIMIZER.sub("", last(name)) if isinstance(made, ast.Name) else ""
        return {stem} - {""}
    asked = [
        n
        for n in program.traced(made.args[0], 2)
        if isinstance(n, ast.Call) and last(program.path(n.func)) == "parameters"
    ]
    models = {k for c in asked if (on := receiver(c)) is not None for k in program.also(on)} - {""}
    return models | _wrapped(program, models)


def _prepared(program: Program, on: ast.expr) -> ast.expr | None:
    """What a library is given for one of `model, optimizer = fabric.setup(model, optimizer)`."""
    found = program.binding(on)
    call = found.value if found is not None and found.part is not None else None
    if not isinstance(call, ast.Call) or last(program.path(call.func)) not in GIVEN_BACK:
        return None
    return program.origin(call.args[found.part]) if found is not None and (found.part or 0) < len(call.args) else None  # type: ignore[index]


def _wrapped(program: Program, models: set[str]) -> set[str]:
    """The names under which a library gives these models back."""
    out: set[str] = set()
    for call in program.find(*GIVEN_BACK):
        statement = program.statement(call)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        names = target.elts if isinstance(target, ast.Tuple) else [target] if target is not None else []
        out |= {key(n) for n, a in zip(names, call.args, strict=False) if key(a) in models}
    return out - {""}


def _of_lightning(program: Program, on: ast.expr) -> ast.expr | None:
    """What `configure_optimizers` gives for one of `a, b = self.optimizers()`."""
    found = program.binding(on)
    asked = found.value if found is not None and found.part is not None else None
    if not isinstance(asked, ast.Call) or last(program.path(asked.func)) != "optimizers":
        return None
    made = next(iter(program.functions.get("configure_optimizers", [])), None)
    ends = [program.origin(e) for e in program.returned(made)] if made is not None else []
    each = ends[0].elts if len(ends) == 1 and isinstance(ends[0], (ast.Tuple, ast.List)) else []
    if each and isinstance(each[0], ast.List):
        each = each[0].elts  # optimizers and schedules, a list each
    return program.origin(each[found.part]) if found is not None and (found.part or 0) < len(each) else None  # type: ignore[index]


def _through(view: View, loss: Event, models: set[str]) -> bool:
    """Whether a loss goes through one of these models with its graph, and is no loss of that model's own."""
    program = view.program
    for node, cut, _ in made_of(program, loss.on, loss.calls, kept=False):  # type: ignore[arg-type]
        if not cut and isinstance(node, ast.Call) and key(node.func) and program.also(node.func) & models:
            return True
    return False

"""Rules on which optimizer it is: whose gradients are clipped, what the schedule moves, what a resumed run steps with."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last, passed, receiver
from ...running import place
from ...source import walk
from ...training import Event, events_of
from ..rule import Fault, View, rule

PARAMETERS = ("parameters", "named_parameters")
SIZES = frozenset(("config", "hidden_size", "num_features", "in_features", "out_features", "embed_dim", "feature_info",
                   "hidden_dim", "output_dim", "d_model", "device", "dtype", "shape", "cfg", "conf", "args", "opt", "opts", "hp",
                   "hparams", "params", "settings"))  # fmt: skip
"""What is asked for to make a model: of another one that it fits, of a configuration."""
STEP = """
for batch in loader:
    loss = student(**batch).loss
    loss.backward()
    {clip}
    optimizer.step()
    optimizer.zero_grad()
"""


@rule("clip-on-another-model", "S1", "grad-explosion", "clip_grad",
      bad="optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4)"
          + STEP.format(clip="torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)"),
      good="optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4)"
           + STEP.format(clip="torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)"))  # fmt: skip
def clip_on_another_model(view: View) -> Iterator[Fault]:
    """The gradients that are clipped are not those of the optimizer which steps next.

    Why: the trained model steps on gradients of any size; the limit has no effect.
    Known gaps: an optimizer whose parameters cannot be told is left alone.
    """
    program = view.program
    for training in view.trainings:
        order = list(training.events)
        for clip in training.of("clip"):
            behind = order[order.index(clip) + 1 :]
            until = next((i for i, e in enumerate(behind) if e.kind == "backward"), len(behind))
            steps = [e for e in behind[:until] if e.kind == "step" and e.on is not None and not e.via]
            mine = _owners(view, clip.on, clip)
            theirs = [_owners(view, s.on, s) for s in steps]
            if mine and theirs and all(theirs) and not any(_meet(mine, t) for t in theirs):
                whose = program.code(clip.on, 60) if clip.on is not None else ""
                yield Fault(place(clip, steps[0]), f"`{whose}` is clipped, and `{key(steps[0].on)}` steps on other parameters",
                            f"裁剪的是 `{whose}`，而 `{key(steps[0].on)}` 更新的是另一组参数", beside=(steps[0].node,))  # fmt: skip


def _owners(view: View, expr: ast.expr | None, at: Event) -> set[object]:
    """All that stands for the models whose parameters a value is made of: names with their homes, and constructors."""
    program, out = view.program, set[object]()
    for source in made_of(program, expr, at.calls) if expr is not None else ():
        node = source.node
        asked = isinstance(node, ast.Call) and last(program.path(node.func)) in PARAMETERS
        on = receiver(node) if asked and isinstance(node, ast.Call) else None
        parts = [s.node for s in made_of(program, on, source.calls, asked=SIZES)] if on is not None else []
        moves = [n for n in parts if isinstance(n, ast.Call) and last(program.path(n.func)) in ("to", "cuda")]
        where = {key(a) for n in moves for a in n.args} | {"self"}
        for inner in parts:
            if program.parent.get(inner) in parts and isinstance(program.parent[inner], ast.Attribute):
                continue  # whose part it is
            above = program.parent.get(inner)
            called = isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is inner)
            if called and key(inner).partition(".")[0] in program.imports:
                continue  # what makes it: another model may be made by the same
            if isinstance(inner, ast.Call):
                out.add(inner)
            elif (
                isinstance(inner, (ast.Name, ast.Attribute))
                and key(inner) not in where
                and last(key(inner)) not in SIZES
            ):
                out.add((program.home(inner, key(inner)), key(inner)))
    return out


def _meet(mine: set[object], theirs: set[object]) -> bool:
    """Whether two models are one, or one of them is a part of the other."""
    names = [{str(o[1]) for o in some if isinstance(o, tuple)} for some in (mine, theirs)]
    parts = any(a.startswith(f"{b}.") or b.startswith(f"{a}.") for a in names[0] for b in names[1])
    return bool(mine & theirs) or parts


@rule("clip-behind-the-optimizer", "S2", "grad-explosion", "optax",
      bad="""
      import optax
      tx = optax.chain(optax.adamw(1e-3), optax.clip_by_global_norm(1.0))
      state = tx.init(model)
      """,
      good="""
      import optax
      tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
      state = tx.init(model)
      """)  # fmt: skip
def clip_behind_the_optimizer(view: View) -> Iterator[Fault]:
    """A chain of optax clips behind the optimizer.

    Why: what is clipped is the update, which is as small as the learning rate: gradients of any size get through.
    """
    program = view.program
    for call in program.find("chain"):
        star = program.origin(call.args[0].value) if call.args and isinstance(call.args[0], ast.Starred) else None
        given = star.elts if isinstance(star, (ast.List, ast.Tuple)) else call.args
        names = [last(program.path(program.origin(a))) for a in given]
        clips = [i for i, n in enumerate(names) if re.fullmatch(r"clip|clip_by_global_norm|adaptive_grad_clip", n)]
        made = [
            i
            for i, n in enumerate(names)
            if re.fullmatch(r"(scale_by_)?(adam\w?|adamw|sgd|lion|lamb|rmsprop|adafactor)", n)
        ]
        if clips and made and min(clips) > min(made) and program.path(call.func).startswith("optax"):
            yield Fault(given[clips[0]], "the update is clipped, not the gradient: the optimizer stands before the clip",
                        "被裁剪的是更新量而不是梯度：裁剪排在优化器之后")  # fmt: skip


@rule("schedule-of-another-optimizer", "S1", "lr-schedule-misconfig", "LR schedule",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
      for batch in loader:
          model(**batch).loss.backward()
          optimizer.step()
          scheduler.step()
          optimizer.zero_grad()
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
      scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
      for batch in loader:
          model(**batch).loss.backward()
          optimizer.step()
          scheduler.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def schedule_of_another_optimizer(view: View) -> Iterator[Fault]:
    """The schedule was made for an optimizer that has been replaced.

    Why: it moves the rate of one that nothing steps; the new one keeps its first rate.
    """
    program = view.program
    schedules = [n for n in program.each(ast.Call) if n.args and view.roles.of(n) == "scheduler"
                 and key(n.args[0]) and view.roles.of(n.args[0]) == "optimizer"]  # fmt: skip
    for made in schedules:
        name, scope = key(made.args[0]), program.scope(made)
        anew = [b.value for b in program.bindings(made.args[0]) if isinstance(b.value, ast.Call) and b.part is None
                and view.roles.of(b.value) == "optimizer" and last(program.path(b.value.func)) != "prepare"]  # fmt: skip
        around = program.guards(made)
        same = [c for c in anew if program.scope(c) is scope and all(g in program.guards(c) for g in around)]
        earlier = [c for c in same if c.lineno < made.lineno]
        later = [c for c in same if c.lineno > made.lineno and program.loops(c) == program.loops(made)]
        again = [
            s for s in schedules if s is not made and key(s.args[0]) == name and later and s.lineno > later[0].lineno
        ]
        if earlier and later and not again and any(True for _ in program.find("step")):
            yield Fault(later[0], f"`{name}` is made anew, and the schedule goes on moving the one before",
                        f"`{name}` 被重新创建，而调度器仍在调整旧的优化器", beside=(made,))  # fmt: skip


@rule("optimizer-remade-after-loading", "S1", "resume-loss-jump", "load_state_dict",
      bad="""
      def restore(model, path):
          optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
          state = torch.load(path)
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
          return optimizer
      """,
      good="""
      def restore(model, path):
          optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
          state = torch.load(path)
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          return optimizer
      """)  # fmt: skip
def optimizer_remade_after_loading(view: View) -> Iterator[Fault]:
    """The optimizer is made anew once its state has been loaded.

    Why: the moments that were loaded are thrown away: the first steps after a resume are as rough as the first of all.
    """
    program = view.program
    if not any(view.roles.of(receiver(c)) == "optimizer" for c in program.find("load_state_dict")):
        return
    made = [b.value for s in program.bound.values() for bs in s.values() for b in bs if b.how == "assign"
            and view.roles.of(b.value) == "optimizer" and isinstance(b.value, ast.Call)]  # fmt: skip
    for scope in dict.fromkeys(program.scope(m) for m in made if m is not None):
        if isinstance(scope, (*FUNCTIONS, ast.Module)):
            yield from _remade(view, events_of(program, view.roles, scope))


def _remade(view: View, events: tuple[Event, ...]) -> Iterator[Fault]:
    """Optimizers that are made again, in one run of a function, once they have got their state."""
    program, loaded = view.program, dict[str, Event]()
    for event in events:
        node = event.node
        loads = isinstance(node, ast.Call) and last(program.path(node.func)) == "load_state_dict"
        if loads and view.roles.of(event.on) == "optimizer" and (name := _outside(view, event)):
            loaded[name] = event
        made = node.value if event.kind == "assign" and isinstance(node, ast.Assign) else None
        before = loaded.pop(key(node.targets[0]), None) if made is not None and isinstance(node, ast.Assign) else None
        anew = view.roles.of(made) == "optimizer" and isinstance(made, ast.Call)
        here = before is not None and (not event.calls or event.calls == before.calls)
        if before is not None and anew and here and set(event.guards) <= set(before.guards):
            name = key(node.targets[0]) if isinstance(node, ast.Assign) else ""
            yield Fault(place(event, before), f"`{name}` is made anew after its state was loaded: what was loaded is gone",
                        f"加载状态之后又重新创建了 `{name}`：加载的状态丢失", beside=(before.node,))  # fmt: skip
            return


def _outside(view: View, event: Event) -> str:
    """The name that an object has where the outermost call of an event is made."""
    name = key(event.on)
    for call in reversed(event.calls):
        function = view.program.function(call)
        pairs = passed(function, call) if function is not None else ()
        name = next((key(v) for own, v in pairs if own == name), name if name.startswith("self.") else "")
    return name


@rule("rate-not-put-in", "S1", "lr-schedule-misconfig", "_lr_ learning_rate",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
      for step, batch in enumerate(loader):
          lr = 6e-4 * min(1.0, step / 1000)
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          print(step, lr, loss.item())
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
      for step, batch in enumerate(loader):
          lr = 6e-4 * min(1.0, step / 1000)
          for group in optimizer.param_groups:
              group["lr"] = lr
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          print(step, lr, loss.item())
      """)  # fmt: skip
def rate_not_put_in(view: View) -> Iterator[Fault]:
    """A learning rate is computed in each step and never given to the optimizer.

    Why: the rate stays at its first value, and the log shows the schedule that was meant.
    """
    program = view.program
    if program.mentions("param_groups", "LearningRateSchedule", "hyperparams", "inject_hyper"):
        return
    yield from _beside_the_groups(view)
    yield from _of_an_epoch(view)
    for training in view.trainings:
        if not training.whole or training.of("schedule") or not any(not s.via for s in training.of("step")):
            continue
        for event in training.of("assign"):
            node = event.node
            if event.depth or not isinstance(node, ast.Assign) or not isinstance(node.value, COMPUTED):
                continue
            name = key(node.targets[0])
            told = RATE.match(name) and _counted(program, node.value) and not _elsewhere(view, node.value)
            if told and not _handed(program, name, training.node):
                yield Fault(node, f"`{name}` is computed for each step and never given to the optimizer",
                            f"每一步都算出 `{name}`，却从未交给优化器", beside=(training.of("step")[0].node,))  # fmt: skip


def _of_an_epoch(view: View) -> Iterator[Fault]:
    """A rate that is computed for each epoch, in its loop, and never given to the optimizer."""
    program = view.program
    plain = [t for t in view.trainings if t.whole and not t.of("schedule") and any(not s.via for s in t.of("step"))]
    for loop, step in {x: t.of("step")[0].node for t in plain for x in t.outer}.items():
        for node in program.within(loop, ast.Assign):
            name, here = key(node.targets[0]), program.loops(node)[:1] == [loop]
            if not here or not RATE.match(name) or not isinstance(node.value, COMPUTED):
                continue
            if _counted(program, node.value) and not _elsewhere(view, node.value) and not _handed(program, name, loop):
                yield Fault(node, f"`{name}` is computed for each epoch and never given to the optimizer",
                            f"每个 epoch 都算出 `{name}`，却从未交给优化器", beside=(step,))  # fmt: skip


def _elsewhere(view: View, value: ast.expr) -> bool:
    """Whether a function of another file is given the optimizer, which may set its rate."""
    calls = [n for n in walk(value) if isinstance(n, ast.Call) and view.program.function(n) is None]
    return any(view.roles.of(a) == "optimizer" for c in calls for a in (*c.args, *(k.value for k in c.keywords)))


def _beside_the_groups(view: View) -> Iterator[Fault]:
    """A rate that is written to the optimizer itself, or to its defaults: its groups are what it steps with."""
    program = view.program
    for node in program.each(ast.Assign):
        target = node.targets[0]
        on = target.value if isinstance(target, ast.Attribute) and target.attr in ("lr", "learning_rate") else None
        if (
            isinstance(target, ast.Subscript)
            and program.const(target.slice) == "lr"
            and isinstance(target.value, ast.Attribute)
        ):
            on = target.value.value if target.value.attr == "defaults" else None
        stepped = on is not None and any(
            key(s.on) in program.also(on) for t in view.trainings for s in t.of("step") if not s.via
        )
        around = program.loops(node) or any(program.loops(c) for c in program.callers(program.scope(node)))
        if on is not None and stepped and around and program.kind(on) is None and "torch" in program.text:
            yield Fault(node, f"`{program.code(target)}` is no rate that the optimizer steps with: set that of its `param_groups`",
                        f"`{program.code(target)}` 对优化器不起作用：应修改 `param_groups` 中的学习率")  # fmt: skip


COMPUTED = (ast.Call, ast.BinOp, ast.IfExp)
RATE = re.compile(r"^(cur(rent)?_|new_|this_)?(lr|learning_rate)(_now|_t)?$")
SHOWN = ("print", "info", "log", "add_scalar", "set_postfix", "set_description", "append", "format", "debug", "write")


def _counted(program: Program, value: ast.expr) -> bool:
    """Whether a value goes by the number of the step, and not by what the optimizer or a schedule says."""
    called = {last(program.path(n.func)) for n in walk(value) if isinstance(n, ast.Call)}
    names = [n for n in walk(value) if isinstance(n, (ast.Name, ast.Attribute))]
    raised = any(b.how in ("for", "augment") for n in names if key(n) for b in program.bindings(n))
    return raised and not called & {"get_last_lr", "get_lr_from", "step"}


def _handed(program: Program, name: str, loop: ast.AST) -> bool:
    """Whether a value is used for anything but to be shown."""
    for node in program.within(loop, ast.Name, ast.Attribute):
        if key(node) != name or isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        around = [a for a in program.up(node) if isinstance(a, (ast.Call, ast.JoinedStr))]
        if not any(isinstance(a, ast.JoinedStr) or last(program.path(a.func)) in SHOWN for a in around):
            return True
    return False

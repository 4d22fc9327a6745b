"""Rules on what a checkpoint holds and what going on with it restores: optimizer, schedule, random numbers, data."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...checkpoints import asked_for, asked_for_in, fixed, opened, repeated, same_place, saves
from ...flow import made_of
from ...patch import after
from ...program import Binding, Program, key, last, receiver
from ...source import walk
from ...training import Training
from ..apart.rotating import rotated_first
from ..look import behind_training, inside, no_weights, source
from ..rule import Fault, View, rule

KEPT = {"optimizer": r"opt(im|imizer)?(_state)?(_dict)?s?$", "scheduler": r"(lr_)?sched(uler)?(_state)?(_dict)?$",
        "scaler": r"(grad_)?scaler(_state)?(_dict)?$"}  # fmt: skip


@rule("checkpoint-overwritten-in-place", "S3", "checkpoint-save-failure", "torch.save dump( rmtree unlink",
      bad="""
      for step, batch in enumerate(loader):
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          if step % 100 == 0:
              torch.save(model.state_dict(), "latest.pt")
      """,
      good="""
      for step, batch in enumerate(loader):
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          if step % 100 == 0:
              torch.save(model.state_dict(), "latest.pt.tmp")
              os.replace("latest.pt.tmp", "latest.pt")
      """)  # fmt: skip
def checkpoint_overwritten_in_place(view: View) -> Iterator[Fault]:
    """The only checkpoint is written over in place.

    Why: a job killed while it writes leaves neither the old nor the new one.
    Where the run goes on from that very file, it is all that there is; where the old one is deleted first, there is none
    while the new one is written.
    """
    program = view.program
    yield from _deleted_first(view)
    yield from rotated_first(view)
    if re.search(
        r"os\.replace|os\.rename|\.rename\(|shutil\.move|\.replace\((self\.)?\w{0,40}(path|tmp|file|dst|target)|[\"']\.?(tmp|part)\b",
        program.text,
    ):
        return
    read = [opened(program, c.args[0]) or c.args[0] for c in program.find("load") if c.args]
    loops = tuple(x for t in view.trainings if t.whole for x in (t.node, *t.outer))
    for saved in saves(view):
        if saved.path is None or not repeated(view, saved.call) or not fixed(program, saved.path, loops):
            continue
        words = " ".join(str(n.value) for n, _, _ in made_of(program, saved.path) if isinstance(n, ast.Constant))
        if re.search(r"best|final", words + program.code(saved.path)):
            continue
        several = len(saved.fields) > 1 or any(isinstance(v, ast.DictComp) for v in saved.fields.values())
        resumed = any(same_place(program, saved.path, r) for r in read) and several
        yield Fault(saved.call, "the only checkpoint is written over in place: a killed job leaves none",
                    "原地覆盖唯一的检查点：写到一半被杀就什么都不剩", severity="S2" if resumed else "")  # fmt: skip


def _deleted_first(view: View) -> Iterator[Fault]:
    """The last checkpoint is deleted, and then the new one is written to its place."""
    program = view.program
    written = [
        c for c in program.find("save", "save_pretrained", "save_state", "save_checkpoint", "save_file") if c.args
    ]
    for call in program.find("rmtree", "remove", "unlink"):
        old = call.args[0] if call.args else receiver(call)
        name = key(program.origin(old)) or key(old) if old is not None else ""
        later = [c for c in written if program.scope(c) is program.scope(call) and c.lineno > call.lineno]
        same = [c for c in later if name and any(name == key(n) for a in c.args for n in walk(a))]
        moved = re.search(r"os\.replace|os\.rename|\.rename\(|shutil\.(move|copy)", program.said)
        if same and not moved and repeated(view, same[0]):
            yield Fault(call, "the last checkpoint is deleted before the new one is written: a killed job leaves none",
                        "先删除旧检查点再写新的：此时被杀就什么都不剩", severity="S2", beside=(same[0],))  # fmt: skip
            return


@rule("checkpoint-part-not-restored", "S1", "resume-loss-jump", "load_state_dict",
      bad="""
      def save(path):
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)


      def resume(path):
          state = torch.load(path, weights_only=True)
          model.load_state_dict(state["model"])
          return state["step"]
      """,
      good="""
      def save(path):
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)


      def resume(path):
          state = torch.load(path, weights_only=True)
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          return state["step"]
      """)  # fmt: skip
def checkpoint_part_not_restored(view: View) -> Iterator[Fault]:
    """The checkpoint holds the optimizer or the schedule, and resuming does not read it.

    Why: the moments begin at zero and the warm-up begins again: the loss jumps after the restart.
    """
    program = view.program
    loads = [c for c in program.find("load_state_dict") if view.roles.of(receiver(c)) in ("model", "engine")]
    resumes = [c for c in loads if _resumes(view, c)]
    if not resumes:
        return
    asked = asked_for(program)
    for name, value in ((n, v) for s in saves(view) for n, v in s.fields.items()):
        made = program.origin(value)
        if name not in asked and name in COUNTERS and _begins_anew(program, value):
            yield Fault(resumes[0], f"the checkpoint holds `{name}`, and resuming counts from the beginning",
                        f"检查点里有 `{name}`，恢复后却从头计数", severity="S2", beside=(value,))  # fmt: skip
        if name in asked or not isinstance(made, (ast.Call, ast.Dict)):
            continue
        asks = (last(program.path(n.func)) for n in walk(made) if isinstance(n, ast.Call))
        if any(re.match("get_rng_state|getstate|get_state$", n) for n in asks) and not any(
            re.search(r"set_rng_state|setstate|set_state", n) for n in program.calls
        ):
            yield Fault(resumes[0], f"the checkpoint holds `{name}`, and resuming does not restore it",
                        f"检查点里有 `{name}`，恢复时却没有读取", severity="S2", beside=(value,))  # fmt: skip
        if not isinstance(made, ast.Call):
            continue
        for part, pattern in KEPT.items():
            told = re.fullmatch(pattern, name) or view.roles.of(receiver(made)) == part
            if not told or last(program.path(made.func)) != "state_dict":
                continue
            restored = any(view.roles.of(receiver(c)) == part or key(receiver(c)) == key(receiver(made))
                           for c in program.find("load_state_dict"))  # fmt: skip
            if not restored:
                severity = "S1" if part == "optimizer" else "S2"
                fix = _restored(view, resumes[0], key(receiver(made)), name)
                yield Fault(resumes[0], f"the checkpoint holds `{name}`, and resuming does not restore it",
                            f"检查点里有 `{name}`，恢复时却没有读取", fix, severity, beside=(value,))  # fmt: skip


COUNTERS = ("step", "epoch", "global_step", "iteration", "iter_num", "iter")


def _begins_anew(program: Program, counter: ast.expr) -> bool:
    """Whether a counter begins at a number that is written out, wherever it is given one."""
    found = program.bindings(counter) if key(counter) else []
    begun = [b for b in found if b.how in ("assign", "for")]
    return bool(begun) and all(_written(program, b) for b in found if b.how != "augment")


def _written(program: Program, binding: Binding) -> bool:
    """Whether a name begins at 0 or 1: as a number, or by `range(n)` and `enumerate(x)`."""
    value = binding.value
    if binding.how == "assign" and value is not None:
        return program.const(value) in (0, 1)
    counts = isinstance(value, ast.Call) and program.path(value.func) in ("range", "enumerate")
    if not counts or binding.how != "for" or not isinstance(value, ast.Call) or value.keywords:
        return False
    return len(value.args) == 1 or (program.path(value.func) == "range" and program.const(value.args[0]) in (0, 1))


def _resumes(view: View, call: ast.Call) -> bool:
    """Whether a load is one of a run that goes on: it reads a step or an epoch as well, or says so."""
    scope = view.program.scope(call)
    text = view.program.code(scope, 100_000) if not isinstance(scope, ast.Module) else view.program.text
    guards = " ".join(source(view.program, g[0]) for g in view.program.guards(call))
    return bool(re.search(r"resum", guards + getattr(scope, "name", "")) or re.search(
        r"\[['\"](step|epoch|global_step|iter|iter_num|iteration)['\"]\]", text))  # fmt: skip


def _restored(view: View, load: ast.Call, target: str, name: str) -> tuple:
    argued = load.args[0] if load.args else None
    if isinstance(argued, ast.Subscript) and target and key(argued.value):
        statement = view.program.statement(load)
        if isinstance(statement, ast.Expr):
            return (after(statement, f"{target}.load_state_dict({key(argued.value)}[{name!r}])".replace("'", '"')),)
    return ()


@rule("state-not-saved", "S2", "resume-loss-jump", "load_state_dict from_pretrained",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters())
      start = 0
      if args.resume:
          state = torch.load(args.resume, weights_only=True)
          model.load_state_dict(state["model"])
          start = state["epoch"] + 1
      for epoch in range(start, 10):
          for batch in loader:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
          torch.save({"model": model.state_dict(), "epoch": epoch}, f"{epoch}.pt")
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters())
      start = 0
      if args.resume:
          state = torch.load(args.resume, weights_only=True)
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          start = state["epoch"] + 1
      for epoch in range(start, 10):
          for batch in loader:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, f"{epoch}.pt")
      """)  # fmt: skip
def state_not_saved(view: View) -> Iterator[Fault]:
    """A run goes on with the weights and its step, and the state of the optimizer was never kept.

    Why: moments begin at zero and the schedule at its beginning: the loss jumps, and learning is not what was planned.
    Known gaps: SGD without momentum has no state.
    """
    program = view.program
    if not any(t.of("step") for t in view.trainings):
        return
    kept = ("save_state", "load_state", "save_checkpoint", "get_state_dict", "get_optimizer_state_dict",
            "set_state_dict")  # fmt: skip
    if any(True for _ in program.find(*kept)) and not any(program.functions.get(n) for n in kept):
        return
    states = [c for c in program.find("state_dict", "load_state_dict", "optim_state_dict") if receiver(c) is not None]
    if any("optimizer" in state_roles(view, c) or re.search("optim", program.code(c)) for c in states):
        return
    stateful = [c for c in program.each(ast.Call) if view.roles.of(c) == "optimizer"
                and (not re.search(r"\.SGD$", program.path(c.func)) or re.search("momentum", program.code(c)))]  # fmt: skip
    if not stateful or not _writes(view):
        return
    for call in program.find("load_state_dict", "from_pretrained"):
        own = bool(state_roles(view, call) & {"model", "engine"}) or last(program.path(call.func)) == "from_pretrained"
        if own and not no_weights(program, call) and not behind_training(view, call) and goes_on(view, call):
            yield Fault(call, "the run goes on with these weights, and the optimizer's state was never kept",
                        "从这些权重继续训练，却从未保存优化器的状态", beside=(stateful[0],))  # fmt: skip
            return


def state_roles(view: View, call: ast.Call) -> set[str]:
    """What a state is of: of each of the things that are gone through, where it is taken in a loop."""
    on = receiver(call)
    said = {view.roles.of(on)} - {""}
    if said or not isinstance(on, ast.Name):
        return said
    parts = (s.node for s in made_of(view.program, on) if isinstance(s.node, (ast.Name, ast.Attribute)))
    return {view.roles.of(n) for n in parts} - {""}


def _writes(view: View) -> bool:
    """Whether the training keeps its weights."""
    saved = [s.call for s in saves(view)] + list(view.program.find("save_pretrained"))
    return any(repeated(view, c) or not view.program.callers(view.program.scope(c)) for c in saved)


def goes_on(view: View, call: ast.Call) -> bool:
    """Whether a load stands beside a step or an epoch at which the training begins."""
    program = view.program
    guards = " ".join(program.code(g[0]) for g in program.guards(call))
    scope = program.scope(call)
    named = re.search(r"resum", f"{guards} {getattr(scope, 'name', '')} {program.code(call)}", re.I)
    counters = re.compile(r"(^|_)(start|first|begin|global|resume)\w{0,20}|(^|_)(step|epoch|iteration)s?$", re.I)
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            for binding in bindings:
                value = binding.value
                if binding.how != "assign" or value is None or not counters.search(last(name)):
                    continue
                near = program.scope(binding.node) is scope and (named or asked_for_in(value))
                if near and not isinstance(value, ast.Constant) and _together(program, binding.node, call):
                    return True
    if named or re.search(r"load|restore", getattr(scope, "name", "")):
        read = {n for r in program.within(scope, ast.Return) if r.value is not None for n in asked_for_in(r.value)}
        return bool(read & {"epoch", "step", "global_step", "iteration", "iter"})
    return False


def _together(program: Program, node: ast.AST, call: ast.Call) -> bool:
    """Whether two statements stand under the same conditions."""
    return [g[2] for g in program.guards(node)] == [g[2] for g in program.guards(call)]


@rule("batches-repeated-after-resume", "S2", "resume-loss-jump", "resum load_state load_checkpoint torch.load",
      bad="""
      accelerator.load_state(path)
      state = json.load(open(path + "/position.json"))
      first_epoch, done = state["epoch"], state["step"]
      for epoch in range(first_epoch, 3):
          for step, batch in enumerate(loader):
              loss = model(**batch).loss
              accelerator.backward(loss)
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      accelerator.load_state(path)
      state = json.load(open(path + "/position.json"))
      first_epoch, done = state["epoch"], state["step"]
      for epoch in range(first_epoch, 3):
          rest = accelerator.skip_first_batches(loader, done) if epoch == first_epoch else loader
          for step, batch in enumerate(rest):
              loss = model(**batch).loss
              accelerator.backward(loss)
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def batches_repeated_after_resume(view: View) -> Iterator[Fault]:
    """A run that goes on in the middle of an epoch begins that epoch's data anew.

    Why: the first batches are trained on twice, the last ones of the plan never.
    Known gaps: a loader that keeps its own place is told by its words only.
    """
    program = view.program
    if re.search(
        r"skip|islice|Stateful|consumed|(loader|sampler|dl)\w{0,40}\.load_state_dict|set_state|start_index|offset",
        program.said,
        re.I,
    ):
        return
    read = {n.slice.value for n in program.each(ast.Subscript) if isinstance(n.ctx, ast.Load)
            and isinstance(n.slice, ast.Constant) and isinstance(n.slice.value, str)}  # fmt: skip
    saved = [c for c in program.find("load_state", "load_checkpoint", "load_state_dict")]
    within = read & {"step", "global_step", "iter", "batch", "batch_idx", "update", "micro_step"}
    if not saved or not (within or "//" in program.text):
        return
    for training in view.trainings:
        if (counter := _counter(view, training, within)) is not None:
            yield Fault(counter, "after a resume the loader begins anew: what was seen of this epoch is trained on twice",
                        "恢复后数据加载器从头开始：该 epoch 已训练过的批次会再训练一遍", beside=(training.node,))  # fmt: skip
            continue
        outer = next((x for x in training.outer if isinstance(x, ast.For) and isinstance(x.iter, ast.Call)), None)
        call = outer.iter if outer is not None else None
        ranged = isinstance(call, ast.Call) and program.path(call.func) == "range" and len(call.args) == 2
        begun = ranged and not isinstance(call.args[0], ast.Constant) and call.args[0]  # type: ignore[union-attr]
        compared = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.Lt, ast.LtE))
                       for i in walk(training.node) if isinstance(i, ast.If) for n in walk(i.test))  # fmt: skip
        split = isinstance(begun, ast.expr) and _whole_epochs(view, begun, training)
        if (("epoch" in read and within) or split) and begun and isinstance(training.node, ast.For) and not compared:
            yield Fault(training.node, "after a resume the epoch begins anew: its first batches are trained on twice",
                        "恢复后该 epoch 从头开始：前面的批次会训练两遍", beside=(saved[0],))  # fmt: skip


def _whole_epochs(view: View, start: ast.expr, training: Training) -> bool:
    """Whether a run begins at the epoch in which a step lies: `step // len(loader)`."""
    values = [b.value for b in view.program.bindings(start)] if key(start) else [start]
    shares = [v for v in values if isinstance(v, ast.BinOp) and isinstance(v.op, ast.FloorDiv)]
    over = {key(n) for n in walk(training.node.iter)} - {""} if isinstance(training.node, ast.For) else set()
    return any(isinstance(n, ast.Call) and key(n.func) == "len" and n.args and key(n.args[0]) in over
               for v in shares for n in walk(v.right))  # fmt: skip


def _over_loader(view: View, training: Training) -> bool:
    """Whether a loop goes through a loader: as `for` does, or by `next` of what goes through one in one order."""
    program = view.program
    if isinstance(training.node, ast.For) and any(view.roles.of(n) == "loader" for n in walk(training.node.iter)):
        return True
    for event in training.of("call") if program.mentions("manual_seed", "set_seed", "seed_everything") else ():
        asked = isinstance(event.node, ast.Call) and program.path(event.node.func) == "next" and event.node.args
        if asked and any(view.roles.of(s.node) == "loader" for s in made_of(program, asked[0], event.calls)
                         if isinstance(s.node, (ast.Call, ast.Name, ast.Attribute))):  # fmt: skip
            return True
    return False


def _counter(view: View, training: Training, within: set[str]) -> ast.AST | None:
    """Where a counter of steps is restored that a loop over a loader goes on with, and that says when to save."""
    program = view.program
    if not _over_loader(view, training):
        return None
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            restored = [
                b for b in bindings if b.how == "assign" and b.value is not None and asked_for_in(b.value) & within
            ]
            raised = [b for b in bindings if b.how == "augment" and inside(program, b.node, training.node)]
            called = [
                e for e in training.of("assign") if isinstance(e.node, ast.AugAssign) and key(e.node.target) == name
            ]
            timed = [s for s in saves(view) if any(
                isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and key(n.left) == name
                for e in training.of("call") if e.node is s.call for t, _ in e.guards for n in walk(t))]  # fmt: skip
            if restored and (raised or called) and timed:
                return restored[0].node
    return None

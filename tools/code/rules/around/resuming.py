"""Rules on going on with a run: the epoch, the names under which parts are kept, and what is held out."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...checkpoints import asked_for, asked_for_in, held, saves
from ...flow import fields, made_of
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..look import EPOCH
from ..rule import Fault, View, rule


@rule("epoch-trained-again", "S2", "resume-loss-jump", "epoch",
      bad="""
      start = 0
      if resume:
          state = torch.load("last.pt")
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          start = state["epoch"]
      for epoch in range(start, 10):
          train_one(model, loader, optimizer)
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
      """,
      good="""
      start = 0
      if resume:
          state = torch.load("last.pt")
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          start = state["epoch"] + 1
      for epoch in range(start, 10):
          train_one(model, loader, optimizer)
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
      """)  # fmt: skip
def epoch_trained_again(view: View) -> Iterator[Fault]:
    """A run goes on with the epoch that it has finished.

    Why: its data are trained on twice, and the schedule is an epoch behind.
    """
    program = view.program
    yield from _never_used(view)
    yield from _never_asked(view)
    yield from _by_helpers(view)
    for loop in (n for n in program.each(ast.For) if isinstance(n.iter, ast.Call)):
        call = loop.iter
        name = key(loop.target)
        if (
            not name
            or program.path(call.func) != "range"  # pyright: ignore[reportAttributeAccessIssue]
            or len(call.args) < 2  # pyright: ignore[reportAttributeAccessIssue]
        ):
            continue
        saved = [
            n
            for n in program.within(loop, ast.Dict)
            for k, v in zip(n.keys, n.values, strict=True)
            if isinstance(k, ast.Constant) and "epoch" in str(k.value) and key(v) == name
        ]
        start = call.args[0]  # pyright: ignore[reportAttributeAccessIssue]
        values = [b.value for b in program.bindings(start) if b.value is not None] if key(start) else [start]
        for value in values:
            loaded = (
                isinstance(value, ast.Subscript)
                and isinstance(value.slice, ast.Constant)
                and "epoch" in str(value.slice.value)
            )
            if (
                saved
                and loaded
                and program.loops(saved[0])[:1] == [loop]
                and not re.search(r"start\s{0,4}\+=\s{0,4}1|epoch\s{0,4}\+\s{0,4}1", program.code(loop, 8000))
            ):
                yield Fault(value, f"`{name}` is saved when it is done, and the run goes on with the same",
                            f"保存的 `{name}` 已经完成，恢复后又重新训练它", beside=(saved[0],))  # fmt: skip
                break


def _never_used(view: View) -> Iterator[Fault]:
    """An epoch or step that is read from a checkpoint into a name which nothing reads."""
    program = view.program
    loads = [c for c in program.find("load_state_dict") if view.roles.of(receiver(c)) == "optimizer"]
    for function, scoped in program.bound.items() if loads else ():
        for name, bindings in scoped.items():
            read = [b for b in bindings if b.how == "assign" and b.value is not None
                    and asked_for_in(b.value) & {"epoch", "step", "global_step", "iteration"}]  # fmt: skip
            if not read or "." in name or "[" in name or not any(program.scope(c) is function for c in loads):
                continue
            uses = [n for n in program.within(function, ast.Name) if n.id == name
                    and isinstance(n.ctx, ast.Load) and not _shown(program, n)]  # fmt: skip
            if not uses and any(t.of("step") for t in view.trainings):
                text = f"`{name}` is read from the checkpoint and never used: the run begins at its beginning"
                yield Fault(read[0].node, text, f"从检查点读出的 `{name}` 没有被使用：又从头训练", beside=(loads[0],))


def _never_asked(view: View) -> Iterator[Fault]:
    """An epoch that is saved beside an optimizer which is loaded again, and that nothing reads."""
    program = view.program
    loads = [c for c in program.find("load_state_dict") if view.roles.of(receiver(c)) == "optimizer"]
    kept = (
        [s for s in saves(view) if any(re.fullmatch(r"(last_|current_)?(epoch|ep)", f) for f in s.fields)]
        if loads
        else []
    )
    if not kept or any(re.search(r"epoch|^ep$|step|iter", f) for f in asked_for(program)):
        return
    counted = {key(v) for s in kept for f, v in s.fields.items() if re.search(r"epoch|^ep$", f)} - {""}
    for training in view.trainings:
        for loop in training.outer:
            over = loop.iter if isinstance(loop, ast.For) else None
            name = key(loop.target) if isinstance(loop, ast.For) else ""
            plain = isinstance(over, ast.Call) and program.path(over.func) in ("range", "trange", "tqdm.trange")
            if plain and isinstance(over, ast.Call) and len(over.args) == 1 and (EPOCH.search(name) or name in counted):
                yield Fault(loop, "the epoch is saved and never read again: a run that goes on begins with the first",
                            "保存了 epoch 却从不读回：恢复后又从第一个 epoch 开始", beside=(loads[0],))  # fmt: skip
                return


def _shown(program: Program, node: ast.AST) -> bool:
    """Whether a value is only printed."""
    return any(
        isinstance(a, ast.Call) and last(program.path(a.func)) in ("print", "info", "debug") for a in program.up(node)
    )


def _by_helpers(view: View) -> Iterator[Fault]:
    """The same, where functions of the file save and read: the start is the very number that is saved."""
    program = view.program
    for loop in program.each(ast.For):
        call, name = loop.iter, key(loop.target)
        if not isinstance(call, ast.Call) or program.path(call.func) != "range" or len(call.args) < 2 or not name:
            continue
        start = list(made_of(program, call.args[0]))
        read = [s.node for s in start if s.calls and isinstance(s.node, ast.Subscript)
                and program.const(s.node.slice) == "epoch"]  # fmt: skip
        raised = any(isinstance(s.node, ast.BinOp) for s in start)
        for saved in saves(view) if read and not raised else ():
            value = saved.fields.get("epoch")
            if value is not None and _saved_in(program, saved.call, loop) and _only(program, value, name):
                yield Fault(read[0], f"`{name}` is saved when it is done, and the run goes on with the same",
                            f"保存的 `{name}` 已经完成，恢复后又重新训练它", beside=(saved.call,))  # fmt: skip


def _saved_in(program: Program, save: ast.Call, loop: ast.For) -> bool:
    """Whether a loop calls the function that saves."""
    home = program.scope(save)
    return any(isinstance(n, ast.Call) and program.function(n) is home for n in program.within(loop))


def _only(program: Program, value: ast.expr, name: str) -> bool:
    """Whether a value is this name's, and nothing is added to it."""
    parts = [s.node for s in made_of(program, value)]
    return not any(isinstance(n, ast.BinOp) for n in parts) and any(key(n) == name for n in parts)


@rule("saved-part-has-another-name", "S1", "checkpoint-load-failure", "torch.save",
      bad="""
      torch.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, "last.pt")
      state = torch.load("last.pt")
      model.load_state_dict(state["model"])
      optimizer.load_state_dict(state["optimizer"])
      """,
      good="""
      torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
      state = torch.load("last.pt")
      model.load_state_dict(state["model"])
      optimizer.load_state_dict(state["optimizer"])
      """)  # fmt: skip
def saved_part_has_another_name(view: View) -> Iterator[Fault]:
    """A checkpoint is read by a name under which nothing is saved.

    Why: the run cannot be resumed: what raises is found out after the first crash.
    """
    program = view.program
    yield from _part_of_another(view)
    saved: set[str] = set()
    paths: set[str] = set()
    for call in program.find("save"):
        if program.path(call.func) != "torch.save" or len(call.args) < 2:
            continue
        value = program.origin(call.args[0])
        parts = fields(program, value)
        if not parts or len(parts) != len(value.keys if isinstance(value, ast.Dict) else value.keywords):  # type: ignore[attr-defined]
            return
        if key(call.args[0]) and _put_more(program, call, call.args[0]):
            return
        saved |= parts.keys()
        paths.add(program.code(program.origin(call.args[1])))
    asked = _asked_of_files(program) if saved else {}
    for made, nodes in asked.items():
        names = {str(n.slice.value) for n in nodes}  # type: ignore[attr-defined]
        same = program.code(program.origin(made.args[0])) in paths
        own = len(names & saved) > 1 and names & saved & COUNTERS
        for node in nodes:
            name = node.slice.value  # type: ignore[attr-defined]
            above = program.parent.get(node)
            restored = isinstance(above, ast.Call) and last(program.path(above.func)) == "load_state_dict"
            if name in saved or not (same or (own and restored)):
                continue
            tried = (
                any(isinstance(a, ast.Try) for a in program.up(node))
                or f"{name!r} in" in program.text
                or f'"{name}" in' in program.text
            )
            if not tried:
                yield Fault(node, f"nothing is saved as `{name}`",
                            f"检查点里没有保存 `{name}`")  # fmt: skip


COUNTERS = {"epoch", "step", "global_step", "iteration", "iter", "iter_num", "update"}


def _put_more(program: Program, call: ast.Call, state: ast.expr) -> bool:
    """Whether more is put into a state where it is saved: `state["k"] = v`, `state.update(...)`, `state |= ...`."""
    scope, name = program.scope(call), key(state)
    if any(b.how == "augment" for b in program.bindings(state)):
        return True
    stores = (n for n in program.within(scope, ast.Subscript) if isinstance(n.ctx, ast.Store))
    calls = (c for c in program.find("update", "setdefault") if program.scope(c) is scope)
    return any(key(n.value) == name for n in stores) or any(key(receiver(c)) == name for c in calls)


def _asked_of_files(program: Program) -> dict[ast.Call, list[ast.Subscript]]:
    """`torch.load` -> where a name is asked of what it reads."""
    out: dict[ast.Call, list[ast.Subscript]] = {}
    for node in program.each(ast.Subscript):
        named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        made = program.origin(node.value) if named and isinstance(node.ctx, ast.Load) else None
        if isinstance(made, ast.Call) and program.path(made.func) == "torch.load" and made.args:
            out.setdefault(made, []).append(node)
    return out


def _part_of_another(view: View) -> Iterator[Fault]:
    """The state of an optimizer that is read from what holds the weights, or the other way round."""
    program = view.program
    kept: dict[str, set[str]] = {}
    for call in program.find("save"):
        for name, value in held(program, call.args[0]).items() if call.args else ():
            if isinstance(value, ast.Call) and last(program.path(value.func)) == "state_dict":
                kept.setdefault(name, set()).add(view.roles.of(receiver(value)))
    for call in program.find("load_state_dict") if kept else ():
        part = call.args[0] if call.args else None
        name = str(part.slice.value) if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) else ""
        wanted, found = view.roles.of(receiver(call)), kept.get(name, set())
        if name and len(found) == 1 and {wanted, *found} == {"model", "optimizer"}:
            yield Fault(call, f"`{name}` holds the state of the {next(iter(found))}, and is read into the {wanted}",
                        f"`{name}` 里存的是另一个对象的状态")  # fmt: skip


SPLITS = {"random_split": ("torch", "generator"), "train_test_split": ("numpy", "random_state seed shuffle")}
"""What deals rows out at random -> the library whose numbers it draws, what may be told that makes them the same."""
ORDERS = {"shuffle": "random numpy", "permutation": "numpy", "randperm": "torch", "sample": "numpy random"}
"""What puts rows in a random order, of which parts are cut then -> libraries."""
GOES_ON = re.compile(r"resum|continue_training|checkpoint_path|last_(ckpt|checkpoint)|latest|续训|恢复|断点", re.I)
WRITES = ("save", "savez", "dump", "dumps", "to_csv", "to_json", "save_to_disk", "writelines", "savetxt", "to_parquet")


@rule("split-drawn-again", "S2", "eval-leakage", "shuffle( permutation randperm random_split train_test_split sample(",
      bad=("""
      random.shuffle(lines)
      cut = int(0.9 * len(lines))
      train_lines, held_lines = lines[:cut], lines[cut:]
      model.load_state_dict(torch.load("runs/epoch12.pt"))
      for epoch in range(13, 40):
          for batch in batches(train_lines):
              loss = model(batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """, """
      import torch
      parts = load_dataset("json", data_files="notes.jsonl", split="train").train_test_split(test_size=0.05)
      trainer = Trainer(model, args, train_dataset=parts["train"], eval_dataset=parts["test"])
      trainer.train(resume_from_checkpoint=True)
      """),
      good=("""
      random.seed(7)
      random.shuffle(lines)
      cut = int(0.9 * len(lines))
      train_lines, held_lines = lines[:cut], lines[cut:]
      model.load_state_dict(torch.load("runs/epoch12.pt"))
      for epoch in range(13, 40):
          for batch in batches(train_lines):
              loss = model(batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """, """
      import torch
      parts = load_dataset("json", data_files="notes.jsonl", split="train").train_test_split(test_size=0.05, seed=7)
      trainer = Trainer(model, args, train_dataset=parts["train"], eval_dataset=parts["test"])
      trainer.train(resume_from_checkpoint=True)
      """))  # fmt: skip
def split_drawn_again(view: View) -> Iterator[Fault]:
    """A program that goes on from a checkpoint draws what is held out anew at each start.

    Why: most of what is held out now was trained on before: the evaluation falls at each start and says nothing of new rows.
    Known gaps: a seed that another file sets is not seen. Where the program goes on only if it is told to, it is a note.
    """
    program, begun = view.program, _goes_on(view)
    for call, libraries in _dealt(program) if begun is not None else ():
        kept = any("exists" in program.code(test) for test, _, _ in program.guards(call))
        if not kept and not _seeded(program, libraries) and not _written(program, call):
            yield Fault(call, "each start draws anew what is held out, and the run goes on from a checkpoint: what is held out now was trained on before",
                        "每次启动都重新随机划分验证集，而训练又从检查点继续：现在的验证样本之前已经训练过",
                        severity="" if _always(program, begun) else "S3", beside=(begun or call,))  # fmt: skip
            return


def _goes_on(view: View) -> ast.AST | None:
    """Where a run goes on with an earlier one of its own: not with weights that others trained."""
    program = view.program
    for call in program.find("train", "fit"):
        given = argument(call, "resume_from_checkpoint") or argument(call, "ckpt_path")
        if given is not None and not (isinstance(given, ast.Constant) and not given.value):
            return call
    loads = list(program.find("load_state_dict", "load_state", "load_checkpoint"))
    models = [c for c in loads if view.roles.of(receiver(c)) in ("model", "engine", "accelerator")]
    again = any(view.roles.of(receiver(c)) == "optimizer" for c in loads) or bool(GOES_ON.search(program.said))
    for training in view.trainings:
        outer = [x.iter for x in (*training.outer, training.node) if isinstance(x, ast.For)]
        later = any(isinstance(n, ast.Call) and last(program.path(n.func)) in ("range", "trange") and len(n.args) > 1
                    and program.const(n.args[0]) not in (0, 1) for over in outer for n in walk(over))  # fmt: skip
        for call in models:
            before = program.scope(call) is not program.scope(training.node) or call.lineno < getattr(
                training.node, "lineno", 0
            )
            if before and (again or later) and training.node not in program.loops(call):
                return call
    return None


def _always(program: Program, begun: ast.AST | None) -> bool:
    """Whether the program goes on each time as it stands here, not only where somebody says so."""
    if begun is None or program.guards(begun) or not isinstance(begun, ast.Call):
        return False
    given = argument(begun, "resume_from_checkpoint") or argument(begun, "ckpt_path")
    return given is None or program.const(given) is not None


def _dealt(program: Program) -> Iterator[tuple[ast.Call, tuple[str, ...]]]:
    """(the call, the libraries of its numbers) where rows are dealt out into two parts by a draw that is told nothing."""
    for call in program.find(*SPLITS):
        library, told = SPLITS[last(program.path(call.func))]
        same = any(k.arg is None or k.arg in told.split() for k in call.keywords)
        if not same and (call.args or isinstance(call.func, ast.Attribute)):
            yield call, (library,)
    for call in program.find(*ORDERS):
        on, statement = receiver(call), program.statement(call)
        library = program.path(call.func).rpartition(".")[0].removesuffix(".random").replace("np", "numpy")
        if argument(call, "generator") is not None or argument(call, "random_state") is not None:
            continue
        if last(program.path(call.func)) == "sample" and on is not None and argument(call, "frac") is not None:
            library, value = "numpy", statement.targets[0] if isinstance(statement, ast.Assign) else None
        else:
            value = statement.targets[0] if isinstance(statement, ast.Assign) else next(iter(call.args), None)
        if (
            library in ORDERS[last(program.path(call.func))].split()
            and value is not None
            and cut_in_two(program, value)
        ):
            yield call, (library,)


def cut_in_two(program: Program, value: ast.expr) -> bool:
    """Whether rows are taken apart at one place: `order[:n]` and `order[n:]`, also `[n:m]` between them."""
    scope, name = program.scope(value), key(value)
    cuts = [n.slice for n in program.within(scope, ast.Subscript)
            if name and key(n.value).removesuffix(".iloc") == name and isinstance(n.slice, ast.Slice)
            and n.slice.step is None]  # fmt: skip
    first = {program.code(c.upper) for c in cuts if c.lower is None and c.upper is not None}
    return any(c.lower is not None and program.code(c.lower) in first for c in cuts)


def _seeded(program: Program, libraries: tuple[str, ...]) -> bool:
    """Whether a call seeds these libraries, or something that is not told."""
    for name, calls in program.calls.items():
        for path in (program.path(c.func) for c in calls) if "seed" in name.lower() else ():
            library = path.partition(".")[0].replace("np", "numpy")
            if library in libraries or library not in ("random", "numpy", "torch"):
                return True
    return False


def _written(program: Program, call: ast.Call) -> bool:
    """Whether the parts, or the order, are kept in a file."""
    statement = program.statement(call)
    names = {key(n) for n in walk(statement) if isinstance(n, (ast.Name, ast.Subscript))} - {""}
    scope = program.scope(call)
    parts = {key(t) for n in program.within(scope, ast.Assign) if names & {key(x) for x in walk(n.value)}
             for t in walk(n.targets[0]) if isinstance(t, ast.Name)}  # fmt: skip
    kept = (a for c in program.find(*WRITES) for a in c.args)
    return any((names | parts) & {key(x) for x in walk(a)} - {""} for a in kept)

"""Rules on checkpoints, and on secrets written into a program."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...secrets import redact
from ..patch import after, instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from .look import OF_RANKS, alone_on_rank, always, rank_branch, source
from .rule import Fault, View, rule

KEPT = {"optimizer": r"opt(im|imizer)?(_state)?(_dict)?s?$", "scheduler": r"(lr_)?sched(uler)?(_state)?(_dict)?$",
        "scaler": r"(grad_)?scaler(_state)?(_dict)?$"}  # fmt: skip
FETCHED = ("hf_hub_download", "snapshot_download", "urlopen", "urlretrieve", "cached_download", "download_url_to_file", "get",
           "load_state_dict_from_url", "wget", "download_file", "download")  # fmt: skip


@rule("saved-on-every-rank", "S1", "checkpoint-save-failure", "save",
      bad="""
      torch.distributed.init_process_group("nccl")
      model = DistributedDataParallel(Net())
      for epoch in range(3):
          train(model)
          torch.save(model.module.state_dict(), "model.pt")
      """,
      good="""
      torch.distributed.init_process_group("nccl")
      model = DistributedDataParallel(Net())
      for epoch in range(3):
          train(model)
          if torch.distributed.get_rank() == 0:
              torch.save(model.module.state_dict(), "model.pt")
      """)  # fmt: skip
def saved_on_every_rank(view: View) -> Iterator[Fault]:
    """Every rank writes the same checkpoint file.

    Why: they write over each other, and the file that is left may hold pieces of several.
    """
    program = view.program
    if not view.distributed and not any(True for _ in program.find("init_distributed")):
        return
    for call in program.find("save"):
        apart = any(OF_RANKS.search(program.code(test)) for test, _, _ in program.guards(call)) or alone_on_rank(
            program, call
        )
        if program.path(call.func) != "torch.save" or apart or len(call.args) < 2:
            continue
        scope = program.scope(call)
        left = any(isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return) and rank_branch(program, n.test) is False
                   and n.lineno < call.lineno for n in ast.walk(scope))  # fmt: skip
        callers = program.calls.get(scope.name, []) if isinstance(scope, FUNCTIONS) else []
        guarded = callers and all(alone_on_rank(program, c) for c in callers)
        path = " ".join(source(program, n) for n in program.traced(call.args[1], 2))
        seen = (isinstance(scope, FUNCTIONS) and callers) or scope is program.tree
        if not left and not guarded and seen and not re.search(r"rank|shard|process_index|worker", path, re.I):
            yield Fault(
                call, "every rank writes this file: they write over each other", "每个 rank 都写这个文件：互相覆盖"
            )


@rule("checkpoint-overwritten-in-place", "S3", "checkpoint-save-failure", "torch.save",
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
    """
    program = view.program
    if re.search(r"os\.replace|os\.rename|\.rename\(|shutil\.move|\.replace\(\w{0,40}(path|tmp)", program.text):
        return
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                (
                    isinstance(call, ast.Call)
                    and program.path(call.func) == "torch.save"
                    and len(call.args) > 1
                    and training.whole
                )
                and isinstance(program.const(call.args[1]), str)
                and not re.search("best", str(program.const(call.args[1])))
            ):
                yield Fault(
                    call,
                    "the only checkpoint is written over in place: a killed job leaves none",
                    "原地覆盖唯一的检查点：写到一半被杀就什么都不剩",
                )


@rule("saved-every-step", "S2", "low-throughput", "save",
      bad="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          torch.save(model.state_dict(), f"step.pt")
      """,
      good="""
      for step, batch in enumerate(loader):
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          if step % 1000 == 0:
              torch.save(model.state_dict(), f"step-{step}.pt")
      """)  # fmt: skip
def saved_every_step(view: View) -> Iterator[Fault]:
    """A checkpoint is written in every step.

    Why: the GPU waits for the disk, and the disk fills up.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            path = view.program.path(call.func) if isinstance(call, ast.Call) else ""
            if (
                (
                    path == "torch.save"
                    or (
                        last(path) in ("save_pretrained", "save_checkpoint", "save_state")
                        and isinstance(call, ast.Call)
                    )
                )
                and always(event)
                and training.whole
                and not _epochs(training.node)
            ):
                yield Fault(call, "a checkpoint is written in every step", "每一步都写检查点")


def _epochs(loop: ast.AST) -> bool:
    return isinstance(loop, ast.For) and "epoch" in ast.unparse(loop.target)


@rule("pickle-from-elsewhere", "S1", "checkpoint-load-failure", "load",
      bad="""
      path = hf_hub_download("someone/model", "weights.pt")
      state = torch.load(path, weights_only=False)
      """,
      good="""
      path = hf_hub_download("someone/model", "weights.pt")
      state = torch.load(path, weights_only=True)
      """)  # fmt: skip
def pickle_from_elsewhere(view: View) -> Iterator[Fault]:
    """A file from elsewhere is unpickled.

    Why: whoever wrote it runs any code here.
    Known gaps: ruff's S301 and S614 object to every unpickling; here only to what was fetched.
    """
    program = view.program
    for call in program.find("load", "loads", "Unpickler"):
        path = program.path(call.func)
        module = path.partition(".")[0]
        whole = argument(call, "weights_only")
        torch_ = path == "torch.load" and whole is not None and program.const(whole) is False
        if not (torch_ or module in ("pickle", "dill", "cloudpickle", "joblib")) or not call.args:
            continue
        fetched = [n for n in program.traced(call.args[0], 4) if isinstance(n, ast.Call) and _fetches(program, n)]
        name = key(call.args[0])
        fetched = fetched or [c for c in program.find(*FETCHED) if name and name in {key(a) for a in c.args}
                              and last(program.path(c.func)) != "get" and program.scope(c) is program.scope(call)]  # fmt: skip
        if fetched:
            fix = (instead(whole, "True"),) if torch_ and whole is not None else ()
            yield Fault(call, "a file from elsewhere is unpickled: its author may run any code", "反序列化来自外部的 pickle 文件：对方可执行任意代码",
                        fix, beside=(fetched[0],))  # fmt: skip


def _fetches(program: Program, call: ast.Call) -> bool:
    """Whether a call fetches something, itself or in a function of this file."""
    path = program.path(call.func)
    if last(path) in FETCHED and (last(path) != "get" or path.startswith(("requests", "httpx"))):
        return True
    function = program.function(call)
    inner = [n for n in ast.walk(function) if isinstance(n, ast.Call)] if function is not None else []
    return any(last(program.path(n.func)) in FETCHED and last(program.path(n.func)) != "get" for n in inner)


@rule("wrapped-weights-saved", "S3", "checkpoint-load-failure", "state_dict",
      bad="""
      model = DistributedDataParallel(net)
      if rank == 0:
          torch.save(model.state_dict(), "model.pt")
      """,
      good="""
      model = DistributedDataParallel(net)
      if rank == 0:
          torch.save(model.module.state_dict(), "model.pt")
      """)  # fmt: skip
def wrapped_weights_saved(view: View) -> Iterator[Fault]:
    """Weights are saved under the names of the DDP wrapper.

    Why: every name begins with `module.`, and a model without the wrapper does not load them.
    """
    program = view.program
    wrapped = {n for s in program.bound.values() for n, bs in s.items() if bs and isinstance(bs[-1].value, ast.Call)
               and last(program.path(bs[-1].value.func)) in ("DDP", "DistributedDataParallel")}  # fmt: skip
    if re.search(r"""["']module\.["']|removeprefix|\.module if |_orig_mod""", program.text):
        return
    for call in program.find("state_dict"):
        on = receiver(call)
        saved = [a for a in program.up(call) if isinstance(a, ast.Call) and program.path(a.func) == "torch.save"]
        if key(on) in wrapped and saved and on is not None:
            yield Fault(call, "weights are saved under the names of the wrapper (`module.`)", "保存的权重带有 DDP 的 `module.` 前缀",
                        (instead(on, f"{source(program, on)}.module"),))  # fmt: skip


@rule("key-in-code", "S1", "pii-in-data", "key token secret password KEY TOKEN login hf_ sk-",
      bad='wandb.login(key="' + "0123456789abcdef" * 2 + '01234567")\n', good='wandb.login(key=os.environ["WANDB_API_KEY"])\n')  # fmt: skip
def key_in_code(view: View) -> Iterator[Fault]:
    """A credential stands in the program.

    Why: it goes wherever the program goes: repositories, logs, checkpoints.
    Known gaps: the shapes are those of the table of secrets; ruff's S105 to S107 go by names.
    """
    program = view.program
    for node in program.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not 16 <= len(node.value) <= 400:
            continue
        if re.search(r"\s", node.value) or len(set(node.value)) < 8:
            continue
        line = program.parsed.lines[node.lineno - 1] if node.lineno <= len(program.parsed.lines) else ""
        hidden = redact(node.value) != node.value or (
            node.value not in redact(line[:2000]) and node.value in line[:2000]
        )
        if (
            hidden
            and not re.search(r"xxx|your[-_]|example|dummy|test|fake|placeholder|<", node.value, re.I)
            and _given(program, node)
        ):
            yield Fault(
                node,
                "a credential stands in the program: revoke it, and read it from the environment",
                "代码中写有凭据：请吊销，并改为从环境读取",
            )


def _given(program: object, node: ast.Constant) -> bool:
    above = program.parent.get(node)  # type: ignore[attr-defined]
    return isinstance(above, (ast.Assign, ast.keyword, ast.Call, ast.Dict, ast.AnnAssign)) and not (
        isinstance(above, ast.Dict) and node in above.keys)  # fmt: skip


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
    for name, value in _saved(view):
        for part, pattern in KEPT.items():
            if not re.fullmatch(pattern, name) or not isinstance(value, ast.Call):
                continue
            restored = any(view.roles.of(receiver(c)) == part or key(receiver(c)) == key(receiver(value))
                           for c in program.find("load_state_dict"))  # fmt: skip
            asked = any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant) and n.slice.value == name
                        and isinstance(n.ctx, ast.Load) for n in program.nodes)  # fmt: skip
            if not restored and not asked and last(program.path(value.func)) == "state_dict":
                severity = "S1" if part == "optimizer" else "S2"
                target = key(receiver(value))
                fix = _restored(view, resumes[0], target, name)
                yield Fault(resumes[0], f"the checkpoint holds `{name}`, and resuming does not restore it",
                            f"检查点里有 `{name}`，恢复时却没有读取", fix, severity, beside=(value,))  # fmt: skip


def _saved(view: View) -> Iterator[tuple[str, ast.expr]]:
    """What goes into the dictionaries that are saved."""
    for call in view.program.find("save"):
        if not call.args:
            continue
        state = view.program.origin(call.args[0])
        if isinstance(state, ast.Dict):
            for name, value in zip(state.keys, state.values, strict=True):
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value, value


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
    read = {n.slice.value for n in program.nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)
            and isinstance(n.slice, ast.Constant) and isinstance(n.slice.value, str)}  # fmt: skip
    saved = [c for c in program.find("load_state", "load_checkpoint", "load_state_dict")]
    within = read & {"step", "global_step", "iter", "batch", "batch_idx", "update", "micro_step"}
    if not saved or "epoch" not in read or not within:
        return
    for training in view.trainings:
        outer = next((x for x in training.outer if isinstance(x, ast.For) and isinstance(x.iter, ast.Call)), None)
        call = outer.iter if outer is not None else None
        ranged = isinstance(call, ast.Call) and program.path(call.func) == "range" and len(call.args) == 2
        begun = ranged and not isinstance(call.args[0], ast.Constant) and call.args[0]  # type: ignore[union-attr]
        compared = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.Lt, ast.LtE)) and isinstance(
            program.parent.get(n), ast.If) for n in ast.walk(training.node))  # fmt: skip
        if begun and isinstance(training.node, ast.For) and not compared:
            yield Fault(training.node, "after a resume the epoch begins anew: its first batches are trained on twice",
                        "恢复后该 epoch 从头开始：前面的批次会训练两遍", beside=(saved[0],))  # fmt: skip

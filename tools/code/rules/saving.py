"""Rules on checkpoints, and on secrets written into a program."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...secrets.table import may_hold_secret, redact
from ..checkpoints import PATHS, opened
from ..patch import instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from ..training import hosted
from .look import OF_RANKS, alone_on_rank, always, rank_branch, single, source
from .rule import Fault, View, rule

FETCHED = ("hf_hub_download", "download_fileobj", "cached_path", "fetch", "get_object", "snapshot_download", "urlopen", "urlretrieve", "cached_download", "download_url_to_file", "get",
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
    Likewise a callback or a method that a trainer calls in each of its processes.
    """
    program = view.program
    several = view.distributed or bool(view.roles.named("accelerator")) or _of_ranks(view)
    for call in program.find("save", "save_file", "save_pretrained"):
        inner = not several and hosted(program, call)
        if not several and not inner:
            continue
        apart = any(OF_RANKS.search(program.code(test)) or _nothing_joins(program, test, branch)
                    for test, branch, _ in program.guards(call)) or alone_on_rank(program, call)  # fmt: skip
        writes = _writes_weights(view, call) or (inner and _exports(view, call))
        if not writes or apart or single(program, call):
            continue
        scope = program.scope(call)
        if any(OF_RANKS.search(program.path(d)) for d in getattr(scope, "decorator_list", ())):
            continue
        left = any(isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return) and rank_branch(program, n.test) is False
                   and n.lineno < call.lineno for n in program.within(scope))  # fmt: skip
        callers = program.callers(scope) or program.calls.get(getattr(scope, "name", ""), [])
        guarded = callers and all(alone_on_rank(program, c) for c in callers)
        path = _told_apart(program, call.args[-1])
        spawned = any(
            key(a) == getattr(scope, "name", "")
            for c in program.find("spawn", "Process")
            for a in (*c.args, *(k.value for k in c.keywords))
        )
        own = any(program.scope(c) is scope for c in program.find("init_process_group", "Accelerator"))
        seen = inner or (isinstance(scope, FUNCTIONS) and (callers or spawned or own)) or scope is program.tree
        if not left and not guarded and seen and not re.search(r"rank|shard|process_index|worker", path, re.I):
            yield Fault(call, "every rank writes this file: they write over each other", "每个 rank 都写这个文件：互相覆盖",
                        severity="S2" if inner else "", needs="" if view.distributed else "processes")  # fmt: skip


def _of_ranks(view: View) -> bool:
    """Whether a program that another file starts is one of several: it waits for the others, and saves what DDP wraps."""
    unwrapped = any(".module.state_dict" in view.program.path(c.func) for c in view.program.find("state_dict"))
    return view.among_ranks and unwrapped


def _exports(view: View, call: ast.Call) -> bool:
    """Whether a call writes a whole model that is made here, whatever it is called."""
    made = view.program.origin(receiver(call)) if receiver(call) is not None else None  # type: ignore[arg-type]
    merged = isinstance(made, ast.Call) and last(view.program.path(made.func)) in (
        "merge_and_unload",
        "from_pretrained",
    )
    return last(view.program.path(call.func)) == "save_pretrained" and merged and view.roles.of(made) != "tokenizer"


def _told_apart(program: Program, path: ast.expr) -> str:
    """The words of a path, and of the texts that its names are."""
    inner = [program.origin(n, inside=False) for n in walk(path) if isinstance(n, (ast.Name, ast.Attribute))]
    made = [i for i in inner if not isinstance(i, ast.Call) or last(program.path(i.func)) in PATHS]
    deeper = [program.origin(n) for i in made for n in walk(i) if isinstance(n, ast.Name)]
    return " ".join(source(program, n) for n in (path, *made, *deeper))


def _writes_weights(view: View, call: ast.Call) -> bool:
    """Whether a call writes weights to a place, wherever it is made."""
    program, name = view.program, last(view.program.path(call.func))
    if name == "save":
        return program.path(call.func) == "torch.save" and len(call.args) > 1
    if name == "save_file":
        return "safetensors" in program.path(call.func) and len(call.args) > 1
    told = argument(call, "is_main_process") is not None or argument(call, "state_dict") is not None
    whole = receiver(call) is not None and view.roles.of(receiver(call)) == "model" and not view.roles.named("engine")
    sharded = re.search(r"FSDP|FullyShardedDataParallel|fully_shard|deepspeed|zero_?3", program.text, re.I)
    return bool(call.args) and whole and not told and not sharded


def _nothing_joins(program: Program, test: ast.expr, branch: bool) -> bool:
    """Whether a branch is that of a program without what joins its processes: `if self.fabric is None`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        return False
    joins = last(key(test.left)) in ("fabric", "accelerator", "strategy", "process_group")
    return joins and program.const(test.comparators[0]) is None and isinstance(test.ops[0], ast.Is) is branch


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
    for call in program.find("load", "loads", "Unpickler", "read_pickle", "load_state_dict_from_url"):
        value = _unpickles(program, call)
        if value is None or not call.args:
            continue
        fetched = _brought(program, call)
        if fetched is not None:
            fix = (instead(value, "True"),) if argument(call, "weights_only") is value else ()
            yield Fault(call, "a file from elsewhere is unpickled: its author may run any code", "反序列化来自外部的 pickle 文件：对方可执行任意代码",
                        fix, beside=(fetched,))  # fmt: skip


def _unpickles(program: Program, call: ast.Call) -> ast.expr | None:
    """What says that a call unpickles whatever it is given: an option, or the function itself."""
    path = program.path(call.func)
    module, name = path.partition(".")[0], last(path)
    if path == "torch.load" or name == "load_state_dict_from_url":
        whole = argument(call, "weights_only")
        return whole if whole is not None and program.const(whole) is False else None
    if name == "load" and module in ("np", "numpy"):
        open_ = argument(call, "allow_pickle")
        return open_ if open_ is not None and program.const(open_) is True else None
    known = module in ("pickle", "dill", "cloudpickle", "joblib") or name == "read_pickle"
    return call.func if known else None


ASKED = re.compile(r"^(request|file|upload\w{0,20})$")
"""Names of what a server is sent."""


def _brought(program: Program, call: ast.Call) -> ast.AST | None:
    """What brought a file that is read here from elsewhere."""
    if last(program.path(call.func)) == "load_state_dict_from_url":
        return call
    value = opened(program, call.args[0]) or call.args[0]
    text = program.const(value)
    if isinstance(text, str) and re.match(r"https?://|s3://|gs://", text):
        return value
    nodes = list(program.traced(value, 4))
    found = next((n for n in nodes if isinstance(n, ast.Call) and _fetches(program, n)), None)
    if found is not None:
        return found
    sent = next((n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("read", "get_data", "recv")
                 and (ASKED.search(last(key(n.func.value))) or n.func.attr == "recv")), None)  # fmt: skip
    if sent is not None:
        return sent
    return next((c for c in _downloads(program) if _same_file(program, c, value) and (
        program.scope(c) is program.scope(call) or isinstance(text, str))), None)  # fmt: skip


def _downloads(program: Program) -> Iterator[ast.Call]:
    """Calls that put a file from elsewhere into a place: of a library, or of a program of the system."""
    yield from (c for c in program.find(*FETCHED) if last(program.path(c.func)) not in ("get", "fetch"))
    for call in program.find("run", "check_call", "call", "system", "check_output"):
        said = program.code(call)
        if re.search(r"\b(wget|curl|gsutil|gdown)\b|aws.{1,8}s3|huggingface-cli", said) and call.args:
            yield call


def _same_file(program: Program, call: ast.Call, value: ast.expr) -> bool:
    """Whether a call is told the place that is read later, or one that is renamed to it."""
    name, text = key(value), program.const(value)
    words = [n for a in (*call.args, *(k.value for k in call.keywords)) for n in walk(a)]
    if name and any(key(n) == name for n in words):
        return True
    texts = [str(v) for n in words if isinstance(v := program.const(n), str)]
    return isinstance(text, str) and any(text in t.split() for t in texts)


def _fetches(program: Program, call: ast.Call) -> bool:
    """Whether a call fetches something, itself or in a function of this file."""
    path = program.path(call.func)
    if last(path) in FETCHED and (last(path) != "get" or path.startswith(("requests", "httpx"))):
        return True
    function = program.function(call)
    inner = program.within(function, ast.Call) if function is not None else []
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


@rule("key-in-code", "S1", "pii-in-data", "key token secret password KEY TOKEN login hf_ sk- ://",
      bad='wandb.login(key="' + "0123456789abcdef" * 2 + '01234567")\n', good='wandb.login(key=os.environ["WANDB_API_KEY"])\n')  # fmt: skip
def key_in_code(view: View) -> Iterator[Fault]:
    """A credential stands in the program.

    Why: it goes wherever the program goes: repositories, logs, checkpoints.
    Known gaps: the shapes are those of the table of secrets; ruff's S105 to S107 go by names.
    """
    program = view.program
    for node in program.each(ast.Constant):
        if not isinstance(node.value, str) or not 16 <= len(node.value) <= 400 or not _given(program, node):
            continue
        said = re.sub(r"^(Bearer|token|Basic|Token) ", "", node.value)
        if re.search(r"\s", said) or len(set(said)) < 8:
            continue
        line = program.parsed.lines[node.lineno - 1][:2000] if node.lineno <= len(program.parsed.lines) else ""
        inside = node.value in line
        if not may_hold_secret(line if inside else node.value):
            continue
        hidden = (
            LOGIN.search(node.value) is not None
            or redact(node.value) != node.value
            or (inside and node.value not in redact(line))
        )
        if hidden and not re.search(r"xxx|your[-_]|example|dummy|test|fake|placeholder|<", node.value, re.I):
            yield Fault(
                node,
                "a credential stands in the program: revoke it, and read it from the environment",
                "代码中写有凭据：请吊销，并改为从环境读取",
            )


LOGIN = re.compile(r"^[a-z][a-z0-9+]{2,15}://[^/\s:@{}]{1,60}:[^/\s@{}$]{6,80}@[\w.-]{1,100}")
"""An address with the name and the password of somebody."""


STANDS = (ast.Assign, ast.AnnAssign, ast.keyword, ast.Call, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.arguments, ast.BoolOp,
          ast.IfExp, ast.Return, ast.JoinedStr, ast.BinOp)  # fmt: skip
"""Where a text is used as a value."""


def _given(program: object, node: ast.Constant) -> bool:
    above = program.parent.get(node)  # type: ignore[attr-defined]
    return isinstance(above, STANDS) and not (
        isinstance(above, ast.Dict) and node in above.keys)  # fmt: skip

"""Rules on several processes: who takes part in what, and who waits."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import made_of
from ..program import FUNCTIONS, Function, Program, argument, key, last, receiver
from ..source import walk
from ..training import hosted
from .look import OF_RANKS, alone_on_rank, rank_branch, single
from .rule import Fault, View, rule

SHARDED = ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "full_tensor", "optim_state_dict",
           "full_optim_state_dict", "summon_full_params")  # fmt: skip
"""Functions of torch that gather what lies on all ranks."""
COLLECTIVES = ("all_reduce", "allreduce", "allgather", "mesh_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor", "broadcast", "broadcast_object_list",
               "reduce_scatter", "reduce_scatter_tensor", "barrier", "all_to_all", "all_to_all_single", "gather_object",
               "monitored_barrier", "wait_for_everyone", "gather_for_metrics", "scatter_object_list")  # fmt: skip
OWNERS = re.compile(
    r"(^|\.)(dist|distributed|comm|accelerator|fabric|self\.accelerator|c10d|collectives?|hvd|horovod|xla_model|strategy)(\.|$)",
    re.I,
)
GATHERS = ("gather", "reduce")
WHOLE = re.compile(r"FullyShardedDataParallel|FSDP|fully_shard|zero_?3|stage.{0,5}3|deepspeed", re.I)
HEAD = """
import torch.distributed as dist
dist.init_process_group("nccl")
rank = dist.get_rank()
"""


def collectives(view: View) -> Iterator[ast.Call]:
    """Calls in which every rank must take part."""
    program = view.program
    yield from _of_metrics(view)
    lightning = program.mentions("LightningModule", "import lightning", "pytorch_lightning", "Fabric")
    for call in program.find(*COLLECTIVES, *GATHERS):
        path = program.path(call.func)
        if lightning and path in ("self.all_gather", "self.fabric.all_gather") and program.function(call) is None:
            yield call
            continue
        owner = path.rpartition(".")[0]
        imported = path.startswith("torch.distributed.")
        if (
            view.roles.of(receiver(call)) == "accelerator"
            or imported
            or (OWNERS.search(owner) and (last(path) not in GATHERS or owner.endswith(("dist", "accelerator"))))
        ):
            yield call


def _of_metrics(view: View) -> Iterator[ast.Call]:
    """The calls of torchmetrics that put together what all ranks have counted."""
    program = view.program
    for call in program.find("compute") if view.distributed and "torchmetrics" in program.text else ():
        made = receiver(call)
        for _ in range(4):
            made = program.origin(made) if made is not None else None
            if isinstance(made, ast.Call) and last(program.path(made.func)) in ("to", "cuda"):
                made = receiver(made)
        alone = isinstance(made, ast.Call) and argument(made, "sync_on_compute") is not None
        if isinstance(made, ast.Call) and not alone and program.path(made.func).startswith("torchmetrics."):
            yield call


def own_group(call: ast.Call) -> bool:
    """Whether it names a group of its own, which may be the ranks of this branch."""
    value = argument(call, "group")
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)


def _answered(program: Program, call: ast.Call, branch: ast.If) -> bool:
    """Whether the ranks of the other branch make the same call: in its `else`, or in one of their own nearby."""
    name = last(program.path(call.func))
    scope = program.scope(call)
    mine = next((b for t, b, s in program.guards(call) if s is branch), True)
    leaves = [
        s for t, b, s in program.guards(call) if b and isinstance(s.body[-1], ast.Return) and rank_branch(program, t)
    ]
    for other in program.calls.get(name, ()):
        if other is call or program.scope(other) is not scope:
            continue
        if any(other.lineno > (s.end_lineno or 0) for s in leaves):
            return True  # the others come to it, and this one has left
        for test, side, statement in program.guards(other):
            single = rank_branch(program, test)
            if single is None and statement is not branch and OF_RANKS.search(program.code(test)):
                return True  # the others' turn, under more conditions than one
            if single is None:
                continue
            if statement is branch and side is not mine:
                return True
            if statement is not branch and single is not side:
                return True
    return False


@rule("collective-on-one-rank", "S0", "collective-mismatch", "rank RANK main_process master is_main global_zero process_zero chief process_index",
      bad=HEAD + """
if rank == 0:
    dist.all_reduce(loss)
    print(loss.item())
""",
      good=HEAD + """
dist.all_reduce(loss)
if rank == 0:
    print(loss.item())
""")  # fmt: skip
def collective_on_one_rank(view: View) -> Iterator[Fault]:
    """A collective that only one rank calls.

    Why: it waits for the others, which never come: the run hangs until the timeout.
    Known gaps: a collective over a group of its own is left alone, and so is one that the other branch makes too.
    """
    program = view.program
    for call in collectives(view):
        branch = alone_on_rank(program, call) or _told_apart(program, call)
        name = last(program.path(call.func))
        if branch is None and (left := _without_one(program, call)) is not None and not own_group(call):
            yield Fault(call, f"one rank never calls this `{name}`: the others wait for it for ever",
                        f"有一个 rank 从不调用这个 `{name}`：其他 rank 会一直等待", beside=(left,))  # fmt: skip
        if branch is None or own_group(call) or _answered(program, call, branch):
            continue
        yield Fault(call, f"`{name}` is called by one rank only: it waits for the others for ever",
                    f"`{name}` 只有一个 rank 调用：会一直等待其他 rank", beside=(branch,))  # fmt: skip
    yield from _through_function(view)


def _told_apart(program: Program, call: ast.Call) -> ast.If | None:
    """The `if` of a decorator by which one rank alone runs the function that a call stands in."""
    found = [alone_on_rank(program, c) for c in program.objects.wrapped(program.scope(call))]
    return found[0] if found and all(found) else None


def _without_one(program: Program, call: ast.Call) -> ast.If | None:
    """The `if` whose one branch a single rank takes, while the other one waits for it."""
    name = last(program.path(call.func))
    for test, side, statement in program.guards(call):
        if statement.orelse and rank_branch(program, test) is (not side):
            other = statement.orelse if side else statement.body
            inner = [n for s in other for n in walk(s)]
            leaves = any(isinstance(n, (ast.Return, ast.Raise)) for n in inner)
            calls = [n for n in inner if isinstance(n, ast.Call)]
            same = any(last(program.path(c.func)) in (name, "wait_for_everyone", "barrier") or _holds(program, c, name)
                       for c in calls)  # fmt: skip
            if not leaves and not same and not _answered(program, call, statement):
                return statement
    return None


def _holds(program: Program, call: ast.Call, name: str) -> bool:
    """Whether a function of this file that is called may make a call of this name."""
    function = program.function(call)
    return function is not None and name in program.code(function, 20_000)


def _each_time(program: Program, call: ast.Call) -> bool:
    """Whether a call is made in every call of its function, where there are several ranks."""
    return all(re.search(r"initialized|available|world", program.code(g[0])) for g in program.guards(call))


def held_by(view: View, deep: int = 2) -> list[Function]:
    """The functions of this file in which each call makes a collective, itself or through another one."""
    program = view.program
    inner = [c for c in collectives(view) if not own_group(c)]
    out: list[Function] = []
    for _ in range(deep):
        scopes = {program.scope(c) for c in inner if _each_time(program, c) and not single(program, c, 0)}
        fresh = [f for f in scopes if isinstance(f, FUNCTIONS) and f not in out and len(program.functions[f.name]) == 1]
        out += fresh
        inner = [c for f in fresh for c in program.callers(f)]
    return out


def _through_function(view: View) -> Iterator[Fault]:
    """A function of this file with a collective in it, called by one rank."""
    program = view.program
    for function in held_by(view):
        for call in program.calls.get(function.name, ()):
            branch = alone_on_rank(program, call)
            if program.function(call) is not function:
                continue
            if branch is not None and not _answered(program, call, branch):
                yield Fault(call, f"`{function.name}` holds a collective and is called by one rank only",
                            f"`{function.name}` 中有集合通信，却只有一个 rank 调用", beside=(branch,))  # fmt: skip


@rule("sharded-work-on-one-rank", "S1", "nccl-hang", "rank RANK main_process master is_main global_zero process_zero chief process_index FSDP FullyShardedDataParallel",
      bad="""
      model = FSDP(model)
      if rank == 0:
          torch.save(model.state_dict(), "model.pt")
      """,
      good="""
      model = FSDP(model)
      state = model.state_dict()
      if rank == 0:
          torch.save(state, "model.pt")
      """)  # fmt: skip
def sharded_work_on_one_rank(view: View) -> Iterator[Fault]:
    """One rank alone runs, generates with, or saves a model whose weights lie on all ranks.

    Why: gathering the weights needs every rank: the run hangs, or the file is empty.
    """
    program = view.program
    sharded = any(
        True
        for _ in program.find(
            "FSDP", "FullyShardedDataParallel", "fully_shard", "FullStateDictConfig", "StateDictOptions"
        )
    )
    engine = bool(view.roles.named("engine"))
    accelerated = bool(view.roles.named("accelerator")) and bool(WHOLE.search(program.text))
    for call in program.find(*SHARDED):
        branch = single(program, call)
        if branch is not None and sharded and not _answered(program, call, branch):
            name = last(program.path(call.func))
            yield Fault(call, f"`{name}` needs every rank, and only one calls it", f"`{name}` 需要所有 rank 参与，这里只有一个调用",
                        beside=(branch,))  # fmt: skip
    yield from _generated(view)
    yield from _lengths_apart(view)
    yield from _ungathered(view)
    for call in program.find("state_dict", "generate", "save_checkpoint", "save_state", "forward", "save_16bit_model"):
        role, name = view.roles.of(receiver(call)), last(program.path(call.func))
        branch = single(program, call)
        if branch is None or _answered(program, call, branch):
            continue
        if key(receiver(call)).endswith(".module"):
            outer = receiver(call).value  # type: ignore[union-attr]
            if (
                name == "generate"
                and view.roles.of(outer) == "engine"
                and re.search(r"zero_?3|stage.{0,5}3", program.text, re.I)
            ):
                yield Fault(call, f"`{name}` needs every rank, and only one calls it",
                            f"`{name}` 需要所有 rank 参与，这里只有一个调用", beside=(branch,))  # fmt: skip
            continue
        own = (sharded and role == "model" and name in ("state_dict", "generate") and _wrapped(view, receiver(call))) or (
            engine and role == "engine" and name in ("save_checkpoint", "save_16bit_model", "generate")) or (
            accelerated and role == "accelerator" and name == "save_state")  # fmt: skip
        if own:
            yield Fault(call, f"`{name}` needs every rank, and only one calls it", f"`{name}` 需要所有 rank 参与，这里只有一个调用",
                        beside=(branch,))  # fmt: skip
    for call in (n for n in program.each(ast.Call) if sharded and view.roles.of(n.func) == "model"):
        branch = single(program, call) if key(call.func) else None
        if branch is not None and _sharded(view, call.func) and not _answered(program, call, branch):
            yield Fault(call, "running the sharded model needs every rank, and only one does", "运行分片模型需要所有 rank 参与，这里只有一个",
                        beside=(branch,))  # fmt: skip


THIRD = re.compile(r"zero_?3|stage.{0,5}3|FullyShardedDataParallelPlugin|fsdp_plugin|fsdp_config", re.I)


def _generated(view: View) -> Iterator[Fault]:
    """Generation on one rank with weights that lie on all: by what an accelerator unwraps, or in a method of a trainer
    or of a callback."""
    program = view.program
    for call in program.find("generate"):
        own = (THIRD.search(program.text) and _is_unwrapped(program, call)) or (
            (THIRD.search(program.said) or "fsdp" in program.said)
            and hosted(program, call)
            and view.roles.of(receiver(call)) == "model"
        )
        branch = single(program, call) if own else None
        apart = any(re.search(r"summon_full_params|GatheredParameters", c) for c in program.contexts(call))
        if branch is not None and not apart and not _answered(program, call, branch):
            yield Fault(call, "`generate` needs every rank, and only one calls it", "`generate` 需要所有 rank 参与，这里只有一个调用",
                        beside=(branch,))  # fmt: skip


def _is_unwrapped(program: Program, call: ast.Call) -> bool:
    """Whether what is asked to generate is what an accelerator unwrapped: its weights lie on all ranks as before."""
    asked = receiver(call)
    made = program.origin(asked, inside=False) if isinstance(asked, ast.expr) else None
    return isinstance(made, ast.Call) and last(program.path(made.func)) in (
        "unwrap_model",
        "extract_model_from_parallel",
    )


def _lengths_apart(view: View) -> Iterator[Fault]:
    """Generation with a ZeRO-3 engine whose ranks stop when their own answers end."""
    program = view.program
    if "generate" not in program.calls:
        return
    told = re.search(
        r"synced_gpus|HfDeepSpeedConfig|GatheredParameters|Trainer\(|inference_engine|init_inference|hybrid_engine",
        program.text,
    )
    if told or not re.search(r"zero_?3|['\"]?stage['\"]?\s{0,3}[:=]\s{0,3}3", program.text, re.I):
        return
    for call in program.find("generate"):
        on = receiver(call)
        inner = on.value if isinstance(on, ast.Attribute) and on.attr == "module" else on
        if inner is not None and view.roles.sure(inner) == "engine" and single(program, call) is None:
            yield Fault(call, "ranks that share the weights end their answers at different lengths: give `synced_gpus=True`",
                        "共享权重的各 rank 生成长度不同而互相等待：应传入 `synced_gpus=True`", severity="S2")  # fmt: skip


def _ungathered(view: View) -> Iterator[Fault]:
    """Generation on every rank with weights that FSDP has cut up, of which nothing puts the whole together."""
    program = view.program
    told = program.mentions("summon_full_params", "synced_gpus", "GatheredParameters", "Trainer(")
    if told or "generate" not in program.calls:
        return
    plugin = "FullyShardedDataParallelPlugin" in program.said
    for call in program.find("generate"):
        on = receiver(call)
        inner = on.value if isinstance(on, ast.Attribute) and on.attr in ("module", "_fsdp_wrapped_module") else on
        cut = inner is not None and _cut_up(program, inner)
        if (cut or (plugin and _is_unwrapped(program, call))) and single(program, call) is None:
            yield Fault(call, "`generate` runs past FSDP, which gathers weights for its own `forward` alone: use `summon_full_params`, and `synced_gpus=True`",
                        "`generate` 绕过了 FSDP 的 `forward`，权重仍是分片：应使用 `summon_full_params` 与 `synced_gpus=True`", severity="S2")  # fmt: skip


def _cut_up(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a model that FSDP is wrapped around."""
    names = ("FSDP", "FullyShardedDataParallel")
    return any(isinstance(n, ast.Call) and last(program.path(n.func)) in names for n, _, _ in made_of(program, expr))


def _sharded(view: View, expr: ast.expr) -> bool:
    """Whether a value is seen to be wrapped, through the calls that hand it on."""
    program = view.program
    names = ("FSDP", "FullyShardedDataParallel", "fully_shard")
    given = {(program.home(a, key(a)), key(a)) for c in program.find("fully_shard") for a in c.args[:1] if key(a)}
    nodes = [n for n, _, _ in made_of(program, expr)]
    return any(isinstance(n, ast.Call) and last(program.path(n.func)) in names for n in nodes) or any(
        (program.home(n, k), k) in given for n in nodes if (k := key(n)))  # fmt: skip


def _wrapped(view: View, expr: ast.expr | None) -> bool:
    name = key(expr)
    bindings = [b for s in view.program.bound.values() for b in s.get(name, ())]
    known = [last(view.program.path(b.value.func)) for b in bindings if isinstance(b.value, ast.Call)]
    if any(n in ("FSDP", "FullyShardedDataParallel", "fully_shard") for n in known):
        return True
    parameter = any(b.how == "parameter" for b in bindings)
    return parameter or any(last(view.program.path(c.func)) == "fully_shard" and c.args and key(c.args[0]) == name
                            for c in view.program.find("fully_shard"))  # fmt: skip

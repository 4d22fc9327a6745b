"""Rules on what ranks do apart: gradients, devices, sums, leaving on their own."""

# ruff: noqa: E501, SIM102  one sentence, pattern or program on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patterns import bounded
from ..flow import made_of
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from ..training import Training
from .apart.wrapping import beside_the_wrapper
from .distributed import COLLECTIVES, HEAD, collectives
from .look import OF_RANKS, inside, made_by, model_call, source
from .rule import Fault, View, rule


@rule("rank-stops-on-its-own", "S2", "collective-mismatch", "isnan isfinite isinf break time OutOfMemory",
      bad=HEAD + """
model = DistributedDataParallel(net)
for batch in loader:
    loss = model(**batch).loss
    if not torch.isfinite(loss):
        break
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
      good=HEAD + """
model = DistributedDataParallel(net)
for batch in loader:
    loss = model(**batch).loss
    bad = (~torch.isfinite(loss)).float()
    dist.all_reduce(bad)
    if bad.item() > 0:
        break
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""")  # fmt: skip
def rank_stops_on_its_own(view: View) -> Iterator[Fault]:
    """A rank leaves or skips a step because of its own loss.

    Why: the others wait for its gradients until the timeout.
    """
    program = view.program
    shared = view.among_ranks and re.search(r"DistributedDataParallel|\bDDP\b|\bddp\b|FSDP|fully_shard", program.text)
    if not view.distributed and not shared:
        return
    yield from _own_memory(view)
    yield from _own_figure(view)
    yield from _own_clock(view)
    for training in view.trainings:
        mine = program.scope(training.node)
        called = {program.scope(e.node) for e in training.events if e.depth} - {mine}
        for node in program.each(ast.If):
            if not inside(program, node, training.node) and program.scope(node) not in called:
                continue
            leaves = isinstance(node.body[-1], (ast.Return, ast.Break, ast.Continue))
            own = leaves and any(isinstance(n, ast.Call) and last(program.path(n.func)) in ("isnan", "isfinite", "isinf")
                                 for n, _, _ in made_of(program, node.test, (), 3))  # fmt: skip
            asked = own and [e for e in training.events if isinstance(e.node, ast.Call) and _together(program, e.node)]
            before = any(b.node.lineno > node.lineno or program.scope(b.node) is not program.scope(node)  # type: ignore[attr-defined]
                         for b in training.of("backward"))  # fmt: skip
            if own and not asked and before:
                yield Fault(node.body[-1], "a rank leaves the step because of its own loss, and the others wait for it",
                            "某个 rank 因自己的 loss 离开这一步，其余 rank 会一直等待", beside=(node,))  # fmt: skip


def _own_memory(view: View) -> Iterator[Fault]:
    """A rank that leaves out its step where its own memory runs out."""
    program = view.program
    for training in view.trainings:
        for event in training.of("backward")[:1]:
            tries = [t for t in program.up(event.node) if isinstance(t, ast.Try) and not any(
                inside(program, event.node, h) for h in (*t.handlers, *t.finalbody))]  # fmt: skip
            for handler in (h for t in tries[:1] for h in t.handlers):
                caught = program.code(handler.type) if handler.type is not None else ""
                raised = any(isinstance(n, ast.Raise) for n in walk(handler) if _plainly(program, n, handler))
                if re.search(r"OutOfMemory", caught) and not raised and not any(
                    isinstance(n, ast.Call) and _together(program, n) for n in walk(handler)):  # fmt: skip
                    yield Fault(handler, "a rank leaves out the step where its own memory runs out, and the others wait for its gradients",
                                "某个 rank 显存不足就跳过这一步，其余 rank 会一直等待它的梯度", beside=(event.node,))  # fmt: skip


def _plainly(program: Program, node: ast.AST, handler: ast.AST) -> bool:
    """Whether something is done in a handler whatever the error says."""
    return not any(isinstance(a, ast.If) and inside(program, a, handler) for a in program.up(node))


def _own_figure(view: View) -> Iterator[Fault]:
    """A loop of the training that a rank leaves for a figure over its own part of the data."""
    program = view.program
    loops = {x for t in view.trainings for x in (t.node, *t.outer)}
    for leave in program.each(ast.Break):
        loop = next(iter(program.loops(leave)), None)
        guard = next(iter(program.guards(leave)), None)
        if loop in loops and guard is not None and not OF_RANKS.search(program.code(guard[0])) and (
            sampler := _of_own_part(view, guard[0])) is not None:  # fmt: skip
            yield Fault(leave, "a rank leaves the training for a figure over its own part of the data, and the others wait for it",
                        "某个 rank 按自己那份数据的指标退出训练，其余 rank 会一直等待", beside=(sampler,))  # fmt: skip


def _own_clock(view: View) -> Iterator[Fault]:
    """A loop of the training that a rank leaves when its own clock says so."""
    program = view.program
    loops = {x for t in view.trainings for x in (t.node, *t.outer)}
    for leave in (n for n in program.each(ast.Break) if any(x in loops for x in program.loops(n)[:1])):
        for test, _, _ in program.guards(leave)[:1]:
            paths = [program.path(n.func) for n, _, _ in made_of(program, test) if isinstance(n, ast.Call)]
            timed = any(
                p in ("time.time", "time.monotonic", "time.perf_counter") or p.endswith("datetime.now") for p in paths
            )
            if timed and not any(last(p) in (*COLLECTIVES, "reduce", "item") for p in paths):
                yield Fault(leave, "a rank leaves the training when its own clock says so, and the others wait for it",
                            "某个 rank 按自己的时钟退出训练，其余 rank 会一直等待", beside=(test,))  # fmt: skip


def _of_own_part(view: View, test: ast.expr) -> ast.Call | None:
    """The sampler that gives each rank its own part of what a condition is made of, where the ranks never agree on it."""
    program = view.program
    given = [a for n in walk(test) if isinstance(n, ast.Call) for a in n.args]
    nodes = [s.node for v in (test, *given) for s in made_of(program, v, (), 10)]
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    agreed = {key(a) for c in program.find(*COLLECTIVES, "reduce", "gather") for a in c.args} - {""}
    if (
        not any(model_call(view, c) for c in calls)
        or any(_together(program, c) for c in calls)
        or agreed & {key(n) for n in nodes}
    ):
        return None
    return next((c for c in calls if re.search(r"^Distributed\w{0,40}Sampler$", last(program.path(c.func)))), None)


def _together(program: Program, call: ast.Call) -> bool:
    """Whether a call is one that all ranks make together, here or in a function of this file."""
    return last(program.path(call.func)) in (*COLLECTIVES, "reduce", "gather")


@rule("sum-taken-for-mean", "S2", "loss-oscillation", "all_reduce",
      bad=HEAD + """
dist.all_reduce(loss)
if rank == 0:
    print("mean loss", loss.item())
""",
      good=HEAD + """
dist.all_reduce(loss, op=dist.ReduceOp.AVG)
if rank == 0:
    print("mean loss", loss.item())
""")  # fmt: skip
def sum_taken_for_mean(view: View) -> Iterator[Fault]:
    """A loss or a gradient is summed over the ranks and not divided by their number.

    Why: `all_reduce` sums unless told otherwise: what is logged or stepped on grows with the number of GPUs.
    """
    program = view.program
    for call in collectives(view):
        if last(program.path(call.func)) != "all_reduce" or not call.args:
            continue
        op = argument(call, "op", 1) or argument(call, "reduce_op")
        if op is not None and not program.code(op).strip("'\"").upper().endswith("SUM"):
            continue
        if op is None and "fabric" in key(call.func).lower():
            continue  # a mean unless told otherwise
        name = key(call.args[0])
        named = {key(n) for t in view.trainings for e in t.of("backward") if e.on is not None for n in [e.on]} - {""}
        nodes = list(program.traced(call.args[0], 3))
        asked = any(isinstance(n, ast.Compare) or last(key(n)) in ("isnan", "isfinite", "isinf") for n in nodes)
        loss = not asked and bool(named & {key(n) for n in nodes})
        wanted = loss or re.search(r"(^|_)(loss(es)?|(mean|avg)(_\w{1,40})?)$|\.grad(\.data)?$", name)
        scope = program.scope(call)
        text = program.code(scope, 60_000) if isinstance(scope, FUNCTIONS) else program.text
        divided = bounded(
            r"/=?[ ]?\(?[ ]?(?:\w{1,40}\.)*(?:get_)?(?:world_size|num_processes|size|n_gpus|ngpus|num_gpus|nproc\w{0,40}|ws|W|world|count|total|n|num_\w{1,40})\b|\.div_?\(|\.mul_?\(|mean\(|/ dist|/=?[^\n/]{0,80}\b(?:get_)?(?:world_size|num_processes|n_gpus|ngpus|num_gpus)\b|/=?[ ]?\(?len\((?:\w{1,40}\.)*\w{0,40}(?:dataset|data|ds)\)"
        ).search(text)
        if (own := _local_count(view, call)) is not None:
            yield Fault(own, f"`{name}` is summed over the ranks and divided by what one rank counted",
                        f"`{name}` 在各 rank 间求和，却除以单个 rank 的计数", beside=(call,))  # fmt: skip
        elif wanted and not divided:
            yield Fault(call, f"`{name}` is summed over the ranks and never divided by their number",
                        f"`{name}` 在各 rank 间求和，却没有除以 rank 数")  # fmt: skip


def _local_count(view: View, call: ast.Call) -> ast.BinOp | None:
    """A division of what was summed over the ranks by a count that was not."""
    program = view.program
    scope, name = program.scope(call), key(call.args[0])
    reduced = {key(a) for c in collectives(view) for a in c.args[:1]}
    for node in program.within(scope):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or key(node.left) != name:
            continue
        count = key(node.right)
        raised = [b for b in program.bindings(node.right) if b.how == "augment" and program.loops(b.node)]
        if count and raised and count not in reduced and node.lineno > call.lineno:
            return node
    return None


@rule("gradient-sync-bypassed", "S1", "loss-oscillation", ".module no_sync DDP( DistributedDataParallel(",
      bad="""
      model = DistributedDataParallel(net)
      for batch in loader:
          loss = model.module(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      model = DistributedDataParallel(net)
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def gradient_sync_bypassed(view: View) -> Iterator[Fault]:
    """Training calls the module inside the DDP wrapper.

    Why: gradients are averaged by the wrapper's forward and hooks; without it the ranks drift apart.
    """
    program = view.program
    wrapped = made_by(view, "DDP", "DistributedDataParallel")
    for training in view.trainings:
        yield from beside_the_wrapper(view, training)
        if (silent := _never_synced(view, training)) is not None:
            yield Fault(silent, "every backward pass runs under `no_sync`: the ranks never average their gradients",
                        "每次 backward 都在 `no_sync` 里：各 rank 的梯度从不同步")  # fmt: skip
        for event in training.of("backward"):
            for node in program.traced(event.on, 3) if event.on is not None else ():
                func = program.origin(node.func) if isinstance(node, ast.Call) else None
                if isinstance(node, ast.Call) and isinstance(func, ast.Attribute) and func.attr == "module":
                    if key(func.value) in wrapped:
                        from ..patch import instead

                        fix = (instead(node.func, source(program, func.value)),)
                        yield Fault(node, "training calls the module inside the DDP wrapper: gradients are not averaged",
                                    "训练直接调用 DDP 内部的 module：梯度不会同步", fix)  # fmt: skip


def _never_synced(view: View, training: Training) -> ast.AST | None:
    """The first of all backward passes before a step where none of them averages over the ranks."""
    backwards = training.of("backward")
    apart = [b for b in backwards if any(last(c.removesuffix("()")) == "no_sync" for c in b.contexts)]
    by_hand = any(".grad" in view.program.code(c) for c in view.program.find("all_reduce", "all_reduce_coalesced"))
    chosen = any(view.program.guards(b.node) for b in apart)
    return (
        apart[0].node if apart and apart == backwards and training.of("step") and not by_hand and not chosen else None
    )


@rule("all-ranks-on-one-gpu", "S1", "vllm-device-conflict", "init_process_group",
      bad="""
      torch.distributed.init_process_group("nccl")
      device = torch.device("cuda:0")
      model = DistributedDataParallel(Net().to(device))
      """,
      good="""
      torch.distributed.init_process_group("nccl")
      device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
      model = DistributedDataParallel(Net().to(device))
      """)  # fmt: skip
def all_ranks_on_one_gpu(view: View) -> Iterator[Fault]:
    """Every process puts its model on the first GPU.

    Why: the first GPU runs out of memory while the others stand idle, or NCCL refuses two ranks on one device.
    """
    program = view.program
    if not any(True for _ in program.find("init_process_group", "init_distributed")):
        return
    if program.mentions("set_device", "CUDA_VISIBLE_DEVICES", "gloo"):
        return
    ranked = program.mentions("local_rank", "LOCAL_RANK", "local_process_index", "device_count")
    for call in program.find("device", "to", "cuda"):
        first = call.args[0] if call.args else None
        value = program.const(first) if first is not None else None
        name = last(program.path(call.func))
        bare = name == "cuda" and not call.args and not call.keywords and view.roles.of(receiver(call)) == "model"
        plain = (
            value == "cuda:0"
            or (name == "cuda" and value == 0)
            or (name == "to" and value == "cuda" and view.roles.of(receiver(call)) == "model")
        )
        first_one = (value == "cuda:0" or value == 0) and not program.guards(call)
        if first_one if ranked else plain or bare:
            yield Fault(
                call,
                "every process uses the first GPU: nothing picks one by its rank",
                "所有进程都用第一块 GPU：没有按 rank 选择设备",
            )
            return

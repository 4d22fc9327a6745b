"""The rule on ranks that leave a function or loop while the others go on."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...conditions import of_the_batch
from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last
from ...source import walk
from ..distributed import COLLECTIVES, HEAD, collectives, held_by, own_group
from ..look import alone_on_rank, inside, rank_branch
from ..rule import Fault, View, rule

LEAVES = (ast.Return, ast.Break, ast.Continue)
AGREED = (*COLLECTIVES, "reduce", "gather", "tensor", "as_tensor", "full")
"""Calls that a value is given to before the ranks agree on it."""


@rule("rank-leaves-early", "S1", "collective-mismatch", "rank RANK main_process master is_main global_zero process_zero chief process_index DDP DistributedDataParallel FSDP FullyShardedDataParallel",
      bad=HEAD + """
def report(loss):
    if rank != 0:
        return None
    dist.all_reduce(loss)
    return loss.item()
""",
      good=HEAD + """
def report(loss):
    dist.all_reduce(loss)
    if rank != 0:
        return None
    return loss.item()
""")  # fmt: skip
def rank_leaves_early(view: View) -> Iterator[Fault]:
    """Some ranks leave a function or loop before a collective that follows.

    Why: those that stay wait for them until the timeout.
    """
    told = list(_before_a_collective(view))
    yield from told
    yield from _left_alone(view, {f.node for f in told})
    yield from _told_alone(view)
    yield from _skipped_alone(view)
    yield from _decoded_alone(view)


def _before_a_collective(view: View) -> Iterator[Fault]:
    program = view.program
    calls = [c for c in collectives(view) if not own_group(c)]
    calls += [c for f in held_by(view) for c in program.callers(f)]
    for node in program.each(ast.If):
        if not isinstance(node.body[-1], LEAVES) or rank_branch(program, node.test) is None:
            continue
        body = _block(program, node)
        after = [c for c in calls if c.lineno > (node.end_lineno or 0) and program.scope(c) is program.scope(node)]
        leaving = isinstance(node.body[-1], ast.Return)
        reached = [c for c in after if leaving or any(inside(program, c, s) for s in body)]
        names = {last(program.path(c.func)) for c in reached}
        before = any(inside(program, c, node) and last(program.path(c.func)) in names for c in calls)
        if reached and not before and (leaving or program.loops(node)):
            yield Fault(node, f"some ranks leave here, and the others wait for them at line {reached[0].lineno}",
                        f"部分 rank 在此离开，其余 rank 会在第 {reached[0].lineno} 行等待", beside=(reached[0],))  # fmt: skip


def _block(program: Program, node: ast.stmt) -> list[ast.stmt]:
    """The statements behind one in its block."""
    parent = program.parent.get(node)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(parent, name, None)
        if isinstance(body, list) and node in body:
            return body[body.index(node) + 1 :]
    return []


def _ways_out(view: View) -> Iterator[ast.stmt]:
    """Where a loop of a training is left in the middle."""
    program = view.program
    loops = {x for t in view.trainings if t.whole for x in (t.node, *t.outer)} if view.among_ranks else set()
    for leave in (*program.each(ast.Break), *program.each(ast.Return)) if loops else ():
        around = program.loops(leave)
        left = around if isinstance(leave, ast.Return) else around[:1]
        if any(x in loops for x in left):
            yield leave


def _left_alone(view: View, told: set[ast.AST]) -> Iterator[Fault]:
    """A rank that leaves a loop of training, somewhere under its own condition, while the others go on."""
    program = view.program
    for leave in _ways_out(view):
        branch = alone_on_rank(program, leave)
        if branch is not None and branch not in told and any(inside(program, branch, x) for x in program.loops(leave)):
            yield Fault(leave, "one rank alone leaves the loop, and the others wait for it in the next step",
                        "只有一个 rank 跳出循环，其余 rank 在下一步等待它", beside=(branch,))  # fmt: skip


def _told_alone(view: View) -> Iterator[Fault]:
    """A loop of training that is left for a flag that one rank alone sets, and that the others never hear of."""
    program = view.program
    handed = {key(n) for c in program.find(*AGREED) for a in c.args for n in walk(a)} - {""}
    ends = [(b, program.guards(b)[0][0]) for b in _ways_out(view) if isinstance(b, ast.Break) and program.guards(b)]
    loops = {x for t in view.trainings if t.whole for x in (t.node, *t.outer)} if view.among_ranks else set()
    ends += [(x, x.test) for x in loops if isinstance(x, ast.While)]
    for end, test in ends:
        stays = isinstance(end, ast.While) is not isinstance(test, ast.UnaryOp)  # what it is while the loop goes on
        flag = test.operand if isinstance(test, ast.UnaryOp) else test
        given = (
            program.bindings(flag) if isinstance(flag, (ast.Name, ast.Attribute)) and key(flag) not in handed else []
        )
        later = [b for b in given if not isinstance(b.value, ast.Constant) or bool(b.value.value) is not stays]
        alone = [alone_on_rank(program, b.node) for b in later if b.how == "assign"]
        if len(alone) == len(later) > 0 and all(alone):
            yield Fault(end, f"`{key(flag)}` is set by one rank alone: the others go on, and wait for it",
                        f"`{key(flag)}` 只由一个 rank 设置：其余 rank 继续训练并等待它", beside=tuple(alone[:1]))  # type: ignore[arg-type]  # fmt: skip


def _skipped_alone(view: View) -> Iterator[Fault]:
    """A rank that leaves out its backward for what its own batch holds, while the others average gradients."""
    program = view.program
    wrapped = any(True for _ in program.find("DDP", "DistributedDataParallel")) or any(
        path.endswith("DistributedDataParallel") for path in program.imports.values())  # fmt: skip
    if not wrapped or program.mentions(".join(", "Join(", "no_sync"):
        return
    for training in view.trainings:
        for event in training.of("backward")[:1]:
            for test, _ in event.guards:
                if of_the_batch(program, test, training.node):
                    yield Fault(test, "a rank leaves out this step for what its own batch holds: the others wait for its gradients",
                                "某个 rank 因自己的批次内容跳过这一步：其他 rank 等待它的梯度", beside=(event.node,))  # fmt: skip


def _decoded_alone(view: View) -> Iterator[Fault]:
    """A loop that runs a sharded model token by token, and that a rank leaves when its own sequences are at their end."""
    program = view.program
    loops = [x for x in (*program.each(ast.For), *program.each(ast.While)) if program.mentions("FSDP", "FullySharded")]
    held = set(held_by(view)) if loops else set()
    for loop in loops:
        runs = [n for n in program.within(loop, ast.Call) if _of_all_ranks(view, n)]
        together = [n for n in program.within(loop, ast.Call) if (
            last(program.path(n.func)) in COLLECTIVES or program.function(n) in held)]  # fmt: skip
        if (
            not runs
            or together
            or any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in program.within(loop))
        ):
            continue
        ends = [g[0] for n in program.within(loop, ast.Break, ast.Return) if loop in program.loops(n)
                for g in program.guards(n)[:1]]  # fmt: skip
        ends += [loop.test] if isinstance(loop, ast.While) else []
        own = next((t for t in ends if _ended(program, t)), None)
        if own is not None:
            yield Fault(own, "a rank leaves this loop when its own sequences end, and the others wait for its part of the weights",
                        "某个 rank 在自己的序列结束后就离开循环，其余 rank 会等待它那份权重", beside=(runs[0],))  # fmt: skip


def _ended(program: Program, test: ast.expr) -> bool:
    """Whether a condition asks if all sequences of this rank are at their end."""
    calls = [n for n, _, _ in made_of(program, test, (), 3) if isinstance(n, ast.Call)]
    return any(last(program.path(c.func)) in ("all", "any", "item") for c in calls) and bool(
        re.search(
            r"eos|finish|done|end|stop|alive|active|unfinished", " ".join(program.code(n) for n in (test, *calls)), re.I
        )
    )


def _of_all_ranks(view: View, call: ast.Call) -> bool:
    """Whether a call runs a model whose weights lie on all ranks: as it was wrapped, or as a parameter says that it is."""
    program = view.program
    if view.roles.of(call.func) != "model" or not key(call.func):
        return False
    names = ("FSDP", "FullyShardedDataParallel", "fully_shard")
    for node, _, _ in made_of(program, call.func, (), 6):
        if isinstance(node, ast.Call) and last(program.path(node.func)) in names:
            return True
        found = program.binding(node) if isinstance(node, ast.Name) else None
        if found is not None and isinstance(found.node, FUNCTIONS) and found.how == "parameter":
            said = (a.annotation for a in (*found.node.args.posonlyargs, *found.node.args.args, *found.node.args.kwonlyargs)
                    if a.arg == key(node))  # fmt: skip
            if any(last(program.path(s)) in names for s in said if s is not None):
                return True
    return False

"""The rule on samples that are dealt out to ranks in unequal numbers."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last
from ..look import _is_rank
from ..rule import Fault, View, rule

EQUAL = re.compile(
    r"\.join\(\s{0,4}(\)|divide|enable|throw)|Join\(|// *\w{0,40}(world|size|w)\b|max_steps|range\(\w{0,40}steps"
    r"|- len\(\w{1,40}\) %|islice\([^()]{1,80}(\([^()]{0,80}\))?[^(),]{0,40},\s{0,4}[\w.]{1,60}\)"
)
"""How ranks are given equal numbers, or do not wait for each other."""
FILES = re.compile(r"file|path|shard|glob|listdir|iterdir|urls?\b|tars?\b|parquet|jsonl|\bparts?\b|csv", re.I)
"""Words of what holds many samples, and not as many as the next."""


@rule("ranks-have-unequal-work", "S2", "collective-mismatch", "rank get_rank",
      bad="""
      rows = rows[rank::world_size]
      model = DistributedDataParallel(net)
      for row in rows:
          loss = model(row).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      rows = rows[: len(rows) // world_size * world_size]
      rows = rows[rank::world_size]
      model = DistributedDataParallel(net)
      for row in rows:
          loss = model(row).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def ranks_have_unequal_work(view: View) -> Iterator[Fault]:
    """Samples are dealt out by rank, and some ranks get one more than others.

    Why: the rank with one batch more waits in its backward for those that have finished.
    """
    program = view.program
    if not _in_step(view) or EQUAL.search(program.text):
        return
    cut = "drop_last" in program.text  # makes equal what differs by one row, not what differs by a file
    for node in (*_dealt(program), *_shares(program)):
        if not cut or FILES.search(program.code(node) + program.code(_held(program, node))):
            yield Fault(node, "samples are dealt out by rank without equal numbers: ranks end at different steps",
                        "按 rank 切分样本而数量不等：各 rank 的步数不同", beside=(program.statement(view.trainings[0].node),))  # fmt: skip


def _held(program: Program, node: ast.expr) -> ast.expr:
    """What is dealt out, as it was made."""
    on = (
        node.value
        if isinstance(node, ast.Subscript)
        else node.args[0]
        if isinstance(node, ast.Call) and node.args
        else node
    )
    made = program.origin(on)
    if isinstance(made, ast.Call) and last(program.path(made.func)) in ("list", "sorted", "array_split") and made.args:
        made = program.origin(made.args[0])
    return made


def _shares(program: Program) -> Iterator[ast.expr]:
    """`rows[rank::world]`, `range(rank, n, world)`, `array_split(rows, world)[rank]`."""

    def ranked(expr: ast.expr) -> bool:
        return _is_rank(program, expr) or bool(re.search("rank", key(expr))) or _ranked(program, expr)

    for node in program.each(ast.Subscript):
        cut = node.slice
        if isinstance(cut, ast.Slice):
            if cut.lower is not None and cut.step is not None and ranked(cut.lower):
                yield node
        elif ranked(cut):
            made = program.origin(node.value)
            if isinstance(made, ast.Call) and last(program.path(made.func)) == "array_split":
                yield node
    for call in program.find("range"):
        if len(call.args) == 3 and ranked(call.args[0]) and not isinstance(program.const(call.args[2]), int):
            yield call
    for call in program.find("islice"):
        if len(call.args) == 4 and ranked(call.args[1]) and program.const(call.args[2]) is None and key(call.args[3]):
            yield call


def _in_step(view: View) -> bool:
    """Whether ranks train and wait for each other in each step: wrapped by a library, or by sums of their own."""
    names = ("all_reduce", "reduce_scatter", "all_reduce_coalesced")
    calls = (e.node for t in view.trainings for e in t.of("call") if isinstance(e.node, ast.Call))
    return bool(view.trainings) and (view.distributed or any(last(view.program.path(c.func)) in names for c in calls))


def _dealt(program: Program) -> Iterator[ast.Compare]:
    """`i % world == rank`, where that decides whose a sample is."""
    for node in program.each(ast.Compare):
        sides = (node.left, node.comparators[0]) if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) else ()
        turns = any(isinstance(s, ast.BinOp) and isinstance(s.op, ast.Mod) and re.search("world|size|replicas|ranks", program.code(s) + program.code(program.origin(s.right)))
                    for s in sides)  # fmt: skip
        each = any(isinstance(n, (ast.comprehension, ast.For)) for n in program.up(node)) or isinstance(
            program.parent.get(node), ast.comprehension)  # fmt: skip
        if turns and each and any(_is_rank(program, s) or last(key(s)) == "rank" for s in sides):
            yield node


def _ranked(program: Program, expr: ast.expr) -> bool:
    found = program.binding(expr)
    return (
        found is not None and found.value is not None and bool(re.search(r"get_rank|RANK", program.code(found.value)))
    )

"""The rule on groups of ranks that not all ranks make."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of, written
from ...program import FUNCTIONS, Program, argument, key, last
from ...source import walk
from ..distributed import HEAD
from ..look import RANK, RANKS
from ..rule import Fault, View, rule

DEEP = 3
MAKES = ("new_group", "new_subgroups", "new_subgroups_by_enumeration", "init_device_mesh")
MINE = re.compile(r"rank|local_id|process_index|proc_id|is_(main|master|chief|first|last)|node_id", re.I)
SAME = re.compile(r"world_size|num_ranks|n_ranks|ranks_per|rank_count|use_rank|ranks$", re.I)
"""Names with a rank in them that are alike on all ranks."""


@rule("group-made-by-some-ranks", "S1", "collective-mismatch", "new_group new_subgroups",
      bad=HEAD + """
for members in ([0, 1], [2, 3]):
    if rank in members:
        group = dist.new_group(members)
""",
      good=HEAD + """
for members in ([0, 1], [2, 3]):
    made = dist.new_group(members)
    if rank in members:
        group = made
""")  # fmt: skip
def group_made_by_some_ranks(view: View) -> Iterator[Fault]:
    """A group of processes is made only by those that belong to it.

    Why: all ranks must make every group, in one order, also those that are no members: the run hangs, or ranks talk to others
    than they mean.
    Known gaps: a condition whose names do not say that it is about the rank.
    """
    program = view.program
    for call in program.find(*MAKES):
        told = argument(call, "use_local_synchronization")
        if (told is not None and program.const(told) is not False) or program.function(call) is not None:
            continue
        if (own := _own_list(program, call)) is not None:
            yield Fault(call, "each rank makes the group that it belongs to alone: all ranks must make every group",
                        "每个 rank 只创建自己所在的进程组：所有 rank 必须创建全部进程组", beside=(own,))  # fmt: skip
        elif (test := _of_some(program, call)) is not None:
            yield Fault(call, "not all ranks make this group: those that are no members must call it too",
                        "并非所有 rank 都创建这个进程组：不属于该组的 rank 也必须调用", beside=(test,))  # fmt: skip


def _of_some(program: Program, node: ast.AST, deep: int = DEEP) -> ast.AST | None:
    """The condition under which some ranks alone come to a node: above it, before it, or above all of its calls."""
    tests: list[tuple[ast.expr, ast.AST]] = [(t, s) for t, _, s in program.guards(node) if not _raises(s)]
    inner = node
    for above in program.up(node):
        if isinstance(above, ast.IfExp) and inner is not above.test:
            tests.append((above.test, above))
        block = next(
            (b for n in ("body", "orelse") if isinstance(b := getattr(above, n, None), list) and inner in b), []
        )
        for before in block[: block.index(inner)] if block else ():
            if (
                isinstance(before, ast.If)
                and isinstance(before.body[-1], (ast.Return, ast.Continue))
                and not before.orelse
            ):
                tests.append((before.test, before))
        if isinstance(above, FUNCTIONS):
            break
        inner = above
    answered = any(_answered(program, node, s) for _, s in tests)
    found = next((s for t, s in tests if not answered and _apart(program, t)), None)
    scope = program.scope(node)
    if found is not None or not deep or not isinstance(scope, FUNCTIONS):
        return found
    each = [_of_some(program, c, deep - 1) for c in program.callers(scope)]
    return each[0] if each and all(e is not None for e in each) else None


def _raises(statement: ast.AST) -> bool:
    """Whether a condition is one that has to hold: what else is an error."""
    return any(isinstance(block[-1], ast.Raise) for n in ("body", "orelse")
               if isinstance(block := getattr(statement, n, None), list) and block)  # fmt: skip


def _own_list(program: Program, call: ast.Call) -> ast.AST | None:
    """The rank that a list of members is computed from, where the list is made for no other."""
    members = argument(call, "ranks", 0)
    if members is None or last(program.path(call.func)) != "new_group":
        return None
    for node, _, _ in made_of(program, members, (), 5):
        if isinstance(node, (ast.Attribute, ast.Name)) and last(program.path(node)) in RANKS:
            found = program.binding(node)
            each = any(isinstance(g, ast.comprehension) and key(g.target) == key(node) for g in walk(members))
            if (found is None or found.how == "assign") and not each:
                return node
        elif isinstance(node, ast.Call) and last(program.path(node.func)) == "get_rank" and not node.args:
            return node
    return None


def _answered(program: Program, node: ast.AST, statement: ast.AST) -> bool:
    """Whether the ranks of the other branch make a group as well."""
    other = getattr(statement, "orelse", None)
    inside = [n for s in (other if isinstance(other, list) else [other] if other is not None else []) for n in walk(s)]
    mine = node in inside
    every = [n for n in walk(statement) if isinstance(n, ast.Call) and _makes(program, n)]
    others = [n for n in every if (n in inside) is not mine]
    plain = isinstance(node, ast.Call) and all(last(program.path(n.func)) == "new_group" for n in (node, *others))
    if plain and all(n.args or n.keywords for n in (node, *others)):  # type: ignore[attr-defined]
        return any(_members(program, n) == _members(program, node) for n in others)  # type: ignore[arg-type]
    return bool(others)


def _members(program: Program, call: ast.Call) -> str:
    """Of whom a group is made."""
    given = argument(call, "ranks", 0)
    return written(program, given) if given is not None else ""


def _makes(program: Program, call: ast.Call) -> bool:
    """Whether a call makes a group, or is of a function of this file that does."""
    function = program.function(call)
    inner = program.within(function, ast.Call) if function is not None else []
    return any(last(program.path(n.func)) in MAKES for n in (call, *inner))


def _apart(program: Program, test: ast.expr) -> bool:
    """Whether a condition compares the rank, so that some ranks alone fulfil it."""
    nodes = [n for n in program.traced(test, 2) if isinstance(n, (ast.Name, ast.Attribute, ast.Call))]
    words = [last(program.path(n.func if isinstance(n, ast.Call) else n)) for n in nodes]
    compared = any(
        isinstance(n, ast.Compare) and not isinstance(n.ops[0], (ast.Is, ast.IsNot)) for n in program.traced(test, 2)
    )
    mine = any((RANK.search(w) or MINE.search(w)) and not SAME.search(w) for w in words)
    return mine and (compared or any(re.search(r"is_(main|master|chief)", w) for w in words))

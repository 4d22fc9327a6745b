"""Whether this run runs the lines that a finding cites: the conditions above them, with what is known of the run.

A line that the run cannot reach is none of its findings; where a setting decides, whose value nobody sees, the finding
is a note that names the condition. What the run does (`if step % 10 == 0`) is no such condition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations, takewhile
from typing import NamedTuple

from ...findings import Finding, Severity
from ...phrase import Phrase
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..running import parted
from .known import Known, Unknown
from .printed import printed, stands
from .values import Values

DEEP = 3
"""Calls that lead to a line, up to which their conditions are asked as well."""
SHOWN = 80
"""Characters of a condition that a note quotes."""
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
PROCESSES = "processes"
"""What a finding's data says that it `needs`: several processes, of which the program says nothing itself."""
SEVERAL = Phrase("several processes run it", "由多个进程运行")


class Guard(NamedTuple):
    """A condition above a line."""

    test: ast.expr
    side: bool
    branch: tuple[ast.stmt, ...] = ()
    """What is run where it is so."""


class Reached(NamedTuple):
    """Under which conditions a line is run."""

    never: bool = False
    asked: tuple[Phrase, ...] = ()
    """Those of which nobody says that they hold."""


class Branches:
    """The lines of one program in one run."""

    def __init__(self, program: Program, known: Known, others: Callable[[str], Iterator[Branches]]):
        self.program = program
        self.known = known
        self.others = others
        """The other programs of the run that have a word."""
        self.values = Values(program, known)

    def judged(self, finding: Finding, *also: Phrase) -> Finding | None:
        """A finding as this run has it, under conditions of others as well; None where it has not."""
        nodes = [n for e in finding.evidence if e.file == self.program.parsed.name and (n := self._at(e.line))]
        reached = [self._reached(n) for n in nodes]
        apart = any(self._apart(a, b) for a, b in combinations(nodes, 2))
        alone = finding.data.get("needs") == PROCESSES
        if apart or any(r.never for r in reached) or (alone and self.known.processes == 1):
            return None
        several = (SEVERAL,) if alone and not self.known.processes else ()
        return _noted(finding, list(dict.fromkeys((*also, *(a for r in reached for a in r.asked), *several))))

    @cached_property
    def _rows(self) -> dict[int, ast.AST]:
        """The outermost node that begins in each line of the file."""
        rows: dict[int, ast.AST] = {}
        for node in self.program.nodes:
            if (row := getattr(node, "lineno", 0)) and not isinstance(node, ast.arguments):
                rows.setdefault(self.program.parsed.line(row), node)
        return rows

    def _at(self, line: int | None) -> ast.AST | None:
        return self._rows.get(line or 0)

    def _reached(self, node: ast.AST, deep: int = DEEP) -> Reached:
        asked: list[Phrase] = []
        for guard in (*self._guards(node), *self._switches(node)):
            if not self._taken(guard):
                value, sure = self.values.of(guard.test)
                if sure and not isinstance(value, Unknown):
                    return Reached(never=True)
                asked.append(self._said(guard))
        scope = node if isinstance(node, FUNCTIONS) else self.program.scope(node)
        above = [b._reached(c, deep - 1) for b, c in self._calls(scope)] if deep else []
        if above and all(r.never for r in above):
            return Reached(never=True)
        ways = [r.asked for r in above if not r.never]
        return Reached(asked=(*asked, *(ways[0] if ways and all(ways) else ())))

    def _calls(self, function: ast.AST) -> Iterator[tuple[Branches, ast.Call]]:
        """The calls of a function, where nothing but calls leads to it."""
        program, name = self.program, getattr(function, "name", "")
        if not isinstance(function, FUNCTIONS) or name.startswith("__"):
            return
        own = program.callers(function)
        called = {c.func for c in program.find(name)}
        named = (n for n in program.each(ast.Name, ast.Attribute) if last(key(n)) == name and n not in called)
        if not any(isinstance(n.ctx, ast.Load) for n in named):  # type: ignore[attr-defined]
            yield from ((self, c) for c in own)
            yield from ((b, c) for b in (() if own else self.others(name)) for c in b.program.find(name))

    def _taken(self, guard: Guard) -> bool:
        """Whether a branch may be taken, or was, as its words in the log tell."""
        value, _ = self.values.of(guard.test)
        if value is Unknown.STATE or (not isinstance(value, Unknown) and bool(value) is guard.side):
            return True
        inside = (n for s in guard.branch for n in ast.walk(s))
        return any(stands(p, self.known.shown) for p in printed(self.program, inside))

    def _said(self, guard: Guard) -> Phrase:
        text = " ".join(self.program.code(guard.test).split())[:SHOWN]
        return Phrase(f"`{text}`", f"`{text}`") if guard.side else Phrase(f"not `{text}`", f"`{text}` 不成立")

    def _guards(self, node: ast.AST) -> Iterator[Guard]:
        """The conditions above a node within its function, and those under which what stands before it goes on."""
        inner = node
        for above in self.program.up(node):
            if isinstance(above, (ast.If, ast.IfExp)) and inner is not above.test:
                for side, branch in ((True, above.body), (False, above.orelse)):
                    parts = tuple(branch) if isinstance(branch, list) else ()
                    if inner is branch or inner in parts:
                        yield Guard(above.test, side, parts)
            elif isinstance(above, ast.BoolOp):
                before = takewhile(lambda v, inner=inner: v is not inner, above.values)
                yield from (Guard(v, isinstance(above.op, ast.And)) for v in before)
            yield from _left(above, inner)
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            inner = above

    def _switches(self, node: ast.AST) -> Iterator[Guard]:
        """The `enabled=` of what is made or used in the line of a node."""
        calls = [n for n in ast.walk(self.program.statement(node)) if isinstance(n, ast.Call) and
                 n.lineno == getattr(node, "lineno", 0)] if not isinstance(node, ast.Module) else []  # fmt: skip
        for call in calls:
            on = receiver(call)
            made = self.program.origin(on) if on is not None else None
            for one in (call, made):
                switch = argument(one, "enabled") if isinstance(one, ast.Call) else None
                if switch is not None:
                    yield Guard(switch, True)

    def _apart(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two lines of one function stand in branches of which a setting chooses one."""
        if self.program.scope(one) is not self.program.scope(other):
            return False
        sides: list[dict[str, bool]] = []
        for node in (one, other):
            parts = (p for g in self._guards(node) for p in parted(g.test, g.side))
            chosen = (p for p in parts if self.values.of(p[0])[0] is not Unknown.STATE)
            sides.append({self.program.code(test): side for test, side in chosen})
        return any(sides[1].get(text, side) is not side for text, side in sides[0].items())


def _left(above: ast.AST, inner: ast.AST) -> Iterator[Guard]:
    """The conditions that leave a block before a statement of it."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and inner in block:
            for before in block[: block.index(inner)]:
                if isinstance(before, ast.If) and isinstance(before.body[-1], LEAVES) and not before.orelse:
                    yield Guard(before.test, False)


def _noted(finding: Finding, conditions: list[Phrase]) -> Finding:
    """A finding that holds only under conditions, of which nobody says that they do."""
    if not conditions:
        return finding
    en, zh = " and ".join(c.en for c in conditions), "、".join(c.zh for c in conditions)
    return replace(finding, severity=Severity.S3, data={**finding.data, "if": [c.en for c in conditions]},
                   message=f"If {en}: {finding.message}", zh=f"若 {zh}：{finding.zh}")  # fmt: skip

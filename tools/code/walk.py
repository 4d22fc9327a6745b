"""One pass of a program, statement by statement: what is done, in order, and under which conditions and loops.

Functions of the same file are put where they are called, the body of a `with` block where its manager gives way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from .program import FUNCTIONS, LOOPS, Function, Program, key, last, receiver
from .roles import Roles, by_word
from .source import children

DEEP = 3
"""How deep functions of the same file are followed."""
MOST_EVENTS = 4_000
"""Events of one loop; a longer one is cut."""
CLIPS = frozenset(("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_gradients"))
DONE = frozenset(("backward", "step", "zero", "schedule", "unscale", "update", "clip"))
"""What a method of this file may do under the same name: then it is done there, and not where the method is called."""
Guard = tuple[ast.expr, bool]


@dataclass(frozen=True)
class Event:
    """One thing that a pass does."""

    kind: str
    """backward, zero, step, schedule, unscale, update, clip, train, eval, call, assign."""
    node: ast.AST
    """The call or the assignment."""
    guards: tuple[Guard, ...] = ()
    """Conditions between the beginning of the pass and this."""
    loops: tuple[ast.AST, ...] = ()
    """Loops inside the pass that it stands in."""
    contexts: tuple[str, ...] = ()
    """`with` blocks and decorators around it, as resolved names."""
    on: ast.expr | None = None
    """What it is done to: the loss of backward, the optimizer of step."""
    via: str = ""
    """Who does it: scaler, accelerator, engine."""
    depth: int = 0
    calls: tuple[ast.Call, ...] = ()
    """The calls of functions of this file through which it is reached, the innermost last."""


@dataclass
class Walk:
    """One pass, followed statement by statement."""

    program: Program
    roles: Roles
    events: list[Event] = field(default_factory=list)
    waiting: list[list[tuple[list[ast.stmt], Event, tuple[Function, ...]]]] = field(default_factory=list)
    """The bodies of `with` blocks whose manager is followed, each until it gives way."""

    def block(self, body: Iterable[ast.stmt], at: Event, stack: tuple[Function, ...]) -> None:
        for statement in body:
            if len(self.events) >= MOST_EVENTS:
                return
            at = self.statement(statement, at, stack)

    def statement(self, node: ast.stmt, at: Event, stack: tuple[Function, ...]) -> Event:
        """The events of a statement; what holds for those after it in the same block."""
        if isinstance(node, ast.If):
            self.expression(node.test, at, stack)
            self.block(node.body, _under(at, guards=(node.test, True)), stack)
            self.block(node.orelse, _under(at, guards=(node.test, False)), stack)
            if _skips(node.body, at.depth) and not node.orelse:
                return _under(at, guards=(node.test, False))
        elif isinstance(node, LOOPS):
            self.expression(node.test if isinstance(node, ast.While) else node.iter, at, stack)
            if isinstance(node, ast.For) and (done := _cleared(self.program, node)) is not None:
                self.add("zero", done, at)
            else:
                self.block(node.body, _under(at, loops=node), stack)
            self.block(node.orelse, at, stack)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self.managed(node, at, stack)
        elif isinstance(node, ast.Match):
            self.expression(node.subject, at, stack)
            for case in node.cases:
                self.block(case.body, _under(at, guards=(case.guard or node.subject, True)), stack)
        elif isinstance(node, (ast.Try, ast.TryStar)):
            for part in (node.body, node.orelse, node.finalbody):
                self.block(part, at, stack)
            for handler in node.handlers:  # what it catches is not what usually happens
                self.block(handler.body, _under(at, guards=(ast.Constant(False), True)), stack)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield) and self.waiting and self.waiting[-1]:
            body, outer, above = self.waiting[-1].pop()
            self.block(body, _under(outer, contexts=at.contexts[len(outer.contexts) :]), above)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            self.expression(node, at, stack)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                self.add("zero" if _clears(node) else "assign", node, at)
        return at

    def managed(self, node: ast.With | ast.AsyncWith, at: Event, stack: tuple[Function, ...]) -> None:
        """A `with` block: what a manager of this file does before it, it itself, and what is done behind it."""
        program = self.program
        exits: list[tuple[Function | None, ast.Call]] = []
        for i, item in enumerate(node.items):
            call = item.context_expr
            at = _under(at, contexts=(program.path(call),))
            function = _manager(program, call) if i == len(node.items) - 1 else None
            if function is not None and isinstance(call, ast.Call) and function not in stack:
                self.waiting.append([(node.body, at, stack)])
                self.inline(function, call, at, stack)
                if self.waiting.pop():  # where it gives way was not met
                    self.block(node.body, at, stack)
                return
            self.expression(call, at, stack)
            made = program.kind(call) if "__exit__" in program.functions else None
            if made is not None and isinstance(call, ast.Call):
                self.inline(program.method(made, "__enter__"), call, at, stack)
                exits.append((program.method(made, "__exit__"), call))
        self.block(node.body, at, stack)
        for function, call in reversed(exits):
            self.inline(function, call, at, stack)

    def expression(self, node: ast.AST, at: Event, stack: tuple[Function, ...]) -> None:
        """Calls from the inside out, as they are made."""
        outer = at
        for call in _calls(node):
            at = outer
            for guard in _chosen(self.program, call, node):
                at = _under(at, guards=guard)
            inner = self.program.function(call)
            for value in (*call.args, *(k.value for k in call.keywords)):
                if isinstance(value, ast.Name) and last(self.program.path(call.func)) == "step":
                    self.inline(next(iter(self.program.functions.get(value.id, [])), None), call, at, stack)
            told = len(self.events)
            self.classify(call, at)
            done = len(self.events)
            self.inline(inner, call, at, stack)
            kinds = {e.kind for e in self.events[done:]}
            self.events[told:done] = [e for e in self.events[told:done] if e.kind not in kinds & DONE]

    def inline(self, function: Function | None, call: ast.Call, at: Event, stack: tuple[Function, ...]) -> None:
        if function is None or function in stack or len(stack) > DEEP:
            return
        contexts = tuple(self.program.path(d) for d in function.decorator_list)
        wrapped = self.program.objects.wrapped(function)
        guards = tuple((t, b) for c in wrapped[:1] for t, b, _ in self.program.guards(c))
        inside = Event("", at.node, (*at.guards, *guards), at.loops, (*at.contexts, *contexts), depth=at.depth + 1,
                       calls=(*at.calls, call))  # fmt: skip
        self.block(function.body, inside, (*stack, function))

    def add(self, kind: str, node: ast.AST, at: Event, on: ast.expr | None = None, via: str = "") -> None:
        self.events.append(Event(kind, node, at.guards, at.loops, at.contexts, on, via, at.depth, at.calls))

    def classify(self, call: ast.Call, at: Event) -> None:
        name, on = last(self.program.meant(call.func)), receiver(call)
        role = self.roles.of(on)
        first = call.args[0] if call.args else None
        if name in ("backward", "manual_backward"):
            owner = role if role in ("accelerator", "engine", "optimizer", "scaler") or name != "backward" else ""
            if isinstance(on, ast.Call) and last(self.program.path(on.func)) in ("scale", "scale_loss"):
                self.add("backward", call, at, on.args[0] if on.args else None, "scaler")
            elif first is not None and (owner or key(on) in ("self", "amp")):
                self.add("backward", call, at, first, owner or "trainer")
            elif self.program.path(call.func).endswith("autograd.backward"):
                self.add("backward", call, at, first)
            else:
                self.add("backward", call, at, on)
        elif name == "zero_grad" or (name == "zero_" and key(on).endswith(".grad")):
            self.add("zero", call, at, on)
        elif name == "step":
            self.step(call, on, role, first, at)
        elif name in ("unscale_", "unscale_gradients"):
            self.add("unscale", call, at, first)
        elif name == "update" and role == "scaler":
            self.add("update", call, at, on)
        elif name in CLIPS:
            self.add("clip", call, at, first)
        elif name in ("eval", "train") and on is not None and len(call.args) <= 1 and not call.keywords:
            off = name == "eval" or (isinstance(first, ast.Constant) and first.value is False)
            self.add("eval" if off else "train", call, at, on)
        else:
            self.add("call", call, at, on)

    def step(self, call: ast.Call, on: ast.expr | None, role: str, first: ast.expr | None, at: Event) -> None:
        if role == "scaler" and first is not None:
            self.add("step", call, at, first, "scaler")
        elif role == "scheduler":
            self.add("schedule", call, at, on)
        elif role in ("optimizer", "engine"):
            self.add("step", call, at, on, "engine" if role == "engine" else "")
        elif (isinstance(on, ast.Call) and last(self.program.path(on.func)) == "optimizers") or (
            isinstance(on, ast.Subscript) and re.search("optim", key(on.value))
        ):
            self.add("step", call, at, on)
        elif isinstance(on, ast.Subscript) and isinstance(on.slice, ast.Constant) and (
            word := by_word(str(on.slice.value))) in ("optimizer", "scheduler"):  # fmt: skip
            self.add("step" if word == "optimizer" else "schedule", call, at, on)
        else:
            self.add("call", call, at, on)


def _manager(program: Program, call: ast.expr) -> Function | None:
    """The function of this file that is a context manager."""
    function = program.function(call) if isinstance(call, ast.Call) else None
    named = [last(program.path(d)) for d in function.decorator_list] if function is not None else []
    return function if "contextmanager" in named else None


def _under(at: Event, guards: Guard | None = None, loops: ast.AST | None = None,
           contexts: tuple[str, ...] = ()) -> Event:  # fmt: skip
    above = (*at.guards, guards) if guards else at.guards
    around = (*at.loops, loops) if loops else at.loops
    return Event(at.kind, at.node, above, around, (*at.contexts, *contexts), depth=at.depth, calls=at.calls)


def _skips(body: list[ast.stmt], depth: int) -> bool:
    """Whether some passes leave out what follows: after a `break` there is no pass, whoever goes on does the rest."""
    return bool(body) and isinstance(body[-1], (ast.Continue, *((ast.Return,) if depth else ())))


def _clears(node: ast.stmt) -> bool:
    """`p.grad = None`."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    value = getattr(node, "value", None)
    return isinstance(value, ast.Constant) and value.value is None and any(
        isinstance(t, ast.Attribute) and t.attr == "grad" for t in targets)  # fmt: skip


def _cleared(program: Program, loop: ast.For) -> ast.stmt | None:
    """The statement that clears a gradient, where a loop does that to each parameter and nothing else."""
    if len(loop.body) != 1 or "parameters" not in program.path(loop.iter):
        return None
    only = loop.body[0].body[-1] if isinstance(loop.body[0], ast.If) else loop.body[0]
    return only if _clears(only) else None


def _chosen(program: Program, call: ast.Call, whole: ast.AST) -> list[Guard]:
    """The conditions within an expression under which a call in it is made: `f() if x else g()`, `x and f()`."""
    out: list[Guard] = []
    inner: ast.AST = call
    for above in program.up(call) if call is not whole else ():
        if isinstance(above, ast.IfExp) and inner is not above.test:
            out.append((above.test, inner is above.body))
        elif isinstance(above, ast.BoolOp):
            before = takewhile(lambda v, inner=inner: v is not inner, above.values)
            out += [(v, isinstance(above.op, ast.And)) for v in before]
        if above is whole or isinstance(above, ast.stmt):
            break
        inner = above
    return out[::-1]


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of an expression, arguments before what takes them; those in functions that are only defined are not
    made."""
    waiting: list[tuple[ast.AST, bool]] = [(node, False)]
    while waiting:
        one, done = waiting.pop()
        if done:
            yield one  # type: ignore[misc]
            continue
        if isinstance(one, (ast.Lambda, *FUNCTIONS)):
            continue
        if isinstance(one, ast.Call):
            waiting.append((one, True))
        waiting += [(child, False) for child in reversed(children(one))]

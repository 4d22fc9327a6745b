"""The training loops of a program: what one pass does, in order, functions of the same file put where they are called.

An event keeps the conditions, inner loops and `with` blocks around it, so that a rule can tell "each time" from
"sometimes".
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property

from ..patterns import bounded
from .program import FUNCTIONS, LOOPS, Function, Program, key, last
from .roles import Roles
from .source import walk
from .walk import CLIPS as CLIPS
from .walk import Event as Event
from .walk import Walk

HOT = frozenset(("training_step", "compute_loss"))
"""Methods that a trainer calls for each batch."""
HOOKS = (
    "on_train_batch_start", "on_train_batch_end", "on_step_begin", "on_step_end", "on_substep_end",
    "on_before_optimizer_step", "on_pre_optimizer_step", "on_optimizer_step",
    "on_before_zero_grad", "on_after_backward", "optimizer_step",
)  # fmt: skip
"""Methods that a trainer calls beside each step."""
HOSTS = bounded(r"(^|\.)(\w{0,40}Trainer|\w{0,40}Callback|LightningModule)$")
"""Classes whose methods a trainer of a library calls, on each of its processes."""
HOSTED = re.compile(
    r"on_[a-z_]{2,40}|save_model|_save_checkpoint|evaluate|log|training_step|compute_loss|prediction_step"
)
PARTS = re.compile(r"micro|chunk|(^|_)(group|window|mbs|mini_?batches|batches|pieces)$", re.I)
"""Names of the batches that make one step together."""
PIECES = ("split", "chunk", "tensor_split", "array_split")
"""Calls that take a batch apart."""
WINDOWS = ("batched", "chunked", "ichunked", "grouper", "partition_all", "windows", "sliced", "grouped", "chunks")
"""Calls that hand several batches on together."""


@dataclass(frozen=True)
class Training:
    """One loop that trains, or one function that does one step of it."""

    program: Program
    node: ast.AST
    events: tuple[Event, ...]
    outer: tuple[ast.AST, ...] = ()
    """Loops around it, in its function and in those that call it, from inside out."""
    whole: bool = True
    """Whether all of a pass can be seen: not, where a step is called from elsewhere."""

    def of(self, *kinds: str) -> list[Event]:
        return [e for e in self.events if e.kind in kinds]

    @cached_property
    def accumulation(self) -> Accumulation | None:
        """How many passes make one step of the optimizer, where that is not each."""
        steps, backwards = self.of("step"), self.of("backward")
        if not steps or not backwards or self._stepped_each_time(backwards[0]):
            return None
        for step in steps:
            for test, positive in step.guards:
                if (test, positive) in backwards[0].guards:
                    continue
                if found := boundary(self.program, test) or self._set_back(test, positive):
                    return Accumulation(found[0], test, found[1], positive)
                if positive and (count := self._last_pass(test)) is not None:
                    return Accumulation(count, test, closes=True)
        for loop in backwards[0].loops:
            if isinstance(loop, (ast.For, ast.AsyncFor)) and all(loop not in s.loops for s in steps):
                origin = self.program.origin(loop.iter)
                if (
                    isinstance(origin, ast.Call)
                    and last(self.program.path(origin.func)) == "islice"
                    and len(origin.args) == 2
                ):
                    return Accumulation(origin.args[1], None, None, True)
                if isinstance(origin, ast.Call) and last(self.program.path(origin.func)) == "range" and origin.args:
                    return Accumulation(origin.args[-1] if len(origin.args) < 3 else origin.args[1], None, None, True)
                cut = any(isinstance(n, ast.Call) and last(self.program.path(n.func)) in PIECES
                          for n in self.program.traced(loop.iter, 2))  # fmt: skip
                word = key(loop.iter) or key(loop.iter.func if isinstance(loop.iter, ast.Call) else None)
                if cut or PARTS.search(word):
                    return Accumulation(loop.iter, None, None, True)
                if (size := window(self.program, loop.iter)) is not None:
                    return Accumulation(size, None, None, True)
        return None

    def _stepped_each_time(self, backward: Event) -> bool:
        """Whether the first backward has a step of its own in the same pass."""
        at = self.events.index(backward)
        behind = next((e for e in self.events[at + 1 :] if e.kind in ("step", "backward")), None)
        return behind is not None and behind.kind == "step" and behind.guards == backward.guards and (
            behind.loops == backward.loops)  # fmt: skip

    def _last_pass(self, test: ast.expr) -> ast.expr | None:
        """How many passes the loop makes, where a condition holds in its last one: `k == n - 1` of `range(n)`."""
        loop = self.node
        made = loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else None
        if not isinstance(made, ast.Call) or len(made.args) != 1 or not isinstance(loop, (ast.For, ast.AsyncFor)):
            return None
        way, of = last(self.program.path(made.func)), self.program.code(made.args[0])
        counter = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        ends = {"range": (f"{of} - 1",), "enumerate": (f"len({of}) - 1",)}.get(way, ())
        for node in self.program.traced(test, 2):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.GtE)) and key(node.left) == key(
                    counter) and self.program.code(node.comparators[0]) in ends:  # fmt: skip
                return node.comparators[0].left if isinstance(node.comparators[0], ast.BinOp) else None
        return None

    def _set_back(self, test: ast.expr, positive: bool) -> tuple[ast.expr, ast.expr] | None:
        """(how many, the counter) of `count == n`, where the counter is raised in each pass and set to 0 under it."""
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.GtE)) or not positive:
            return None
        name = key(test.left)
        written = [e for e in self.of("assign") if name and name == _target(e.node)]
        raised = any(isinstance(e.node, ast.AugAssign) and (test, positive) not in e.guards for e in written)
        back = any(isinstance(e.node, ast.Assign) and (test, positive) in e.guards for e in written)
        return (test.comparators[0], test.left) if raised and back else None


@dataclass(frozen=True)
class Accumulation:
    """A step of the optimizer after several backward passes."""

    count: ast.expr | None
    """How many, as the program says it; None where a library decides."""
    test: ast.expr | None
    """The condition of the step; None for an inner loop of micro-batches."""
    left: ast.expr | None = None
    """What is divided in the condition: `step + 1` of `(step + 1) % n`."""
    positive: bool = True
    closes: bool = False
    """Whether the step is made in the last pass of the loop: what is done once for it stands around the loop."""


def window(program: Program, over: ast.expr) -> ast.expr | None:
    """How many batches a loop goes over, of those that a step takes together: `for win in windows(loader, n)`."""
    found = program.binding(over) if isinstance(over, ast.Name) else None
    made = found.value if found is not None and found.how == "for" else None
    if isinstance(made, ast.Call) and last(program.path(made.func)) in ("enumerate", "tqdm") and made.args:
        made = made.args[0]
    if not isinstance(made, ast.Call) or not (made.args or made.keywords):
        return None
    size = made.args[-1] if len(made.args) > 1 else made.keywords[-1].value if made.keywords else None
    if last(program.path(made.func)) in WINDOWS:
        return size
    function = program.function(made)
    nodes = program.within(function) if function is not None else []
    given = {key(n.value) for n in nodes if isinstance(n, ast.Yield)} - {""}
    filled = {key(n.func.value) for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
              and n.func.attr == "append"}  # fmt: skip
    return size if given & filled else None


def _target(node: ast.AST) -> str:
    """The name that an assignment writes."""
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return key(node.target)
    return key(node.targets[0]) if isinstance(node, ast.Assign) else ""


def boundary(program: Program, test: ast.expr) -> tuple[ast.expr | None, ast.expr | None] | None:
    """(how many, the counter) of a condition that holds every so many passes."""
    for node in program.traced(test, 2):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not isinstance(node.left, ast.Constant):
            return node.right, node.left
        if isinstance(node, ast.Attribute) and node.attr in ("sync_gradients", "is_gradient_accumulation_boundary"):
            return None, None
    return None


def passes(program: Program, roles: Roles) -> list[Training]:
    """The training loops, each the innermost that holds backward and step."""
    loops = program.each(*LOOPS)
    seen = {loop: _events(program, roles, loop.body, loop) for loop in loops}
    training = {loop: events for loop, events in seen.items() if any(e.kind == "backward" for e in events)}
    stepping = [loop for loop in training if any(e.kind == "step" for e in training[loop])]
    out = []
    for loop in training:
        rivals = stepping if loop in stepping else list(training)
        inner = {x for e in training[loop] for x in e.loops}
        if any(other in inner for other in rivals) or (loop not in stepping and _in_stepping(loop, training, stepping)):
            continue
        made = _one_step(program, roles, loop) if loop not in stepping else None
        out.append(made or Training(program, loop, training[loop], _outer(program, loop)))
    covered = {id(e.node) for t in out for e in t.events}
    for function in program.each(*FUNCTIONS):
        events = _events(program, roles, function.body, function)
        kinds = {e.kind for e in events if id(e.node) not in covered and not e.loops}
        if {"backward", "step"} <= kinds:
            out.append(Training(program, function, events, (), False))
            covered |= {id(e.node) for e in events}
    return out


def _one_step(program: Program, roles: Roles, loop: ast.AST) -> Training | None:
    """The function that makes one step of several passes of a loop: backward in the loop, the step behind it."""
    function = program.scope(loop)
    if not isinstance(function, FUNCTIONS) or program.loops(loop):
        return None
    events = _events(program, roles, function.body, function)
    at = max((i for i, e in enumerate(events) if e.kind == "backward" and loop in e.loops), default=len(events))
    behind = any(e.kind == "step" and not e.loops for e in events[at:])
    return Training(program, function, events, (), False) if behind else None


def _in_stepping(loop: ast.AST, training: dict, stepping: list) -> bool:
    return any(loop in e.loops for other in stepping for e in training[other])


def _events(program: Program, roles: Roles, body: list[ast.stmt], node: ast.AST) -> tuple[Event, ...]:
    walk = Walk(program, roles)
    home = program.scope(node) if not isinstance(node, FUNCTIONS) else node
    walk.block(body, Event("", node), (home,) if isinstance(home, FUNCTIONS) else ())
    return tuple(walk.events)


def _outer(program: Program, loop: ast.AST) -> tuple[ast.AST, ...]:
    """Loops around it: in its function, then around the calls of that function."""
    out = program.loops(loop)
    scope = program.scope(loop)
    if isinstance(scope, FUNCTIONS):
        for call in program.calls.get(scope.name, ()):
            out += [x for x in program.loops(call) if x not in out and x is not loop]
    return tuple(out)


def events_of(program: Program, roles: Roles, function: Function | ast.Module) -> tuple[Event, ...]:
    """What a call of a function, or the program itself, does, functions of this file put where they are called."""
    return _events(program, roles, function.body, function)


def hot_functions(program: Program) -> list[Function]:
    """Methods that a trainer calls for each batch, here without a loop."""
    return [f for name in HOT for f in program.functions.get(name, []) if any(
        isinstance(a, ast.ClassDef) for a in program.up(f))]  # fmt: skip


def hooks(program: Program) -> list[Function]:
    """Methods of a class that a trainer calls beside each step."""
    found = (f for name in HOOKS for f in program.functions.get(name, []))
    return [f for f in found if isinstance(program.parent.get(f), ast.ClassDef)]


def hosted(program: Program, node: ast.AST, deep: int = 2) -> bool:
    """Whether a node stands in a method that a trainer of a library calls on each process, itself or through others."""
    scope = program.scope(node)
    owner = program.parent.get(scope)
    if not isinstance(scope, FUNCTIONS) or not isinstance(owner, ast.ClassDef):
        return False
    if HOSTED.fullmatch(scope.name):
        return any(HOSTS.search(program.path(b)) for b in owner.bases)
    return bool(deep) and any(hosted(program, c, deep - 1) for c in program.callers(scope))


def graph_cut(program: Program, expr: ast.AST) -> bool:
    """Whether a value is cut from the graph where it is written."""
    for node in walk(expr):
        if isinstance(node, ast.Call):
            name = last(program.path(node.func))
            if name in (
                "item",
                "detach",
                "detach_",
                "tolist",
                "numpy",
                "float",
                "int",
                "len",
                "no_grad",
                "reduce_mean",
            ):
                return True
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return True
    return False

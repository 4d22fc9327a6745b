"""What a forward pass does beside its result: numbers that are read back for statistics, caches that grow when it is run again."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last, receiver
from ...source import walk
from ...training import Event
from ..rule import Fault, Pace, View

READS = ("item", "cpu", "tolist", "numpy")
TELLS = frozenset(
    ("append", "extend", "log", "log_dict", "info", "debug", "print", "add_scalar", "write", "update", "add", "put")
)
"""Methods by which a number is kept or told and goes nowhere else."""
CACHE = re.compile(r"(^|_)(cache|past|kv|past_key_values?|past_kv|kv_store|store)$", re.I)
MADE = re.compile(r"(Dynamic|Static|KV|Key)\w{0,20}(Cache|Store)$|Cache$")
GROWS = ("append", "extend", "cat", "concat")
RERUN = ("checkpoint", "checkpoint_sequential")
DEVICE = re.compile(r"self\.training|is not None|is None")


def read_for_statistics(view: View) -> Iterator[Fault]:
    """What each forward pass of a module reads back from the device, and only keeps or tells."""
    program = view.program
    for call in sorted(program.find(*READS), key=lambda c: c.lineno):
        scope = program.scope(call)
        owner = program.parent.get(scope)
        if not isinstance(scope, FUNCTIONS) or scope.name != "forward" or not isinstance(owner, ast.ClassDef):
            continue
        guards = [t for t, _, _ in program.guards(call) if not DEVICE.search(program.code(t))]
        if owner.name in view.roles.modules and receiver(call) is not None and not guards and _only_kept(program, call):
            yield Fault(call, "each forward pass of this module reads numbers back for statistics alone: the GPU waits in every layer and step",
                        "该模块每次前向都只为统计而读回数值：每层每步都让 GPU 等待", severity="" if last(program.path(call.func)) == "item" else "S2")  # fmt: skip
            return


def _only_kept(program: Program, call: ast.Call) -> bool:
    """Whether what a call gives is put into a field or a log and used for nothing else."""
    statement = program.statement(call)
    if isinstance(statement, ast.For):
        return all(_keeps(program, s) for s in statement.body)
    if _keeps(program, statement):
        return True
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    scope = program.scope(call)
    uses = [n for n in program.within(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return bool(name and uses) and "." not in name and all(_keeps(program, program.statement(u)) for u in uses)


def _keeps(program: Program, statement: ast.stmt) -> bool:
    """Whether a statement does nothing but keep a value in the object, or tell it."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
        while isinstance(target, ast.Subscript):
            target = target.value
        name = key(target)
        read = [n for n in program.each(ast.Attribute) if name and key(n) == name and isinstance(n.ctx, ast.Load)]
        return name.startswith("self.") and not any(
            getattr(program.scope(n), "name", "") == "forward" and program.statement(n) is not statement for n in read
        )
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last(program.path(call.func)) in TELLS


def cache_grown_twice(view: View) -> Iterator[Fault]:
    """A cache that a block adds to, in a block that is run again in the backward pass."""
    program = view.program
    if re.search(r"use_cache\s{0,4}=\s{0,4}False", program.text):
        return
    for call in program.find(*RERUN):
        for given in (*call.args[1:], *(k.value for k in call.keywords)):
            if _grows(program, given) and not any("use_cache" in program.code(t) for t, _, _ in program.guards(call)):
                yield Fault(call, f"`{program.code(given, 40)}` is added to in a block that the backward pass runs again: keys are there twice",
                            f"反向传播会重新运行该块，`{program.code(given, 40)}` 会被追加两次")  # fmt: skip
                return


def _grows(program: Program, given: ast.expr) -> bool:
    """Whether a value is a cache that this file makes, and that grows when it is used."""
    if not key(given):
        return False
    for node, _, _ in islice(made_of(program, given), 60):
        if not isinstance(node, ast.Call):
            continue
        name = last(program.path(node.func))
        made = program.classes.get(name)
        if made is not None and _adds(program, made):
            return True
        if made is None and MADE.search(name) and name[:1].isupper():
            return True
    listed = program.origin(given)
    empty = isinstance(listed, (ast.List, ast.ListComp, ast.Dict)) and CACHE.search(last(key(given)))
    return bool(empty)


def _adds(program: Program, made: ast.ClassDef) -> bool:
    """Whether a method of a class puts something behind what it already holds."""
    for function in (f for f in made.body if isinstance(f, FUNCTIONS) and f.name not in ("__init__", "forward")):
        for call in program.within(function, ast.Call):
            if last(program.path(call.func)) in GROWS and "self." in program.code(call):
                return True
    return False


def sometimes(view: View, event: Event) -> bool:
    """Whether an event has a condition other than that a parameter has a gradient, or is trained."""
    return any(not re.search(r"\.grad\b|requires_grad", view.program.code(t)) for t, _ in event.guards)


def iterated(view: View, node: ast.AST, outer: ast.AST) -> Iterator[ast.expr]:
    """What is gone through between a node and a loop or function around it."""
    for above in view.program.up(node):
        if above is outer:
            return
        if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            yield from (g.iter for g in above.generators)
        elif isinstance(above, ast.For):
            yield above.iter


def by_a_hook(view: View, pace: Pace) -> Iterator[Fault]:
    """What a method that a trainer calls in each step reads back for each parameter."""
    for event in pace.of("call"):
        name = last(view.program.path(event.node.func)) if isinstance(event.node, ast.Call) else ""
        read = name in ("item", "tolist", "cpu") or (
            name == "float" and re.search(r"norm|grad", view.program.code(event.node))
        )
        loops = (view.program.code(i, 400) for i in iterated(view, event.node, pace.node)) if read else ()
        if any("parameters" in text for text in loops) and not sometimes(view, event):
            yield Fault(event.node, "a number is read back from the device for each parameter in every step",
                        "每一步都为每个参数从设备读回一个数", severity="S2")  # fmt: skip
            return


def decides(program: Program, call: ast.AST) -> bool:
    """Whether a number is compared, so that the program has to wait for it."""
    statement = program.statement(call)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    nodes = program.within(program.scope(call))
    tests = [n.test for n in nodes if isinstance(n, (ast.If, ast.IfExp, ast.While))]
    tests += [n for n in nodes if isinstance(n, ast.Compare)]
    return any(n is call or (name and key(n) == name) for t in tests for n in walk(t))

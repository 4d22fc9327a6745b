"""What modules and their hooks keep from one forward pass to the next, with its graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Function, Program, key, last, receiver
from ...source import walk
from ..look import LOSS, model_call, no_grad, source
from ..rule import Fault, View

JOINS = ("cat", "concat", "stack", "vstack", "hstack", "lerp")
HOOKS = ("register_forward_hook", "register_module_forward_hook")
COUNTS = ("size", "numel", "dim", "shape", "ndim", "device", "dtype")
"""What is asked of a tensor and has no graph."""
REDUCES = ("mean", "sum", "pow", "abs", "square", "norm", "float", "sqrt", "log", "exp")
"""Calls through which a number keeps its graph."""


def reduced(view: View, expr: ast.expr) -> bool:
    """Whether a number is computed from what a model gives back by nothing but what keeps the graph."""
    program = view.program
    for _ in range(8):
        expr = program.origin(expr)
        if isinstance(expr, ast.Call) and model_call(view, expr):
            return True
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in REDUCES:
            expr = expr.args[0] if key(expr.func.value) == "torch" and expr.args else expr.func.value
        elif isinstance(expr, (ast.Attribute, ast.Subscript)):
            expr = expr.value
        elif isinstance(expr, ast.BinOp):
            return reduced(view, expr.left) or reduced(view, expr.right)
        else:
            return False
    return False


def kept_by_modules(view: View) -> Iterator[Fault]:
    """Tensors with their graph that a module keeps of each forward pass, or that a hook collects."""
    program = view.program
    for function in program.functions.get("forward", ()):
        owner = program.parent.get(function)
        if isinstance(owner, ast.ClassDef) and owner.name in view.roles.modules:
            yield from _carried(view, function, owner)
            yield from _gathered(view, function, owner)
    for call in program.find(*HOOKS) if view.trainings else ():
        given = call.args[0] if call.args else None
        function = (
            given if isinstance(given, ast.Lambda) else program.objects.target(given) if given is not None else None
        )
        if function is not None:
            yield from _collected(program, function)


def _carried(view: View, function: Function, owner: ast.ClassDef) -> Iterator[Fault]:
    """`self.bank = torch.cat([new, self.bank])`, where what is new has a graph."""
    program = view.program
    for node in program.within(function, ast.Assign):
        target = node.targets[0]
        name = key(target)
        if not name.startswith("self.") or LOSS.search(last(name)):
            continue
        again = [n for n in walk(node.value) if key(n) == name and isinstance(n, ast.Attribute)]
        other = [
            b
            for b in program.bindings(target, name)
            if b.node is not node and getattr(program.scope(b.node), "name", "") != "__init__"
        ]  # type: ignore[arg-type]
        joins = any(isinstance(n, ast.BinOp) or (isinstance(n, ast.Call) and last(program.path(n.func)) in JOINS)
                    for n in walk(node.value))  # fmt: skip
        if (
            again
            and joins
            and not other
            and not no_grad(program.contexts(node))
            and _with_graph(view, node.value, function)
        ):
            fix = f"`{name}` is kept from one forward pass to the next with its graph: memory grows, or backward fails"
            yield Fault(node, fix, f"`{name}` 带着计算图从一次前向保留到下一次", severity="S2")  # fmt: skip


def _gathered(view: View, function: Function, owner: ast.ClassDef) -> Iterator[Fault]:
    """`self.seen.append(h)` of a list that nobody empties; `y, self.state = self.rnn(x, self.state)`, never cut."""
    program = view.program
    for node in program.within(function, ast.Call, ast.Assign):
        name, values = "", list[ast.expr]()
        if isinstance(node, ast.Call) and last(program.path(node.func)) == "append":
            name, values = key(receiver(node)), node.args[:1]
        elif (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Call)
        ):
            given = {key(a) for a in (*node.value.args, *(k.value for k in node.value.keywords))}
            name = next((k for t in node.targets[0].elts if (k := key(t)).startswith("self.") and k in given), "")
            values = [node.value]
        if not name.startswith("self.") or LOSS.search(last(name)) or no_grad(program.contexts(node)):
            continue
        if not _emptied(program, owner, node, name) and any(_with_graph(view, v, function) for v in values):
            text = f"`{name}` is kept from one forward pass to the next with its graph: memory grows, or backward fails"
            yield Fault(node, text, f"`{name}` 带着计算图从一次前向保留到下一次", severity="S2")


def _emptied(program: Program, owner: ast.ClassDef, node: ast.AST, name: str) -> bool:
    """Whether anybody empties, cuts or sets what a module keeps, but for its constructor."""
    begun = [b for b in program.bound.get(owner, {}).get(name, ()) if b.node is not node]
    once = all(getattr(program.scope(b.node), "name", "") == "__init__" for b in begun)
    bare = all(isinstance(b.value, (ast.List, ast.Constant)) for b in begun)
    word = re.escape(last(name))
    outside = re.search(rf"(?<!self)\.{word}\s{{0,2}}(=[^=]|\.(clear|pop|popleft|zero_|detach_)\b)", program.text)
    inside = any(key(receiver(c)) == name for c in program.find("clear", "pop", "popleft", "detach_"))
    return not begun or not once or not bare or inside or outside is not None


def _with_graph(view: View, value: ast.expr, function: Function) -> bool:
    """Whether a value holds what a layer gives, or what the forward pass is given, uncut."""
    program = view.program
    own = {a.arg for a in function.args.args[1:]}
    for source_ in made_of(program, value, (), 4, kept=False):
        node = source_.node
        if source_.cut:
            continue
        if isinstance(node, ast.Call) and key(node.func).startswith("self.") and view.roles.of(node.func) == "model":
            return True
        above = program.parent.get(node)
        asked = isinstance(above, ast.Attribute) and above.attr in COUNTS
        if isinstance(node, ast.Name) and node.id in own and not asked and key(getattr(above, "func", None)) != "len":
            return True
    return False


def _collected(program: Program, function: Function | ast.Lambda) -> Iterator[Fault]:
    """What a hook appends of the output of its layer."""
    output = function.args.args[-1].arg if len(function.args.args) > 2 else ""
    for call in program.within(function, ast.Call):
        added = last(program.path(call.func)) in ("append", "appendleft", "extend", "add") and call.args
        on = _list(receiver(call)) if added else None
        if on is None or not output or no_grad(program.contexts(call)) or _let_go(program, on):
            continue
        sources = [s for s in made_of(program, call.args[0]) if isinstance(s.node, ast.Name) and s.node.id == output]
        text = f"`{source(program, call)}` keeps the output of each forward pass"
        if any(not s.cut for s in sources):
            yield Fault(call, f"{text} with its graph", f"`{source(program, call)}` 保留了每次前向的输出及其计算图")
        elif sources and _as_it_is(program, call.args[0], output):
            yield Fault(call, f"{text} on the device", f"`{source(program, call)}` 保留了每次前向的输出，一直占着显存",
                        severity="S2")  # fmt: skip


def _list(expr: ast.expr | None) -> ast.expr | None:
    """`store` of `store[name]`, `store.setdefault(name, [])` and `store.get(name)`."""
    while expr is not None:
        if isinstance(expr, ast.Subscript):
            expr = expr.value
        elif isinstance(expr, ast.Call) and last(key(expr.func)) in ("setdefault", "get"):
            expr = receiver(expr)
        else:
            return expr if key(expr) else None
    return None


def _let_go(program: Program, on: ast.expr) -> bool:
    """Whether anybody empties what is collected, sets it anew, or whether it holds a few things alone."""
    root = key(on)
    for call in program.find("clear", "pop", "popleft"):
        away = receiver(call)
        if away is not None and any(key(s.node) in (root, last(root)) or last(key(s.node)) == last(root)
                                    for s in made_of(program, away, (), 3)):  # fmt: skip
            return True
    found = program.bindings(on)
    anew = any(program.loops(b.node) for scope in program.bound.values() for b in scope.get(root, ()))
    begun = {program.scope(b.node) for b in found if b.how == "assign"}
    few = any(isinstance(n, ast.Call) and last(program.path(n.func)) == "deque" and (len(n.args) > 1 or n.keywords)
              for b in found if b.value is not None for n in walk(b.value))  # fmt: skip
    word = re.escape(last(root))
    outside = re.search(rf"(\bdel [\w.]{{0,40}}\b{word}\b|(?<!self)\.{word}\s{{0,2}}=[^=])", program.text)
    return anew or len(begun) > 1 or few or outside is not None


def _as_it_is(program: Program, expr: ast.expr, output: str) -> bool:
    """Whether a tensor is kept as large as it came and where it came."""
    while isinstance(expr, (ast.Call, ast.Subscript)):
        if isinstance(expr, ast.Call) and last(program.path(expr.func)) not in ("detach", "clone", "float"):
            return False
        inner = receiver(expr) if isinstance(expr, ast.Call) else expr.value
        if inner is None:
            return False
        expr = inner
    return key(expr) == output

"""What several rules ask of a program in the same way."""

from __future__ import annotations

import ast
import re

from ..flow import made_of
from ..program import FOLLOWED, FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from ..training import Event, Training
from .rule import View

CUTS = frozenset(["item", "detach", "detach_", "tolist", "numpy", "float", "int", "len", "cpu_item"])
OFF = re.compile(r"(no_grad|inference_mode|set_grad_enabled)(\(\))?$")
TEST = re.compile(
    r"(^|_|\b)(eval|evaluate|evaluation|valid|validate|validation|val|va|test|dev|predict|hold_?out|held_?out|perplexity|ppl)"
    r"(_|$|\b|loop|step|epoch)",
    re.I,
)
LOSS = re.compile(r"(^|_)loss(es)?($|_|\d)", re.I)
DOES = re.compile(r"(get|set|create|build|load|make|is|has|save|init|setup|unwrap|prepare|count|print|log|wrap)_")
"""Names of functions about a model, which run none."""
EPOCH = re.compile(r"epoch|^ep$|round", re.I)
OF_RANKS = re.compile(
    r"rank|main_process|is_main|master|process_zero|global_zero|chief|should_save|process_index|world_size", re.I
)
"""Words of a condition that is not the same on all ranks."""
RANK = re.compile(
    r"(^|_|\.)(rank|local_rank|global_rank|process_index|proc_id|node_rank)(\(\))?$|get_rank\(\)$|RANK", re.I
)
RANKS = ("rank", "local_rank", "global_rank", "process_index", "get_rank()")
"""Names of the number itself."""
MAIN = re.compile(
    r"is_(local_)?main_process|is_master|is_main|master_process|is_rank_?0|is_world_process_zero|is_global_zero|main_process|is_chief|is_root|should_save$",
    re.I,
)


def cut(program: Program, expr: ast.AST) -> bool:
    """Whether a value is cut from the graph in the very expression."""
    for node in walk(expr):
        if isinstance(node, ast.Call) and last(program.path(node.func)) in CUTS:
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("data", "shape"):
            return True
    return False


def no_grad(contexts: tuple[str, ...] | list[str]) -> bool:
    return any(OFF.search(c) for c in contexts)


def model_call(view: View, node: ast.AST) -> bool:
    """Whether a call runs a model or a loss."""
    if not isinstance(node, ast.Call):
        return False
    name = last(view.program.path(node.func))
    if DOES.match(name):
        return False
    if name != "forward" and view.program.function(node) is not None:
        return False  # a function of this file is what it does
    if view.roles.of(node.func) in ("model", "criterion", "engine") and key(node.func):
        return not name[:1].isupper()
    return name in ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "binary_cross_entropy_with_logits", "kl_div",
                    "compute_loss") or (name == "forward" and view.roles.of(receiver(node)) == "model")  # fmt: skip


def losses(training: Training) -> set[str]:
    """Names of what backward is called on."""
    return {k for e in training.of("backward") if (k := key(e.on))}


def carries_graph(view: View, training: Training | None, expr: ast.expr, calls: tuple[ast.Call, ...] = ()) -> bool:
    """Whether a value is a loss, or comes from the model, with its graph."""
    program = view.program
    trained = {(program.home(e.on, k), k) for e in (training.of("backward") if training else ())
               if e.on is not None and (k := key(e.on))}  # fmt: skip
    for source_ in made_of(program, expr, calls, 6, kept=False):
        node = source_.node
        if source_.cut or not isinstance(node, ast.expr):
            continue
        name = key(node)
        if name and (program.home(node, name), name) in trained:
            return True
        if isinstance(node, ast.Attribute) and node.attr == "loss" and not name.startswith("self."):
            return True
        if model_call(view, node):
            return True
    return False


def inside(program: Program, node: ast.AST, outer: ast.AST) -> bool:
    return any(above is outer for above in program.up(node))


def set_within(program: Program, name: str, at: ast.AST, loop: ast.AST) -> bool:
    """Whether a name gets its value anew in each pass of a loop."""
    return any(b.how != "augment" and inside(program, b.node, loop) and not _adds(b, name)
               and not _first(program, b.node, name) for b in program.bindings(at, name))  # fmt: skip


def _first(program: Program, node: ast.AST, name: str) -> bool:
    """Whether a name gets its value only where it has none yet: `if x is None`, `if not x`."""
    for test, side, _ in program.guards(node):
        empty = isinstance(test, ast.Compare) and key(test.left) == name and program.const(test.comparators[0]) is None
        if empty and isinstance(test.ops[0], (ast.Is, ast.IsNot)):  # type: ignore[attr-defined]
            return isinstance(test.ops[0], ast.Is) is side  # type: ignore[attr-defined]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and key(test.operand) == name:
            return side
    return False


def _adds(binding: object, name: str) -> bool:
    value = getattr(binding, "value", None)
    joined = isinstance(value, ast.Call) and last(key(value.func)) in ("cat", "concat", "stack", "vstack", "hstack")
    return (joined or isinstance(value, (ast.BinOp, ast.IfExp))) and name in {key(n) for n in walk(value)}  # type: ignore[arg-type]


def always(event: Event) -> bool:
    """Whether an event happens in each pass."""
    return not event.guards and not event.loops


def each_time(program: Program, event: Event) -> bool:
    """Whether an event happens in each pass unless somebody says otherwise: by a default, or where there is a GPU."""
    return not event.loops and all(_usually(program, test) is side for test, side in event.guards)


def _usually(program: Program, test: ast.expr) -> bool | None:
    """What a condition is unless somebody says otherwise; None where that cannot be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _usually(program, test.operand)
        return None if inner is None else not inner
    if "cuda" in (text := program.code(test)):
        return "!=" not in text
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.BinOp) and isinstance(test.left.op, ast.Mod):
        each = program.usually(test.left.right) == 1 and program.const(test.comparators[0]) == 0
        return True if each and isinstance(test.ops[0], ast.Eq) else None
    value = program.usually(test)
    return value if isinstance(value, bool) else None


def guarded_more(a: Event, b: Event) -> bool:
    """Whether `a` stands under a condition that `b` does not."""
    return any(g not in b.guards for g in a.guards)


def tested(view: View, node: ast.AST) -> bool:
    """Whether a node is in a function or loop that evaluates, as its name or its data tell."""
    program = view.program
    for above in (node, *program.up(node)):
        if isinstance(above, FUNCTIONS):
            return bool(TEST.search(above.name))
        if isinstance(above, (ast.For, ast.AsyncFor)) and any(TEST.search(last(k)) for n in walk(above.iter)
                                                              if (k := key(n))):  # fmt: skip
            return True
    return False


def rank_branch(program: Program, test: ast.expr, deep: int = FOLLOWED) -> bool | None:
    """Which branch of a condition one rank alone takes: True for the body, False for the other, None for neither."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = rank_branch(program, test.operand, deep)
        return None if found is None else not found
    if isinstance(test, ast.BoolOp):
        only = isinstance(test.op, ast.And)
        rest = [v for v in test.values if not _one_process(program, v, not only)]
        if len(rest) == 1 < len(test.values):
            return rank_branch(program, rest[0], deep)
        found = [f for v in test.values if (f := rank_branch(program, v, deep)) is not None]
        return found[0] if found and (found[0] is only) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = (test.left, test.comparators[0])
        ranked = any(_is_rank(program, s) for s in sides)
        if isinstance(test.ops[0], (ast.In, ast.NotIn)):
            return _first_among(program, test.comparators[0], isinstance(test.ops[0], ast.In)) if ranked else None
        values = [int(v) if isinstance(v, str) and v.isdigit() else v for v in map(program.const, sides)]
        number = next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)
        if ranked and number is not None:
            if isinstance(test.ops[0], ast.Eq):
                return None if number == -1 else True
            if isinstance(test.ops[0], (ast.NotEq, ast.Gt)):
                return None if number == -1 else False
            if isinstance(test.ops[0], ast.Lt) and number == 1:
                return True
        return None
    if isinstance(test, (ast.Name, ast.Attribute)) and last(program.path(test)) in RANKS:
        return False  # `if rank:` is true of all but the first
    if deep and isinstance(test, (ast.Name, ast.Attribute)):
        origin = program.origin(test)
        if origin is not test and isinstance(origin, (ast.Compare, ast.UnaryOp, ast.BoolOp, ast.Call)):
            return rank_branch(program, origin, deep - 1)
    if deep and isinstance(test, ast.Call):
        function = program.function(test)
        if function and isinstance(function.body[-1], ast.Return) and function.body[-1].value is not None:
            return rank_branch(program, function.body[-1].value, deep - 1)
    return True if MAIN.search(last(program.path(test))) else None


def _one_process(program: Program, test: ast.expr, alone: bool) -> bool:
    """Whether a condition only asks if there is one process (`alone`), or more than one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _one_process(program, test.operand, not alone)
    name = last(program.path(test.func if isinstance(test, ast.Call) else test))
    if isinstance(test, (ast.Call, ast.Name, ast.Attribute)):
        return not alone and bool(
            re.fullmatch(r"is_initialized|is_available|is_distributed|distributed|ddp|use_ddp|is_ddp|multi_gpu", name)
        )
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and re.search(r"world_?size", program.code(test.left), re.I)
    ):
        single_ = isinstance(test.ops[0], (ast.Eq, ast.LtE, ast.Lt))
        return program.const(test.comparators[0]) in (1, 2) and single_ is alone
    return False


def _first_among(program: Program, held: ast.expr, within: bool) -> bool | None:
    """Which branch of `rank in (-1, 0)` the first rank alone takes; -1 stands for a run of one process."""
    each = held.elts if isinstance(held, (ast.Tuple, ast.List, ast.Set)) else []
    numbers = {program.const(e) for e in each}
    return within if 0 in numbers and numbers <= {-1, 0} else None


def _is_rank(program: Program, expr: ast.expr) -> bool:
    if isinstance(expr, ast.Call) and last(program.path(expr.func)) == "int" and expr.args:
        return _is_rank(program, expr.args[0])
    if RANK.search(program.path(expr)) or (isinstance(expr, ast.Subscript) and "RANK" in program.code(expr)):
        return True
    if isinstance(expr, ast.Call) and any(isinstance(a, ast.Constant) and "RANK" in str(a.value) for a in expr.args):
        return True
    origin = program.origin(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else expr
    return origin is not expr and isinstance(origin, ast.Call) and _is_rank(program, origin)


def alone_on_rank(program: Program, node: ast.AST) -> ast.If | None:
    """The `if` under which a node is run by one rank only; of a condition within an expression, that."""
    for test, branch, statement in program.guards(node):
        if rank_branch(program, test) is branch:
            return statement
    return _alone_in_expression(program, node)


def _alone_in_expression(program: Program, node: ast.AST) -> ast.If | None:
    """`x if rank == 0 else y` and `rank == 0 and x`, where one rank alone comes to a node."""
    inner = node
    for above in program.up(node):
        if isinstance(above, (ast.stmt, ast.Lambda)):
            return None
        if isinstance(above, ast.IfExp) and inner is not above.test:
            other = above.orelse if inner is above.body else above.body
            same = program.code(node) in program.code(other) or isinstance(other, ast.Call)
            if not same and rank_branch(program, above.test) is (inner is above.body):
                return above  # type: ignore[return-value]
        elif isinstance(above, ast.BoolOp) and inner is not above.values[0]:
            sides = [rank_branch(program, v) for v in above.values[: above.values.index(inner)]]  # type: ignore[arg-type]
            if isinstance(above.op, ast.And) in sides:
                return above  # type: ignore[return-value]
        inner = above
    return None


def single(program: Program, node: ast.AST, deep: int = 3) -> ast.If | None:
    """The `if` by which one rank alone runs a node: above it, before it where the others leave, or above every call."""
    if (branch := alone_on_rank(program, node)) is not None:
        return branch
    scope, inner = program.scope(node), node
    for above in program.up(node):
        blocks = (getattr(above, name, None) for name in ("body", "orelse"))
        block = next((b for b in blocks if isinstance(b, list) and inner in b), [])
        for statement in block[: block.index(inner)] if block else ():
            leaves = isinstance(statement, ast.If) and isinstance(statement.body[-1], (ast.Return, ast.Continue))
            if leaves and not statement.orelse and rank_branch(program, statement.test) is False:
                return statement
        if above is scope:
            break
        inner = above
    calls = (program.objects.wrapped(scope) or program.callers(scope)) if deep and isinstance(scope, FUNCTIONS) else []
    found = [single(program, c, deep - 1) for c in calls]
    return found[0] if found and all(f is not None for f in found) else None


def epoch_loop(program: Program, node: ast.AST) -> ast.For | None:
    """The loop over epochs around a node."""
    for loop in program.loops(node):
        if not isinstance(loop, ast.For):
            continue
        counted = isinstance(loop.iter, ast.Call) and key(loop.iter.func) == "range"
        if any(EPOCH.search(k) or (counted and k == "e") for n in walk(loop.target) if (k := key(n))):
            return loop
    return None


def keyword(call: ast.Call, name: str, program: Program | None = None) -> object:
    """The literal given under a keyword, also by a name that is one in this program; None where there is none."""
    value = argument(call, name)
    if program is not None:
        return program.const(value)
    return value.value if isinstance(value, ast.Constant) else None


def source(program: Program, node: ast.AST) -> str:
    return program.code(node, 400)


def made_by(view: View, *names: str) -> set[str]:
    """The names of what these constructors make, also inside a function of this file."""
    program = view.program
    return {
        name
        for scoped in program.bound.values()
        for name, bindings in scoped.items()
        for b in bindings
        if isinstance(b.value, ast.Call) and b.how == "assign" and _makes(program, b.value, names)
    }


def _makes(program: Program, call: ast.Call, names: tuple[str, ...]) -> bool:
    if last(program.path(call.func)) in names:
        return True
    function = program.function(call)
    returned = [n.value for n in walk(function) if isinstance(n, ast.Return)] if function else []
    return any(
        isinstance(made := program.origin(r), ast.Call) and last(program.path(made.func)) in names
        for r in returned
        if r is not None
    )


def option(program: Program, call: ast.Call, name: str) -> ast.expr | None:
    """An argument by its keyword, also one inside `**options`."""
    if (given := argument(call, name)) is not None:
        return given
    for value in (k.value for k in call.keywords if k.arg is None):
        made = program.origin(value)
        if isinstance(made, ast.Call) and (found := argument(made, name)) is not None:
            return found
        if isinstance(made, ast.Dict):
            pairs = zip(made.keys, made.values, strict=True)
            found = next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name), None)
            if found is not None:
                return found
    return None


NO_WEIGHTS = re.compile(r"(tokeni[sz]er|processor|config|extractor|scheduler|vocab)\w*(\.from_pretrained)?$", re.I)


def no_weights(program: Program, call: ast.Call) -> bool:
    """Whether what is read by its name is a tokenizer or a configuration, which no optimizer has a state of."""
    return NO_WEIGHTS.search(program.path(call.func)) is not None


def behind_training(view: View, call: ast.Call) -> bool:
    """Whether it stands behind a training of its own function: the best weights are taken, and nothing goes on."""
    scope = view.program.scope(call)
    own = [t.node for t in view.trainings if view.program.scope(t.node) is scope]
    return bool(own) and all(0 < int(getattr(n, "end_lineno", 0) or 0) < call.lineno for n in own)

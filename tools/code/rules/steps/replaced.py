"""Rules on what an optimizer holds: parameters that the model no longer has."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import Source, made_of
from ...patch import after, without
from ...program import Program, argument, key, last, passed, receiver
from ...source import walk
from ..look import source
from ..optimizer import TRAIN
from ..rule import Fault, View, rule

CHANGES = (
    "get_peft_model",
    "FSDP",
    "FullyShardedDataParallel",
    "from_pretrained",
    "resize_token_embeddings",
    "reset_classifier",
    "deepcopy",
)
WRAPS = ("get_peft_model", "FSDP", "FullyShardedDataParallel")
"""Of these, the calls that give a model back which trains other parameters than the one that they are given."""


@rule("optimizer-holds-old-parameters", "S0", "loss-stagnation", "parameters() create_optimizer",
      bad="""
      model = AutoModelForCausalLM.from_pretrained(name)
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      model = get_peft_model(model, lora)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "),
      good="""
      model = AutoModelForCausalLM.from_pretrained(name)
      model = get_peft_model(model, lora)
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "))  # fmt: skip
def optimizer_holds_old_parameters(view: View) -> Iterator[Fault]:
    """The model is changed after the optimizer took its parameters.

    Why: the optimizer updates tensors that the model no longer uses; what is new is not trained.
    """
    program = view.program
    yield from _unfrozen_later(view)
    yield from _part_replaced(view)
    for call in program.each(ast.Call):
        if view.roles.of(call) != "optimizer" or not call.args:
            continue
        asked = [s for s in made_of(program, call) if _parameters_of(program, s)]
        taken = [_parameters_of(program, s) for s in asked] or _whole_model(view, call)
        scope = program.scope(call)
        again = [c for n in taken for c in _anew(view, n)]
        for change in (*program.find(*CHANGES), *again):
            later = change.lineno > (call.end_lineno or call.lineno) and program.scope(change) is scope
            on = receiver(change)
            own = on is not None and any(
                _same_thing(program, on, r)
                for s in asked
                if isinstance(s.node, ast.Call) and (r := receiver(s.node)) is not None
            )
            apart = program.scope(change) is not scope and bool(taken) and (taken[0].startswith("self.") or own) and (
                _run_later(view, call, change))  # fmt: skip
            if not (later or apart) or not taken or any(g not in program.guards(change) for g in program.guards(call)):
                continue
            statement, name = program.statement(change), last(program.path(change.func))
            anew = (
                isinstance(statement, ast.Assign)
                and key(statement.targets[0]) == taken[0]
                and statement.value is change
            )
            anew = anew or (name in WRAPS and isinstance(statement, ast.Assign) and _wraps(program, asked, change))
            own_call = isinstance(change.func, ast.Attribute) and (key(receiver(change)) == taken[0] or own)
            if not (anew or (name in ("resize_token_embeddings", "reset_classifier") and own_call)):
                continue
            again = [c for c in program.calls.get(last(program.path(call.func)), ()) if c.lineno > change.lineno]
            copied = anew and name == "deepcopy"
            if (apart or not again) and not copied and (apart or _used_after(view, call, change)):
                yield Fault(change, f"`{taken[0]}` is changed after the optimizer took its parameters",
                            f"优化器取走参数之后 `{taken[0]}` 又被替换", _made_later(view, call, statement), beside=(call,))  # fmt: skip


def _wraps(program: Program, asked: list[Source], change: ast.Call) -> bool:
    """Whether what is wrapped is the model whose parameters were asked for."""
    inner = argument(change, "model", 0) or argument(change, "module")
    models = (receiver(s.node) for s in asked if isinstance(s.node, ast.Call) and not s.calls)
    return inner is not None and any(m is not None and _same_thing(program, inner, m) for m in models)


def _parameters_of(program: Program, source_: Source) -> str:
    """The name, where the optimizer is made, of the model whose parameters are asked for."""
    node = source_.node
    if not isinstance(node, ast.Call) or last(program.path(node.func)) not in ("parameters", "named_parameters"):
        return ""
    name = key(receiver(node))
    for call in reversed(source_.calls):
        function = program.function(call)
        name = next((key(v) for n, v in passed(function, call) if n == name), name) if function is not None else name
    return name


def _whole_model(view: View, call: ast.Call) -> list[str]:
    """The name of the model that is given, where a function of a library makes the optimizer of all its parameters."""
    library = last(view.program.path(call.func)).startswith("create_optimizer") and view.program.function(call) is None
    return [key(call.args[0])] if library and view.roles.of(call.args[0]) == "model" and key(call.args[0]) else []


def _part_replaced(view: View) -> Iterator[Fault]:
    """A new layer that is put into a model once the optimizer has taken the parameters of all layers."""
    program = view.program
    made = [
        n for n in program.each(ast.Call) if n.args and view.roles.of(n) == "optimizer" and program.function(n) is None
    ]
    for node in program.each(ast.Assign) if made and "add_param_group" not in program.text else ():
        target = node.targets[0] if view.roles.of(node.value) == "model" and isinstance(node.value, ast.Call) else None
        for call in made if target is not None and "." in key(target) else ():
            asked = [on for on in _asked(program, call) if target is not on]
            pairs = ((w, on) for w in (target, *_around(target)) for on in asked)
            whole, on = next(
                ((w, on) for w, on in pairs if w is not None and _same_thing(program, w, on)), (None, None)
            )
            on = on if on is not None else next(iter(asked), None)
            mine = key(target).startswith("self.") and on is not None and program.kind(on) in list(program.up(node))
            whole = on if mine and getattr(program.scope(node), "name", "") != "__init__" else whole
            same = program.scope(call) is program.scope(node) and program.guards(call) == program.guards(node)
            same = same and all(c.lineno < node.lineno for c in made)
            apart = program.scope(call) is not program.scope(node) and _run_later(view, call, node)
            if whole is not None and key(on) != "self" and (same or apart):
                yield Fault(node, f"`{key(target)}` is replaced after the optimizer took the parameters: the new layer is never updated",
                            f"优化器取走参数之后才替换 `{key(target)}`：新层不会更新", beside=(call,))  # fmt: skip


def _asked(program: Program, call: ast.Call) -> list[ast.expr]:
    """The models and parts whose parameters an optimizer is given: plainly, filtered, or in groups that are written out."""
    nodes = [n for n in program.traced(call.args[0], 2) if isinstance(n, ast.Call)]
    asked = [n for n in nodes if last(program.path(n.func)) in ("parameters", "named_parameters")]
    return [on for n in asked if (on := receiver(n)) is not None and program.scope(n) is program.scope(call)]


def _around(expr: ast.expr | None) -> Iterator[ast.expr]:
    """`model.head` and `model` of `model.head[1]`."""
    while isinstance(expr, (ast.Attribute, ast.Subscript)):
        expr = expr.value
        yield expr


def _same_thing(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Whether two names stand for one object: by the same name in one place, or by what they were given."""
    first, second = key(one), key(other)
    if first and first == second and program.home(one, first) is program.home(other, second):
        return True
    made = program.origin(one, inside=False)
    return isinstance(made, ast.Call) and made is program.origin(other, inside=False)


def _run_later(view: View, made: ast.Call, change: ast.AST) -> bool:
    """Whether another function makes a change, in each run, once every optimizer of its kind has been made."""
    program = view.program
    every = program.calls.get(last(program.path(made.func)), ())
    return not program.guards(change) and all(view.running.before(c, change) is True for c in every)


def _unfrozen_later(view: View) -> Iterator[Fault]:
    """Parameters that are freed once the optimizer has taken only those that were free."""
    program = view.program
    if "add_param_group" in program.text:
        return
    for call in [n for n in program.each(ast.Call) if view.roles.of(n) == "optimizer" and n.args]:
        asked = list(program.traced(call.args[0], 2))
        asked += [n for a in asked if isinstance(a, ast.Lambda) for n in walk(a.body)]
        chosen = any(isinstance(n, ast.Attribute) and n.attr == "requires_grad" for n in asked)
        for freed in program.each(ast.Call, ast.Assign) if chosen else ():
            later = (
                isinstance(freed, (ast.Call, ast.Assign))
                and freed.lineno > call.lineno
                and program.loops(freed)
                and (_frees(view, freed) if isinstance(freed, ast.Call) else _sets_free(view, freed))
            )
            again = [c for c in program.calls.get(last(program.path(call.func)), ()) if c.lineno > call.lineno]
            if (
                later
                and not again
                and any(x in (t.node, *t.outer) for t in view.trainings for x in program.loops(freed))
            ):
                yield Fault(freed, "what is freed here is not in the optimizer, which took what was free before",
                            "这里解冻的参数不在优化器里：优化器只取了当时可训练的参数", beside=(call,))  # fmt: skip


def _sets_free(view: View, node: ast.Assign) -> bool:
    """`p.requires_grad = True`."""
    target = node.targets[0]
    free = isinstance(target, ast.Attribute) and target.attr == "requires_grad"
    return free and view.program.const(node.value) is True and _of_a_model(view, target.value)  # type: ignore[attr-defined]


def _of_a_model(view: View, expr: ast.expr | None) -> bool:
    """Whether a value is a model, a part of one, or a parameter that a loop goes through."""
    found = view.program.binding(expr) if expr is not None and key(expr) else None
    if found is not None and found.how == "for" and isinstance(found.value, ast.Call):
        return last(view.program.path(found.value.func)) in ("parameters", "named_parameters", "children", "modules")
    return any(view.roles.of(e) == "model" for e in (expr, *_around(expr)))


def _frees(view: View, call: ast.Call) -> bool:
    """Whether a call frees parameters: itself, or in a function of this file that is told to."""
    program = view.program
    on = any(isinstance(a, ast.Constant) and a.value is True for a in (*call.args, *(k.value for k in call.keywords)))
    if last(program.path(call.func)) == "requires_grad_":
        return (on or not call.args) and _of_a_model(view, receiver(call))
    function = program.function(call)
    inner = program.code(function, 4000) if function is not None else ""
    return "requires_grad" in inner and (on or re.search(r"requires_grad(_\(True\)| = True)", inner) is not None)


def _made_later(view: View, made: ast.Call, change: ast.stmt) -> tuple:
    """The optimizer made behind the change, where nothing uses it before."""
    program = view.program
    statement = program.statement(made)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    same = program.parent.get(statement) is program.parent.get(change)
    used = any(key(n) == name and statement.lineno < n.lineno <= (change.end_lineno or 0)
               for n in program.each(ast.Name, ast.Attribute))  # fmt: skip
    if not name or not same or used or statement.lineno != statement.end_lineno:
        return ()
    return without(statement), after(change, source(program, statement))


def _anew(view: View, name: str) -> list[ast.Call]:
    """The constructors of models that a name is given, but for the first."""
    made = sorted((b.value for s in view.program.bound.values() for b in s.get(name, ()) if b.how == "assign"
                   and isinstance(b.value, ast.Call) and view.roles.of(b.value) == "model"
                   and last(view.program.path(b.value.func)) in view.roles.modules), key=lambda c: c.lineno)  # fmt: skip
    return made[1:]


def _used_after(view: View, made: ast.Call, change: ast.Call) -> bool:
    """Whether something is done with an optimizer once the model is changed."""
    statement = view.program.statement(made)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    uses = (n for n in view.program.each(ast.Name, ast.Attribute) if key(n) == name)
    return (
        not name
        or name.startswith("self.")
        or any(n.lineno > change.lineno for n in uses)
        or bool(view.program.loops(change))
    )

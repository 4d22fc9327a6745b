"""Rules on reinforcement learning and preference training."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import made_of
from ..patch import instead
from ..program import FUNCTIONS, Program, argument, key, last, passed, receiver
from .apart.twins import REFERENCE, alias, twins
from .look import OFF, inside, no_grad, source
from .rule import Fault, View, rule

KL = re.compile(r"(^|_)kl(_?\w{0,20})?$|(^|_)kld$", re.I)
KL_SCALE = re.compile(r"coef|beta|weight|ctl|alpha|scale|target", re.I)


def core(expr: ast.expr, program: Program) -> ast.expr:
    """A value without the calls that only shape or average it."""
    while (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Attribute)
        and last(program.path(expr.func))
        in ("mean", "sum", "detach", "squeeze", "view", "item", "unsqueeze", "masked_mean")
    ):
        on = expr.func.value
        if key(on) in ("torch", "F") or isinstance(on, ast.Constant):
            return expr.args[0] if expr.args else expr
        expr = on
    return expr


@rule("reference-is-the-policy", "S0", "dpo-loss-stuck-ln2", "_ref_ reference refmodel refpolicy logsigmoid no_grad inference_mode target tgt slow",
      bad="""
      policy = AutoModelForCausalLM.from_pretrained(name)
      ref_model = policy
      for batch in loader:
          loss = dpo_loss(policy, ref_model, batch)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      policy = AutoModelForCausalLM.from_pretrained(name)
      ref_model = copy.deepcopy(policy)
      for batch in loader:
          loss = dpo_loss(policy, ref_model, batch)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def reference_is_the_policy(view: View) -> Iterator[Fault]:
    """The reference model is the same object as the policy.

    Why: the two never differ: the DPO loss stays at ln 2, the KL penalty at 0.
    """
    program = view.program
    if "disable_adapter" in program.text:
        return  # the same object without its adapter is the reference
    yield from _two_names(view)
    yield from _two_entries(view)
    yield from twins(view)
    yield from _from_a_cache(view)
    calls = program.each(ast.Call) if program.has_word(r"\bref(erence)?(_(model|policy))?\b") else []
    for node in [*(n for m in program.each(ast.Assign) for n in _one_by_one(m)), *calls]:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if (
            isinstance(node, ast.Assign)
            and target is not None
            and REFERENCE.search(key(target))
            and "old" not in key(target)
        ):
            value = alias(node.value, program)
            named = re.search(r"ref|model|policy|actor|^frozen$", last(key(target)), re.I)
            if value is not None and named and view.roles.of(value) == "model" and not REFERENCE.search(key(value)):
                same = view.roles.of(target) == "model" or _trained(view, value)
                if same and not _params_of(view, node):
                    text = source(program, value)
                    fix = (instead(value, f"copy.deepcopy({text})"),) if "copy" in program.imports else (instead(value, f"__import__('copy').deepcopy({text})"),)  # fmt: skip
                    yield Fault(node, f"`{key(target)}` is the same object as `{text}`: the two never differ",
                                f"`{key(target)}` 与 `{text}` 是同一个对象：两者永远相同", fix)  # fmt: skip
        elif isinstance(node, ast.Call):
            yield from _same_arguments(view, node)


def _trained(view: View, model: ast.expr) -> bool:
    """Whether an optimizer of the same function takes the parameters of a model."""
    program = view.program
    made = [c for c in program.find("parameters") if key(receiver(c)) == key(model)]
    return any(program.scope(c) is program.scope(model) and view.roles.of(above) == "optimizer"
               for c in made for above in program.up(c) if isinstance(above, ast.Call))  # fmt: skip


def _one_by_one(node: ast.AST) -> list[ast.AST]:
    """An assignment of several values as one for each."""
    targets = node.targets[0] if isinstance(node, ast.Assign) else None
    values = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(targets, ast.Tuple) or not isinstance(values, ast.Tuple) or len(targets.elts) != len(values.elts):
        return [node]
    pairs = zip(targets.elts, values.elts, strict=True)
    return [ast.copy_location(ast.Assign([t], v), node) for t, v in pairs]


def _two_names(view: View) -> Iterator[Fault]:
    """A model under a second name, and both given to one call as two."""
    program = view.program
    for node in program.each(ast.Assign):
        if (
            not isinstance(node, ast.Assign)
            or not isinstance(node.value, ast.Name)
            or not isinstance(node.targets[0], ast.Name)
        ):
            continue
        one, other = node.value.id, node.targets[0].id
        if (
            view.roles.of(node.value) != "model"
            or REFERENCE.search(other)
            or len(program.bindings(node.targets[0])) != 1
            or any(getattr(b.node, "lineno", 0) > node.lineno for b in program.bindings(node.value))
        ):
            continue
        for call in program.each(ast.Call):
            given = {key(a) for a in (*call.args, *(k.value for k in call.keywords))}
            if {one, other} <= given and last(program.path(call.func)) != "prepare":
                yield Fault(node, f"`{other}` is the same object as `{one}`, and both are used as two models",
                            f"`{other}` 与 `{one}` 是同一个对象，却当作两个模型使用", beside=(call,))  # fmt: skip
                break


def _two_entries(view: View) -> Iterator[Fault]:
    """One model under two keys of a table, one of them that of the reference."""
    program = view.program
    for table in program.each(ast.Dict):
        if len(table.keys) < 2:
            continue
        pairs = [(k.value, v) for k, v in zip(table.keys, table.values, strict=True) if isinstance(k, ast.Constant)
                 and isinstance(k.value, str) and isinstance(v, ast.Name) and view.roles.of(v) == "model"]  # fmt: skip
        for word, value in pairs:
            if REFERENCE.search(word) and any(key(v) == key(value) for w, v in pairs if w != word):
                yield Fault(value, f"`{word}` is the same object as the policy: the two never differ",
                            f"`{word}` 与策略是同一个对象：两者永远相同")  # fmt: skip


def _from_a_cache(view: View) -> Iterator[Fault]:
    """Policy and reference that a function with a cache gives for the same arguments: the same object."""
    program = view.program
    if not program.has_word(r"\b(lru_)?cache\b"):
        return
    made: dict[str, list[tuple[str, ast.Call]]] = {}
    for node in program.each(ast.Assign):
        call = node.value
        function = program.function(call) if isinstance(call, ast.Call) else None
        kept = function is not None and any(last(key(d.func if isinstance(d, ast.Call) else d)) in ("cache", "lru_cache")
                                            for d in function.decorator_list)  # fmt: skip
        if kept and isinstance(call, ast.Call) and key(node.targets[0]):
            made.setdefault(ast.unparse(call), []).append((key(node.targets[0]), call))
    for same in made.values():
        reference = next((c for name, c in same if REFERENCE.search(name)), None)
        if reference is not None and any(not REFERENCE.search(name) for name, _ in same):
            yield Fault(reference, "the function keeps what it has made: reference and policy are the same object",
                        "该函数会缓存结果：参考模型与策略是同一个对象")  # fmt: skip


def _params_of(view: View, node: ast.Assign) -> bool:
    """Whether the value is a parameter of an `__init__`, which any object may be given for."""
    scope = view.program.scope(node)
    return isinstance(scope, FUNCTIONS) and isinstance(node.value, ast.Name) and any(
        b.how == "parameter" for b in view.program.bindings(node.value))  # fmt: skip


def _same_arguments(view: View, call: ast.Call) -> Iterator[Fault]:
    named = ("ref_model", "reference_model", "reference", "ref_policy", "reference_policy", "ref")
    made = view.program.classes.get(call.func.id) if isinstance(call.func, ast.Name) else None
    fields = [key(s.target) for s in made.body if isinstance(s, ast.AnnAssign)] if made is not None else []
    placed = dict(zip(fields, call.args, strict=False))
    if not placed and not any(k.arg in named for k in call.keywords):
        return
    reference = next((v for n in named if (v := argument(call, n) or placed.get(n)) is not None), None)
    reference = alias(reference, view.program) if reference is not None else None
    if reference is None or not key(reference):
        return
    given = (argument(call, n) for n in ("model", "policy", "policy_model", "actor"))
    policy = next((v for v in given if v is not None), None) or (call.args[0] if call.args else None)
    known = view.roles.of(reference) == "model"
    if policy is not None and known and key(policy) == key(reference):
        yield Fault(reference, "the reference model is the same object as the policy", "参考模型与策略是同一个对象")


@rule("reference-with-gradients", "S2", "oom-activations", "_ref_ reference refmodel refpolicy teacher",
      bad="""
      for batch in loader:
          logps = get_logps(policy(**batch).logits, batch)
          ref_logps = get_logps(ref_model(**batch).logits, batch)
          loss = -torch.nn.functional.logsigmoid(beta * (logps - ref_logps)).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          logps = get_logps(policy(**batch).logits, batch)
          with torch.no_grad():
              ref_logps = get_logps(ref_model(**batch).logits, batch)
          loss = -torch.nn.functional.logsigmoid(beta * (logps - ref_logps)).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def reference_with_gradients(view: View) -> Iterator[Fault]:
    """The reference model, or a teacher, runs with gradients in the training step.

    Why: its activations take as much memory as the policy's; if its parameters are not frozen they get gradients.
    """
    program = view.program
    if not view.trainings and not view.hot:
        return
    frozen = re.search(
        r"requires_grad_\(False\)|for \w{1,40} in \w{0,40}(ref|teacher)\w{0,40}\.parameters|set_grad_enabled",
        program.text,
    )
    yield from _of_a_step(view, bool(frozen))
    for training in [t for t in view.trainings if t.of("step")]:
        for event in training.of("call"):
            call = event.node
            if not isinstance(call, ast.Call):
                continue
            named = re.search(r"(^|_|\.)ref(erence)?(_|$)", key(call.func) or "")
            run = named and view.roles.of(call.func) == "model"
            if (run or _handed(view, call)) and not no_grad(event.contexts) and not frozen:
                yield Fault(call, "the reference model runs with gradients", "参考模型在带梯度的情况下运行")


FROZEN = re.compile(r"(^|_|\.)(ref(erence)?|teacher)(_|$)")


def _of_a_step(view: View, frozen: bool) -> Iterator[Fault]:
    """A teacher, or a reference that a step is given, which runs with its graph: nothing cuts what it gives."""
    program = view.program
    trained_on = [(b.on, b.calls) for t in view.trainings if t.of("step") for b in t.of("backward") if b.on is not None]
    trained_on += [(e, ()) for f in view.hot for e in view.program.returned(f)]
    for loss, through in trained_on if not frozen else ():
        runs = [
            (n, c, _real(program, n.func, c))
            for n, cut, c in made_of(program, loss, through, 10)
            if isinstance(n, ast.Call) and not cut and key(n.func)
        ]
        trained = any(
            not FROZEN.search(given) and (view.roles.of(n.func) == "model" or given != key(n.func))
            for n, _, given in runs
        )
        for node, calls, given in runs if trained else ():
            known = FROZEN.search(given) and (view.roles.sure(node.func) == "model" or given != key(node.func))
            if known and not any(no_grad(program.contexts(n)) for n in (node, *calls)):
                yield Fault(node, f"`{given}` runs with gradients", f"`{given}` 在带梯度的情况下运行")
                return


def _real(program: Program, func: ast.expr, calls: tuple[ast.Call, ...]) -> str:
    """What a model is called where it is handed over."""
    name = key(func)
    for call in reversed(calls):
        function = program.function(call)
        name = next((key(v) for own, v in passed(function, call) if own == name and key(v)), name) if function else name
    return name


def _handed(view: View, call: ast.Call) -> bool:
    """Whether a function of this file, which runs a model that it is given, is given the reference."""
    function = view.program.function(call)
    if function is None or any(OFF.search(view.program.path(d)) for d in function.decorator_list):
        return False
    text = source(view.program, function) if len(function.body) < 40 else ""
    given = [(name, value) for name, value in passed(function, call) if view.roles.of(value) == "model"
             and re.search(r"(^|_|\.)ref(erence)?(_|$)", key(value))]  # fmt: skip
    runs = any(
        isinstance(n, ast.Call) and key(n.func) == name for name, _ in given for n in view.program.within(function)
    )
    runs = runs and not any(OFF.search(c) for c in view.program.contexts(function.body[-1]))
    return runs and "no_grad" not in text and "inference_mode" not in text


def negated(program: Program, call: ast.Call) -> bool:
    """Whether a value is turned round: here, or where its name is used."""
    statement = program.statement(call)
    if any(
        isinstance(a, ast.UnaryOp) and isinstance(a.op, ast.USub)
        for a in program.up(call)
        if inside(program, a, statement)
    ):
        return True
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    uses = [n for n in program.each(ast.UnaryOp) if name and isinstance(n.op, ast.USub)]
    return any(_holds(core(u.operand, program), name, program) for u in uses)


def _holds(expr: ast.expr, name: str, program: Program) -> bool:
    """Whether a value is what has this name, or that with a mask: `x * mask`, `masked_mean(x, mask)`."""
    parts = [expr]
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        parts = [core(expr.left, program), core(expr.right, program)]
    elif isinstance(expr, ast.Call) and re.search(r"mean|agg|reduce", last(program.path(expr.func))):
        parts = [expr, *expr.args[:1]]
    return any(key(p) == name for p in parts)


@rule("preference-sign-flipped", "S1", "dpo-chosen-reward-falling", "logsigmoid",
      bad="loss = -F.logsigmoid(beta * (rejected_logratios - chosen_logratios)).mean()\n",
      good="loss = -F.logsigmoid(beta * (chosen_logratios - rejected_logratios)).mean()\n")  # fmt: skip
def preference_sign_flipped(view: View) -> Iterator[Fault]:
    """The preference loss makes the rejected answer likelier.

    Why: chosen minus rejected is turned round: the model learns what people did not want.
    """
    program = view.program
    for call in program.find("logsigmoid", "log_sigmoid"):
        on = receiver(call)
        value = call.args[0] if call.args else on
        if value is None:
            continue
        if not negated(program, call):
            yield from _not_turned(view, call, value)
            continue
        for node in program.traced(value, 3):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                left, right = source(program, node.left), source(program, node.right)
                sides = [
                    bool(re.search("chosen|preferred|_win|pos", t))
                    and not re.search("reject|dispreferred|_lose|neg", t)
                    for t in (left, right)
                ]
                lost = [
                    bool(re.search("reject|dispreferred|_lose|neg", t)) and not re.search("chosen", t)
                    for t in (left, right)
                ]
                apart = [_whose(program, s) for s in (node.left, node.right)]
                if apart == ["reference", "policy"] and not any((*sides, *lost)):
                    yield Fault(node, "reference minus policy: the loss makes the rejected answer likelier", "reference 减 policy：损失在抬高被拒绝的回答",
                                (instead(node, f"{right} - {left}"),))  # fmt: skip
                    return
                if lost[0] and sides[1]:
                    yield Fault(node, "rejected minus chosen: the loss makes the rejected answer likelier", "rejected 减 chosen：损失在抬高被拒绝的回答",
                                (instead(node, f"{right} - {left}"),))  # fmt: skip
                    return


def _whose(program: Program, expr: ast.expr) -> str:
    """Whether a value comes from the reference alone or from the policy alone, as the names tell that it is made of."""
    found = {last(key(s.node)) for s in made_of(program, expr, (), 4) if isinstance(s.node, (ast.Name, ast.Attribute))}
    ref = {w for w in found if re.fullmatch(r"ref(erence)?(_model)?", w)}
    own = {w for w in found if re.fullmatch(r"(policy|actor)(_model)?", w)}
    return "" if bool(ref) == bool(own) else "reference" if ref else "policy"


def _not_turned(view: View, call: ast.Call, value: ast.expr) -> Iterator[Fault]:
    """A loss that is the logarithm itself and nowhere turned round: what it is made of grows less likely."""
    program = view.program
    for training in view.trainings:
        for event in training.of("backward"):
            if event.on is None or "-=" in program.code(program.scope(call), 20_000):
                continue
            nodes = [n for n, cut, _ in made_of(program, event.on, event.calls) if not cut]
            below = {n for n, _, _ in made_of(program, value, event.calls)}  # a minus in there is of what is compared
            if call not in nodes or any(turns(n) for n in nodes if n not in below):
                continue
            statement = program.statement(call)
            plain = isinstance(statement, (ast.Assign, ast.Return)) and statement.value is not None
            fix = (instead(statement.value, f"-{source(program, statement.value)}"),) if plain else ()  # type: ignore[union-attr]
            yield Fault(
                call,
                "the loss is not negated: it makes the rejected answer likelier",
                "损失没有取负：在抬高被拒绝的回答",
                fix,
            )
            return


def turns(node: ast.AST) -> bool:
    """Whether a node turns a sign round: a minus, a factor of -1, a call of `neg`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    if isinstance(node, ast.Attribute) and node.attr in ("neg", "negative"):
        return True
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)

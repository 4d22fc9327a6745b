"""The rule on the sign of a divergence from the reference, in rewards and in losses."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of, part
from ...patch import instead
from ...program import Program, key, last, receiver
from ...source import walk
from ..look import source
from ..memory import base
from ..preference import KL, KL_SCALE, core
from ..rule import Fault, View, rule

REF = re.compile(
    r"(^|_|\b)ref(erence)?(_|\b|\.|$)|reference|_ref\b|(^|_|\b)(anchor|frozen|prior|sft)(_|\b|$)"
    r"|(^|_|\b)(init(ial)?|base|orig(inal)?)_?(model|policy|log_?p|lp)|log_?p(rob)?s?_(init(ial)?|base|orig(inal)?)\b",
    re.I,
)
LOGP = re.compile(r"log_?p|log_softmax|(^|_|\b)lp(_|$|\b)|log_?ratio", re.I)
KEEPS = ("mean", "sum", "masked_mean", "clamp", "detach", "float", "to", "unsqueeze", "squeeze", "stack", "view", "cpu")
"""Calls behind which a sum keeps its sign."""
MASK = re.compile(r"mask|attn|valid|keep", re.I)
"""Words of factors that only leave places out."""
CURVED = ("exp", "expm1", "pow", "square", "abs")


@rule("kl-sign-flipped", "S2", "entropy-explosion", "kl _ref_ reference exp( anchor logp",
      bad="""
      for batch in loader:
          pg_loss, kl = step(policy, ref_model, batch)
          loss = pg_loss - kl_coef * kl
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          pg_loss, kl = step(policy, ref_model, batch)
          loss = pg_loss + kl_coef * kl
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def kl_sign_flipped(view: View) -> Iterator[Fault]:
    """The KL penalty is subtracted from the loss, or added to the reward.

    Why: the policy is paid for leaving the reference; the KL grows without end.
    """
    program = view.program
    named = program.mentions(
        "kl", "Kl", "KL", "logp", "logP", "log_p", "log_softmax", "logratio", "log_ratio", "_lp", "lp_"
    )
    named = named or program.has_word(r"\blp\b")
    if not named and program.calls.keys().isdisjoint(("exp", "expm1")):
        return
    told: set[ast.AST] = set()
    for node, sign in _divergences(view):
        top, sign = _outermost(program, node, sign)
        statement = program.statement(node)
        if statement in told or not sign:
            continue
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub):
            sign = -sign
        kind = _context(view, top, node)
        if kind == "reward" and top is node and _compared(program, statement):
            continue
        if (kind == "reward" and sign > 0) or (kind == "loss" and sign < 0):
            told.add(statement)
            what = (
                ("added to the reward", "加到了奖励上")
                if kind == "reward"
                else ("subtracted from the loss", "从 loss 中减去")
            )
            yield Fault(node, f"the KL penalty is {what[0]}: the policy is paid for leaving the reference",
                        f"KL 惩罚被{what[1]}：偏离参考模型反而得到奖励", _turned(program, node))  # fmt: skip


def is_kl(expr: ast.expr, program: Program) -> bool:
    """Whether a term is a KL penalty: its name, or a scale times that."""
    expr = core(expr, program)
    if _curved(program, expr):
        return True
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        return is_kl(expr.left, program) or is_kl(expr.right, program)
    if isinstance(expr, ast.Call):
        return bool(KL.search(last(program.path(expr.func)))) or any(
            is_kl(a, program) for a in expr.args[:1] if last(program.path(expr.func)) == "masked_mean"
        )
    name = last(key(expr))
    if name and not KL_SCALE.search(name) and (KL.search(name) or _estimated(program, expr)):
        return True
    found = program.binding(expr) if isinstance(expr, ast.Name) else None
    each = part(program, found) if found is not None and found.how == "for" and found.value is not None else None
    return each is not None and bool(KL.search(last(key(each)).removesuffix("s")))


def _curved(program: Program, expr: ast.expr) -> bool:
    """Whether a value is `exp(d) - d - 1` of a difference: what no other term of a loss looks like."""
    made = program.origin(expr)
    terms = _terms(made) if isinstance(made, ast.BinOp) else []
    raised = [t for t in terms if isinstance(t, ast.Call) and last(program.path(t.func)) in ("exp", "expm1")]
    rest = [program.code(t) for t in terms if t not in raised and not isinstance(t, ast.Constant)]
    if len(raised) != 1 or len(rest) != 1 or len(terms) > 3:
        return False
    inner = raised[0].args[0] if raised[0].args else receiver(raised[0])
    return inner is not None and program.code(inner) == rest[0]


def _terms(expr: ast.expr) -> list[ast.expr]:
    """The terms of a difference."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Sub):
        return [*_terms(expr.left), *_terms(expr.right)]
    return [expr]


def _estimated(program: Program, expr: ast.expr) -> bool:
    """Whether a name stands for an estimate that is never negative, made of the policy's and the reference's logarithms."""
    if not re.search(r"div|penalt|^k[123]$|^d$", last(key(expr))):
        return False
    nodes = [n for n, _, _ in islice(made_of(program, expr, (), 5), 80)]
    words = " ".join(key(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute)))
    curved = any(isinstance(n, ast.Call) and last(program.path(n.func)) in CURVED for n in nodes)
    return curved and bool(REF.search(words)) and bool(LOGP.search(words))


def _divergences(view: View) -> Iterator[tuple[ast.expr, int]]:
    """(a product of a coefficient and a divergence, its sign): also the bare divergence in a sum that has its name."""
    program = view.program
    seen: set[ast.AST] = set()
    for node in program.each(ast.BinOp):
        if isinstance(node.op, ast.Mult) and node not in seen:
            factors, sign = _factors(program, node)
            seen |= {n for n in walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)}
            kl = [f for f in factors if is_kl(f, program)]
            numbers = (f for f in factors if not kl or f is not kl[-1])
            plain = bool(kl) and any(isinstance(f, (ast.Constant, ast.Attribute, ast.Subscript)) for f in numbers)
            scaled = plain or any(KL_SCALE.search(last(key(f))) for f in factors)
            found = next((s for f in factors if (s := _divergence(program, f))), 0) if scaled else 0
            if found:
                yield node, sign * found
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            bare = isinstance(core(node.right, program), (ast.Name, ast.Attribute))
            if bare and is_kl(node.right, program):
                yield node.right, _divergence(program, node.right)


def _factors(program: Program, node: ast.expr, sign: int = 1) -> tuple[list[ast.expr], int]:
    """The factors of a product, without their minus, and the sign of all together."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _factors(program, node.operand, -sign)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, sign = _factors(program, node.left, sign)
        right, sign = _factors(program, node.right, sign)
        return [*left, *right], sign
    return [node], sign


def _divergence(program: Program, expr: ast.expr, deep: int = 4) -> int:
    """1 where a value is policy minus reference or a divergence by its name, -1 for the opposite, 0 for neither."""
    expr = core(expr, program)
    if _curved(program, expr):
        return 1
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
        return -_divergence(program, expr.operand, deep)
    if any(isinstance(n, ast.Call) and last(program.path(n.func)) in CURVED for n in walk(expr)):
        return 0  # an estimate that is never negative: told by its name
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult) and deep:
        factors, sign = _factors(program, expr)
        kept = [f for f in factors if not MASK.search(program.code(f))]
        return sign * _divergence(program, kept[0], deep - 1) if len(kept) == 1 and len(factors) > 1 else 0
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Sub):
        sides = [_words(program, s) for s in (expr.left, expr.right)]
        ref = [bool(REF.search(own)) for own, _ in sides]
        logs = any(LOGP.search(own + " " + all_) for own, all_ in sides)
        if not any(ref):
            ref = [bool(REF.search(all_)) for _, all_ in sides]
        return 0 if not logs or ref[0] == ref[1] else (1 if ref[1] else -1)
    name = last(key(expr))
    if deep and name:
        found = program.binding(expr)
        if found is not None and found.how == "assign" and found.part is None and found.value is not None:
            value = core(found.value, program)
            if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Name)):
                turned = _divergence(program, value, deep - 1)
                if turned or not is_kl(expr, program):
                    return turned
    return 1 if is_kl(expr, program) else 0


def _words(program: Program, expr: ast.expr) -> tuple[str, str]:
    """(the words of an expression, those of all that it is made of)."""
    nodes = [n for n, _, _ in islice(made_of(program, expr, (), 3), 40)]
    held = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]
    all_ = [last(program.path(n.func)) for n in nodes if isinstance(n, ast.Call)]
    all_ += [program.code(n) for n in held] + ["ref_model" for n in held if _frozen_copy(program, n)]
    return program.code(expr), " ".join(all_)


def _frozen_copy(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a copy of a model that is kept as it was."""
    made = [n for n in program.traced(expr, 2) if isinstance(n, ast.Call)]
    return {"deepcopy", "requires_grad_"} <= {last(program.path(n.func)) for n in made}


def _outermost(program: Program, node: ast.expr, sign: int) -> tuple[ast.AST, int]:
    """The whole sum that a term stands in, and the sign that it has there; 0 where that cannot be told."""
    above = program.parent.get(node)
    inner: ast.AST = node
    while isinstance(above, (ast.BinOp, ast.UnaryOp, ast.Call, ast.Attribute)):
        if isinstance(above, ast.BinOp):
            if isinstance(above.op, ast.Sub) and above.right is inner:
                sign = -sign
            elif isinstance(above.op, ast.Mult):
                other = above.left if above.right is inner else above.right
                sign = -sign if isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.USub) else sign
        elif isinstance(above, ast.UnaryOp):
            sign = -sign if isinstance(above.op, ast.USub) else sign
        elif isinstance(above, ast.Call) and above.func is not inner and last(program.path(above.func)) not in KEEPS:
            return above, 0
        inner, above = above, program.parent.get(above)
    return inner, sign


def _context(view: View, top: ast.AST, node: ast.expr) -> str:
    """Whether a sum is a reward or a loss: by what stands beside the term, what it is added to, and what it is called."""
    program = view.program
    statement, above = program.statement(node), program.parent.get(top)
    while isinstance(above, (ast.Tuple, ast.ListComp, ast.GeneratorExp)) and (
        isinstance(above, ast.Tuple) or above.elt is top):  # fmt: skip
        top, above = above, program.parent.get(above)
    if statement is not above or not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
        return ""
    mine = set(walk(node))
    beside = [n for n in walk(top) if isinstance(n, (ast.Name, ast.Attribute)) and n not in mine]
    target = "" if isinstance(statement, ast.Return) else base(
        statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0])  # fmt: skip
    words = {last(key(n)) for n in beside}
    if isinstance(statement, ast.AugAssign):
        if not isinstance(statement.op, (ast.Add, ast.Sub)):
            return ""
        words.add(last(target))
    if re.search(r"reward", last(target), re.I) and not re.search(r"kl|penal|cost", target, re.I):
        words.add(last(target))
    trained = {last(key(e.on)) for t in view.trainings for e in t.of("backward")} - {""}
    paid = " ".join(words | {program.code(program.origin(n)) for n in beside} | _added_to(program, statement, target))
    if isinstance(statement, ast.AugAssign) and (found := program.bindings(statement.target)):
        paid += " ".join(program.code(b.value) for b in found if b.value is not None and b.how == "assign")
    if (
        last(target) in trained
        or re.search(r"loss", target, re.I)
        or any(re.search(r"loss|(^|_)pg(_|$)", w, re.I) for w in words)
    ):
        told = any(re.search(r"loss|pg|surr|policy|obj", w, re.I) for w in words) or isinstance(
            statement, ast.AugAssign
        )
        return "loss" if told else ""
    if _becomes_a_loss(program, statement, target) and not _turned_later(program, statement, target):
        return "loss" if any(re.search(r"(^|_)(adv|ratio|surr|w)", w, re.I) for w in words) else ""
    minus = isinstance(top, ast.UnaryOp) and isinstance(top.op, ast.USub)
    if minus and any(re.search(r"(^|_)(obj|objective|surr|surrogate|gain)", w, re.I) for w in words):
        return "loss"  # what is to grow, turned round as a whole
    if (
        target
        and _turned_later(program, statement, target)
        and any(re.search(r"(^|_)(adv|ratio|surr|obj)", w, re.I) for w in words)
    ):
        return "reward"  # an objective, of which the loss is the negative
    preferred = program.mentions("sigmoid", "softplus")
    if isinstance(statement, ast.Return):
        paid += f" {getattr(program.scope(statement), 'name', '')}"
    paid += " ".join(program.code(part(program, b)) for n in beside if (b := program.binding(n)) is not None
                     and b.how == "for" and b.value is not None)  # fmt: skip
    return "reward" if re.search(r"reward|score|\breturns?\b|\br\b", paid, re.I) and not preferred else ""


def _compared(program: Program, statement: ast.stmt) -> bool:
    """Whether the value is one of two that are made alike and set against each other: the implicit reward of an answer,
    whose margin over that of the other answer is looked at; no policy is paid with it."""
    if not isinstance(statement, ast.Assign) or not (own := base(statement.targets[0])):
        return False
    scope = program.scope(statement)
    alike = {
        base(n.targets[0]) for n in program.within(scope, ast.Assign) if _shape(n.value) == _shape(statement.value)
    }
    for node in program.within(scope, ast.BinOp, ast.Compare):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Sub):
            continue
        right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]  # type: ignore[attr-defined]
        sides = [{key(x) for x in walk(side)} for side in (node.left, right)]  # type: ignore[attr-defined]
        if any(own in sides[i] and sides[1 - i] & (alike - {own}) for i in (0, 1)):
            return True
    return False


def _shape(expr: ast.expr) -> str:
    """An expression without its names: two that are made alike have the same."""
    return " ".join(type(n).__name__ for n in walk(expr))


def _turned_later(program: Program, statement: ast.stmt, target: str) -> bool:
    """Whether what is made of a sum next, or given back, is its negative."""
    scope = program.scope(statement)
    later = (n for n in program.within(scope, ast.Assign, ast.Return) if n.lineno > statement.lineno)
    uses = [n.value for n in later if n.value is not None and target in {key(x) for x in walk(n.value)}]
    minus = [v for u in uses for v in walk(u) if isinstance(v, ast.UnaryOp) and isinstance(v.op, ast.USub)]
    return len(uses) == 1 and any(target in {key(x) for x in walk(m)} for m in minus)


def _becomes_a_loss(program: Program, statement: ast.stmt, target: str) -> bool:
    """Whether the next thing that is made of a sum is called a loss."""
    scope = program.scope(statement)
    later = (n for n in program.each(ast.Assign) if n.lineno > statement.lineno and program.scope(n) is scope)
    made = (n for n in later if target and target in {key(x) for x in walk(n.value)})
    return any(re.search(r"loss", base(n.targets[0]), re.I) for n in made)


def _added_to(program: Program, statement: ast.stmt, target: str) -> set[str]:
    """What is added to a name later."""
    scope = program.scope(statement)
    raised = (n for n in program.each(ast.AugAssign) if isinstance(n.op, ast.Add))
    return {program.code(n.value) for n in raised if target and base(n.target) == target and program.scope(n) is scope}


def _turned(program: Program, node: ast.expr) -> tuple:
    """The sum with the other sign before the term."""
    above = program.parent.get(node)
    if not isinstance(above, ast.BinOp) or above.right is not node or not isinstance(above.op, (ast.Add, ast.Sub)):
        return ()
    sign = "-" if isinstance(above.op, ast.Add) else "+"
    return (instead(above, f"{source(program, above.left)} {sign} {source(program, node)}"),)

"""Rules on bonuses and penalties of a loss, and on unscaled gradients."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import LOOPS, Program, argument, key, last
from ...source import walk
from ..look import source
from ..rule import Fault, View, rule


@rule("entropy-punished", "S1", "entropy-collapse", "entropy",
      bad="""
      for batch in loader:
          policy_loss, entropy = step(policy, batch)
          loss = policy_loss + entropy_coef * entropy
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          policy_loss, entropy = step(policy, batch)
          loss = policy_loss - entropy_coef * entropy
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def entropy_punished(view: View) -> Iterator[Fault]:
    """The entropy bonus is added to the loss.

    Why: the optimizer makes entropy small: the policy stops exploring at once.
    """
    program = view.program
    for node in program.each(ast.BinOp, ast.AugAssign):
        product = node.right if isinstance(node, ast.BinOp) else node.value
        if (
            not isinstance(node.op, ast.Add)
            or not isinstance(product, ast.BinOp)
            or not isinstance(product.op, ast.Mult)
        ):
            continue
        sides = (product.left, product.right)
        factors = [_plain(program, s) or _word(_mean(program, s)) or _asked(_mean(program, s)) for s in sides]
        bonus = [f for f in factors if re.fullmatch(r"(mean_|dist_|policy_)?entropy(_bonus|_mean)?|ent", f)]
        if not bonus:
            continue
        coefficient = [
            f for f in factors if re.search(r"ent\w{0,8}_?(coef\w{0,8}|weight|beta|scale|c)$|^(c2|c_ent|beta_ent)$", f)
        ]
        if bonus and any(
            isinstance(s, ast.Subscript) and isinstance(program.const(program.origin(s)), float) for s in sides
        ):
            coefficient = coefficient or bonus
        known = any(_asked(_mean(program, program.origin(_mean(program, s)))) == "entropy" for s in sides)
        if known or ("entropy" in bonus and "entropy" in map(_asked, (_mean(program, s) for s in sides))):
            coefficient = coefficient or [
                f for f in factors if re.search(r"ent|coef|beta|c2|weight", f) and f != "entropy"
            ]
            coefficient = coefficient or [
                f for f, s in zip(factors, sides, strict=True) if isinstance(program.const(s), float)
            ]
        statement = program.statement(node)
        if isinstance(statement, ast.Return) and statement.value is not None:
            statement = next((program.statement(c) for c in program.callers(program.scope(node))), statement)
        target = last(key(statement.targets[0])) if isinstance(statement, ast.Assign) else ""
        target = last(key(node.target)) if isinstance(node, ast.AugAssign) else target
        if isinstance(statement, (ast.Assign, ast.AugAssign)) and _backward(view, target):
            target = "loss"
        if isinstance(statement, ast.Return):
            target = getattr(program.scope(node), "name", "")
        minus = any(isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) for n in walk(product)) or any(
            isinstance(a, (ast.UnaryOp,)) or (isinstance(a, ast.BinOp) and isinstance(a.op, ast.Sub))
            for a in program.up(node)
            if isinstance(a, ast.expr)
        )
        if bonus and coefficient and "loss" in target and not minus and not _negative(program, product):
            mended = f"{source(program, node.left)} - {source(program, product)}" if isinstance(node, ast.BinOp) else (
                f"{source(program, node.target)} -= {source(program, product)}")  # fmt: skip
            yield Fault(
                node,
                "the entropy is added to the loss: exploring is punished",
                "熵被加到损失上：探索受到惩罚",
                (instead(node, mended),),
            )


def _plain(program: Program, expr: ast.expr) -> str:
    """`entropy` for a value that is called a loss and is the mean of the entropy as it is."""
    called = re.search(r"entropy", last(key(expr)))
    made = _mean(program, program.origin(expr)) if called else None
    return "entropy" if made is not None and made is not expr and "entropy" in (_word(made), _asked(made)) else ""


def _backward(view: View, name: str) -> bool:
    """Whether backward is called on what has this name."""
    return any(last(key(b.on)) == name for t in view.trainings for b in t.of("backward")) if name else False


def _word(expr: ast.expr) -> str:
    """The last word of a name, the key of an entry."""
    entry = expr.slice.value if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) else None
    return entry if isinstance(entry, str) else last(key(expr))


def _asked(expr: ast.expr) -> str:
    """`entropy` of `dist.entropy()`."""
    return expr.func.attr if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) else ""


def _mean(program: Program, expr: ast.expr) -> ast.expr:
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in ("mean", "sum"):
        expr = expr.func.value
    return expr


def _negative(program: Program, expr: ast.BinOp) -> bool:
    """Whether a factor is negative itself: an entropy loss, or a sum without its minus."""
    for side in (expr.left, expr.right):
        value = program.origin(_mean(program, side))
        text = program.code(value, 300)
        number = program.const(side)
        if (
            (isinstance(value, ast.UnaryOp))
            or (isinstance(number, (int, float)) and number < 0)
            or re.search(r"log_?prob|p \* |\blogp", text)
        ):
            return True
    return False


@rule("penalty-without-graph", "S1", "loss-oscillation", "grad(",
      bad="""
      mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
      grads = torch.autograd.grad(critic(mixed).sum(), mixed)[0]
      penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
      loss = fake_score - real_score + 10 * penalty
      loss.backward()
      """,
      good="""
      mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
      grads = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
      penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
      loss = fake_score - real_score + 10 * penalty
      loss.backward()
      """)  # fmt: skip
def penalty_without_graph(view: View) -> Iterator[Fault]:
    """A penalty on gradients is made of gradients without a graph.

    Why: it is a constant to backward: it shows in the loss, and changes nothing.
    """
    program = view.program
    for call in program.find("grad"):
        if not program.path(call.func).endswith("autograd.grad") or argument(call, "create_graph") is not None or any(k.arg is None for k in call.keywords):  # fmt: skip
            continue
        scope = program.scope(call)
        text = program.code(scope, 20_000) if not isinstance(scope, ast.Module) else program.text
        if (
            re.search(
                r"(penalty|gp|r1|reg)\w{0,20}\s{0,4}=|return [^\n]{0,80}(-\s{0,4}1(\.0)?\)\s{0,4}\*\*\s{0,4}2|\.pow\(2\))",
                text,
            )
            and re.search(r"\.norm\(|\.pow\(2\)|\*\*\s{0,4}2", text)
            and re.search(r"penal|gp\b|gradient_pen|\br1(\b|_)", text, re.I)
        ):
            inner = source(program, call)
            yield Fault(call, "the penalty is made of gradients without a graph: `create_graph=True` is missing", "惩罚项所用的梯度没有计算图：缺少 `create_graph=True`",
                        (instead(call, f"{inner[:-1].rstrip().rstrip(',')}, create_graph=True)"),) if "\n" not in inner else ())  # fmt: skip


@rule("unscaled-per-micro-batch", "S1", "loss-scale-collapse", "unscale_",
      bad="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / 4
          scaler.scale(loss).backward()
          scaler.unscale_(optimizer)
          if (i + 1) % 4 == 0:
              scaler.step(optimizer)
              scaler.update()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / 4
          scaler.scale(loss).backward()
          if (i + 1) % 4 == 0:
              scaler.unscale_(optimizer)
              scaler.step(optimizer)
              scaler.update()
              optimizer.zero_grad()
      """)  # fmt: skip
def unscaled_per_micro_batch(view: View) -> Iterator[Fault]:
    """Gradients are unscaled on each pass and stepped on once in a while.

    Why: the scaler refuses a second unscale before its update; gradients of several scales would be added up.
    """
    for training in view.trainings:
        steps = [s for s in training.of("step") if s.via == "scaler"]
        if training.accumulation is None or not steps:
            continue
        due = (training.accumulation.test, training.accumulation.positive)
        for event in training.of("unscale"):
            if due in event.guards:
                continue  # behind the question whether it is the last of several passes
            if all(len(event.guards) < len(s.guards) for s in steps) and not any(
                isinstance(x, LOOPS) for x in event.loops
            ):
                yield Fault(event.node, "gradients are unscaled on each pass, and the scaler is updated once in a while",
                            "每一遍都 unscale，而 scaler 隔若干遍才更新", beside=(steps[0].node,))  # fmt: skip

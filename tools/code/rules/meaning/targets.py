"""The rule on what a value function is trained towards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, key, last, receiver
from ...source import walk
from ..look import model_call
from ..rule import Fault, View, rule

LOSSES = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
RATE = re.compile(r"gamma|discount", re.I)


@rule("target-with-graph", "S1", "critic-failure", "mse_loss smooth_l1_loss huber_loss l1_loss pow square",
      bad="""
      for s, a, r, s2, done in loader:
          pred = q_net(s).gather(1, a)
          target = r + gamma * (1 - done) * q_net(s2).max(1).values
          loss = F.smooth_l1_loss(pred, target)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for s, a, r, s2, done in loader:
          pred = q_net(s).gather(1, a)
          with torch.no_grad():
              target = r + gamma * (1 - done) * q_net(s2).max(1).values
          loss = F.smooth_l1_loss(pred, target)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def target_with_graph(view: View) -> Iterator[Fault]:
    """The bootstrapped target of a value still holds the graph of the network that is trained towards it.

    Why: the network pulls its target towards its guess instead of the guess towards the target: values drift.
    """
    program = view.program
    for call, sides in _compared(program):
        runs = [_runs(view, side) for side in sides]
        for one, other in ((0, 1), (1, 0)):
            if _bootstraps(program, sides[one]) and {n for n, _ in runs[one]} & {n for n, _ in runs[other]}:
                both = {n for n, _ in runs[other]}
                node = next(n for name, n in runs[one] if name in both)
                yield Fault(node, "the target holds the graph of the network that is trained towards it",
                            "目标值仍带着被训练网络的计算图", beside=(call,))  # fmt: skip
                break


def _compared(program: Program) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """(where, the two values) of a loss of two values, and of a difference that is squared."""
    for call in program.find(*LOSSES):
        if len(call.args) > 1:
            yield call, call.args[:2]
    for call in program.find("pow", "square"):
        on = receiver(call)
        less = on if isinstance(on, ast.BinOp) and isinstance(on.op, ast.Sub) else None
        if less is not None:
            yield call, [less.left, less.right]


def _runs(view: View, expr: ast.expr) -> list[tuple[str, ast.AST]]:
    """The models that a value goes back to with its graph, with their calls."""
    calls = [s.node for s in made_of(view.program, expr) if not s.cut and isinstance(s.node, ast.Call)]
    runs = (c for c in calls if key(c.func) and (model_call(view, c) or _critic(view.program, c)))
    return [(last(key(c.func)), c) for c in runs]


def _critic(program: Program, call: ast.Call) -> bool:
    """Whether a parameter is called that has the name of a network of values."""
    found = program.binding(call.func) if isinstance(call.func, ast.Name) else None
    named = re.fullmatch(r"q\d?|qf\d?|critic\w{0,10}|value_fn|vf", key(call.func)) is not None
    return named and found is not None and found.how == "parameter"


def _bootstraps(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a reward and a discounted value of what comes next."""
    made = program.origin(expr)
    product = made.right if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add) else None
    factors = [n for n in walk(product) if isinstance(n, (ast.Name, ast.Attribute, ast.Constant))] if product else []
    rates = (program.const(f) for f in factors)
    near_one = any(isinstance(r, float) and 0.8 < r < 1 for r in rates)
    return isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and (
        near_one or any(RATE.search(last(key(f))) for f in factors if key(f)))  # fmt: skip

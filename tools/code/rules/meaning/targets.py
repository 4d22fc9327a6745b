"""Rules on what is trained towards: the target of a value function, and labels that nobody takes."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last, receiver
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


IGNORED = re.compile(r"-\s?100\b|ignore_?(index|id|token|label)", re.I)
FILLS = ("append", "extend", "insert", "masked_fill_", "index_fill_", "fill_", "scatter_", "copy_", "zero_")
"""What changes labels in place and gives nothing that is needed."""


@rule("labels-built-and-left", "S2", "loss-mask-misaligned", "-100 ignore_index IGNORE",
      bad=("""
      import torch
      def collate(rows):
          for row in rows:
              labels = row["labels"]
              kept = [-100] * len(labels)
              for i in chosen(row):
                  kept[i] = labels[i]
                  row["input_ids"][i] = tokenizer.mask_token_id
          return default_data_collator(rows)
      """, """
      import torch
      def collate(rows):
          batch = tokenizer.pad(rows, return_tensors="pt")
          targets = batch["input_ids"].clone()
          targets[batch["attention_mask"] == 0] = -100
          batch["labels"] = batch["input_ids"]
          return batch
      """, """
      import torch
      def collate(rows):
          batch = processor(text=[r["text"] for r in rows], return_tensors="pt", padding=True)
          targets = batch["input_ids"].clone()
          targets[targets == processor.tokenizer.pad_token_id] = -100
          batch["labels"] = batch["input_ids"]
          return batch
      """),
      good=("""
      import torch
      def collate(rows):
          for row in rows:
              labels = row["labels"]
              kept = [-100] * len(labels)
              for i in chosen(row):
                  kept[i] = labels[i]
                  row["input_ids"][i] = tokenizer.mask_token_id
              row["labels"] = kept
          return default_data_collator(rows)
      """, """
      import torch
      def collate(rows):
          batch = tokenizer.pad(rows, return_tensors="pt")
          targets = batch["input_ids"].clone()
          targets[batch["attention_mask"] == 0] = -100
          batch["labels"] = targets
          return batch
      """))  # fmt: skip
def labels_built_and_left(view: View) -> Iterator[Fault]:
    """Labels in which places are left out are built, and nobody takes them.

    Why: the loss goes over the labels as they were: over tokens that stand in the input, which the model merely copies,
    or over the prompt and the padding. It is far too low, and says nothing.
    """
    program = view.program
    for scope, scoped in program.bound.items():
        for name, bindings in scoped.items():
            if not isinstance(scope, FUNCTIONS) or not name.isidentifier() or len(bindings) > 2:
                continue
            made = next((b for b in bindings if b.how == "assign" and b.part is None and b.value is not None), None)
            if made is None or made.value is None:
                continue
            nodes = [n for n in program.within(scope, ast.Name) if n.id == name and not _own(program, n, made.value)]
            filled = [f for n in nodes if (f := _fill(program, n)) is not None]
            spoken = (program.code(made.value), *(program.code(f) for f in filled))
            loads = [n for n in nodes if isinstance(n.ctx, ast.Load) and _fill(program, n) is None]
            taken = [n for n in loads if program.statement(n) not in filled]  # `x[x == pad] = -100` takes nothing
            if filled and not taken and any(IGNORED.search(text) for text in spoken):
                yield Fault(made.node, f"the labels in `{name}` are built and never taken: the loss goes over all of them",
                            f"`{name}` 里的标签构造好之后没有被使用：loss 仍覆盖全部 token", beside=tuple(filled[:1]))  # fmt: skip


def _own(program: Program, node: ast.AST, value: ast.expr) -> bool:
    """Whether a name stands in the very value that is given to it."""
    return any(above is value for above in (node, *program.up(node)))


def _fill(program: Program, node: ast.Name) -> ast.stmt | None:
    """The statement that only changes a value in place: `x[i] = y`, `x.append(y)`."""
    above = program.parent.get(node)
    statement = program.statement(node)
    if isinstance(above, ast.Subscript) and above.value is node and isinstance(above.ctx, ast.Store):
        return statement
    called = isinstance(above, ast.Attribute) and above.attr in FILLS and isinstance(statement, ast.Expr)
    return statement if called and getattr(statement.value, "func", None) is above else None  # type: ignore[attr-defined]

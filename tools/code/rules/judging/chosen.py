"""What is kept as the best of several, by a comparison that is written out; the rule on what it is chosen by."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import LOOPS, Program, argument, key, last
from ...source import walk
from ..rule import Fault, View, rule


def compared(program: Program) -> Iterator[tuple[ast.AST, str, str]]:
    """(where, the figure, whether the smallest or the largest is kept) of `if acc < best: best = acc`."""
    for node in program.each(ast.If):
        test = node.test
        sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) and len(test.ops) == 1 else []
        less = bool(sides) and isinstance(test.ops[0], (ast.Lt, ast.LtE))  # type: ignore[attr-defined]
        if not sides or not (less or isinstance(test.ops[0], (ast.Gt, ast.GtE))):  # type: ignore[attr-defined]
            continue
        figure, best = (sides[0], sides[1]) if "best" in key(sides[1]) else (sides[1], sides[0])
        less = less is (figure is sides[0])
        name = last(key(figure))
        set_ = any(
            isinstance(s, ast.Assign) and key(s.targets[0]) == key(best) and key(s.value) == key(figure)
            for s in node.body
        )
        kept = any(
            isinstance(n, ast.Call) and re.search(r"save|state_dict|deepcopy", program.path(n.func))
            for s in node.body
            for n in walk(s)
        )
        plain = re.fullmatch(
            r"(val_|dev_|eval_|valid_)?(acc|accuracy|f1|auc|bleu|rouge|em|map|recall|precision|loss|nll|ppl|perplexity|wer|cer)",
            name,
        )
        if set_ and kept and plain and "best" in key(best):
            yield test, name, "min" if less else "max"


@rule("test-data-chooses", "S2", "eval-leakage", "test",
      bad="""
      best = 0.0
      for epoch in range(10):
          train_one(model, train_loader, optimizer)
          test_acc = evaluate(model, test_loader)
          if test_acc > best:
              best = test_acc
              torch.save(model.state_dict(), "best.pt")
      """,
      good="""
      best = 0.0
      for epoch in range(10):
          train_one(model, train_loader, optimizer)
          val_acc = evaluate(model, val_loader)
          if val_acc > best:
              best = val_acc
              torch.save(model.state_dict(), "best.pt")
      test_acc = evaluate(model, test_loader)
      """)  # fmt: skip
def test_data_chooses(view: View) -> Iterator[Fault]:
    """The checkpoint is chosen by the score on the test data.

    Why: the best of many epochs on the very data that is reported is better than the model is.
    """
    program = view.program
    yield from _threshold_chosen(program)
    for node in program.each(ast.If):
        test = node.test
        if not isinstance(test, ast.Compare) or not any(isinstance(o, LOOPS) for o in program.loops(node)):
            continue
        sides = [last(key(s)) for s in (test.left, *test.comparators)]
        scored = [
            s for s in sides if re.search(r"(^|_)test_(acc\w{0,6}|loss|f1|score|auc|metric|ppl|mae|map|bleu)$", s, re.I)
        ]
        made = [program.origin(s, inside=False) for s in (test.left, *test.comparators)]
        scored = scored or [
            key(a)
            for m in made
            if isinstance(m, ast.Call)
            for a in m.args
            if re.search(r"(^|_)test(_|$)", last(key(a))) or _beside_validation(program, node, key(a))
        ]
        best = [s for s in sides if re.search(r"best|max_|min_|lowest|highest", s, re.I)] or _followed(node)
        saves = any(
            isinstance(n, ast.Call) and re.search(r"save|state_dict|deepcopy|\bdump$", program.path(n.func))
            for n in walk(node)
        )
        if scored and best and saves:
            yield Fault(test, f"the checkpoint is chosen by `{scored[0]}`", f"用 `{scored[0]}` 来选择检查点")


def _followed(node: ast.If) -> list[str]:
    """The side of a comparison that is set to the other one where that is better."""
    test = node.test
    sides = [key(s) for s in (test.left, *test.comparators)] if isinstance(test, ast.Compare) else []
    for statement in (s for s in node.body if isinstance(s, ast.Assign)):
        target, value = statement.targets[0], statement.value
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
        pairs = zip(target.elts, value.elts, strict=True) if both else ((target, value),)  # type: ignore[union-attr]
        for one, other in pairs:
            if len(sides) == 2 and {key(one), key(other)} == set(sides) and "" not in sides:
                return [key(one)]
    return []


def _beside_validation(program: Program, node: ast.AST, name: str) -> bool:
    """Whether `te` is the test part, beside a validation part in the same function."""
    bound = program.bound.get(program.scope(node), {})
    return name in ("te", "ts", "te_dl", "te_loader") and any(
        re.match(r"va(l\w{0,8})?(_dl|_loader)?$|vl$|dev", n) for n in bound
    )


def _threshold_chosen(program: Program) -> Iterator[Fault]:
    """The best of several thresholds by a figure over the test data, which it is then reported for."""
    for call in program.find("max", "min"):
        how = argument(call, "key")
        figures = [n for n in walk(how.body) if isinstance(n, ast.Call)] if isinstance(how, ast.Lambda) else []
        scored = [
            n for n in figures if re.search(r"(f1|accuracy|precision|recall|roc|fbeta)\w{0,20}$", program.path(n.func))
        ]
        scope = program.scope(call)
        for value in (a for n in scored for a in n.args[:1]):
            given = (
                program.given(b, key(value))
                if (b := program.binding(value)) is not None and b.how == "parameter"
                else value
            )
            base = given.value if isinstance(given, ast.Subscript) else given
            if base is not None and re.fullmatch(r"(x_|y_)?test(_\w{1,20})?", last(key(base)), re.I):
                where = next(iter(program.callers(scope)), call)
                yield Fault(where, f"the best is chosen by a figure over `{key(base)}`", f"用 `{key(base)}` 上的指标来选择")  # fmt: skip

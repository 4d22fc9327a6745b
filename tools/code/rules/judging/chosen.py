"""What is kept as the best of several, by a comparison that is written out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last


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
            for n in ast.walk(s)
        )
        plain = re.fullmatch(
            r"(val_|dev_|eval_|valid_)?(acc|accuracy|f1|auc|bleu|rouge|em|map|recall|precision|loss|nll|ppl|perplexity|wer|cer)",
            name,
        )
        if set_ and kept and plain and "best" in key(best):
            yield test, name, "min" if less else "max"

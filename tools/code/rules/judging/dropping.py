"""Evaluations whose last batch is dropped, as the settings of the training say."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...patch import instead
from ...program import FUNCTIONS, argument, key, last
from ..data import TRAINED, loaders
from ..look import TEST, keyword
from ..rule import Fault, View


def by_a_trainer(view: View) -> Iterator[Fault]:
    """The arguments of a trainer, which drops the last batch of its evaluation with that of the training."""
    program = view.program
    said = "dataloader_drop_last"
    if said not in program.said or not any(argument(c, "eval_dataset") is not None for c in program.each(ast.Call)):
        return
    pairs: list[tuple[str, ast.expr]] = [(n.arg or "", n.value) for n in program.each(ast.keyword)]
    pairs += [
        (str(getattr(k, "value", "")), v) for n in program.each(ast.Dict) for k, v in zip(n.keys, n.values, strict=True)
    ]
    for node in program.each(ast.Assign):
        target = node.targets[0]
        cut = target.slice if isinstance(target, ast.Subscript) else None
        pairs.append((str(getattr(cut, "value", "")) or last(key(target)), node.value))
    for name, value in pairs:
        if name == said and program.const(value) is True:
            yield Fault(value, "the trainer drops the last batch of the evaluation, too", "评测也会丢弃最后一个批次",
                        (instead(value, "False"),))  # fmt: skip
            return


def made_for_both(view: View) -> Iterator[Fault]:
    """A function that makes the loaders of both parts, and drops the last batch of each."""
    program = view.program
    for call, _ in loaders(view):
        value, scope = argument(call, "drop_last"), program.scope(call)
        if value is None or keyword(call, "drop_last") is not True or program.guards(call):
            continue
        for made in program.callers(scope):
            statement = program.statement(made)
            name = last(key(statement.targets[0])) if isinstance(statement, ast.Assign) else ""
            if isinstance(scope, FUNCTIONS) and TEST.search(name) and not TRAINED.search(name):
                yield Fault(value, f"the evaluation drops its last batch: `{name}` is made here, too", "评测丢弃了最后一个批次",
                            beside=(made,))  # fmt: skip
                break

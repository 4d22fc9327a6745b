"""Which answers stand beside each other, and which of them are taken for one group."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re

from ...program import Program, key, last, receiver

GROUP = re.compile(
    r"(^|_)(g|k|n)$|group|gens?$|generations|samples_per|n_samples|num_samples|rollouts|completions|num_return", re.I
)
"""Names of how many answers a prompt has."""
PROMPTS = re.compile(r"prompt|quer(y|ies)|question|input", re.I)
Mixed = tuple[str, str, tuple[ast.AST, ...]]


def mixed_groups(program: Program, on: ast.expr, axis: object) -> Mixed | None:
    """What is wrong with a mean over the answers of a group: (English, Chinese, where the answers are laid out)."""
    parts = _shape(program, on)
    if len(parts) != 2:
        return None
    first, second = (bool(GROUP.search(last(key(p)))) for p in parts)
    if second and axis in (0, -2):
        return (
            "the mean is over prompts, not over the answers to one prompt",
            "均值取在不同提示之间，而不是同一提示的各个回答之间",
            (),
        )
    if first and not second and axis in (0, -2):
        beside, apart = _laid(program)
        if beside is not None and apart is None:
            return (
                "the answers to one prompt stand side by side, and those of different prompts are taken for a group",
                "同一提示的回答相邻排列，这里却把不同提示的回答当作一组",
                (beside,),
            )
    if second and axis in (1, -1):
        beside, apart = _laid(program)
        if apart is not None and beside is None:
            return (
                "the prompts follow each other and are repeated as a whole, and those of different prompts are taken for a group",
                "提示整体重复、依次排列，这里却把不同提示的回答当作一组",
                (apart,),
            )
    return None


def _shape(program: Program, on: ast.expr) -> list[ast.expr]:
    """The shape that a value was given."""
    value = program.origin(on)
    given = value.args if isinstance(value, ast.Call) and last(program.path(value.func)) in ("view", "reshape") else []
    return given[0].elts if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else given


def _laid(program: Program) -> tuple[ast.AST | None, ast.AST | None]:
    """(where each prompt is repeated on its own, where all are repeated together)."""
    beside: list[ast.AST] = [c for c in program.find("repeat_interleave") if any(map(_many, c.args))]
    beside += [k.value for c in program.find("generate") for k in c.keywords if k.arg == "num_return_sequences"]
    beside += [c for c in program.find("SamplingParams") for k in c.keywords if k.arg == "n"]
    apart: list[ast.AST] = [c for c in program.find("repeat", "tile") if c.args and _many(c.args[0])
                            and not _of_array(program, c)]  # fmt: skip
    for node in program.each(ast.ListComp):
        inner = node.generators[-1]
        counted = (
            isinstance(inner.iter, ast.Call) and key(inner.iter.func) == "range" and any(map(_many, inner.iter.args))
        )
        if len(node.generators) == 2 and counted:
            beside.append(node)
    for node in program.each(ast.BinOp):
        sides = (node.left, node.right) if isinstance(node.op, ast.Mult) else ()
        if any(map(_many, sides)) and any(PROMPTS.search(last(key(s))) and last(key(s)).endswith("s") for s in sides):
            apart.append(node)
    return next(iter(beside), None), next(iter(apart), None)


def _many(expr: ast.expr) -> bool:
    return bool(GROUP.search(last(key(expr))))


def _of_array(program: Program, call: ast.Call) -> bool:
    """`np.repeat`, which repeats one by one."""
    return key(receiver(call)) in ("np", "numpy", "itertools") or program.path(call.func).startswith(
        ("numpy", "itertools")
    )

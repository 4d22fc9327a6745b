"""Rules on what belongs together and is put in order apart: inputs and labels, images and masks."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from ...program import Program, key, last, receiver
from ..meaning.ways import peeled
from ..rule import Fault, View, rule


@rule("pairs-torn-apart", "S1", "noisy-data-mixture", "shuffle permutation randperm",
      bad="""
      import torch
      np.random.shuffle(inputs)
      np.random.shuffle(labels)
      """,
      good="""
      import torch
      order = np.random.permutation(len(inputs))
      inputs, labels = inputs[order], labels[order]
      """)  # fmt: skip
def pairs_torn_apart(view: View) -> Iterator[Fault]:
    """Inputs and labels are shuffled one after the other, each in its own order.

    Why: labels no longer belong to their inputs.
    """
    program = view.program
    calls = sorted(
        (
            c
            for c in program.find("shuffle")
            if program.path(c.func) in ("numpy.random.shuffle", "np.random.shuffle", "random.shuffle") and c.args
        ),
        key=lambda c: c.lineno,
    )
    calls_and_names = [*((c, last(key(c.args[0]))) for c in calls), *_indexed_apart(program)]
    for (one, name), (two, other) in pairwise(calls_and_names):
        names = [name, other]
        same = program.parent.get(program.statement(one)) is program.parent.get(program.statement(two))
        between = "\n".join(program.parsed.lines[one.lineno : two.lineno])
        paired = (
            any(re.search(r"(^|_)(y|labels?|targets?|answers?|masks?)(_|$)", n, re.I) for n in names)
            and len(set(names)) == 2
        )
        if same and paired and two.lineno - one.lineno < 8 and not re.search(r"seed|set_state|setstate", between):
            yield Fault(two, f"`{names[0]}` and `{names[1]}` are shuffled apart",
                        f"`{names[0]}` 与 `{names[1]}` 各自打乱", beside=(one,))  # fmt: skip


def _indexed_apart(program: Program) -> list[tuple[ast.Call, str]]:
    """(what draws an order, the name that is put in it) of `x = x[torch.randperm(len(x))]`, in the order of the text."""
    out: list[tuple[ast.Call, str]] = []
    for node in program.each(ast.Assign):
        by = node.value.slice if isinstance(node.value, ast.Subscript) else None
        drawn = isinstance(by, ast.Call) and program.path(by.func) in (
            "torch.randperm", "numpy.random.permutation", "np.random.permutation")  # fmt: skip
        told = drawn and any(k.arg == "generator" for k in by.keywords)  # type: ignore[union-attr]
        if drawn and not told and key(node.value.value) == key(node.targets[0]) != "":  # type: ignore[attr-defined]
            out.append((by, last(key(node.targets[0]))))  # type: ignore[arg-type]
    return sorted(out, key=lambda pair: pair[0].lineno)


@rule("paired-in-listing-order", "S2", "noisy-data-mixture", "glob listdir iterdir",
      bad="""
      import torch
      images = glob.glob(root + "/images/*.png")
      masks = glob.glob(root + "/masks/*.png")
      pairs = list(zip(images, masks))
      """,
      good="""
      import torch
      images = sorted(glob.glob(root + "/images/*.png"))
      masks = sorted(glob.glob(root + "/masks/*.png"))
      pairs = list(zip(images, masks))
      """)  # fmt: skip
def paired_in_listing_order(view: View) -> Iterator[Fault]:
    """Files of two folders are paired in the order in which the system lists them.

    Why: that order is any: an image gets the mask of another.
    """
    program = view.program
    for call in program.find("zip"):
        listed = [v for a in call.args if (v := _listing(view, a)) is not None]
        if len(listed) >= 2 and len(listed) == len(call.args):
            yield Fault(call, "files of two folders are paired in any order",
                        "两个目录的文件按任意次序配对", beside=tuple(listed))  # fmt: skip
    for function in program.functions.get("__getitem__", ()):
        by = function.args.args[-1].arg if len(function.args.args) == 2 else ""
        taken = {key(n.value): n for n in program.within(function, ast.Subscript)
                 if isinstance(n.slice, ast.Name) and n.slice.id == by and key(n.value).startswith("self.")}  # fmt: skip
        unsorted = [(n, v) for n in taken.values() if (v := _listing(view, n.value)) is not None]
        if len(unsorted) > 1:
            yield Fault(unsorted[1][0], "files of two folders are paired in any order",
                        "两个目录的文件按任意次序配对", beside=tuple(v for _, v in unsorted))  # fmt: skip


def _listing(view: View, expr: ast.expr) -> ast.Call | None:
    program = view.program
    value = peeled(view, expr, frozenset(("list",)))
    if any(last(program.path(c.func)) == "sort" and key(receiver(c)) == key(expr) != "" for c in program.find("sort")):
        return None
    wanted = isinstance(value, ast.Call) and last(program.path(value.func)) in ("glob", "listdir", "iterdir", "rglob")
    return value if wanted and isinstance(value, ast.Call) else None

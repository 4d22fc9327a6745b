"""Masks, labels and lengths that are a position off, or filled up with what is trained on."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ..look import keyword
from ..rule import Fault, View

SHIFTED = re.compile(r"(^|_)(labels?|input_ids|ids|tokens|targets?|x|y)(['\"\]]{0,3})$")
SHOWN = re.compile(r"^(\w*\[.)?(attention_|attn_|pad_|padding_)?mask(['\"\]]{0,3})$")
PADS = re.compile(r"pad(_token)?_?id|pad_idx|\bPAD\b|pad_token_id")


def off_by_one(view: View) -> Iterator[Fault]:
    """A mask cut at the back that is multiplied with losses whose targets are cut at the front."""
    program = view.program
    for function in (f for fs in program.functions.values() for f in fs):
        cuts = program.within(function, ast.Subscript)
        front = [n for n in cuts if _cut(program, n) == "1:" and SHIFTED.search(last(key(n.value)))]
        back = [n for n in cuts if _cut(program, n) == ":-1" and SHOWN.search(last(key(n.value)))] if front else []
        if any(_cut(program, n) == "1:" and SHOWN.search(last(key(n.value))) for n in cuts):
            continue
        for mask in back:
            product = next((p for p in _products(program, mask) if _of_each(program, p)), None)
            if product is not None:
                yield Fault(mask, "the mask is cut at the other end than the targets: it is off by one",
                            "mask 与目标的切法相反：错开一位", severity="S2", beside=(front[0], product))  # fmt: skip
                break


def _cut(program: Program, node: ast.Subscript) -> str:
    """`1:` or `:-1`, whichever a value is cut to along its positions."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice) and part.step is None:
            if part.upper is None and program.const(part.lower) == 1:
                return "1:"
            if part.lower is None and program.const(part.upper) == -1:
                return ":-1"
    return ""


def _products(program: Program, mask: ast.Subscript) -> Iterator[ast.BinOp]:
    """The products that a mask is a factor of, itself or by the name that it is given."""
    statement = program.statement(mask)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    for node in program.within(program.scope(mask), ast.BinOp):
        if isinstance(node.op, ast.Mult):
            sides = [n for s in (node.left, node.right) for n in walk(s)]
            if mask in sides or (name and any(key(n) == name for n in (node.left, node.right))):
                yield node


def _of_each(program: Program, product: ast.BinOp) -> bool:
    """Whether a factor is the loss, or the logarithm, of each token."""
    nodes = [n for s in (product.left, product.right) for n, _, _ in made_of(program, s, (), 3)]
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    names = {last(program.path(c.func)) for c in calls}
    each = any(program.const(argument(c, "reduction")) == "none" for c in calls)
    return (each and "cross_entropy" in names) or {"gather", "log_softmax"} <= names


def measured_without_specials(view: View) -> Iterator[Fault]:
    """A prompt that is measured without the special tokens which the whole text begins with."""
    program = view.program
    if not program.told("add_special_tokens") or not program.mentions("-100", "IGNORE", "loss_mask"):
        return
    for function in (f for fs in program.functions.values() for f in fs):
        calls = [n for n in program.within(function, ast.Call) if n.args
                 and (view.roles.of(n.func) == "tokenizer" or view.roles.of(receiver(n)) == "tokenizer")]  # fmt: skip
        for whole in calls if len(calls) > 1 else ():
            joined = program.origin(whole.args[0])
            first = _first(joined)
            if not first or keyword(whole, "add_special_tokens", program) is False:
                continue
            part = next((c for c in calls if c is not whole and key(c.args[0]) == first), None)
            bare = part is not None and keyword(part, "add_special_tokens", program) is False
            if part is not None and bare and _length(program, part):
                yield Fault(part, "the prompt is measured without the special tokens that the whole text begins with: the mask is too short",
                            "测量提示长度时没有加特殊 token，而整段文本有：掩码偏短", beside=(whole,))  # fmt: skip


def _first(text: ast.expr) -> str:
    """What a text begins with that is put together."""
    while isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add):
        text = text.left
        if not isinstance(text, ast.BinOp):
            return key(text)
    if isinstance(text, ast.JoinedStr) and len(text.values) > 1 and isinstance(text.values[0], ast.FormattedValue):
        return key(text.values[0].value)
    return ""


def _length(program: Program, call: ast.Call) -> bool:
    """Whether it is only counted how long something is."""
    statement = program.statement(call)
    if any(isinstance(a, ast.Call) and key(a.func) == "len" for a in program.up(call)):
        return True
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    uses = [
        n
        for n in program.within(program.scope(call))
        if name and key(n) == name and isinstance(getattr(n, "ctx", None), ast.Load)
    ]
    return bool(uses) and all(
        any(isinstance(a, ast.Call) and key(a.func) == "len" for a in program.up(n)) for n in uses
    )


def labels_filled_with_pad(view: View) -> Iterator[Fault]:
    """Labels of a batch that are filled up with the id of padding, which the loss does not ignore."""
    program = view.program
    if program.mentions("-100", "DataCollator", "completion_mask"):
        return
    if program.has_word(r"(?i)ignore_?(?:ind|id)|label_pad|loss_mask|loss_weights"):
        return
    for table in program.each(ast.Dict):
        for word, value in zip(table.keys, table.values, strict=True):
            if getattr(word, "value", "") != "labels" or not isinstance(program.scope(table), FUNCTIONS):
                continue
            filled = next((n for n, _, _ in made_of(program, value, (), 3) if _fills(program, n)), None)
            if filled is not None:
                yield Fault(filled, "labels are filled up with the id of padding: padding is trained on",
                            "标签用 pad id 填充：padding 也计入 loss", beside=(table,))  # fmt: skip
                return


def _fills(program: Program, node: ast.AST) -> bool:
    """`x + [pad_id] * n`."""
    added = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else None
    left = added.left if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult) else None
    one = left.elts[0] if isinstance(left, ast.List) and len(left.elts) == 1 else None
    return one is not None and PADS.search(program.code(one)) is not None


def divided_by_all(view: View) -> Iterator[Fault]:
    """A masked sum that is divided by how many positions there are, masked ones with them."""
    program = view.program
    for node in program.each(ast.BinOp):
        over = program.origin(node.right) if isinstance(node.op, ast.Div) else None
        counted = isinstance(over, ast.Call) and last(program.path(over.func)) == "numel"
        summed = node.left if counted and isinstance(node.left, ast.Call) else None
        if summed is None or last(program.path(summed.func)) != "sum" or summed.args:
            continue
        on = receiver(summed)
        product = program.origin(on) if on is not None else None
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult) or not _of_each(program, product):
            continue
        words = " ".join(
            program.code(n) for s in (product.left, product.right) for n, _, _ in made_of(program, s, (), 2)
        )
        if re.search(r"mask|!= ?-100|attn|valid", words, re.I):
            yield Fault(node, "a masked sum is divided by the number of all positions: divide it by the mask's sum",
                        "被掩盖的求和却除以全部位置数：应除以 mask 之和")  # fmt: skip


def masked_from_the_left(view: View) -> Iterator[Fault]:
    """Prompts that are masked from the first position on, in batches that are padded on the left."""
    program = view.program
    left = re.search(r"padding_side\s{0,3}=\s{0,3}['\"]left", program.text)
    if not left or not any(
        program.const(argument(c, "padding")) in (True, "longest", "max_length") for c in program.each(ast.Call)
    ):
        return
    for node in program.each(ast.Assign):
        target = node.targets[0]
        parts = target.slice.elts if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple) else []
        cut = parts[1] if len(parts) == 2 else None
        plain = isinstance(cut, ast.Slice) and cut.lower is None and cut.upper is not None
        word = last(key(target.value)) if isinstance(target, ast.Subscript) else ""
        if not plain or not re.search(r"lab|target", word) or program.const(node.value) != -100:
            continue
        made = program.origin(cut.upper)  # type: ignore[union-attr, arg-type]
        counted = isinstance(made, ast.Call) and key(made.func) == "len"
        if counted and view.roles.of(_tokenised(program, made)) == "tokenizer":  # type: ignore[arg-type]
            yield Fault(node, "the batch is padded on the left, and the prompt is masked from the first position: padding is masked, and the prompt is trained on",
                        "批次在左侧填充，却从第一个位置起屏蔽提示：屏蔽的是 padding，提示仍被训练", beside=(made,))  # fmt: skip
            return


def _tokenised(program: Program, call: ast.Call) -> ast.expr | None:
    """What is called to give the tokens that are counted."""
    inner = program.origin(call.args[0]) if call.args else None
    while isinstance(inner, (ast.Subscript, ast.Attribute)):
        inner = program.origin(inner.value)
    return inner.func if isinstance(inner, ast.Call) else None

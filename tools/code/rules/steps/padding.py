"""Which positions of a text are trained on: masks that are measured in the text, targets that are filled up."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Function, Program, argument, key, last, receiver
from ...source import walk
from ..loss import SAME, entropies
from ..rule import Fault, View, rule
from .aligned import measured_without_specials

ANSWER = re.compile(
    r"回答|答案|助手|mark(er)?$|assistant|response|answer|\[/INST\]|output|completion|<\|im_start\|>", re.I
)
MASKS = re.compile(r"-100|\w{0,40}IGNORE\w{0,40}", re.I)
FLAT = ("view", "reshape", "flatten", "ravel")


@rule("mask-by-text-search", "S2", "loss-mask-misaligned", "split find index add_special_tokens",
      bad="""
      def mask(text):
          ids = tokenizer(text)["input_ids"]
          prompt = text.split("### Response:")[0]
          start = len(tokenizer(prompt)["input_ids"])
          return [-100] * start + ids[start:]
      """,
      good="""
      def mask(prompt, answer):
          start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
          ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
          return [-100] * len(start) + ids
      """)  # fmt: skip
def mask_by_text_search(view: View) -> Iterator[Fault]:
    """The loss mask is found by searching or splitting the text.

    Why: the marker may stand in the prompt, and tokens do not end where the text is cut; the mask is off by some tokens.
    """
    program = view.program
    yield from _counted_in_text(view)
    yield from measured_without_specials(view)
    for call in program.find("split", "find", "index", "rfind", "partition", "rpartition"):
        marker = call.args[0] if call.args else None
        text = program.const(marker) if marker is not None else None
        named = isinstance(text, str) and ANSWER.search(text)
        said = key(marker) and ANSWER.search(key(marker))
        scope = program.scope(call)
        if not (named or said) or not isinstance(scope, FUNCTIONS):
            continue
        around = [scope, *(s for c in program.callers(scope) if isinstance(s := program.scope(c), FUNCTIONS))]
        body = "\n".join(program.code(s, 20_000) for s in around)
        if re.search(r"-100|loss_mask|labels_mask|ignore_index|IGNORE", body) and re.search(
            r"tok\w{0,40}\(|\.encode\(|tokenize|input_ids", body
        ):
            yield Fault(call, "the loss mask is cut out of the text: tokens do not end where it is cut",
                        "按文本切分来确定 loss 掩码：切点与 token 边界不一致")  # fmt: skip


def _counted_in_text(view: View) -> Iterator[Fault]:
    """A mask as long as a text has words or characters."""
    program = view.program
    for node, length in _mask_lengths(program) if program.mentions("-100", "IGNORE", "ignore") else ():
        made = program.origin(length)
        if not isinstance(made, ast.Call) or program.path(made.func) != "len" or not made.args:
            continue
        of = program.origin(made.args[0])
        words = isinstance(of, ast.Call) and last(program.path(of.func)) == "split"
        if words or _is_text(view, made.args[0]):
            yield Fault(made, "the mask is as long as the text has words or characters, not tokens",
                        "掩码长度按单词或字符计算，而不是按 token", beside=(node,))  # fmt: skip


def _mask_lengths(program: Program) -> Iterator[tuple[ast.AST, ast.expr]]:
    """(where, how long) of `[-100] * n` and `labels[:n] = -100`."""
    for node in program.each(ast.BinOp):
        left = node.left
        only = (
            left.elts[0]
            if isinstance(left, ast.List) and len(left.elts) == 1 and isinstance(node.op, ast.Mult)
            else None
        )
        if only is not None and MASKS.fullmatch(program.code(only)):
            yield node, node.right
    for node in program.each(ast.Assign):
        target = node.targets[0]
        place = target.slice if isinstance(target, ast.Subscript) else None
        part = place.elts[-1] if isinstance(place, ast.Tuple) and place.elts else place
        if (
            isinstance(part, ast.Slice)
            and part.lower is None
            and part.upper is not None
            and MASKS.fullmatch(program.code(node.value))
        ):
            yield node, part.upper


def _is_text(view: View, expr: ast.expr) -> bool:
    """Whether a name is a text: it is joined to another one for the tokenizer, in the same function."""
    program, name = view.program, key(expr)
    for call in (n for n in program.within(program.scope(expr), ast.Call) if name):
        asked = view.roles.of(call.func) == "tokenizer" or view.roles.of(receiver(call)) == "tokenizer"
        for given in call.args[:1] if asked else ():
            made = program.origin(given)
            if isinstance(made, (ast.BinOp, ast.JoinedStr)) and name in {key(n) for n in walk(made)}:
                return True
    return False


def targets_padded(view: View) -> Iterator[Fault]:
    """Sequences that a collate function of this file fills up, and that a loss which ignores nothing is given as targets."""
    program = view.program
    makers = {f for c in program.calls.get("DataLoader", ()) if (given := argument(c, "collate_fn")) is not None
              and (f := program.objects.target(given)) is not None}  # fmt: skip
    if len(makers) != 1:
        return
    text = re.sub(r"ignore_index\s{0,4}=\s{0,4}-100", "", program.text)
    if re.search(r"ignore_?(?:ind|id)|[Mm]ask|-100|!= ?\w{0,40}(pad|PAD)|reduction\s{0,4}=|lengths", text):
        return
    for call, logits, labels in entropies(view):
        turned = isinstance(logits, ast.Call) and last(program.path(logits.func)) in ("transpose", "permute", "mT")
        taken = _taken_from(program, labels, turned)
        for value in _part(program, next(iter(makers)), *taken) if taken is not None else ():
            if (fill := _fill(program, value)) is not None:
                yield Fault(call, "targets are filled up, and the loss ignores nothing: padding is trained on",
                            "目标序列被填充，而 loss 什么都不忽略：padding 也被训练", beside=(fill,))  # fmt: skip
                break


def _taken_from(program: Program, labels: ast.expr, sequence: bool = False) -> tuple[int | None, str] | None:
    """(which part, which key) of a batch that the targets of a sequence are; None where they are no sequence of a batch."""
    word = ""
    for _ in range(12):
        sequence = (
            sequence
            or isinstance(labels, ast.Subscript)
            or (isinstance(labels, ast.Call) and last(program.path(labels.func)) in FLAT)
        )
        if isinstance(labels, ast.Call) and isinstance(labels.func, ast.Attribute) and labels.func.attr in SAME:
            labels = labels.func.value
        elif isinstance(labels, ast.Subscript):
            word = (
                str(labels.slice.value)
                if isinstance(labels.slice, ast.Constant) and isinstance(labels.slice.value, str)
                else word
            )
            labels = labels.value
        elif (before := program.origin(labels)) is not labels:
            labels = before
        else:
            break
    found = program.binding(labels)
    return (found.part, word) if sequence and found is not None and found.how == "for" else None


def _part(program: Program, maker: Function, part: int | None, word: str) -> Iterator[ast.expr]:
    """What a collate function returns as this part of a batch."""
    for value in program.returned(maker):
        made = program.origin(value)
        if word and isinstance(made, ast.Dict):
            yield from (
                v
                for k, v in zip(made.keys, made.values, strict=True)
                if isinstance(k, ast.Constant) and k.value == word
            )
        elif not word and isinstance(made, ast.Tuple) and part is not None and part < len(made.elts):
            yield made.elts[part]
        elif not word and part is None and not isinstance(made, (ast.Tuple, ast.Dict)):
            yield value


def _fill(program: Program, value: ast.expr) -> ast.AST | None:
    """Where a value is filled up with a token or a class."""
    for source_ in made_of(program, value, (), 4):
        node = source_.node
        name = last(program.path(node.func)) if isinstance(node, ast.Call) else ""
        fill = None
        if isinstance(node, ast.Call) and name == "pad_sequence":
            fill = argument(node, "padding_value", 2) or ast.Constant(0)
        elif isinstance(node, ast.Call) and name in ("full", "new_full") and len(node.args) > 1:
            fill = node.args[1]
        elif isinstance(node, ast.Call) and name in ("zeros", "new_zeros") and program.put_into(value):
            fill = ast.Constant(0)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and isinstance(node.left, ast.List)
            and len(node.left.elts) == 1
        ):
            fill = node.left.elts[0]
        number = program.const(fill) if fill is not None else None
        if fill is not None and ("pad" in program.code(fill).lower() or (isinstance(number, int) and number >= 0)):
            return node
    return None

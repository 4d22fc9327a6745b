"""The last position of a padded batch, taken for the last token of each text."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program
from ..rule import Fault, View


def last_of_all(view: View) -> Iterator[Fault]:
    """`hidden[:, -1]` of texts that a tokenizer of this file pads on the right, as tokenizers do unless told otherwise."""
    program = view.program
    made = [c for c in program.find("from_pretrained") if "okenizer" in program.path(c.func)]
    if not made or re.search(r"padding_side|batch_size\s{0,3}=\s{0,3}1\b|GPT2Tokenizer\(|left", program.text):
        return
    for node in program.each(ast.Subscript):
        if not _last(program, node.slice) or not isinstance(node.ctx, ast.Load):
            continue
        value = program.origin(node.value)
        if isinstance(value, ast.Attribute) and value.attr == "last_hidden_state":
            yield Fault(node, "the last position of a padded batch is taken: for all but the longest text that is padding",
                        "取了填充批次的最后一个位置：除最长的文本外都是 padding", beside=(made[0],))  # fmt: skip


def _last(program: Program, index: ast.expr) -> bool:
    """`[:, -1]` and `[:, -1, :]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    whole = [isinstance(p, ast.Slice) and p.lower is None and p.upper is None and p.step is None for p in parts]
    return len(parts) in (2, 3) and whole[0] and program.const(parts[1]) == -1 and all(whole[2:])

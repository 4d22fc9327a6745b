"""The end of an answer in a dump of tokens: a mark that ends each answer and that none of them is trained on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import shown, texts
from ..line import means
from .masked import PIECE, ROWS, in_loss

MARK = bounded(
    r"(?i)^(?:</s>|<eos>|<end>|\[eos\]|<[|｜]?(?:im_end|eot_id|eot|eos|end_of_turn|end_of_text|endoftext|end_of_sentence"
    r"|end▁of▁sentence|turn_end|return|end|assistant_end)[|｜]?>)$"
)
LEAST, FEW = 4, 10
"""Tokens of an answer that are trained on, so that it is one, and tokens of a dump."""


def end_left_out(table: Table) -> Iterator[Finding]:
    """The mark behind every answer is no label, and no such mark anywhere in the table is one."""
    piece = next((c for c in table.columns if c.values.dtype.kind == "O" and means(PIECE, c.name)), None)
    if piece is None or not FEW <= len(table) <= ROWS:
        return
    flags = in_loss(table, piece)
    if flags is None:
        return
    column, trained = flags
    marks = np.array([bool(MARK.match(t.strip(" ▁Ġ"))) for t in texts(piece)])
    ends = [int(end) for begin, end in _spans(trained) if end - begin >= LEAST and end < len(table)]
    left = [i for i in ends if marks[i]]
    if not left or len(left) < len(ends) or (marks & trained).any():
        return
    mark = texts(piece)[left[0]].strip()
    yield Finding(
        "eos-not-trained", Severity.S1,
        f"Behind each of {len(left)} answer(s) in {table.file} stands {mark}, and {column.name} does not train on it: "
        "the model does not learn to stop.",
        f"{table.file} 中 {len(left)} 段回答之后都是 {mark}，而按 {column.name} 它不参与训练：模型学不会停下。",
        shown(table, left[:3], column.name), {"answers": len(left), "mark": mark},
    )  # fmt: skip


def _spans(on: np.ndarray) -> list[tuple[int, int]]:
    """(first, one past the last) of each run of set rows."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

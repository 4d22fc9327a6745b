"""Rows of single tokens and items: special tokens whose vectors never moved, items that fail as they are padded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import sqrt

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import means

SPECIAL = bounded(r"^(?:<[|｜]?[\w▁]{2,30}[|｜]?>|</?[a-z_]{1,20}>|\[/?[A-Z_]{3,20}\])$")
NORMS = bounded(r"(?i)norm|emb|row|head|vector|wte|l2|范数|向量|嵌入")
SMALL, SAME, TOKENS, ORDINARY = 0.3, 1e-4, 2, 5
"""Share of the usual norm below which a row is untrained; how near two are the same; tokens of each kind."""
OWN = bounded(
    r"^(?:(?:prompt|input|own|item|seq|sample|token)_?)?(?:len|length|tokens?|n_?tok|toks|tok_?len)(?:_?(?:tok|tokens|len))?$|^(?:输入)?(?:长度|词数|token数|提示长度)(?:_?tok)?$|长度tok"
)
LONGEST = bounded(
    r"(?:batch|group|max|longest|padded)_?(?:\w{0,12}_?)?(?:len|length|tok|tokens|to)|padded(?:_to|_len)|最长|填充后|补齐"
)
PADDING = bounded(r"^(?:n_?)?pad(?:s|ding|ded)?(?:_?(?:tokens|tok|len|count|n))?$|^填充(?:数|长度|量)?$|补齐数")
BATCH = bounded(r"^(?:batch|group|chunk)(?:_?(?:id|idx|index|no))?$|^(?:组|批|批次|组号)$")
HIT = bounded(r"(?:^|_)(?:hit|correct|ok|right|pass(?:ed)?|acc|score|em|exact)(?:_|$)|命中|正确|答对|得分")
ROWS, FALL, CLEAR = 80, 0.15, 4.0
"""Rows, share by which the score falls, and standard errors of it."""


def unmoved(table: Table) -> Iterator[Finding]:
    """Rows of the template's tokens that are tiny beside the others and the same before and after a training."""
    if not TOKENS + ORDINARY <= len(table) <= 5000:
        return
    column = next((c for c in table.columns if c.values.dtype.kind == "O"
                   and sum(bool(SPECIAL.match(t.strip())) for t in texts(c)) >= TOKENS), None)  # fmt: skip
    norms = [c for c in table.columns if c.values.dtype.kind == "f" and means(NORMS, c.name)
             and np.isfinite(c.values).all() and (c.values >= 0).all()]  # fmt: skip
    if column is None or len(norms) < 2:
        return
    special = np.array([bool(SPECIAL.match(t.strip())) for t in texts(column)])
    if (~special).sum() < ORDINARY:
        return
    for a, b in combinations(norms, 2):
        usual = float(np.median(a.values[~special]))
        low = special & (a.values < SMALL * usual) & (np.abs(a.values - b.values) <= SAME * np.maximum(a.values, 1e-9))
        if usual > 0 and low.sum() >= TOKENS and abs(float(np.median(b.values[~special])) / usual - 1) < 0.2:
            yield _still(table, column, (a, b), norms, np.flatnonzero(low), usual)
            return


def _still(table: Table, column: Column, pair: tuple[Column, Column], norms: list[Column], rows: np.ndarray,
           usual: float) -> Finding:  # fmt: skip
    a, b = pair
    names = ", ".join(texts(column)[rows[:4]])
    moved = next((c for c in norms if (c.values[rows] > 2 * a.values[rows]).all()), None)
    en = f", while {moved.name} has {moved.values[rows[0]]:.4g}" if moved is not None else ""
    zh = f"，而 {moved.name} 为 {moved.values[rows[0]]:.4g}" if moved is not None else ""
    return Finding(
        "embedding-rows-unmoved", Severity.S2,
        f"The rows of {names} have {a.values[rows[0]]:.4g} in {a.name} and the same in {b.name}{en}; those of other "
        f"tokens have {usual:.4g}: these tokens were never trained.",
        f"{names} 的向量在 {a.name} 中为 {a.values[rows[0]]:.4g}，在 {b.name} 中完全相同{zh}；"
        f"其他 token 为 {usual:.4g}：这些 token 没有被训练过。",
        shown(table, rows[:3].tolist(), a.name), {"tokens": texts(column)[rows[:8]].tolist(), "usual": usual},
    )  # fmt: skip


def padded_fail(table: Table) -> Iterator[Finding]:
    """Items whose score falls with how much they are padded in their batch, while the longest keep theirs."""
    if len(table) < ROWS:
        return
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    hit = next((c for c in numbers if means(HIT, c.name) and set(np.unique(c.values).tolist()) == {0.0, 1.0}), None)
    gap = _gap(table, [c for c in numbers if c is not hit])
    if hit is None or gap is None or (gap < 0).any() or (gap == 0).sum() < 15 or (gap > 0).sum() < ROWS // 2:
        return
    edges = np.quantile(gap[gap > 0], (1 / 3, 2 / 3))
    parts = [gap == 0, (gap > 0) & (gap <= edges[0]), (gap > edges[0]) & (gap <= edges[1]), gap > edges[1]]
    if any(p.sum() < 10 for p in parts):
        return
    shares = [float(hit.values[p].mean()) for p in parts]
    error = sqrt(sum(max(s * (1 - s), 0.01) / p.sum() for s, p in ((shares[0], parts[0]), (shares[-1], parts[-1]))))
    if (
        shares[0] - shares[-1] < max(FALL, CLEAR * error)
        or shares[1] < shares[2] - 0.05
        or shares[2] < shares[3] - 0.05
    ):
        return
    yield Finding(
        "score-follows-padding", Severity.S1,
        f"{hit.name} of {table.file} is {shares[0]:.0%} on the {parts[0].sum()} longest items of their batches, which "
        f"need no padding, then {shares[1]:.0%}, {shares[2]:.0%} and {shares[3]:.0%} with growing padding: the score "
        "goes with the padding.",
        f"{table.file} 中每批最长、无需填充的 {parts[0].sum()} 条 {hit.name} 为 {shares[0]:.0%}，填充越多依次为 "
        f"{shares[1]:.0%}、{shares[2]:.0%}、{shares[3]:.0%}：分数随填充量下降。",
        shown(table, [int(np.flatnonzero(parts[0])[0]), int(gap.argmax())], hit.name),
        {"shares": shares, "by": ["padding"]},
    )  # fmt: skip


def _gap(table: Table, numbers: list[Column]) -> np.ndarray | None:
    """How many places of padding each item has."""
    if (said := next((c for c in numbers if means(PADDING, c.name)), None)) is not None:
        return said.values
    longest = next((c for c in numbers if means(LONGEST, c.name)), None)
    own = next((c for c in numbers if c is not longest and means(OWN, c.name)), None)
    if own is None:
        return None
    if longest is not None:
        return longest.values - own.values
    batch = next((c for c in table.columns if means(BATCH, c.name)), None)
    if batch is None:
        return None
    names = texts(batch)
    top = {name: float(own.values[names == name].max()) for name in dict.fromkeys(names.tolist())}
    return np.array([top[n] for n in names]) - own.values if len(top) > 3 else None

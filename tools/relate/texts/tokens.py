"""Rows of single tokens and items: special tokens whose vectors never moved, items that fail as they are padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import means
from .loops import loop, outputs

SPECIAL = bounded(r"^(?:<[|｜]?[\w▁]{2,30}[|｜]?>|</?[a-z_]{1,20}>|\[/?[A-Z_]{3,20}\])$")
NORMS = bounded(r"(?i)norm|emb|row|head|vector|wte|l2|范数|向量|嵌入")
SMALL, SAME, TOKENS, ORDINARY = 0.3, 1e-4, 2, 5
"""Share of the usual norm below which a row is untrained; how near two are the same; tokens of each kind."""
OWN = bounded(
    r"^(?:(?:prompt|input|in|own|raw|real|true|item|seq|sample|token|src|orig)_?)?(?:len|length|tokens?|n_?tok|toks?|ntok|tok_?len)"
    r"(?:_?(?:tok|tokens|len))?$|^n_?(?:prompt|in|input|real|own)(?:_?(?:tok|toks|tokens))?$"
    r"|^(?:输入|提示|提示词|原始|自身|实际|本条)?(?:长度|词数|长|token数|提示长度)(?:_?tok)?$|长度tok"
)
LONGEST = bounded(
    r"(?:batch|group|max|longest|padded)_?(?:\w{0,12}_?)?(?:len|length|tok|tokens|to|width)|padded(?:_to|_len)"
    r"|^(?:batch_?|pad(?:ded)?_?|tensor_?|input_?|prompt_?)?(?:width|longest)$|^(?:padded|bucket_?len|t_max)$"
    r"|最长|填充后|补齐|批宽|^宽度$|批内最大"
)
PADDING = bounded(
    r"^(?:n_?|num_?|left_?|right_?)?pad(?:s|ding|ded)?(?:_?(?:left|right))?(?:_?(?:tokens|toks?|len|count|n|ids|frac|fraction"
    r"|ratio|share|pct|rate|amount|bucket|bin))?$|^[左右]?(?:填充|补齐|补|pad)_?(?:数|长度|量|比例|占比|率)?$|补齐数"
)
BATCH = bounded(
    r"^(?:batch|group|chunk|call|micro_?batch|mb)(?:_?(?:id|idx|index|no|num))?$|^(?:组|批|批次|组号|批号)$"
)
HIT = bounded(
    r"(?:^|_)(?:hit|correct|ok|right|pass(?:ed)?|acc|accuracy|score|em|exact|match|good|solved|valid|success|usable|rouge\w?|bleu"
    r"|f1)(?:_|$)|命中|正确|答对|得分|通过|合格|可用|准确"
)
VERDICT = bounded(
    r"(?:^|_)(?:verdict|label|judge\w*|grade|quality|status|result|outcome|rating)(?:_|$)|判定|评判|结果|质量|评级"
)
GOOD = frozenset(("yes", "y", "true", "1", "ok", "good", "correct", "pass", "passed", "right", "fine",
                  "usable", "valid", "match", "success", "是", "对", "正确", "正常", "通过", "合格", "可用",
                  "好", "✓"))  # fmt: skip
BAD = frozenset(("no", "n", "false", "0", "bad", "wrong", "incorrect", "fail", "failed", "garbage", "empty",
                 "gibberish", "garbled", "broken", "junk", "loop", "repeat", "invalid", "nonsense", "否", "错",
                 "错误", "异常", "乱码", "失败", "不合格", "空", "重复", "差", "✗"))  # fmt: skip
WORDS, FIRST, OWN_WORDS = 8, 60, 0.6
"""Words from which on an output is asked, how many of it, and the share of different ones below which it is broken."""
LEAST_LEVELS, LEVELS, EACH = 3, 12, 10
"""Rows of a table of levels of padding, and items of a level."""
COUNT = bounded(r"^(?:n|count|items?|rows?|samples?|prompts?|num(?:_\w{1,12})?|n_\w{1,12}|条数|数量|样本数?|题数)$")
NONE = frozenset(
    ("0", "none", "no", "no padding", "no pad", "unpadded", "longest", "0-0", "无", "无填充", "不填充", "最长")
)
FIGURE = bounded(r"\d{1,9}(?:\.\d{1,4})?")
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
        yield from _by_level(table)
        return
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    hit = _hit(table, numbers)
    own = _own(numbers)
    gap = _gap(table, [c for c in numbers if hit is None or c is not hit[0]])
    if gap is None or (gap < 0).any() or (gap == 0).sum() < 15 or (gap > 0).sum() < ROWS // 2:
        return
    if hit is None:
        if (column := outputs(table)) is None:
            return
        hit = column, np.array([sound(t) for t in texts(column).tolist()], float)
        if own is not None:
            like = (gap > 0) & (own.values >= np.quantile(own.values[gap == 0], 0.25))
            if like.sum() >= EACH and hit[1][gap == 0].mean() - hit[1][like].mean() < FALL:
                return  # as long and padded, and still as good: it is the length
    column, good = hit
    edges = np.quantile(gap[gap > 0], (1 / 3, 2 / 3))
    parts = [gap == 0, (gap > 0) & (gap <= edges[0]), (gap > edges[0]) & (gap <= edges[1]), gap > edges[1]]
    if any(p.sum() < 10 for p in parts):
        return
    shares = [float(good[p].mean()) for p in parts]
    counts = [int(p.sum()) for p in parts]
    if not _falls(shares, counts):
        return
    what, was = column.name, column.name
    if column.role == "text" or column.values.dtype.kind == "O":
        what, was = f"the share of sound {column.name}", f"{column.name} 正常的比例"
    yield Finding(
        "score-follows-padding", Severity.S1,
        f"{what} of {table.file} is {shares[0]:.0%} on the {counts[0]} longest items of their batches, which "
        f"need no padding, then {shares[1]:.0%}, {shares[2]:.0%} and {shares[3]:.0%} with growing padding: the score "
        "goes with the padding.",
        f"{table.file} 中每批最长、无需填充的 {counts[0]} 条 {was} 为 {shares[0]:.0%}，填充越多依次为 "
        f"{shares[1]:.0%}、{shares[2]:.0%}、{shares[3]:.0%}：分数随填充量下降。",
        shown(table, [int(np.flatnonzero(parts[0])[0]), int(gap.argmax())], column.name),
        {"shares": shares, "by": ["padding"]},
    )  # fmt: skip


def _falls(shares: Sequence[float], counts: Sequence[float]) -> bool:
    """Whether shares fall clearly from the first to the last, and rise nowhere after the first."""
    ends = ((shares[0], counts[0]), (shares[-1], counts[-1]))
    error = sqrt(sum(max(s * (1 - s), 0.01) / n for s, n in ends))
    return shares[0] - shares[-1] >= max(FALL, CLEAR * error) and all(b <= a + 0.05 for a, b in pairwise(shares[1:]))


def _hit(table: Table, numbers: Sequence[Column]) -> tuple[Column, np.ndarray] | None:
    """The column that says which items are good, as numbers from 0 to 1."""
    named = [c for c in numbers if means(HIT, c.name)]
    for column in named:
        if set(np.unique(column.values).tolist()) == {0.0, 1.0}:
            return column, column.values
    for column in table.columns:
        if column.values.dtype.kind == "O" and (means(HIT, column.name) or means(VERDICT, column.name)):
            said = [v.strip().lower() for v in texts(column).tolist()]
            if set(said) & GOOD and set(said) & BAD and set(said) <= GOOD | BAD:
                return column, np.array([v in GOOD for v in said], float)
    for column in named:
        if column.values.min() >= 0 and column.values.max() <= 1 and np.ptp(column.values) > 0:
            return column, column.values
    return None


def sound(text: str) -> bool:
    """Whether an output is one: neither empty, nor a loop, nor the same few words.

    >>> sound("The printer is back."), sound(""), sound("of the " * 9)
    (True, False, False)
    """
    words = text.split()[:FIRST]
    return bool(words) and not loop(text) and (len(words) < WORDS or len(set(words)) >= OWN_WORDS * len(words))


def _by_level(table: Table) -> Iterator[Finding]:
    """A row a level of padding, from none on, with the score of its items."""
    if not LEAST_LEVELS <= len(table) <= LEVELS:
        return
    level = next((c for c in table.columns if means(PADDING, c.name)), None)
    count = next((c for c in table.columns if c.values.dtype.kind == "f" and means(COUNT, c.name)), None)
    hit = next((c for c in table.columns if c.values.dtype.kind == "f" and c is not level and c is not count
                and means(HIT, c.name)), None)  # fmt: skip
    if level is None or count is None or hit is None or not np.isfinite([*count.values, *hit.values]).all():
        return
    order = _levels(level)
    if order is None or count.values.min() < EACH:
        return
    values, counts = hit.values[order], count.values[order]
    scale = 100.0 if values.max() > 1 else 1.0
    shares = (values / scale).tolist()
    if min(shares) < 0 or max(shares) > 1 or not _falls(shares, counts.tolist()) or shares[1] > shares[0]:
        return
    said = " > ".join(f"{s:.0%}" for s in shares)
    yield Finding(
        "score-follows-padding", Severity.S1,
        f"{hit.name} of {table.file} falls from the {counts[0]:.0f} items without padding on with every level of "
        f"{level.name}: {said}; the score goes with the padding.",
        f"{table.file} 中从无填充的 {counts[0]:.0f} 条起，{level.name} 每高一档 {hit.name} 就更低：{said}；"
        "分数随填充量下降。",
        shown(table, [int(order[0]), int(order[-1])], hit.name), {"shares": shares, "by": ["padding"]},
    )  # fmt: skip


def _levels(column: Column) -> np.ndarray | None:
    """Rows in the order of their padding, the first without any; None where a cell is no such level."""
    if column.values.dtype.kind == "f":
        lows = column.values.tolist()
    else:
        cells = [c.strip().lower() for c in texts(column).tolist()]
        found = [0.0 if c in NONE else float(m[0]) if (m := FIGURE.search(c)) else -1.0 for c in cells]
        lows = [f + 1e-6 * (c[:1] in ">≥" or c.endswith("+")) for f, c in zip(found, cells, strict=True)]
        if sum(c in NONE for c in cells) != 1:
            return None
    order = np.argsort(lows, kind="stable")
    apart = len(set(lows)) == len(lows)
    return order if apart and np.isfinite(lows).all() and lows[order[0]] == 0 else None


def _own(numbers: Sequence[Column]) -> Column | None:
    return next((c for c in numbers if means(OWN, c.name)), None)


def _gap(table: Table, numbers: list[Column]) -> np.ndarray | None:
    """How many places of padding each item has."""
    if (said := next((c for c in numbers if means(PADDING, c.name)), None)) is not None:
        values = np.abs(said.values)
        return values if (values == 0).any() else None
    longest = next((c for c in numbers if means(LONGEST, c.name)), None)
    own = _own([c for c in numbers if c is not longest])
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

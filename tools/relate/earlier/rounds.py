"""Rounds or runs in one table, each with how much of its data was made by a model: whether what comes out gets worse
with that share, and whether a setting that was changed as well has anything to do with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain

LEAST, MOST = 5, 40
"""Rows of a table of rounds."""
MADE = bounded(r"(?:^|_)(?:n_)?(?:synth\w*|generated|self_?gen\w*|distill?\w*|machine_?made)(?:_|$)|合成|自生成|蒸馏")
WITHOUT = bounded(
    r"(?i)(?:without|w/o|\bno\b|minus|exclud\w*|remov\w*|drop\w*|去掉|去除|不含|没有|剔除|除去|无)[\s:：_-]{0,3}\S{0,12}?"
    r"(?:synth|generated|self[_-]?(?:gen|instruct)|distil|aug|pseudo|made|teacher|paraphras|合成|自生成|蒸馏|生成|增广|增强"
    r"|扩写|伪)"
)
"""What says that data which a model made was left out."""
SHARE = bounded(r"share|ratio|frac|pct|percent|proportion|占比|比例|率")
COUNT = bounded(r"^(?:n|num|count)_|_(?:n|num|count|rows|docs|samples|pairs|examples)$|条数|数量|篇数")
VARIED = bounded(
    r"(?:^|_)(?:distinct|dist|uniq(?:ue)?|m?a?ttr|diversity|vocab_?size|entropy)_?\d?(?:_|$)|多样性|去重率"
)
ALIKE = bounded(r"self_?bleu|homogeneity|template|same_|identical|top_?opening|repeat|重复|同质|雷同|相同|模板")
UNTRUE = bounded(
    r"halluc|unsupported|fabricat|invent|contradict|unfaithful|not_in_source|fact\w*_?err|幻觉|编造|无依据|事实错误"
)
SET = bounded(
    r"^(?:lr|learning_rate|epochs?|batch(?:_size)?|beta|warmup|wd|weight_decay|temperature|学习率|轮数|批大小)$"
)
GOES, FALLS = 0.9, 0.25
"""Correlation, and share of the largest value by which the outcome differs, from which on one goes with the other. Own
judgement."""
SAME = 0.1
"""Share of the whole range within which two rounds are the same."""


def worse_with_made(tables: Sequence[Table]) -> Iterator[Finding]:
    """Variety that falls, sameness or untrue claims that rise, with the share of made data over the rounds: two of
    them, or one where what else was changed is told apart."""
    for table in tables:
        share = _share(table) if LEAST <= len(table) <= MOST else None
        if share is None:
            continue
        goes = [(c, way) for c in table.of("measure") if (way := _bad(c)) and _goes(share, way * c.values)]
        columns = [c for c, _ in goes]
        cleared = _cleared(table, share, columns)
        if len(goes) > 1 or (goes and cleared):
            yield _told(table, share, columns, cleared)


def worse_unless_left_out(tables: Sequence[Table]) -> Iterator[Finding]:
    """Rows of which one says that it was trained without what a model made, and is better than all that say nothing of
    it, by its variety, its sameness and its untrue claims: two of them at least."""
    for table in (t for t in tables if 2 <= len(t) <= MOST):
        for column in (c for c in table.columns if c.values.dtype.kind == "O"):
            said = texts(column).tolist()
            out = [i for i, v in enumerate(said) if WITHOUT.search(v)]
            kept = [i for i, v in enumerate(said) if v.strip() and i not in out and _one_of(v, [said[k] for k in out])]
            goes = [(c, way) for c in table.of("measure") if (way := _bad(c)) and out and kept]
            apart = [c for c, way in goes if (way * c.values[kept]).min() > (way * c.values[out]).max()
                     and _far(c.values[kept], c.values[out])]  # fmt: skip
            if len(apart) > 1 and len(apart) == len(goes):
                yield _without(table, (kept[0], out[0]), said, apart)
                return


def _one_of(value: str, others: Sequence[str]) -> bool:
    """Whether a value names what one of the others says that something was left out of: its first word is theirs."""
    first = value.split()[0] if value.split() else ""
    return any(first and other.startswith(first) for other in others)


def _far(kept: np.ndarray, out: np.ndarray) -> bool:
    return float(abs(np.median(kept) - np.median(out))) >= FALLS * float(np.abs([*kept, *out]).max())


def _without(table: Table, rows: tuple[int, int], said: Sequence[str], apart: Sequence[Column]) -> Finding:
    kept, out = rows
    told = "; ".join(f"{c.name} {c.values[kept]:.4g} / {c.values[out]:.4g}" for c in apart[:4])
    return Finding(
        "worse-with-made-data", Severity.S1,
        f"In {table.file} the training on {said[kept]!r} is worse than that on {said[out]!r} by all {len(apart)} "
        f"measures of variety and truth: {told}.",
        f"{table.file} 中用“{said[kept]}”训练比用“{said[out]}”在多样性与真实性的 {len(apart)} 项指标上都更差：{told}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=apart[0].name, value=float(apart[0].values[i]))
              for i in rows),
        {"measures": [c.name for c in apart], "cleared": ""},
    )  # fmt: skip


def _share(table: Table) -> np.ndarray | None:
    """The share of made data in each row: as it is written, or the count of it in that of all."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    made = next((c for c in numbers if means(MADE, c.name)), None)
    if made is None or (made.values < 0).any() or _bad(made):
        return None
    if means(SHARE, made.name) or made.values.max() <= 1:
        found = made.values / (100 if made.values.max() > 1 else 1)
    else:
        rest = [c for c in numbers if c is not made and _counts_too(made.name, c.name)]
        whole = made.values + sum((c.values for c in rest), np.zeros(len(table)))
        if not rest or (whole <= 0).any():
            return None
        found = made.values / whole
    return found if float(np.ptp(found)) >= 0.2 else None


def _counts_too(made: str, name: str) -> bool:
    """Whether a column counts another part of the same whole: `n_synth` and `n_real`."""
    a, b = plain(made).split("_"), plain(name).split("_")
    return bool(COUNT.search(plain(name))) and len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1


def _bad(column: Column) -> int:
    """The way in which a measure is bad: 1 up, -1 down, 0 for what is neither variety nor truth."""
    if column.values.dtype.kind != "f" or not np.isfinite(column.values).all():
        return 0
    return -1 if means(VARIED, column.name) else int(bool(means(ALIKE, column.name) or means(UNTRUE, column.name)))


def _goes(share: np.ndarray, worse: np.ndarray) -> bool:
    if not np.ptp(worse) >= FALLS * np.abs(worse).max() > 0:
        return False
    return bool(np.corrcoef(share, worse)[0, 1] >= GOES)


def _told(table: Table, share: np.ndarray, goes: Sequence[Column], cleared: tuple[Column, str] | None) -> Finding:
    names = next((texts(c).tolist() for c in table.columns if c.values.dtype.kind == "O"), None)
    low, high = int(share.argmin()), int(share.argmax())
    said = "; ".join(f"{c.name} {c.values[low]:.4g} -> {c.values[high]:.4g}" for c in goes[:4])
    who = f" ({names[low]} and {names[high]})" if names else ""
    more = f". {cleared[0].name} has no part in it: {cleared[1]}" if cleared else ""
    more_zh = f"。与 {cleared[0].name} 无关：{cleared[1]}" if cleared else ""
    return Finding(
        "worse-with-made-data", Severity.S1,
        f"Over {len(table)} rounds it gets worse with the share of made data, {share[low]:.0%} to {share[high]:.0%}"
        f"{who}: {said}{more}.",
        f"{len(table)} 轮中，合成数据占比越高越差，从 {share[low]:.0%} 到 {share[high]:.0%}{who}：{said}{more_zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=goes[0].name, value=float(goes[0].values[i]))
              for i in (high, low)),
        {"low": float(share[low]), "high": float(share[high]), "measures": [c.name for c in goes],
         "cleared": cleared[0].name if cleared else ""},
    )  # fmt: skip


def _cleared(table: Table, share: np.ndarray, goes: Sequence[Column]) -> tuple[Column, str] | None:
    """A setting that differs between two rounds of one share which came out alike."""
    settings = [c for c in table.columns if c.values.dtype.kind == "f" and means(SET, c.name)]
    high = np.flatnonzero(share >= np.median(share)).tolist()
    for i, j in combinations(high, 2):
        alike = all(abs(c.values[i] - c.values[j]) <= SAME * np.ptp(c.values) for c in goes)
        if not goes or not alike or abs(share[i] - share[j]) >= 0.02:
            continue
        for column in settings:
            a, b = float(column.values[i]), float(column.values[j])
            if np.isfinite((a, b)).all() and a != b:
                x, y = (float(goes[0].values[k]) for k in (i, j))
                return column, f"{a:.3g} {goes[0].name} {x:.4g}, {b:.3g} {goes[0].name} {y:.4g}"
    return None

"""Rows that come out the same to the last digit, in whatever file: a training, an adapter or a method without effect.

A table with a single such pair among four rows or more is `scores.twins`; here are several pairs, and few rows of which
one is the model before training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isfinite
from typing import NamedTuple

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ..line import plain
from .read import BASE, FILLER, TRAINED, Row, words

FIGURES, FULL, DIGITS, ROWS, TWINS = 3, 2, 3, 60, 4
"""Figures of a row (one more where neither is trained from the other), those of them that are written out, to how many
digits; rows of a table; rows from which on one pair is told by `scores.twins`. Own judgement."""
SEVERAL = 3
"""Files with the same figures on one benchmark and others elsewhere, from which on they are told."""
FEW = 100
"""Items of which shares are so coarse that they come out the same by chance."""
OF_COUNTS = bounded(r"f1|precision|recall|(?:^|_)(?:fpr?|fnr?|tpr?|tnr?|mcc|kappa|auc|auroc)(?:_|$)|corr|agree|rate"
                    r"|accura|sensitiv|specific|average|mean|准确|精确|召回|一致")  # fmt: skip
"""Figures that follow from the few counts of rights and wrongs."""
PERFECT, NEXT_TO_NOTHING, TINY = (0.0, 1.0, 100.0), 1e-6, 1e-8
"""Scores of what was left as it is; shares of the largest of their kind, and sizes, of a distance that is none."""
ASIDE = bounded(
    r"time|second|minute|latency|speed|throughput|memory|cost|date|(?:^|_)(?:n|num|count|total|size|support|samples|steps?|epochs?"
    r"|params?|rank|seed|shots?)(?:_|$)|delta|diff|change|vs(?:_|$)|rtf|耗时|时间|数量|差"
)
"""Measures that say nothing of quality."""
REPEATED = bounded(r"(?:^|[^a-z])(?:seed|run|repeat|trial|copy|replica|shard|fold|best|final|last|avg|average|macro"
                   r"|micro|weighted|mean|total|overall|all|summary)(?:[^a-z]|$)"
                   r"|种子|重复|平均|总体|最佳|最终")  # fmt: skip
"""Labels of what may well come out the same."""
STRENGTH = bounded(r"(?:^|_)(?:weight|coeff?(?:icient)?|alpha|beta|gamma|lambda|lam|strength|scale|mix(?:ing)?|ratio"
                   r"|dropout|temperature|penalty|noise|eps(?:ilon)?|权重|系数|强度|比例)(?:_|$)")  # fmt: skip
"""How much of something a row is given: at 0 it has none of it, and its kind makes no difference."""


class Same(NamedTuple):
    """Two rows with the same figures."""

    one: Row
    other: Row
    figures: tuple[str, ...]

    @property
    def full(self) -> set[float]:
        """Its figures that are written out."""
        return {v for k in self.figures if _digits(v := self.one.values[k]) >= DIGITS}

    @property
    def labels(self) -> tuple[str, str]:
        """What sets the two apart."""
        apart = [(a, b) for a, b in zip(self.one.names, self.other.names, strict=True) if a != b]
        return apart[0]

    @property
    def trained(self) -> bool:
        """Whether one is the model before training and the other the one after it."""
        said = [words(label) for label in self.labels]
        return any(any(BASE.fullmatch(w) for w in a) and any(TRAINED.fullmatch(w) for w in b)
                   for a, b in (said, said[::-1]))  # fmt: skip


def come_out_alike(rows: Sequence[Row]) -> list[Finding]:
    """The file with most pairs."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        if row.names and _figures(row):
            groups.setdefault((row.file, row.part, len(row.names)), []).append(row)
    found: dict[str, list[Same]] = {}
    for (file, *_), group in groups.items():
        if len(group) <= ROWS:
            found.setdefault(file, []).extend(_pairs(group))
    some = max((_enough(pairs, rows) for pairs in found.values()), key=len, default=[])
    return [_told(some)] if some else []


def _figures(row: Row) -> dict[str, float]:
    return {k: v for k, v in row.values.items() if isfinite(v) and not ASIDE.search(plain(k))}


def _enough(pairs: Sequence[Same], rows: Sequence[Row]) -> list[Same]:
    """The pairs that chance does not make: by their own figures, or by all that a file says of the same two labels."""
    pairs = [p for p in pairs if not _idle(p, rows)]
    sure = [p for p in pairs if len(p.figures) >= FIGURES + (not p.trained) and len(p.full) >= FULL]
    if sure:
        return sure
    by: dict[tuple[str, ...], list[Same]] = {}
    for pair in pairs:
        by.setdefault(tuple(sorted(pair.labels)), []).append(pair)
    for labels, some in by.items():
        own = [r for r in rows if r.file == some[0].one.file and not {*labels}.isdisjoint(r.names) and _figures(r)]
        whole = len(own) == 2 * len(some)  # wherever both stand they are the same
        if whole and len(some) > 1 and sum(len(p.full) for p in some) >= FIGURES:
            return some
    return []


def _pairs(group: Sequence[Row]) -> Iterator[Same]:
    """The pairs of one table, of which other rows differ or one is trained from the other."""
    pairs = [p for one, other in combinations(group, 2) if (p := _pair(one, other)) is not None]
    others = len(group) > 2 and not all(_same(a, b) for a, b in combinations(group, 2))
    pairs = [p for p in pairs if (others or p.trained) and not _switched_off(p, group)]
    if len(pairs) > 1 or len(group) < TWINS:
        yield from pairs


def _switched_off(pair: Same, group: Sequence[Row]) -> bool:
    """Whether both are given nothing of what others of the table are given, so that its kind makes no difference."""
    named = [k for k in pair.figures if STRENGTH.search(plain(k)) and pair.one.values[k] == 0]
    return any(row.values.get(k, 0) != 0 for k in named for row in group)


def _same(one: Row, other: Row) -> bool:
    a, b = _figures(one), _figures(other)
    return all(a[k] == b[k] for k in a.keys() & b.keys())


def _pair(one: Row, other: Row) -> Same | None:
    """The two, where one name sets them apart and every figure is the same."""
    apart = [(a, b) for a, b in zip(one.names, other.names, strict=True) if a != b]
    if one.line and one.line == other.line and one.file.endswith(".json"):
        return None  # two sides of one record, which `scores.paired` holds against each other
    if len(apart) != 1 or any(REPEATED.search(x.lower()) for x in apart[0]) or not _named(*apart[0]):
        return None
    both = sorted(_figures(one).keys() & _figures(other).keys())
    if len(both) < FIGURES or any(one.values[k] != other.values[k] for k in both) or _by_few(one, both):
        return None
    return Same(one, other, tuple(both))


def _by_few(row: Row, figures: Sequence[str]) -> bool:
    """Whether every figure is a share of so few items that two may well have the same, or follows from such a share."""
    n = row.n or 0
    if not 1 < n <= FEW:
        return False
    scale = 100.0 if any(row.values[k] > 1 for k in figures) else 1.0
    shares = [k for k in figures if abs((v := row.values[k] / scale * n) - round(v)) <= 5e-4 * n]
    return bool(shares) and all(k in shares or OF_COUNTS.search(plain(k)) for k in figures)


def _idle(pair: Same, rows: Sequence[Row]) -> bool:
    """Whether all that agrees is what nothing was done to: perfect scores, and distances that are next to nothing."""

    def nothing(name: str) -> bool:
        value = abs(pair.one.values[name])
        most = max((abs(r.values[name]) for r in rows if r.file == pair.one.file and name in r.values), default=0.0)
        return value in PERFECT or value <= NEXT_TO_NOTHING * most or value <= TINY

    return all(nothing(k) for k in pair.figures)


def _named(a: str, b: str) -> bool:
    """Whether labels differ in more than words that name no thing."""
    left, right = ({w for w in words(x) if not FILLER.fullmatch(w)} for x in (a, b))
    return left != right or (not left and a.lower() != b.lower())


def _digits(value: float) -> int:
    return len(f"{value:.10g}".replace(".", "").replace("-", "").strip("0"))


def same_in_files(rows: Sequence[Row]) -> list[Finding]:
    """One benchmark on which several files have the same figures to the last digit, and other ones elsewhere: one
    output was measured again and again under other names."""
    tasks: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        if row.names and len(row.scores()) and len(_figures(row)) >= FIGURES - 1:
            tasks.setdefault((row.part, row.names), []).append(row)
    found: list[list[Row]] = []
    for task in tasks.values():
        equal: dict[tuple[tuple[str, float], ...], dict[str, Row]] = {}
        for row in task:
            equal.setdefault(tuple(sorted(_figures(row).items())), {})[row.file] = row
        for figures, same in equal.items():
            full = {v for _, v in figures if _digits(v) >= DIGITS + 1}
            if len(same) >= SEVERAL and len(full) >= FULL and len(equal) > 1:
                found.append(_own(list(same.values()), rows))
    most = max(found, key=len, default=[])
    return [_told_of_files(most)] if len(most) >= SEVERAL else []


def _own(same: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Of files with the same figures on one benchmark those that differ from each other on another: no copies."""
    kept: dict[tuple[object, ...], Row] = {}
    for row in same:
        own = [r for r in rows if r.file == row.file and r.names != row.names and _figures(r)]
        beside = sorted((r.part, r.names, *sorted(_figures(r).items())) for r in own)
        if beside and not REPEATED.search(row.file.lower()):
            kept.setdefault(tuple(beside), row)
    return list(kept.values())


def _told_of_files(same: Sequence[Row]) -> Finding:
    row = same[0]
    task, files = clean(" / ".join(row.names), 60), ", ".join(clean(r.file, 60) for r in same[:3])
    said = ", ".join(f"{k} {v:.6g}" for k, v in list(_figures(row).items())[:4])
    more, more_zh = (f" and {len(same) - 3} more", f" 等 {len(same)} 个文件") if len(same) > 3 else ("", "")
    return Finding(
        "variants-come-out-equal", Severity.S2,
        f"{task} has the same figures to the last digit in {files}{more} ({said}), while these files differ on other "
        "benchmarks: one output was measured again under other names, or what sets them apart was not in force.",
        f"{task} 在 {files}{more_zh} 中每一位都相同（{said}），而这些文件在其他基准上各不相同：同一份输出被重复测量，"
        "或它们的差别没有生效。",
        tuple(r.evidence(next(iter(_figures(r)))) for r in same[:4]),
        {"pair": [clean(r.file, 60) for r in same[:2]], "figures": list(_figures(row)), "files": len(same)},
    )  # fmt: skip


def _told(some: Sequence[Same]) -> Finding:
    pair = next((p for p in some if p.trained), some[0])
    a, b = (clean(x, 60) for x in pair.labels)
    figures = ", ".join(f"{k} {pair.one.values[k]:.6g}" for k in pair.figures[:4])
    more = f", and {len(some) - 1} further pairs with them" if len(some) > 1 else ""
    more_zh = f"，另有 {len(some) - 1} 对" if len(some) > 1 else ""
    why = "what was trained is not in force there" if pair.trained else "what sets them apart had no effect there"
    why_zh = "训练出来的部分没有生效" if pair.trained else "两者的差别没有生效"
    return Finding(
        "scores-of-the-base" if pair.trained else "variants-come-out-equal", Severity.S2,
        f"{a} and {b} come out the same to the last digit in {clean(pair.one.said, 90)} ({figures}; "
        f"{len(pair.figures)} figures{more}), while others differ: {why}, or one was measured twice.",
        f"{clean(pair.one.said, 90)} 中 {a} 与 {b} 的结果每一位都相同（{figures}；共 {len(pair.figures)} 项"
        f"{more_zh}）：{why_zh}，或同一个被测了两次。",
        (pair.one.evidence(pair.figures[0]), pair.other.evidence(pair.figures[0])),
        {"pair": [a, b], "figures": list(pair.figures), "pairs": len(some)},
    )  # fmt: skip

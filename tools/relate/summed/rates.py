"""Tables with one row for each group and counts in them: shares of the groups against one another by their binomial
errors, and shares along a row of checkpoints that fall from their peak.

Groups that differ by nature (languages, tasks) differ in much: that is a note, unless what was counted ought not to
depend on what they are (removal on the language's spaces, being right on the length, winning on the order).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..contrast import Contrast
from ..line import means, plain
from .words import COUNTED, TOTAL, UNSPACED, WHOLE, apart, counted_of, is_count, kind_of, labels_of, shares_of

CLEAR = 4.0
"""Standard errors between two groups; the largest of a few tens of pairs of equal groups stays below."""
LEAST_POINTS = 0.05
"""Difference of two shares from which on it is told."""
TIMES = 5.0
"""Times that less is removed of one language than of another, from which on it is no property of the texts."""
LEAST_REMOVED = 0.02
"""Share that is removed elsewhere, below which there is nothing to miss."""
MOST_ROWS = 24
ALONG = ("step", "checkpoint", "epoch", "tokens", "samples")

CORPUS = bounded(r"(?i)corpus|pre_?train|crawl|语料")
"""A group of items by whether they stand in what a model was pretrained on."""


@dataclass(frozen=True)
class Rates:
    """One share in all groups of a table."""

    table: Table
    name: str
    """Of the counted column as the file writes it."""
    what: str
    """What was counted; empty where its name does not say."""
    by: str
    group: str
    labels: tuple[str, ...]
    counts: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray
    """Which rows of the table."""

    @property
    def shares(self) -> np.ndarray:
        return self.counts / self.sizes

    def said(self, i: int) -> str:
        return f"{self.shares[i]:.3g} ({self.percent(i)}) of {self.sizes[i]:.0f} for {self.labels[i]}"

    def percent(self, i: int) -> str:
        share = 100 * float(self.shares[i])
        return f"{share:.2f}%" if share < 1 else f"{share:.1f}%"

    def evidence(self, *which: int) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(self.table.file, int(self.table.lines[self.rows[i]]) or None, metric=self.name,
                     value=float(self.shares[i]), text=f"{self.group} {self.labels[i]}") for i in which
        )  # fmt: skip


def rated(table: Table) -> Iterator[Rates]:
    """Every share that the counts of a table make, by each column that has one row for each group; of a long table
    (a row for each shard), by language, of the sums."""
    yield from _taken(table)
    counts = [c for c in table.columns if is_count(c)]
    wholes = [c for c in counts if means(WHOLE, c.name) and not counted_of(c)]
    wholes += [c for c in counts if c not in wholes and means(WHOLE, c.name) and c.name not in _parts(counts)]
    if len(table) > MOST_ROWS + 1:
        yield from _pooled(table, wholes, counts)
        return
    for column, rows, labels in _labelled(table):
        for name, what, part, whole in _counted(table, wholes, counts):
            n = whole[rows]
            if (n >= 1).all():
                yield Rates(table, name, what, kind_of(column), column.name, labels, part[rows], n, rows)


def _labelled(table: Table) -> Iterator[tuple[Column, np.ndarray, tuple[str, ...]]]:
    """The columns that have one row for each of a few groups, their rows and the groups."""
    for column, said in labels_of(table):
        rows = np.array([i for i, v in enumerate(said.tolist()) if not TOTAL.search(v)], int)
        if 2 <= len(rows) <= MOST_ROWS and len(set(said[rows].tolist())) == len(rows):
            yield column, rows, tuple(said[rows].tolist())


READ = bounded(r"(?:^|_)(?:in|input|read|before|raw|original)(?:_|$)|输入|读入|处理前|去重前")
LEFT = bounded(r"(?:^|_)(?:out|output|after|kept|remaining|left)(?:_|$)|输出|保留|处理后|去重后|剩余")


def _taken(table: Table) -> Iterator[Rates]:
    """What was taken out between two counts of a deduplication or filter, where no column says it."""
    counts = [c for c in table.columns if is_count(c)]
    read = next((c for c in counts if means(READ, c.name)), None)
    left = next((c for c in counts if c is not read and means(LEFT, c.name)), None)
    about = f"{plain(table.file)} {' '.join(plain(c.name) for c in table.columns)}"
    if read is None or left is None or not COUNTED["removed"].search(about) or (left.values > read.values).any():
        return
    if any(counted_of(c) == "removed" for c in counts):
        return
    for column, rows, labels in _labelled(table):
        if (read.values[rows] >= 1).all():
            yield Rates(table, f"{read.name} - {left.name}", "removed", kind_of(column), column.name, labels,
                        (read.values - left.values)[rows], read.values[rows], rows)  # fmt: skip


def _pooled(table: Table, wholes: Sequence[Column], counts: Sequence[Column]) -> Iterator[Rates]:
    """The shares of the sums over all rows of each language."""
    for column, said in labels_of(table):
        labels, first, at = np.unique(said.astype(str), return_index=True, return_inverse=True)
        many = 2 <= len(labels) <= MOST_ROWS and 2 * len(labels) <= len(table)
        if not many or kind_of(column) != "language" or any(map(TOTAL.search, labels)):
            continue
        for name, what, part, whole in _counted(table, wholes, counts):
            n = np.bincount(at, whole)
            if (n >= 1).all():
                yield Rates(table, name, what, "language", column.name, tuple(labels.tolist()),
                            np.bincount(at, part), n, first)  # fmt: skip


def _parts(counts: Sequence[Column]) -> set[str]:
    return {c.name for c in counts if counted_of(c)}


def _counted(
    table: Table, wholes: Sequence[Column], counts: Sequence[Column]
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """(name, what, counted, of how many) for each part of a whole; a share counts once beside its own count."""
    if not wholes:
        return
    whole = wholes[0].values
    seen: list[np.ndarray] = []
    shares = [(c, s) for c in table.columns if c.role == "measure" and (s := shares_of(c)) is not None]
    for column in counts:
        part = column.values
        if column in wholes or (part > whole).any() or not part.any():
            continue
        own = next((c for c, s in shares if np.allclose(s, part / np.maximum(whole, 1), atol=6e-4)), None)
        what = counted_of(column) or (counted_of(own) if own is not None else "")
        if what or own is not None:
            seen.append(part / np.maximum(whole, 1))
            yield (own or column).name, what, part, whole
    for column, share in shares:
        if (what := counted_of(column)) and not any(np.allclose(share, s, atol=6e-4) for s in seen):
            yield column.name, what, share * whole, whole


def contrast_of(r: Rates) -> Contrast | None:
    """The two groups that lie furthest apart, where chance does not put them there."""
    shares = r.shares
    low, high = int(shares.argmin()), int(shares.argmax())
    z = apart(r.counts[low], r.sizes[low], r.counts[high], r.sizes[high])
    far = shares[high] - shares[low] >= LEAST_POINTS or shares[high] >= TIMES * max(float(shares[low]), 1e-9)
    if z < CLEAR or not far:
        return None
    error = float(shares[high] - shares[low]) / z
    off = float(shares[low] - shares[high])
    return Contrast(
        r.what or r.name, r.name, r.by, (r.labels[low],), float(shares[low]), float(shares[high]), z,
        (off - 1.96 * error, off + 1.96 * error), dict(zip(r.labels, r.sizes.astype(int).tolist(), strict=True)),
        False, r.evidence(low, high),
    )  # fmt: skip


def judged(r: Rates, c: Contrast) -> Finding:
    """The contrast as a finding: what it means where that is known, else a note."""
    for judge in (_language, _longer, _order, _leaked):
        if (found := judge(r, c)) is not None:
            return found
    low, high = (r.labels.index(name) for name in (c.different[0], _highest(r)))
    return Finding(
        "rates-differ", Severity.S3,
        f"{r.name} differs by {r.by}: {r.percent(low)} of {r.sizes[low]:.0f} for {r.labels[low]}, {r.percent(high)} of "
        f"{r.sizes[high]:.0f} for {r.labels[high]} ({c.gap:.0f} standard errors).",
        f"{r.name} 随 {r.group} 不同：{r.labels[low]} 为 {r.percent(low)}（n={r.sizes[low]:.0f}），{r.labels[high]} 为 "
        f"{r.percent(high)}（n={r.sizes[high]:.0f}），相差 {c.gap:.0f} 个标准误。",
        c.evidence, _data(r, c),
    )  # fmt: skip


def _highest(r: Rates) -> str:
    return r.labels[int(r.shares.argmax())]


def _data(r: Rates, c: Contrast) -> dict[str, object]:
    return {"metric": r.name, "what": r.what, "by": r.by, "gap": c.gap, "interval": list(c.interval),
            "shares": dict(zip(r.labels, r.shares.round(5).tolist(), strict=True)), "sizes": dict(c.sizes)}  # fmt: skip


def _language(r: Rates, c: Contrast) -> Finding | None:
    """Hardly anything is removed of a language without spaces, and a usual share of one with them."""
    if r.by != "language" or r.what != "removed":
        return None
    spaced = [i for i, name in enumerate(r.labels) if name.lower() not in UNSPACED]
    other = [i for i, name in enumerate(r.labels) if name.lower() in UNSPACED]
    if not spaced or not other:
        return None
    high, low = max(spaced, key=lambda i: r.shares[i]), min(other, key=lambda i: r.shares[i])
    idle = [i for i in other if r.shares[high] >= TIMES * r.shares[i]]
    if r.shares[high] < LEAST_REMOVED or not idle or low not in idle or len(idle) < len(other) / 2:
        return None
    usual = [i for i in spaced if r.shares[i] >= TIMES * max(r.shares[i] for i in idle)]
    said, zh = (word.join(f"{r.labels[i]} {r.percent(i)}" for i in idle) for word in (", ", "、"))
    others, zh_others = (word.join(f"{r.labels[i]} {r.percent(i)}" for i in usual) for word in (", ", "、"))
    return Finding(
        "removed-by-language", Severity.S1,
        f"{r.name}: of languages without spaces hardly anything is removed ({said}), of others "
        f"a usual share ({others}): {c.gap:.0f} standard errors apart, no property of the texts but of "
        "how they are cut into pieces.",
        f"{r.name}：没有空格的语言几乎没有被移除（{zh}），其余正常（{zh_others}）：这不是文本本身的差别，而是切分特"
        "征的方式造成的。",
        r.evidence(*idle[:3], *usual[:3]), _data(r, c),
    )  # fmt: skip


def _longer(r: Rates, c: Contrast) -> Finding | None:
    """A scorer that is right where the better answer is longer and worse than chance where it is shorter."""
    if r.by != "longer" or r.what not in ("right", "won"):
        return None
    short = np.array(["short" in name.lower() or "短" in name for name in r.labels])
    k, n = ((float(v[short].sum()), float(v[~short].sum())) for v in (r.counts, r.sizes))
    low, high = wilson(int(k[0]), int(n[0]))
    if high >= 0.5 or k[1] / n[1] <= 0.5:
        return None
    each = ", ".join(f"{name} {r.percent(i)} of {r.sizes[i]:.0f}" for i, name in enumerate(r.labels))
    which = np.flatnonzero(short)[np.argsort(r.shares[short])]
    return Finding(
        "score-follows-length", Severity.S1,
        f"The scores are right in {k[1] / n[1]:.1%} of {n[1]:.0f} pairs where the chosen answer is longer and in "
        f"{k[0] / n[0]:.1%} (95%: {low:.1%} to {high:.1%}) of {n[0]:.0f} where it is shorter, below chance: {each}. "
        "The mean over all pairs hides it.",
        f"chosen 更长的 {n[1]:.0f} 对中打分正确 {k[1] / n[1]:.1%}，更短的 {n[0]:.0f} 对中仅 {k[0] / n[0]:.1%}（95% "
        f"区间 {low:.1%} 到 {high:.1%}），低于随机：{each}。总体准确率掩盖了这一点。",
        r.evidence(*which.tolist()[:3], int(r.shares.argmax())),
        _data(r, c) | {"longer": k[1] / n[1], "shorter": k[0] / n[0]},
    )  # fmt: skip


def _order(r: Rates, c: Contrast) -> Finding | None:
    """One side wins more where it is shown at one place than at the other."""
    if r.by not in ("order", "position") or r.what not in ("won", "right") or len(r.labels) != 2:
        return None
    if abs(float(np.diff(r.shares)[0])) < 2 * LEAST_POINTS:
        return None
    return Finding(
        "verdicts-follow-order", Severity.S2,
        f"{r.name} follows the order in which the answers are shown: {r.percent(0)} of {r.sizes[0]:.0f} for "
        f"{r.labels[0]}, {r.percent(1)} of {r.sizes[1]:.0f} for {r.labels[1]} ({c.gap:.0f} standard errors).",
        f"{r.name} 随展示顺序变化：{r.labels[0]} 为 {r.percent(0)}（{r.sizes[0]:.0f} 次），{r.labels[1]} 为 "
        f"{r.percent(1)}（{r.sizes[1]:.0f} 次）。",
        r.evidence(0, 1), _data(r, c),
    )  # fmt: skip


def _leaked(r: Rates, c: Contrast) -> Finding | None:
    """Items that stand in the training data too are answered right more often than those that do not."""
    if r.by != "leaked" or r.what != "right" or len(r.labels) != 2:
        return None
    no = [i for i, name in enumerate(r.labels) if name.lower() in ("0", "false", "no", "clean", "none", "否", "无", "")
          or "clean" in name.lower() or "not" in name.lower() or "no_" in name.lower()]  # fmt: skip
    if len(no) != 1 or r.shares[1 - no[0]] <= r.shares[no[0]]:
        return None
    return leaked(r, 1 - no[0], no[0])


def leaked(r: Rates, yes: int, no: int, beside: str = "", zh: str = "", where: str = "") -> Finding:
    """The score on items that were trained on beside the one on the clean ones."""
    whole = float(r.counts.sum() / r.sizes.sum())
    return Finding(
        "score-follows-corpus" if CORPUS.search(r.group) else "score-follows-overlap", Severity.S1,
        f"{r.name} is {r.percent(yes)} on the {r.sizes[yes]:.0f} of {r.sizes.sum():.0f} items that overlap the "
        f"training data{where} and {r.percent(no)} on the {r.sizes[no]:.0f} clean ones ({whole:.1%} over "
        f"all){beside}.",
        f"{r.name} 在与训练数据重合的 {r.sizes[yes]:.0f} 题{where}（共 {r.sizes.sum():.0f} 题）上为 "
        f"{r.percent(yes)}，在"
        f"其余 {r.sizes[no]:.0f} 题上为 {r.percent(no)}（合计 {whole:.1%}）{zh}。",
        r.evidence(yes, no), {"metric": r.name, "overlap": float(r.shares[yes]), "clean": float(r.shares[no]),
                              "items": int(r.sizes.sum()), "overlapping": int(r.sizes[yes])},
    )  # fmt: skip


def fallen(table: Table) -> Iterator[Finding]:
    """A counted share of something good that rises along the checkpoints, and falls from its peak to the end."""
    axis = next((c for c in table.of("axis") if c.of in ALONG and c.values.dtype.kind == "f"), None)
    if axis is None or not 4 <= len(table) <= MOST_ROWS or len(set(axis.values.tolist())) < len(table):
        return
    order = np.argsort(axis.values, kind="stable")
    counts = [c for c in table.columns if is_count(c) and c is not axis]
    wholes = [c for c in counts if means(WHOLE, c.name) and not counted_of(c)]
    for name, what, part, whole in _counted(table, wholes, counts):
        if what not in ("won", "right", "resolved"):
            continue
        r = Rates(table, name, what, axis.of, axis.name, tuple(f"{axis.values[i]:.10g}" for i in order),
                  part[order], np.maximum(whole[order], 1), order)  # fmt: skip
        top, last = int(r.shares.argmax()), len(r.labels) - 1
        z = apart(r.counts[top], r.sizes[top], r.counts[last], r.sizes[last])
        still = all(r.shares[i] <= r.shares[top] - LEAST_POINTS / 2 for i in range(top + 1, last + 1))
        if z >= CLEAR and top < last and still and r.shares[top] - r.shares[last] >= LEAST_POINTS:
            yield _peak(r, axis, top, last, z)


def _peak(r: Rates, axis: Column, top: int, last: int, z: float) -> Finding:
    return Finding(
        "share-falls-from-peak", Severity.S2,
        f"{r.name} is best at {axis.name} {r.labels[top]} ({r.percent(top)} of {r.sizes[top]:.0f}) and falls to "
        f"{r.percent(last)} of {r.sizes[last]:.0f} at {r.labels[last]} ({z:.1f} standard errors); {r.labels[0]}: "
        f"{r.percent(0)}.",
        f"{r.name} 在 {axis.name} {r.labels[top]} 最好（{r.percent(top)}，n={r.sizes[top]:.0f}），到 "
        f"{r.labels[last]} 降到 "
        f"{r.percent(last)}（n={r.sizes[last]:.0f}，相差 {z:.1f} 个标准误）；{r.labels[0]} 时为 {r.percent(0)}。",
        r.evidence(last, top),
        {"metric": r.name, "best": float(axis.values[r.rows[top]]), "peak": float(r.shares[top]),
         "last": float(r.shares[last]), "z": z},
    )  # fmt: skip

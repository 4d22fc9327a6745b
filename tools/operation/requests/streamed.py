"""What a monitor of the training data counts along the run: of so many samples so many were flagged, by source.

A share that steps up in one source and stays is the data of that source; where every source moves at once it may be
the monitor, which is not told here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...relate.line import place, plain
from ...tables.table import Column, Table

HITS = bounded(
    r"(?:^|_)(?:flag(?:ged|s)?|hits?|positives?|detect(?:ed|ions?)|violations?|caught)(?:_|$)|tox|unsafe|harmful|nsfw"
    r"|profan|(?:^|_)pii(?:_|$)|命中|检出|标记|违规|有害|毒性|隐私"
)
WHOLE = bounded(
    r"(?:^|_)(?:sampled?|samples|n|num|total|checked|scanned|seen|rows|docs|documents|records|lines)(?:_|$)|抽样|样本数"
    r"|条数|总数|扫描|(?:^|_)(?:prompts|generations|completions|responses|messages|outputs)(?:_|$)|生成数|回复数"
)
SHARE = bounded(r"(?:^|_)(?:rate|ratio|share|pct|percent|frac|fraction|prop)(?:_|$)|率|占比|比例|%")
CALM = bounded(r"cache|retriev|search|recall|prefix|index|缓存|检索|召回")
"""Hits that are wanted."""
SUBJECTS: Mapping[str, tuple[str, str, str]] = {
    "toxic-share-rises": (
        r"tox|unsafe|safety|harmful|nsfw|profan|hate|abus|有害|毒性|不安全|安全监控|涉黄|不良",
        "toxic",
        "毒性内容",
    ),
    "pii-share-rises": (r"(?:^|_)pii(?:_|$)|personal|privacy|隐私|个人信息", "personal data", "个人信息"),
}
"""Code -> what is counted, by the names of column, file and folder."""
_SUBJECT = {code: bounded(words) for code, (words, *_) in SUBJECTS.items()}
PLACES, MOST_PLACES, MOST_GROUPS = 4, 20_000, 64
"""Places on each side of the step; rows and groups of a table that are looked at."""
TIMES, CLEAR, CALMER = 3.0, 6.0, 1.5
"""Times that the share grows, and standard errors; times below which another source stayed where it was."""
LEAST = 0.002
"""Share from which on it is worth telling."""
CALLED = 3
"""Different words in a column that says with what was counted (a classifier, a version, a kind)."""
GREW = 1.5
"""Times that the share among outputs of the model grows, to be told beside it."""


@dataclass(frozen=True)
class Step:
    """A share along the run, and where it steps up for good."""

    group: str
    before: float
    after: float
    at: float
    z: float
    row: int
    """Of the table, at the step."""
    came: bool = False
    """Whether the group came in there, and nothing of it was counted before."""

    @property
    def times(self) -> float:
        return self.after / max(self.before, 1e-4)

    @property
    def up(self) -> bool:
        return self.z >= CLEAR and self.times >= TIMES and self.after >= LEAST


def streamed(tables: Sequence[Table]) -> Iterator[Finding]:
    """One finding for each table whose counted share of something bad steps up."""
    for table in tables:
        ways = sorted((c for c in table.of("axis") if c.values.dtype.kind == "f"), key=lambda c: c.of != "step")
        axis = next((c for c in ways if c.of != "index"), ways[0] if ways else None)
        if axis is None or not 2 * PLACES <= len(table) <= MOST_PLACES:
            continue
        for column, shares in _shares(table):
            about, code = _about(table, column)
            found = _told(table, column, axis, shares, code) if code and not CALM.search(about) else None
            if found is not None:
                yield _beside(found, axis, [t for t in tables if t is not table])
                break


def _about(table: Table, column: Column) -> tuple[str, str]:
    """What the names say, with the few words of a column that says how it was counted, and the code of that."""
    cells = " ".join(" ".join(words) for words in _constant(table, CALLED).values())
    about = plain(" ".join((column.name, table.file, table.part, cells)))
    return about, next((code for code, words in _SUBJECT.items() if words.search(about)), "")


def _constant(table: Table, most: int = 1) -> dict[str, list[str]]:
    """Columns of words, and of numbers that never change, with their few values."""
    out = {}
    for column in table.of("text", "measure", "group"):
        known = column.values if column.values.dtype.kind != "f" else column.values[np.isfinite(column.values)]
        words = list(dict.fromkeys(str(v) for v in known[:MOST_PLACES].tolist()))
        if 0 < len(words) <= (most if column.values.dtype.kind != "f" else 1) and len(known) == len(table):
            out[column.name] = words
    return out


def _shares(table: Table) -> Iterator[tuple[Column, np.ndarray]]:
    """Columns of hits as shares of what was looked at."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and c.role != "axis"]
    whole = next((c for c in numbers if WHOLE.search(plain(c.name)) and not HITS.search(plain(c.name))), None)
    for column in numbers:
        name, values = plain(column.name), column.values
        if column is whole or not HITS.search(name) or not np.isfinite(values).all() or (values < 0).any():
            continue
        if SHARE.search(name) and values.max() <= 100:
            yield column, values / (100 if values.max() > 1 else 1)
        elif whole is not None and np.isfinite(whole.values).all() and (values <= whole.values).all():
            yield column, values / np.maximum(whole.values, 1)


def _told(table: Table, column: Column, axis: Column, shares: np.ndarray, code: str) -> Finding | None:
    groups = [*_groups(table)]
    steps = [s for label, rows in groups if (s := _step(label, axis.values, shares, rows)) is not None]
    known = {s.group for s in steps if s.up}
    steps += [s for label, rows in groups if label not in known
              and (s := _entered(label, axis.values, shares, rows)) is not None]  # fmt: skip
    up = max((s for s in steps if s.up), key=lambda s: s.z, default=None)
    if up is None:
        return None
    others = [s for s in steps if s.group != up.group and not s.up]
    if 2 * len(others) < len(groups) or not any(s.times < CALMER for s in others):
        return None  # everywhere at once: perhaps it is what counts that changed
    same = ", ".join(f"{name} {words[0]}" for name, words in [*_constant(table).items()][:3])
    with_, with_zh = (f" with the same {same} throughout", f"，前后 {same} 未变") if same else ("", "")
    _, what, zh = SUBJECTS[code]
    where = place(axis.of or "step", up.at)
    beside = max(s.after for s in others)
    return Finding(
        code, Severity.S1,
        f"{column.name} ({what}) of {up.group} goes from {up.before:.2%} to {up.after:.2%} of the samples at {where} "
        f"and stays ({up.z:.0f} standard errors), while {len(others)} others stay at or below {beside:.2%}{with_}"
        f"{'; it came in there, and before is the share of all others' if up.came else ''}.",
        f"{column.name}（{zh}）：{up.group} 的占比从 {where} 起由 {up.before:.2%} 升到 {up.after:.2%} 并保持（"
        f"{up.z:.0f} 个标准误），其余 {len(others)} 组不超过 {beside:.2%}{with_zh}"
        f"{'；它从那里才进入，此前为其余各组的占比' if up.came else ''}。",
        (Evidence(table.file, int(table.lines[up.row]) or None, metric=column.name, value=float(shares[up.row]),
                  text=up.group),),
        {"group": up.group, "before": up.before, "after": up.after, "at": up.at, "others": beside,
         "names": up.group.rpartition(" ")[2]},
    )  # fmt: skip


def _groups(table: Table) -> Iterator[tuple[str, np.ndarray]]:
    """The rows of each group of the first column that has several."""
    for column in table.of("group"):
        said = np.array([str(v) for v in column.values.tolist()], object)
        names = list(dict.fromkeys(said.tolist()))
        if 1 < len(names) <= MOST_GROUPS and len(said) >= 2 * PLACES * len(names):
            for name in names:
                yield f"{column.name} {name}", np.flatnonzero(said == name)
            return


def _step(label: str, places: np.ndarray, shares: np.ndarray, rows: np.ndarray) -> Step | None:
    """Where the share of a group steps up most clearly, with its means on both sides."""
    rows = rows[np.isfinite(places[rows]) & np.isfinite(shares[rows])]
    rows = rows[np.argsort(places[rows], kind="stable")]
    values, n = shares[rows], len(rows)
    if n < 2 * PLACES:
        return None
    total, squares = np.cumsum(values), np.cumsum(values**2)
    k = np.arange(PLACES, n - PLACES + 1)
    left, right = total[k - 1] / k, (total[-1] - total[k - 1]) / (n - k)
    spread = squares[k - 1] / k - left**2, (squares[-1] - squares[k - 1]) / (n - k) - right**2
    error = np.sqrt(np.maximum(spread[0], 1e-9) / k + np.maximum(spread[1], 1e-9) / (n - k))
    z = (right - left) / error
    best = int(np.argmax(z))
    last = float(np.median(values[-PLACES:]))
    stays = float(z[best]) if last >= (left[best] + right[best]) / 2 else 0.0
    i = int(k[best])
    return Step(label, float(left[best]), float(right[best]), float(places[rows[i]]), stays, int(rows[i]))


def _entered(label: str, places: np.ndarray, shares: np.ndarray, rows: np.ndarray) -> Step | None:
    """A group of which nothing was counted before some place on the way, against all others before it."""
    fine = np.isfinite(places) & np.isfinite(shares)
    rows = rows[fine[rows]]
    if len(rows) < PLACES:
        return None
    rows = rows[np.argsort(places[rows], kind="stable")]
    first = float(places[rows[0]])
    before = shares[fine & (places < first)]
    if len(set(places[fine & (places < first)].tolist())) < PLACES or not len(before):
        return None
    after = shares[rows]
    error = np.sqrt(max(float(before.var()), 1e-9) / len(before) + max(float(after.var()), 1e-9) / len(after))
    last = float(np.median(after[-PLACES:]))
    z = float((after.mean() - before.mean()) / error) if last >= (before.mean() + after.mean()) / 2 else 0.0
    return Step(label, float(before.mean()), float(after.mean()), first, z, int(rows[0]), True)


def _beside(found: Finding, axis: Column, tables: Sequence[Table]) -> Finding:
    """The finding, with a share of the same kind that is counted in what the model says and grows from there on."""
    at = float(found.data["at"])
    for table in tables:
        way = next((c for c in table.of("axis") if c.values.dtype.kind == "f" and _one_way(c, axis)), None)
        if way is None or not 3 <= len(table) <= MOST_PLACES or any(_groups(table)):
            continue
        for column, shares in _shares(table):
            early, late = (np.flatnonzero(side) for side in (way.values <= at, way.values > at))
            if _about(table, column)[1] != found.code or min(len(early), len(late)) < 2:
                continue
            last, usual = int(late[-1]), float(shares[early].mean())
            if shares[last] >= GREW * usual and shares[late].min() > shares[early].max():
                text = f" {column.name} of {table.file} grows with it, {usual:.2%} to {shares[last]:.2%}."
                zh = f"{table.file} 的 {column.name} 随之由 {usual:.2%} 升到 {shares[last]:.2%}。"
                place_ = Evidence(table.file, int(table.lines[last]) or None, metric=column.name,
                                  value=float(column.values[last]))  # fmt: skip
                return replace(
                    found, message=found.message + text, zh=found.zh + zh, evidence=(*found.evidence, place_)
                )
    return found


def _one_way(a: Column, b: Column) -> bool:
    """Whether both say the same kind of place; checkpoints are called by their steps."""
    return a.of == b.of or {a.of, b.of} <= {"step", "checkpoint"}

"""Evaluation files of several versions, and what their data were made of: which ability fell while others stayed, which
group of rows came in, and whether a further version tells a suspected setting from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from math import sqrt

import numpy as np

from ...config.naming import meant
from ...findings import Evidence, Finding, Severity
from ...logs.chance import chance_of
from ...patterns import bounded
from ...scores import FOLLOWING, GENERAL, KNOWING
from ...tables.table import Column, Table
from ..answers import EARLIER, LATER
from ..distributions import texts
from ..line import means, plain
from ..summed.words import TOTAL, WHOLE, is_count, kind_of, labels_of

CLEAR, STILL, POINTS = 5.0, 2.5, 0.05
"""Standard errors and points by which a score fell, and standard errors within which one stayed."""
UNKNOWN_SIZE = 200.0
LEAST_STEADY = 2
ADDED, USUAL = 0.15, 4.0
"""Share of all rows that a new group makes, to be told; times that a group grew, to count as new."""
RECORDS, LOOKED = 100, 4000
"""Records of a file from which on its shares are compared; characters of each in which turns are counted."""
COUNT_OF = bounded(
    r"(?i)[_.-]?(?:head|rand(?:om)?|shuf(?:fled)?|first|top|sample|subset|n|前|抽样?)[_.-]?\d{2,7}k?(?![a-z\d])"
)
SHARDED = bounded(r"(?i)part|shard|chunk|split|worker|rank|-of-|(?<!\d)0\d{2,}|分片")
"""Names of the parts of one version, which may hold other sources each."""
TURN = bounded(r"(?i)['\"](?:role|from)['\"]\s{0,2}:\s{0,2}['\"](?:user|human|问|用户)['\"]")
VERSION = bounded(r"(?:_|^)(?:v|r|ver|version|old|new|before|after|prev|旧|新|版)_?\d{0,4}$")
NOT_SCORES = bounded(r"stderr|error|(?:^|_)(?:n|num|count|size|samples?|rows|time|seconds)(?:_|$)")


ITEMS = tuple(
    (bounded(rf"(?:^|_){name}(?:_|$)"), n)
    for name, n in (("ifeval", 541), ("gsm8k", 1319), ("bbh", 6511), ("humaneval", 164), ("truthfulqa", 817))
)
"""Items of public benchmarks that guessing does not reach, by their own papers; of others `tools.logs.chance` knows."""


@dataclass(frozen=True)
class Version:
    """The scores of one evaluation file, or of one row of a table of versions."""

    table: Table
    setup: dict[str, str]
    scores: dict[str, tuple[float, float, int]]
    """Task and measure -> score, items, row."""
    label: str = ""
    """What its row calls it; empty where it has a file of its own."""

    @property
    def name(self) -> str:
        return self.label or re.sub(r"\.[a-z]{2,5}$", "", self.table.file.rpartition("/")[2])


def abilities(tables: Sequence[Table]) -> Iterator[Finding]:
    """Abilities that fell from one version to the next, and groups of rows that came in."""
    yield from added(tables)
    files = [v for t in tables if 2 <= len(t) <= 200 and (v := _version(t, tables)) is not None]
    for versions in (files, *(_by_row(t) for t in tables if 2 <= len(t) <= 40)):
        found = [f for a, b in permutations(versions[:20], 2)
                 if (f := _fell(a, b, [v for v in versions if v not in (a, b)]))]  # fmt: skip
        if found:
            yield from max(found, key=len)
            return


def _by_row(table: Table) -> list[Version]:
    """The versions of a table that has a row for each, with the scores of public benchmarks as columns."""
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and c.role != "axis"
                  and len(set(texts(c).tolist())) == len(table)), None)  # fmt: skip
    scores = [c for c in table.columns if c.values.dtype.kind == "f" and _is_score(c)]
    if label is None or len(scores) <= LEAST_STEADY:
        return []
    others = [c for c in table.columns if c not in (label, *scores) and c.role != "identifier"]
    return [
        Version(
            table,
            {c.name: str(c.values[i]) for c in others if str(c.values[i]) not in ("", "nan")},
            {c.name: (float(c.values[i]), _items(c.name), i) for c in scores if np.isfinite(c.values[i])},
            said,
        )
        for i, said in enumerate(texts(label).tolist())
    ]


def _is_score(column: Column) -> bool:
    finite = column.values[np.isfinite(column.values)]
    known = GENERAL.search(column.name) or FOLLOWING.search(column.name) or KNOWING.search(column.name)
    return bool(known and len(finite) and finite.min() >= 0 and finite.max() <= 100
                and not means(NOT_SCORES, column.name))  # fmt: skip


def _items(name: str) -> float:
    known = chance_of(name)
    usual = float(known.items) if known is not None else UNKNOWN_SIZE
    return next((float(n) for pattern, n in ITEMS if pattern.search(plain(name))), usual)


def _version(table: Table, tables: Sequence[Table]) -> Version | None:
    task = next((c for c in table.columns if c.of == "task" and c.values.dtype.kind == "O"), None)
    if task is None or len(set(texts(task).tolist())) < len(table):
        return None
    size = next((c for c in table.columns if means(WHOLE, c.name) and c.values.dtype.kind == "f"), None)
    scores = {}
    for column in table.columns:
        values = column.values
        if values.dtype.kind != "f" or column is size or means(NOT_SCORES, column.name):
            continue
        if meant(column.name, str(values[0])) is not None:
            continue  # a setting that stands in the results stays whatever the abilities do
        for i in np.flatnonzero(np.isfinite(values)).tolist():
            n = float(size.values[i]) if size is not None and np.isfinite(size.values[i]) else UNKNOWN_SIZE
            if 0 <= values[i] <= 100:
                scores[f"{texts(task)[i]} {column.name}"] = (float(values[i]), n, i)
    beside = [t for t in tables if t.file == table.file and t is not table and len(t) == 1]
    setup = {c.name: str(c.values[0]) for t in beside for c in t.columns}
    return Version(table, setup, scores) if len(scores) > LEAST_STEADY else None


def _z(a: tuple[float, float, int], b: tuple[float, float, int]) -> float:
    """Standard errors by which b lies below a."""
    scale = 100.0 if max(a[0], b[0]) > 1 else 1.0
    p = min(max((a[0] + b[0]) / 2 / scale, 0.01), 0.99)
    return (a[0] - b[0]) / scale / sqrt(p * (1 - p) * (1 / max(a[1], 1) + 1 / max(b[1], 1)))


def _fell(before: Version, after: Version, others: Sequence[Version]) -> list[Finding] | None:
    """The abilities that fell while at least two stayed, and what a version that has them again says."""
    if not _earlier(before.name, after.name) or not _of_one_name(before.name, after.name):
        return None
    both = [k for k in before.scores if k in after.scores]
    scale = 100.0 if any(before.scores[k][0] > 1 for k in both) else 1.0
    fell = [k for k in both if _z(before.scores[k], after.scores[k]) >= CLEAR
            and before.scores[k][0] - after.scores[k][0] >= POINTS * scale]  # fmt: skip
    still = [k for k in both if abs(_z(before.scores[k], after.scores[k])) < STILL]
    if not fell or len({k.partition(" ")[0] for k in still} - {k.partition(" ")[0] for k in fell}) < LEAST_STEADY:
        return None
    number = _numbers(after.name)
    others = sorted(others, key=lambda v: _numbers(v.name)[: len(number)] != number)
    again = next((v for v in others if _has(v, before, fell)), None)
    said, zh = _said(fell, before, after), _said(still[:4], before, after)
    alike = ", ".join(f"{k} {v}" for k, v in after.setup.items() if before.setup.get(k) == v) if after.label else ""
    en = f" Both have {alike}." if alike else ""
    zh_beside = f"两者的 {alike} 相同。" if alike else ""
    if again is not None and again.label:
        en += f" {again.name} has not fallen ({_said(fell[:2], before, again)})."
        zh_beside += f"{again.name} 没有下降（{_said(fell[:2], before, again)}）。"
    out = [Finding(
        "ability-lost", Severity.S1,
        f"From {before.name} to {after.name} {said} fall while {zh} stay: one ability is lost, not all.{en}",
        f"从 {before.name} 到 {after.name}，{said} 下降，而 {zh} 不变：丢的是一种能力，不是整体。{zh_beside}",
        (*_places(after, fell), *_places(before, fell), *(_places(again, fell) if again and again.label else ())),
        {"before": before.name, "after": after.name, "fell": fell, "stayed": still[:8]},
    )]  # fmt: skip
    if all(FOLLOWING.search(k) for k in fell) and any(KNOWING.search(k) for k in still):
        out.append(replace(
            out[0], code="instructions-lost-alone", severity=Severity.S2,
            message=f"From {before.name} to {after.name} only following instructions is lost ({said}).",
            zh=f"从 {before.name} 到 {after.name}，只有指令遵循下降（{said}）。",
        ))  # fmt: skip
    same = {k: v for k, v in after.setup.items()
            if again is not None and again.setup.get(k) == v and before.setup.get(k) != v}  # fmt: skip
    if again is not None and same:
        what = ", ".join(f"{k.rpartition('.')[2]} {v}" for k, v in list(same.items())[:3])
        out.append(Finding(
            "setting-not-to-blame", Severity.S2,
            f"{again.name} has the same {what} as {after.name} and does not have the fall "
            f"({_said(fell, after, again)}): that setting is not what did it.",
            f"{again.name} 的 {what} 与 {after.name} 相同，却没有下降（{_said(fell, after, again)}）：不是它造成的。",
            _places(again, fell), {"settings": list(same), "version": again.name},
        ))  # fmt: skip
    return out


def _has(v: Version, before: Version, keys: Sequence[str]) -> bool:
    """Whether a version is as good as the earlier one in these."""
    return all(k in v.scores and _z(before.scores[k], v.scores[k]) < STILL for k in keys)


def _numbers(name: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d{1,9}", name)]


def _earlier(a: str, b: str) -> bool:
    """Whether one name surely stands before the other: by their numbers, or as old and new."""
    x, y = _numbers(a), _numbers(b)
    if x and y:
        return x < y
    return bool(means(EARLIER, a) and means(LATER, b))


def _of_one_name(a: str, b: str) -> bool:
    """Whether two names are those of versions of one thing: alike apart from their numbers, or one with more behind
    it, or called old and new. `test_fed_v2` and `m4_test` are two things, whichever number is higher."""
    x, y = (re.sub(r"[\d\W_]+", "", name.lower()) for name in (a, b))
    return x.startswith(y) or y.startswith(x) or bool(means(EARLIER, a) and means(LATER, b))


def _said(keys: Sequence[str], a: Version, b: Version) -> str:
    return ", ".join(f"{k} {a.scores[k][0]:.4g} -> {b.scores[k][0]:.4g}" for k in keys[:4])


def _places(v: Version, keys: Sequence[str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(v.table.file, int(v.table.lines[v.scores[k][2]]) or None, metric=k, value=v.scores[k][0])
                 for k in keys[:2])  # fmt: skip


def added(tables: Sequence[Table]) -> Iterator[Finding]:
    """A source that is new in a version: of two columns of one table, or of two files of records."""
    found = next(_in_columns(tables), None) or next(_in_records(tables), None)
    if found is not None:
        yield found


def _in_records(tables: Sequence[Table]) -> Iterator[Finding]:
    """Two files of records that name their source, of which the later has one that hardly stands in the earlier."""
    kept = []
    for table in tables:
        label = next((c for c, _ in labels_of(table) if c.of == "source" and len(table) >= RECORDS), None)
        if label is not None:
            kept.append((table, label))
    for (a, old), (b, new) in permutations(kept[:12], 2):
        names = _stem(a.file), _stem(b.file)
        if plain(old.name) != plain(new.name) or any(map(SHARDED.search, names)) or not _earlier(*names):
            continue
        was, now = texts(old), texts(new)
        for name in dict.fromkeys(now.tolist()):
            share, before = float((now == name).mean()), float((was == name).mean())
            if share >= ADDED and share >= USUAL * max(before, 1 / len(was)) and name.strip():
                yield _of_records(a, b, now == name, (name, before, share))
                return


def _stem(file: str) -> str:
    """The part of a file's name that says its version: counts of records behind it say none."""
    return COUNT_OF.sub("", re.sub(r"\.[a-z]{2,8}$", "", file.rpartition("/")[2]))


def _of_records(a: Table, b: Table, rows: np.ndarray, found: tuple[str, float, float]) -> Finding:
    name, before, share = found
    said = max((c for c in b.columns if c.role == "text"), key=lambda c: len(str(c.values[0])), default=None)
    beside = zh = ""
    if said is not None:
        sizes = np.array([len(v) for v in texts(said).tolist()])
        asked = np.array([len(TURN.findall(v[:LOOKED])) for v in texts(said).tolist()])
        mine, theirs = (float(np.median(sizes[m])) for m in (rows, ~rows))
        beside = f"; {mine:.0f} characters of {said.name} in the middle, {theirs:.0f} in the others"
        zh = f"；{said.name} 的长度中位数为 {mine:.0f} 字符，其余为 {theirs:.0f}"
        if asked.max() > 0:
            one, rest = (float((asked[m] == 1).mean()) for m in (rows, ~rows))
            beside += f"; {one:.0%} of them have a single turn, {rest:.0%} of the others"
            zh += f"；其中 {one:.0%} 只有一轮，其余为 {rest:.0%}"
    i = int(np.flatnonzero(rows)[0])
    return Finding(
        "source-added", Severity.S3,
        f"{name} is new: {before:.1%} of the {len(a)} records of {a.file}, {share:.1%} of the {len(b)} of "
        f"{b.file}{beside}.",
        f"{name} 是新加的：{a.file} 的 {len(a)} 条中占 {before:.1%}，{b.file} 的 {len(b)} 条中占 {share:.1%}{zh}。",
        (Evidence(b.file, int(b.lines[i]) or None, text=name), Evidence(a.file)),
        {"source": name, "share": share, "rows": float(rows.sum()), "names": name},
    )  # fmt: skip


def _in_columns(tables: Sequence[Table]) -> Iterator[Finding]:
    """Two columns that count the rows of two versions by source, and a source that is new in the second."""
    for table in tables:
        if not 3 <= len(table) <= 200:
            continue
        label = next(((c, s) for c, s in labels_of(table) if kind_of(c) in ("source", "shard", "task")
                      and len(set(s.tolist())) == len(s)), None)  # fmt: skip
        counts = [c for c in table.columns if is_count(c) and c.values.sum() >= 100]
        if label is None or len(counts) < 2:
            continue
        for old, new in pairwise(counts):
            stems = {VERSION.sub("", plain(c.name)) for c in (old, new)}
            if len(stems) == 1 and plain(old.name) != plain(new.name) and (found := _new(table, label[1], old, new)):
                yield found
                return


def _new(table: Table, said: np.ndarray, old: Column, new: Column) -> Finding | None:
    keep = np.array([not TOTAL.search(v) for v in said.tolist()])
    whole = float(new.values[keep].sum())
    grown = keep & (new.values >= ADDED * whole) & (new.values >= USUAL * np.maximum(old.values, 1))
    if grown.sum() != 1 or whole <= 0:
        return None
    i = int(np.flatnonzero(grown)[0])
    share = float(new.values[i]) / whole
    beside = ", ".join(f"{c.name} {c.values[i]:.4g}" for c in table.columns
                       if c.values.dtype.kind == "f" and c not in (old, new))  # fmt: skip
    return Finding(
        "source-added", Severity.S3,
        f"{said[i]} is new: {old.values[i]:.0f} of {old.values[keep].sum():.0f} rows in {old.name}, "
        f"{new.values[i]:.0f} of {whole:.0f} ({share:.1%}) in {new.name}{f' ({beside})' if beside else ''}.",
        f"{said[i]} 是新加的：{old.name} 中 {old.values[i]:.0f} 条，{new.name} 中 {new.values[i]:.0f} 条，占 "
        f"{whole:.0f} 条的 {share:.1%}{f'（{beside}）' if beside else ''}。",
        (Evidence(table.file, int(table.lines[i]) or None, metric=new.name, value=float(new.values[i]),
                  text=str(said[i])),),
        {"source": str(said[i]), "share": share, "rows": float(new.values[i]), "names": str(said[i])},
    )  # fmt: skip

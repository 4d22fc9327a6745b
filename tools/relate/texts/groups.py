"""Answers drawn together to one prompt: how many of a group differ, early in the training and late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import shown, texts
from ..line import means, plain
from .loops import outputs

GROUP = bounded(r"^(?:prompt|question|input|query|group|item|uid|gid)(?:_?(?:id|idx|index|no|uid|text))?$"
                r"|^(?:提示词?|问题|输入|题目|题|组|分组)(?:编号|号|序号)?$")  # fmt: skip
NUMBER = re.compile(r"(?i)(?:step|iter|ckpt|checkpoint|epoch|update|dump|rollouts?|gen|步|轮)[_\-.]?(\d{1,9})")
"""Where on the way a dump is whose rows do not say it, by its file's name."""
SIZE, GROUPS = 3, 8
"""Answers of a group, and groups of a place, below which nothing is said."""
VARIED, ALIKE = 0.6, 0.4
"""Share of different answers in a group early and late. Own judgement."""


Place = tuple[float, float, Table, int, str]
"""(where on the way, share of different answers in a group, its table, a row of it, the column of the answers)."""


def answering_alike(table: Table) -> Iterator[Finding]:
    """Groups whose answers all differed and later hardly do."""
    yield from _judged([*_places(table)])


def alike_across(tables: Sequence[Table]) -> Iterator[Finding]:
    """The same over dumps of one form, a file for each place of the training."""
    forms: dict[tuple[str, ...], list[Place]] = {}
    for table in tables:
        if len(found := [*_places(table)]) == 1:
            forms.setdefault(tuple(sorted(plain(c.name) for c in table.columns)), []).extend(found)
    for places in forms.values():
        if len({p[0] for p in places}) == len(places) > 1:
            yield from _judged(places)


def _places(table: Table) -> Iterator[Place]:
    output = outputs(table)
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f" and np.isfinite(c.values).all()), None)
    group = next((c for c in table.columns if c is not output and c is not axis and means(GROUP, c.name)), None)
    named = NUMBER.findall(PurePath(table.file).stem)
    if output is None or group is None or (axis is None and not named):
        return
    way = axis.values.tolist() if axis is not None else [float(named[-1])] * len(table)
    found: dict[float, dict[str, list[str]]] = {}
    for x, g, text in zip(way, texts(group), texts(output), strict=True):
        found.setdefault(x, {}).setdefault(str(g), []).append(str(text).strip())
    for x, groups in sorted(found.items()):
        whole = [len(set(some)) / len(some) for some in groups.values() if len(some) >= SIZE]
        if len(whole) >= GROUPS:
            yield x, float(np.mean(whole)), table, way.index(x), output.name


def _judged(places: Sequence[Place]) -> Iterator[Finding]:
    if len(places) < 2:
        return
    (first, was, early, row, name), (last, now, late, end, _) = (
        min(places, key=lambda p: p[0]),
        max(places, key=lambda p: p[0]),
    )
    if was < VARIED or now > ALIKE:
        return
    yield Finding(
        "groups-answer-alike", Severity.S2,
        f"Of the answers to one prompt {was:.0%} differ at step {first:g} and {now:.0%} at {last:g}: the policy "
        "says the same whatever is drawn.",
        f"同一提示的一组回答中，互不相同的比例从 step {first:g} 的 {was:.0%} 降到 {last:g} 的 {now:.0%}："
        "怎么采样都是同一个回答。",
        (*shown(late, [end], name), *shown(early, [row], name)), {"before": was, "after": now, "places": len(places)},
    )  # fmt: skip

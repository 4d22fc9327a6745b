"""Answers drawn together to one prompt: how many of a group differ, early in the training and late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import shown, texts
from ..line import means
from .loops import outputs

GROUP = bounded(r"^(?:prompt|question|input|query|group|item|uid)(?:_?(?:id|idx|index|no|uid|text))?$"
                r"|^(?:提示词?|问题|输入|题目|题|组|分组)(?:编号|号|序号)?$")  # fmt: skip
SIZE, GROUPS = 3, 8
"""Answers of a group, and groups of a place, below which nothing is said."""
VARIED, ALIKE = 0.6, 0.4
"""Share of different answers in a group early and late. Own judgement."""


def answering_alike(table: Table) -> Iterator[Finding]:
    """Groups whose answers all differed and later hardly do."""
    output = outputs(table)
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f" and np.isfinite(c.values).all()), None)
    group = next((c for c in table.columns if c is not output and c is not axis and means(GROUP, c.name)), None)
    if output is None or axis is None or group is None:
        return
    found: dict[float, dict[str, list[str]]] = {}
    for x, g, text in zip(axis.values.tolist(), texts(group), texts(output), strict=True):
        found.setdefault(x, {}).setdefault(str(g), []).append(str(text).strip())
    shares = {}
    for x, groups in sorted(found.items()):
        whole = [len(set(some)) / len(some) for some in groups.values() if len(some) >= SIZE]
        if len(whole) >= GROUPS:
            shares[x] = float(np.mean(whole))
    if len(shares) < 2:
        return
    (first, was), (last, now) = next(iter(shares.items())), [*shares.items()][-1]
    if was < VARIED or now > ALIKE:
        return
    rows = [int(np.flatnonzero(axis.values == x)[0]) for x in (last, first)]
    yield Finding(
        "groups-answer-alike", Severity.S2,
        f"Of the answers to one prompt {was:.0%} differ at {axis.name} {first:g} and {now:.0%} at {last:g}: the policy "
        "says the same whatever is drawn.",
        f"同一提示的一组回答中，互不相同的比例从 {axis.name} {first:g} 的 {was:.0%} 降到 {last:g} 的 {now:.0%}："
        "怎么采样都是同一个回答。",
        shown(table, rows, output.name), {"before": was, "after": now, "places": len(shares)},
    )  # fmt: skip

"""Attempts and replays of one batch, one row each: the same samples turn to NaN whatever else was changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import means

BAD = bounded(r"(?:nan|non_?finite|inf|bad|fail\w*|crash\w*|diverg\w*"
              r"|坏|异常|出错|发散)_?\w{0,10}(?:step|iter\w*|at|步)"
              r"|(?:step|iter\w*|步)\w{0,10}(?:nan|non_?finite|bad|fail\w*|异常|出错)")  # fmt: skip
SAMPLES = bounded(r"(?:^|_)(?:samples?|batch|examples?|docs?|rows?|data)_?(?:ids?|idx|index|indices|hash|key)s?(?:_|$)"
                  r"|样本(?:编号|号|id)|批次(?:编号|号)")  # fmt: skip
OTHER = bounded(r"(?:^|_)(?:ckpt|checkpoint|lr|learning_rate|seed|precision|dtype|node|start|from|clip|warmup)(?:_|$)"
                r"|检查点|学习率|精度|种子|节点|起点")  # fmt: skip
MOST = 200


def again(table: Table) -> Iterator[Finding]:
    """Attempts that differ in how they were run, and fail at one place with the same samples."""
    if not 2 <= len(table) <= MOST:
        return
    bad = next((c for c in table.columns if means(BAD, c.name)), None)
    samples = next((c for c in table.columns if c is not bad and means(SAMPLES, c.name)), None)
    tried = [c for c in table.columns if c not in (bad, samples) and means(OTHER, c.name) and _differ(c)]
    if bad is None or samples is None or not tried or _differ(samples) or not texts(samples)[0].strip():
        return
    failed = bad.values.dtype.kind == "f" and np.isfinite(bad.values).all() and not _differ(bad)
    if not failed:
        return
    by = ", ".join(c.name for c in tried[:3])
    yield Finding(
        "same-batch-nonfinite-again", Severity.S2,
        f"{len(table)} attempts that differ in {by} all have {bad.name} {bad.values[0]:g}, with the same "
        f"{samples.name} "
        f"({texts(samples)[0][:60]}): it is the batch.",
        f"{len(table)} 次尝试的 {by} 不同，{bad.name} 都是 {bad.values[0]:g}，{samples.name} 也相同"
        f"（{texts(samples)[0][:60]}）：问题在这个 batch。",
        shown(table, [0, len(table) - 1], bad.name), {"attempts": len(table), "at": float(bad.values[0])},
    )  # fmt: skip


def _differ(column: Column) -> bool:
    return len(set(texts(column).tolist())) > 1

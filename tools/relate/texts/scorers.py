"""Scores of answers against their length: within each prompt, and where the same answer was made longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...data.statistics import spearman
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import ENOUGH, shown, texts
from ..line import means, plain
from .groups import GROUP
from .loops import outputs

SCORE = bounded(r"(?:^|_)(?:score|reward|rm|rating)(?:_|$)|得分|分数|奖励|打分")
PEOPLE = bounded(r"human|expert|annot|人工|专家|标注")
PADDED = bounded(r"filler|padded|padding|appended|lengthened|longer|verbose|加长|填充|灌水|附加")
FOLLOWS, MOST_PAID = 0.3, 0.8
"""000: rank correlation of length and score below 0.3. Share of answers that a neutral addition must pay for."""
SIZE, GROUPS, CLEAR = 3, 20, 4.0


def follows_within(table: Table) -> Iterator[Finding]:
    """Scores that go with the length among the answers to one prompt."""
    output = outputs(table)
    score = next((c for c in table.columns if c.values.dtype.kind == "f" and means(SCORE, c.name)
                  and not means(PEOPLE, c.name)), None)  # fmt: skip
    group = next((c for c in table.columns if c not in (output, score) and means(GROUP, c.name)), None)
    if output is None or score is None or group is None or table.of("axis"):
        return
    length = np.array([len(t) for t in texts(output).tolist()], float)
    by: dict[str, list[int]] = {}
    for i, g in enumerate(texts(group).tolist()):
        by.setdefault(g, []).append(i)
    whole = [rows for rows in by.values() if len(rows) >= SIZE and len(set(length[rows])) > 1]
    if len(whole) < GROUPS:
        return
    within = np.array([spearman(length[rows], score.values[rows]) for rows in whole])
    rho = float(np.nanmean(within))
    if rho < FOLLOWS or rho < CLEAR * float(np.nanstd(within)) / np.sqrt(len(within)):
        return
    yield Finding(
        "length-reward-correlation", Severity.S2,
        f"Among the answers to one prompt {score.name} goes with their length: rank correlation {rho:.2f} on "
        "average over "
        f"{len(whole)} prompts (runbook: below {FOLLOWS}).",
        f"同一问题的各个回答中，{score.name} 随长度变化：{len(whole)} 个问题内的秩相关平均 {rho:.2f}（Runbook：应低于 "
        f"{FOLLOWS}）。",
        shown(table, whole[0][:3], score.name), {"rho": rho, "prompts": len(whole)},
    )  # fmt: skip


def pays_for_more(table: Table) -> Iterator[Finding]:
    """The same answers scored as they were and with something neutral added to them."""
    scores = [c for c in table.columns if c.values.dtype.kind == "f" and means(SCORE, c.name)]
    longer = next((c for c in scores if PADDED.search(plain(c.name))), None)
    other = next((c for c in scores if c is not longer), None)
    if longer is None or other is None or len(table) < ENOUGH:
        return
    off = (longer.values - other.values)[np.isfinite(longer.values) & np.isfinite(other.values)]
    error = float(off.std()) / np.sqrt(max(len(off), 1))
    share = float((off > 0).mean()) if len(off) >= ENOUGH else 0.0
    if share < MOST_PAID or off.mean() < CLEAR * error:
        return
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{longer.name} is above {other.name} in {share:.0%} of {len(off)} answers, by {off.mean():.3g} on "
        "average (standard "
        f"error {error:.2g}): text that says nothing is paid.",
        f"{len(off)} 条回答中有 {share:.0%} 的 {longer.name} 高于 {other.name}，平均高 {off.mean():.3g}（标准误 "
        f"{error:.2g}）：加上没有内容的文字也能得分。",
        shown(table, np.argsort(-(longer.values - other.values))[:3].tolist(), longer.name),
        {"share": share, "by": float(off.mean()), "answers": len(off)},
    )  # fmt: skip

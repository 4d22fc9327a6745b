"""A phrase at the end or the beginning of answers that a reward pays for, whatever else they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import shown, texts
from ..line import means
from .loops import outputs

REWARD = bounded(
    r"^(?:proxy_?|mean_?|total_?)?(?:reward|score|return|rm|rm_score)s?$|^(?:rm|奖励|奖励模型|模型)?_?(?:奖励|得分|打分|评分|分数|分)(?:值|分)?$"
)
LEAST, SOME, MOST = 60, 0.05, 0.9
"""Answers, and shares of them that hold the phrase at least and at most."""
PAYS, CLEAR, LONGEST, SHORTEST = 1.0, 8.0, 120, 8
"""Deviations of the reward by which the phrase pays, standard errors, and characters of a phrase."""
SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
FORM = re.compile(r"<[^>]{1,30}>|\\boxed|####|```|^\W*$|\d")
"""What an answer is asked to hold: tags, a box, a number."""


def paid_for(table: Table) -> Iterator[Finding]:
    """The phrase with which the reward goes."""
    output = outputs(table)
    reward = next((c for c in table.columns if c.values.dtype.kind == "f" and means(REWARD, c.name)), None)
    if output is None or reward is None or len(table) < LEAST or not np.isfinite(reward.values).all():
        return
    said = [_ends(t) for t in texts(output).tolist()]
    for place in (1, 0):
        for phrase, count in Counter(ends[place] for ends in said).most_common(3):
            has = np.array([ends[place] == phrase for ends in said])
            if not phrase or not SOME <= count / len(said) <= MOST:
                continue
            paid, rest = reward.values[has], reward.values[~has]
            spread = float(np.hypot(paid.std(), rest.std()) / np.sqrt(2)) or 1e-9
            apart = float(paid.mean() - rest.mean())
            if apart >= PAYS * spread and apart >= CLEAR * spread * np.sqrt(1 / len(paid) + 1 / len(rest)):
                top = reward.values >= np.quantile(reward.values, 0.9)
                yield Finding(
                    "phrase-paid", Severity.S2,
                    f"{count} of {len(said)} answers {'end' if place else 'begin'} with {phrase!r} and have "
                    f"{reward.name} "
                    f"{paid.mean():.3g} on average, the others {rest.mean():.3g}; among the best tenth it is "
                    f"{has[top].mean():.0%}, among all {has.mean():.0%}.",
                    f"{len(said)} 条回答中有 {count} 条以“{phrase}”{'结尾' if place else '开头'}，{reward.name} 平均 "
                    f"{paid.mean():.3g}，其余 {rest.mean():.3g}；得分最高的十分之一中占 {has[top].mean():.0%}，"
                    "全部中占 "
                    f"{has.mean():.0%}。",
                    shown(table, np.flatnonzero(has)[:3].tolist(), output.name),
                    {"phrase": phrase, "with": float(paid.mean()), "without": float(rest.mean()), "count": count},
                )  # fmt: skip
                return


def _ends(text: str) -> tuple[str, str]:
    """The first and the last sentence of a text, empty where there are not two of them or it is a matter of form."""
    parts = [p.strip() for p in SENTENCE.split(text.strip()[:4000]) if p.strip()]
    if len(parts) < 2:
        return "", ""
    first, last = (p if SHORTEST <= len(p) <= LONGEST and not FORM.search(p) else "" for p in (parts[0], parts[-1]))
    return first, last

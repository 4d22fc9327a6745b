"""A judge that writes a reason for each answer, and the score beside it: whether the score follows what is written.

A score is taken out of the judge's text by a program. Where the text is cut before it, or is written another way, the
program falls back to a default, and every answer has the same score whatever the judge says of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from ..summed.words import named_score

REASON = bounded(
    r"(?:^|_)(?:feedback|reason(?:ing|s)?|rationale|explanation|critique|comments?|justification|judg(?:e)?ment(?:_text)?"
    r"|judge_(?:output|response|text|raw|reply)|analysis|review|verdict_text)(?:_|$)|理由|评语|点评|评价|反馈|解释|分析"
)
SCORE = bounded(
    r"(?:^|_)(?:score|rating|grade|points|mark|judge_\w{1,16}|helpful\w{0,8}|quality)(?:_|$)|得分|分数|评分|打分"
)
COMPUTED = bounded(
    r"(?:^|_)(?:exact_?match|em|f1|bleu\w*|rouge\w*|chrf\w*|meteor|bert_?score|edit\w*|levenshtein|similarity|accuracy"
    r"|pass_?(?:at_?)?\d+)(?:_|$)"
)
"""Scores that a program computes, whatever a judge writes."""
BAD = bounded(
    r"(?i)\bunhelpful|\b(?:is|are|was) (?:also )?(?:not|n't|in)\s?(?:helpful|accurate|relevant|correct|useful)"
    r"|\bdoes(?: not|n't) (?:address|answer|follow)|\bmajor (?:error|flaw)|\bincorrect|\bfails? to\b|\birrelevant"
    r"|\bmisunderst|\bnonsens|\bwrong\b|\bpoor(?:ly)?\b"
    r"|错误|不正确|不准确|无关|没有回答|未回答|答非所问|毫无帮助|没有帮助|较差|很差"
)
GOOD = bounded(
    r"(?i)\b(?:fully|highly|very) (?:helpful|accurate|relevant|correct)|\bhelpful and\b|\bexcellent|\bcorrectly"
    r"|\b(?:is|are) (?:also )?(?:well|clear|accurate|correct|helpful|informative|comprehensive|relevant)"
    r"|\baccurately|\bcomprehensive|\bgood\b|正确|准确|很好|优秀|全面|清晰|切题|有帮助"
)
ROWS, APART, SAME, EACH = 30, 0.7, 0.97, 0.1
"""Rows; share of them whose reasons differ; share that has one score; share of reasons that praise and that condemn
from which on they cannot all mean the same. Own judgement."""
WHOLE = bounded(r"[.!?。！？\]\)\"'”’*}\d]\s{0,8}$")
CUT = 0.7
"""Share of reasons without an end from which on what stood behind it is missing."""


class Judged(NamedTuple):
    """One table of reasons and a score that is the same in nearly all rows."""

    table: Table
    reason: Column
    score: Column
    value: str
    rows: int
    same: int
    bad: list[int]
    good: list[int]
    cut: int
    """Reasons that break off."""


def unfollowed(tables: Sequence[Table]) -> list[Finding]:
    """The score with most rows, over all tables that have it."""
    by: dict[tuple[str, str], list[Judged]] = {}
    for table in tables:
        for one in _judged(table) if len(table) >= ROWS else ():
            by.setdefault((one.score.name, one.value), []).append(one)
    whole = [some for some in by.values() if _contradicted(some)]
    return [_told(max(whole, key=lambda some: sum(j.rows for j in some)))] if whole else []


def _judged(table: Table) -> list[Judged]:
    reason = next(
        (c for c in table.columns if c.values.dtype.kind == "O" and means(REASON, c.name) and _varies(c)), None
    )
    if reason is None:
        return []
    said = texts(reason).tolist()
    bad = [i for i, s in enumerate(said) if BAD.search(s)]
    good = [i for i, s in enumerate(said) if GOOD.search(s) and not BAD.search(s)]
    cut = sum(not WHOLE.search(s) for s in said)
    found = []
    named = [c for c in table.columns if c is not reason and not means(COMPUTED, c.name)]
    for score in (c for c in named if means(SCORE, c.name) or named_score(c.name)):
        value, same = Counter(texts(score).tolist()).most_common(1)[0]
        if same >= SAME * len(table) and score.values.dtype.kind == "f" and np.isfinite(score.values).any():
            found.append(Judged(table, reason, score, value, len(table), same, bad, good, cut))
    return found


def _varies(column: Column) -> bool:
    said = texts(column).tolist()
    return len(set(said)) >= APART * len(said) and float(np.median([len(s) for s in said])) >= 40


def _contradicted(some: Sequence[Judged]) -> bool:
    rows = sum(j.rows for j in some)
    return all(sum(map(len, side)) >= EACH * rows for side in ([j.bad for j in some], [j.good for j in some]))


def _told(some: Sequence[Judged]) -> Finding:
    name, value, files = some[0].score.name, some[0].value, len({j.table.file for j in some})
    each = ((j.rows, j.same, len(j.bad), len(j.good), j.cut) for j in some)
    rows, same, bad, good, cut = (sum(n) for n in zip(*each, strict=True))
    broken, broken_zh = "", ""
    if cut >= CUT * rows:
        broken = f"; {cut} of the reasons break off, before a score that would stand at their end"
        broken_zh = f"；其中 {cut} 条评语没写完就断了，末尾的分数也就没有了"
    worst = sorted(some, key=lambda j: -len(j.bad))
    places = [_place(j, i) for j in worst for i in (j.bad[:1] + j.good[:1])]
    return Finding(
        "judge-score-constant", Severity.S2,
        f"{name} is {value} in {same} of {rows} rows ({files} files), whatever the judge wrote: {bad} of its reasons "
        f"condemn the answer and {good} praise it{broken}. The score is a default, not the judge's.",
        f"{rows} 行（{files} 个文件）中有 {same} 行的 {name} 都是 {value}，与评语无关：{bad} 条评语否定回答，"
        f"{good} 条肯定{broken_zh}。这个分数是默认值，不是评审给的。",
        tuple(places[:4]),
        {"value": value, "rows": rows, "same": same, "condemn": bad, "praise": good, "cut": cut},
    )  # fmt: skip


def _place(one: Judged, row: int) -> Evidence:
    line = int(one.table.lines[row]) or None
    return Evidence(one.table.file, line, metric=one.score.name, text=clean(texts(one.reason)[row], 120))

"""Scores of well-known benchmarks that a log prints at its end, where all of them are what guessing gives.

A model that was trained from nothing may know no better, and so may a small one: judged is only a run that ends with
a loss low enough for a model that has learned to answer. Scores in result files are `tools.scores`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..findings import Evidence, Finding, Severity, clean, declare
from ..patterns import bounded
from ..series import SeriesTable
from .chance import Chance, chance_of
from .detectors.robust import finite, head_tail
from .signatures.signature import CHECK
from .texts import Text

CODES = declare(
    "benchmarks", ("benchmark-at-chance", CHECK, "a well-known benchmark is scored at or below the level of guessing")
)

LEARNED = 1.5
"""Loss (nats) below which a model has learned to answer; language models from nothing end above. Own judgement."""
SURE = 2.0
"""Standard errors around the level of guessing within which nothing but guessing shows."""
SCORED = bounded(
    r"(?i)\b([a-z][\w-]{1,30})['\"]?\W{1,4}(?:(?:test|eval|val|average|avg|mean|overall|final)\W{1,3}){0,2}"
    r"(?:acc(?:uracy|_norm)?|score)['\"]?\W{1,4}(\d{1,3}(?:\.\d{1,18})?)\s?(%?)(?![\d.])"
)
"""`Dataset: mmlu, Accuracy: 23.02`, `piqa acc = 0.498`."""


def benchmarks(texts: Mapping[str, Text], table: SeriesTable) -> Iterator[Finding]:
    """One finding where a run that learned ends in scores of guessing, and in no better one."""
    loss = table.get("loss")
    if loss is None or not len(points := finite(loss)) or head_tail(points.values)[1] > LEARNED:
        return
    for name, text in texts.items():
        told = [*_scores(text)]
        if told and all(score <= chance.points + SURE * chance.spread for *_, score, chance in told):
            yield _finding(name, *told[-1])


def _scores(text: Text) -> Iterator[tuple[int, str, str, float, Chance]]:
    """(line, its words, benchmark, points, level of guessing) of what the end of a log scores."""
    for line, words in text.tail:
        for benchmark, number, percent in SCORED.findall(words):
            chance, value = chance_of(benchmark), float(number)
            points = value if percent or value > 1 else 100 * value
            if chance is not None and chance.points and points <= 100:
                yield line, words, benchmark, points, chance


def _finding(file: str, line: int, words: str, benchmark: str, points: float, chance: Chance) -> Finding:
    below = points < chance.points - SURE * chance.spread
    how, how_zh = ("below", "低于") if below else ("at", "等于")
    return Finding(
        "benchmark-at-chance",
        Severity.S2,
        f"{file}:{line}: {benchmark} is scored {points:.4g}, {how} the {chance.points:.3g} of guessing (within "
        f"{SURE * chance.spread:.2g}), though the training loss fell: look first at how answers are asked and read.",
        f"{file}:{line}：{benchmark} 得分 {points:.4g}，{how_zh}随机猜测的 {chance.points:.3g}"
        f"（±{SURE * chance.spread:.2g}），而训练 loss 已经下降：先查提问方式和答案的解析。",
        (Evidence(file, line, text=clean(words)),),
        {"benchmark": benchmark, "points": points, "chance": chance.points},
    )

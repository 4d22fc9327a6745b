"""Scores of a classifier that a log ends with, a line each: what they say of each other.

A recall of 1 with a precision that is the accuracy leaves no true negative: every item was taken for positive. Tables
of results are judged in `relate.results.sided`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ..signatures.signature import CHECK
from ..texts import Text

CODES = declare(
    "scored", ("one-class-predicted", CHECK, "a classifier answers one class, by the scores that a log prints")
)
SCORE = bounded(
    r"(?i)(?:^|[^a-z_])(?:(?:eval|test|val|validation|final)[ _/-])?"
    r"(?:(?P<a>acc(?:uracy)?|准确率|正确率)|(?P<p>precision|精确率|查准率)|(?P<r>recall|召回率))(?:[ _-]?score)?[\"']?"
    r"\s{0,3}[:=：|]\s{0,3}(?P<value>\d{1,3}(?:\.\d{1,8})?)\s?(?P<share>%?)(?![\d.])"
)
APART, ALL, NEAR = 8, 0.98, 0.005
"""Lines over which scores of one evaluation stand, the share that is all, and how near two are that are one. Ours."""

Said = tuple[float, int, str]
"""A share, its line, and what the line says."""


def one_class(texts: Mapping[str, Text]) -> Iterator[Finding]:
    """S1: of the last scores that stand together, recall is 1 and precision the accuracy, which is well below 1."""
    for name, text in texts.items():
        last: dict[str, Said] = {}
        for number, line in text.tail:
            for found in SCORE.finditer(line):
                kind = next(k for k in "apr" if found[k])
                value = float(found["value"]) / (100 if found["share"] or float(found["value"]) > 1 else 1)
                last[kind] = value, number, line
        if len(last) == 3 and max(n for _, n, _ in last.values()) - min(n for _, n, _ in last.values()) <= APART:
            accuracy, precision, recall = (last[k][0] for k in "apr")
            if recall >= ALL and abs(precision - accuracy) <= NEAR and accuracy <= 0.95:
                yield _told(name, last)


def _told(name: str, last: Mapping[str, Said]) -> Finding:
    (accuracy, *_), (precision, *_), (recall, number, _) = (last[k] for k in "apr")
    places = tuple(Evidence(name, n, value=v, text=clean(line.strip(), 160)) for v, n, line in (last[k] for k in "rpa"))
    return Finding(
        "one-class-predicted", Severity.S1,
        f"{name}:{number}: recall is {recall:.4g} while precision ({precision:.4g}) is the accuracy ({accuracy:.4g}): "
        "hardly any item is taken for negative, so the model answers one class.",
        f"{name}:{number}：召回率为 {recall:.4g}，而精确率（{precision:.4g}）就等于准确率（{accuracy:.4g}）："
        "几乎没有判为负类的，模型只会回答一个类别。",
        places, {"accuracy": accuracy, "precision": precision, "recall": recall},
    )  # fmt: skip

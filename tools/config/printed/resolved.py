"""Two number formats that are both switched on, where the log says which of them the program took.

Programs of people's own often have a switch for 16 bits and one that prefers bf16: both on is what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...findings import Report
from ...logs.texts import Text
from ...patterns import bounded

CONFLICT, NEAR = "precision-conflict", 40
"""The rule, and lines of a log that belong to one start."""
_TOLD = bounded(
    r"\b(?:d?type|precision|amp|autocast\w*|scaler|mixed|using|use|training in|train in|falling back to)\b"
    r"|精度|混合|使用",
    re.IGNORECASE,
)
_FORMATS = {
    "bf16": bounded(r"(?<![a-z])(?:bf16|bfloat16)(?!\w*['\"]?\s{0,3}[:=])", re.IGNORECASE),
    "fp16": bounded(r"(?<![a-z])(?:fp16|float16|half precision)(?!\w*['\"]?\s{0,3}[:=])", re.IGNORECASE),
}
"""A format that is named as such, and is no switch (`bf16=True`)."""


def resolved(report: Report, texts: Mapping[str, Text]) -> Report:
    """The report, without a conflict of formats where the logs say last which one format was taken."""
    if CONFLICT not in report.codes() or len({_last(text) for text in texts.values()} - {""}) != 1:
        return report
    return replace(
        report,
        findings=tuple(f for f in report.findings if f.code != CONFLICT),
        checks=tuple(replace(c, result="clear") if c.name == CONFLICT else c for c in report.checks),
    )


def _last(text: Text) -> str:
    """The format that a log names last; empty for none, and where another one is named beside it."""
    told: list[tuple[int, str]] = []
    for number, line in _lines(text):
        names = [name for name, means in _FORMATS.items() if means.search(line)]
        if len(names) == 1 and _TOLD.search(line):
            told.append((number, names[0]))
    beside = {name for number, name in told if number > told[-1][0] - NEAR}
    return beside.pop() if len(beside) == 1 else ""


def _lines(text: Text) -> Iterable[tuple[int, str]]:
    """The numbered lines of a small log, the first and the last ones of another."""
    if not text.whole:
        return (*text.head, *text.tail)
    return (
        (chunk.first_line + i, line)
        for chunk in text.whole
        for i, line in enumerate(chunk.data.decode("utf-8", "replace").split("\n"))
    )

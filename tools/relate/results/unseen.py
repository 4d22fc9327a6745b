"""A result on rows that were kept apart, as bad as the training's own evaluation was before anything was learned.

The evaluation beside the training fell far; a model that learned something that holds does not go back to where it
began on other rows of the same kind. One result of one file is held against the one evaluation of its folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import PurePosixPath

from ...findings import Finding, Severity
from ...metrics import canonical
from ...patterns import bounded
from ..line import Line, plain
from .read import BASE, Row, place_words

CODE = "unseen-as-before-training"
POINTS, FALLEN = 5, 0.5
"""Evaluations of the training, and the share of the first that is left at its best. Own judgement."""
FAR, WHOLE = 3.0, 50.0
"""Times the last evaluation that the result is at least, and times the first beyond which it may be a sum of rows."""
_APART = bounded(
    r"(?:^|[_/. -])(?:fresh|unseen|test(?:ing|ed)?|held_?out|holdout|ood|external|blind|new_?(?:data|keys?|rows|set)"
    r"|real|final|eval(?:uat\w{1,4})?|generali[sz]\w{0,8}|results?|report|metrics)(?=[_/. -]|$)|测试|评测|评估|新数据",
)
HELD = ("loss", "eval_loss")
_LOSS = bounded(r"(?:^|_)(?:loss|cross_?entropy|nll)$|损失")
"""A measure of a result that can be held against an evaluation loss."""


def unseen(rows: Sequence[Row], lines: Sequence[Line]) -> list[Finding]:
    """The result that is farthest off."""
    held = [x.finite() for x in lines if x.name == "eval_loss" and not x.group and not x.attempt.count("#")]
    held = [x for x in held if len(x) >= POINTS and 0 < x.values.min() <= FALLEN * x.values[0]]
    found = [(row.values[key] / line.values[-1], _told(row, key, line)) for row, key, line in _pairs(rows, held)]
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _pairs(rows: Sequence[Row], held: Sequence[Line]) -> Iterator[tuple[Row, str, Line]]:
    """Each single result of a file with the one evaluation of its folder, or of one above it."""
    alone = {r.file: r for r in rows if not r.names}
    for file, row in alone.items():
        beside = [x for x in held if x.file != file and _over(x.file, file)]
        key = next((k for k in row.values if _LOSS.search(plain(k)) and (canonical(k) or ("loss",))[0] in HELD), None)
        several = sum(r.file == file for r in rows) > 1
        if several or len({x.file for x in beside}) != 1 or key is None or not _APART.search(file.lower()):
            continue
        if any(BASE.fullmatch(w) for w in place_words(row)) or not isfinite(row.values[key]):
            continue
        line, value = beside[0], row.values[key]
        if max(FAR * line.values[-1], line.values[0]) <= value <= WHOLE * line.values[0]:
            yield row, key, line


def _over(training: str, result: str) -> bool:
    """Whether the result stands in the folder of the training's log, or below it."""
    return PurePosixPath(result).parent.is_relative_to(PurePosixPath(training).parent)


def _told(row: Row, key: str, line: Line) -> Finding:
    value, first, last = row.values[key], float(line.values[0]), float(line.values[-1])
    return Finding(
        CODE, Severity.S2,
        f"{row.file} has {key} {value:.4g}, while {line.key} of the training ends at {last:.4g} and was {first:.4g} at "
        "its first evaluation: on those rows the model is no better than before it was trained.",
        f"{row.file} 的 {key} 为 {value:.4g}，而训练中的 {line.key} 最后为 {last:.4g}、第一次评测为 {first:.4g}："
        "在这批数据上模型不比训练前好。",
        (row.evidence(key), line.evidence(len(line) - 1), line.evidence(0)),
        {"value": value, "first": first, "last": last},
    )  # fmt: skip

"""What belongs to the starts that a question is about: the error of another start explains none of their measures.

The streams that a scheduler keeps (`fit_a.out`, `fit_b.err`) are of one start each. A start that died before it logged
anything says nothing of the measure that the others logged; asked why a run stopped, it is told as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...tools.findings import Finding, Severity
from ...tools.run import STREAM, one_log
from ...tools.series import Series
from ...tools.vocabulary import COUNTS, VOCABULARY
from ..narrate.measured import spoken
from ..question.understand import Question


def of_the_asked(findings: Sequence[Finding], asked: Question, table: Iterable[Series]) -> tuple[Finding, ...]:
    """The findings; those of a start that logged nothing are notes where the question is about a measure of others."""
    sought = frozenset[str]() if any(s.kind.ends for s in asked.symptoms) else spoken(asked).kinds
    measured = [s for s in table if s.metric in VOCABULARY and s.metric not in COUNTS and len(s)]
    theirs = {one_log(s.file) for s in measured if s.metric in sought and _is_stream(s.file)}
    if not theirs:
        return tuple(findings)
    logged = {one_log(s.file) for s in measured}
    return tuple(_noted(f, len(theirs)) if _of_another(f, logged) else f for f in findings)


def _of_another(finding: Finding, logged: set[str]) -> bool:
    """Whether all that shows a finding stands in the streams of a start that logged nothing."""
    files = {e.file for e in finding.evidence if e.file}
    shown = bool(files) and all(_is_stream(file) and one_log(file) not in logged for file in files)
    return shown and finding.severity < Severity.S3


def _is_stream(file: str) -> bool:
    """Whether a file is a stream of a start that has a name: `stderr.txt` may be of any."""
    return STREAM.search(file.rpartition("/")[2]) is not None and one_log(file).rpartition("/")[2] not in ("#", "")


def _noted(finding: Finding, others: int) -> Finding:
    en = f"it is of another start than the {others} that logged what is asked about"
    return replace(
        finding, severity=Severity.S3, message=f"{finding.message} But {en}.",
        zh=f"{finding.zh} 但它属于另一次启动，所问的指标记录在其他 {others} 次启动中。",
        data={**finding.data, "survived": en},
    )  # fmt: skip

"""Errors of programs that stand in the log themselves: a model wrote them into its answer, and somebody ran it.

The line that failed, as the traceback shows it, stands in the log before and outside of any traceback. A training
prints no program of its own; the transcript of an agent holds every program that it tries. What such a program lacks
says nothing of the environment that the log is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...reading import lines_of
from ..texts import Text

ERRORS = frozenset(("import-error", "uncaught-exception", "file-missing", "data-schema-mismatch"))
"""Errors that a short program has by what was written in it."""
FRAME = bounded(r"^\s{1,8}File \"[^\"]{0,300}\", line \d{1,7}")
SHOWS = bounded(r"^\s{1,8}File \"|:\d{1,7}: ")
"""A line under which a traceback, a test or a warning shows a line of a program."""
SHOWN, LEAST = 40, 10
"""Lines above an error in which its frames are looked for, and letters of a line that says something. Own judgement."""
MARKS = frozenset("^~ ")


def written(found: Sequence[Finding], texts: Mapping[str, Text]) -> list[Finding]:
    """The findings; the errors of programs that the log itself holds are notes."""
    named = {e.file for f in found if f.code in ERRORS and f.severity != Severity.S3 for e in f.evidence if e.file}
    logs = {name: [t for _, t in lines_of(texts[name].whole)] for name in named & texts.keys() if texts[name].whole}
    return [_noted(f) if _holds(f, logs) else f for f in found]


def _holds(f: Finding, logs: Mapping[str, Sequence[str]]) -> bool:
    if f.code not in ERRORS or f.severity == Severity.S3 or not f.evidence:
        return False
    return all(e.line and e.file and e.file in logs and _stands_before(logs[e.file], e) for e in f.evidence)


def _stands_before(log: Sequence[str], at: Evidence) -> bool:
    """Whether a line of the program that a frame of the error shows stands in the log before, where no frame is."""
    end = (at.line or 1) - 1
    failed = {*islice(_sources(log, end), 3)}
    begin = next((i for i in range(end, max(end - SHOWN, 0), -1) if "Traceback (most recent" in log[i]), end)
    return any(log[i].strip() in failed and not SHOWS.search(log[i - 1]) for i in range(1, begin))


def _sources(log: Sequence[str], end: int) -> Iterator[str]:
    """The lines of a program that stand below the frames above an error, the innermost first."""
    for i in range(end - 1, max(end - SHOWN, 0), -1):
        source = log[i].strip()
        if FRAME.search(log[i - 1]) and len(source) >= LEAST and not set(source) <= MARKS:
            yield source


def _noted(f: Finding) -> Finding:
    return replace(
        f,
        severity=Severity.S3,
        message=f"{f.message} The log holds the program itself, as an answer in which it was written: what it lacks "
        "says nothing of the environment.",
        zh=f"{f.zh}出错的程序本身就写在这份日志里（某个回答写的）：它缺什么不说明运行环境有问题。",
        data={**f.data, "survived": "the log holds the program that failed"},
    )

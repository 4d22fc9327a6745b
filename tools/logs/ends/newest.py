"""What stopped an earlier attempt, where the newest log of the same launch was stopped by something else.

Logs that are numbered as attempts (`a_v4.log`, `a_v5.log`; `train_try2.out`; `run_20240712_0930.log`), or that a
scheduler named after its jobs (`slurm-812.out`, `train_90412.err`), are of one launch after the other: why the last one
ended is told by its own log. Numbers of ranks, nodes, seeds and folds are of one time and count nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from ...findings import Finding, Severity
from ...patterns import bounded
from ...run import STREAM, one_log

_NUMBERED = bounded(
    r"(?i)(?<![a-z])(?:v|ver|version|try|attempt|retry|restart|resume|rerun|take|relaunch|第|尝试|重试)[_.-]?(\d{1,3})"
    r"(?:次|版)?(?![0-9a-z])"
)
_DATED = bounded(r"(?<!\d)(20\d{2}[-_]?[01]\d[-_]?[0-3]\d)(?:[-_T ]?([0-2]\d[-_:]?[0-5]\d(?:[-_:]?[0-5]\d)?))?(?!\d)")
_JOB = bounded(r"(?<![A-Za-z\d.])(?<!seed[_-])(?<!step[_-])(?<!ckpt[_-])(?<!port[_-])(\d{4,12})(?=[._-]|$)")
_SLURM = bounded(r"(?i)(?<![a-z])(?:slurm|sbatch|pbs|lsf|job(?:id)?)(?![a-z])")
"""The number of a scheduler's job, in the name of a stream of it or of what is said to be its log."""
EARLIER = "earlier"
"""Data of what stopped an earlier attempt: the log of the newest one."""
_NUMBERS = re.compile(r"\d{1,40}")
APART = 100
"""Hours and minutes as one number (an hour), by which the times of two launches of a day differ at least: the ranks of
one launch open their logs within minutes."""


def newest(found: Sequence[Finding], names: Iterable[str]) -> list[Finding]:
    """The findings; an error of an earlier attempt is a note where the newest attempt's own log ends with another."""
    launches: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for name in names:
        if (placed := _attempt(name)) is not None:
            launches.setdefault(placed[0], []).append((placed[1], name))
    ends: dict[str, set[object]] = {}
    for f in found:
        if _stops(f):
            ends.setdefault(_file(f), set()).add(_what(f))
    later: dict[str, str] = {}
    for logs in launches.values():
        order = max(mine for mine, _ in logs)
        last = next((name for mine, name in logs if mine == order and name in ends), None)
        if last is not None:
            later |= {name: last for mine, name in logs if _before(mine, order)}
    return [_earlier(f, last) if (last := later.get(_file(f))) and _other(f, ends[last]) else f for f in found]


def _other(finding: Finding, ends: set[object]) -> bool:
    """Whether it is more than a note, and none of what ended the newest attempt."""
    return finding.severity < Severity.S3 and _what(finding) not in ends


def _what(finding: Finding) -> object:
    """What failed; of an exception that names no failure, what it says, numbers aside."""
    said = str(finding.data.get("message", ""))
    return finding.code, finding.data.get("exception"), _NUMBERS.sub("#", said)


def _attempt(name: str) -> tuple[str, tuple[int, ...]] | None:
    """What the logs of one launch share in their names, and the place of this one; None for one without a number."""
    path, of_a_job = PurePosixPath(one_log(name)), STREAM.search(PurePosixPath(name).name) or _SLURM.search(name)
    for pattern in (_NUMBERED, _DATED, *((_JOB,) if of_a_job else ())):
        found = [*pattern.finditer(path.name)]
        if found:
            match = found[-1]
            place = tuple(int(re.sub(r"\D", "", group)) for group in match.groups() if group)
            return str(path.parent / (path.name[: match.start()] + "#" + path.name[match.end() :])), place
    return None


def _before(mine: tuple[int, ...], last: tuple[int, ...]) -> bool:
    """Whether one attempt is earlier than the last, and no rank of the same launch."""
    if len(mine) == len(last) == 2 and mine[0] == last[0]:
        digits = 10 ** max(0, len(str(max(mine[1], last[1]))) - 4)
        return (last[1] - mine[1]) // digits >= APART
    return mine < last


def _stops(finding: Finding) -> bool:
    return finding.severity <= Severity.S1 and "role" in finding.data and bool(finding.evidence)


def _file(finding: Finding) -> str:
    return (finding.evidence[0].file or "") if finding.evidence else ""


def _earlier(finding: Finding, last: str) -> Finding:
    said = f"it stopped an earlier attempt, the newest is {last}"
    return replace(
        finding,
        severity=Severity.S3,
        message=f"{finding.message} It stopped an earlier attempt; {last}, the newest, ended for another reason.",
        zh=f"{finding.zh} 这是较早一次尝试的中止原因；最新的 {last} 因别的原因结束。",
        data={**finding.data, "survived": said, EARLIER: last},
    )


def joined(findings: Sequence[Finding], most: int = 4) -> list[Finding]:
    """At most `most` findings of one code, the worst (ranks that write files of their own repeat each other)."""
    kept: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: f.severity):
        kept.setdefault(finding.code, []).append(finding)
    return [f for group in kept.values() for f in group[:most]]

"""Whether a run is still going on: a log that grew while it was read, or that was written in this minute.

What is copied or unpacked was written just now, too; so a file that did not grow is only told where its own clock says
the same, or where other files of the run lie there for longer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime

from ...findings import Check, Evidence, Finding, Report, Severity, declare
from ...run import Artifact, Run
from ...series import SeriesTable
from ..texts import Text

CHECK = "files that are still written"
CODES = declare("going on", ("log-still-written", CHECK, "a log grows while it is read: the run seems to go on"))
WRITTEN = ("log", "metrics", "tracker")
NOW, CLOCK, OLDER = 60.0, 600.0, 600.0
"""Seconds since a file was written, between its last clock and now, and by which other files are older. Own
judgement."""


def sizes(run: Run) -> dict[str, int]:
    """Name -> bytes of each file that a run writes as it goes."""
    found = ((a.name, _stat(a)) for a in run.of(*WRITTEN))
    return {name: stat[0] for name, stat in found if stat}


def still_written(
    run: Run, before: Mapping[str, int], texts: Mapping[str, Text], table: SeriesTable, now: float | None = None
) -> Report:
    """The log that grows, or was written last in this minute.

    Args:
        before: what `sizes` gave before anything was read.
        texts: what each log says.
        table: what was measured, for the step up to which it was read.
        now: seconds since the epoch; the clock's by default.
    """
    now = time.time() if now is None else now
    written = [(a, stat) for a in run.of(*WRITTEN) if (stat := _stat(a)) and a.name in before]
    grown = [(stat[0] - before[a.name], a) for a, stat in written if stat[0] > before[a.name]]
    fresh = [a for a, stat in written if 0 <= now - stat[1] <= NOW and _goes_on(a, run, texts, now)]
    if grown:
        more, artifact = max(grown, key=lambda g: g[0])
        why, zh = f"{more} bytes were added while it was read", f"读取期间增加了 {more} 字节"
    elif fresh:
        artifact, why, zh = fresh[0], "the end was written in the last minute", "末尾写于最近一分钟内"
    else:
        return Report("going on", (), (Check(CHECK, "clear" if written else "not-applicable"),))
    return Report("going on", (_told(artifact, why, zh, texts, table),), (Check(CHECK, "found"),))


def _stat(artifact: Artifact) -> tuple[int, float] | None:
    """Bytes of a file and when it was written."""
    try:
        found = artifact.path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime) if artifact.path.is_file() else None


def _goes_on(artifact: Artifact, run: Run, texts: Mapping[str, Text], now: float) -> bool:
    """Whether a file that was just written is one of a run that goes on, and not a copy or one that is over."""
    text = texts.get(artifact.name)
    if text is not None and text.life.alive > max((last for *_, last in text.life.attempts), default=0):
        return False
    if text is not None and text.end is not None and datetime.fromtimestamp(text.end).year > 2000:
        return abs(now - text.end) <= CLOCK
    others = [stat[1] for a in run.artifacts if a.kind not in WRITTEN and (stat := _stat(a))]
    return bool(others) and max(others) <= now - NOW - OLDER


def _told(artifact: Artifact, why: str, zh: str, texts: Mapping[str, Text], table: SeriesTable) -> Finding:
    name, text = artifact.name, texts.get(artifact.name)
    line = text.lines if text else 0
    step = max((int(s.steps[-1]) for s in table if s.file == name and len(s) and s.step_is == "step"), default=None)
    upto = ", ".join([*([f"line {line}"] if line else []), *([f"step {step}"] if step is not None else [])])
    upto_zh = "、".join([*([f"第 {line} 行"] if line else []), *([f"第 {step} 步"] if step is not None else [])])
    return Finding(
        "log-still-written", Severity.S3,
        f"The run may be going on: of {name}, {why}. It was read up to {upto or 'where it stood'}; what came later is "
        "not judged.",
        f"运行可能还在继续：{name}（{zh}）。读到{upto_zh or '当时的末尾'}为止，之后的内容未判断。",
        (Evidence(name, line or None, step),), {"line": line, "step": step},
    )  # fmt: skip

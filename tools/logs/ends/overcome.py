"""Stops that a later log of the same training has overcome: it goes on where the stopped one ended, and further.

Within one log `signatures.causes` tells whether a run went on; here it is the next job's own log. Only stops from
outside are taken back: an error of the program that was passed in the end may still have to be mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...findings import Finding, Severity
from ...series import Series, SeriesTable
from ..texts import Text

STOPS = frozenset(("job-cancelled", "node-lost", "process-killed", "interrupted", "killed-without-reason"))
"""How a run is stopped from outside."""
FURTHER, POINTS = 0.02, 5
"""Part of what the first log covers by which the later one gets further at least, and points of it."""
GAP = 0.1
"""Part of what the first log covers that may lie between its end and the beginning of the later one."""

TIMES = 2
"""Stops of one kind in a log that are overcome; more are a habit of the place where it runs. Own judgement."""
TAIL, WORSE = 20, 0.02
"""Last points of a loss, and share of its level by which it ends above that of the log before. Own judgement."""


@dataclass(frozen=True)
class Way:
    """What one log covers: from where to where, in steps or in epochs."""

    of: str
    begin: float
    end: float
    points: int


def overcome(found: Sequence[Finding], table: SeriesTable, texts: Mapping[str, Text]) -> list[Finding]:
    """The findings; a stop of one log is a note where a later log went on from there and is in no such trouble."""
    if not any(f.code in STOPS and f.severity <= Severity.S2 for f in found):
        return list(found)
    ways = {name: _ways(name, table) for name in texts}
    troubled = {e.file for f in found if f.severity < Severity.S2 for e in f.evidence[:1] if e.file}
    return [_again(_judged(f, ways, troubled), table, troubled) for f in found]


def continued(table: SeriesTable, names: Iterable[str]) -> set[str]:
    """The logs that another one goes on from."""
    ways = {name: _ways(name, table) for name in names}
    return {name for name in ways if _next(name, ways) is not None}


def at_the_end(table: SeriesTable, earlier: Iterable[str]) -> SeriesTable:
    """The series without those of logs that others go on from; all of them where no loss would be left."""
    kept = SeriesTable(tuple(s for s in table if s.file not in set(earlier)))
    return kept if kept.get("loss") is not None or table.get("loss") is None else table


def ends_worse(table: SeriesTable, last: SeriesTable) -> bool:
    """Whether a loss that goes on in a later log ends above where the earlier one had come to."""
    now, files = last.get("loss"), {s.file for s in last}
    then = [s for s in table if s.metric == "loss" and s.file not in files and len(s) >= POINTS]
    if now is None or not then:
        return False
    before = float(np.nanmedian(max(then, key=lambda s: int(s.steps[-1])).values[-TAIL:]))
    return float(np.nanmedian(now.values[-TAIL:])) > before + WORSE * abs(before)


def _judged(finding: Finding, ways: Mapping[str, Sequence[Way]], troubled: set[str]) -> Finding:
    own = finding.evidence[0].file if finding.evidence else None
    if finding.code not in STOPS or finding.severity >= Severity.S2 or own is None:
        return finding
    step, chain = _next(own, ways), {own}
    while step is not None and step[0] in troubled and step[0] not in chain:
        chain.add(step[0])
        step = _next(step[0], ways)
    if step is None or step[0] in chain:
        return finding
    name, way = step
    said = f"{name} goes on from {way.of} {way.begin:g} and gets to {way.end:g}"
    zh = f"{name} 从 {way.of} {way.begin:g} 继续，到达 {way.end:g}"
    return replace(
        finding,
        severity=Severity.S3,
        message=f"{finding.message} Not fatal: {said}.",
        zh=f"{finding.zh} 并不致命：{zh}。",
        data={**finding.data, "survived": said, "overcome": name},
    )


def _again(finding: Finding, table: SeriesTable, troubled: set[str]) -> Finding:
    """A stop behind which the same log goes on from near where it was and gets further, as under an elastic launcher:
    a note, with how many steps are done twice. What stops a run time after time stays."""
    place = finding.evidence[0] if finding.evidence else None
    if finding.code not in STOPS or finding.severity != Severity.S2 or place is None or not place.line:
        return finding
    if place.file in troubled or "follows" in finding.data or int(finding.data.get("count") or 1) > TIMES:
        return finding
    parts = [
        SeriesTable(
            tuple(one for s in table if s.file == place.file and (one := _part(s, place.line, later)) is not None)
        )
        for later in (False, True)
    ]
    before, after = (_ways(place.file or "", part) for part in parts)
    pair = next(((a, b) for a in before for b in after if a.of == "step" and _goes_on(a, b)), None)
    if pair is None:
        return finding
    mine, later = pair
    twice = max(0.0, mine.end - later.begin)
    said = (
        f"the same log goes on from step {later.begin:g}, where it had come to {mine.end:g}, and gets to {later.end:g}"
    )
    zh = f"同一日志从第 {later.begin:g} 步继续（此前到第 {mine.end:g} 步），到达第 {later.end:g} 步"
    if twice:
        said += f"; about {twice:g} steps are done twice, none is left out"
        zh += f"；约 {twice:g} 步重做，没有缺步"
    return replace(
        finding,
        severity=Severity.S3,
        message=f"{finding.message.partition(' Not fatal')[0]} Not fatal: {said}.",
        zh=f"{finding.zh.partition(' 并不致命')[0]} 并不致命：{zh}。",
        data={**finding.data, "survived": said, "twice": twice},
    )


def _part(series: Series, line: int, later: bool) -> Series | None:
    """What of a series stands before a line of its file, or behind it."""
    keep = series.lines > line if later else (series.lines < line) & (series.lines > 0)
    if not keep.any():
        return None
    return replace(series, steps=series.steps[keep], values=series.values[keep], lines=series.lines[keep])


def _next(file: str, ways: Mapping[str, Sequence[Way]]) -> tuple[str, Way] | None:
    """The log that goes on from the end of this one and gets furthest, and what it covers."""
    found = [
        (later.end, name, later)
        for mine in ways.get(file, ())
        for name, other in ways.items()
        for later in other
        if name != file and _goes_on(mine, later)
    ]
    return max(found, key=lambda f: f[0])[1:] if found else None


def _goes_on(mine: Way, later: Way) -> bool:
    covered = mine.end - mine.begin
    begins = mine.begin + GAP * covered < later.begin <= mine.end + GAP * covered
    return mine.of == later.of and begins and later.end >= mine.end + FURTHER * covered and later.points >= POINTS


def _ways(name: str, table: SeriesTable) -> list[Way]:
    """What a log covers by its steps, and by the epochs that it prints."""
    own = [s for s in table if s.file == name and len(s)]
    steps = [s for s in own if s.step_is != "line" and s.axis == "step"]
    epochs = [s for s in own if s.metric == "epoch"]
    found = []
    for of, some, values in (("step", steps, _steps), ("epoch", epochs, _values)):
        if some:
            every = np.concatenate([values(s) for s in some])
            every = every[np.isfinite(every)]
            if len(every):
                found.append(Way(of, float(every.min()), float(every.max()), len(np.unique(every))))
    return found


def _steps(series: Series) -> np.ndarray:
    return series.steps.astype(float)


def _values(series: Series) -> np.ndarray:
    return series.values

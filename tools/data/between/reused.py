"""What the first lines of a log say of a prepared copy of the data and of its source: when each was written, how many
rows each has.

A date or a count belongs to what the words before it on its line speak of last: the copy (`cache`, `processed`) or the
source (`raw`, `source`). The clock at the head of a line is no such date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from ...findings import Evidence, Finding, Severity, TriageError
from ...looking.kept import kept_lines
from ...patterns import bounded
from ...reading import Chunk
from ...run import Artifact

LINES, WIDE = 400, 500
"""Lines at the head of a log that are looked at, and characters of each."""
APART, LEAST = 3600.0, 0.3
"""Seconds by which the source is younger at least, and the share of its rows that is missing at least: more than
is usually held out. Own judgement."""
SUBJECT = bounded(
    r"(?i)(?P<copy>(?<![a-z])(?:cached?|caching|re-?us(?:ed?|ing)|(?:pre-?)?processed|tokeni[sz]ed|prepared|packed|memmap)"
    r"(?![a-z])|缓存|预处理|复用|已分词)|(?P<source>(?<![a-z])(?:raw|source|src|original|input|jsonl|upstream)(?![a-z])"
    r"|原始|源数据|源文件|语料)"
)
DATED = bounded(
    r"(?i)(?:created|built|made|written|modified|updated|mtime|generated|dated|修改|更新|生成|创建|写入)(?:时间|于)?"
    r"(?:[ _](?:at|on|time))?[\s=:：(]{0,4}"
    r"(\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|1\d{9}(?!\d))"
)
ROWS = bounded(
    r"(?i)(?<![a-z])(?:rows|records|examples|samples|docs|documents|行数|条数|样本数)\s?[=:：]\s?(\d[\d,]{0,14})"
    r"|(?<![\w.:])(\d[\d,]{0,14}) ?(?:rows|records|examples|samples|docs|documents|行|条)(?![a-z数])"
)
LEFT_OUT = bounded(r"(?i)filter|drop|skip|remov|max_samples|subset|dedup|limit|过滤|丢弃|抽样|去重")
"""Why fewer rows were taken than there are."""
LOADS = bounded(r"(?i)(?<![a-z])(?:load|us(?:e|ing)|read|hit|found|reus)\w{0,4}(?![a-z])|加载|载入|读取|使用|复用|命中")
"""The copy is read, and not made now."""
PACKED, FROM = re.compile(r"(?i)pack"), bounded(r"(?i)\b(?:from|of|out of)\b|来自|自")


@dataclass(frozen=True)
class Said:
    """One date or count of one of the two."""

    copy: bool
    value: float
    """Seconds since the epoch, or rows."""
    text: str
    line: int
    unit: str = ""
    """What is counted, as the line calls it."""


@dataclass(frozen=True)
class Told:
    """What one log says."""

    dates: tuple[Said, ...]
    rows: tuple[Said, ...]
    reason: bool
    """Whether a line says why rows were left out."""

    def __bool__(self) -> bool:
        return any(len({s.copy for s in some}) == 2 for some in (self.dates, self.rows))


def told_in(artifact: Artifact, kept: Sequence[Chunk] = ()) -> Told | None:
    """What the head of a log says of both; None where it speaks of no copy that is read."""
    dates: list[Said] = []
    rows: list[Said] = []
    reads = reason = False
    try:
        for line in islice(kept_lines(artifact.path, kept), LINES):
            text = line.text[:WIDE]
            subjects = list(SUBJECT.finditer(text))
            if not subjects:
                continue
            reads |= bool(LOADS.search(text)) and any(s["copy"] for s in subjects)
            reason |= LEFT_OUT.search(text) is not None
            dates += _said(DATED, text, subjects, line.number, _seconds)
            rows += _said(ROWS, text, subjects, line.number, lambda n: float(n.replace(",", "")))
    except (TriageError, OSError):
        return None
    told = Told(tuple(dates), tuple(rows), reason)
    return told if reads and told else None


def _said(
    pattern: re.Pattern[str],
    text: str,
    subjects: Sequence[re.Match[str]],
    number: int,
    read: Callable[[str], float | None],
) -> Iterator[Said]:
    """The dates or counts of a line, each of what was spoken of last before it."""
    for found in pattern.finditer(text):
        before = [s for s in subjects if s.start() < found.start()]
        packed = bool(before) and pattern is ROWS and PACKED.search(before[-1][0])
        if packed and not FROM.search(text[before[-1].end() : found.start()]):
            continue  # what many short rows are packed into is fewer by itself
        value = read(found[found.lastindex or 1])
        if before and value is not None:
            unit = re.sub(r"[\W\d_]+", "", found[0]).lower() if pattern is ROWS else ""
            yield Said(before[-1]["copy"] is not None, value, found[0].strip(), number, unit)


def _seconds(text: str) -> float | None:
    try:
        if text.isdigit():
            return float(text)
        return datetime.fromisoformat(text.replace("/", "-")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def judged(artifact: Artifact, told: Told) -> Iterator[Finding]:
    """The copy that is read is older than its source, or smaller."""
    if pair := _nearest(told.dates):
        copy, source = pair
        if source.value - copy.value >= APART:
            yield _older(artifact, copy, source)
    if (pair := _nearest(told.rows)) and not told.reason:
        copy, source = pair
        if 0 < copy.value < (1 - LEAST) * source.value:
            yield _fewer(artifact, copy, source)


def _nearest(said: Sequence[Said]) -> tuple[Said, Said] | None:
    """A copy and its source, the nearest lines of which speak of both."""
    pairs = [
        (abs(c.line - s.line), c.line, c, s) for c in said if c.copy for s in said if not s.copy and s.unit == c.unit
    ]
    return min(pairs, key=lambda p: p[:2])[2:] if pairs else None


def _older(artifact: Artifact, copy: Said, source: Said) -> Finding:
    return Finding(
        "cache-older-than-source", Severity.S2,
        f"{artifact.name}:{copy.line}: the prepared copy that is read ({copy.text}) was made before its source was "
        f"last written ({source.text}, line {source.line}): what was added since is not in it.",
        f"{artifact.name}:{copy.line}：读到的预处理副本（{copy.text}）生成于源数据最后写入（{source.text}，第 "
        f"{source.line} 行）之前：此后新增的数据不在其中。",
        tuple(Evidence(artifact.name, s.line, text=s.text) for s in (copy, source)),
        {"made": copy.value, "written": source.value},
    )  # fmt: skip


def _fewer(artifact: Artifact, copy: Said, source: Said) -> Finding:
    share = 1 - copy.value / source.value
    return Finding(
        "cache-has-fewer-rows", Severity.S2,
        f"{artifact.name}:{copy.line}: {copy.text} of {source.text} (line {source.line}): {share:.0%} of the source is "
        "not in what is read, and nothing there says that it was left out.",
        f"{artifact.name}:{copy.line}：源数据有 {source.text}（第 {source.line} 行），读到的只有 {copy.text}："
        f"{share:.0%} 没有被读到，其中也没有说明做过过滤。",
        tuple(Evidence(artifact.name, s.line, value=s.value, text=s.text) for s in (copy, source)),
        {"read": int(copy.value), "whole": int(source.value)},
    )  # fmt: skip

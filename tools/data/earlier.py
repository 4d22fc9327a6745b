"""The rows that a training read, as its log counts them or as steps, batch and epochs make them, against the rows of
each version of the data: they are those of an earlier version.

What a preparation keeps is found again by its name, and a path that somebody changed may lead to the old file. Neither
says so; the arithmetic does. Only a count that fits one version to the row (or to the batch) and no other is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..patterns import bounded
from ..reading import head
from ..run import Artifact, Run, natural

CHECK = "rows that were trained on against versions of the data"
CODES = declare(
    "earlier",
    ("rows-of-earlier-version", CHECK, "the training read as many rows as an earlier version of the data has"),
)
LINES, START, BYTES, FILES = 400, 64 << 10, 1 << 20, 60
"""Lines and bytes of the start of a file, the largest file that is read where it is no log, and files."""
SAME = 0.001
"""Share within which two counts of rows are one: what a filter drops is more."""
_N = r"(\d{1,3}(?:,\d{3}){1,3}|\d{2,10})"
_IS = r"[\"']?\s{0,4}(?:[:=：]|is|为|共)?\s{0,4}"
_ROWS = (
    r"(?:(?:num|n|number|total|train)[ _](?:of[ _])?)?(?:rows|examples|samples|records|conversations|dialogues|pairs)"
)
ROWS = bounded(rf"(?i)\b{_ROWS}{_IS}{_N}\b|(?<![\w.-]){_N}\s?(?:rows|examples|samples|records|conversations|pairs)\b"
               rf"|(?:总?行数|样本数|总?条数|数据量|样本总数){_IS}{_N}"
               rf"|(?<![\w.-]){_N}\s?(?:条|行)(?:样本|数据|记录)?")  # fmt: skip
STEPS = bounded(rf"(?i)\b(?:total|max|num)[ _](?:optimi[sz]ation[ _]|training[ _]|train[ _])?steps{_IS}{_N}"
                rf"|总(?:训练)?步数{_IS}{_N}|共\s?{_N}\s?步")  # fmt: skip
EPOCHS = bounded(
    rf"(?i)\b(?:num[ _](?:train[ _])?)?epochs?{_IS}(\d{{1,2}})(?![\d.])|(?:训练)?轮数{_IS}(\d{{1,2}})(?![\d.])"
)
BATCH = bounded(rf"(?i)\b(?:global|total|effective)(?:[ _]train(?:ing)?)?[ _]batch(?:[ _]size)?"
                rf"(?:\s?\([^)]{{0,60}}\))?{_IS}{_N}"
                rf"|(?:全局|总)\s?(?:batch|批(?:大小|次))(?:\s?size)?{_IS}{_N}")  # fmt: skip
TRIED = bounded(r"(?i)\b(?:tests?|eval\w*|valid\w*|held|check\w*|audit\w*|spot|judge\w*)\b|评测|测试|验证|抽")
"""Lines about rows that are not trained on."""
VERSION = bounded(r"(?i)(?<![a-z0-9])(?:v|r|ver|version|rev|release|build|版本)[ _.-]?"
                  r"(\d{1,4}(?:\.\d{1,3}){0,2})(?!\.?\d)"
                  r"|(?<!\d)(20\d\d[-_.]?[01]\d[-_.]?[0-3]\d)(?!\d)")  # fmt: skip
SAYS_VERSION = bounded(r"(?i)^[\s\"'{#*-]{0,12}(?:data[ _]?(?:set)?[ _]?)?(?:version|revision|版本)[\"'*]{0,3}\s?"
                       r"[:=：]\s?"
                       r"[\"']?(\w[\w.-]{0,20})")  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """One count, and where it stands."""

    value: float
    file: str
    line: int
    text: str

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.line, value=self.value, text=self.text)


@dataclass(frozen=True)
class Read:
    """The rows that one training read: from `low` to `high`."""

    low: float
    high: float
    formula: str
    places: tuple[Amount, ...]


def check_earlier(run: Run) -> Report:
    """What the logs say of the rows that were read, against the versions of the data that the files tell."""
    versions = sorted(_versions(run), key=lambda pair: natural(pair[0]))
    several = len({v.value for _, v in versions}) > 1
    reads = [read for artifact in islice(run.of("log"), FILES if several else 0) for read in _reads(artifact)]
    if not reads:
        why = "no counts of several versions of the data beside the rows of a training"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "没有数据多个版本的行数与训练所读行数可比"),))
    newest = versions[-1][1].value
    found = None
    if not any(read.low <= newest <= read.high for read in reads):
        found = next((f for read in reversed(reads) if (f := _held(read, versions)) is not None), None)
    return Report("data", (found,) if found else (), (Check(CHECK, "found" if found else "clear"),))


def amounts(artifact: Artifact, *patterns: re.Pattern[str]) -> Iterator[tuple[int, Amount]]:
    """(which pattern, count) of the first lines of a file."""
    with suppress(TriageError, OSError):
        start = head(artifact.path, START).decode("utf-8", "replace")
        for number, text in enumerate(start.splitlines()[:LINES], 1):
            for which, pattern in enumerate(patterns if len(text) < 2000 else ()):
                for match in islice(pattern.finditer(text), 3):
                    value = next(g for g in match.groups() if g).replace(",", "")
                    yield which, Amount(float(value), artifact.name, number, text.strip()[:200])


def _versions(run: Run) -> Iterator[tuple[str, Amount]]:
    """(version, rows) as manifests, cards and notes tell them: by a line's version, else by that of the file's name."""
    for artifact in islice((a for a in run.artifacts if a.kind in ("table", "config", "document", "data")), FILES):
        if artifact.path.is_dir() or artifact.path.stat().st_size > BYTES:
            continue
        own = ""
        for _, rows in amounts(artifact, ROWS):
            own = own or _said(artifact) or _version(artifact.name)
            named = _version(rows.text) or own
            if named and not TRIED.search(rows.text):
                yield named, rows


def _said(artifact: Artifact) -> str:
    """The version that a file says it is of, in the first line that begins with that word."""
    with suppress(TriageError, OSError):
        for text in head(artifact.path, START).decode("utf-8", "replace").splitlines()[:LINES]:
            if match := SAYS_VERSION.match(text):
                return _version(match[1]) or match[1].strip("\"', ")
    return ""


def _version(text: str) -> str:
    match = VERSION.search(text)
    return "" if match is None else next(g for g in match.groups() if g)


def _reads(artifact: Artifact) -> Iterator[Read]:
    """The rows that the steps of a log make, and those that it counts."""
    found: dict[int, Amount] = {}
    for which, amount in amounts(artifact, ROWS, STEPS, EPOCHS, BATCH):
        if which or not TRIED.search(amount.text):
            found.setdefault(which, amount)
    if {1, 2, 3} <= found.keys():
        steps, epochs, batch = (found[i] for i in (1, 2, 3))
        each, often = steps.value / max(epochs.value, 1), f"{epochs.value:.0f} epochs"
        formula = f"{steps.value:,.0f} steps x {batch.value:,.0f} / {often} = {each * batch.value:,.0f}"
        yield Read((each - 1) * batch.value, (each + 1) * batch.value, formula, (steps, batch))
    if (rows := found.get(0)) is not None:
        yield Read(rows.value * (1 - SAME), rows.value * (1 + SAME), f"{rows.value:,.0f} rows", (rows,))


def _held(read: Read, versions: Sequence[tuple[str, Amount]]) -> Finding | None:
    """The one version that the rows fit, where it is not the last."""
    fits = {name for name, rows in versions if read.low <= rows.value <= read.high}
    last = versions[-1][0]
    if len(fits) != 1 or last in fits:
        return None
    old, new = (next(rows for name, rows in versions if name == which) for which in (fits.pop(), last))
    if abs(new.value - old.value) <= 2 * SAME * old.value:
        return None
    name = next(name for name, rows in versions if rows is old)
    log = read.places[0]
    return Finding(
        "rows-of-earlier-version", Severity.S2,
        f"{log.file}:{log.line} read {read.formula}: those are the {old.value:,.0f} rows of version {name} "
        f"({old.file}:{old.line}), and not the {new.value:,.0f} of version {last} ({new.file}:{new.line}).",
        f"{log.file}:{log.line} 读到 {read.formula}：正是版本 {name} 的 {old.value:,.0f} 行（{old.file}:{old.line}），"
        f"而不是版本 {last} 的 {new.value:,.0f} 行（{new.file}:{new.line}）。",
        (*(p.evidence() for p in read.places), old.evidence(), new.evidence()),
        {"read": read.low, "old": old.value, "new": new.value, "names": f"{new.value:,.0f} rows of version {last}",
         "asks": [{"metric": "train_rows", "is": "at-least", "bound": new.value * (1 - 2 * SAME),
                   "en": f"{old.value:,.0f} read, version {last} has {new.value:,.0f}",
                   "zh": f"读到 {old.value:,.0f}，版本 {last} 有 {new.value:,.0f}"}]},
    )  # fmt: skip

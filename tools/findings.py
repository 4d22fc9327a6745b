"""What a tool found, and what it looked at.

Every deterministic tool returns a `Report`: findings, the checks it made (so that "nothing found" differs
from "did not look"), and a summary of numbers. The JSON form is the public contract `triage.findings/1`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from .phrase import Phrase, in_chinese, name_in_chinese, pick
from .registry import table
from .secrets import Shown, redact, unstyled, visible

TEXT_LIMIT = 400
"""Longest piece of a run's own text kept in evidence, in characters."""


class Severity(StrEnum):
    """How bad, in the runbook's four grades (S0 stops the run now, S3 is worth knowing)."""

    S0 = "S0"
    S1 = "S1"
    S2 = "S2"
    S3 = "S3"


GRADES = Phrase(
    "S0 stops the run, S1 spoils its result, S2 is likely wrong, S3 is worth knowing (triage explain S1)",
    "S0 使运行停止，S1 毁掉结果，S2 很可能有错，S3 值得知道（triage explain S1）",
)
"""What the four mean, said where they are met."""


class TriageError(Exception):
    """A condition the user can mend: the message names the thing, what was found and the next step."""


def unread(error: BaseException) -> str:
    """Why a file was not read: what the user can mend, or that its reader has a defect."""
    if isinstance(error, TriageError):
        return str(error)
    return f"the reader broke ({type(error).__name__}); this is a defect of triage, not of the run"


def install(extra: str) -> str:
    """The command that adds an optional part; nothing is published, so a checkout is where it works."""
    return f"pip install '.[{extra}]' in a checkout of triage"


class MissingExtra(TriageError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: {install(extra)}")


@dataclass(frozen=True)
class Evidence:
    """One place in the run that shows the finding."""

    file: str | None = None
    """Path relative to the run, `/` separated."""
    line: int | None = None
    """One-based line number."""
    step: int | None = None
    rank: int | None = None
    metric: str | None = None
    """Canonical metric or setting name."""
    value: float | str | None = None
    text: str | None = None
    """The run's own words, untrusted: made clean here, whoever gives them."""

    def __post_init__(self):
        if self.file is not None:
            object.__setattr__(self, "file", visible(self.file))
        if self.text is not None:
            object.__setattr__(self, "text", clean(self.text))
        if isinstance(self.value, str):
            object.__setattr__(self, "value", visible(self.value))


@dataclass(frozen=True)
class Finding:
    """One defect (or reassurance) seen in a run by code."""

    code: str
    """Kebab-case name of the defect, listed in some module's `CODES`."""
    severity: Severity
    message: str
    """One English sentence with the numbers."""
    zh: str = ""
    """The same sentence in Chinese."""
    evidence: tuple[Evidence, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, JSON-ready after `json_ready`."""

    def __post_init__(self):
        object.__setattr__(self, "message", visible(self.message))
        object.__setattr__(self, "zh", visible(self.zh))

    def say(self, lang: str) -> str:
        return pick(lang, self.message, self.zh)

    def place(self) -> str:
        """`train.log:18234 step 4000` of the first evidence, or an empty string."""
        if not self.evidence:
            return ""
        e = self.evidence[0]
        counted = self.data.get("step_is", "step") != "line"  # else the step is the order of the log lines
        parts = (
            f"{e.file}:{e.line}" if e.file and e.line else (e.file or ""),
            f"step {e.step}" if e.step is not None and counted else "",
            f"rank {e.rank}" if e.rank is not None else "",
        )
        return " ".join(p for p in parts if p)


class Code(NamedTuple):
    """What a tool may report."""

    checks: tuple[str, ...]
    """Names of the checks that look for it: when one of them came to a result, not finding it means something."""
    meaning: str


def declare(tool: str, *rows: tuple[str, str | tuple[str, ...], str]) -> dict[str, Code]:
    """The `CODES` of a tool, from rows of (code, check or checks that look for it, meaning).

    Raises:
        ValueError: a code stands there twice, or a part of its row is empty.
    """
    declared = table(f"CODES of {tool}", ((code, (checks, meaning)) for code, checks, meaning in rows))
    whole = {code: Code((one,) if isinstance(one, str) else one, meaning) for code, (one, meaning) in declared.items()}
    for code, (names, meaning) in whole.items():
        if not (names and all(names) and meaning):
            raise ValueError(f"CODES of {tool}: {code!r} is empty")
    return whole


def looked_for(declared: Mapping[str, Code]) -> dict[str, frozenset[str]]:
    """Check -> the codes that it looks for, in the order of the table."""
    names = dict.fromkeys(name for code in declared.values() for name in code.checks)
    return {name: frozenset(c for c, code in declared.items() if name in code.checks) for name in names}


REASSURING = ("run-healthy", "loss-jitter-benign")
"""Codes that say that something is as it should be."""
STANDING = "standing"
"""Key of a finding's data: it compares what files say of a model; nothing that ran shows it."""
PROGRAM = "program"
"""What `STANDING` says where rules' findings in a program are among what is compared."""
MEASURED = "measured"
"""Key of a rule's finding in a program: the measure of the run that what it finds is about, so that it came to pass."""
PROPOSES = "proposes"
"""Key of a finding's data: the setting and the value that its arithmetic asks for, `{"variable": ..., "new": ...}`."""
RECORDS_READ = "records read"
"""Begins the name of the check that fails where input was not read: then "nothing found" means nothing."""
EVIDENCE_READ = "evidence read"
"""The check that fails where a file that could show a fault was not read to its end: no run is healthy then."""
_FILE = re.compile(r"(?:read|metrics in|signatures in) (.*?)(?: to its end)?")
"""The file in the name of a check."""
NAMED = 5
"""Files that the check of what was not read names."""
CheckResult = Literal["found", "clear", "too-short", "not-applicable", "failed"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `failed` means that the tool broke, `too-short` that there was too little to judge,
    neither that nothing was found."""

    name: str
    result: CheckResult
    why: str = ""
    zh: str = ""

    @property
    def cut(self) -> str:
        """The file that could be read only in part or not at all, where this check says that; else empty."""
        read = self.result == "failed" and self.name.startswith("read ")
        return self.name.removeprefix("read ").removesuffix(" to its end") if read else ""

    def called(self, lang: str) -> str:
        """The name as a person reads it; JSON and code keep `name`."""
        return pick(lang, self.name, name_in_chinese(self.name))

    def say(self, lang: str) -> str:
        return pick(lang, self.why, self.zh or in_chinese(self.why))

    def as_json(self, lang: str = "en") -> dict[str, Any]:
        """The public form. Readers of its first version know four results: what is too short has `too_short` beside."""
        if self.result == "too-short":
            return {"name": self.name, "result": "not-applicable", "why": self.say(lang), "too_short": True}
        return {"name": self.name, "result": self.result, "why": self.say(lang)}


@dataclass(frozen=True)
class Report:
    """All that one tool returns."""

    tool: str
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)

    def codes(self) -> set[str]:
        return {finding.code for finding in self.findings}

    def as_json(self, lang: str = "en") -> dict[str, Any]:
        return {
            "schema": "triage.findings/1",
            "tool": self.tool,
            "findings": [finding_json(f, f"F{i}", lang) for i, f in enumerate(self.findings, 1)],
            "checks": [c.as_json(lang) for c in self.checks],
            "summary": json_ready(self.summary),
        }


def account(checks: Iterable[Check]) -> Iterator[Check]:
    """The one check that says that not all was read: then "nothing found" means little."""
    names = (_FILE.fullmatch(c.name) for c in checks if c.result == "failed")
    lost = list(dict.fromkeys(found[1] for found in names if found))
    if lost:
        named = ", ".join(lost[:NAMED]) + (f" and {len(lost) - NAMED} more" if lost[NAMED:] else "")
        zh = f"{len(lost)} 个文件没有读到，或没有读完：{'、'.join(lost[:NAMED])}"
        yield Check(EVIDENCE_READ, "failed", f"not read, or not to the end: {named}", zh)


def merge(tool: str, reports: Iterable[Report]) -> Report:
    """One report out of several; summaries are joined key by key, later ones winning."""
    reports = list(reports)
    summary: dict[str, Any] = {}
    for report in reports:
        summary |= report.summary
    return Report(
        tool,
        tuple(f for r in reports for f in r.findings),
        tuple(c for r in reports for c in r.checks),
        summary,
    )


def finding_json(finding: Finding, id: str, lang: str = "en") -> dict[str, Any]:
    """The finding in its contract form, with the id it has in this answer."""
    return {
        "id": id,
        "code": finding.code,
        "severity": str(finding.severity),
        "message": finding.say(lang),
        "evidence": [json_ready(e.__dict__) for e in finding.evidence],
        "data": json_ready(finding.data),
    }


def json_ready(value: Any) -> Any:
    """Plain strict JSON: numpy scalars and arrays unwrapped; numbers not finite or beyond 64 bits as strings."""
    if isinstance(value, Mapping):
        return {str(k): json_ready(v) for k, v in value.items()}
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value) if value.bit_length() < 1000 else f"a number of {value.bit_length()} bits"
    if isinstance(value, (Sequence, set, frozenset)):
        return [json_ready(v) for v in value]
    return value


def clean(text: str, limit: int = TEXT_LIMIT) -> Shown:
    """A run's text made safe to show on one line: as `visible`, blanks joined, bounded."""
    shown = redact(unstyled(text[: limit * 20]))
    shown = " ".join("".join(c if c.isprintable() else " " for c in shown).split())
    return Shown(shown if len(shown) <= limit else shown[: limit - 1] + "…")

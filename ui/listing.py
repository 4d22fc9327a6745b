"""Findings and checks as lines of text: `path:line: CODE severity message`, a link on a terminal, details when asked.

Nothing is judged here. Whether a command fails for what is listed is said in `output`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from ..tools.findings import GRADES, Check, Evidence, Finding, Report, clean
from ..tools.phrase import Phrase, counted, phrases

STYLES = {"S0": "bold red", "S1": "red", "S2": "yellow", "S3": "cyan"}
RESULTS = ("found", "clear", "too-short", "not-applicable")
PLACES = 4
"""Places of one finding that `-v` shows."""
WORDS = phrases(
    "words below a list of findings",
    ("found", "{n} found something", "{n} 项有发现"),
    ("clear", "{n} clear", "{n} 项正常"),
    ("too-short", "{n} too short to judge", "{n} 项太短，无法判断"),
    ("not-applicable", "{n} had nothing to look at", "{n} 项没有对应内容"),
    ("failed", "{n} could not be checked", "{n} 项未能检查"),
    ("unchecked", "could not be checked: ", "未能检查："),
    ("checks", "{n}: ", "{n}："),
    ("details", "-v shows details", "-v 显示详情"),
    ("step", "step {n}", "第 {n} 步"),
)  # fmt: skip
FINDINGS = Phrase("finding", "条发现")
CHECKS = Phrase("check", "项检查")


@dataclass(frozen=True)
class View:
    """How a report is shown, and what of it makes the command fail."""

    lang: str = "en"
    verbose: bool = False
    quiet: bool = False
    """The findings alone."""
    statistics: bool = False
    """How often each code was found, in place of the findings."""
    fail_on: str = "S3"
    """Mildest severity that gives exit status 1."""


def from_here(report: Report, root: Path, whole: bool = False) -> Report:
    """The report with the files of its evidence named from the working directory, where they lie below it.

    Elsewhere they keep the name that they have in the run, or with `whole` have their whole path.
    """
    here = Path.cwd()

    def named(e: Evidence) -> Evidence:
        path = root / (e.file or "")
        if e.file and path.is_relative_to(here):
            return replace(e, file=path.relative_to(here).as_posix())
        return replace(e, file=path.as_posix()) if e.file and whole and path.exists() else e

    found = (replace(f, evidence=tuple(map(named, f.evidence))) for f in report.findings)
    return replace(report, findings=tuple(found))


def print_findings(
    out: Console, findings: Sequence[Finding], view: View, about: str = "", linked: bool = False
) -> None:
    """One finding a line, or with `statistics` one code a line.

    Args:
        out: where to.
        findings: what was found.
        view: how much of it.
        about: what was looked at, said of a finding that has no place.
        linked: whether files are named from the working directory, so that a terminal can open them.
    """
    if view.statistics:
        for line in statistics(findings):
            out.print(line)
        return
    for i, finding in enumerate(findings, 1):
        where = finding.evidence[0] if finding.evidence else Evidence()
        line = Text().append_text(_place(where, linked and out.is_terminal) if where.file else Text(clean(about)))
        line.append(": " if line else "").append(finding.code, style="bold")
        line.append(f" {finding.severity} ", style=STYLES[finding.severity])
        out.print(line.append(clean(finding.say(view.lang), 600)))
        if view.verbose:
            for detail in _details(finding, f"F{i}", view.lang):
                out.print(Text(f"    {detail}", style="dim"))


def statistics(findings: Sequence[Finding]) -> Iterator[Text]:
    """Codes by how often they were found, the gravest first among equals."""
    found = Counter((f.code, f.severity) for f in findings)
    for (code, severity), n in sorted(found.items(), key=lambda item: (-item[1], item[0][1], item[0][0])):
        yield Text(f"{n:6} ").append(code, style="bold").append(f" {severity}", style=STYLES[severity])


def _place(e: Evidence, linked: bool) -> Text:
    """`path:line`, on a terminal with a link to the file where there is one."""
    shown = clean(f"{e.file}:{e.line}" if e.line else str(e.file))
    path = Path.cwd() / str(e.file)
    return Text(shown, Style(link=path.as_uri() if linked and path.is_file() else None))


def _details(finding: Finding, id: str, lang: str) -> Iterator[str]:
    """The number that it has in `--json`, the places that show it, and the run's own words there."""
    yield f"{id} {clean(finding.place())}".rstrip()
    if finding.evidence and (text := finding.evidence[0].text):
        yield f"| {clean(text, 160)}"
    for e in finding.evidence[1:PLACES]:
        where = f"{e.file}:{e.line}" if e.file and e.line else e.file or ""
        value = f"{e.metric} = {e.value}" if e.metric and e.value is not None else ""
        yield clean("  ".join(part for part in (where, value, e.text or "") if part), 200)


def print_checks(out: Console, checks: Sequence[Check], view: View) -> None:
    """What was looked at: whole where it failed, else counted; `-v` names every one, `--json` says why as well."""
    for check in checks:
        if check.result == "failed":
            said = f"{clean(check.called(view.lang))}: {clean(check.say(view.lang))}"
            out.print(Text(f"  {WORDS['unchecked'].say(view.lang)}{said}", style="red"))
    if view.quiet:
        return
    for result in RESULTS:
        if view.verbose and (names := [clean(c.called(view.lang)) for c in checks if c.result == result]):
            out.print(Text(f"  {WORDS[result].say(view.lang, n=len(names))}: {', '.join(names)}", style="dim"))


def print_counts(out: Console, report: Report, view: View) -> None:
    """The last line: findings by severity, checks by result."""
    grades = Counter(str(f.severity) for f in report.findings)
    found = counted(len(report.findings), FINDINGS, view.lang)
    if grades:
        found += f" ({', '.join(f'{n} {grade}' for grade, n in sorted(grades.items()))})"
    results = Counter(c.result for c in report.checks)
    parts = [WORDS[result].say(view.lang, n=results[result]) for result in (*RESULTS, "failed") if results[result]]
    looked = WORDS["checks"].say(view.lang, n=counted(len(report.checks), CHECKS, view.lang)) + ", ".join(parts)
    tail = "" if view.verbose else f"; {WORDS['details'].say(view.lang)}"
    out.print(Text(f"{found}; {looked}{tail}" if report.checks else f"{found}{tail}", style="dim"))
    if view.verbose and grades:
        out.print(Text(GRADES.say(view.lang), style="dim"))

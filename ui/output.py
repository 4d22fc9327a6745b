"""What every command prints: reports for people or as JSON, progress, and exit codes.

Text from a run is never interpreted as markup and never reaches the terminal with its escape sequences.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from ..tools.findings import EVIDENCE_READ, RECORDS_READ, Check, Finding, Report, clean
from ..tools.keeping import heard, losses
from ..tools.secrets import visible_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..tools.run import Run

STYLES = {"S0": "bold red", "S1": "red", "S2": "yellow", "S3": "cyan"}

JSON_OPTION = typer.Option("--json", help="Print one JSON object instead of text.")
"""For `as_json: Annotated[bool, JSON_OPTION] = False`, the same in every command."""
HTML_OPTION = typer.Option("--html", metavar="REPORT.html", help="Also write a report to attach to a ticket: one file.")
HOME_OPTION = typer.Option("--home", help="Where cases and caches live.", envvar="TRIAGE_HOME", readable=False)
"""Not `readable`: a command does without one that it may not read, where it can."""
CHECKED = {
    "found": "found something",
    "clear": "clear",
    "too-short": "too short to judge",
    "not-applicable": "had nothing to look at",
}
CHECKS_NAMED = 6
"""Checks of one result that the text output names."""


def console(stderr: bool = False) -> Console:
    """Colour only on a terminal; wide lines are left whole in a pipe."""
    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    return (
        out
        if out.is_terminal
        else Console(
            stderr=stderr,
            highlight=False,
            markup=False,
            emoji=False,
            width=200,
            no_color=True,
            soft_wrap=True,
        )
    )


def emphasised(text: str) -> Text:
    """A short answer line by line as it is, the emphasis that lines begin with set bold."""
    out = Text()
    for line in text.splitlines(keepends=True):
        indent, mark, said = line.partition("**")
        strong, end, rest = said.partition("**") if mark and not indent.strip() else ("", "", "")
        if end:
            out.append(indent).append(strong, style="bold").append(rest)
        else:
            out.append(line)
    return out


def print_json(value: dict[str, Any]) -> None:
    """With what could not be kept or used of the data directory under `losses`, where there is any."""
    import orjson

    value = value | {"losses": told} if (told := heard()) else value
    sys.stdout.write(
        orjson.dumps(visible_in(value), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n"
    )


def print_findings(out: Console, findings: tuple[Finding, ...], lang: str = "en") -> None:
    for i, finding in enumerate(findings, 1):
        line = Text().append(f"F{i} ", style="dim")
        line.append(f"{finding.severity} ", style=STYLES[finding.severity])
        line.append(f"{finding.code}  ", style="bold")
        line.append(clean(finding.say(lang), 600))
        out.print(line)
        if place := finding.place():
            out.print(Text(f"      {clean(place)}", style="dim"))
        if finding.evidence and (text := finding.evidence[0].text):
            out.print(Text(f"      | {clean(text, 160)}", style="dim"))


@dataclass(frozen=True)
class Html:
    """The report that `--html` asks for, beside what is printed."""

    path: Path | None
    about: str
    """What was looked at, as the person named it."""
    figures: Callable[[], Sequence[tuple[str, Figure | None]]] = tuple
    """Captions and pictures, drawn only when asked for."""
    run: Run | None = None
    """Where the lines around findings are read."""


def emit(
    report: Report,
    as_json: bool,
    html: Html | None = None,
    fail_on: str = "S3",
    also: Callable[[], None] = lambda: None,
) -> None:
    """Print the report, write the files beside it (a full disk costs these alone), and leave with its `status`."""
    if as_json:
        print_json(report.as_json())
    else:
        out = console()
        print_findings(out, report.findings)
        if not report.findings:
            out.print(nothing(report))
        print_checks(out, report.checks)
    if html and html.path:
        from .pages import findings_page

        write_html(findings_page(report, html.about, html.figures(), html.run), html.path)
    also()
    raise typer.Exit(status(report, fail_on))


def status(report: Report, fail_on: str = "S3") -> int:
    """The contract's exit status: 1 with findings or where not all was read, 2 when nothing could be checked, else 0.

    A reassurance (severity S3 code `run-healthy`) does not count as something wrong, nor what is milder than `fail_on`.
    """
    if any(f.code != "run-healthy" and f.severity <= fail_on for f in report.findings):
        return 1
    if any(c.result == "failed" and c.name.startswith(RECORDS_READ) for c in report.checks):
        return 1
    failed = {c.name for c in report.checks if c.result == "failed"}
    if failed and not judged(report):
        return 2
    return 1 if EVIDENCE_READ in failed else 0


def judged(report: Report) -> bool:
    """Whether any check came to a result."""
    return any(c.result in ("clear", "found") for c in report.checks)


def nothing(report: Report) -> str:
    """What to say when there is no finding: a check that broke is not a check that found nothing."""
    if status(report):
        some = "Not all" if judged(report) else "Nothing"
        return f"{some} could be checked: mend what is named below and run this again."
    if not judged(report):
        return "Nothing was judged: there is nothing here that this command reads."
    failed = any(c.result == "failed" for c in report.checks)
    return "Nothing wrong found in what could be checked." if failed else "Nothing wrong found."


def print_checks(out: Console, checks: Sequence[Check]) -> None:
    """What was looked at: whole where it failed or found little to say, else counted; `--json` has every check."""
    for check in checks:
        if check.result == "failed":
            out.print(Text(f"  could not be checked: {clean(check.name)}: {clean(check.why)}", style="red"))
    for result, words in CHECKED.items():
        these = [c for c in checks if c.result == result]
        if these:
            names = ", ".join(clean(c.name) for c in these[:CHECKS_NAMED])
            more = f" and {len(these) - CHECKS_NAMED} more" if len(these) > CHECKS_NAMED else ""
            out.print(Text(f"  {len(these)} {words}: {names}{more}", style="dim"))


def write_html(page: str, path: Path) -> None:
    from .pages import write

    write(page, path)
    console(stderr=True).print(Text(f"wrote {path}"))


@contextmanager
def telling_losses() -> Iterator[None]:
    """What could not be kept or used of the data directory, at the end: one line on standard error."""
    with losses() as told:
        try:
            yield
        finally:
            if told:
                print(f"triage: {clean('; '.join(told), 2000)}", file=sys.stderr)


@contextmanager
def progress(label: str, total: float | None = None) -> Iterator[Any]:
    """A progress bar on standard error, only on a terminal; yields `advance(amount)`."""
    if not sys.stderr.isatty():
        yield lambda amount=1.0: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount=1.0: bar.advance(task, amount)

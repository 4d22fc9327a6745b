"""What every command prints: reports for people or as JSON, progress, and exit codes.

Text from a run is never interpreted as markup and never reaches the terminal with its escape sequences.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from ..tools.findings import Finding, Report, clean

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"S0": "bold red", "S1": "red", "S2": "yellow", "S3": "cyan"}

JSON_OPTION = typer.Option("--json", help="Print one JSON object instead of text.")
"""For `as_json: Annotated[bool, JSON_OPTION] = False`, the same in every command."""


def console(stderr: bool = False) -> Console:
    """Colour only on a terminal; wide lines are left whole in a pipe."""
    from rich.console import Console

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


def print_json(value: Any) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n")


def where(finding: Finding) -> str:
    """`train.log:18234 step 4000` of the first evidence, or an empty string."""
    if not finding.evidence:
        return ""
    e = finding.evidence[0]
    place = f"{e.file}:{e.line}" if e.file and e.line else (e.file or "")
    counted = finding.data.get("step_is", "step") != "line"  # else the step is the order of the log lines
    parts = [
        place,
        f"step {e.step}" if e.step is not None and counted else "",
        f"rank {e.rank}" if e.rank is not None else "",
    ]
    return " ".join(p for p in parts if p)


def print_findings(out: Console, findings: tuple[Finding, ...], lang: str = "en") -> None:
    from rich.text import Text

    for i, finding in enumerate(findings, 1):
        line = Text().append(f"F{i} ", style="dim")
        line.append(f"{finding.severity} ", style=STYLES[finding.severity])
        line.append(f"{finding.code}  ", style="bold")
        line.append(clean(finding.say(lang), 600))
        out.print(line)
        if place := where(finding):
            out.print(Text(f"      {clean(place)}", style="dim"))
        if finding.evidence and (text := finding.evidence[0].text):
            out.print(Text(f"      | {clean(text, 160)}", style="dim"))


def emit(report: Report, as_json: bool) -> None:
    """Print the report and leave with the contract's exit status: 1 with findings, 0 without.

    A reassurance (severity S3 code `run-healthy`) does not count as something wrong.
    """
    if as_json:
        print_json(report.as_json())
    else:
        out = console()
        print_findings(out, report.findings)
        if not report.findings:
            out.print("Nothing wrong found.")
        for check in report.checks:
            style = "red" if check.result == "failed" else "dim"
            line = f"  {check.result:14} {clean(check.name)}" + (f": {clean(check.why)}" if check.why else "")
            out.print(line, style=style)
    raise typer.Exit(1 if any(f.code != "run-healthy" for f in report.findings) else 0)


@contextmanager
def progress(label: str, total: float | None = None) -> Iterator[Any]:
    """A progress bar on standard error, only on a terminal; yields `advance(amount)`."""
    if not sys.stderr.isatty():
        yield lambda amount=1.0: None
        return
    from rich.console import Console
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

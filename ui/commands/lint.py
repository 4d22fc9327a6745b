"""`triage lint`: judge configs and launch scripts without running anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import Report, Severity, merge
from .. import complete
from ..output import HTML_OPTION, JSON_OPTION, Html, console, emit, print_checks, print_json, status

HELP = """Find settings that contradict each other or cannot work.

Examples:

  triage lint runs/exp42

  triage lint train.yaml launch.sh --format sarif

  triage lint configs --format github --fail-on S1

  triage lint --explain warmup-exceeds-training
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(lint)


def lint(
    paths: Annotated[list[Path] | None, typer.Argument(help="Config files, launch scripts or run directories.")] = None,
    html: Annotated[Path | None, HTML_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
    format: Annotated[str, typer.Option(help="text, json, sarif or github.")] = "text",
    fail_on: Annotated[str, typer.Option(help="Exit with 1 for findings of this severity or worse.")] = "S3",
    explain: Annotated[
        str, typer.Option(metavar="CODE", help="Print the documentation of one rule.", autocompletion=complete.rules)
    ] = "",
) -> None:
    from ...tools.config.lint import explain as page

    if explain:
        console().print(page(explain))
        return
    if not paths:
        raise typer.BadParameter("name at least one file or directory, or --explain CODE")
    if format not in ("text", "json", "sarif", "github"):
        raise typer.BadParameter(f"--format {format}: text, json, sarif or github")
    if fail_on not in tuple(Severity):
        raise typer.BadParameter(f"--fail-on {fail_on}: S0, S1, S2 or S3")
    from ..ci import annotation, sarif

    as_json = as_json or format == "json"
    report = judge(paths, from_root=as_json)
    if format == "sarif":
        print_json(sarif(report))
    elif format == "github":
        sys.stdout.write("".join(annotation(f) + "\n" for f in report.findings))
    else:
        emit(report, as_json, Html(html, ", ".join(map(str, paths))), fail_on)
    print_checks(console(stderr=True), [c for c in report.checks if c.result == "failed"])
    raise typer.Exit(status(report, fail_on))


def judge(paths: list[Path], from_root: bool) -> Report:
    """One report over all paths; evidence names files relative to each path, or else from the working directory."""
    from ...tools.config.lint import lint as judge_run
    from ...tools.discover import discover
    from ..ci import from_here

    runs = [discover(path) for path in paths]
    reports = [judge_run(run, everything=True) for run in runs]
    named = [from_here(report, run.root) for report, run in zip(reports, runs, strict=True)]
    return merge("lint", reports if from_root else named)

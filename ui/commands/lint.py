"""`triage lint`: judge configs and launch scripts without running anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import Report, merge
from .. import complete
from ..listing import View, from_here, print_checks
from ..output import (
    FAIL_OPTION,
    HTML_OPTION,
    JSON_OPTION,
    LANG_OPTION,
    QUIET_OPTION,
    STATISTICS_OPTION,
    VERBOSE_OPTION,
    Html,
    console,
    emit,
    one_of,
    print_json,
    status,
)

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
    format: Annotated[
        str,
        typer.Option(
            help="text, json, sarif or github.", callback=one_of("--format", "text", "json", "sarif", "github")
        ),
    ] = "text",
    fail_on: Annotated[str, FAIL_OPTION] = "S3",
    verbose: Annotated[bool, VERBOSE_OPTION] = False,
    quiet: Annotated[bool, QUIET_OPTION] = False,
    statistics: Annotated[bool, STATISTICS_OPTION] = False,
    lang: Annotated[str, LANG_OPTION] = "en",
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
    from ..ci import annotation, sarif

    as_json = as_json or format == "json"
    report = judge(paths, as_json, format == "text")
    if format == "sarif":
        print_json(sarif(report))
    elif format == "github":
        sys.stdout.write("".join(annotation(f) + "\n" for f in report.findings))
    else:
        view = View(lang, verbose, quiet, statistics, fail_on)
        emit(report, as_json, Html(html, ", ".join(map(str, paths))), view, listed=report.findings)
    print_checks(console(stderr=True), [c for c in report.checks if c.result == "failed"], View(lang))
    raise typer.Exit(status(report, fail_on))


def judge(paths: list[Path], from_root: bool, whole: bool) -> Report:
    """One report over all paths; evidence names files relative to each path, or else from the working directory."""
    from ...tools.config.lint import lint as judge_run
    from ...tools.discover import discover

    runs = [discover(path) for path in paths]
    reports = [judge_run(run, everything=True) for run in runs]
    named = [from_here(report, run.root, whole) for report, run in zip(reports, runs, strict=True)]
    return merge("lint", reports if from_root else named)

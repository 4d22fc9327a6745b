"""`triage lint`: judge configurations, launch scripts and training programs without running anything."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import Report, account, clean, merge
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

HELP = """Find settings that contradict each other, and faults in training programs; nothing is run.

Examples:

  triage lint runs/exp42

  triage lint train.yaml launch.sh --format sarif

  triage lint configs --format github --fail-on S1

  triage lint train.py --select zero-grad-missing,loss-kept-with-graph

  triage lint train.py --fix

  triage lint --explain warmup-exceeds-training
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(lint)


def lint(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Config files, launch scripts, programs or run directories.")
    ] = None,
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
    select: Annotated[str, typer.Option(help="Codes of the rules to ask, with commas; all by default.")] = "",
    fix: Annotated[bool, typer.Option("--fix", help="Write the safe edits of programs into their files.")] = False,
) -> None:
    if explain:
        console().print(page(explain), markup=False)
        return
    chosen = _chosen(select)
    if not paths:
        raise typer.BadParameter("name at least one file or directory, or --explain CODE")
    from ..ci import annotation, sarif

    as_json = as_json or format == "json"
    report = judge(paths, as_json, chosen, fix, whole=format == "text")
    if format == "sarif":
        print_json(sarif(report))
    elif format == "github":
        sys.stdout.write("".join(annotation(f) + "\n" for f in report.findings))
    else:
        view = View(lang, verbose, quiet, statistics, fail_on)
        emit(report, as_json, Html(html, ", ".join(map(str, paths))), view, listed=report.findings)
    print_checks(console(stderr=True), [c for c in report.checks if c.result == "failed"], View(lang))
    raise typer.Exit(status(report, fail_on))


def page(code: str) -> str:
    """The documentation of a rule on configurations or on programs."""
    from ...tools.code.check import RULES, explain
    from ...tools.config.lint import explain as explain_setting

    return explain(code) if code in RULES else explain_setting(code)


def _chosen(select: str) -> frozenset[str]:
    """The codes that are asked for; none means all.

    Raises:
        typer.BadParameter: there is no such rule.
    """
    from ...tools.code.check import RULES as CODE
    from ...tools.config.lint import RULES

    codes = frozenset(filter(None, (c.strip() for c in select.split(","))))
    if unknown := sorted(codes - RULES.keys() - CODE.keys()):
        raise typer.BadParameter(f"--select: no rule {unknown[0]!r}")
    return codes


def judge(
    paths: list[Path],
    from_root: bool,
    select: frozenset[str] = frozenset(),
    fix: bool = False,
    whole: bool = False,
) -> Report:
    """One report over all paths; evidence names files relative to each path, or else from the working directory.

    Args:
        paths: what the person named.
        from_root: whether evidence names files from each path.
        select: the rules to ask; all if empty.
        fix: whether the safe edits of programs are written, as the person asked; what they mend is not reported.
        whole: whether files outside the working directory are named by their whole path.
    """
    from concurrent.futures import ThreadPoolExecutor

    from ...tools.code.check import check_files
    from ...tools.code.files import programs
    from ...tools.code.mend import mend
    from ...tools.config.lint import lint as judge_run
    from ...tools.discover import discover
    from ..linted import arithmetic_of

    runs = [discover(path) for path in paths]
    reports = []
    for run in runs:
        own = [(a.path, a.name) for a in programs(run)]
        if fix:
            for path in mend((path for path, _ in own), select):
                console(stderr=True).print(f"edited {clean(str(path), 400)}", markup=False)
        with ThreadPoolExecutor(1) as beside:  # other processes judge the programs of a large folder
            code = beside.submit(check_files, own, select)
            settings = _only(merge("lint", [judge_run(run, everything=True), arithmetic_of(run)]), select)
        reports.append(merge("lint", [settings, code.result()] if own else [settings]))
    named = [from_here(report, run.root, whole) for report, run in zip(reports, runs, strict=True)]
    report = merge("lint", reports if from_root else named)
    return replace(report, checks=(*report.checks, *account(report.checks)))


def _only(report: Report, select: frozenset[str]) -> Report:
    """The report with the findings of the selected rules."""
    kept = tuple(f for f in report.findings if not select or f.code in select)
    return replace(report, findings=kept)

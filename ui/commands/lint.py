"""`triage lint`: judge configs and launch scripts without running anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ...tools.findings import Finding, Report, merge
from ..output import HTML_OPTION, JSON_OPTION, Html, console, emit, print_json

LEVELS = {"S0": ("error", "error"), "S1": ("error", "error"), "S2": ("warning", "warning"), "S3": ("note", "notice")}
"""Severity -> (SARIF level, GitHub annotation)."""


HELP = """Find settings that contradict each other or cannot work.

Examples:

  triage lint runs/exp42

  triage lint train.yaml launch.sh --format sarif

  triage lint --explain warmup-exceeds-training
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(lint)


def lint(
    paths: Annotated[list[Path] | None, typer.Argument(help="Config files, launch scripts or run directories.")] = None,
    html: Annotated[Path | None, HTML_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
    format: Annotated[str, typer.Option(help="text, json, sarif or github.")] = "text",
    explain: Annotated[str, typer.Option(metavar="CODE", help="Print the documentation of one rule.")] = "",
) -> None:
    from ...tools.config.lint import explain as page

    if explain:
        console().print(page(explain))
        return
    if not paths:
        raise typer.BadParameter("name at least one file or directory, or --explain CODE")
    if format not in ("text", "json", "sarif", "github"):
        raise typer.BadParameter(f"--format {format}: text, json, sarif or github")
    report = judge(paths)
    if format == "sarif":
        print_json(sarif(report))
    elif format == "github":
        sys.stdout.write("".join(annotation(f) + "\n" for f in report.findings))
    else:
        emit(report, as_json or format == "json", Html(html, ", ".join(map(str, paths))))
    raise typer.Exit(1 if report.findings else 0)


def judge(paths: list[Path]) -> Report:
    """One report over all paths; evidence names files relative to each path."""
    from ...tools.config.lint import lint as judge_run
    from ...tools.run import discover

    return merge("lint", [judge_run(discover(path), everything=True) for path in paths])


def sarif(report: Report) -> dict[str, Any]:
    """SARIF 2.1.0, one result per finding, one rule per code."""
    from ...tools.config.lint import RULES

    used = sorted({f.code for f in report.findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": RULES[code].title},
            "fullDescription": {"text": RULES[code].page},
            "defaultConfiguration": {"level": LEVELS[RULES[code].severity][0]},
        }
        for code in used
    ]
    failed = [{"level": "error", "message": {"text": c.why or c.name}} for c in report.checks if c.result == "failed"]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "triage lint", "rules": rules}},
                "results": [_result(f, used) for f in report.findings],
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
            }
        ],
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    places = [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": e.file},
                **({"region": {"startLine": e.line}} if e.line else {}),
            }
        }
        for e in finding.evidence[:1]
        if e.file
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity][0],
        "message": {"text": finding.message},
        "locations": places,
        "properties": {"severity": str(finding.severity)},
    }


def annotation(finding: Finding) -> str:
    """A GitHub workflow command; newlines and the characters it reserves are escaped."""
    where = finding.evidence[0] if finding.evidence else None
    fields = [f"title={_escaped(finding.code, True)}"]
    if where and where.file:
        fields = [f"file={_escaped(where.file, True)}", f"line={where.line or 1}", *fields]
    return f"::{LEVELS[finding.severity][1]} {','.join(fields)}::{_escaped(finding.message)}"


def _escaped(text: str, in_field: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_field else text

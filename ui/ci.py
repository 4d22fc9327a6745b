"""Findings as continuous integration reads them: SARIF 2.1.0 and GitHub's workflow commands.

Files are named from the working directory, where a checkout's root is, so that a remark lands on its line.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ..tools.code.check import RULES as CODE
from ..tools.config.lint import RULES
from ..tools.findings import Finding, Report

LEVELS = {"S0": ("error", "error"), "S1": ("error", "error"), "S2": ("warning", "warning"), "S3": ("note", "notice")}
"""Severity -> (SARIF level, GitHub annotation)."""
MOST_TEXT = 1000
"""GitHub cuts descriptions at 1,024 characters."""


def sarif(report: Report) -> dict[str, Any]:
    """One result per finding, one rule per code; what could not be judged is a notification."""
    used = sorted({f.code for f in report.findings})
    failed = [{"level": "error", "message": {"text": c.why or c.name}} for c in report.checks if c.result == "failed"]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "triage lint", "rules": list(map(_rule, used))}},
                "results": [_result(f, used) for f in report.findings],
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    rule = RULES.get(code) or CODE[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.page[:MOST_TEXT]},
        "help": {"text": rule.page},
        "defaultConfiguration": {"level": LEVELS[rule.severity][0]},
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    places = [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": quote(e.file), "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": e.line or 1},
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

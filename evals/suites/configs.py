"""Published configs: is every file read or refused with a reason, and does lint stay calm.

`python -m triage.evals.suites.configs FOLDER [--values]`, where FOLDER holds `manifest.jsonl` (`file`, `framework`,
`known_issues`) and the files. Prints per file the framework, the number of settings and the findings by severity,
marks those on a line that the manifest knows, and totals at the end. Judges nothing itself.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from ...tools.config.combine import settings_of
from ...tools.config.lint import lint
from ...tools.config.read import read_file
from ...tools.config.syntax.source import Refused
from ...tools.findings import Finding
from ...tools.settings import DERIVED, VARIABLES, Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--values", action="store_true", help="print every canonical value with its line")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    for row in map(json.loads, (options.folder / "manifest.jsonl").read_text("utf-8").splitlines()):
        one(options.folder, row, totals, options.values)
    print(
        f"\n{totals['files']} files: {totals['read']} read, {totals['refused']} refused, {totals['empty']} without "
        f"public settings, {totals['settings']} public settings"
    )
    print("findings: " + ", ".join(f"{s} {totals[s]} ({totals[s + ' known']} known)" for s in ("S0", "S1", "S2", "S3")))


def one(folder: Path, row: dict[str, Any], totals: Counter[str], values: bool) -> None:
    totals["files"] += 1
    try:
        reading = read_file(folder / row["file"], row["file"])
    except Refused as error:
        totals["refused"] += 1
        print(f"{row['file']}: refused: {error}")
        return
    settings = settings_of(reading)
    public = [s for s in settings if s.variable in VARIABLES]
    totals["read"] += 1
    totals["empty"] += not public
    totals["settings"] += len(public)
    print(f"{row['file']}: {row['framework']} read as {reading.framework}, {len(public)} settings")
    if values:
        show(settings)
    for finding in lint(settings).findings:
        known = any(matches(finding, issue) for issue in row["known_issues"])
        totals[str(finding.severity)] += 1
        totals[f"{finding.severity} known"] += known
        line = finding.evidence[0].line if finding.evidence else "-"
        print(f"    {finding.severity} {finding.code} line {line}{' (known)' if known else ''}: {finding.message}")


def matches(finding: Finding, issue: dict[str, Any]) -> bool:
    """The finding is about a line that the manifest lists, or both are about something that is missing."""
    lines = {e.line for e in finding.evidence[:1]}
    return issue["line"] in lines or (issue["line"] is None and "clip" in finding.code and "clip" in issue["rule"])


def show(settings: Settings) -> None:
    for setting in sorted(settings, key=lambda s: s.line):
        print(f"      {setting.line:5} {setting.variable} = {setting.value!r}   [{setting.key}: {setting.raw[:60]!r}]")
    for variable in DERIVED:
        if variable not in settings and (value := settings.value(variable)) is not None:
            print(f"          - {variable} = {value!r} (derived)")


if __name__ == "__main__":
    main()

"""`triage scan`: what the logs and metrics of a run show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..output import JSON_OPTION, emit, progress

HELP = """Scan logs and metrics: non-finite values, spikes, collapses, hangs, error signatures.

Examples:

  triage scan runs/exp42

  triage scan train.log --json

  triage scan runs/exp42 --series points.parquet
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(scan)


def scan(
    paths: Annotated[list[Path], typer.Argument(help="Run directories or files.")],
    series: Annotated[Path | None, typer.Option(help="Write every point to this Parquet file.")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...tools.findings import merge
    from ...tools.logs.report import scan as scan_run
    from ...tools.logs.report import write_series
    from ...tools.run import discover
    from ...tools.series import SeriesTable, read_series

    reports, tables = [], []
    with progress("scanning", len(paths)) as step:
        for path in paths:
            run = discover(path)
            read = read_series(run)
            reports.append(scan_run(run, read=read))
            tables.append(read[0])
            step()
    if series:
        write_series(SeriesTable(tuple(s for table in tables for s in table)), series)
    emit(reports[0] if len(reports) == 1 else merge("scan", reports), as_json)

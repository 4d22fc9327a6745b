"""`triage scan`: what the logs and metrics of a run show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import JSON_OPTION, emit, progress

if TYPE_CHECKING:
    from ...tools.run import Run

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
    from ...tools.reading import listening
    from ...tools.run import discover
    from ...tools.series import SeriesTable, read_series

    reports, tables = [], []
    runs = [discover(path) for path in paths]
    with progress("scanning", sum(map(bytes_to_read, runs))) as step, listening(step):
        for run in runs:
            read = read_series(run)
            reports.append(scan_run(run, read=read))
            tables.append(read[0])
    if series:
        write_series(SeriesTable(tuple(s for table in tables for s in table)), series)
    emit(reports[0] if len(reports) == 1 else merge("scan", reports), as_json)


def bytes_to_read(run: Run) -> int:
    """Bytes that the scan reads: metric files once, logs twice (series, then text)."""
    logs = sum(a.path.stat().st_size for a in run.of("log"))
    return 2 * logs + sum(a.path.stat().st_size for a in run.of("metrics") if a.path.is_file())

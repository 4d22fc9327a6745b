"""`triage scan`: what the logs and metrics of a run show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...tools.findings import clean
from ...tools.phrase import Phrase, in_chinese, phrases
from ..listing import View, from_here
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
    progress,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...agent.coverage import Covered
    from ...tools.findings import Finding, Report
    from ...tools.run import Run
    from ...tools.series import SeriesTable
    from ..plots.live import Picture

HELP = """Scan logs and metrics: non-finite values, spikes, collapses, hangs, error signatures.

On a terminal, loss and gradient norm are drawn with the first bad step marked (--plot draws them in a pipe too).

Examples:

  triage scan runs/exp42

  triage scan train.log --json

  triage scan runs/exp42 --fail-on S1 --quiet

  triage scan runs/exp42 --html report.html --series points.parquet
"""
UNREAD = 3
"""Unread files that the text output names."""
DRAWN, ROWS = 2, 9
"""Panels drawn in the terminal, and the height of one in lines."""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(scan)


def scan(
    paths: Annotated[list[Path], typer.Argument(help="Run directories or files.")],
    plot: Annotated[bool | None, typer.Option(help="Draw the series; without it, only on a terminal.")] = None,
    series: Annotated[Path | None, typer.Option(help="Write every point to this Parquet file.")] = None,
    html: Annotated[Path | None, HTML_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
    fail_on: Annotated[str, FAIL_OPTION] = "S3",
    verbose: Annotated[bool, VERBOSE_OPTION] = False,
    quiet: Annotated[bool, QUIET_OPTION] = False,
    statistics: Annotated[bool, STATISTICS_OPTION] = False,
    lang: Annotated[str, LANG_OPTION] = "en",
) -> None:
    from ...agent.coverage import as_json as as_json_account
    from ...agent.coverage import coverage
    from ...agent.evidence import read_measures
    from ...tools.discover import discover
    from ...tools.findings import Report, merge
    from ...tools.logs.scan import scan as scan_run
    from ...tools.logs.scan import write_series
    from ...tools.reading import listening
    from ...tools.series import SeriesTable

    reports, tables, covered = [], [], []
    runs = [discover(path) for path in paths]
    with progress("scanning", sum(map(bytes_to_read, runs))) as step, listening(step, step.file):
        for run in runs:
            read, opened = read_measures(run)
            scanned = scan_run(run, read=read)
            reports.append(merge("scan", [scanned, opened.report]) if opened else scanned)
            tables.append(read.table)
            covered += coverage(run, read.table, None, reports[-1:], opened.accounts if opened else {})

    def write() -> None:
        if series:
            write_series(SeriesTable(tuple(s for table in tables for s in table)), series)

        if not as_json and not quiet:
            unread(covered, lang, verbose)

    report = merge("scan", [*reports, Report("scan", summary={"coverage": as_json_account(covered)})])
    if not as_json and (console().is_terminal and not quiet and not statistics if plot is None else plot):
        for table, one in zip(tables, reports, strict=True):
            draw(table, one.findings)
    shown = list(zip(map(str, paths), tables, reports, strict=True))
    emit(
        report,
        as_json,
        Html(html, ", ".join(map(str, paths)), lambda: pictures(shown, lang), runs[0] if len(runs) == 1 else None),
        View(lang, verbose, quiet, statistics, fail_on),
        write,
        [f for one, run in zip(reports, runs, strict=True) for f in from_here(one, run.root, whole=True).findings],
    )


SERIES = Phrase("Series of {name}", "{name} 的指标曲线")
FILES = phrases(
    "the line of files",
    ("read", "Files: {read} of {all} read", "文件：共 {all} 个，读取 {read} 个"),
    ("missed", "; not read: {names}", "；未读取：{names}"),
)


def unread(covered: Sequence[Covered], lang: str = "en", everything: bool = False) -> None:
    """One line: how many files were read, and those that were not though they could show something."""
    why = in_chinese if lang == "zh" else str
    missed = [f"{clean(c.file, 60)} ({clean(why(c.why), 80)})" for c in covered if c.missed]
    named = missed if everything else missed[:UNREAD]
    names = ", ".join(named) + (f" +{len(missed) - len(named)}" if missed[len(named) :] else "")
    said = FILES["read"].say(lang, read=sum(c.read_as is not None for c in covered), all=len(covered))
    console().print(said + (FILES["missed"].say(lang, names=names) if missed else ""))


def draw(table: SeriesTable, findings: Sequence[Finding]) -> None:
    """The first panels, in the terminal."""
    from ..plots.series import series_panels
    from ..plots.terminal import text

    out = console()
    for panel in series_panels(table, findings)[:DRAWN]:
        colours = out.is_terminal and not out.no_color
        print(text(panel, min(out.width, 100), ROWS, colours=colours), end="\n\n")


def pictures(shown: Sequence[tuple[str, SeriesTable, Report]], lang: str) -> list[Picture]:
    """One for each run; its findings are numbered as in the whole report."""
    from ..plots.live import of_series

    out: list[Picture] = []
    first = 1
    for name, table, one in shown:
        out += of_series(SERIES.say(lang, name=clean(name)), table, one.findings, lang, first)
        first += len(one.findings)
    return out


def bytes_to_read(run: Run) -> int:
    """Bytes that the scan reads: every log and metric file once."""
    return sum(a.path.stat().st_size for a in run.of("log", "metrics") if a.path.is_file())

"""`triage tables` and `triage sql`: what was read of a run, as tables, and asked in SQL."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import clean
from ..output import JSON_OPTION, console, print_json

HELP = """List what was read of a run as tables: rows, and each column with its role and range.

The first eight are gathered from all files (files, series, settings, events, claims, scores, findings, code_facts); the
others are the tables of its files as they stand. `triage sql` asks them.

Examples:

  triage tables runs/exp42

  triage tables runs/exp42 --json
"""

SQL = """Ask what was read of a run in SQL (DuckDB's): one SELECT, read only, within limits of time, memory and rows.

`triage tables RUN` lists the tables and their columns. Nothing outside the run's own tables can be reached: no file, no
network, no extension, no setting.

Examples:

  triage sql runs/exp42 "select metric, count(*), min(value), max(value) from series group by metric"

  triage sql runs/exp42 "select * from events order by step" --csv
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(tables)
    app.command(help=SQL)(sql)


def tables(
    paths: Annotated[list[Path], typer.Argument(help="Run directories or files.")],
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.evidence import look
    from ...agent.store import store_of

    with store_of(look(paths)) as store:
        described = store.describe()
    if as_json:
        print_json(
            {
                "schema": "triage.tables/1",
                "tables": [
                    {
                        "name": t.name,
                        "file": t.file or None,
                        "rows": t.rows,
                        "columns": [dict(zip(("name", "type", "role", "range"), c, strict=True)) for c in t.columns],
                        "cut": t.cut or None,
                    }
                    for t in described
                ],
            }
        )
        return
    out = console()
    for t in described:
        of = f", of {clean(t.file, 120)}" if t.file else ""
        out.print(f"{t.name}: {t.rows} rows{of}{f' ({t.cut})' if t.cut else ''}")
        for name, kind, role, span in t.columns if t.rows else ():
            out.print("   " + "  ".join(filter(None, (name, role or kind.lower(), span))))


def sql(
    paths: Annotated[list[Path], typer.Argument(help="Run directories or files; the query is the last argument.")],
    query: Annotated[str, typer.Argument(help="One SELECT.")],
    as_json: Annotated[bool, JSON_OPTION] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    rows: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most rows printed.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="Longest time for the query.")] = 20.0,
) -> None:
    from ...agent.evidence import look
    from ...agent.store import store_of
    from ...tools.store.answering import Limits

    with store_of(look(paths)) as store:
        found = store.ask(query, Limits(seconds=seconds, rows=rows))
    if as_json:
        print_json({"schema": "triage.rows/1", "columns": found.columns, "rows": found.rows, "cut": found.cut or None})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.rows)
    else:
        aligned(found.columns, found.rows)
    if found.cut and not as_json:
        console(stderr=True).print(found.cut)


def aligned(columns: tuple[str, ...], rows: tuple[tuple[object, ...], ...]) -> None:
    """The rows under their names, as wide as they are."""
    shown = [columns, *([_said(value) for value in row] for row in rows)]
    widths = [max(len(str(row[i])) for row in shown) for i in range(len(columns))]
    for row in shown:
        print("  ".join(str(value).ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


def _said(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

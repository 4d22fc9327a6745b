"""`triage tables`: what was read of a run, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import clean
from ..output import JSON_OPTION, console, print_json

HELP = """List what was read of a run as tables: rows, and each column with its role and range.

The first seven are gathered from all files (files, series, settings, events, claims, scores, findings); the others are
the tables of its files as they stand. `triage sql` asks them.

Examples:

  triage tables runs/exp42

  triage tables runs/exp42 --json
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(tables)


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

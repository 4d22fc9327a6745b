"""`triage cases`: the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ...tools.findings import clean
from ..output import JSON_OPTION, console, print_json

HELP = """List the cases, or show one.

Examples:

  triage cases

  triage cases 4be1c9
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(cases)


def cases(
    id: Annotated[str | None, typer.Argument(help="Show this case.")] = None,
    limit: Annotated[int, typer.Option(help="How many of the newest.")] = 20,
    home: Annotated[Path | None, typer.Option(help="Where cases and caches live.", envvar="TRIAGE_HOME")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.casebook import Casebook
    from ...agent.casebook import home as data_home

    book = Casebook(data_home(home))
    if id is None:
        found = book.cases(limit)
        if as_json:
            print_json({"schema": "triage.cases/1", "cases": [c.__dict__ for c in found]})
            return
        for case in found:
            console().print(Text(f"{case.id}  {case.opened}  {case.status:13} {clean(case.question, 100)}"))
        if not found:
            console().print('No cases yet. `triage ask "..." --run PATH` opens one.')
        return
    case = book.get(id)
    if as_json:
        print_json({"schema": "triage.case/1", **case.__dict__})
        return
    console().print(Text(f"case {case.id}, opened {case.opened}, {case.status}\n{clean(case.question, 500)}"))
    for event in case.events:
        console().print(Text(f"\n--- {event['at']} {event['kind']}\n"))
        console().print(event["content"].get("answer", ""))

"""`triage doctor`: is everything there that triage can use?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..output import HOME_OPTION, JSON_OPTION, console, print_json

HELP = """Check the data directory, the runbook index, the optional parts, and the model server with one real tool call.

Exit status 1 if something that is set up does not work.

Examples:

  triage doctor

  TRIAGE_MODEL_URL=http://127.0.0.1:8000/v1 triage doctor --json
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(doctor)


def doctor(home: Annotated[Path | None, HOME_OPTION] = None, as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    from rich.text import Text

    from ...agent.casebook import home as data_home
    from ...agent.doctor import examine

    lines = list(examine(data_home(home)))
    if as_json:
        print_json({"schema": "triage.doctor/1", "parts": [line.__dict__ for line in lines]})
    else:
        for line in lines:
            todo = f"  -> {line.todo}" if line.todo else ""
            style = {"bad": "red", "absent": "dim", "ok": ""}[line.result]
            console().print(Text(f"{line.result:7} {line.name:18} {line.found}{todo}", style=style))
    raise typer.Exit(1 if any(line.result == "bad" for line in lines) else 0)

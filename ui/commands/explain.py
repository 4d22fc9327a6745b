"""`triage explain`: what a code, an entry, a sign or a word of an answer means."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import complete
from ..output import JSON_OPTION, LANG_OPTION, console, print_json

HELP = """Say what a finding, a lint rule, a runbook entry, a sign or a word of an answer means.

Examples:

  triage explain loss-spike

  triage explain S1 probability

  triage explain loss-nan-high-lr --lang zh

  triage explain "rises(grad_norm) before nonfinite(loss)"
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(explain)


def explain(
    names: Annotated[
        list[str], typer.Argument(metavar="CODE...", help="What to explain.", autocompletion=complete.explained)
    ],
    lang: Annotated[str, LANG_OPTION] = "en",
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.narrate.explain import explain as parts_of
    from ...knowledge.runbook import load

    told = {name: parts_of(name, load(), lang) for name in names}
    if as_json:
        explained = [{"name": name, "parts": [part.as_json() for part in parts]} for name, parts in told.items()]
        print_json({"schema": "triage.explanation/1", "explained": explained})
        return
    out = console()
    text = "\n\n".join(part.text for parts in told.values() for part in parts)
    if out.is_terminal:
        from rich.markdown import Markdown

        out.print(Markdown(text))
    else:
        out.print(text)

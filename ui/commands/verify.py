"""`triage verify`: did the one change work?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import TriageError
from ..output import JSON_OPTION, console, print_json, progress

HELP = """Judge the next run by the acceptance criteria of the runbook: fixed, not-fixed, confounded or inconclusive.

Examples:

  triage verify --baseline runs/exp42 --candidate runs/exp43 --entry loss-nan-high-lr

  triage verify --baseline runs/exp42 --candidate runs/exp43 --case 4be1c9

  triage verify --baseline runs/exp42 --candidate runs/exp43      (the baseline is diagnosed first)
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(verify)


def verify(
    baseline: Annotated[Path, typer.Option(help="The run that failed.")],
    candidate: Annotated[Path, typer.Option(help="The run with the one change.")],
    entry: Annotated[str | None, typer.Option(help="Runbook entry whose criteria count.")] = None,
    case: Annotated[str | None, typer.Option(help="Take the entry from this case and note the verdict in it.")] = None,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    home: Annotated[Path | None, typer.Option(help="Where cases and caches live.", envvar="TRIAGE_HOME")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent import narrate
    from ...agent.casebook import Casebook
    from ...agent.casebook import home as data_home
    from ...agent.verify import verify as judge

    if entry and case:
        raise typer.BadParameter("give --entry or --case, not both")
    book = Casebook(data_home(home)) if case else None
    with progress("comparing") as step:
        chosen = _entry(entry, case, baseline, book)
        step()
        verdict = judge(baseline, candidate, chosen)
    text = narrate.verdict(verdict, lang)
    if book and case:
        book.record(case, "verdict", verdict.as_json(text), status=verdict.verdict)
    if as_json:
        print_json(verdict.as_json(text))
    else:
        from rich.markdown import Markdown

        out = console()
        out.print(Markdown(text) if out.is_terminal else text)
    raise typer.Exit(0 if verdict.verdict == "fixed" else 1)


def _entry(entry: str | None, case: str | None, baseline: Path, book: object):
    """The entry named, the one the case's last answer leads with, or the diagnosis of the baseline."""
    from ...agent.casebook import Casebook
    from ...agent.session import ask, index

    runbook = index().runbook
    if case and isinstance(book, Casebook):
        answers = [e["content"] for e in book.get(case).events if e["kind"] == "answer"]
        entry = next((a["hypotheses"][0]["entry"] for a in reversed(answers) if a["hypotheses"]), None)
        if entry is None:
            raise TriageError(f"case {case} has no diagnosis to verify; pass --entry ID")
    if entry is None:
        top = ask("what went wrong with this run?", [baseline]).diagnosis.top
        if top is None or top.status not in ("established", "supported"):
            raise TriageError(
                f"{baseline}: no cause is supported by its evidence, so there is nothing to verify; pass --entry ID"
            )
        return top.entry
    if found := runbook.get(entry):
        return found
    raise TriageError(f"no runbook entry {entry!r}; `triage runbook list` shows them")

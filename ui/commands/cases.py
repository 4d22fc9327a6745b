"""`triage cases`: the journal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...tools.findings import TriageError, clean
from ...tools.keeping import whole
from ...tools.secrets import visible
from .. import complete
from ..output import HOME_OPTION, JSON_OPTION, console, print_json

if TYPE_CHECKING:
    from ...agent.casebook import Casebook

app = typer.Typer(
    help="""List the cases; show one; print its patch; trace its turns; draft a runbook entry from a resolved one.

Examples:

  triage cases

  triage cases show 4be1c9

  triage cases patch 4be1c9 > fix.patch

  triage cases trace 4be1c9

  triage cases draft 4be1c9 --out warmup-cut-short.md
"""
)
ID = typer.Argument(help="The case, as `triage ask` printed it.", autocompletion=complete.cases)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="cases")


def casebook(home: Path | None) -> Casebook:
    from ...agent.casebook import Casebook
    from ...agent.casebook import home as data_home

    return Casebook(data_home(home))


@app.callback(invoke_without_command=True)
def cases(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 20,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    if context.invoked_subcommand:
        return
    found = casebook(home).cases(limit)
    if as_json:
        print_json({"schema": "triage.cases/1", "cases": [c.__dict__ for c in found]})
        return
    out = console()
    for case in found:
        about = ", ".join(Path(run).name for run in case.runs[:2])
        led = f"{case.cause or 'no cause yet'}{f' in {clean(about, 40)}' if about else ''}"
        line = f"{case.id}  {case.opened[:16].replace('T', ' ')}  {case.status:9} {led}: {clean(case.question, 100)}"
        out.print(line, no_wrap=out.is_terminal, overflow="ellipsis" if out.is_terminal else None)
    if not found:
        out.print('No cases yet. `triage ask "..." --run PATH` opens one.')


@app.command()
def show(
    id: Annotated[str, ID],
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Show one case with every answer and verdict."""
    case = casebook(home).get(id)
    if as_json:
        print_json({"schema": "triage.case/1", **case.__dict__})
        return
    out = console()
    out.print(f"case {case.id}, opened {case.opened}, {case.status}\n{clean(case.question, 500)}")
    for event in case.events:
        out.print(f"\n--- {event['at']} {event['kind']}\n")
        out.print(visible(event["content"].get("answer") or event["content"].get("says", "")))


@app.command()
def patch(id: Annotated[str, ID], home: Annotated[Path | None, HOME_OPTION] = None) -> None:
    """Print the last answer's patch as the file needs it, made again from the run: nothing in it is hidden."""
    from ...agent.paths import gather
    from ...agent.propose import real_patch
    from ...tools.config.combine import read_settings

    case = casebook(home).get(id)
    answers = [e["content"] for e in case.events if e["kind"] == "answer" and e["content"].get("proposal")]
    if not answers:
        raise TriageError(f"case {id} proposes no change")
    with gather([Path(run) for run in case.runs]) as run:
        text = real_patch(answers[-1]["proposal"], read_settings(run)[0], run)
    sys.stdout.buffer.write(text.encode())


@app.command()
def trace(
    id: Annotated[str, ID],
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Show how each answer came about: who added to it, tool calls, marks, tokens, seconds."""
    from rich.text import Text

    from ...agent.casebook import home as data_home
    from ...agent.wording.trace import read

    turns = read(data_home(home), id)
    if as_json:
        print_json({"schema": "triage.trace/1", "case": id, "turns": turns})
        return
    out = console()
    for turn in turns:
        what = f"{turn['at']}  {turn['model']}: {turn['outcome']}, {turn['state']}, {turn['seconds']} s"
        out.print(Text(clean(what)))
        out.print(Text(f"  asked     {clean(turn['question'], 160)}"))
        for tool in turn["tools"]:
            called = f"{tool['name']} {clean(str(tool['args']), 120)}: {tool['chars']} characters"
            out.print(Text(f"  tool      {clean(called)}"))
        out.print(Text(f"  model     {turn['calls']} calls, {turn['tokens'] or 'no tokens'}"))
        said = turn["said"]
        out.print(Text(f"  said      {said.get('statements', 0)} statements, {said.get('marked', 0)} with a mark"))


@app.command()
def draft(
    id: Annotated[str, ID],
    out: Annotated[Path | None, typer.Option(help="Write the draft to this new file.")] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Draft a runbook entry from a resolved case; a person reviews it, `triage runbook add` makes it live."""
    from ...knowledge.draft import draft as write

    text = write(casebook(home).get(id).__dict__)
    if as_json:
        print_json({"schema": "triage.draft/1", "draft": text})
    elif out is None:
        print(text)
    if out is None:
        return
    with whole(out, new=True) as (made,):
        made.write_text(text, encoding="utf-8")
    console(stderr=True).print(f"{out}: review it, then `triage runbook add {out}`")

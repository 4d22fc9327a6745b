"""`triage runbook`: read, check and search the runbook."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from ...tools.findings import TriageError
from ..output import JSON_OPTION, console, print_json

app = typer.Typer(
    no_args_is_help=True,
    help="""Read, check and search the runbook.

Examples:

  triage runbook list

  triage runbook show loss-nan-high-lr --lang zh

  triage runbook search "卡死了，没有日志"
""",
)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="runbook")


@app.command("list")
def list_entries(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """List every entry."""
    from ...knowledge.runbook import load

    if as_json:
        print_json(
            {
                "schema": "triage.runbook/1",
                "entries": [
                    {
                        "id": e.id,
                        "title": e.title.model_dump(),
                        "kind": e.kind,
                        "severity": e.severity,
                        "stages": e.stages,
                        "covers": e.covers,
                        "sections": e.sections,
                        "sources": e.sources,
                        "references": e.references,
                    }
                    for e in load()
                ],
            }
        )
        return
    out = console()
    for entry in load():
        out.print(Text(f"{entry.severity} {entry.id:34} {entry.title.en} / {entry.title.zh}"))


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="Entry id.")],
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Show one entry whole."""
    from ...agent.narrate import criterion
    from ...knowledge.entry import SECTIONS
    from ...knowledge.runbook import load

    entry = load().get(id)
    if entry is None:
        raise TriageError(f"no runbook entry {id!r}; `triage runbook list` shows them")
    if as_json:
        print_json(entry.model_dump(by_alias=True))
        return
    lines = [
        f"# {entry.title.say(lang)}",
        f"`{entry.id}` {entry.severity} ({', '.join(entry.stages)})",
        "",
        entry.check_first.say(lang),
        "",
    ]
    for heading in SECTIONS["zh" if lang == "zh" else "en"]:
        lines += [f"## {heading}", entry.body["zh" if lang == "zh" else "en"][heading], ""]
    lines += [f"- {criterion(c, lang)}" for c in entry.acceptance]
    lines += [f"> {c.say(lang)}" for c in entry.cautions]
    lines += ["", "; ".join((*entry.sources, *entry.references))]
    out = console()
    if out.is_terminal:
        from rich.markdown import Markdown

        out.print(Markdown("\n".join(lines)))
    else:
        out.print("\n".join(lines))


@app.command()
def search(
    words: Annotated[str, typer.Argument(help="What you would ask a colleague.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Find entries by words."""
    from ...agent.session import index

    hits = index().search(words, k)
    if as_json:
        print_json(
            {
                "schema": "triage.search/1",
                "hits": [
                    {"entry": h.entry.id, "title": h.entry.title.model_dump(), "score": round(h.score, 4)} for h in hits
                ],
            }
        )
        return
    for hit in hits:
        console().print(Text(f"{hit.score:5.2f} {hit.entry.id:34} {hit.entry.title.en} / {hit.entry.title.zh}"))
    if not hits:
        console().print("No entry matches these words.")


@app.command()
def check(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Check every entry: schema, both languages, rivals, phrases."""
    from ...knowledge.runbook import SHIPPED, check

    problems = check()
    if as_json:
        print_json({"schema": "triage.runbook-check/1", "problems": problems})
    else:
        for problem in problems:
            console().print(Text(problem))
        console().print(f"{len(list(SHIPPED.glob('*.md')))} entries, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)

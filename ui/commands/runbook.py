"""`triage runbook`: read, check and search the runbook, and add one's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...tools.findings import TriageError, clean
from .. import complete
from ..output import HOME_OPTION, JSON_OPTION, console, print_json, progress

if TYPE_CHECKING:
    from ...knowledge.search import Index

app = typer.Typer(
    no_args_is_help=True,
    help="""Read, check and search the runbook, and add your own.

Examples:

  triage runbook list

  triage runbook show loss-nan-high-lr --lang zh

  triage runbook search "卡死了，没有日志"

  triage runbook add docs/oncall
""",
)
ENCODER = typer.Option("--encoder", help="built-in, or a sentence-transformers model (name or folder).")


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="runbook")


@contextmanager
def failing() -> Iterator[None]:
    """What the runbook refuses becomes one line and exit status 2."""
    from ...knowledge.entry import RunbookError

    try:
        yield
    except RunbookError as error:
        raise TriageError(str(error)) from None


def open_index(home: Path | None, encoder: str = "built-in") -> Index:
    from ...agent.casebook import home as data_home
    from ...knowledge.search import Index

    return Index(data_home(home), encoder, os.environ.get("TRIAGE_CHROMA_URL") or None)


@app.command("list")
def list_entries(
    own: Annotated[bool, typer.Option("--own", help="The files you added instead.")] = False,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """List every entry, or the files you added."""
    with failing():
        index = open_index(home)
        if own:
            list_own(index, as_json)
        elif as_json:
            entries = [{key: getattr(e, key) for key in LISTED} | {"title": vars(e.title)} for e in index.runbook]
            print_json({"schema": "triage.runbook/1", "entries": entries})
        else:
            out = console()
            for entry in index.runbook:
                out.print(f"{entry.severity} {entry.id:34} {entry.title.en} / {entry.title.zh}")


LIKELY = 0.01
"""Least probability of an entry that a search names in its text."""
LISTED = ("id", "kind", "severity", "stages", "covers", "sections", "sources", "references", "origin")
"""What `list --json` gives of an entry, beside its title."""


def list_own(index: Index, as_json: bool) -> None:
    files = index.library.files() if index.library and index.library.exists else []
    if as_json:
        print_json({"schema": "triage.runbook-files/1", "files": [f.__dict__ for f in files]})
        return
    for file in files:
        what = "entry" if file.kind == "entry" else f"{file.passages} passages"
        console().print(f"{file.state:8} {what:14} {clean(file.path)}")
    if not files:
        console().print("No runbook of your own yet: triage runbook add PATH")


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="Entry id.", autocompletion=complete.entries)],
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Show one entry whole."""
    from ...agent.narrate.entry import page

    with failing():
        entry = open_index(home).runbook.get(id)
    if entry is None:
        raise TriageError(f"no runbook entry {id!r}; `triage runbook list` shows them")
    if as_json:
        print_json(entry.model_dump(by_alias=True))
        return
    out, text = console(), page(entry, lang)
    if out.is_terminal:
        from rich.markdown import Markdown

        out.print(Markdown(text))
    else:
        out.print(text)


@app.command()
def search(
    words: Annotated[str, typer.Argument(help="What you would ask a colleague.")],
    k: Annotated[int, typer.Option("-k", help="How many.", min=1)] = 5,
    encoder: Annotated[str, ENCODER] = "built-in",
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Find entries by words, and passages of your own runbooks."""
    with failing():
        index = open_index(home, encoder)
        hits, passages, covers = index.search(words, k), index.passages(words, k), index.covers(words)
    if as_json:
        found = [{"entry": h.entry.id, "title": vars(h.entry.title), "score": round(h.score, 4)} for h in hits]
        quoted = [
            {"file": p.file, "line": p.line, "headings": p.headings, "text": p.text, "score": round(p.score, 4)}
            for p in passages
        ]
        print_json({"schema": "triage.search/1", "covers": covers, "hits": found, "passages": quoted})
        return
    out = console()
    if not covers:
        out.print("This does not read like a question about training, aligning or serving language models.")
    likely = [hit for hit in hits if hit.score >= LIKELY] or hits[:1]
    for hit in likely:
        out.print(f"{hit.score:5.2f} {hit.entry.id}: {hit.entry.title.en} / {hit.entry.title.zh}")
    if hits[len(likely) :]:
        out.print(f"{len(hits) - len(likely)} more below {LIKELY:.2f}: --json lists them", style="dim")
    for passage in passages:
        out.print(f"{passage.score:5.2f} {clean(passage.file)}:{passage.line} {clean(' > '.join(passage.headings))}")
        out.print(f"      | {clean(passage.text, 160)}", style="dim")
    if not hits:
        out.print("No entry matches these words.")


@app.command()
def add(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Markdown files or folders; none: all added before.")
    ] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
    encoder: Annotated[str, ENCODER] = "built-in",
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Add your own runbooks, or bring them up to date."""
    from ...knowledge.ingest import add as add_to

    with failing(), counting("reading") as listen:
        done = add_to(open_index(home, encoder), paths or [], listen)
    if as_json:
        print_json({"schema": "triage.runbook-add/1", **done.__dict__})
    else:
        counts = f"{done.new} new, {done.changed} changed, {done.unchanged} unchanged, {done.removed} gone"
        console().print(f"{counts}; {done.passages} passages written")
        for file, why in done.skipped:
            console(stderr=True).print(f"skipped {clean(file)}: {clean(why, 400)}")
    raise typer.Exit(1 if done.skipped else 0)


@app.command()
def remove(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders that were added.")],
    home: Annotated[Path | None, HOME_OPTION] = None,
    encoder: Annotated[str, ENCODER] = "built-in",
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Forget runbooks of your own; the files themselves stay."""
    from ...knowledge.ingest import remove as remove_from

    with failing():
        count = remove_from(open_index(home, encoder), paths)
    if as_json:
        print_json({"schema": "triage.runbook-remove/1", "forgotten": count})
    else:
        console().print(f"{count} files forgotten")


@app.command("index")
def make_index(
    encoder: Annotated[str, ENCODER] = "built-in",
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Make the index anew, with another encoder or after an update of triage."""
    from ...knowledge.ingest import rebuild

    with failing(), counting("indexing") as listen:
        index = open_index(home, encoder)
        count = rebuild(index, listen)
    made = {"entries": len(index.runbook), "passages": count, "encoder": index.manifest()["encoder"]}
    if as_json:
        print_json({"schema": "triage.runbook-index/1", **made})
    else:
        console().print("{entries} entries and {passages} passages, {encoder}".format(**made))


@contextmanager
def counting(label: str) -> Iterator[Any]:
    """A progress bar for `listen(done, total)`."""
    with progress(label, 1.0) as advance:
        at = 0.0

        def listen(done: int, total: int) -> None:
            nonlocal at
            advance(done / max(total, 1) - at)
            at = done / max(total, 1)

        yield listen


@app.command()
def coverage(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Is every row and criterion of the source documents in some entry?"""
    from ...knowledge.coverage import coverage as compare
    from ...knowledge.runbook import load

    with failing():
        found = compare(load())
    if as_json:
        print_json({"schema": "triage.runbook-coverage/1", **found.__dict__, "complete": found.complete})
    else:
        out = console()
        for label in ("rows_missing", "criteria_missing", "unknown"):
            for id in getattr(found, label):
                out.print(f"{label.replace('_', ' ')}: {id}")
        out.print(str(found))
    raise typer.Exit(0 if found.complete else 1)


@app.command()
def signs(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """List every sign with the entries that have it, and the entries that have none, with why."""
    from ...knowledge.runbook import load

    having: dict[str, list[str]] = {}
    for entry in load():
        for text in (*entry.signs.for_, *entry.signs.against):
            having.setdefault(text, []).append(entry.id)
    none = {entry.id: entry.signs.none for entry in load() if entry.signs.none}
    if as_json:
        print_json({"schema": "triage.runbook-signs/1", "signs": having, "none": none})
        return
    out = console()
    for text, entries in sorted(having.items()):
        out.print(f"{text:70} {', '.join(entries)}", markup=False)
    for id, why in none.items():
        out.print(f"{id:70} none: {why}", markup=False)
    out.print(f"{len(having)} signs in {len(load()) - len(none)} entries; {len(none)} entries have none")


@app.command()
def check(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Check every entry: schema, both languages, rivals, phrases."""
    from ...knowledge.runbook import SHIPPED, check

    problems = check()
    if as_json:
        print_json({"schema": "triage.runbook-check/1", "problems": problems})
    else:
        for problem in problems:
            console().print(problem)
        console().print(f"{len(list(SHIPPED.glob('*.md')))} entries, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)

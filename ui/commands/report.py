"""`triage report`: hand a case on to the makers of a framework."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ...tools.findings import TriageError
from .. import complete
from ..output import HOME_OPTION, JSON_OPTION, console, print_json, progress

HELP = """Gather what a bug report needs: versions, command, settings, first error, what was tried. Redacted.

The report follows the issue form of the framework and lists what the run does not show. Without --out it is printed;
an archive holds the configuration and the launch scripts beside it. Nothing is sent anywhere.

Issue forms of accelerate, axolotl, deepspeed, llama-factory, megatron, openrlhf, pytorch, sglang, transformers, trl,
verl and vllm.

Examples:

  triage report runs/exp42 --bug deepspeed

  triage report runs/exp42 --bug vllm --out bundle.zip

  triage report runs/exp42 --bug trl --case 4be1c9 --out issue.md
"""
KINDS = (".md", ".zip", ".tar.gz", ".tgz")


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(report)


def report(
    run: Annotated[Path, typer.Argument(help="The run that failed.")],
    bug: Annotated[str, typer.Option(help="Framework whose issue form to follow.", autocompletion=complete.frameworks)],
    case: Annotated[
        str,
        typer.Option(
            help="Case whose attempts to tell; default: the newest about this run.", autocompletion=complete.cases
        ),
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Write to this new file: .md, .zip or .tar.gz.")] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.bundle import bundle
    from ...agent.casebook import home as data_home
    from ..bugreport import HOW, TEMPLATES, markdown, write

    if bug not in TEMPLATES:
        raise TriageError(f"no issue form for {bug!r}; known are {', '.join(TEMPLATES)}")
    if out and not out.name.endswith(KINDS):
        raise TriageError(f"{out}: write to a name that ends in {', '.join(KINDS)}")
    with progress("gathering"):
        gathered = bundle(run, data_home(home), case)
    if as_json:
        said = {"schema": "triage.bug/1", "report": markdown(gathered, bug), "missing": gathered.missing()}
        print_json(said)
    elif out is None:
        print(markdown(gathered, bug), end="")
    if out is None:
        return
    names = write(gathered, bug, out)
    err = console(stderr=True)
    err.print(Text(f"wrote {out}: {', '.join(names)}"))
    for item in gathered.missing():
        err.print(Text(f"  still missing: {HOW[item].format(environment=TEMPLATES[bug].environment)}", style="dim"))

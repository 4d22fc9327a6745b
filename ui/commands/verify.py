"""`triage verify`: did the one change work?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...tools.phrase import Phrase
from .. import complete
from ..output import HOME_OPTION, HTML_OPTION, JSON_OPTION, LANG_OPTION, console, print_json, progress, write_html

DETAILS = Phrase("-v shows how each criterion is defined and was measured", "-v 显示每条标准的定义和测量方法")
HELP = """Judge the next run by the acceptance criteria of the runbook: fixed, not-fixed, confounded or inconclusive.

Examples:

  triage verify --baseline runs/exp42 --candidate runs/exp43 --entry loss-nan-high-lr

  triage verify --baseline runs/exp42 --candidate runs/exp43 --case 4be1c9

  triage verify --baseline runs/exp42 --candidate runs/exp43   # the baseline is diagnosed first

  triage verify --baseline runs/exp42 --candidate runs/exp43 --html verdict.html
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(verify)


def verify(
    candidate: Annotated[Path, typer.Option(help="The run with the one change.")],
    baseline: Annotated[Path | None, typer.Option(help="The run that failed; with --case, that of the case.")] = None,
    entry: Annotated[
        str | None, typer.Option(help="Runbook entry whose criteria count.", autocompletion=complete.entries)
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(help="Take the entry from this case and note the verdict in it.", autocompletion=complete.cases),
    ] = None,
    html: Annotated[Path | None, HTML_OPTION] = None,
    lang: Annotated[str, LANG_OPTION] = "en",
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="How each criterion was measured, on a terminal too.")
    ] = False,
) -> None:
    from ...agent.acceptance.verify import compared
    from ...agent.casebook import Casebook
    from ...agent.casebook import home as data_home
    from ...agent.conversation import answers, criteria_entry, keep_verdict, to_leave
    from ...agent.narrate.verdict import verdict_text
    from ...tools.reading import listening

    if entry and case:
        raise typer.BadParameter("give --entry or --case, not both")
    folder = data_home(home)
    baseline = baseline or next(map(Path, Casebook(folder).get(case).runs if case else ()), None)
    if baseline is None:
        raise typer.BadParameter("give the run that failed: --baseline RUN, or --case of one that has a run")
    with progress("comparing") as step, listening(lambda size: None, step.file):
        chosen = criteria_entry(entry or "", case or "", baseline, folder)
        step()
        last = next(answers(case or "", folder), {})
        stays = to_leave(last, chosen)
        verdict, before, after = compared(baseline, candidate, chosen, last.get("run") or "", stays)
    text = verdict_text(verdict, lang)
    keep_verdict(folder, case or "", verdict, text)
    if as_json:
        print_json(verdict.as_json(text))
    else:
        from rich.markdown import Markdown

        out = console()
        short = out.is_terminal and not verbose
        out.print(Markdown(verdict_text(verdict, lang, short)) if out.is_terminal else text)
        if short:
            out.print(DETAILS.say(lang), style="dim")
    if html:
        from ..pages import verdict_page

        write_html(verdict_page(verdict, before, after, lang, case or ""), html)
    raise typer.Exit(0 if verdict.verdict == "fixed" else 1)

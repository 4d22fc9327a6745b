"""`triage ask`: a question, with or without a run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...tools.findings import TriageError, clean
from ...tools.keeping import heard
from ...tools.phrase import Phrase
from .. import complete
from ..output import HOME_OPTION, HTML_OPTION, JSON_OPTION, console, emphasised, print_json, progress, write_html
from ..roots import Roots

if TYPE_CHECKING:
    from ...agent.answer import Answer
    from ...agent.conversation import Conversation
    from ...agent.events import Event

WHOLE = Phrase(
    "-v shows the whole answer; triage explain S0: what a word means", "-v 显示完整回答；triage explain S0 解释用词"
)
HELP = """Ask what went wrong, with or without a run to look at.

The answer fits a screen: the cause, the findings that carry it, what they say to your own idea, one change, and the
command that judges the next run. -v shows everything. What you say is answered; the findings alone rank the causes.
A path below this folder that the question names is read as if it were given with --run.

Examples:

  triage ask "loss is nan at step 4000" --run runs/exp42

  triage ask "卡死了，没有任何日志" --run train.log

  tail -200 train.log | triage ask - --json

  tail -200 train.log | triage ask "why is it nan?" -

  triage ask -c "should I halve the learning rate?"

  triage ask "why did runs/exp42 diverge?"

  triage ask "should I halve the learning rate?" --run runs/exp42 --full

  triage ask "KL explodes" --run runs/exp44 --html report.html
"""


BELOW = 3
"""Lines below the answer: its case, the blank one above a plot, and the prompt."""
_LOOKS_LIKE_A_RUN = re.compile(
    r"trainer_state\.json|(?:checkpoint|ckpt|global_step)[-_]?\d+|(?:.*[-_.])?(?:train|metrics|console)\w*\.(?:log|jsonl|csv|out)"
)
"""Names that tell the folder of a run without looking into it."""
INPUT = 50_000_000
"""Bytes of standard input that are read."""
THREADS = "1"
"""Of numpy's products, set before it is loaded: ours take 10 us, after which a further thread waits busily for ms."""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(ask)


def ask(
    question: Annotated[str, typer.Argument(help="The question, in English or Chinese; - reads standard input.")] = "",
    log: Annotated[str, typer.Argument(help="- reads a log from standard input beside the question.")] = "",
    run: Annotated[
        list[Path] | None, typer.Option("--run", "-r", help="A run directory or one file; repeatable.")
    ] = None,
    lang: Annotated[str, typer.Option(help="en, zh, or auto (the language of the question).")] = "auto",
    case: Annotated[str | None, typer.Option(help="Continue this case.", autocompletion=complete.cases)] = None,
    last: Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last case.")] = False,
    batch: Annotated[Path | None, typer.Option(help="Answer a JSONL file of {id, text, run}; needs --json.")] = None,
    encoder: Annotated[str, typer.Option(help="built-in, or a sentence-transformers model.")] = "built-in",
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Let the server that TRIAGE_MODEL_URL names add to the answer.")
    ] = True,
    full: Annotated[
        bool, typer.Option("--full", "-v", help="Everything: all causes, the patch, cautions, checks, sources.")
    ] = False,
    html: Annotated[Path | None, HTML_OPTION] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.casebook import home as data_home

    os.environ.setdefault("OPENBLAS_NUM_THREADS", THREADS)
    if lang not in ("en", "zh", "auto"):
        raise typer.BadParameter("--lang takes en, zh or auto")
    if batch is not None:
        answer_batch(batch, lang, data_home(home), encoder, model)
        return
    question = _with_input(question, log)
    if not question.strip():
        raise typer.BadParameter('ask a question, for example: triage ask "loss is nan" --run runs/exp42')
    from ...agent.conversation import Conversation

    if last:
        case = last_case(data_home(home), case)
    named = [] if run else named_below(question, Path.cwd())
    talk = Conversation(data_home(home), case or "", lang, encoder, model)
    answer, events = _asked(talk, question, run or named, None if as_json else full)
    if as_json:
        print_json(answer.as_json())
    else:
        _show(answer, full, events, named)
    if html:
        from ..pages import answer_page

        write_html(answer_page(answer), html)
    raise typer.Exit(0 if answer.diagnosis.state in ("healthy", "out-of-scope") else 1)


def _with_input(question: str, log: str) -> str:
    """The question with what standard input holds: the question itself, or the log beside one.

    Raises:
        BadParameter: a second word that is no `-`, or nothing came.
    """
    from ...agent.question.parts import fenced, piped

    if log and "-" not in (question, log):
        raise typer.BadParameter(f'put the question in quotes: triage ask "{clean(f"{question} {log}", 200)} ..."')
    if "-" not in (question, log):
        return question
    given = sys.stdin.buffer.read(INPUT).decode("utf-8", errors="replace")
    said = question if question != "-" else log
    if said in ("", "-"):
        return piped(given)
    if not given.strip():
        raise typer.BadParameter("nothing came through standard input: tail -200 train.log | triage ask QUESTION -")
    return f"{said}\n{fenced(given)}"


def _asked(talk: Conversation, question: str, run: list[Path], tells: bool | None) -> tuple[Answer, list[Event]]:
    """The answer and what happened on the way; it is shown as soon as it stands, whole or short, unless `tells` is
    None."""
    from ...agent.events import Stands
    from ...tools.reading import listening

    events: list[Event] = []
    with progress("reading") as step, listening(lambda size: None, step.file):

        def hear(event: Event) -> None:
            events.append(event)
            step()
            if isinstance(event, Stands) and tells is not None:
                _tell(event.answer, tells)

        return talk.ask(question, run, hear), events


def last_case(home: Path, case: str | None) -> str:
    """The case of `-c`.

    Raises:
        TriageError: there is none yet, or another was named.
    """
    from ...agent.casebook import Casebook

    if case:
        raise TriageError("give --case or -c, not both")
    if latest := Casebook(home).latest():
        return latest
    raise TriageError('no case to go on with: triage ask "..." --run PATH opens one')


def named_below(question: str, folder: Path) -> list[Path]:
    """The runs that a question names by a path below the folder; links out of it are not followed."""
    return [Path(name) for name in Roots([folder]).named(question) if not name.startswith("/")]


def _stands_in_a_run() -> bool:
    return any(_LOOKS_LIKE_A_RUN.fullmatch(p.name) for p in islice(Path.cwd().iterdir(), 1000))


def _show(answer: Answer, full: bool, events: Sequence[Event], named: Sequence[Path]) -> None:
    """The answer as text, or, where it was told while a model was asked, what the model adds."""
    from rich.markdown import Markdown

    from ...agent.events import Notice, Stands

    out = console()
    if not any(isinstance(event, Stands) for event in events):
        _tell(answer, full)
    elif answer.beside:
        out.print()
        out.print(Markdown(answer.beside) if out.is_terminal else answer.beside)
        out.print()
    for event in events:
        if isinstance(event, Notice) and event.text not in heard():
            out.print(clean(event.text, 500))
    out.print("; ".join(_beside(answer, not full, named)))


def _tell(answer: Answer, full: bool) -> None:
    """triage's own answer: a screen of it, or all."""
    from rich.markdown import Markdown

    out = console()
    if full:
        out.print(Markdown(answer.text) if out.is_terminal else answer.text)
        out.print()
    else:
        out.print(emphasised(answer.short))
        if out.is_terminal and answer.seen and not answer.only:
            _draw(answer, out.height - len(answer.short.splitlines()) - BELOW)


def _draw(answer: Answer, room: int) -> None:
    """The plot of the symptom, where it fits below the answer without scrolling its first line away."""
    from ..plots.terminal import symptom

    out, seen = console(), answer.seen
    if seen and (
        drawn := symptom(seen.table, answer.diagnosis.findings, out.width, room, answer.lang, not out.no_color)
    ):
        print(f"\n{drawn}")


def _beside(answer: Answer, brief: bool, named: Sequence[Path]) -> Iterator[str]:
    """What stands under an answer: its case, what was read unasked or could be, where the rest is."""
    if answer.case:
        yield f"case {answer.case}"
    if named:
        yield f"read {', '.join(clean(str(p), 80) for p in named)}, named in the question"
    if not answer.run and answer.diagnosis.state != "out-of-scope" and _stands_in_a_run():
        yield "this folder looks like a run: add --run . to have it read"
    if brief and answer.diagnosis.state != "out-of-scope":
        yield WHOLE.say(answer.lang)


def answer_batch(file: Path, lang: str, home: Path, encoder: str, use_model: bool) -> None:
    """One answer a line, in order; a bad line or an unreadable run is answered with its error."""
    import orjson

    from ...agent.session import ask as answer_one
    from ...agent.wording.server import configured
    from ...agent.wording.turn import Wording, worded
    from ...tools.boundary import Boundary
    from ...tools.secrets import visible_in

    model = configured() if use_model else None

    def one(question: str, paths: list[Path]) -> Any:
        answer = answer_one(question, paths, lang, home, keep=False, encoder=encoder)
        by = Wording(model, Boundary(model.hide if model else ()))
        return worded(answer, question, by, lambda event: None) if model else answer

    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise TriageError(f"{file}: cannot be read ({error.strerror})") from None
    with progress("questions", len(lines)) as step:
        for number, line in enumerate(lines, 1):
            step()
            if line.strip():
                out = _answer_line(line, number, file, one)
                sys.stdout.write(orjson.dumps(visible_in(out), option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
                sys.stdout.flush()
    raise typer.Exit(0)


def _answer_line(line: bytes, number: int, file: Path, answer_one: Any) -> dict[str, Any]:
    import orjson

    item: Any = None
    try:
        item = orjson.loads(line)
        run = item.get("run")
        return {
            "id": item.get("id"),
            **answer_one(str(item["text"]), [Path(run)] if run else []).as_json(),
        }
    except (orjson.JSONDecodeError, AttributeError, KeyError) as error:
        problem = f"{file}:{number}: not a question object with id and text ({type(error).__name__})"
    except TriageError as error:
        problem = str(error)
    except Exception as error:
        problem = f"internal error: {type(error).__name__}; this is a defect of triage, not of the run"
    return {
        "id": item.get("id") if isinstance(item, dict) else None,
        "schema": "triage.answer/1",
        "error": problem,
    }

"""What every command prints: reports for people or as JSON, progress, and exit codes.

Text from a run is never interpreted as markup and never reaches the terminal with its escape sequences.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from ..tools.findings import EVIDENCE_READ, REASSURING, RECORDS_READ, Finding, Report, Severity, clean
from ..tools.keeping import heard, losses
from ..tools.phrase import phrases
from ..tools.secrets import visible_in
from .listing import View, print_checks, print_counts, print_findings

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..tools.run import Run
    from .plots.live import Picture

JSON_OPTION = typer.Option("--json", help="Print one JSON object instead of text.")
"""For `as_json: Annotated[bool, JSON_OPTION] = False`, the same in every command."""
HTML_OPTION = typer.Option("--html", metavar="REPORT.html", help="Also write a report to attach to a ticket: one file.")
HOME_OPTION = typer.Option("--home", help="Where cases and caches live.", envvar="TRIAGE_HOME", readable=False)
"""Not `readable`: a command does without one that it may not read, where it can."""
VERBOSE_OPTION = typer.Option("--verbose", "-v", help="Also the places, the run's own words, and every check by name.")
QUIET_OPTION = typer.Option("--quiet", "-q", help="The findings alone.")
STATISTICS_OPTION = typer.Option("--statistics", help="How often each code was found, in place of the findings.")


def one_of(name: str, *known: str) -> Callable[[str], str]:
    """What checks an option that takes one of a few words."""

    def checked(value: str) -> str:
        if value not in known:
            raise typer.BadParameter(f"{name} {clean(value, 40)}: {', '.join(known[:-1])} or {known[-1]}")
        return value

    return checked


LANG_OPTION = typer.Option("--lang", help="en or zh.", callback=one_of("--lang", "en", "zh"))
FAIL_OPTION = typer.Option(
    "--fail-on",
    help="Exit with 1 for findings of this severity or worse.",
    callback=one_of("--fail-on", *tuple(Severity)),
)


def console(stderr: bool = False) -> Console:
    """Colour only on a terminal; wide lines are left whole in a pipe."""
    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    return (
        out
        if out.is_terminal
        else Console(
            stderr=stderr,
            highlight=False,
            markup=False,
            emoji=False,
            width=200,
            no_color=True,
            soft_wrap=True,
        )
    )


def emphasised(text: str) -> Text:
    """A short answer line by line as it is, the emphasis that lines begin with set bold."""
    out = Text()
    for line in text.splitlines(keepends=True):
        indent, mark, said = line.partition("**")
        strong, end, rest = said.partition("**") if mark and not indent.strip() else ("", "", "")
        if end:
            out.append(indent).append(strong, style="bold").append(rest)
        else:
            out.append(line)
    return out


def print_json(value: dict[str, Any]) -> None:
    """With what could not be kept or used of the data directory under `losses`, where there is any."""
    import orjson

    value = value | {"losses": told} if (told := heard()) else value
    sys.stdout.write(
        orjson.dumps(visible_in(value), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n"
    )


@dataclass(frozen=True)
class Html:
    """The report that `--html` asks for, beside what is printed."""

    path: Path | None
    about: str
    """What was looked at, as the person named it."""
    pictures: Callable[[], Sequence[Picture]] = tuple
    """Drawn only when asked for."""
    run: Run | None = None
    """Where the lines around findings are read."""


def emit(
    report: Report,
    as_json: bool,
    html: Html | None = None,
    view: View | None = None,
    also: Callable[[], None] = lambda: None,
    listed: Sequence[Finding] | None = None,
) -> None:
    """Print the report, write the files beside it (a full disk costs these alone), and leave with its `status`.

    Args:
        report: what was found.
        as_json: whether to print JSON.
        html: the page beside it.
        view: how much of it to print.
        also: what is written after it.
        listed: its findings as they are listed, where their files are named from the working directory.
    """
    view = view or View()
    if as_json:
        print_json(report.as_json(view.lang))
    else:
        out = console()
        found, about = report.findings if listed is None else listed, html.about if html else ""
        print_findings(out, found, view, about, listed is not None)
        if not report.findings and not view.quiet:
            out.print(nothing(report, view.lang))
        print_checks(out, report.checks, view)
        if not view.quiet:
            print_counts(out, report, view)
    if html and html.path:
        from .pages import findings_page

        write_html(findings_page(report, html.about, html.pictures(), html.run, view.lang), html.path)
    also()
    raise typer.Exit(status(report, view.fail_on))


def status(report: Report, fail_on: str = "S3") -> int:
    """The contract's exit status: 1 with findings or where not all was read, 2 when nothing could be checked, else 0.

    What reassures does not count as something wrong, nor what is milder than `fail_on`.
    """
    if any(f.code not in REASSURING and f.severity <= fail_on for f in report.findings):
        return 1
    if any(c.result == "failed" and c.name.startswith(RECORDS_READ) for c in report.checks):
        return 1
    failed = {c.name for c in report.checks if c.result == "failed"}
    if failed and not judged(report):
        return 2
    return 1 if EVIDENCE_READ in failed else 0


def judged(report: Report) -> bool:
    """Whether any check came to a result."""
    return any(c.result in ("clear", "found") for c in report.checks)


NOTHING = phrases(
    "what is said where nothing was found",
    ("not-all", "Not all could be checked: mend what is named below and run this again.",
     "并非全部都能检查：请处理下面列出的内容后再运行一次。"),
    ("none", "Nothing could be checked: mend what is named below and run this again.",
     "什么都未能检查：请处理下面列出的内容后再运行一次。"),
    ("unjudged", "Nothing was judged: there is nothing here that this command reads.",
     "没有可判断的内容：这里没有本命令能读取的东西。"),
    ("in-part", "Nothing wrong found in what could be checked.", "在能检查的内容中没有发现问题。"),
    ("sound", "Nothing wrong found.", "没有发现问题。"),
)  # fmt: skip


def nothing(report: Report, lang: str = "en") -> str:
    """What to say when there is no finding: a check that broke is not a check that found nothing."""
    if status(report):
        key = "not-all" if judged(report) else "none"
    elif not judged(report):
        key = "unjudged"
    else:
        key = "in-part" if any(c.result == "failed" for c in report.checks) else "sound"
    return NOTHING[key].say(lang)


def write_html(page: str, path: Path) -> None:
    from .pages import write

    write(page, path)
    console(stderr=True).print(Text(f"wrote {path}"))


@contextmanager
def telling_losses() -> Iterator[None]:
    """What could not be kept or used of the data directory, at the end: one line on standard error."""
    with losses() as told:
        try:
            yield
        finally:
            if told:
                print(f"triage: {clean('; '.join(told), 2000)}", file=sys.stderr)


NAMED = 40
"""Characters of a file's name beside the bar."""


FIRST, OFTEN = 8.0, 30.0
"""Seconds after which a line says, where no bar is drawn, what is done, and between two of them."""


class Step:
    """Moves the bar on, and says which file is read; where there is no bar only that is kept."""

    def __init__(self, label: str, bar: Progress | None = None, task: Any = None):
        self._label, self._bar, self._task = label, bar, task
        self.doing = label

    def __call__(self, amount: float = 1.0) -> None:
        if self._bar:
            self._bar.advance(self._task, amount)

    def file(self, name: str) -> None:
        """This file is read now."""
        self.doing = f"{self._label} {clean(name, NAMED)}"
        if self._bar:
            self._bar.update(self._task, description=self.doing)


@contextmanager
def _lines(step: Step) -> Iterator[None]:
    """What is done, in lines on standard error that come the more rarely the longer it takes."""
    done, begun = Event(), time.monotonic()

    def tell() -> None:
        wait = FIRST
        while not done.wait(wait):
            print(f"triage: {step.doing}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
            wait = OFTEN

    thread = Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def progress(label: str, total: float | None = None) -> Iterator[Step]:
    """A progress bar on standard error; elsewhere than on a terminal a plain line now and then, of what takes long."""
    if not sys.stderr.isatty():
        with _lines(step := Step(label)):
            yield step
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        yield Step(label, bar, bar.add_task(label, total=total))

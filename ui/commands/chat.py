"""`triage chat`: one case talked over at the terminal, or piped in.

A view of `agent.conversation.Conversation`: what a message means is decided there. In a pipe a message ends at an empty
line or at a command, so that a log can be piped in whole; where no line looks like a log's, each is a message.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ...tools.findings import TriageError, clean
from ...tools.phrase import Phrase
from .. import complete
from ..listing import STYLES
from ..output import HOME_OPTION, console, emphasised

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from ...agent.conversation import Conversation
    from ...agent.events import Event, Listen

HELP = """Talk a case over: questions, follow-ups, pasted logs, the next check, the next run.

/help lists the commands. Ctrl-C stops a turn, Ctrl-D, quit or bye leaves; the case is kept, and --case goes on with it.

Examples:

  triage chat --run runs/exp42

  triage chat --case 4be1c9

  printf '/run runs/exp42\\nloss is nan\\n/next\\n' | triage chat
"""
LEAVING = ("quit", "exit", "bye", "/quit", "/exit", "再见")
COMMANDS = {
    "/run": ("PATH", Phrase("look at this run too", "加入一个运行目录")),
    "/findings": (
        "[F3]",
        Phrase("list the findings, or show the lines around one", "列出发现；给出编号则显示日志原文"),
    ),
    "/next": ("", Phrase("the cheapest check to make next", "下一步先做的检查")),
    "/verify": ("PATH", Phrase("judge the run that was made with the one change", "验证只改一处之后的运行")),
    "/lang": ("en|zh|auto", Phrase("language of the answers", "回答的语言")),
    "/case": ("[ID]", Phrase("show this case, or go on with another", "显示当前案例，或切换案例")),
    "/help": ("", Phrase("this list", "显示本列表")),
}
"""Command -> what it takes, and what it does."""
TYPED, WRAPPED, ENDS = 20, 60, ".!?;:。！？；："
"""Lines of a piped block up to which each can be a message; letters of a line from which on it may go on in the next,
where it does not end like a sentence."""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(chat)


def chat(
    run: Annotated[list[Path] | None, typer.Option("--run", "-r", help="A run to look at; repeatable.")] = None,
    lang: Annotated[str, typer.Option(help="en, zh, or auto (the language of each message).")] = "auto",
    case: Annotated[str, typer.Option(help="Go on with this case.", autocompletion=complete.cases)] = "",
    encoder: Annotated[str, typer.Option(help="built-in, or a sentence-transformers model.")] = "built-in",
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Let the server that TRIAGE_MODEL_URL names add to the answer.")
    ] = True,
    full: Annotated[bool, typer.Option("--full", "-v", help="Whole answers instead of what fits a screen.")] = False,
    home: Annotated[Path | None, HOME_OPTION] = None,
) -> None:
    from ...agent.casebook import home as data_home
    from ...agent.conversation import Conversation
    from ...agent.session import ready

    talk = Chat(lambda case, lang: Conversation(data_home(home), case, lang, encoder, model, not full), case, lang)
    for path in run or ():
        talk.run(str(path))
    if typed := sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a turn here, not the program
        ready(data_home(home), encoder)
    for message in prompted(talk, data_home(home)) if typed else paragraphs(sys.stdin):
        if message.strip().lower() in LEAVING:
            break
        talk.take(message)
    if talk.conversation.case:
        talk.say(f"case {talk.conversation.case} is kept: triage chat --case {talk.conversation.case}", "dim")
    raise typer.Exit(2 if talk.failed and not typed else 0)


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Messages of a pipe: commands are one line, other lines belong together up to an empty one where any of them looks
    like a log's; else each is a message, but for a sentence that goes on in the next line."""
    kept: list[str] = []
    for line in lines:
        if kept and (line.startswith("/") or not line.strip()):
            yield from _messages(kept)
            kept = []
        if line.startswith("/"):
            yield line
        elif line.strip():
            kept.append(line)
    yield from _messages(kept)


def _messages(lines: list[str]) -> Iterator[str]:
    from ...agent.question.parts import has_log

    if has_log(lines) or len(lines) > TYPED:
        yield "".join(lines)
        return
    begin = 0
    for n, line in enumerate(lines, 1):
        if n == len(lines) or len(line.rstrip()) < WRAPPED or line.rstrip()[-1] in ENDS:
            yield "".join(lines[begin:n])
            begin = n


def prompted(talk: Chat, home: Path) -> Iterator[str]:
    """Messages typed at a terminal, with history, completion and pasted lines kept together."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, PathCompleter, WordCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory

    from ...agent.casebook import private
    from ...agent.session import shown

    class Kept(FileHistory):
        def store_string(self, string: str) -> None:
            super().store_string(shown(string))

    class Commands(Completer):
        def get_completions(self, document: Document, complete_event: Any) -> Any:
            name, space, rest = document.text_before_cursor.partition(" ")
            if not space and name.startswith("/"):
                return WordCompleter(list(COMMANDS), sentence=True).get_completions(document, complete_event)
            if "PATH" in COMMANDS.get(name, ("",))[0]:
                return PathCompleter(expanduser=True).get_completions(Document(rest), complete_event)
            return ()

    session: PromptSession[str] = PromptSession(
        history=Kept(str(private(home / "chat-history"))),
        completer=Commands(),
        complete_while_typing=False,
        bottom_toolbar=lambda: talk.status(),
    )
    talk.say("Say what went wrong, or paste a log. /run PATH gives a run, /help lists the commands.", "dim")
    while True:
        try:
            yield session.prompt("triage> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


class Chat:
    """The conversation of one terminal."""

    def __init__(self, open_case: Callable[[str, str], Conversation], case: str = "", lang: str = "auto"):
        self.open_case = open_case
        self.conversation = open_case(case, lang)
        self.waiting: list[Path] = []
        """Runs given since the last question."""
        self.out: Console = console()
        self.failed = False
        self.lang(lang)

    def say(self, text: str, style: str = "") -> None:
        self.out.print(Text(text, style=style))

    def take(self, message: str) -> None:
        """Answer one message or obey one command; whatever it runs into is said, and the chat goes on."""
        from ...knowledge.entry import RunbookError

        message = message.strip()
        name, _, rest = message.partition(" ")
        try:
            if name in COMMANDS and "\n" not in message:
                getattr(self, name[1:])(rest.strip())
            elif message.startswith("/") and "\n" not in message and not Path(name).exists():
                raise TriageError(f"no command {clean(name, 40)}; /help lists them")
            elif message:
                self.turn(lambda listen: self.conversation.ask(message, self.waiting, listen))
                self.waiting = []
        except (TriageError, RunbookError) as error:
            self.failed = True
            self.say(f"triage: {clean(str(error), 2000)}", "red")
        except KeyboardInterrupt:
            self.say("stopped", "yellow")

    def turn(self, work: Callable[[Listen], object]) -> None:
        """Show the events of one turn as they happen."""
        from contextlib import closing

        from ...agent.events import stream

        fresh = not self.conversation.case
        writer = _Writer(self.out)
        with self.out.status("reading") as status, closing(stream(work)) as events:
            for event in events:
                self.show(event, writer, status)
        writer.finish()
        if fresh and self.conversation.case:
            self.say(f"\ncase {self.conversation.case}", "dim")

    def show(self, event: Event, writer: _Writer, status: Status) -> None:
        from ...agent import events

        if isinstance(event, events.ToolStarted):
            status.update(event.name)
        elif isinstance(event, events.FindingMade):
            status.update(f"{event.id} {event.finding.severity} {event.finding.code}")
        elif isinstance(event, events.Notice):
            self.say(clean(event.text, 500), "yellow")
        elif isinstance(event, events.Token):
            status.stop()
            writer.write(event.text, event.lines)

    def status(self) -> str:
        """One line for the foot of the terminal."""
        runs = [*self.conversation.paths, *self.waiting]
        shown = ", ".join(clean(p.name, 40) for p in runs[-3:]) or "no run yet (/run PATH)"
        return f" case {self.conversation.case or 'new'}   run {shown}   lang {self.conversation.lang}"

    # Commands: each takes the rest of its line.

    def run(self, rest: str) -> None:
        from collections import Counter

        from ...tools.discover import discover

        path = _path(rest, "/run runs/exp42")
        kinds = Counter(a.kind for a in discover(path).artifacts)
        self.waiting.append(path)
        self.say(f"{path}: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}", "dim")

    def verify(self, rest: str) -> None:
        path = _path(rest, "/verify runs/exp43")
        self.turn(lambda listen: self.conversation.verify(path, listen=listen))

    def findings(self, rest: str) -> None:
        if rest:
            self.lines_around(rest.upper())
            return
        listed: list[dict[str, Any]] = self.conversation.last().get("findings", [])
        for f in listed:
            place = f["evidence"][0] if f["evidence"] else {}
            line = Text().append(f"{f['id']:4}", style="dim").append(f"{f['severity']} ", style=STYLES[f["severity"]])
            line.append(f"{f['code']}  ", style="bold").append(clean(f["message"], 600))
            self.out.print(
                line.append(f"  {place.get('file') or ''}:{place.get('line') or ''}".rstrip(" :"), style="dim")
            )
        if not listed:
            self.say("No findings yet: ask about a run first.")

    def lines_around(self, finding: str) -> None:
        seen: set[tuple[str, int]] = set()
        for found in self.conversation.excerpts(finding):
            if (found.file, found.line) in seen:
                continue
            self.say(f"{clean(found.file)}:{found.line}", "bold")
            for number, text in found.lines:
                here = number == found.line
                self.say(f"{'>' if here else ' '}{number:>8} | {text}", "" if here else "dim")
            seen |= {(found.file, number) for number, _ in found.lines}

    def next(self, rest: str) -> None:
        self.say(self.conversation.next_check() or "Nothing yet: ask about a run first.")

    def lang(self, rest: str) -> None:
        if rest not in ("en", "zh", "auto"):
            raise TriageError(f"no language {clean(rest, 20)!r}: use en, zh or auto")
        self.conversation.lang = rest

    def case(self, rest: str) -> None:
        if rest:
            self.conversation = self.open_case(rest, self.conversation.lang)
            self.waiting = []
        self.say(self.status().strip())

    def help(self, rest: str) -> None:
        for name, (takes, does) in COMMANDS.items():
            self.say(f"{name + ' ' + takes:20} {does.say(self.conversation.lang)}")


def _path(text: str, example: str) -> Path:
    if not text:
        raise TriageError(f"name a path: {example}")
    return Path(text.strip("'\"")).expanduser()


class _Writer:
    """Markdown as it comes: block by block formatted on a terminal, as it is in a pipe."""

    def __init__(self, out: Console):
        self.out, self.kept, self.fenced = out, "", False

    def write(self, text: str, lines: bool = False) -> None:
        if lines:
            self.out.print(emphasised(text), end="")
            return
        if not self.out.is_terminal:
            self.out.print(Text(text), end="")
            return
        self.kept += text
        self.fenced ^= text.startswith("```")
        if not text.strip() and not self.fenced:
            self.finish()

    def finish(self) -> None:
        from rich.markdown import Markdown

        if self.kept.strip():
            self.out.print(Markdown(self.kept))
            self.out.print()
        elif not self.out.is_terminal:
            self.out.print()
        self.kept = ""

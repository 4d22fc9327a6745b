"""What happens when somebody asks, verifies, opens a case or gives feedback; the page only shows the result.

The generators yield each time that there is something new to show; they raise nothing that a person
caused, but say it in the conversation.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path

from ...agent.acceptance.verify import Verdict
from ...agent.answer import Answer
from ...agent.change.stays import staying
from ...agent.conversation import Answered, Conversation
from ...agent.events import Listen, Notice, Token, stream
from ...agent.narrate.answer import headline
from ...agent.narrate.reply import lines as reply_lines
from ...agent.narrate.short import LINES
from ...agent.propose import propose
from ...agent.session import language, shown
from ...knowledge.entry import RunbookError
from ...tools.findings import Evidence, TriageError, clean
from ...tools.looking.lines import AROUND, Excerpt
from ...tools.run import PASTED, Run
from ...tools.settings import Settings
from .desk import Desk
from .line import Turn, Waiting
from .messages import Message, escaped, judged, said, spoken
from .steps import Steps
from .talk import Talk
from .words import WORDS

FRAME = 0.1
"""Seconds between two pictures of an answer that is still arriving."""
MESSAGES_KEPT = 20
"""Most messages that a tab shows; every picture of an arriving answer sends them all. The case keeps everything."""
PLACES = 4
"""Most places shown of one finding."""
Shape = Callable[[str], list[Message]]
"""Makes messages of the words that have arrived so far."""


def ask(desk: Desk, talk: Talk, text: str, paths: Sequence[Path] = ()) -> Iterator[bool]:
    """One question; yields True when the panels changed, False when only the conversation did.

    Raises:
        TriageError: nobody is known to ask.
    """
    desk.known(talk.owner)
    return _asked(desk, talk.same(), text, paths)


def start(desk: Desk, talk: Talk, text: str, paths: Sequence[Path]) -> bool:
    """Answer a question that somebody typed, now or after those before it; False when too many wait.

    Raises:
        TriageError: nobody is known to ask.
    """
    mine = talk.same()
    text = text if text.strip() else WORDS["what-wrong"].say(talk.lang)
    label = clean(" ".join(shown(text).split()), 120)
    return _begin(desk, talk, label, lambda: ask(desk, mine, text, paths), paths)


def start_verify(desk: Desk, talk: Talk, candidate: Path | None) -> bool:
    """Judge the next run, now or after what is being answered; False when too many wait."""
    mine = talk.same()
    label = WORDS["verified"].say(talk.lang, name=desk.shown(candidate) if candidate else "")
    return _begin(desk, talk, label, lambda: verify(desk, mine, candidate), ())


def _begin(desk: Desk, talk: Talk, label: str, begin: Callable[[], Iterator[bool]], paths: Sequence[Path]) -> bool:
    put = talk.turn.add(Waiting(label, begin)) if talk.busy and talk.turn else None
    if put is None and not desk.room(talk.owner):
        return False
    if put is None:
        talk.waiting = list(dict.fromkeys([*talk.waiting, *paths]))
        frames = begin()
        next(frames)  # the question is seen at once, by whoever asked
        talk.turn, put = Turn(frames), True
        desk.begun(talk.owner, talk.turn)
    return put


def stop(desk: Desk, talk: Talk) -> None:
    """Stop what is being answered and say so; what waits in line comes next."""
    turn = talk.turn
    if turn is None or turn.over:
        return
    rest = turn.stop()
    # The thread that was stopped goes on until its next event: it keeps the old messages and the old conversation.
    talk.messages = [_ended(m, talk.lang) for m in talk.messages]
    talk.messages.append({"role": "assistant", "content": WORDS["stopped"].say(talk.lang)})
    talk.conversation = copy(talk.conversation)
    if rest:
        frames = rest[0].begin()
        next(frames)
        talk.turn = Turn(frames, rest[1:])
        desk.begun(talk.owner, talk.turn)


def _ended(message: Message, lang: str) -> Message:
    """A copy, in which nothing is under way any more."""
    pending = message.get("metadata", {}).get("status") == "pending"
    return (
        {**message, "metadata": {"title": WORDS["stopped-steps"].say(lang), "status": "done"}}
        if pending
        else {**message}
    )


def _asked(desk: Desk, talk: Talk, text: str, paths: Sequence[Path]) -> Iterator[bool]:
    paths = list(dict.fromkeys([*talk.waiting, *paths]))
    if not text.strip():
        text = WORDS["what-wrong"].say(talk.lang)
    if not talk.chosen and language(text) == "zh":
        talk.lang = "zh"
    conversation = talk.conversation = talk.conversation or Conversation(desk.home, brief=True)
    new, owner = not talk.case, talk.owner
    conversation.lang = talk.lang if talk.chosen else language(text)
    if conversation.answer and conversation.answer.seen is None:  # what the server still remembers is not read again
        conversation.answer = replace(conversation.answer, seen=talk.seen())
    talk.messages = [*talk.messages[-MESSAGES_KEPT:], {"role": "user", "content": spoken(text)}]
    steps = Steps(talk.lang, talk.messages)
    yield False
    try:
        yield from _watch(desk, talk, steps, lambda listen: conversation.ask(text, paths, listen), said)
    except (TriageError, RunbookError) as error:
        failed(talk, str(error), steps)
        yield False
        return
    except Exception as error:
        failed(talk, defect(error, talk.lang), steps)
        yield False
        return
    if new and conversation.case:
        with suppress(TriageError):  # whoever reads it next says that it is damaged
            desk.book.claim(conversation.case, owner)
    if talk.conversation is conversation:
        talk.waiting = [p for p in talk.waiting if p not in paths]
        talk.told = next((m for m in reversed(steps.messages) if not m.get("metadata")), None)
        _answered(desk, talk)
    yield True


def _watch(desk: Desk, talk: Talk, steps: Steps, turn: Callable[[Listen], object], shape: Shape) -> Iterator[bool]:
    """The turn's events as they come, with a free worker; the tools as steps, then the words."""

    def work(listen: Listen) -> None:
        if not desk.workers.acquire(blocking=False):
            listen(Notice(WORDS["waiting"].say(talk.lang)))
            desk.workers.acquire()
        try:
            turn(listen)
        finally:
            desk.workers.release()

    messages, at = steps.messages, len(steps.messages)
    words, notices, drawn = "", "", 0.0
    try:
        for event in stream(work):
            if isinstance(event, Token):
                words += event.text
                if time.monotonic() - drawn < FRAME:
                    continue
                messages[at:] = shape(words)
            elif isinstance(event, Answered):
                words, notices = told(event.answer), "" if event.answer.only else notices
                continue
            elif isinstance(event, Notice) and event.text != WORDS["waiting"].say(talk.lang):
                notices += f"\n\n*{escaped(event.text)}*"
                continue
            elif not steps.take(event):
                continue
            drawn = time.monotonic()
            yield False
        if words:
            messages[at:] = shape(words + notices)
    finally:
        steps.end()


def told(answer: Answer) -> str:
    """What the conversation shows of it: a screen, and what a model adds."""
    return answer.text if answer.only else "\n\n".join(filter(None, (answer.brief(LINES), answer.beside)))


def _answered(desk: Desk, talk: Talk) -> None:
    conversation = talk.conversation
    answer = conversation.answer if conversation else None
    if conversation is None or answer is None:
        return
    talk.seen = desk.remember(answer.seen)
    conversation.answer = replace(answer, seen=None)  # one tab must not keep a run in memory
    talk.view, talk.verdict, talk.problem, talk.picked = viewed(answer, talk.lang).as_json(), None, "", ""
    talk.judged, talk.next_run, talk.next_seen = "", None, lambda: None


def viewed(answer: Answer, lang: str) -> Answer:
    """The answer in the language of the interface."""
    if answer.lang == lang:
        return answer
    d, seen = answer.diagnosis, answer.seen
    settings, run = (seen.settings, seen.run) if seen else (Settings(), Run(Path()))
    proposal = staying(propose(d, settings, run, lang, seen.table if seen else None), d, answer.reply.plans)
    head = (headline(d, lang, seen is not None), *reply_lines(answer.reply, d, proposal, lang, seen is not None))
    return replace(answer, lang=lang, proposal=proposal, head=head)


def speak(talk: Talk, lang: str) -> None:
    """Switch the language of the interface, with the panels and the last answer; what was said before it stays."""
    talk.lang, talk.chosen = lang, True
    answer = talk.conversation.answer if talk.conversation else None
    seen = talk.seen()
    if answer and talk.view and (seen or (answer.seen is None and not talk.paths)):
        answer = viewed(replace(answer, seen=seen), lang)
        talk.view = answer.as_json()
        if talk.told in talk.messages and talk.told and not (answer.only or answer.beside):
            talk.told["content"] = said(answer.brief(LINES))[0]["content"]


def failed(talk: Talk, why: str, steps: Steps | None = None) -> None:
    """Say in the conversation why there is no answer."""
    if steps and steps.message not in talk.messages:
        return  # the tab has moved on
    if steps and not steps.done:
        talk.messages.remove(steps.message)
    text = WORDS["failed-turn"].say(talk.lang, why=escaped(why))
    talk.messages.append({"role": "assistant", "content": text})


def defect(error: Exception, lang: str) -> str:
    """Words for an error of our own; its details go to the server's log only."""
    traceback.print_exception(error)
    return WORDS["internal"].say(lang, kind=type(error).__name__)


def lines(talk: Talk, finding: str) -> list[Excerpt]:
    """The lines around the places that a finding of the shown answer names; picking it again closes them.

    Raises:
        TriageError: there is no such finding, or the files of the run are gone.
    """
    if finding == talk.picked:
        talk.picked = ""
        return []
    found = next((f for f in (talk.view or {}).get("findings", ()) if f["id"] == finding), None)
    if found is None or talk.view is None or talk.conversation is None:
        raise TriageError(f"no finding {clean(finding, 20)!r}")
    talk.picked = finding
    places = [Evidence(**e) for e in found["evidence"] if e["file"] and e["line"]]
    if not places:
        return []
    out = [e for p in places if p.file == PASTED for e in _pasted(talk.view["question"], p)]
    if talk.conversation.paths:
        out += talk.conversation.excerpts(finding)
    if not out:
        raise TriageError(WORDS["files-gone"].say(talk.lang))
    return _apart(out)[:PLACES]


def _pasted(question: str, place: Evidence) -> list[Excerpt]:
    """Lines of a log that was pasted into the question, if the question was kept whole."""
    rows, at = question.splitlines(), place.line or 1
    if "…" in rows or at > len(rows):
        return []
    span = range(max(1, at - AROUND), min(len(rows), at + AROUND) + 1)
    return [Excerpt(PASTED, at, tuple((n, clean(rows[n - 1], 300)) for n in span))]


def _apart(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Without those whose line another excerpt shows already."""
    kept: list[Excerpt] = []
    for one in excerpts:
        if not any(one.file == k.file and one.line in dict(k.lines) for k in kept):
            kept.append(one)
    return kept


def verify(desk: Desk, talk: Talk, candidate: Path | None) -> Iterator[bool]:
    """Judge the next run; yields and raises as `ask` does."""
    desk.known(talk.owner)
    return _verified(desk, talk.same(), candidate)


def _verified(desk: Desk, talk: Talk, candidate: Path | None) -> Iterator[bool]:
    talk.verdict, talk.problem = None, ""
    conversation = talk.conversation
    if conversation is None or talk.view is None:
        talk.problem = WORDS["first-ask"].say(talk.lang)
    elif not conversation.paths:
        talk.problem = WORDS["files-gone" if talk.view["findings"] else "no-run-findings"].say(talk.lang)
    elif candidate is None:
        talk.problem = WORDS["no-candidate"].say(talk.lang)
    if talk.problem or conversation is None or candidate is None:
        yield True
        return
    against = WORDS["verified"].say(talk.lang, name=desk.shown(candidate))
    talk.messages.append({"role": "user", "content": escaped(against)})
    steps = Steps(talk.lang, talk.messages)
    yield False
    made = list[Verdict]()
    try:
        yield from _watch(
            desk, talk, steps, lambda listen: made.append(conversation.verify(candidate, listen=listen)), judged
        )
        why = ""
    except (TriageError, RunbookError) as error:
        why = str(error)
    except Exception as error:
        why = defect(error, talk.lang)
    if talk.conversation is conversation:
        talk.verdict, talk.problem = next(iter(made), None), why
        talk.next_run, talk.next_seen = candidate if made else None, lambda: None
        talk.judged = made[0].verdict if made else talk.judged
    if why:
        failed(talk, why, steps)
    yield True


def open_case(desk: Desk, talk: Talk, id: str) -> bool:
    """Show a case again as it was left; False when it is not this owner's."""
    case = desk.case(talk.owner, id)
    if case is None:
        return False
    talk.fresh()
    talk.conversation = Conversation(desk.home, case.id, brief=True)
    talk.conversation.paths = tuple(p for p in talk.conversation.paths if desk.allowed(talk.owner, p))
    for event in case.events:
        content = event["content"]
        if event["kind"] == "answer":
            talk.view, talk.judged = content, ""
            talk.messages.append({"role": "user", "content": spoken(content["question"])})
            talk.messages += said(content.get("short") or content["answer"])
        elif event["kind"] == "verdict":
            talk.judged = str(content.get("verdict", ""))
            talk.messages += judged(content["answer"])
    return True


def drop(desk: Desk, talk: Talk, name: str) -> None:
    """Read this file or run no more, whether it was asked about or not."""
    talk.waiting = [p for p in talk.waiting if desk.shown(p) != name]
    conversation = talk.conversation
    for path in conversation.paths if conversation else ():
        if conversation and desk.shown(path) == name:
            conversation.drop(path)


def feedback(desk: Desk, talk: Talk, says: str) -> str:
    """Note what a person thinks of the answer on the case; returns what to tell them."""
    if not talk.case or says not in ("helpful", "unhelpful", "resolved"):
        return WORDS["first-ask"].say(talk.lang)
    with suppress(TriageError):
        desk.book.record(talk.case, "feedback", {"says": says}, status="resolved" if says == "resolved" else None)
        return WORDS["thanks"].say(talk.lang)
    return WORDS["no-such-case"].say(talk.lang)

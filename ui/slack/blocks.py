"""Block Kit: an answer, a verdict, the lines behind findings, progress, and the form for the next run.

Slack's limits are kept by construction: 3,000 characters a section, 50 blocks a message. What does not fit is attached
as a file by the caller.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from ...agent.answer import Answer
from ...tools.boundary import Boundary
from ...tools.findings import clean
from ...tools.looking.lines import Excerpt
from .inbox import Request
from .text import escape, sections
from .words import WORDS

SECTION = 2_900
MOST_SECTIONS = 40
MOST_TEXT = 9_000
"""Characters of one message: a thread stays readable, and the rest is in the file."""
SHOWN_EXCERPTS = 5
BUTTONS = ("next", "evidence", "verify", "resolved", "unhelpful")


@dataclass(frozen=True)
class Message:
    """One reply."""

    text: str
    """For notifications, escaped."""
    blocks: Sequence[dict[str, Any]]
    attachment: str = ""
    """The whole text as Markdown, when the blocks do not hold all of it."""


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}, "expand": True}


def context(texts: Iterable[str]) -> list[dict[str, Any]]:
    elements = [{"type": "mrkdwn", "text": t[:SECTION], "verbatim": True} for t in texts]
    return [{"type": "context", "elements": elements[:10]}] if elements else []


def simple(text: str) -> Message:
    """A sentence of ours; values in it must be escaped already."""
    return Message(text[:300], [section(text[:SECTION])])


def markdown(text: str, lang: str, notes: Sequence[str] = (), buttons: Sequence[dict[str, Any]] = ()) -> Message:
    """Markdown with notes below it, without credentials and personal data; what does not fit is attached."""
    hide = Boundary().hide
    text = hide(text)
    pieces = list(sections(text, SECTION))
    lengths = accumulate(map(len, pieces))
    fits = [piece for piece, length in zip(pieces, lengths, strict=True) if length <= MOST_TEXT][:MOST_SECTIONS]
    cut = len(fits) < len(pieces)
    shown = [section(piece) for piece in fits]
    last = context([*([WORDS["cut"].say(lang)] if cut else []), *map(hide, notes)])
    return Message(pieces[0][:300] if pieces else "", [*shown, *last, *buttons], text if cut else "")


def answer(a: Answer, notes: Sequence[str]) -> Message:
    """The answer that fits a screen with its buttons; the whole one is attached."""
    whole = a.text if a.text != a.unasked else ""
    below = [*([WORDS["cut"].say(a.lang)] if whole else []), *notes]
    below += [WORDS["case"].say(a.lang, case=a.case)] if a.case else []
    about = a.case and a.diagnosis.state != "out-of-scope"
    shown = markdown(a.unasked, a.lang, below, [actions(a.case, a.lang)] if about else [])
    return replace(shown, attachment=Boundary().hide(whole)) if whole else shown


def actions(case: str, lang: str) -> dict[str, Any]:
    """The buttons under an answer; each carries its case and language."""
    value = json.dumps({"case": case, "lang": lang})
    elements: list[dict[str, Any]] = [
        {"type": "button", "action_id": f"triage_{name}", "value": value, "text": _plain(WORDS[name].say(lang))}
        for name in BUTTONS
    ]
    return {"type": "actions", "elements": elements}


def evidence(findings: Sequence[Mapping[str, Any]], excerpts: Mapping[str, Sequence[Excerpt]], lang: str) -> Message:
    """The lines around the findings, as code that cannot break out of its fence; lines in common are shown once."""
    groups: list[tuple[Excerpt, list[Mapping[str, Any]], set[int]]] = []
    for finding in findings:
        for shown in excerpts.get(finding["id"], ())[:1]:
            same = [g for g in groups if g[0].file == shown.file and shown.line in dict(g[0].lines)]
            if same:
                same[0][1].append(finding)
                same[0][2].add(shown.line)
            else:
                groups.append((shown, [finding], {shown.line}))
    parts = [_excerpt(*group) for group in groups[:SHOWN_EXCERPTS]]
    return markdown("\n".join(parts), lang) if parts else simple(WORDS["no-evidence"].say(lang))


def _excerpt(shown: Excerpt, findings: Sequence[Mapping[str, Any]], lines: set[int]) -> str:
    names = ", ".join(f"**{f['id']}** `{f['code']}`" for f in findings)
    text = "\n".join(
        f"{'>' if number in lines else ' '}{number:>7} {line}".replace("```", "'''") for number, line in shown.lines
    )
    return f"{names} — `{clean(shown.file)}`\n```\n{text}\n```"


def progress(done: Sequence[str], findings: int, lang: str) -> Message:
    """What was looked at so far; `done` ends with what is looked at now."""
    if not done:
        return simple(WORDS["working"].say(lang))
    *before, now = done
    text = WORDS["tools"].say(lang, done=", ".join(before), now=now) if before else WORDS["first"].say(lang, now=now)
    return simple(f"{text} · {WORDS['findings'].say(lang, n=findings)}" if findings else text)


def marked(message: Message, request: Request) -> list[dict[str, Any]]:
    """The blocks with a mark by which the reply to a request is found again."""
    first, *others = message.blocks
    return [{**first, "block_id": mark(request)}, *others]


def mark(request: Request) -> str:
    return f"triage-{request.id}"[:255]


def form(request: Request, lang: str) -> dict[str, Any]:
    """The modal that asks for the next run."""
    asks_for = {"channel": request.channel, "thread": request.thread, "direct": request.direct, "lang": lang}
    return {
        "type": "modal",
        "callback_id": "triage_verify",
        "private_metadata": json.dumps(asks_for),
        "title": _plain("triage"),
        "submit": _plain(WORDS["send"].say(lang)),
        "close": _plain(WORDS["close"].say(lang)),
        "blocks": [
            {
                "type": "input",
                "block_id": "path",
                "label": _plain(WORDS["path"].say(lang)),
                "hint": _plain(WORDS["path-hint"].say(lang)),
                "element": {"type": "plain_text_input", "action_id": "path", "max_length": 1000},
            }
        ],
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def failure(error: str, lang: str) -> Message:
    return simple(WORDS["failed"].say(lang, error=escape(clean(error, 1000))))

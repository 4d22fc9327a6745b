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
from ...tools.phrase import counted
from ..listing import FINDINGS
from .inbox import Request
from .text import escape, flowing, parted, sections
from .words import WORDS

SECTION = 2_900
MOST_SECTIONS = 40
MOST_TEXT = 9_000
"""Characters of one message: a thread stays readable, and the rest is in the file."""
SHOWN_EXCERPTS = 5
LINES = 11
"""Of an answer, each of 80 columns; its case stands on one more, its buttons below."""
ROWS, COLUMNS, CELL = 100, 20, 1000
"""Of a table: Slack's own limits, and characters of a cell that anybody reads."""
OPINIONS = ("helpful", "wrong", "resolved")
"""What the team says of an answer; it is noted on the case."""
BUTTONS = ("next", "evidence", "verify", *OPINIONS)


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


def table(rows: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """The rows as a table, whose cells are plain text in which nothing can fire; Slack takes one in a message."""
    width = min(max(map(len, rows), default=0), COLUMNS)
    cells = [[{"type": "raw_text", "text": clean(cell, CELL) or "–"} for cell in row[:width]] for row in rows[:ROWS]]
    full = [row + [{"type": "raw_text", "text": "–"}] * (width - len(row)) for row in cells]
    return [{"type": "table", "rows": full, "column_settings": [{"is_wrapped": True}] * width}] if full else []


def markdown(text: str, lang: str, notes: Sequence[str] = (), buttons: Sequence[dict[str, Any]] = ()) -> Message:
    """Markdown with notes below it, without credentials and personal data; what does not fit is attached.

    The first table is shown as one.
    """
    hide = Boundary().hide
    text = hide(text)
    before, rows, after = parted(text)
    pieces, follows = [list(sections(part, SECTION)) if part.strip() else [] for part in (before, after)]
    lengths = accumulate(map(len, (*pieces, *follows)))
    most = sum(length <= MOST_TEXT for length in lengths)
    fits, rest = pieces[:most][:MOST_SECTIONS], follows[: max(most - len(pieces), 0)][: MOST_SECTIONS - len(pieces)]
    cut = len(fits) + len(rest) < len(pieces) + len(follows) or len(rows) > ROWS
    shown = [*map(section, fits), *table(rows), *map(section, rest)]
    last = context([*([WORDS["cut"].say(lang)] if cut else []), *map(hide, notes)])
    return Message(pieces[0][:300] if pieces else "", [*shown, *last, *buttons], text if cut else "")


def answer(a: Answer, notes: Sequence[str]) -> Message:
    """The answer in few lines with its buttons; the whole one is attached, with what a model adds."""
    whole = a.text if not a.only else ""
    below = [WORDS["case"].say(a.lang, case=a.case)] if a.case else []
    below += [WORDS["cut"].say(a.lang)] if whole else []
    about = a.case and a.diagnosis.state != "out-of-scope"
    brief = a.text if a.only else flowing(a.brief(LINES))
    buttons = [actions(a.case, a.lang)] if about else []
    shown = markdown(brief, a.lang, [" · ".join(below), *notes] if below else notes, buttons)
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
    return simple(f"{text} · {WORDS['findings'].say(lang, n=counted(findings, FINDINGS, lang))}" if findings else text)


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

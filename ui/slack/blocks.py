"""Block Kit: an answer, a verdict, the lines behind findings, progress, and the form for the next run.

Slack's limits are kept by construction: 3,000 characters a section, 50 blocks a message. What does not fit is attached
as a file by the caller.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ...agent.conversation import Excerpt
from ...agent.session import Answer
from ...tools.boundary import Boundary
from ...tools.findings import clean
from .inbox import Request
from .text import escape, sections

SECTION = 2_900
MOST_SECTIONS = 40
MOST_TEXT = 9_000
"""Characters of one message: a thread stays readable, and the rest is in the file."""
SHOWN_EXCERPTS = 5

T: dict[str, tuple[str, str]] = {
    "working": ("Looking at it …", "正在查看……"),
    "tools": ("Looked at: {done} · now: {now}", "已查看：{done} · 正在：{now}"),
    "first": ("Now: {now}", "正在：{now}"),
    "findings": ("{n} findings so far", "已有 {n} 条发现"),
    "status": ("is reading the run …", "正在读取运行记录……"),
    "next": ("Next check", "下一步检查"),
    "evidence": ("Show evidence", "查看证据"),
    "verify": ("Verify the next run", "验证下一次运行"),
    "resolved": ("Resolved", "已解决"),
    "unhelpful": ("Not helpful", "没有帮助"),
    "case": ("case `{case}`", "案例 `{case}`"),
    "cut": ("The whole answer is in the attached file.", "完整回答见附件。"),
    "no-check": ("There is no further check: nothing is suspected yet.", "没有下一步检查：目前没有怀疑对象。"),
    "check": ("*Check first (read-only):* {text}", "*先做只读检查：* {text}"),
    "no-evidence": ("No finding of this case names a line of a file.", "该案例没有指向文件某一行的发现。"),
    "noted": (
        "Noted on the case. Say what is missing or wrong and mention me: I read it together with the run.",
        "已记在案例里。请说明缺少什么或哪里不对，并提到我，我会结合运行一起看。",
    ),
    "closed": ("The case is marked as resolved.", "案例已标记为已解决。"),
    "path": ("Run directory or file on the server", "服务器上的运行目录或文件"),
    "path-hint": (
        "Or close this and attach the next run's log in the thread, with the word verify.",
        "也可以关闭窗口，在讨论串里附上下一次运行的日志，并写 verify。",
    ),
    "send": ("Verify", "验证"),
    "close": ("Close", "关闭"),
    "skipped": ("Not read: {what}", "未读取：{what}"),
    "outside": (
        "{path} (not inside a folder that may be read in this channel)",
        "{path}（不在本频道允许读取的目录内）",
    ),
    "refused": (
        "I may not answer you here; ask whoever runs triage for this channel.",
        "我无权在这里回答你；请联系维护 triage 的人。",
    ),
    "internal": (
        "That broke inside triage ({error}); it says nothing about the run. The case is kept.",
        "triage 内部出错（{error}），与运行本身无关。案例已保留。",
    ),
    "invite": (
        "I am not in that channel: invite me there, or write to me here.",
        "我不在那个频道：请先邀请我，或者直接在这里告诉我。",
    ),
    "failed": ("Could not answer: {error}", "无法回答：{error}"),
    "help": (
        "Tell me what went wrong with a training, alignment or serving run, and attach its log and config, or name its "
        "path. `verify` with the next run's log judges whether the change worked.",
        "告诉我训练、对齐或推理服务出了什么问题，并附上日志和配置，或写出路径。附上下一次运行的日志并写 `verify`，"
        "可以判断改动是否有效。",
    ),
}
BUTTONS = ("next", "evidence", "verify", "resolved", "unhelpful")


def say(key: str, lang: str, **values: object) -> str:
    return T[key][lang == "zh"].format(**values)


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
    last = context([*([say("cut", lang)] if cut else []), *map(hide, notes)])
    return Message(pieces[0][:300] if pieces else "", [*shown, *last, *buttons], text if cut else "")


def answer(a: Answer, notes: Sequence[str]) -> Message:
    """The answer with its buttons."""
    below = [*notes, say("case", a.lang, case=a.case)]
    return markdown(a.text, a.lang, below, [] if a.diagnosis.state == "out-of-scope" else [actions(a.case, a.lang)])


def actions(case: str, lang: str) -> dict[str, Any]:
    """The buttons under an answer; each carries its case and language."""
    value = json.dumps({"case": case, "lang": lang})
    elements: list[dict[str, Any]] = [
        {"type": "button", "action_id": f"triage_{name}", "value": value, "text": _plain(say(name, lang))}
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
    return markdown("\n".join(parts), lang) if parts else simple(say("no-evidence", lang))


def _excerpt(shown: Excerpt, findings: Sequence[Mapping[str, Any]], lines: set[int]) -> str:
    names = ", ".join(f"**{f['id']}** `{f['code']}`" for f in findings)
    text = "\n".join(
        f"{'>' if number in lines else ' '}{number:>7} {line}".replace("```", "'''") for number, line in shown.lines
    )
    return f"{names} — `{clean(shown.file)}`\n```\n{text}\n```"


def progress(done: Sequence[str], findings: int, lang: str) -> Message:
    """What was looked at so far; `done` ends with what is looked at now."""
    if not done:
        return simple(say("working", lang))
    *before, now = done
    text = say("tools", lang, done=", ".join(before), now=now) if before else say("first", lang, now=now)
    return simple(f"{text} · {say('findings', lang, n=findings)}" if findings else text)


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
        "submit": _plain(say("send", lang)),
        "close": _plain(say("close", lang)),
        "blocks": [
            {
                "type": "input",
                "block_id": "path",
                "label": _plain(say("path", lang)),
                "hint": _plain(say("path-hint", lang)),
                "element": {"type": "plain_text_input", "action_id": "path", "max_length": 1000},
            }
        ],
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def failure(error: str, lang: str) -> Message:
    return simple(say("failed", lang, error=escape(clean(error, 1000))))

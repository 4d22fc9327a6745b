"""A turn's answer: triage's own words first and whole, then, where a model is served, what it adds under its label.

The built-in answer is told before the model is asked; it stands whatever the model says or does not say.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...tools.boundary import Boundary
from ...tools.phrase import phrases
from ..answer import Answer
from ..events import Listen, Notice, Stands, Token
from ..narrate.answer import headline
from . import trace
from .display import display
from .server import Model

NO_MODEL = phrases(
    "why no model adds to the answer",
    ("no-server", "The model server does not answer, so nothing is added; `triage doctor` says more.",
     "模型服务没有响应，因此没有补充；`triage doctor` 可查看详情。"),
    ("slow", "The model took too long, so nothing is added.", "模型超时，因此没有补充。"),
    ("endless", "The model did not come to an end, so nothing is added.", "模型的输出没有尽头，因此没有补充。"),
    ("error", "The model server failed twice, so nothing is added; `triage doctor` says more.",
     "模型服务两次出错，因此没有补充；`triage doctor` 可查看详情。"),
    ("malformed", "The model's tool calls could not be read, so nothing is added; `triage doctor` checks the parser.",
     "模型的工具调用无法解析，因此没有补充；`triage doctor` 可检查解析器。"),
    ("context", "The evidence does not fit the model's context, so nothing is added.",
     "证据超出模型的上下文长度，因此没有补充。"),
    ("no-such-model", "The server does not serve the model that TRIAGE_MODEL names, so nothing is added.",
     "服务端没有 TRIAGE_MODEL 指定的模型，因此没有补充。"),
    ("unusable", "Nothing usable came from the model, so nothing is added.", "模型没有给出可用的内容，因此没有补充。"),
    ("language", "The model answered in another language, so nothing is added.",
     "模型用了另一种语言回答，因此没有补充。"),
    ("not-installed",
     "A model is configured but its extra is missing, so nothing is added; `triage doctor` says how to install it.",
     "已配置模型但缺少依赖，因此没有补充；`triage doctor` 会说明如何安装。"),
)  # fmt: skip
"""Why triage's own answer stands alone although a model is configured."""
NOTES = phrases(
    "notes on an answer",
    ("unchanged", "Diagnosis unchanged: {headline}", "诊断不变：{headline}"),
    ("orders", "Text in {places} speaks to an assistant; it was treated as data.",
     "{places} 中有写给助手的话，只当作数据处理。"),
)  # fmt: skip


@dataclass(frozen=True)
class Wording:
    """Who adds to the answers of one conversation, and where that is kept.

    Args:
        model: the server to ask, or None.
        boundary: hides what must not leave, for the whole conversation.
        home: the data directory; None for no trace and no memory.
        brief: whether to stream the answer that fits a screen; the whole one is what is returned.
    """

    model: Model | None
    boundary: Boundary
    home: Path | None = None
    brief: bool = False


def worded(answer: Answer, question: str, by: Wording, listen: Listen, before: Answer | None = None) -> Answer:
    """The answer, told at once, and then what the model adds; traced under the data directory.

    Args:
        answer: triage's own.
        question: what the person typed this turn.
        by: who adds to it.
        listen: told the words as they come, with `Notice` lines.
        before: the answer that the person has on the screen.
    """
    start = time.monotonic()
    asks = by.model is not None and answer.diagnosis.state != "out-of-scope"
    first = replace(answer, only=_unchanged(answer)) if asks and before and same(answer, before) else answer
    _tell(first, by.brief, listen)
    turn, outcome, notices = None, "built-in", list[str]()
    final = first
    if asks and by.model:
        listen(Stands(first))
        turn, outcome = _ask(answer, question, by, listen)
        if turn and turn.reply and turn.ledger:
            shown = display(turn.reply, turn.ledger, turn.model.name)
            turn.statements, turn.marked = shown.statements, shown.marked
            final = _added(first, shown.text, turn.model.name, listen)
        else:
            notices.append(NO_MODEL[outcome].say(answer.lang))
    said = answer.seen.orders if answer.seen else ()
    if orders := [place for place in (turn.orders if turn else ()) if place not in said][:5]:
        notices.append(NOTES["orders"].say(answer.lang, places=", ".join(f"`{p}`" for p in orders)))
    for notice in notices:
        listen(Notice(notice))
    noted = "".join(f"\n\n*{n}*" for n in notices)
    final = replace(final, only=final.only and final.only + noted, text=final.text + noted * (not final.only))
    if by.home and answer.case:
        _trace(by.home, final, question, turn, outcome, time.monotonic() - start, by.boundary)
    return final


def _tell(answer: Answer, brief: bool, listen: Listen) -> None:
    lines = brief or bool(answer.only)
    for piece in (answer.short if lines else answer.text).splitlines(keepends=True):
        listen(Token(piece, lines=lines))


def _added(first: Answer, beside: str, name: str, listen: Listen) -> Answer:
    """The answer with the second tier behind it."""
    for piece in f"\n\n{beside}".splitlines(keepends=True):
        listen(Token(piece))
    only = f"{first.only}\n\n{beside}" if first.only else ""
    return replace(first, text=f"{first.text}\n\n{beside}", only=only, beside=beside, model=name)


def same(a: Answer, b: Answer) -> bool:
    """Whether two answers come to the same diagnosis and change."""
    return _essence(a) == _essence(b)


def _essence(a: Answer) -> tuple[object, ...]:
    """What a diagnosis comes to: state, leading cause with its status, the one change."""
    top, p = a.diagnosis.top, a.proposal
    return a.diagnosis.state, top and (top.entry.id, top.status), getattr(p, "key", ""), getattr(p, "new", ""), a.run


def _unchanged(answer: Answer) -> str:
    """One line for the diagnosis, and what is said to the person's own words."""
    own = answer.head[1:] or ()
    head = headline(answer.diagnosis, answer.lang, bool(answer.seen))
    return "\n".join((NOTES["unchanged"].say(answer.lang, headline=head), *own))


def _ask(answer: Answer, question: str, by: Wording, listen: Listen) -> tuple[Any, str]:
    """(what the model's turn came to, `worded` or the reason why not)."""
    try:
        from . import llm
    except ImportError:
        return None, "not-installed"
    assert by.model
    turn = llm.Turn(by.model)
    try:
        llm.word(turn, question, answer, by.home, answer.case, by.boundary, listen)
    except llm.Unanswered as error:
        return turn, str(error)
    return turn, "worded"


def _trace(
    home: Path, final: Answer, question: str, turn: Any, outcome: str, seconds: float, boundary: Boundary
) -> None:
    noted = {k: getattr(turn, k) for k in ("calls", "tools", "messages", "tokens")} if turn else {}
    empty: dict[str, Any] = {"calls": 0, "tools": [], "messages": [], "tokens": {}}
    reply = turn.reply.model_dump() if turn and turn.reply else None
    cites = {reply["cause"] or "", *reply["facts"], *(c for one in reply["say"] for c in one["cites"])} if reply else ()
    trace.record(
        home,
        final.case,
        {
            "question": question,
            "state": final.diagnosis.state,
            "findings": [f.code for f in final.diagnosis.findings],
            "outcome": outcome,
            "seconds": round(seconds, 3),
            **(noted or empty),
            "reply": reply,
            "cited": {id: turn.ledger.rows[id].said() for id in sorted(filter(None, cites))},
            "said": {"statements": turn.statements, "marked": turn.marked} if turn else {"statements": 0, "marked": 0},
            "history": turn.history if turn else [],
            "model": final.model,
            "answer": final.text,
        },
        boundary,
    )

"""Who words a turn's answer: a served model within its guards, or the built-in narrator, and what is said about it.

The built-in answer is there before the model is asked; it stands whenever the model gives nothing usable.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...tools.boundary import Boundary
from ...tools.phrase import phrases
from ..answer import Answer
from ..events import Listen, Notice, Token
from ..narrate.answer import after_model
from . import trace
from .server import Model
from .shown import Shown
from .shown import brief as told_briefly

NO_MODEL = phrases(
    "why no model worded the answer",
    ("no-server", "The model server does not answer, so this is the built-in answer; `triage doctor` says more.",
     "模型服务没有响应，以下为内置回答；`triage doctor` 可查看详情。"),
    ("slow", "The model took too long, so this is the built-in answer.", "模型超时，以下为内置回答。"),
    ("error", "The model server failed twice, so this is the built-in answer; `triage doctor` says more.",
     "模型服务两次出错，以下为内置回答；`triage doctor` 可查看详情。"),
    ("malformed",
     "The model's tool calls could not be read, so this is the built-in answer; `triage doctor` checks the parser.",
     "模型的工具调用无法解析，以下为内置回答；`triage doctor` 可检查解析器。"),
    ("context", "The evidence does not fit the model's context, so this is the built-in answer.",
     "证据超出模型的上下文长度，以下为内置回答。"),
    ("no-such-model", "The server does not serve the model that TRIAGE_MODEL names, so this is the built-in answer.",
     "服务端没有 TRIAGE_MODEL 指定的模型，以下为内置回答。"),
    ("unusable", "Nothing usable came from the model, so this is the built-in answer.",
     "模型没有给出可用的内容，以下为内置回答。"),
    ("not-installed",
     "A model is configured but its extra is missing (pip install 'llm-triage[llm]'): this is the built-in answer.",
     "已配置模型但缺少依赖（pip install 'llm-triage[llm]'），以下为内置回答。"),
)  # fmt: skip
"""Why the built-in answer stands although a model is configured."""
NOTES = phrases(
    "notes on an answer",
    ("dropped", "{n} sentence(s) of the model were left out because the evidence does not carry them ({rules}).",
     "模型有 {n} 句话没有证据支持，已略去（{rules}）。"),
    ("attacks", "Text in {places} looks like an instruction to a model; it was treated as data.",
     "{places} 中有看起来像是给模型下指令的文字，只当作数据处理。"),
)  # fmt: skip


def worded(
    answer: Answer,
    question: str,
    model: Model | None,
    boundary: Boundary,
    listen: Listen,
    home: Path | None,
    case: str,
    brief: bool = False,
) -> Answer:
    """The answer in its final words, streamed as `Token` events, with `Notice` lines; traced under `home`.

    Args:
        answer: the built-in answer.
        question: what the person typed this turn.
        model: the server to ask, or None.
        boundary: hides what must not leave, for the whole conversation.
        listen: told the words as they come.
        home: the data directory; None for no trace and no memory.
        case: the case's id, for its memory and its trace.
        brief: whether to stream the answer that fits a screen; the whole one is what is returned.
    """
    start, turn, outcome = time.monotonic(), None, "built-in"
    notices: list[str] = []
    if model and answer.diagnosis.state != "out-of-scope":
        turn, outcome = _ask(answer, question, model, boundary, listen, home, case)
    begun = turn.text if turn else ""
    if turn and outcome == "worded":
        rest = after_model(answer.diagnosis, answer.proposal, answer.lang, answer.passages)
        final = replace(answer, model=turn.model.name)
    else:
        rest, final = answer.text, answer
        if outcome != "built-in":
            notices.append(NO_MODEL[outcome].say(answer.lang))
    gap = "\n" * (2 - begun.endswith("\n")) if begun and rest else ""
    short = brief and not begun
    for piece in (answer.short if short else gap + rest).splitlines(keepends=True):
        listen(Token(piece, lines=short))
    final = replace(final, text=(begun + gap + rest).strip())
    if turn and turn.dropped and turn.text:
        rules = ", ".join(f"{rule} {n}" for rule, n in sorted(turn.dropped.items()))
        notices.append(NOTES["dropped"].say(answer.lang, n=sum(turn.dropped.values()), rules=rules))
    if attacks := _attacks(answer):
        notices.append(NOTES["attacks"].say(answer.lang, places=", ".join(attacks)))
    for notice in notices:
        listen(Notice(notice))
    final = replace(final, text="\n\n".join((final.text, *(f"*{n}*" for n in notices))))
    if home and case:
        _trace(home, case, final, question, turn, outcome, time.monotonic() - start, boundary)
    return final


def _ask(
    answer: Answer, question: str, model: Model, boundary: Boundary, listen: Listen, home: Path | None, case: str
) -> tuple[Any, str]:
    """(what the model's turn came to, `worded` or the reason why not)."""
    try:
        from . import llm
    except ImportError:
        return None, "not-installed"
    turn = llm.Turn(model)
    try:
        llm.word(turn, question, answer, home, case, boundary, listen)
    except llm.Unanswered as error:
        return turn, str(error)
    return turn, "worded"


def _attacks(answer: Answer) -> list[str]:
    """Places of this run's evidence whose text looks like an instruction, beside those that the answer names."""
    shown = Shown(answer)
    told_briefly(shown)
    said = answer.seen.orders if answer.seen else ()
    return [place for place in shown.attacks if place not in said][:5]


def _trace(
    home: Path, case: str, final: Answer, question: str, turn: Any, outcome: str, seconds: float, boundary: Boundary
) -> None:
    noted = asdict(turn) if turn else {"calls": 0, "kept": 0, "tools": [], "messages": [], "tokens": {}, "dropped": {}}
    trace.record(
        home,
        case,
        {
            "question": question,
            "state": final.diagnosis.state,
            "findings": [f.code for f in final.diagnosis.findings],
            "outcome": outcome,
            "seconds": round(seconds, 3),
            **{k: noted[k] for k in ("calls", "kept", "tools", "messages", "tokens", "dropped")},
            "model": final.model,
            "answer": final.text,
        },
        boundary,
    )

"""Who words a turn's answer: a served model within its guards, or the built-in narrator, and what is said about it.

The built-in answer is there before the model is asked; it stands whenever the model gives nothing usable.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...tools.boundary import Boundary
from .. import narrate
from ..events import Listen, Notice, Token
from ..session import Answer
from . import trace
from .server import Model
from .shown import Shown, brief


def worded(
    answer: Answer, question: str, model: Model | None, boundary: Boundary, listen: Listen, home: Path | None, case: str
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
    """
    start, turn, outcome = time.monotonic(), None, "built-in"
    notices: list[str] = []
    if model and answer.diagnosis.state != "out-of-scope":
        turn, outcome = _ask(answer, question, model, boundary, listen, home, case)
    begun = turn.text if turn else ""
    if turn and outcome == "worded":
        rest = narrate.after_model(answer.diagnosis, answer.proposal, answer.lang, answer.passages)
        final = replace(answer, model=turn.model.name)
    else:
        rest, final = answer.text, answer
        if outcome != "built-in":
            notices.append(narrate.say(outcome, answer.lang, narrate.NO_MODEL))
    gap = "\n" * (2 - begun.endswith("\n")) if begun and rest else ""
    for piece in (gap + rest).splitlines(keepends=True):
        listen(Token(piece))
    final = replace(final, text=(begun + gap + rest).strip())
    if turn and turn.dropped and turn.text:
        rules = ", ".join(f"{rule} {n}" for rule, n in sorted(turn.dropped.items()))
        notices.append(narrate.say("dropped", answer.lang, narrate.NOTES, n=sum(turn.dropped.values()), rules=rules))
    if attacks := _attacks(answer):
        notices.append(narrate.say("attacks", answer.lang, narrate.NOTES, places=", ".join(attacks)))
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
    """Places of this run's evidence whose text looks like an instruction."""
    shown = Shown(answer)
    brief(shown)
    return shown.attacks[:5]


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

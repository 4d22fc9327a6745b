"""How well does a served model use its place? `triage eval model` plays recorded turns against any such server.

Told are: whether the right cause and the deciding evidence are named, what is said about an open run, marks for each
statement, tool calls, tokens, seconds, and turns in which triage's own answer stood alone. Whether its sentences are
true is not judged here: read the report.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..agent.conversation import Conversation
from ..agent.wording import trace
from .model_runs import RUNS, Played

KINDS = ("first en", "first zh", "follow-up en", "follow-up zh", "leading en")


@dataclass(frozen=True)
class Outcome:
    """What came of one turn."""

    run: str
    kind: str
    outcome: str
    """`worded`, or why triage's own answer stood alone."""
    cause: bool | None = None
    """Whether the right cause was named, or none where none is right."""
    decisive: bool = False
    """Whether a row was cited that decides it."""
    says: bool | None = None
    """Whether the statements name what was to be found; None where the cause alone tells."""
    unknown: bool = False
    """Whether it says that something is not known."""
    statements: int = 0
    marked: int = 0
    tools: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    text: str = ""


def play(listen: Callable[[Outcome], object], runs: Sequence[Played] = RUNS) -> list[Outcome]:
    """Every turn of the runs, with the server that the environment names.

    Raises:
        TriageError: the environment names a malformed server.
    """
    out: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="triage-model-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        for run in runs:
            for one in _turns(run, home, run.write(Path(folder) / "runs")):
                out.append(one)
                listen(one)
    return out


def _turns(run: Played, home: Path, path: Path) -> Iterator[Outcome]:
    """Two conversations, a question and a follow-up in each language, and one question with a wrong idea."""
    first_en, first_zh, then_en, then_zh, leading = run.asked
    talks = (((0, first_en), (2, then_en)), ((1, first_zh), (3, then_zh)), ((4, leading),))
    for asked in talks:
        talk = Conversation(home)
        for turn, (kind, question) in enumerate(asked):
            start = time.monotonic()
            talk.ask(question, [] if turn else [path])
            told = trace.read(home, talk.case)[-1]
            yield _judged(run, KINDS[kind], told, time.monotonic() - start)


def _judged(run: Played, kind: str, told: dict[str, Any], seconds: float) -> Outcome:
    reply, cited = told.get("reply"), told.get("cited") or {}
    if told["outcome"] != "worded" or not reply:
        return Outcome(run.name, kind, told["outcome"], seconds=round(seconds, 1))
    cause = cited.get(reply["cause"] or "", "")
    text = "\n".join(one["text"] for one in reply["say"])
    return Outcome(
        run.name,
        kind,
        told["outcome"],
        cause=bool(re.match(rf"\[C\d+\] {re.escape(run.cause)}\b", cause)) if run.cause else reply["cause"] is None,
        decisive=any(re.search(run.decisive, row) for row in cited.values()),
        says=bool(re.search(run.says, text)) if run.says else None,
        unknown=any(one["kind"] == "unknown" for one in reply["say"]),
        **told["said"],
        tools=len(told["tools"]),
        tokens=told["tokens"],
        seconds=round(seconds, 1),
        text=text,
    )


def line(o: Outcome) -> str:
    """One turn as people read it."""
    found = f"cause {o.cause} decisive {o.decisive} found {o.says} marks {o.marked}/{o.statements} tools {o.tools}"
    return f"{o.run:14} {o.kind:13} {o.outcome:10} {found} {o.seconds} s"


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all turns."""
    worded = [o for o in outcomes if o.outcome == "worded"]
    said = [o for o in worded if o.says is not None]
    statements = sum(o.statements for o in worded)
    seconds = sorted(o.seconds for o in outcomes)
    return {
        "turns": len(outcomes),
        "worded": len(worded),
        "alone": {why: sum(o.outcome == why for o in outcomes) for why in {o.outcome for o in outcomes} - {"worded"}},
        "right_cause": sum(bool(o.cause) for o in worded),
        "decisive_cited": sum(o.decisive for o in worded),
        "found_said": [sum(bool(o.says) for o in said), len(said)],
        "said_unknown": sum(o.unknown for o in worded),
        "statements": statements,
        "marks_per_statement": round(sum(o.marked for o in worded) / max(1, statements), 3),
        "tool_calls": sum(o.tools for o in worded),
        "tokens": {
            k: sum(o.tokens.get(k, 0) for o in worded) for k in ("input_tokens", "output_tokens", "cached_tokens")
        },
        "seconds_median": seconds[len(seconds) // 2] if seconds else 0.0,
        "seconds_most": seconds[-1] if seconds else 0.0,
    }


def as_json(outcomes: Sequence[Outcome]) -> str:
    told = {"schema": "triage.model-eval/1", "summary": summary(outcomes), "turns": list(map(asdict, outcomes))}
    return json.dumps(told, ensure_ascii=False, indent=1)

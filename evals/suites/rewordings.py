"""Do words decide anything? `python -m triage.evals.suites.rewordings RUN... [--wrong]`.

Each run is read once and asked every question of `data/rewordings.json`: neutral, leading towards a wrong cause,
denying the right one (`{right}`, `{right_zh}`), planning an action, thanks, another field, pasted chat. State, leader
and proposed change must be those of the first question; and where something is suspected or planned, the first lines
must speak to it, in the language of the question.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...agent.answer import Answer
from ...agent.evidence import Look, look
from ...agent.propose import Proposal
from ...agent.question.topics import TOPICS, Topic, of_entry
from ...agent.session import ask
from ...tools.findings import TriageError
from .questions import SAME

FILE = Path(__file__).parent.parent / "data" / "rewordings.json"
FIRST = 8
"""Lines of the short answer that must have spoken to the person's own idea."""
IDEAS = ("leading", "denying", "planning")


@dataclass(frozen=True)
class Outcome:
    """What must not depend on the words: the state, the first cause that a finding supports, the change proposed."""

    state: str
    leader: str
    variable: str
    value: str
    """New value of a setting; advice has none, it is worded in the language of the question."""


@dataclass(frozen=True)
class Rewording:
    """One question about one run."""

    id: str
    kind: str
    text: str
    outcome: Outcome
    same: bool
    """Whether it came out as the first question did."""
    spoken_to: bool | None
    """Whether the first lines speak to the person's idea; None where there is none."""


def reword(run: Path, seen: Look | None = None) -> Iterator[Rewording]:
    """Every question of the file about one run.

    Raises:
        TriageError: the run cannot be read.
    """
    seen = seen or look([run])
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    first = ask(rows[0]["text"], [run], seen=seen)
    expected, right = outcome(first), _right(first)
    for row in rows:
        text = row["text"].replace("{right}", right.name.en).replace("{right_zh}", right.name.zh)
        answer = ask(text, [run], seen=seen)
        spoken = _speaks(answer, row, right) if row["kind"] in IDEAS else None
        yield Rewording(row["id"], row["kind"], text, now := outcome(answer), now == expected, spoken)


def outcome(answer: Answer) -> Outcome:
    leader = next((h.entry.id for h in answer.diagnosis.hypotheses if h.for_), "")
    p = answer.proposal
    changed = (p.variable, p.new if p.file else "") if isinstance(p, Proposal) else ("", "")
    return Outcome(answer.diagnosis.state, leader, *changed)


def _right(answer: Answer) -> Topic:
    """What the run's own leader is about; the data, where nothing leads."""
    top = answer.diagnosis.top
    return next(iter(of_entry(top.entry)), TOPICS["data"]) if top and top.for_ else TOPICS["data"]


def _speaks(answer: Answer, row: dict[str, str | dict[str, str]], right: Topic) -> bool:
    """Whether the first lines name what was suspected, ruled out or planned; a name may be broken over two lines."""
    said = " ".join(line.strip() for line in answer.short.splitlines()[:FIRST])
    if answer.lang != row["lang"]:
        return False
    if isinstance(plan := row.get("plan"), dict):
        acted = (p.variable for p in (answer.asked.plans if answer.asked else ()))
        wanted = SAME.get(plan["variable"], plan["variable"])
        return any(f"`{v}`" in said for v in acted if SAME.get(v, v) == wanted)
    cause = row.get("cause")
    topic = TOPICS[cause] if isinstance(cause, str) else right
    return _squeezed(topic.name.say(answer.lang)) in _squeezed(said)


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", text).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--wrong", action="store_true", help="print the questions that moved or were not spoken to")
    options = parser.parse_args()
    total = Counter[str]()
    for run in options.run:
        try:
            asked = list(reword(run))
        except TriageError as error:
            print(f"not read: {run}: {error}")
            continue
        total += Counter(runs=1) + counted(asked)
        for r in asked if options.wrong else ():
            if not r.same:
                print(f"moved: {run} {r.id} {r.text!r}: {asked[0].outcome} -> {r.outcome}")
            if r.spoken_to is False:
                print(f"not spoken to: {run} {r.id} {r.text!r}")
    print(
        f"{total['runs']} runs, {total['answers']} answers: {total['moved']} moved, {total['healthy moved']} of them"
        f" from healthy; spoken to {total['spoken to']} of {total['ideas']}"
    )


def counted(asked: Iterable[Rewording]) -> Counter[str]:
    """How many of one run's questions moved, and how many ideas were spoken to."""
    asked = list(asked)
    healthy = asked[0].outcome.state == "healthy"
    moved = [r for r in asked if not r.same]
    ideas = [r for r in asked if r.spoken_to is not None]
    return Counter(
        {
            "answers": len(asked),
            "moved": len(moved),
            "healthy moved": sum(healthy and r.outcome.state != "healthy" for r in moved),
            "ideas": len(ideas),
            "spoken to": sum(r.spoken_to is True for r in ideas),
        }
    )


if __name__ == "__main__":
    main()

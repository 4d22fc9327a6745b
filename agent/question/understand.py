"""A message as typed: what was seen, what is suspected, what is planned, what is wanted.

Built-in: tables and the order of words, no model. Words describe; they decide nothing (`agent.respond` answers them).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from .parts import sentences, split
from .plans import Plan, last_named, plans, topic_of
from .polarity import Suspicion, suspicions
from .symptoms import Symptom, symptoms
from .wants import Want, wanted

SUSPECT_NOTHING = ("thanks", "bye", "explain", "how_in", "lines", "short", "compare", "resume", "is_fixed")
"""What is asked for in these is no opinion about the run."""


@dataclass(frozen=True)
class Question:
    """One message of a person."""

    text: str
    own: str
    """Their own sentences."""
    pasted: str
    """Lines of a log, a table or a configuration."""
    described: str
    """Their sentences that neither suspect nor plan anything: what was seen."""
    symptoms: tuple[Symptom, ...]
    suspicions: tuple[Suspicion, ...]
    plans: tuple[Plan, ...]
    wants: Want
    orders: tuple[int, ...]
    """One-based numbers of the lines of the message that speak to an assistant; they are in no other part."""
    finding: str
    """The finding that is asked about (`F3`), empty for none."""


def understand(text: str, corrected: Callable[[str], str] = str) -> Question:
    """Read one message, in English, Chinese, or both.

    Args:
        corrected: puts slips of typing right (`knowledge.search.Index.corrected`).
    """
    own, pasted, orders = split(text)
    said = corrected(own).replace("’", "'")
    wants = wanted(said)
    planned: dict[str, Plan] = {}
    suspected: dict[str, Suspicion] = {}
    spoken_of, described = "", list[str]()
    for sentence in sentences(said) if wants not in SUSPECT_NOTHING else ():
        acts = list(plans(sentence, spoken_of))
        spoken_of = last_named(sentence) or spoken_of
        said_of = list(suspicions(sentence, tuple(_acted_on(acts))))
        planned |= {p.variable: p for p in acts}
        suspected |= {s.topic.id: _beside(s, suspected.get(s.topic.id)) for s in said_of}
        described += [] if acts or said_of else [sentence]
    found = re.search(r"\b[fF](\d{1,2})\b", own)
    return Question(
        text,
        own,
        pasted,
        "\n".join(described),
        tuple(symptoms(said)),
        tuple(suspected.values()),
        tuple(planned.values()),
        wants,
        orders,
        f"F{found[1]}" if found else "",
    )


def _beside(said: Suspicion, before: Suspicion | None) -> Suspicion:
    """What is said of a cause, where something was said of it before: the last word counts, a contradiction is kept."""
    if before is None or {before.polarity, said.polarity} != {"suspects", "denies"}:
        return said
    if any(s.told_by or re.search(r"[?？]|[吗呢吧]\W*$", s.text) for s in (before, said)):
        return said
    return replace(said, polarity="suspects", both=True)


def _acted_on(acts: list[Plan]) -> list[str]:
    return [topic for plan in acts for topic in (topic_of(plan.variable), plan.variable) if topic]

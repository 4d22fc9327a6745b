"""A message as typed: what was seen, what is suspected, what is planned, what is wanted.

Built-in: tables and the order of words, no model. Words describe; they decide nothing (`agent.respond` answers them).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .parts import sentences, split
from .plans import Plan, last_named, plans, topic_of
from .polarity import Suspicion, suspicions
from .symptoms import Symptom, symptoms
from .wants import Want, wanted

SUSPECT_NOTHING = ("thanks", "bye", "explain", "how_in", "lines", "short")
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
    message, acts, spoken_of = list[str](), list[Plan](), ""
    for sentence in sentences(said):
        if wants not in SUSPECT_NOTHING or wanted(sentence) not in SUSPECT_NOTHING:
            message.append(sentence)
            acts += plans(sentence, spoken_of)
        spoken_of = last_named(sentence) or spoken_of
    suspected = suspicions(message, [(topic, p.text) for p in acts for topic in (topic_of(p.variable), p.variable)])
    if wants in ("why", "ok_to"):
        wants = "ok_to" if acts else "why" if suspected else wants
    spoken = [*(p.text for p in acts), *(s.text for s in suspected)]
    found = re.search(r"\b[fF](\d{1,2})\b", own)
    return Question(
        text,
        own,
        pasted,
        "\n".join(s for s in message if not any(part in s for part in spoken)),
        tuple(symptoms(said)),
        tuple(suspected),
        tuple({p.variable: p for p in acts}.values()),
        wants,
        orders,
        f"F{found[1]}" if found else "",
    )

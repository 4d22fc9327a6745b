"""Causes that no table of topics names: which clauses say what is thought of a cause, and which entries they mean.

Every entry of the runbook can be meant ("i think the loader cant keep up"): the nearest ones by words and by the
encoder are the topic. That a clause suspects anything at all is told by `clause`; one that is near to no entry is no
suspicion, and what is said by the name of a topic (`polarity`) is not said again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import log

from ...knowledge.search import Hit
from ...tools.patterns import bounded
from .clause import MOST, meant
from .cues import NAMED_SPEAKER, OWN, TOLD
from .parts import clauses
from .phrases import plain
from .polarity import Search, Suspicion
from .topics import Topic, mentions, of_hits

NEAR = (0.1, 0.4, 0.8)
"""How near an entry is that can be meant: by the clause, by it and its neighbours, or by the message."""
BESIDE = 0.3
"""Share of the nearest entry's score from which on another one can be meant as well."""
TOGETHER = 3
"""Entries that one clause can mean."""
FLOOR = 1e-4
WEIGHTS = (1.0, 0.5, 0.2)
"""What the clause, the clause with its neighbours, and the message weigh in the search."""
_SAYING = bounded(
    r"\b(?:i(?:'[md]|'ve)?|we|me|my|our|thinks?|thought|believes?|guess|bet|pretty|sure|suspects?|reckon|suppose|imo"
    r"|tbh|honestly|maybe|perhaps|probably|likely|definitely|surely|obviously|simply|just|really|again|still|classic"
    r"|textbook|theory|hunch|is it possible|possible|could|would|might|may|must|be|also|that(?:'s)?|it(?:'s)?|not"
    r"|isn't|doubt|don't|doesn't|buy|blames?|culprit|fault|sa(?:ys?|id)|claims|swears|colleague|manager|boss"
    r"|someone|somebody|who|told|heard|apparently|supposedly|the|a|so|well|either|convinced|feels|like|looks"
    r"|smells?|right|no|yes|agreed|ok)\b|我们?|觉得|感觉|怀疑|认为|认定|估计|应该|八成|多半|可能|大概|恐怕|怕是|肯定|是不是"
    r"|会不会|有人|同事|老板|领导|组长|群里|听说|据说|说|讲|的锅|的问题|[吧吗呢啊了]|就?是",
    re.IGNORECASE,
)
"""Words with which an opinion is said and not what it is of."""


def opinions(
    message: Sequence[str], acted: Sequence[tuple[str, str]], found: Sequence[Suspicion], search: Search
) -> Iterator[Suspicion]:
    """The suspicions that `found`, by the names of topics, leaves out.

    Args:
        acted: topics that are planned to be acted on, each with the clause that plans it.
    """
    said = [(sentence, clause) for sentence in message for clause in clauses(sentence)][:MOST]
    parts, planned, taken = [c for _, c in said], {text for _, text in acted}, set[str]()
    for at, (sentence, clause) in enumerate(said):
        sign = meant(parts, at, planned)
        named = {topic.id for topic, _, _ in mentions(clause)}
        if sign is None or any(s.topic.id in named for s in found):
            continue
        topic = of_hits(_nearest(parts, at, search)) or _named(clause, planned)
        if topic is None or taken & set(topic.entries.split("|")):
            continue
        taken |= set(topic.entries.split("|"))
        told = TOLD.search(plain(clause)) or NAMED_SPEAKER.search(clause) is not None
        yield Suspicion(topic, sign, told and not OWN.search(plain(clause)), sentence)


def _named(clause: str, planned: AbstractSet[str]) -> Topic | None:
    """The one topic that a clause names which plans nothing."""
    topics = {topic.id: topic for topic, _, _ in mentions(clause)}
    return next(iter(topics.values())) if len(topics) == 1 and clause not in planned else None


def _nearest(parts: Sequence[str], at: int, search: Search) -> list[Hit]:
    """The entries that a clause can mean, best first."""
    clause = " ".join(_SAYING.sub(" ", parts[at]).split()) or parts[at]
    asked = (clause, " ".join(parts[max(0, at - 1) : at + 2]), " ".join(parts))
    found = [{h.entry.id: h for h in search(text, 1000)} for text in asked]
    hits = {id: h for by_id in found for id, h in by_id.items() if h.entry.kind != "guide"}
    scores = {id: sum(w * log(_score(f, id) + FLOOR) for w, f in zip(WEIGHTS, found, strict=True)) for id in hits}
    best = sorted(scores, key=lambda id: -scores[id])[:TOGETHER]
    if not best or all(_score(f, best[0]) < least for f, least in zip(found, NEAR, strict=True)):
        return []
    return [hits[id] for id in best if scores[id] >= scores[best[0]] + log(BESIDE)]


def _score(found: Mapping[str, Hit], id: str) -> float:
    return found[id].score if id in found else 0.0

"""Which clauses say what is thought of a cause, and which entries they mean.

Every entry of the runbook can be meant ("i think the loader cant keep up"): those that `blamed` finds nearest are the
topic, or the topic that a clause names and that is about them (`polarity`). That a clause suspects anything at all, and
how, is told by `clause`; one that is near to no entry is no suspicion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...knowledge.search import Hit
from ...tools.patterns import bounded
from . import blamed
from .clause import MOST, leaning
from .cues import BACK, NAMED_SPEAKER, OWN, TOLD, Polarity
from .parts import clauses
from .phrases import plain
from .polarity import NEAR, Search, Suspicion
from .topics import Topic, mentions, of_hits
from .weigh import table

FAR, LENGTH, SCALE = 14.0, 80, 10.0
"""Nearness from which on more of it says less, characters from which on a clause is long, and a scale of products."""
LEAST, NAMED = 0.2, -0.5
"""Score from which on a clause says an opinion, above even odds, since one too many is worse than one missed; and where
it names a topic of which the words around it say something, too."""
COVER = 4.0
"""How far below the best score an entry can be that makes a topic's name stand for what is meant."""
HOPELESS = -4.2
"""What a clause's words say from which on no nearness makes it an opinion."""
BRIEF = 45
"""Characters of a clause that says no more than what is thought of the one before it."""
_HAN = bounded(r"[\u3400-\u9fff]")
_WORD = re.compile(r"\w")
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

_NO_BETTER = bounded(
    r"(?:\b(?:not|no|never)|n't) (?:any |much |really |even |actually |at all |a bit |getting )?"
    r"(?:better|worse|higher|lower|longer|shorter|faster|slower|smaller|larger|improv\w+|going (?:up|down)|moving"
    r"|rising|falling|dropping|decreas\w+|increas\w+|budg\w+)\b(?! (?:cause|reason|explanation))",
    re.IGNORECASE,
)
"""What does not get better is a symptom, and nothing that is ruled out."""


def opinions(
    message: Sequence[str], acted: Sequence[tuple[str, str]], found: Sequence[Suspicion], search: Search
) -> list[Suspicion]:
    """All suspicions, clause by clause: by the name of a topic `found` in it where that covers what the clause is near
    to, else by the entries themselves.

    Args:
        acted: topics that are planned to be acted on, each with the clause that plans it.
    """
    said = [(sentence, clause) for sentence in message for clause in clauses(sentence)][:MOST]
    parts, planned, search = [c for _, c in said], {text for _, text in acted}, lru_cache(3 * MOST)(search)
    named, every, taken, last = {s.topic.id: s for s in found}, list[Suspicion](), set[str](), -NEAR
    spoken: list[Suspicion] = []
    for at, (sentence, clause) in enumerate(said):
        topics = dict.fromkeys(topic.id for topic, _, _ in mentions(clause))
        back = _spoken_back(clause) if not topics and at - last <= NEAR and spoken else None
        if back:
            every = [replace(s, polarity=back) if s in spoken and s.polarity == "suspects" else s for s in every]
            continue
        sign, told, margin = leaning(parts, at, planned)
        if sign in ("denies", "doubts") and _NO_BETTER.search(clause):
            continue
        here = [named[id] for id in topics if id in named]
        if margin < HOPELESS or not (here or _content(clause)):
            continue
        ranking, hits = _ranking(parts, at, search)
        if signs(margin, ranking, parts, at, planned) @ table("held") <= (NAMED if here else LEAST):
            continue
        new = [replace(s, polarity=sign, told_by=told or s.told_by) for s in _covering(here, ranking.scores, hits)]
        if not new:
            topic = of_hits([hits[id] for id in blamed.meant(ranking.scores) if id in hits]) or _named(clause, planned)
            if topic is None or taken & set(topic.entries.split("|")) or _said(topic, sign, every, hits):
                continue
            others = (TOLD.search(plain(clause)) or NAMED_SPEAKER.search(clause)) and not OWN.search(plain(clause))
            new = [Suspicion(topic, sign, told or bool(others), sentence)]
        new = [s for s in new if all(s.topic != other.topic for other in every)]
        if not new:
            continue
        taken |= {id for s in new for id in s.topic.entries.split("|")}
        last, spoken = at, new
        every += new
    return every or [s for s in found if not (s.guessed or (s.polarity != "suspects" and _NO_BETTER.search(s.text)))]


def _covering(named: Sequence[Suspicion], scores: Mapping[str, float], hits: Mapping[str, Hit]) -> list[Suspicion]:
    """Those by the name of a topic that is about an entry hardly less near than the nearest."""
    best = next(iter(scores.values()))
    about = ((s, max((scores.get(id, 0.0) for id in _about(s.topic, hits)), default=0.0)) for s in named)
    return [s for s, near in about if near >= best - COVER]


def _about(topic: Topic, hits: Mapping[str, Hit]) -> frozenset[str]:
    """The entries that a topic is about."""
    return frozenset(id for id, hit in hits.items() if topic.about(hit.entry))


def signs(
    margin: float, ranking: blamed.Ranking, parts: Sequence[str], at: int, planned: AbstractSet[str]
) -> NDArray[np.float64]:
    """What tells whether a clause says an opinion: its words, how near it is to what people blame, and its shape."""
    first, *others = ranking.nearness
    length, chinese = min(len(parts[at]), LENGTH) / LENGTH, _HAN.search(parts[at]) is not None
    both = margin * min(first, FAR) / SCALE
    asks = parts[at].endswith(("?", "？", "吗", "呢"))
    shape = (1.0, length, len(parts) == 1, chinese, asks, parts[at] in planned)
    return np.array([margin, both, first, max(0.0, first - FAR), *others, *shape])


def _said(topic: Topic, sign: Polarity, every: Sequence[Suspicion], hits: Mapping[str, Hit]) -> bool:
    """Whether the same is said of a cause by a name that is about the first entry of this one."""
    entry = hits[topic.id].entry if topic.id in hits else None
    return entry is not None and any(s.polarity == sign and s.topic.about(entry) for s in every)


def _spoken_back(clause: str) -> Polarity | None:
    """What a short clause denies or doubts of the cause before it: "I don't buy it"."""
    if len(clause) > BRIEF or clause.endswith(("?", "？")):
        return None
    back: Polarity | None = next((polarity for polarity, pattern in BACK if pattern.search(plain(clause))), None)
    return None if back == "suspects" else back


def _named(clause: str, planned: AbstractSet[str]) -> Topic | None:
    """The one topic that a clause names which plans nothing."""
    topics = {topic.id: topic for topic, _, _ in mentions(clause)}
    return next(iter(topics.values())) if len(topics) == 1 and clause not in planned else None


def texts(parts: Sequence[str], at: int) -> tuple[str, str, str]:
    """What a clause says without the words that only say it, the clause with its neighbours, and the message."""
    return _content(parts[at]) or parts[at], " ".join(parts[max(0, at - 1) : at + 2]), " ".join(parts)


def _content(clause: str) -> str:
    """A clause without the words that only say an opinion."""
    said = " ".join(_SAYING.sub(" ", clause).split())
    return said if _WORD.search(said) else ""


def _ranking(parts: Sequence[str], at: int, search: Search) -> tuple[blamed.Ranking, dict[str, Hit]]:
    """How near a clause is to every entry, and the entries."""
    hits = {hit.entry.id: hit for hit in search(" ".join(parts), blamed.EVERY)}
    return blamed.ranked(*texts(parts, at), search), hits

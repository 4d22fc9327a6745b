"""Causes that no table of topics names: which clauses say what is thought of a cause, and which entries they mean.

Every entry of the runbook can be meant ("i think the loader cant keep up"): those that `blamed` finds nearest are the
topic. That a clause suspects anything at all is told by `clause`; one that is near to no entry is no
suspicion, and what is said by the name of a topic (`polarity`) is not said again.
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
LEAST = 0.2
"""Score from which on a clause says an opinion: above even odds, since one too many is worse than one missed."""
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


def opinions(
    message: Sequence[str], acted: Sequence[tuple[str, str]], found: Sequence[Suspicion], search: Search
) -> list[Suspicion]:
    """All suspicions: those `found` by the names of topics, but where a clause clearly means something else, and the
    others.

    Args:
        acted: topics that are planned to be acted on, each with the clause that plans it.
    """
    said = [(sentence, clause) for sentence in message for clause in clauses(sentence)][:MOST]
    parts, planned, search = [c for _, c in said], {text for _, text in acted}, lru_cache(3 * MOST)(search)
    every, last, taken = list(found), -NEAR, set[str]()
    spoken: list[Suspicion] = []
    for at, (sentence, clause) in enumerate(said):
        named = {topic.id for topic, _, _ in mentions(clause)}
        here = [s for s in every if s.topic.id in named]
        back = _spoken_back(clause) if not named and at - last <= NEAR and spoken else None
        if back:
            turned = [replace(s, polarity=back) for s in spoken if s.polarity == "suspects"]
            every = [next((t for t in turned if t.topic == s.topic), s) for s in every]
            continue
        sign, told, margin = leaning(parts, at, planned)
        if not here and (margin < HOPELESS or not _content(clause)):
            continue
        ranking, hits = _ranking(parts, at, search)
        scores = ranking.scores
        other = [s for s in here if blamed.instead(scores, _about(s.topic, hits), not s.guessed)]
        if here and len(other) < len(here):
            last, spoken = at, here
            continue
        if not other and not held(signs(margin, ranking, parts, at, planned)):
            continue
        every = [s for s in every if s not in other]
        sign = other[0].polarity if other else sign
        topic = of_hits([hits[id] for id in blamed.meant(scores) if id in hits]) or _named(clause, planned)
        if topic is None or taken & set(topic.entries.split("|")) or _said(topic, sign, every, hits):
            continue
        taken |= set(topic.entries.split("|"))
        others = (TOLD.search(plain(clause)) or NAMED_SPEAKER.search(clause)) and not OWN.search(plain(clause))
        last, spoken = at, [Suspicion(topic, sign, told or bool(others), sentence)]
        every += spoken
    return every


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


def held(signs: NDArray[np.float64]) -> bool:
    """Whether they tell of an opinion, by the weights of `evals.train_clauses`."""
    return bool(signs @ table("held") > LEAST)


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

"""How a mentioned cause is meant: suspected, denied, doubted, or only mentioned; and whether somebody else said it.

One clause at a time: the cause stands as `X` in it, and the phrases of `cues` say what is said of `X`. A clause that is
hardly more than a name takes the sign of its neighbour ("not the data, the rate or the seed"); one without any name
speaks of the cause named before it ("I doubt it"). What is told as a symptom or planned is not suspected thereby.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...knowledge.search import Hit
from ...tools.patterns import bounded
from . import weigh
from .clause import MOST, weighed
from .cues import BACK, CUES, NAMED_SPEAKER, OWN, SURE, TOLD, WORDS, Polarity
from .named import named
from .parts import clauses
from .phrases import OTHER, Phrases, X, plain
from .symptoms import spans
from .topics import Topic, mentions
from .wants import wanted

Search = Callable[[str, int], list[Hit]]
"""Finds the entries nearest to a text (`Index.search`)."""
SETTLED: tuple[tuple[Polarity, Phrases], ...] = (
    (
        "suspects",
        Phrases(
            """
            can/could/may/should we/you/i/one rule/exclude/eliminate out? - X
            is/was it fair/right/reasonable/safe to blame/suspect - X
            everything/all/anything but/except - X ~ checked/tested/ruled/excluded/verified/fine/clean
            if ~ not/isn't/wasn't - X ~ lost/clueless/idea/stuck/else
            要不是/要么/不是 是? - X - 就是/要么/那就是
            就是 - X - 要不是/要么
            能/可以/能否/能不能 排除 掉? - X ~ ?/吗/么/？
            除了 - X - 都 ~ 查/排除/试/换
            """,
            WORDS,
        ),
    ),
    (
        "doubts",
        Phrases(
            """
            我? 不 信 会? 是? - X
            surely - X ~ isn't/wasn't/not/can't/doesn't ~ ?/？
            """,
            WORDS,
        ),
    ),
)
"""What is so plain that the words around it have no say."""
CAREFUL: tuple[Polarity, ...] = ("doubts", "denies", "suspects")
"""Of two things that are said of one cause the earlier one wins."""
NEAR = 3
"""Clauses after which nothing is said back of a cause any more."""
NAMED = 4
"""Clauses of which it is asked what they say of one cause."""
NOTHING = np.zeros(len(weigh.MEANT), np.int64)
SHORT = 60
"""Characters of a question that asks for nothing but what it names."""
FAR = 60
"""Characters before a name in which stands what was done to it."""
_ASKS = bounded(r"[?？]|[吗呢么]\W{0,3}$")
_ASKED = bounded(rf"(?:^|[,，.。;；:：\n]) ?(?:or |maybe |perhaps |probably |是|会不会是)?(?:the |a )?{X} ?[?？吗]")
_BEHIND = bounded(
    rf"{X}\W{{0,3}}(?:\w{{1,12}} ){{0,2}}(?:isn'?t|wasn'?t|aren'?t|can'?t|cannot|won'?t|doesn'?t|didn'?t|not)\b"
    rf"|{X}.{{0,3}}(?:不|没|无法)",
    re.IGNORECASE,
)
"""What is denied right behind a name."""
_OPEN = bounded(r"[?？]|是不是|会不会|不是说|[吗么吧]|\b(?:i|we) (?:think|guess|bet|suspect|believe)\b", re.IGNORECASE)
"""What leaves open whether a sentence denies."""
_SMALL = bounded(
    r"\b(?:the|teh|a|or|and|just|maybe|new|again|still|surely|definit\w*|obviously|hmm+|ok)\b|[\W_]|[和或吗呢么吧的]"
)
"""What makes a name no more than a name."""
_COMPOUND = bounded(r"[ -]?[a-z]{2}$|版本", re.IGNORECASE)
"""What follows the first word of a compound, whose last word says what it is."""
_MEANWHILE = bounded(r"\b(?:on|after|during|before|upon|at|since) (?:the |a |every |each )?$", re.IGNORECASE)
"""What stands before a name that only says when."""
_TRIED = bounded(
    r"\b(?:i|we)(?:'ve| have| had)? (?:already |just |even |also |only )?"
    r"(?!suspect|believ|guess|figur|assum|blam)(?:\w{2,12}ed|set|cut|put) (?:the |my |our )?$"
    r"|(?:早就?|已经?)(?:把|将|给)?$",
    re.IGNORECASE,
)
"""What stands before a name to which the person has done something."""


@dataclass(frozen=True)
class Suspicion:
    """A cause that the person names."""

    topic: Topic
    polarity: Polarity
    told_by: bool
    """Whether it is somebody else's opinion."""
    text: str
    """The sentence that says it."""
    both: bool = False
    """Whether another sentence says the contrary."""
    guessed: bool = False
    """Whether no phrase says it, only the words around it."""


@dataclass(frozen=True)
class _Named:
    """A cause in a clause, and what the clause says of it."""

    topic: Topic
    sentence: int
    clause: int
    polarity: Polarity | None
    told: bool = False
    bare: bool = False
    """Whether the clause is hardly more than the name."""
    when: bool = False
    """Whether the name only says when something happened."""
    seen: bool = False
    """Whether it is named in telling what was seen or done."""
    planned: bool = False
    """Whether it will be acted on."""


def suspicions(message: Sequence[str], acted: Sequence[tuple[str, str]] = ()) -> list[Suspicion]:
    """The causes that the sentences of a message name, and how they mean them.

    Args:
        acted: topics (or variables) that are planned to be acted on, each with the clause that plans it.
    """
    said = by_phrases(message, acted)
    out: list[Suspicion] = []
    for one in candidates(message, acted, said):
        sign, told = weigh.meant(one.features, one.clause)
        sign = one.settled or sign or ("suspects" if one.asked else None)
        out += [_as_weighed(one, said.get(one.topic.id), sign, told)] if sign else []
    return out


def by_phrases(message: Sequence[str], acted: Sequence[tuple[str, str]]) -> dict[str, Suspicion]:
    """What the phrases alone say, by topic."""
    found: list[_Named] = []
    at = 0
    for number, sentence in enumerate(message):
        here = list[_Named]()
        for clause in clauses(sentence):
            at += 1
            named = list(_of_clause(clause, number, at, acted))
            if not named:
                found, here = _spoken_back(found, clause, at), _spoken_back(here, clause, at)
            here += named
        found += _neighbours(here, sentence)
    return {s.topic.id: s for s in _one_each(found, message)}


@dataclass(frozen=True)
class Candidate:
    """A cause that a message names, and everything by which it is told how it is meant."""

    topic: Topic
    text: str
    """The sentence that names it first."""
    features: list[str]
    clause: NDArray[np.int64]
    """What the clauses say that name it (`clause.weighed`), the one that says most."""
    asked: bool
    """Whether it stands as a question of its own: "nan at step 4000, bad data?"."""
    settled: Polarity | None = None
    """What is plain (`SETTLED`), and `denies` where the phrases say so by what stands before the cause or after its
    clause: then they are right. What stands right behind it may say what is wrong with it: "the loader can't keep
    up"."""


def candidates(
    message: Sequence[str], acted: Sequence[tuple[str, str]], said: Mapping[str, Suspicion]
) -> Iterator[Candidate]:
    """Every cause that is named, once.

    Args:
        said: what the phrases say of the causes that they say something of.
    """
    text, places, at = "\n".join(message), list[tuple[Topic, int, int, str]](), 0
    parts = [c for sentence in message for c in clauses(sentence)][:MOST]
    where = dict[str, list[int]]()
    for sentence in message:
        for clause in clauses(sentence):
            at = text.index(clause, at)
            places += [(topic, at + start, at + end, sentence) for topic, start, end in _told_apart(clause)]
            at += len(clause)
    for number, part in enumerate(parts):
        for topic, _, _ in _told_apart(part):
            where.setdefault(topic.id, []).append(number)
    told = TOLD.search(plain(text)) or NAMED_SPEAKER.search(text) is not None
    shared = [
        f"told{told:d}{OWN.search(plain(text)):d}",
        f"acts{min(len({part for _, part in acted}), 2)}",
        f"wants{wanted(text)}",
    ]
    seen, planning = list(spans(text)), {part for _, part in acted}
    for topic, start, end, sentence in {p[0]: p for p in reversed(places)}.values():
        masked = _masked(text, topic, [p[:3] for p in places])
        before = text[max(0, start - FAR) : start]
        sign, planned = said[topic.id].polarity if topic.id in said else None, any(topic.id == a for a, _ in acted)
        here = (
            f"phrases{sign}",
            f"phrases{sign}{planned:d}",
            f"planned{planned:d}",
            f"seen{any(s <= start and end <= e for s, e in seen):d}{(start, end) in seen:d}{bool(seen):d}",
            f"tried{_TRIED.search(before) is not None:d}",
            f"when{_MEANWHILE.search(before) is not None:d}",
        )
        features = [*weigh.around(masked), *shared, *here, f"topic {topic.id}"]
        opinions = [n for n in where.get(topic.id, ()) if (topic.id, parts[n]) not in acted]
        said_of = [weighed(parts, n, planning) for n in opinions[:NAMED]]
        clause = max(said_of, key=lambda scores: int(scores[1:].max() - scores[0]), default=NOTHING)
        denied: Polarity | None = (
            "denies" if sign == "denies" and not (_BEHIND.search(masked) or _OPEN.search(sentence)) else None
        )
        alone = _masked(sentence, topic, _told_apart(sentence))
        plainly: Polarity | None = next((polarity for polarity, pattern in SETTLED if pattern.search(alone)), None)
        yield Candidate(topic, sentence, features, clause, _ASKED.search(masked) is not None, plainly or denied)


def _as_weighed(one: Candidate, said: Suspicion | None, sign: Polarity, told: bool) -> Suspicion:
    """What the phrases say, with the sign that the whole message gives."""
    if said:
        return replace(said, polarity=sign, told_by=told or said.told_by)
    clause = plain(one.text)
    others = (TOLD.search(clause) or NAMED_SPEAKER.search(one.text) is not None) and not OWN.search(clause)
    return Suspicion(one.topic, sign, told or others, one.text, guessed=not one.asked)


def _of_clause(clause: str, sentence: int, at: int, acted: Sequence[tuple[str, str]]) -> Iterator[_Named]:
    """The causes of one clause."""
    told_apart = _told_apart(clause)
    seen = [m for m in spans(clause)]
    names = "".join(clause[s:e].removeprefix("the ") for _, s, e in told_apart)
    bare = len(_SMALL.sub("", clause)) - len(names) <= 3
    acting = [(start, start - size) for start, size, name in named(clause) if (name, clause) in acted]
    for topic in dict.fromkeys(t for t, _, _ in told_apart):
        start, end = next((s, e) for t, s, e in told_apart if t == topic)
        masked = _masked(clause, topic, told_apart)
        sure = SURE.search(masked)
        planned = (topic.id, clause) in acted or (not sure and any(s <= start and end <= e for s, e in acting))
        inside = any(s <= start and end <= e for s, e in seen)
        sign = None if planned else _polarity(masked)
        told = TOLD.search(plain(clause)) or NAMED_SPEAKER.search(clause)
        inside = inside and not (sure and sign == "suspects")
        if inside and (sign == "suspects" or (start, end) not in seen):
            sign = None
        inside = inside or (sign == "suspects" and _TRIED.search(clause[:start]) is not None)
        sign = None if inside and sign == "suspects" else sign
        sign = "suspects" if sign is None and told and not (inside or planned) else sign
        others = bool(told) and not OWN.search(plain(clause))
        when = _MEANWHILE.search(clause[:start]) is not None
        yield _Named(topic, sentence, at, sign, others, bare, when, inside or planned, planned)


def blamed(clause: str) -> Iterator[tuple[int, int]]:
    """Where a clause names causes that it plainly blames or clears, though they are symptoms' words too."""
    told_apart = _told_apart(clause)
    for topic, start, end in told_apart:
        if SURE.search(_masked(clause, topic, told_apart)):
            yield start, end


def _told_apart(clause: str) -> list[tuple[Topic, int, int]]:
    """The mentions of a clause; of a compound its last ("eval version"), of "a bug in X" X."""
    found = mentions(clause)
    found = [f for f in found if f[0].id != "code-change" or len(found) == 1]
    out: list[tuple[Topic, int, int]] = []
    for topic, start, end in found:
        if out and _COMPOUND.match(clause[out[-1][2] : start + 2]):
            before = out.pop()
            start = before[1] if before[0] == topic else start
        out.append((topic, start, end))
    return out


def _masked(clause: str, topic: Topic, named: Sequence[tuple[Topic, int, int]]) -> str:
    """The clause with `X` for the topic and another mark for every other one."""
    parts, at = [], 0
    for other, start, end in named:
        parts += [clause[at:start], X if other == topic else OTHER]
        at = end
    return plain("".join((*parts, clause[at:]))).replace(f"{X}'s ", f"{X} is ")


def _polarity(masked: str) -> Polarity | None:
    return next((polarity for polarity, pattern in CUES if pattern.search(masked)), None)


def _spoken_back(found: list[_Named], clause: str, at: int) -> list[_Named]:
    """What was named right before a clause without names, as that clause means it."""
    said: Polarity | None = next((polarity for polarity, pattern in BACK if pattern.search(plain(clause))), None)
    last = max((n.clause for n in found), default=0)
    if said is None or at - last > NEAR:
        return found
    return [replace(n, polarity=_turned(n, said)) if n.clause == last else n for n in found]


def _turned(named: _Named, said: Polarity) -> Polarity | None:
    """What a cause is meant as once something is said back of it: a denial that was told and is doubted suspects."""
    if named.polarity == "denies" and named.told and said in ("doubts", "denies"):
        return "suspects"
    if named.seen and not (named.planned and said == "suspects"):
        return named.polarity
    bold = named.polarity == "suspects" and said != "suspects"
    return said if named.polarity is None or bold else named.polarity


def _neighbours(here: list[_Named], sentence: str) -> list[_Named]:
    """The causes of one sentence, the bare ones with the sign of those beside them."""
    if any(n.polarity and not n.when for n in here):
        here = [n for n in here if not n.when]
    told = len({n.topic.id for n in here}) == 1 and (TOLD.search(plain(sentence)) or NAMED_SPEAKER.search(sentence))
    out: list[_Named] = []
    for place, one in enumerate(here):
        if one.polarity is None and one.bare and not one.seen:
            beside = [*out[::-1], *here[place + 1 :]]
            sign = next((n.polarity for n in beside if n.polarity), None)
            one = replace(one, polarity=sign or ("suspects" if _ASKS.search(sentence) else None))
        out.append(replace(one, told=True) if told and not OWN.search(plain(sentence)) else one)
    return out


_QUESTION = re.compile(r"[?？]|[吗呢吧]\W*$")


def _one_each(found: list[_Named], message: Sequence[str]) -> Iterator[Suspicion]:
    """One suspicion a topic: what is said over what is asked, the own over what was told, the careful over the bold."""
    said = [n for n in found if n.polarity] or [
        replace(n, polarity="suspects") for n in found if not n.seen and _alone(n, found, message[n.sentence])
    ]
    for topic in dict.fromkeys(n.topic for n in said):
        best = min(
            (n for n in said if n.topic == topic),
            key=lambda n: (n.told, CAREFUL.index(n.polarity) if n.polarity else len(CAREFUL)),
        )
        own = {
            n.polarity for n in said if n.topic == topic and not n.told and not _QUESTION.search(message[n.sentence])
        }
        if {"suspects", "denies"} <= own:
            yield Suspicion(topic, "suspects", False, message[best.sentence], both=True)
        elif best.polarity:
            yield Suspicion(topic, best.polarity, best.told, message[best.sentence])


def _alone(named: _Named, found: Sequence[_Named], sentence: str) -> bool:
    """Whether a name without any sign is what its message is about."""
    beside = {n.topic.id for n in found if n.sentence == named.sentence}
    return len(beside) == 1 and _ASKS.search(sentence) is not None and len(sentence) < SHORT

"""A message as typed: what was seen, what is suspected, what is planned, what is wanted.

Built-in: tables and the order of words, no model. Words describe; they decide nothing (`agent.respond` answers them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from ...knowledge.spelling import PLAIN
from ...tools.patterns import bounded
from ...tools.settings import VARIABLES as CANONICAL
from . import acted, amounts, opinion
from .actions import ACTS
from .complaints import Complaint, complaints
from .cues import NAMED_SPEAKER, SPOKEN, SPOKEN_STEMS, TOLD
from .parts import clauses, sentences, split
from .phrases import plain
from .plans import Plan, last_named, plans, topic_of
from .polarity import Search, Suspicion, blamed, suspicions
from .signs import INTENT, VAGUE
from .symptoms import Symptom, symptoms
from .topics import TOPICS
from .wants import Want, open_question, wanted

_WORD = re.compile(r"[A-Za-z]{3,}")
_FINDING = re.compile(r"(?<![A-Za-z0-9_])[fF](\d{1,2})(?![A-Za-z0-9_])")
LONG = 5
"""Letters from which on a word that nothing knows may be a slip of one of the phrases."""
CONTRARY = ("raise", "lower")
"""Of these two in one clause the later is meant: "crank it down"; in two clauses they are two plans."""
KINDS = frozenset(name for name, v in CANONICAL.items() if v.type == "str")
"""Settings that one turns from one kind to another: "fp16 off, bf16 on"."""
_OF_MEMORY = bounded(
    r"(?i)(?<![a-z])(?:g?pus?|vram|ram|rss|memory|mem|cards?|[ahb]\d00s?|[gm]i?b|nvidia-smi"
    r"|(?<!model )swap|heap)(?![a-z])|显存|内存"
)
_OF_TESTS = bounded(
    r"(?i)(?<![a-z])(?:evals?|evaluat\w{1,8}|tests?|test ?sets?|benchmarks?|scores?|accuracy|contaminat\w{1,5}"
    r"|overlap\w{0,4}|held-?out|train\w{0,4} (?:set|data)|prompts?|items|questions?)(?![a-z])|测试集|评测|验证集|考题"
    r"|分数|污染|训练集|训练数据"
)
"""What a message is about in which something leaks: memory, or what is tested."""
SUSPECT_NOTHING = ("thanks", "bye", "explain", "how_in", "lines", "short", "is_fixed")
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
    complaints: tuple[Complaint, ...] = ()
    """What they complain of besides the symptoms that a table knows."""


def _each(acts: list[Plan]) -> Iterator[Plan]:
    """One plan for each thing and direction; what only says "change it" gives way to what says how."""
    for name in dict.fromkeys(p.variable for p in acts):
        here = list(
            {(p.text if p.direction in CONTRARY else p.direction): p for p in acts if p.variable == name}.values()
        )
        chosen = [p for p in here if p.direction == "set" and p.value and name in KINDS]
        clear = [p for p in here if p.direction not in VAGUE]
        yield from chosen[-1:] or {p.direction: p for p in clear}.values() or here[-1:]


def touched(acts: Iterable[Plan]) -> list[tuple[str, str]]:
    """The topics that plans are about, each with its clause; another version of the engine suspects no engine."""
    return [
        (topic, p.text)
        for p in acts
        for topic in (topic_of(p.variable), p.variable, *(("engine",) if p.variable == "library" else ()))
    ]


def said_by(own: str, corrected: Callable[[str], str]) -> str:
    """Their words as the tables expect them."""
    return spelled(own, corrected).replace("’", "'")


def spelled(own: str, corrected: Callable[[str], str]) -> str:
    """Their words with slips put right, except in the words with which opinions and actions are said."""
    typed, said = _WORD.findall(own), corrected(own)
    if len(typed) != len(_WORD.findall(said)):
        return said
    words = iter(typed)
    return _WORD.sub(lambda m: _spelled(next(words), m[0]), said)


@lru_cache(2048)
def _spelled(typed: str, said: str) -> str:
    """A word as typed where a phrase has it; as put right; else the word of the phrases that it slipped from."""
    low = typed.lower()
    if low in SPOKEN or low.startswith(SPOKEN_STEMS) or any(p.fullmatch(low) for _, p in ACTS):
        return typed
    return said if said != typed or low in PLAIN else _slips().get(low, said)


@cache
def _slips() -> dict[str, str]:
    """Words of the phrases with two letters exchanged or, of a long one, a letter inside missing."""
    out: dict[str, str] = {}
    names = {word for t in TOPICS.values() for word in re.findall(r"[a-z]{4,}", t.name.en)}
    for word in sorted(w for w in SPOKEN | names if len(w) >= LONG):
        if word in names and len(word) > LONG + 1:
            out.setdefault(word[:-1], word)
        for i in range(1, len(word) - 1):
            out.setdefault(word[:i] + word[i + 1] + word[i] + word[i + 2 :], word)
            if len(word) > LONG + 1:
                out.setdefault(word[:i] + word[i + 1 :], word)
    return {typed: word for typed, word in out.items() if typed not in SPOKEN}


def _only_meant(plan: Plan, suspected: Iterable[Suspicion]) -> bool:
    """Whether what looks like a plan only says what is thought of a cause: "cross the optimizer off the list"."""
    signs = {s.polarity for s in suspected if s.topic.id == topic_of(plan.variable)}
    return "denies" in signs or (bool(signs) and not INTENT.search(plan.text))


def _only_blamed(symptom: Symptom, said: str) -> bool:
    """Whether a symptom is told only as the cause of something else: "must be too little memory"."""
    causes = [(at + s, at + e) for at, part in _placed(said) for s, e in blamed(part)]
    told = (m.span() for m in symptom.kind.said.finditer(said))
    return bool(causes) and all(any(start < e and s < end for s, e in causes) for start, end in told)


def _in_sense(suspicion: Suspicion, said: str) -> Suspicion:
    """A leak is one of memory where the message speaks of memory or cards, and of nothing that is tested."""
    of_memory = suspicion.topic.id == "contamination" and _OF_MEMORY.search(said) and not _OF_TESTS.search(said)
    return replace(suspicion, topic=TOPICS["memory"]) if of_memory else suspicion


def _placed(said: str) -> Iterator[tuple[int, str]]:
    """The clauses, and where each begins."""
    at = 0
    for clause in (c for s in sentences(said) for c in clauses(s)):
        at = said.index(clause, at)
        yield at, clause
        at += len(clause)


def opinions(said: str, wants: Want) -> tuple[list[str], list[Plan]]:
    """The sentences that can hold an opinion about the run, and what they plan."""
    message, acts, spoken_of = list[str](), list[Plan](), ""
    for sentence in sentences(said):
        said_of = wants not in SUSPECT_NOTHING or wanted(sentence) not in SUSPECT_NOTHING
        if said_of or TOLD.search(plain(sentence)) or NAMED_SPEAKER.search(sentence):
            message.append(sentence)
            acts += [] if open_question(sentence) else plans(sentence, spoken_of)
        spoken_of = last_named(sentence) or spoken_of
    return message, [_compared(act, said) for act in acts]


def _compared(act: Plan, said: str) -> Plan:
    """A plan that only sets a value, with where that goes from the value that the message says is there."""
    way = amounts.before(act.variable, act.value, said) if act.direction == "set" and act.value else None
    return replace(act, direction=way) if way else act


def understand(text: str, corrected: Callable[[str], str] = str, search: Search | None = None) -> Question:
    """Read one message, in English, Chinese, or both.

    Args:
        corrected: puts slips of typing right (`knowledge.search.Index.corrected`).
        search: finds the entries nearest to a phrase (`Index.search`), for causes that no table names.
    """
    own, pasted, orders = split(text)
    said = said_by(own, corrected)
    wants = wanted(said)
    message, acts = opinions(said, wants)
    acting = touched(acts)
    blames = [s for s in message if not open_question(s)]
    suspected = suspicions(blames, acting)
    acts = acted.planned([c for s in message for c in clauses(s)], acts)
    acts = [p for p in acts if p.value or not _only_meant(p, suspected)]
    if search:
        suspected = opinion.opinions(blames, acting, suspected, search)
    suspected = [_in_sense(s, said) for s in suspected]
    if wants in ("why", "ok_to"):
        wants = "ok_to" if acts else "why" if suspected else wants
    spoken = [*(p.text for p in acts), *(s.text for s in suspected)]
    found = _FINDING.search(own)
    return Question(
        text,
        own,
        pasted,
        "\n".join(s for s in message if not any(part in s for part in spoken)),
        tuple(s for s in symptoms(said) if not _only_blamed(s, said)),
        tuple(suspected),
        tuple(_each(acts)),
        wants,
        orders,
        f"F{found[1]}" if found else "",
        tuple(complaints(said)),
    )

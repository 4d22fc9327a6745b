"""The guards on what an answer asserts: causes, advice, and having done something.

A model has a thousand ways to say that it mended a run, and only few to say what a run shows. So the rules on acts and
on the writer's own part list what may be said, and stop the rest; negated and conditional clauses claim nothing.
"""

from __future__ import annotations

import re

from ...propose import Proposal
from ...ranking import Hypothesis
from . import words
from .facts import Facts, content, flat, numbers, plain, stem

LEVEL = {"established": 3, "supported": 2, "possible": 1, "refuted": 0}
CODE = re.compile(r"`([^`\n]+)`")


def claimed_action(sentence: str, facts: Facts, lang: str) -> bool:
    """A claim to have run, changed or mended something, or to be about to."""
    text = plain(CODE.sub(" it ", sentence))
    if words.OWN_PART.search(text):
        return True
    if words.EXPECTED.search(text):
        return False
    clauses = [c.strip(" -*\t\n\"'”“") for c in words.PART.split(text)]
    clauses = [c for c in clauses if c]
    if re.search(r"[?？]|吗", text):
        clauses = clauses[:-1]
    return any(_done(c) or _in_force(c, facts.proposal) for c in clauses)


def _in_force(clause: str, proposal: Proposal | None) -> bool:
    """Whether the clause gives the proposed value as the present one."""
    if proposal is None or words.PROPOSED.search(clause):
        return False
    values = {n.value for n in numbers(clause)}
    old, new = ({n.value for n in numbers(text)} for text in (proposal.old, proposal.new))
    return bool(values & (new - old)) and not values & old and bool(words.PRESENT.search(clause))


def _done(clause: str) -> bool:
    """Whether the clause tells of an act that neither a run nor its reading consists of."""
    for pattern in words.DONE:
        for match in pattern.finditer(clause):
            before = clause[: match.start()]
            itself = words.MOVED.search(match[0]) and (words.MEASURES.search(before) or words.BY_ITSELF.search(clause))
            if not itself and not words.NOT_CLAIMED.search(before):
                return True
    return False


def overstated_cause(sentence: str, facts: Facts, lang: str) -> bool:
    """A cause stated with more certainty than the diagnosis gave it, or one that the diagnosis does not hold."""
    text = plain(sentence)
    if _assumed(sentence, text, facts) or _reassures(text, facts):
        return True
    linked = _linked(text, facts)
    if words.DENIED.search(text):
        return not any(h.status == "refuted" for h in linked)
    certain = any(not words.WITHDRAWN.search(text[: m.start()]) for m in words.CERTAIN.finditer(text))
    spoken_of = linked or facts.answer.diagnosis.hypotheses[:1]
    if certain and max((LEVEL[h.status] for h in spoken_of), default=0) < LEVEL["established"]:
        return True
    if words.LOWERED.search(text) or any(_odds_of(h, text) for h in linked):
        return False
    return _blames(text, linked, facts, lang) and _claimed_level(text, certain) > _allowed_level(text, linked, facts)


def _assumed(sentence: str, text: str, facts: Facts) -> bool:
    """Whether something is told of a run that nobody has looked at."""
    unseen = not facts.answer.seen and not facts.answer.diagnosis.findings
    label = len(content(text)) <= SHORT or sentence.lstrip().startswith("#")
    return unseen and not label and not _open(text)


def _reassures(text: str, facts: Facts) -> bool:
    """Whether the run is called sound though it is not, or a part of it that no check looked at."""
    sound = words.PART_SOUND.search(text)
    if sound and not words.NOT_CLAIMED.search(text[: sound.start()]) and not _clear(text, facts):
        return True
    return bool(words.REASSURED.search(text)) and facts.answer.diagnosis.state != "healthy"


def _blames(text: str, linked: list[Hypothesis], facts: Facts, lang: str) -> bool:
    """Whether the sentence names a cause, in whatever form."""
    if words.CAUSAL.search(text) or words.IDENTIFIED.search(text) or _is_one(text, facts):
        return True
    if any(flat(h.entry.title.say(lang)) in flat(text) for h in facts.answer.diagnosis.hypotheses):
        return True
    weighed = words.JUDGED.search(text) or words.HEDGE_MIDDLE.search(text)
    return bool(linked and weighed) and not words.GENERAL.search(text)


def _claimed_level(text: str, certain: bool) -> int:
    if words.HEDGE_LOW.search(text):
        return LEVEL["possible"]
    return LEVEL["supported"] if words.HEDGE_MIDDLE.search(text) and not certain else LEVEL["established"]


def _allowed_level(text: str, linked: list[Hypothesis], facts: Facts) -> int:
    d = facts.answer.diagnosis
    related = any(_settings(h.entry.title.en) & _settings(text) for h in d.hypotheses)
    allowed = max((LEVEL[h.status] for h in linked), default=int(related))
    return allowed if d.state == "diagnosed" else min(allowed, LEVEL["possible"])


def _linked(text: str, facts: Facts) -> list[Hypothesis]:
    """The hypotheses that the sentence speaks of: by id, or by the words of their title and cause."""
    low = flat(text)
    found = []
    for h in facts.answer.diagnosis.hypotheses:
        cause = [h.cause.text] if h.cause else []
        said = [content(t.say(lang)) for t in (h.entry.title, *cause) for lang in ("en", "zh")]
        mine = content(low)
        least = 1 if _odds_of(h, text) else 2
        if h.entry.id in low or any(len(s & mine) >= min(least, len(s)) for s in said if s):
            found.append(h)
    return found


def _odds_of(hypothesis: Hypothesis, text: str) -> bool:
    return re.search(rf"(?<![\d.<]){re.escape(hypothesis.percent)}", text) is not None


def _is_one(text: str, facts: Facts) -> bool:
    """Whether the text says that the failure is what a hypothesis is named after, without any word for a cause."""
    said = {stem(w) for m in words.IT_IS.finditer(text) for w in re.findall(r"[a-z]+", (m[1] or m[2]).lower())}
    d = facts.answer.diagnosis
    seen = {stem(w) for f in d.findings for w in re.findall("[a-z]+", f.message.lower())}
    return any(stem(w) in said - seen for h in d.hypotheses for w in h.entry.id.split("-") if len(w) > 3)


def _open(text: str) -> bool:
    """Whether a sentence leaves open what happened: where nothing was looked at, no other can be told."""
    hedged = (words.HEDGE_LOW, words.HEDGE_MIDDLE, words.GENERAL, words.NOT_CLAIMED)
    return any(p.search(text) for p in (*hedged, words.LOOKING, words.NEGATED, words.SOURCES, CODE))


SHORT = 4
"""Content words up to which a line is a label and states nothing."""


def _clear(text: str, facts: Facts) -> bool:
    """Whether a check that found nothing speaks of what the sentence calls sound."""
    mine = content(text)
    clear = (c.name.replace("-", " ") for c in facts.answer.diagnosis.checks if c.result == "clear")
    return any(len(content(name) & mine) >= 1 for name in clear)


def unfounded_advice(sentence: str, facts: Facts, lang: str) -> bool:
    """Advice to change or run anything but the one proposed change."""
    text = plain(
        CODE.sub(lambda m: m[1] if m[1].startswith(("triage", "--run")) else re.sub(r"\W", "_", m[1]), sentence)
    )
    text = re.sub(r"^(?:[-*>]|\d{1,2}[.)])\s+", "", text)
    urged, negated = False, False
    for joint, clause in _clauses(text):
        negated = bool(words.NEGATED.search(clause)) or (negated and joint in ("or", "或", "或者", "nor", "、"))
        advised = bool(words.ADVICE.search(clause)) or _varies(clause, text, facts)
        advised = advised or (urged and bool(re.match(rf"(?:{words.VERBS})\b", clause, re.IGNORECASE)))
        urged = urged or advised
        if (
            advised
            and not words.DISPUTED.search(text)
            and not words.LOOKING.search(clause)
            and not negated
            and not _proposed(clause, text, facts)
        ):
            return True
    return False


def _clauses(text: str) -> list[tuple[str, str]]:
    """(the word or mark before it, clause) in order."""
    parts, joint, start = [], "", 0
    for match in words.CLAUSE.finditer(text):
        parts.append((joint, text[start : match.start()].strip(" -*\t\n")))
        joint, start = match[0].strip().lower(), match.end()
    return [*parts, (joint, text[start:].strip(" -*\t\n"))]


def _varies(clause: str, sentence: str, facts: Facts) -> bool:
    """Whether the clause orders or praises a change of a setting other than the proposed one, however it is put."""
    own = _settings(f"{facts.proposal.variable} {facts.proposal.key}") if facts.proposal else set()
    ordered = words.CHANGE.search(clause) or words.ASSIGNED.search(clause)
    ordered = ordered and not words.DESCRIBED.search(clause)
    praised = words.BENEFIT.search(clause) and not words.SOURCES.search(sentence)
    return bool((ordered and _settings(clause) - own) or (praised and _settings(sentence) - own))


def _settings(text: str) -> set[str]:
    return {name for name, pattern in words.SETTING_WORDS.items() if pattern.search(text)}


def _proposed(clause: str, sentence: str, facts: Facts) -> bool:
    """Whether the clause advises the proposed change, with its own numbers and in its own direction."""
    p = facts.proposal
    if p is None:
        return False
    if not p.file and _close(clause, f"{p.new} {p.why} {p.expect} {p.undo}"):
        return True
    own, named = _settings(f"{p.variable} {p.key}"), _settings(sentence)
    allowed = {n.value for n in numbers(f"{p.old} {p.new} {p.line}")}
    if not named or not named <= own or any(n.value not in allowed for n in numbers(clause)):
        return False
    old, new = (next((n.value for n in numbers(text)), 0.0) for text in (p.old, p.new))
    return not ((words.UP.search(clause) and new < old) or (words.DOWN.search(clause) and new > old))


def _close(clause: str, text: str) -> bool:
    mine = content(clause)
    return bool(mine) and len(mine & content(text)) >= 0.6 * len(mine)

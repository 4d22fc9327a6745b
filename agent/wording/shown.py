"""What the model is shown of a case, and everything its words may rest on.

The same text serves both: `brief` writes the evidence for the prompt, and `Shown` keeps it, so that a guard can ask
whether a number, a file or a name was in it. Text from a run, a person's runbook or a question is fenced as data, and
what in it looks like an instruction is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...tools.findings import Finding, clean
from ..answer import Answer
from ..narrate.answer import checks_made
from ..narrate.entry import criterion
from ..narrate.words import WORDS
from ..propose import Proposal
from .instruction import INSTRUCTION

MOST_FINDINGS = 16
LONGEST = 7_000
"""Characters of evidence in one prompt, about 2,500 tokens."""
LEFT_OUT = "(text that looks like an instruction was left out)"


def instruction(text: str) -> bool:
    """Whether the text speaks to a model or a shell instead of reporting something."""
    return bool(INSTRUCTION.search(text))


@dataclass
class Shown:
    """The evidence of one case as the model saw it, growing with every tool result."""

    answer: Answer
    ours: list[str] = field(default_factory=list)
    """Words of triage and its runbook."""
    theirs: list[str] = field(default_factory=list)
    """Words of the run, of a person's own runbook, of the question: never advice."""
    attacks: list[str] = field(default_factory=list)
    """Places whose text looked like an instruction."""

    def own(self, text: str) -> str:
        """The runbook's words, which hold nothing of a run: its cautions may well speak of commands."""
        self.ours.append(text)
        return text

    def say(self, text: str, place: str = "a name in the run") -> str:
        """Our words, or a note where something of the run stands in them that looks like an instruction."""
        if self._attack(text, place):
            return LEFT_OUT
        self.ours.append(text)
        return text

    def quote(self, text: str, place: str, limit: int = 240) -> str:
        """The run's words as fenced data, or a note where they look like an instruction."""
        text = clean(text, limit).replace("«", "<").replace("»", ">")
        if self._attack(text, place):
            return LEFT_OUT
        self.theirs.append(text)
        return f"«{text}»"

    def _attack(self, text: str, place: str) -> bool:
        found = instruction(text)
        if found and place not in self.attacks:
            self.attacks.append("a file name" if instruction(place) else place)
        return found


def brief(shown: Shown, limit: int = LONGEST) -> str:
    """The evidence of the case, one fact a line, bounded."""
    lines = "\n".join(_lines(shown))
    return lines if len(lines) <= limit else lines[: limit - 1] + "…"


def _lines(shown: Shown) -> Iterator[str]:
    a, d = shown.answer, shown.answer.diagnosis
    yield shown.say(f"state: {d.state}")
    yield from _hypotheses(shown)
    yield "findings:"
    yield from (finding_line(shown, f, f"F{i}") for i, f in enumerate(d.findings[:MOST_FINDINGS], 1))
    if not a.seen:
        yield shown.say(WORDS["words-only"].say(a.lang))
    if seen := a.seen:
        yield "settings:"
        yield from (_setting(shown, s) for s in list(seen.settings)[:40])
    if isinstance(a.proposal, Proposal):
        p = a.proposal
        if p.file:
            change = f"{p.key} in {p.file}:{p.line} from {clean(p.old)} to {p.new}"
        else:
            change = p.new.rstrip(".") + (f" (now {clean(p.old)})" if p.old else "")
            change = change if p.key == p.variable else f"{p.key}: {change}"
        yield shown.say(f"the one change (triage words it itself): {p.variable}: {change}. {p.why} {p.expect} {p.undo}")
        yield shown.say("it is fixed when: " + "; ".join(criterion(c, a.lang) for c in p.acceptance))
        yield shown.say(WORDS["then"].say(a.lang, id=p.entry))
    else:
        yield shown.say(f"no change is proposed: {a.proposal.say(a.lang)}")
    yield from map(shown.say, checks_made(d.checks, a.lang))
    for p in a.passages:
        yield f"the person's own runbook, {shown.quote(f'{p.file}:{p.line}', 'runbook')}: " + shown.quote(
            p.text, f"{p.file}:{p.line}", 400
        )


def _hypotheses(shown: Shown) -> Iterator[str]:
    a, lang = shown.answer, shown.answer.lang
    number = {id(f): f"F{i}" for i, f in enumerate(a.diagnosis.findings, 1)}
    for h in a.diagnosis.hypotheses:
        cause = f"; {h.cause.text.say(lang)}" if h.cause else ""
        sides = "; ".join(
            f"{side} {', '.join(number[id(f)] for f in found)}"
            for side, found in (("for", h.for_), ("against", h.against))
            if found
        )
        yield shown.own(
            f"cause [{h.entry.id}] {h.entry.title.say(lang)}{cause}; {h.status} ({WORDS[h.status].say(lang)}), "
            f"{h.percent}; {sides}"
        )
    for h in a.diagnosis.hypotheses[:2]:
        yield shown.own(f"check first for [{h.entry.id}]: {h.entry.check_first.say(lang)}")
    for h in a.diagnosis.hypotheses[:1]:
        yield from (shown.own(f"caution: {c.say(lang)} ({c.ref})") for c in h.entry.cautions)
    for h in a.diagnosis.hypotheses[:3]:
        yield shown.own(f"sources of [{h.entry.id}]: {'; '.join(h.entry.cited)}")
    for conflict, side in a.diagnosis.conflicts:
        positions = " / ".join(p.say(lang) for p in conflict.positions)
        by = conflict.positions[side] if side is not None else conflict.decided_by
        yield shown.own(f"sources disagree on {conflict.about.say(lang)} ({conflict.ref}): {positions}; {by.say(lang)}")


def finding_line(shown: Shown, finding: Finding, id: str) -> str:
    """One finding with its first place; the run's own text fenced."""
    place = next((f"{e.file}:{e.line}" if e.line else str(e.file) for e in finding.evidence if e.file), "")
    message = clean(finding.say(shown.answer.lang), 500)
    text = shown.say(f"[{id}] {finding.severity} {finding.code}: {message}", place)
    if place:
        text += f" ({shown.quote(place, 'a file name', 160)})"
    words = next((e.text for e in finding.evidence if e.text), None)
    return f"{text} {shown.quote(words, place)}" if words else text


def _setting(shown: Shown, setting: Any) -> str:
    value = clean(str(setting.value), 60)
    place = f"{clean(setting.file or '', 80)}:{setting.line}"
    shown.ours.append(f"{setting.variable} {clean(setting.key, 60)}")
    return f"{setting.variable} = {shown.quote(value, place, 60)} ({clean(setting.key, 60)}, {place})"

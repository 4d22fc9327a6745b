"""What one question led to, and its public form; who words it and who shows it are elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..knowledge.entry import Conflict, Criterion
from ..knowledge.library import Passage
from ..tools.findings import Finding, finding_json, json_ready
from ..tools.secrets import visible
from .coverage import as_json
from .diagnose import Diagnosis
from .evidence import Look
from .narrate.entry import next_check
from .narrate.reply import weighed
from .narrate.short import LINES, short_text
from .propose import Nothing, Proposal
from .question.understand import Question
from .ranking import Hypothesis
from .respond import Reply

LEADING = 2
"""Entries whose signs are told one by one."""
PUBLIC = {"metric", "is_", "low", "high", "value", "unit", "window", "basis", "source", "needs"}
"""What the public form says of a criterion."""


@dataclass(frozen=True)
class Answer:
    """Everything one question led to."""

    question: str
    lang: str
    diagnosis: Diagnosis
    proposal: Proposal | Nothing
    text: str
    """Markdown in the language of the question."""
    passages: tuple[Passage, ...] = ()
    """What the person's own runbooks say about it."""
    case: str = ""
    seen: Look | None = None
    """What the tools saw: series to plot, settings; None without a run."""
    model: str = "built-in"
    """Who speaks beside triage: `built-in` for nobody, or the served model's name."""
    asked: Question | None = None
    """The question as it was understood."""
    reply: Reply = field(default_factory=Reply)
    """What the evidence says to the person's own words."""
    head: tuple[str, ...] = ()
    """The headline, and a line for each verdict of the reply."""
    run: str = ""
    """The path of the run that it is about, empty for none."""
    candidate: str = ""
    """The path of the one other run that was given: what `verify` may judge."""
    only: str = ""
    """What a follow-up is told instead of the answer, which stands."""
    beside: str = ""
    """What a served model adds under its label, the last part of the text."""

    def __post_init__(self):
        object.__setattr__(self, "text", visible(self.only or self.text))

    def as_json(self) -> dict[str, Any]:
        """The public form, `triage.answer/1`."""
        d, number = self.diagnosis, {id(f): f"F{i}" for i, f in enumerate(self.diagnosis.findings, 1)}
        return json_ready(
            {
                "schema": "triage.answer/1",
                "question": self.question,
                "lang": self.lang,
                "case": self.case,
                "state": d.state,
                "hypotheses": [
                    self._hypothesis(h, number)
                    | {
                        "cause": h.cause.id if h.cause else h.entry.id,
                        "probability": round(h.probability, 4),
                        "against": [number[id(f)] for f in h.against],
                        "check_first": h.entry.check_first.say(self.lang) if i else next_check(d, self.lang),
                    }
                    for i, h in enumerate(d.hypotheses)
                ],
                "also": [self._hypothesis(h, number) for h in d.also],
                "mend_in_order": [h.entry.id for h in d.to_mend] if d.also else [],
                "findings": [finding_json(f, f"F{i}", self.lang) for i, f in enumerate(d.findings, 1)],
                "checks": [c.as_json() for c in d.checks],
                "proposal": self._proposal(),
                "no_proposal": self.proposal.say(self.lang) if isinstance(self.proposal, Nothing) else None,
                "citations": self._citations(),
                "conflicts": [self._conflict(c, side) for c, side in d.conflicts],
                "cautions": [c.say(self.lang) for h in d.hypotheses[:1] for c in h.entry.cautions],
                "understood": self._understood(number),
                "signs": list(self._signs()),
                "run": self.run or None,
                "other_runs": self._others(),
                "coverage": as_json(self.seen.coverage if self.seen else ()),
                "model": self.model,
                "short": self.short,
                "answer": self.text,
            }
        )

    @property
    def short(self) -> str:
        """The answer that fits a screen."""
        return self.text if self.only else self._short()

    def brief(self, lines: int) -> str:
        """The answer in so many lines, without commands: for a thread, whose buttons do what they say."""
        return self.text if self.only else self._short(lines, False)

    def _short(self, most: int = LINES, commands: bool = True) -> str:
        parts = (self.diagnosis, self.proposal, self.head, self.lang, self.case, self.run, self.candidate)
        return visible(short_text(*parts, most, commands))

    def _signs(self) -> Iterator[dict[str, str]]:
        """What became of the signs of the leading entries."""
        reports = self.seen.reports if self.seen else ()
        results = next((r.summary.get("signs", {}) for r in reports if r.tool == "signs"), {})
        for entry in (h.entry for h in self.diagnosis.hypotheses[:LEADING]):
            for text in (*entry.signs.for_, *entry.signs.against):
                if text in results:
                    result, why = results[text]
                    yield {"sign": text, "entry": entry.id, "result": result, "why": why}

    def _understood(self, number: Mapping[int, str]) -> dict[str, Any]:
        """What the words were taken for, each with its verdict."""

        def ids(findings: Iterable[Finding]) -> list[str]:
            return [number[id(f)] for f in findings if id(f) in number]

        return {
            "symptoms": [
                {"what": s.symptom.kind.id, "where": s.symptom.where, "verdict": s.verdict, "for": ids(s.findings)}
                for s in self.reply.symptoms
            ],
            "suspicions": [
                {
                    "entry": j.entry,
                    "topic": j.suspicion.topic.id,
                    "polarity": j.suspicion.polarity,
                    "told_by_others": j.suspicion.told_by,
                    "verdict": j.verdict,
                    "for": ids(j.for_),
                    "against": ids(j.against),
                }
                for j in self.reply.suspicions
            ],
            "plans": [
                {
                    "variable": w.plan.variable,
                    "direction": w.plan.direction,
                    "value": w.plan.value or None,
                    "verdict": w.verdict,
                    "why": weighed(w, self.diagnosis, self.proposal, number, self.lang),
                }
                for w in self.reply.plans
            ],
            "orders": list(self.asked.orders) if self.asked else [],
            "wants": self.asked.wants if self.asked else "why",
        }

    def _others(self) -> list[dict[str, Any]]:
        """The other trainings under the same path."""
        out: list[dict[str, Any]] = []
        for other in self.seen.others if self.seen else ():
            f = other.worst
            step = f.evidence[0].step if f and f.evidence else None
            out.append(
                {"run": other.run, "worst": f.code if f else None, "severity": f.severity if f else None, "step": step}
            )
        return out

    def _proposal(self) -> dict[str, Any] | None:
        if isinstance(self.proposal, Nothing):
            return None
        return self.proposal.__dict__ | {
            "acceptance": [
                c.model_dump(by_alias=True, include=PUBLIC) | {"window": _window(c)} for c in self.proposal.acceptance
            ]
        }

    def _hypothesis(self, h: Hypothesis, number: Mapping[int, str]) -> dict[str, Any]:
        return {
            "entry": h.entry.id,
            "title": h.entry.title.say(self.lang),
            "severity": h.entry.severity,
            "status": h.status,
            "for": [number[id(f)] for f in h.for_],
        }

    def _conflict(self, c: Conflict, side: int | None) -> dict[str, Any]:
        return {
            "about": c.about.say(self.lang),
            "positions": [p.say(self.lang) for p in c.positions],
            "decided_by": c.decided_by.say(self.lang),
            "supported": side,
            "ref": c.ref,
        }

    def _citations(self) -> list[dict[str, object]]:
        """What it rests on: entries with the section and the sources behind it, and the person's own passages."""
        entries: list[dict[str, object]] = [
            {"entry": h.entry.id, "section": "diagnosis" if i else "fix", "sources": h.entry.cited}
            for i, h in enumerate(self.diagnosis.hypotheses)
        ]
        own = [
            {"entry": "", "own": True, "section": " > ".join(p.headings), "sources": [f"{p.file}:{p.line}"]}
            for p in self.passages
        ]
        return [*entries, *own]


def _window(c: Criterion) -> str:
    if c.after:
        return f"after {c.after}"
    return f"{c.window['steps']} steps" if c.window and "steps" in c.window else "whole run"

"""One question about one run: look, search, diagnose, propose, narrate, and note it in the casebook."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..knowledge.embedding import BUILT_IN
from ..knowledge.library import Passage
from ..knowledge.search import MEANT, Index
from ..tools.findings import Check, Finding, clean, finding_json, json_ready
from ..tools.run import Run
from ..tools.secrets import redact
from ..tools.settings import Settings
from . import narrate
from .casebook import Casebook
from .diagnose import Diagnosis, diagnose
from .events import FindingMade, Listen, ProposalMade, ToolStarted, ignore
from .evidence import Look, look
from .propose import Nothing, Proposal, propose

QUESTION_LIMIT = 20_000
"""Longest question kept, in characters; a longer one (a pasted log) is scanned whole, then cut in the middle."""


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
    """Who worded the text: `built-in`, or the served model's name."""

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
                    {
                        "entry": h.entry.id,
                        "cause": h.cause.id if h.cause else h.entry.id,
                        "title": h.entry.title.say(self.lang),
                        "severity": h.entry.severity,
                        "status": h.status,
                        "probability": round(h.probability, 4),
                        "for": [number[id(f)] for f in h.for_],
                        "against": [number[id(f)] for f in h.against],
                        "check_first": h.entry.check_first.say(self.lang),
                    }
                    for h in d.hypotheses
                ],
                "findings": [finding_json(f, f"F{i}", self.lang) for i, f in enumerate(d.findings, 1)],
                "checks": [{"name": c.name, "result": c.result, "why": c.why} for c in d.checks],
                "proposal": self._proposal(),
                "no_proposal": (self.proposal.zh if self.lang == "zh" else self.proposal.en)
                if isinstance(self.proposal, Nothing)
                else None,
                "citations": narrate.citations(d.hypotheses, self.passages),
                "conflicts": [
                    {
                        "about": c.about.say(self.lang),
                        "positions": [p.say(self.lang) for p in c.positions],
                        "decided_by": c.decided_by.say(self.lang),
                        "supported": side,
                        "ref": c.ref,
                    }
                    for c, side in d.conflicts
                ],
                "cautions": [c.say(self.lang) for h in d.hypotheses[:1] for c in h.entry.cautions],
                "model": self.model,
                "answer": self.text,
            }
        )

    def _proposal(self) -> dict[str, Any] | None:
        if isinstance(self.proposal, Nothing):
            return None
        out = dict(self.proposal.__dict__)
        out["acceptance"] = [
            {
                "metric": c.metric,
                "is": c.is_,
                "low": c.low,
                "high": c.high,
                "value": c.value,
                "unit": c.unit,
                "window": f"after {c.after}"
                if c.after
                else (f"{c.window['steps']} steps" if c.window and "steps" in c.window else "whole run"),
                "basis": c.basis,
                "source": c.source,
                "needs": c.needs,
            }
            for c in self.proposal.acceptance
        ]
        return out


@cache
def index(home: Path | None = None, encoder: str = BUILT_IN) -> Index:
    """The runbook, with a person's own under `home`; TRIAGE_CHROMA_URL names a server for its vectors."""
    return Index(home, encoder, os.environ.get("TRIAGE_CHROMA_URL") or None)


def language(text: str) -> str:
    """`zh` when the text has Han characters in more than stray use, else `en`."""
    prose = "\n".join(text.splitlines()[:3])
    han = len(re.findall(r"[\u3400-\u9fff]", prose))
    return "zh" if han * 6 >= len(re.findall(r"[A-Za-z]+", prose)) and han else "en"


def ask(
    question: str,
    paths: Sequence[Path] = (),
    lang: str = "auto",
    home: Path | None = None,
    case: str | None = None,
    keep: bool = True,
    encoder: str = BUILT_IN,
    listen: Listen = ignore,
) -> Answer:
    """Answer one question, with or without a run.

    Args:
        question: what the person typed, in either language; may contain pasted log lines.
        paths: run directories or files.
        lang: `en`, `zh`, or `auto` for the language of the question.
        home: the data directory (casebook, index, the person's own runbooks); None for neither cache nor case.
        case: continue this case instead of opening one.
        keep: whether to note the answer in the casebook.
        encoder: the built-in encoder, or a sentence-transformers model.
        listen: told of each tool before it runs, each finding, and the proposal.

    Raises:
        TriageError: a path does not exist, nothing can be read, or the case is unknown.
        RunbookError: the index does not fit the encoder or the runbook.
    """
    lang = language(question) if lang == "auto" else lang
    pasted = question if question.count("\n") >= 1 else ""
    words = "\n".join(question.splitlines()[:40])[:4000]
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    run, settings, seen = Run(Path()), Settings(), None
    if paths or pasted:
        seen = look(paths, pasted, listen)
        run, settings, findings, checks = seen.run, seen.settings, seen.findings, seen.checks
    listen(ToolStarted("search"))
    books = index(home, encoder)
    in_field = books.covers(words)
    diagnosis = diagnose(books.runbook, books.search(words), findings, checks, in_field, looked=bool(paths))
    passages = tuple(p for p in books.passages(words, 3) if p.score >= MEANT) if in_field or paths else ()
    for i, finding in enumerate(diagnosis.findings, 1):
        listen(FindingMade(f"F{i}", finding))
    proposal = propose(diagnosis, settings, run, lang)
    if isinstance(proposal, Proposal):
        listen(ProposalMade(proposal))
    text = narrate.answer(diagnosis, proposal, lang, looked=bool(paths or pasted), passages=passages)
    answer = Answer(shown(question), lang, diagnosis, proposal, text, passages, seen=seen)
    return note(answer, paths, home, case) if home and keep else answer


def shown(question: str) -> str:
    """The question as it may be kept and repeated: bounded, without credentials."""
    half = QUESTION_LIMIT // 2
    return redact(question if len(question) <= QUESTION_LIMIT else f"{question[:half]}\n…\n{question[-half:]}")


def note(answer: Answer, paths: Sequence[Path], home: Path, case: str | None) -> Answer:
    """The answer with its case, recorded there; without `case` it opens one, under the answer's own id if it has one.

    Raises:
        TriageError: the case is unknown, or the casebook cannot be used.
    """
    book = Casebook(home)
    id = case or book.open_case(clean(answer.question, 500), [str(p) for p in paths], answer.case)
    noted = replace(answer, case=id)
    book.record(id, "answer", noted.as_json())
    return noted

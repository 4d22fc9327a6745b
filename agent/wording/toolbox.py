"""What a model may look at in a case: eight read-only tools that take no path, with bounded results.

A tool returns text for the model; its typed result stays here. The run was read before the model was asked, so no tool
reads a file. What would run the user's command (bisection, the lab) is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...tools.findings import Finding, clean
from ...tools.series import Series
from ...tools.vocabulary import VOCABULARY
from ..casebook import Casebook
from ..diagnose import diagnose
from ..events import Listen, ToolStarted, ignore
from ..narrate.answer import checks_made
from ..narrate.entry import criterion
from ..propose import Proposal
from ..session import index
from .shown import Shown, finding_line

LONGEST = 2_500
"""Characters of one tool result, about 900 tokens."""


class Toolbox:
    """The tools, bound to one case.

    Args:
        shown: the case, and the record of what the model has seen.
        home: the data directory, for the runbook's index and the case's verdicts.
        listen: told of every tool before it runs.
    """

    def __init__(self, shown: Shown, home: Path | None = None, listen: Listen = ignore):
        self.shown, self.home, self._listen = shown, home, listen
        self.results: list[tuple[str, Any]] = []
        """(tool, its typed result) in the order of the calls."""

    def tools(self) -> list[Callable[..., str]]:
        return [self.look, self.scan, self.lint, self.data, self.search, self.diagnose, self.propose, self.verify]

    def look(self) -> str:
        """List the run's files by kind, and its metrics with first, last, lowest and highest value."""
        seen = self._start("look").answer.seen
        if seen is None:
            return self._none("no run was given")
        lines = [f"{a.kind}: {self.shown.quote(a.name, 'a file name', 120)}" for a in seen.run.artifacts[:30]]
        lines += [self._series(s) for s in seen.table if s.metric in VOCABULARY][:12]
        return self._end("look", seen.run, lines)

    def scan(self, metric: str = "") -> str:
        """Findings of the log scan with file, line and step; with a metric's name also twelve of its points.

        Args:
            metric: for example loss, grad_norm, kl, reward, tokens_per_second; empty for findings only.
        """
        seen = self._start("scan").answer.seen
        if seen is None:
            return self._none("no run was given")
        lines = list(self._found(seen.scan.findings))
        series = seen.table.get(metric) if metric else None
        if series is not None and len(series):
            picked = np.unique(np.linspace(0, len(series) - 1, 12).astype(int))
            points = ", ".join(f"{int(series.steps[i])}: {series.values[i]:.4g}" for i in picked)
            lines.append(self.shown.say(f"{series.metric} by step: {points}"))
        elif metric:
            names = ", ".join(dict.fromkeys(s.metric for s in seen.table if s.metric in VOCABULARY))
            lines.append(self.shown.say(f"the run logs no such metric; it logs {names or 'none'}"))
        return self._end("scan", seen.scan, lines)

    def lint(self) -> str:
        """Findings about the configuration: each setting with file, line and what is wrong with it."""
        return self._report("lint")

    def data(self) -> str:
        """Findings of the data checks: schema, duplicates, leakage, personal data, labels; and what was not there."""
        return self._report("data")

    def search(self, words: str) -> str:
        """Look up the runbook: the entries nearest to the words, with symptom, and the person's own passages.

        Args:
            words: what to look up, in English or Chinese.
        """
        lang, books = self._start("search").answer.lang, index(self.home)
        hits = [h for h in books.search(words[:400], 3) if h.score > 0.01]
        lines = [
            self.shown.say(f"[{e.id}] {e.title.say(lang)}: {clean(next(iter(e.said(lang).values())), 500)}")
            for e in (h.entry for h in hits)
        ]
        lines += [self.shown.quote(p.text, f"{p.file}:{p.line}", 400) for p in books.passages(words[:400], 2)]
        return self._end("search", hits, lines or [self.shown.say("the runbook has nothing on this")])

    def diagnose(self, symptom: str) -> str:
        """Rank the runbook's entries again for one symptom in words, with all findings of this run.

        Args:
            symptom: the symptom to explain, in English or Chinese.
        """
        a, books = self._start("diagnose").answer, index(self.home)
        hits, found = books.search(symptom[:400]), a.diagnosis.findings
        d = diagnose(books.runbook, hits, found, a.diagnosis.checks, True, bool(a.seen))
        lines = [
            self.shown.say(f"[{h.entry.id}] {h.entry.title.say(a.lang)}: {h.status}, {h.percent}") for h in d.hypotheses
        ]
        return self._end("diagnose", d, [self.shown.say(f"state: {d.state}"), *lines])

    def propose(self) -> str:
        """The one change that triage proposes, with its reason; or why none is proposed yet."""
        a = self._start("propose").answer
        p = a.proposal
        if isinstance(p, Proposal):
            text = f"{p.variable}: {p.key} from {clean(p.old)} to {p.new}. {p.why} {p.expect}"
        else:
            text = p.say(a.lang)
        return self._end("propose", p, [self.shown.say(text)])

    def verify(self) -> str:
        """The acceptance criteria of the leading cause, and the verdict on the next run if there is one."""
        a = self._start("verify").answer
        top = a.diagnosis.top
        lines = [self.shown.say(criterion(c, a.lang)) for c in (top.entry.acceptance if top else ())]
        verdict = self._last_verdict(a.case)
        lines.append(self.shown.say(f"verdict on the next run: {verdict or 'none yet; no next run was given'}"))
        return self._end("verify", verdict, lines)

    def _last_verdict(self, case: str) -> str:
        if not (self.home and case):
            return ""
        events = [e for e in Casebook(self.home).get(case).events if e["kind"] == "verdict"]
        return clean(str(events[-1]["content"].get("verdict", ""))) if events else ""

    def _report(self, tool: str) -> str:
        seen = self._start(tool).answer.seen
        if seen is None:
            return self._none("no run was given")
        report = next((r for r in seen.reports if r.tool == tool), None)
        lines = list(self._found(report.findings)) if report else []
        lines += map(self.shown.say, checks_made(report.checks if report else (), self.shown.answer.lang))
        return self._end(tool, report, lines or [self.shown.say("nothing was found")])

    def _found(self, findings: Iterable[Finding]) -> Iterator[str]:
        """The findings under the numbers that the answer gives them."""
        number = {id(f): f"F{i}" for i, f in enumerate(self.shown.answer.diagnosis.findings, 1)}
        yield from (finding_line(self.shown, f, number.get(id(f), "F0")) for f in list(findings)[:12])

    def _series(self, s: Series) -> str:
        finite = s.values[np.isfinite(s.values)]
        low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        return self.shown.say(
            f"{s.metric}: {len(s)} points, step {int(s.steps[0])} to {int(s.steps[-1])}, first {s.values[0]:.4g}, "
            f"last {s.values[-1]:.4g}, lowest {low:.4g}, highest {high:.4g}"
        )

    def _start(self, tool: str) -> Shown:
        self._listen(ToolStarted(tool))
        return self.shown

    def _none(self, why: str) -> str:
        return self.shown.say(why)

    def _end(self, tool: str, result: object, lines: list[str]) -> str:
        self.results.append((tool, result))
        text = "\n".join(lines)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

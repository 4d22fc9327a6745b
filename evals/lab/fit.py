"""Measured likelihood ratios of findings beside the strength words of the entries, from recorded runs of the lab."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...agent.evidence import look
from ...agent.ranking import STRENGTH
from ...agent.session import index
from .fault import Case
from .recording import first, record

Seen = dict[str, frozenset[str]]
"""Case id -> codes found."""


@dataclass(frozen=True)
class Ratio:
    """One finding of one entry."""

    entry: str
    code: str
    word: str
    """The author's strength."""
    given: float
    """Share of the runs of this entry's faults that show the finding, with half a count added."""
    otherwise: float
    """The same over the runs of other faults and the healthy ones."""
    cases: int
    seen: bool = True
    """Whether any run shows the finding; without one there is nothing to measure."""

    @property
    def ratio(self) -> float:
        return self.given / self.otherwise

    @property
    def fitted(self) -> str:
        """The word whose number is nearest on a log scale; `none` when the finding hardly discriminates."""
        if not self.seen:
            return "unseen"
        if self.ratio < 1.2:
            return "none"
        return min(STRENGTH, key=lambda w: abs(math.log(STRENGTH[w]) - math.log(self.ratio)))

    def as_json(self) -> dict[str, object]:
        return {
            "entry": self.entry, "code": self.code, "word": self.word, "ratio": round(self.ratio, 2),
            "fitted": self.fitted, "cases": self.cases,
        }  # fmt: skip


def observe(cases: Sequence[Case], home: Path) -> Seen:
    """The finding codes of each case's recorded run."""
    return {c.id: frozenset(f.code for f in look([record(first(c), home).run]).findings) for c in cases}


def ratios(cases: Sequence[Case], seen: Seen) -> list[Ratio]:
    """Likelihood ratio of every finding that an entry names, for the entries that some fault is about."""
    of_entry: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        for fault in case.all():
            for entry in fault.right:
                of_entry[entry].append(case)
    out = []
    for id, mine in sorted(of_entry.items()):
        entry = index().runbook.get(id)
        if entry is None:
            continue
        others = [c for c in cases if c not in mine]
        for code, word in entry.speaks.for_.items():
            given, otherwise = _share(mine, seen, code), _share(others, seen, code)
            shown = any(code in codes for codes in seen.values())
            out.append(Ratio(id, code, word, given, otherwise, len(mine), shown))
    return out


def _share(cases: Iterable[Case], seen: Seen, code: str) -> float:
    hits = [code in seen[c.id] for c in cases]
    return (sum(hits) + 0.5) / (len(hits) + 1)


def idle(cases: Sequence[Case], seen: Seen) -> list[str]:
    """Findings that appear in as large a share of the healthy runs as of the faulty ones: they never discriminate."""
    healthy = [c for c in cases if c.fault.healthy]
    faulty = [c for c in cases if not c.fault.healthy]
    codes = {code for c in healthy for code in seen[c.id]} - {"run-healthy", "loss-jitter-benign"}
    return sorted(c for c in codes if _share(healthy, seen, c) >= _share(faulty, seen, c))

"""Findings by the place they were seen at: what stands close together in a file is quoted once, for all of them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..tools.findings import Evidence, Finding, clean
from ..tools.looking.lines import AROUND, Excerpt, excerpts
from ..tools.run import Run

EXCERPTS = frozenset({"log", "config", "script", "stack", "metrics"})
"""Kinds of artifacts whose lines are quoted; lines of data sets are not."""
QUOTED = 2
"""Places of one finding whose lines are quoted."""
NEAR = 3
"""Lines around the first and the last place that are quoted where several findings share the lines."""


@dataclass(frozen=True)
class Row:
    """One finding in the page."""

    id: str
    finding: Finding
    message: str
    place: str
    plotted: bool
    """Whether a picture of its series can mark it."""


@dataclass(frozen=True)
class Quote:
    """Lines of a file, with the places that findings name."""

    file: str
    lines: tuple[tuple[int, str], ...]
    here: frozenset[int]

    @property
    def span(self) -> str:
        first, last = min(self.here), max(self.here)
        return f"{self.file}:{first}" if first == last else f"{self.file}:{first}-{last}"

    def meets(self, other: Excerpt) -> bool:
        return self.file == other.file and bool(dict(self.lines).keys() & dict(other.lines).keys())

    def with_(self, other: Excerpt) -> Quote:
        lines = tuple(sorted({**dict(self.lines), **dict(other.lines)}.items()))
        return replace(self, lines=lines, here=self.here | {other.line})

    def trimmed(self) -> Quote:
        """Less around them where there are several places: the lines between already tell what is around."""
        if len(self.here) == 1:
            return self
        first, last = min(self.here) - NEAR, max(self.here) + NEAR
        return replace(self, lines=tuple((n, text) for n, text in self.lines if first <= n <= last))


@dataclass
class Place:
    """Findings that are seen at one place, the lines there, and where else they are seen."""

    rows: list[Row]
    quote: Quote | None = None
    elsewhere: list[Quote] = field(default_factory=list)


def places(findings: Sequence[Finding], lang: str, run: Run | None = None) -> list[Place]:
    """All findings, grouped by place, in the order in which their first ones were given; each line is quoted once.

    Args:
        findings: in the order in which they are numbered.
        lang: en or zh.
        run: where their lines are read; without it none are quoted.
    """
    quoted = _quoted(findings, run)
    found: list[Place] = []
    for i, finding in enumerate(findings, 1):
        mine = quoted.get(id(finding), [])
        row = _row(f"F{i}", finding, lang)
        there = next((p for p in found if mine and p.quote and p.quote.meets(mine[0])), None)
        if there and there.quote:
            there.rows.append(row)
            there.quote = there.quote.with_(mine[0])
        else:
            there = Place([row], _quote(mine[0]) if mine else None)
            found.append(there)
        for other in mine[1:]:
            _beside(there, other)
    shown = {(p.quote.file, n) for p in found if p.quote for n in p.quote.here}
    for place in found:
        more = [q for q in place.elsewhere if any((q.file, n) not in shown for n in q.here)]
        shown |= {(q.file, n) for q in more for n in q.here}
        place.quote, place.elsewhere = place.quote and place.quote.trimmed(), [q.trimmed() for q in more]
    return found


def _row(id: str, f: Finding, lang: str) -> Row:
    message, place = clean(f.say(lang), 800), clean(f.place())
    plotted = bool(f.evidence and f.evidence[0].metric and f.evidence[0].step is not None)
    return Row(id, f, message, "" if place and message.startswith(place) else place, plotted)


def _quote(one: Excerpt) -> Quote:
    return Quote(one.file, one.lines, frozenset({one.line}))


def _beside(place: Place, other: Excerpt) -> None:
    if place.quote and place.quote.meets(other):
        place.quote = place.quote.with_(other)
        return
    for i, quote in enumerate(place.elsewhere):
        if quote.meets(other):
            place.elsewhere[i] = quote.with_(other)
            return
    place.elsewhere.append(_quote(other))


def _quoted(findings: Sequence[Finding], run: Run | None) -> dict[int, list[Excerpt]]:
    """The lines around the first places of each finding, file by file: each is read once."""
    files = {a.name: a.path for a in run.artifacts if a.kind in EXCERPTS and a.path.is_file()} if run else {}
    wanted = list(_wanted(findings, files.keys()))
    lines: dict[int, Excerpt] = {}
    for name, path in files.items():
        here = [i for i, (_, e) in enumerate(wanted) if e.file == name]
        found = excerpts(path, [wanted[i][1] for i in here], AROUND) if here else []
        lines |= dict(zip(here, found, strict=True))
    out: dict[int, list[Excerpt]] = {}
    for i, (finding, _) in enumerate(wanted):
        out.setdefault(id(finding), []).append(lines[i])
    return out


def _wanted(findings: Sequence[Finding], files: Container[str]) -> Iterator[tuple[Finding, Evidence]]:
    return ((f, e) for f in findings for e in f.evidence[:QUOTED] if e.file and e.file in files and e.line)

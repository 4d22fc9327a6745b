"""What a report to the makers of a framework must contain, gathered from one run and its case.

The seven items are those of the runbook's `bug-report-checklist`. What the run does not show is said to be missing;
nothing is made up and nothing is left in that `redact` knows as a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..tools.documents.environment import Environment, Fact, read_environment
from ..tools.findings import Evidence, Finding, clean
from ..tools.keeping import lost
from ..tools.looking.lines import Excerpt, excerpts
from ..tools.secrets import redact
from ..tools.settings import Setting
from .casebook import BOOK, Case, Casebook, Unusable
from .evidence import Look, look

AROUND = 40
"""Lines kept before and after the first error, unless its traceback begins earlier."""
ATTACHED = 256 << 10
"""Bytes of one file in a bundle."""
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Bundle:
    """One run, as a stranger needs to see it."""

    name: str
    framework: str
    """As the run's own files say, empty if they do not."""
    environment: Environment
    settings: tuple[Setting, ...]
    first: Finding | None
    """The error that came first; without one, the worst thing seen in the metrics."""
    error: Excerpt | None
    """The lines around it, from the head of its traceback."""
    findings: tuple[Finding, ...]
    tried: tuple[str, ...]
    """What earlier turns of the case changed, and what came of it."""
    files: tuple[tuple[str, Path], ...]
    """Configuration files and launch scripts to attach."""

    def missing(self) -> list[str]:
        """Items of the checklist that the run does not show."""
        e = self.environment
        items: dict[str, object] = {
            "hardware": e.hardware,
            "versions": e.versions,
            "command": e.commands,
            "error": self.error,
            "variables": e.variables,
            "script": (),
            "tried": self.tried,
        }
        return [name for name, found in items.items() if not found]


def bundle(path: Path, home: Path, case: str = "") -> Bundle:
    """Gather everything.

    Args:
        case: a case whose attempts are told; without it, the newest case about this run.

    Raises:
        TriageError: the path cannot be read, or there is no such case.
    """
    seen = look([path])
    first = _first_error(seen)
    return Bundle(
        seen.run.root.name or path.name,
        seen.settings.framework,
        read_environment(seen.run, seen.settings),
        tuple(seen.settings),
        first,
        _error_lines(seen, first) if first else None,
        seen.findings,
        _attempts(home, path, case),
        tuple((a.name, a.path) for a in seen.run.of("config", "script") if a.path.is_file()),
    )


def _attempts(home: Path, path: Path, case: str) -> tuple[str, ...]:
    try:
        return tuple(_tried(Casebook(home), path, case))
    except Unusable as error:
        if case:
            raise
        lost(home / BOOK, "not used", error.why)
        return ()


def _first_error(seen: Look) -> Finding | None:
    """The gravest finding with words of a log; the scan tells causes from their echoes and puts causes first."""
    logs = {a.name for a in seen.run.of("log", "stack")}
    spoken = [f for f in seen.scan.findings if f.evidence and f.evidence[0].text and f.evidence[0].file in logs]
    serious = [f for f in spoken if f.severity in ("S0", "S1")]
    return next(iter(serious or [f for f in seen.findings if f.severity in ("S0", "S1")] or spoken), None)


def _error_lines(seen: Look, first: Finding) -> Excerpt | None:
    files = {a.name: a.path for a in seen.run.artifacts}
    place = first.evidence[0] if first.evidence else Evidence()
    if place.file not in files or not place.line:
        return None
    (wide,) = excerpts(files[place.file], [place], around=200)
    heads = [n for n, text in wide.lines if TRACEBACK in text and n <= place.line]
    start = min(heads[-1] if heads else place.line, place.line - AROUND // 2)
    return Excerpt(wide.file, wide.line, tuple(line for line in wide.lines if start <= line[0] <= place.line + AROUND))


def _tried(book: Casebook, path: Path, case: str) -> Iterator[str]:
    chosen = book.get(case) if case else _newest(book, path)
    for event in chosen.events if chosen else ():
        content = event["content"]
        if event["kind"] == "answer" and (p := content.get("proposal")):
            yield clean(f"proposed: {p['variable']} from {p['old']} to {p['new']} ({p['entry']})")
        elif event["kind"] == "verdict":
            changed = ", ".join(f"{c['variable']} {c['old']} -> {c['new']}" for c in content.get("changed", ()))
            yield clean(f"ran again with {changed or 'nothing changed'}: {content['verdict']}")


def _newest(book: Casebook, path: Path) -> Case | None:
    """The newest of the last fifty cases that is about this run."""
    here = path.resolve()
    about = (c.id for c in book.cases() if any(Path(run).resolve() == here for run in c.runs))
    return next((book.get(id) for id in about), None)


def attachments(files: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, str]]:
    """Name and redacted text of every file, its head where it is long."""
    from ..tools.reading import head

    for name, path in files:
        yield name, redact(head(path, ATTACHED).decode("utf-8", "replace"))


def told(fact: Fact) -> str:
    """Where a fact was read."""
    return f"{fact.file}:{fact.line}"

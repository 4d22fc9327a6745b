"""The same quantity said differently in two places: settings, plan, log, tables.

What a log itself measures (the peak of its learning rate, its batch size) counts more than what was written. Goals and
notes about other runs are no statements about this one, so what only documents say stays a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..documents.event import Claim
from ..findings import Evidence, Finding, Severity
from ..settings import CONTEXT, VARIABLES, Settings
from .arithmetic import CLOSE, Quantity, factors, near, number
from .line import Line

MOST_TOLD = 10
KEPT_APART = frozenset({"seed", "save_steps", "log_steps", "eval_steps", "visible_devices"})
"""Variables that many places set for purposes of their own."""
Source = Literal["setting", "plan", "log"]


@dataclass(frozen=True)
class Statement:
    """One quantity as one place says it."""

    of: str
    value: float
    source: Source
    evidence: Evidence


def statements(settings: Settings, claims: Iterable[Claim], lines: Sequence[Line]) -> list[Statement]:
    """Every number about a canonical variable."""
    found = [
        Statement(s.variable, float(s.value), "setting", s.evidence())
        for s in settings
        if isinstance(s.value, (int, float)) and not isinstance(s.value, bool)
    ]
    known = VARIABLES.keys() | CONTEXT.keys()
    found += [
        Statement(c.of, c.value, "plan", Evidence(c.file, c.line, metric=c.of, value=c.value, text=c.text))
        for c in claims
        if c.of in known and not (c.of == "global_batch_size" and c.unit.startswith("tok"))
    ]
    return found + [s for line in lines if (s := _logged(line)) is not None]


def _logged(line: Line) -> Statement | None:
    """What a log measures of a setting: the peak of the rate, the batch."""
    variable = {"learning_rate": "learning_rate", "batch_size": "global_batch_size"}.get(line.name)
    finite = line.finite()
    if variable is None or len(finite) < 20 or line.group:
        return None
    i = int(finite.values.argmax())
    if variable == "learning_rate" and (i == len(finite) - 1 or i == 0):
        return None  # still rising, or logged from the middle: no peak was seen
    return Statement(variable, float(finite.values[i]), "log", finite.evidence(i))


def disagreements(
    settings: Settings, claims: Sequence[Claim], lines: Sequence[Line], made: dict[str, Quantity]
) -> list[Finding]:
    """Pairs of statements that cannot both hold, the gravest first."""
    by: dict[str, list[Statement]] = {}
    for one in statements(settings, claims, lines):
        if one.of not in KEPT_APART:
            by.setdefault(one.of, []).append(one)
    steps = made.get("steps_needed")
    found = [f for of, said in by.items() if (f := _apart(of, said, settings)) is not None]
    found = [f for f in found if not (steps and f.data["of"] == "max_steps")]  # told by the arithmetic
    return sorted(found, key=lambda f: f.severity)[:MOST_TOLD]


def _apart(of: str, said: Sequence[Statement], settings: Settings) -> Finding | None:
    """The first statement and the one that is farthest from it."""
    order: list[Source] = ["setting", "log", "plan"]
    first = min(said, key=lambda s: order.index(s.source))
    others = [s for s in said if s.evidence.file != first.evidence.file and not near(s.value, first.value)]
    if not others or any(near(s.value, first.value) for s in said if s.source == "plan" and s is not first):
        return None
    other = max(others, key=lambda s: (s.source == "log", abs(s.value - first.value)))
    ratio = other.value / first.value if first.value else float("inf")
    names = factors(ratio, settings) if ratio > 0 else ()
    why = f", {ratio:.3g} times as much: exactly {' x '.join(names)}" if names else ""
    places = [f"{s.evidence.file}:{s.evidence.line}" for s in (first, other)]
    logs = [s.value for s in said if s.source == "log"]
    several = any(not near(v, other.value) for v in logs)  # tries, of which one file says what some were given
    guessed = first.source == "setting" and of in settings.unsure  # the log may be of another of these programs
    measured = other.source == "log" and not several and not guessed and abs(ratio - 1) > 2 * CLOSE
    return Finding(
        "said-differently", Severity.S2 if measured else Severity.S3,
        f"{of} is {number(first.value)} in {places[0]} and {number(other.value)} in {places[1]}{why}.",
        f"{of} 在 {places[0]} 为 {number(first.value)}，在 {places[1]} 为 {number(other.value)}。",
        (first.evidence, other.evidence),
        {"of": of, "values": [first.value, other.value], "sources": [first.source, other.source], "ratio": ratio},
    )  # fmt: skip

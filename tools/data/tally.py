"""What `check` counts about records, part by part, and what it is asked; judged in `defects`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..findings import clean
from .pii import mask
from .records.record import Broken, Lines, Part, Record

PLACES_KEPT = 5


@dataclass(frozen=True)
class Wanted:
    """What the data is checked against."""

    context_length: int | None = None
    """Tokens; None when not known."""
    field: str | None = None


@dataclass
class Tally:
    """Everything counted about some records; parts add up to a whole."""

    part: int = -1
    lines: int = 0
    records: int = 0
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0
    shapes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(family of files, shape): shards of one name apart from digits are one family, and have one schema."""
    scripts: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    """Estimated tokens, by upper edge."""
    tokens: int = 0
    longest: int = 0
    over_context: int = 0
    filled: int = 0
    """Records of at least half the context length."""
    keys: Counter[str] = field(default_factory=Counter)
    types: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(family, field, JSON type) of every field."""
    defects: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[tuple[str, int, int | None, str]]] = field(default_factory=dict)
    """Defect -> (file, line, byte, masked excerpt) of the first ones; lines relative to the part until joined."""
    openings: Counter[str] = field(default_factory=Counter)
    responses: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Filter reasons, where the data carries them."""
    kept_flags: Counter[str] = field(default_factory=Counter)

    def defect(self, name: str, file: str, record: Record, text: str) -> None:
        self.defects[name] += 1
        places = self.places.setdefault(name, [])
        if len(places) < PLACES_KEPT:
            places.append((file, record.line, record.byte, clean(mask(text[:600]), 160)))

    def add(self, other: Tally, part: Part, lines: Lines) -> None:
        for name in ("records", "broken_count", "tokens", "over_context", "filled", "responses"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("shapes", "scripts", "lengths", "keys", "types", "defects", "openings", "reasons", "kept_flags"):
            getattr(self, name).update(getattr(other, name))
        self.longest = max(self.longest, other.longest)
        for name, places in other.places.items():
            mine = self.places.setdefault(name, [])
            mine += [(f, lines.absolute(part, n), b, t) for f, n, b, t in places][: PLACES_KEPT - len(mine)]

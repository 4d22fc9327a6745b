"""One file of scores with how they were measured, and one task in two of them."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST, UNSURE, CLEAR = 1.5, 3.0, 2.0
"""Points that a score moves at least, those where its error is not known, and standard errors."""


@dataclass
class Result:
    """One file of scores."""

    file: str
    text: str
    model: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    errors: dict[str, dict[str, float]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    own: dict[str, dict[str, str]] = field(default_factory=dict)
    """Settings of each task."""
    general: dict[str, str] = field(default_factory=dict)
    versions: dict[tuple[str, str], str] = field(default_factory=dict)

    def at(self, *words: str) -> int | None:
        """The line where the last of the words stands, after the first ones."""
        place = 0
        for word in words:
            found = max(self.text.find(f'"{word}"', place), self.text.find(f"{word}:", place))
            place = found if found >= 0 else place
        return self.text.count("\n", 0, place) + 1 if place else None


@dataclass(frozen=True)
class Moved:
    """One task in both results."""

    task: str
    before: float
    after: float
    error: float | None
    apart: tuple[tuple[str, str, str], ...]
    """Its own settings that differ."""

    @property
    def clear(self) -> bool:
        gap = abs(self.before - self.after)
        return gap >= UNSURE if self.error is None else gap >= max(LEAST, CLEAR * self.error)

"""Verdicts of a judge on two models."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...findings import Evidence

LEAST = 30
"""Verdicts below which nothing is said of two models."""


@dataclass
class Bout:
    """Verdicts on two models in one order."""

    first: str
    second: str
    won: float = 0.0
    """By the first place."""
    of: float = 0.0
    places: list[Evidence] = field(default_factory=list)
    tables: set[int] = field(default_factory=set)

    @property
    def share(self) -> float:
        return self.won / self.of

    def said(self) -> str:
        return f"{self.share:.0%} of {self.of:.0f} ({self.first} first, {self.second} second)"

    def said_zh(self) -> str:
        return f"{self.of:.0f} 次中 {self.share:.0%}（{self.first} 在前，{self.second} 在后）"

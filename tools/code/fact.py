"""One thing that a training program does, as its text says it; how programs are read for it is in `facts`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..findings import Evidence, Report

How = Literal["written", "read", "seen"]


@dataclass(frozen=True)
class Fact:
    """One thing that a program does, and where."""

    of: str
    """A canonical variable (`learning_rate`), or what else is told: `order`, `optimizer`, `saves`, `collective`, ..."""
    value: str
    """A number as written, or words."""
    how: How
    """Written into the program; read from arguments, configuration or what is computed; or seen in what it does."""
    file: str
    line: int
    text: str
    tied: bool = False
    """Whether the run leads to this program: its files name it, or no other program reads a configuration."""

    @property
    def number(self) -> float | None:
        """The value of a number that is written into the program."""
        try:
            return float(self.value) if self.how == "written" else None
        except ValueError:
            return None

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.line, metric=self.of, value=self.number, text=self.text)


@dataclass(frozen=True)
class Judged(Report):
    """The programs of a run: their hazards, and what they do."""

    facts: tuple[Fact, ...] = ()


def facts_in(reports: Iterable[Report]) -> tuple[Fact, ...]:
    """What the programs do, as the reports of a look have it."""
    return tuple(f for r in reports if isinstance(r, Judged) for f in r.facts)

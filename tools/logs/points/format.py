"""What a log format is, and what one line of it says; the formats themselves are declared in `formats`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

StepFrom = Literal["line", "keys", "last", "epoch"]


@dataclass(frozen=True)
class Record:
    """What one line says."""

    format: str
    values: tuple[tuple[str, float], ...]
    """(key as the log has it, value in the canonical unit of its own suffix)."""
    step: int | None = None
    """None: the format has no step, it follows from the order of the lines."""
    counter: str = ""
    """The word the step was counted with; counters of different names are different streams."""
    epoch: float | None = None
    rank: int | None = None
    counts_alone: bool = False
    """As of the format."""
    at: tuple[int, int] | None = None
    """Where in the line the step stands, if it does."""
    places: tuple[tuple[int, int], ...] = ()
    """Where each value stands."""
    epoch_at: tuple[int, int] | None = None
    rank_at: tuple[int, int] | None = None


@dataclass(frozen=True)
class Sample:
    """A line of the format and what must be read from it; `step=-1`: the line must not be read."""

    line: str
    step: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One way of printing metrics."""

    name: str
    needs: tuple[str, ...]
    """Words that every line of the format holds: the cheap test before the patterns."""
    pairs: re.Pattern[str]
    """Key, number, unit."""
    step: re.Pattern[str] | None = None
    """The step in its last group, the counter's name in the first of two; None: any step-like word. Where the step is
    the last one read, only what a line must match."""
    step_from: StepFrom = "line"
    """`line`: by `step`; `keys`: a step-like key or none; `last`: the step last read in the file; `epoch`."""
    epoch: re.Pattern[str] | None = None
    """The epoch in its only group, where it has no word of its own (`[3,  2000]`)."""
    keeps_unknown: bool = False
    """Whether keys outside `VOCABULARY` are kept."""
    always: bool = False
    """Whether a line is a record even without a known metric."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Keys that mean something else in this format."""
    before: str = ""
    """Only what stands before this in the line is read for pairs."""
    opens: re.Pattern[str] | None = None
    """The start of a record that may be wrapped over several lines."""
    closes: re.Pattern[str] | None = None
    a_key_a_line: re.Pattern[str] | None = None
    """A line of a record that is printed with a key a line: it goes on as long as such lines come."""
    counts_alone: bool = False
    """Whether a line is a step of its own: one without a step counts as the next, and epochs do not restart it."""
    training_only: bool = False
    """Whether a line that tells of held-out data (the bar of an evaluation) is no record."""
    keyed: bool = False
    """Whether metrics stand under quoted keys: any line with the key of one is looked at."""
    own_hint: str = ""
    """What every line of the format holds, where `needs` has no word that is rare in other lines: a pattern in lower
    case, without look-around and without line feeds."""
    samples: tuple[Sample, ...] = ()

    @property
    def hint(self) -> str:
        """`own_hint`, or else the longest word of `needs`: a line with no format's hint is not looked at."""
        return self.own_hint or re.escape(max(self.needs, key=len).lower())

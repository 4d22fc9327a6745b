"""What documents and logs of a run tell: that something happened, and what was planned or promised.

They are read in `tools.documents.read`, and related to what was measured in `tools.relate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["config", "data", "restart", "node", "deployment", "code", "dependency", "note", "lost"]
"""What an event is about; `lost`, that what would have told was not kept."""


@dataclass(frozen=True)
class Event:
    """One dated or stepped line."""

    what: Kind
    text: str
    """The line, cleaned and bounded."""
    file: str
    line: int
    step: int | None = None
    at: float | None = None
    """Seconds since the epoch."""
    variable: str = ""
    """The canonical setting that was changed, where the line says so."""
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Claim:
    """A quantity with a meaning that somebody wrote down: the batch that was planned, the score that was hoped for."""

    of: str
    """Canonical setting or metric; its own words where none is known."""
    value: float
    unit: str
    text: str
    file: str
    line: int

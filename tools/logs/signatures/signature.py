"""One error signature: what a line must contain, what it must not, and examples of both. The rows stand in
the tables beside it (`gpu`, `ranks`, `joining`, `engines`, `checks`, `loading`, `software`, ...); the matcher is
`match`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...findings import Severity

CHECK = "error signatures"
"""The check that all rows are, and what else the text of a log says."""
S0, S1, S2, S3 = Severity.S0, Severity.S1, Severity.S2, Severity.S3
PROGRAM_GONE = (
    r"No such file or directory: ['\"](?:java|git|ffmpeg|ffprobe|nvcc|gcc|g\+\+|cmake|ninja|make|sox|aws|gsutil|docker"
    r"|perl|node|npm|tesseract|pdftotext|wget|curl|unzip|srun|sbatch|nvidia-smi|python3?|bash)['\"]"
)
"""A program that was to be started, by its bare name, is not there."""


@dataclass(frozen=True)
class Signature:
    """A row of the table. `pattern` is understood by `re` and by hyperscan: no look-around, no
    back-references."""

    code: str
    severity: Severity
    """Severity when the match is the end of the run and its first cause."""
    pattern: str
    en: str
    """What it means, an English clause."""
    zh: str
    shows: tuple[str, ...]
    """Lines it must match; they are its tests."""
    silent: tuple[str, ...] = ()
    """Similar lines it must not match; they are its tests."""
    must_not: str = ""
    """Safety constraint: a line that also matches this is not a hit."""
    role: Literal["cause", "echo"] = "cause"
    """An echo is the way another process or layer reports somebody else's failure."""
    undone: str = ""
    """What a later line says that takes the hit back: the same thing was done after all."""
    lasting: bool = False
    """What the line says holds for the rest of the run, so that further steps do not show that it was survived."""

    within: str = ""
    """The part of a program (`parts`) in which its words have this meaning: they are those of any error of that type.
    Where the traceback shows it nowhere, the finding says of itself that nothing is named (`of`)."""

    def __post_init__(self) -> None:
        for name in ("code", "pattern", "en", "zh", "shows"):
            if not getattr(self, name):
                raise ValueError(f"error signatures: {self.code or self.pattern!r} has an empty {name}")

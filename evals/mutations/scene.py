"""What a scene is."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from .planting import Defect, Lines


@dataclass(frozen=True)
class Scene:
    """A part of a program and what can be planted in it."""

    name: str
    text: str
    """Imports and functions, a line `===`, and what is wrapped in functions and classes."""
    defects: tuple[Defect, ...]

    @property
    def parts(self) -> tuple[Lines, Lines]:
        head, _, body = dedent(self.text).strip("\n").rpartition("===\n")
        return head.splitlines(), body.splitlines()

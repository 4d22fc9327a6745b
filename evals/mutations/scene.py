"""What a scene is, and the forms in which it is written.

They are read and never run: the devices, ranks and models that they name are not there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

from .planting import Defect, Lines, indent, indented

BETWEEN = ("# as before", 'print("here")', "# checked by hand", "started = True", 'logger.info("next")')
"""Lines that do nothing."""


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


def forms(scene: Scene) -> Iterator[tuple[str, Lines]]:
    """The scene as a script, as a function, and as a method of a class; lines that do nothing put between."""
    head, body = scene.parts
    yield "script", _between([*head, *body], scene.name)
    yield "main", _between([*head, "def main():", *indented(body, 4), "main()"], scene.name + "m")
    yield (
        "class",
        _between([*head, "class Job:", "    def run(self):", *indented(body, 8), "Job().run()"], scene.name + "c"),
    )


def _between(lines: Lines, seed: str) -> Lines:
    draw = random.Random(seed)
    out: Lines = []
    depth = 0
    for line in lines:
        plain = (
            depth == 0
            and line.strip()
            and not line.lstrip().startswith(("else", "elif", "except", "finally", "def", "@"))
        )
        if plain and out and not out[-1].lstrip().startswith("@") and draw.random() < 0.2:
            out.append(" " * indent(line) + draw.choice(BETWEEN))
        out.append(line)
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
    return out

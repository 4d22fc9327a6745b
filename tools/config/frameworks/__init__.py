"""The frameworks whose files and commands are understood: one file each, in the folder of its kind."""

from __future__ import annotations

from ...registry import modules, table
from ..framework import Framework

FRAMEWORKS: dict[str, Framework] = table(
    "frameworks",
    ((m.FRAMEWORK.name, m.FRAMEWORK) for kind in modules(__name__) for m in modules(kind.__name__)),
)
UNKNOWN = Framework(name="")


def named(name: str) -> Framework:
    """The framework of that name; one that says nothing where there is none."""
    return FRAMEWORKS.get(name, UNKNOWN)

"""What a lint rule is: a function over `Settings` whose docstring is its documentation.

A rule yields `Fault`s; `lint` turns them into findings. Rules judge what is written down; what only the program
sets is not visible and never counts as fine or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...settings import Settings


@dataclass(frozen=True)
class Fault:
    """One thing that a rule objects to."""

    variable: str
    """Variable the finding is about."""
    message: str
    zh: str
    severity: str = ""
    """The rule's own severity if empty."""
    fix: str = ""
    """New value as the file would spell it, empty where no single value is right."""
    beside: tuple[str, ...] = ()
    """Other variables whose lines belong to the evidence."""


Judge = Callable[[Settings], Iterator[Fault]]


@dataclass(frozen=True)
class Rule:
    code: str
    severity: str
    needs: tuple[str, ...]
    """Variables that must be visible, written or derived; without them the check does not apply."""
    judge: Judge

    @property
    def page(self) -> str:
        """The documentation: why, bad, good, known gaps, source."""
        return _unindent(self.judge.__doc__ or "")

    @property
    def title(self) -> str:
        return self.page.splitlines()[0] if self.page else ""


RULES: dict[str, Rule] = {}
"""Code -> rule, filled by importing the modules of this package."""


def rule(code: str, severity: str, needs: tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Register a rule under its code."""

    def register(judge: Judge) -> Judge:
        if code in RULES:
            raise ValueError(f"two lint rules are called {code!r}")
        if not judge.__doc__:
            raise ValueError(f"lint rule {code!r} has no docstring")
        RULES[code] = Rule(code, severity, needs, judge)
        return judge

    return register


def _unindent(text: str) -> str:
    import inspect

    return inspect.cleandoc(text)

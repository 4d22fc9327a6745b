"""A row of the table of credentials, and how it is looked for in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .forms import Valid, random_token
from .naming import begins


@dataclass(frozen=True, eq=False)
class Secret:
    """One kind of credential: a row of the table."""

    kind: str
    """What stands in its place: `[secret:KIND]`."""
    hint: tuple[str, ...]
    """Lower-case words of which the lower-cased text must hold one, so that clean text costs no pattern."""
    pattern: str
    """A named group narrows what is masked. Bounded repeats where the start can come again: time stays linear."""
    shows: tuple[str, ...]
    """Lines in which both readers must find it, for `spelled`: its tests."""
    silent: tuple[str, ...] = ()
    """Similar lines in which neither may find anything; its tests."""
    valid: Valid = random_token
    """What is asked beside the form in training data; masking does not ask."""
    strong: bool = True
    """An unmistakable form: in training data a find of the first severity."""
    form: Callable[[str, str], bool] = lambda head, value: True
    """(what the pattern found before the value, the value) -> whether it is one: asked by both readers."""

    sieve: tuple[str, ...] = ()
    """Of a value known by the name before it (`naming`): coarser patterns, one of which is in every text with one."""

    def __post_init__(self) -> None:
        for name in ("kind", "hint", "pattern", "shows"):
            said = getattr(self, name)
            if not said or not all(said):
                raise ValueError(f"SECRETS: {self.kind or self.pattern!r} has an empty {name}")

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where its values stand. What is none is read again from there on: it may hold one itself."""
        at, names = 0, begins(text)
        while match := self._next(text, at, names):
            start, end = match.span(match.lastgroup or 0)
            if whole := self.form(text[match.start() : start], text[start:end]):
                yield start, end
            at = match.end() if whole or start == match.start() else start

    def _next(self, text: str, at: int, names: Iterator[int]) -> re.Match[str] | None:
        if not self.sieve:
            return self.regex.search(text, at)
        return next((match for b in names if b >= at and (match := self.regex.match(text, b))), None)

"""Canonical settings with provenance, whatever framework wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .findings import Evidence


@dataclass(frozen=True)
class Setting:
    """One canonical variable as one file of the run sets it."""

    variable: str
    """Canonical name, see `VARIABLES` (contracts: `learning_rate`, `grad_clip`, ...)."""
    value: Any
    """Typed value in the canonical unit (float, int, bool or str)."""
    raw: str
    """The value exactly as the file spells it."""
    key: str
    """The framework's own (dotted) key or flag."""
    file: str
    line: int

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.line, metric=self.variable, value=self.value, text=f"{self.key}: {self.raw}")


@dataclass(frozen=True)
class Settings:
    """The settings in force: where several files set one variable, the last in precedence wins."""

    values: Mapping[str, Setting] = field(default_factory=dict)
    shadowed: tuple[Setting, ...] = ()
    """Settings of the same variable that another file overrides."""

    def get(self, variable: str) -> Setting | None:
        return self.values.get(variable)

    def value(self, variable: str, default: Any = None) -> Any:
        """The value, or the derived value (global batch, total steps), or `default`."""
        setting = self.values.get(variable)
        return setting.value if setting else default

    def __contains__(self, variable: object) -> bool:
        return variable in self.values

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.values.values())

"""How the tables of the package are filled: being in the place is being registered.

`modules` imports what stands in a folder, `table` joins declarations to one dictionary and refuses what is said twice
or not at all. Which declarations there are is known to their own folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def modules(package: str, *prefixes: str) -> Iterator[ModuleType]:
    """Every module directly in a package (dotted name) that begins so, imported, in alphabetical order."""
    for found in iter_modules(import_module(package).__path__):
        if found.name.startswith(prefixes or ""):
            yield import_module(f"{package}.{found.name}")


def table(name: str, entries: Iterable[tuple[str, T | None]]) -> dict[str, T]:
    """The entries as a dictionary.

    Raises:
        ValueError: a key is empty or given twice, or a value is empty; the message names the table and the key.
    """
    filled: dict[str, T] = {}
    for key, value in entries:
        if key in filled:
            raise ValueError(f"{name}: {key!r} is declared twice")
        if not key or value is None or value == "" or value == ():
            raise ValueError(f"{name}: {key!r} is empty")
        filled[key] = value
    return filled

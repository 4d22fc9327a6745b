"""Every finding code that some tool declares in its `CODES`: the one catalogue of the pages, the tests and acceptance.

It stands above all tools, which know nothing of it. What a code means to a run is for the runbook.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from .findings import Code

ROOT = __package__ or "triage.tools"


def tables() -> Iterator[tuple[str, dict[str, Code]]]:
    """(module below `tools`, its `CODES`) of every module that has some; those of the logs first."""
    names = [module.name for module in walk_packages(import_module(ROOT).__path__, f"{ROOT}.")]
    for name in sorted(names, key=lambda n: not n.startswith(f"{ROOT}.logs.")):
        if declared := getattr(import_module(name), "CODES", None):
            yield name.removeprefix(f"{ROOT}."), declared


@cache
def codes() -> dict[str, dict[str, Code]]:
    """Wing of `tools` (logs, data, ...) -> finding code -> its checks and meaning.

    What several tools of one wing find has the checks of all of them, and the meaning that comes last.
    """
    wings: dict[str, dict[str, Code]] = {}
    for module, declared in tables():
        wing = wings.setdefault(module.split(".")[0], {})
        for code, (checks, meaning) in declared.items():
            before = wing[code].checks if code in wing else ()
            wing[code] = Code(tuple(dict.fromkeys((*before, *checks))), meaning)
    return wings


@cache
def checks(code: str) -> tuple[str, ...]:
    """Names of the checks that look for this code; empty for a code that no tool has."""
    return tuple(dict.fromkeys(name for wing in codes().values() if code in wing for name in wing[code].checks))

"""What the shell offers behind Tab: entries, finding codes, cases, frameworks. Each gives `(value, help)` pairs.

Typer calls these while a line is typed, so they must be quick and must never fail: a broken casebook completes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator


def entries(incomplete: str) -> Iterator[tuple[str, str]]:
    """Runbook entries, by the names of their files."""
    from ..knowledge.runbook import SHIPPED

    yield from ((path.stem, "") for path in sorted(SHIPPED.glob(f"{_plain(incomplete)}*.md")))


def rules(incomplete: str) -> Iterator[tuple[str, str]]:
    from ..tools.code.check import RULES as CODE
    from ..tools.config.lint import RULES

    every = sorted({**{c: r.title for c, r in RULES.items()}, **{c: r.title for c, r in CODE.items()}}.items())
    yield from ((code, title) for code, title in every if code.startswith(incomplete))


def explained(incomplete: str) -> Iterator[tuple[str, str]]:
    """Everything that `triage explain` knows."""
    from ..agent.narrate.explain import names
    from ..knowledge.runbook import load

    yield from ((name, "") for name in names(load()) if name.startswith(incomplete))


def cases(incomplete: str) -> Iterator[tuple[str, str]]:
    """The newest cases with their questions."""
    from ..agent.casebook import Casebook, home
    from ..tools.findings import TriageError, clean

    try:
        for case in Casebook(home()).cases():
            if case.id.startswith(incomplete):
                yield case.id, clean(case.question, 60)
    except TriageError:
        return


def frameworks(incomplete: str) -> Iterator[tuple[str, str]]:
    from .bugreport import TEMPLATES

    yield from ((name, form.project) for name, form in TEMPLATES.items() if name.startswith(incomplete))


def _plain(text: str) -> str:
    """Without the characters that a file pattern would obey."""
    return "".join(c for c in text if c.isalnum() or c == "-")

"""The source runbooks by name, in place of the numbers under which the entries cite them.

An entry's own data (`sources` in JSON) keeps the numbers. Only what the runbook says is put into names, never a run's
text.
"""

from __future__ import annotations

import re

from ...tools.phrase import phrases

BOOKS = phrases(
    "source runbooks",
    ("000", "the post-training runbook", "《后训练 Runbook》"),
    ("001", "the large-model runbook", "《大模型排障 Runbook》"),
    ("002", "the diagnosis handbook", "《训练诊断手册》"),
    ("003", "the LightRFT guide", "《LightRFT 指南》"),
    ("004", "the MiniOneRec guide", "《MiniOneRec 指南》"),
)
_NUMBER = re.compile(
    r"(?:(?P<called>[Rr]unbooks?|[Ss]ources?) |来源 ?|手册 ?)?(?<![A-Za-z0-9_.,:/§-])"
    rf"(?P<book>{'|'.join(BOOKS)})(?![.,]?\d|[A-Za-z_])"
)
"""A source as the entries name it; no step, no shard (`00001-of-00002`), no number with a comma or a point in it."""


def cite(source: str, lang: str) -> str:
    """A citation: `the diagnosis handbook §1 1a` for `002 §1 1a`; public references stay as they are."""
    book, _, place = source.partition(" ")
    return f"{BOOKS[book].say(lang)} {place}".strip() if book in BOOKS else source


def named(text: str, lang: str) -> str:
    """A sentence of the runbook with its sources by name."""

    def name(match: re.Match[str]) -> str:
        said = BOOKS[match["book"]].say(lang)
        return said[:1].upper() + said[1:] if (match["called"] or "").istitle() else said

    return _NUMBER.sub(name, text)

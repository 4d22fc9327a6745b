"""The store of one look: everything that was read of a run, to be asked in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..tools.code.fact import facts_in
from ..tools.scores import scores
from ..tools.store import contents
from ..tools.store.opened import read_open
from ..tools.store.store import Store, stored
from .evidence import Look

ROWS = ("metrics", "data", "generations", "log")
"""Kinds whose rows only the store wants as they stand: detectors read their series, checks their records; of a log what
a server says of its load."""


@contextmanager
def store_of(look: Look) -> Iterator[Store]:
    """The store of a look, gone with the block; tables are read here that nobody else needs.

    Raises:
        TriageError: there is no room for it.
    """
    more = read_open(look.run, ROWS)
    found = (*scores(look.run).items(), *scores(look.run, base=True).items())
    parts = [
        contents.files_part((c.file, c.read_as, c.why, c.rows, c.points) for c in look.coverage),
        contents.series_part(look.series),
        contents.settings_part(look.settings),
        contents.events_part(look.events),
        contents.claims_part(look.claims),
        contents.scores_part(found),
        contents.findings_part(look.findings),
        contents.facts_part(facts_in(look.reports)),
        *contents.table_parts((*look.tables, *more.tables)),
    ]
    with stored(parts) as store:
        yield store

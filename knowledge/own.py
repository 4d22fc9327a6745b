"""What a person's own runbooks say about some words: their passages, ranked by words and by vectors.

Nothing that is wrong with an index is the end of an answer: without vectors the words decide, without the library there
are no passages, and either is said. What was added meanwhile, by another process too, is seen at the next question.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tools.keeping import PRIVATE, lost, whole
from .entry import RunbookError
from .lexical import Lexical
from .library import Library, Passage, indexed
from .vectors import Shelf, Store
from .words import tokens

ATTEMPTS = 3
"""Opening a store that another process replaces meanwhile."""


@dataclass(frozen=True)
class Read:
    """The passages of one revision of the library, and their words."""

    revision: str
    passages: list[Passage]
    numbers: dict[str, int]
    words: Lexical


def read_own(library: Library) -> Read:
    """Read the passages, and their BM25 from its file, or make that anew when a passage has changed.

    Raises:
        RunbookError: the library cannot be read.
    """
    import numpy as np

    passages, revision = library.passages(), library.revision()
    file = library.folder / "passages.npz"
    try:
        with np.load(file, allow_pickle=False) as arrays:
            words = Lexical.restore(arrays, "passage") if str(arrays["revision"]) == revision else None
    except Exception:  # whatever is wrong with a cache, it is made anew
        words = None
    if words is None:
        words = Lexical.build([tokens(indexed(p)) for p in passages])
        try:
            with whole(file, mode=PRIVATE) as (draft,), draft.open("wb") as out:
                np.savez(out, revision=np.array(revision), **words.arrays("passage"))
        except OSError as error:
            lost(file, "not kept", error)
    return Read(revision, passages, {p.id: i for i, p in enumerate(passages)}, words)


class Own:
    """The library and the store in force, read again when they have changed."""

    def __init__(self, shelf: Shelf, wanted: dict[str, str], option: str = ""):
        self._shelf, self._wanted, self._option = shelf, wanted, option
        self._read: Read | None = None
        self._store: tuple[str, Store] | None = None

    def read(self) -> Read | None:
        """None without passages."""
        library = self._shelf.library
        try:
            if not library.exists:
                return None
            if self._read is None or self._read.revision != library.revision():
                self._read = read_own(library)
        except RunbookError as error:
            lost(library.path, "not used", error)
            return None
        return self._read if self._read.passages else None

    def nearest(self, kind: str, vector: Any, n: int) -> dict[str, float] | None:
        """id -> cosine of the `n` nearest; None where the store cannot be used."""
        why: object = ""
        for _ in range(ATTEMPTS):
            name = ""
            try:
                name = self._shelf.name
                return self._current(name).nearest(kind, vector, n)
            except RunbookError as error:
                self._store, why = None, error
            if not name or name == self._shelf.name:
                break
        lost(Path(self._shelf.url or self._shelf.folder), "not used", why)
        return None

    def _current(self, name: str) -> Store:
        if self._store is None or self._store[0] != name:
            store = self._shelf.current()
            store.expect(self._wanted, self._option)
            self._store = (name, store)
        return self._store[1]

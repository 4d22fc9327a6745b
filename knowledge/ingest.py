"""Keeping an index up to date: a person's files in, out, and everything anew.

Reading Markdown is `markdown`'s, remembering files is `library`'s; this brings the Chroma store into step, aside, while
others search the one that is in force. One writer at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import embedding
from .entry import RunbookError
from .library import Added, Library, Listen, Passage, indexed
from .own import read_own
from .search import Index
from .vectors import Shelf, Store

BATCH = 500
"""Passages encoded at once."""


def silent(done: int, total: int) -> None:
    """Progress that nobody watches."""


def add(index: Index, paths: Sequence[Path], listen: Listen = silent) -> Added:
    """Bring files and directories up to date, and the index with them.

    Args:
        index: one with a data directory.
        paths: files or directories; none for everything added before.
        listen: called with (files done, files in all).

    Raises:
        RunbookError: a path does not exist, or the index was made with another encoder.
    """
    with _alone(index) as library:
        _same_encoder(index)
        done = library.add(paths, listen)
        _bring(_fresh(index), library)
    return done


def remove(index: Index, paths: Sequence[Path]) -> int:
    """Forget files, and all files below directories; returns how many.

    Raises:
        RunbookError: none of them was added.
    """
    with _alone(index) as library:
        count = library.remove(paths)
        _bring(_fresh(index), library)
    return count


def rebuild(index: Index, listen: Listen = silent) -> int:
    """Make the whole index anew with the index's encoder; returns the number of passages."""
    with _alone(index) as library:
        return _bring(index, library, listen, anew=True)


@contextmanager
def _alone(index: Index) -> Iterator[Library]:
    with index.own_library().alone():
        yield index.own_library()


def _same_encoder(index: Index) -> None:
    """Vectors of two encoders cannot be compared; a store that cannot be read is made anew, with any."""
    wanted = embedding.encoder(index.encoder).name
    store = _in_force(index.shelf)
    if store and store.manifest().get("encoder") not in (None, wanted):
        raise RunbookError(
            f"the index was made with encoder {store.manifest()['encoder']}; `triage runbook index` makes it anew"
        )


def _in_force(shelf: Shelf) -> Store | None:
    try:
        store = shelf.current()
        store.manifest()
    except RunbookError:
        if shelf.url:
            raise
        return None
    return store


def _bring(index: Index, library: Library, listen: Listen = silent, anew: bool = False) -> int:
    """Put the passages of the library, and the entries, into a store, and that in force; returns their number."""
    passages, prefix = read_own(library).passages, f"{library.name}-"
    begin = None if anew else _in_force(index.shelf)
    had = begin.ids("passage", prefix) if begin else set()
    missing = [p for p in passages if p.id not in had]
    gone = had - {p.id for p in passages}
    if begin and not missing and not gone and begin.manifest() == index.manifest():
        return len(passages)
    with index.shelf.next(begin) as store:
        for kind in ("passage", "entry") if anew else ():
            store.clear(kind)
        store.remove("passage", sorted(gone))
        for at in range(0, len(missing), BATCH):
            _put(index, store, missing[at : at + BATCH])
            listen(min(at + BATCH, len(missing)), len(missing))
        _mirror(index, store)
    return len(passages)


def _mirror(index: Index, store: Store) -> None:
    """Put the entries into the store, unless they are there already."""
    if store.manifest() == index.manifest():
        return
    store.clear("entry")
    entries = list(index.runbook)
    store.put("entry", [e.id for e in entries], index.compiled.corpus.centres, [e.title.en for e in entries])
    store.set_manifest(index.manifest())


def _fresh(index: Index) -> Index:
    """The same index, with the entries that were just added or removed."""
    return Index(index.home, index.encoder, index.chroma_url)


def _put(index: Index, store: Store, passages: Sequence[Passage]) -> None:
    vectors = embedding.encoder(index.encoder).encode([indexed(p) for p in passages])
    store.put("passage", [p.id for p in passages], vectors, [p.text for p in passages])

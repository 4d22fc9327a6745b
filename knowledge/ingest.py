"""Keeping an index up to date: a person's files in, out, and everything anew.

Reading Markdown is `markdown`'s, remembering files is `library`'s; this brings library and Chroma store into step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import embedding
from .entry import RunbookError
from .library import Added, Library, Listen, Passage, indexed
from .search import Index, read_own
from .vectors import Store

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
    library, store = _writable(index)
    encoder = embedding.encoder(index.encoder)
    if (made := store.manifest().get("encoder")) not in (None, encoder.name):
        raise RunbookError(f"the index was made with encoder {made}; `triage runbook index` makes it anew")

    def write(passages: list[Passage]) -> None:
        _put(index, store, passages)

    done = library.add(paths, write, lambda ids: store.remove("passage", ids), listen)
    if done.new or done.changed or done.removed or not store.manifest():
        read_own(library)
        mirror(_fresh(index), store)
    return done


def remove(index: Index, paths: Sequence[Path]) -> int:
    """Forget files, and all files below directories; returns how many.

    Raises:
        RunbookError: none of them was added.
    """
    library, store = _writable(index)
    count = library.remove(paths, lambda ids: store.remove("passage", ids))
    mirror(_fresh(index), store)
    return count


def rebuild(index: Index, listen: Listen = silent) -> int:
    """Make the whole index anew with the index's encoder; returns the number of passages."""
    library, store = _writable(index)
    passages = library.passages()
    for kind in ("passage", "entry"):
        store.clear(kind)
    for at in range(0, len(passages), BATCH):
        _put(index, store, passages[at : at + BATCH])
        listen(min(at + BATCH, len(passages)), len(passages))
    mirror(index, store)
    return len(passages)


def mirror(index: Index, store: Store) -> None:
    """Put entries, their phrases and their sections into the store, unless they are there already."""
    if store.manifest() == index.manifest():
        return
    texts: dict[str, dict[str, str]] = {"phrase": {}, "section": {}}
    for entry in index.runbook:
        for lang, phrases in (("en", entry.says.en), ("zh", entry.says.zh)):
            texts["phrase"] |= {f"{entry.id}/{lang}/{i}": phrase for i, phrase in enumerate(phrases)}
        for lang, part in entry.body.items():
            texts["section"] |= {f"{entry.id}/{lang}/{heading}": text for heading, text in part.items()}
    corpus = index.compiled.corpus
    for kind in ("entry", *texts):
        store.clear(kind)
    store.put("entry", list(index.runbook.entries), corpus.centres, [e.title.en for e in index.runbook])
    for kind, of in texts.items():
        store.put(kind, list(of), corpus.encoder.encode(list(of.values())), list(of.values()))
    store.set_manifest(index.manifest())


def _writable(index: Index) -> tuple[Library, Store]:
    store = index.open_store()
    assert index.library is not None
    return index.library, store


def _fresh(index: Index) -> Index:
    """The same index, with the entries that were just added or removed."""
    return Index(index.home, index.encoder, index.chroma_url)


def _put(index: Index, store: Store, passages: Sequence[Passage]) -> None:
    vectors = embedding.encoder(index.encoder).encode([indexed(p) for p in passages])
    store.put("passage", [p.id for p in passages], vectors, [p.text for p in passages])

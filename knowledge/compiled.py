"""The runbook and its index, read from a cache when nothing has changed.

The cache lies in the data directory and holds JSON and plain arrays, never code. Its name carries a hash of all that it
was made from, so a stale one is not found; a damaged one is made anew. Without a data directory everything is built.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tools.keeping import PRIVATE, lost, whole
from . import embedding, outside
from .embedding import Encoder, encoder
from .entry import Entry, EntryError, parse
from .lexical import Lexical
from .outside import KINDS, phrases
from .runbook import SHIPPED, Runbook, files, load
from .signals import Centres, Corpus, build, centres_of, key_of, names_of

CENTRES = embedding.FOLDER / "centres.npz"
"""The centres of the shipped entries, so that the first question need not wait for them. They carry the key of
what they were made of; those of other texts are stale and not used."""
STALE = 3600
"""Seconds after which a draft is nobody's any more."""
VERSION = 6
"""Raised when what is in the cache, or the code that makes it, changes."""


@dataclass(frozen=True)
class Compiled:
    """Everything that a search needs."""

    runbook: Runbook
    corpus: Corpus
    version: str
    """Hash of the entries, the outside phrases and the encoder."""


def compiled(folder: Path | None, own: Mapping[str, str], encoder_name: str = embedding.BUILT_IN) -> Compiled:
    """The shipped entries and a person's own, indexed.

    Args:
        folder: where the cache lies; None builds everything.
        own: file -> text of the entries that a person added.
        encoder_name: `built-in`, or a sentence-transformers model.
    """
    version = version_of(own, encoder_name)
    file = folder / f"runbook-{version}.npz" if folder else None
    if file and (found := _read(file, encoder(encoder_name), version)):
        return found
    entries, usable = dict(load().entries), True
    for name, text in own.items():
        try:
            entry = parse(text, f"{Path(name).stem}.md")
        except EntryError as error:  # of an earlier version of triage, which took it
            lost(Path(name), "not used", error)
            usable = False
            continue
        entries[entry.id] = entry.model_copy(update={"origin": name})
    runbook, by = Runbook(entries), encoder(encoder_name)
    corpus = build(list(runbook), phrases(), by, _centres(key_of(list(runbook), by)))
    made = Compiled(runbook, corpus, version)
    if file and usable:
        _write(file, made)
    return made


def version_of(own: Mapping[str, str], encoder_name: str = embedding.BUILT_IN) -> str:
    """Hash of all that the index is made of."""
    if encoder_name == embedding.BUILT_IN:
        trained = (embedding.FOLDER / "manifest.json").read_text(encoding="utf-8")
    else:
        trained = encoder_name
    shipped = {name: hashlib.sha256((SHIPPED / name).read_bytes()).digest() for names in files() for name in names}
    parts = (VERSION, trained, outside.PHRASES.read_bytes(), shipped, sorted(own.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _centres(key: str) -> Centres | None:
    """The shipped centres, None where they have another key."""
    import numpy as np

    if not CENTRES.exists():
        return None
    with np.load(CENTRES, allow_pickle=False) as arrays:
        mean, deviation = arrays["spread"].tolist()
        return Centres(arrays["rows"], (mean, deviation)) if str(arrays["key"]) == key else None


def ship_centres() -> None:
    """Write the centres of the shipped entries beside the encoder."""
    import numpy as np

    entries = list(load())
    made, key = centres_of(entries, encoder()), key_of(entries, encoder())
    np.savez(CENTRES, rows=made.rows, spread=np.array(made.spread), key=np.array(key))


def _read(file: Path, encoder: Encoder, version: str) -> Compiled | None:
    """None when there is no such cache or it is damaged."""
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as arrays:
            entries = [Entry.model_validate(e) for e in json.loads(arrays["entries"].tobytes())]
            kinds = tuple(
                (json.loads(arrays[f"{kind}.odds"].tobytes()), arrays[f"{kind}.vectors"], arrays[f"{kind}.centre"])
                for kind in KINDS
            )
            mean, deviation = arrays["spread"].tolist()
            corpus = Corpus(
                Lexical.restore(arrays, "entry"),
                arrays["centres"],
                kinds,
                encoder,
                names_of(entries),
                (float(mean), float(deviation)),
            )
    except Exception:  # whatever is wrong with a cache, it is made anew
        return None
    return Compiled(Runbook({entry.id: entry for entry in entries}), corpus, version)


def _write(file: Path, made: Compiled) -> None:
    """Whole or not at all; older caches go, and drafts that a kill has left. A full disk only costs speed."""
    import numpy as np

    # Defaults are left out since they need not be valid: no phrases are a default, an empty list of them is refused.
    told = [entry.model_dump(by_alias=True, exclude_defaults=True) for entry in made.runbook]
    entries = json.dumps(told, ensure_ascii=False).encode()
    arrays: dict[str, Any] = {
        "entries": np.frombuffer(entries, np.uint8),
        "centres": made.corpus.centres,
        "spread": np.array(made.corpus.spread),
        **made.corpus.documents.arrays("entry"),
    }
    for kind, (odds, vectors, centre) in zip(KINDS, made.corpus.outside, strict=True):
        text = np.frombuffer(json.dumps(odds).encode(), np.uint8)
        arrays |= {f"{kind}.odds": text, f"{kind}.vectors": vectors, f"{kind}.centre": centre}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole(file, mode=PRIVATE) as (draft,):
            draft.write_bytes(buffer.getvalue())
        for old in (*file.parent.glob("runbook-*.npz"), *file.parent.glob(".runbook-*.part")):
            if old != file and (old.suffix == ".npz" or old.stat().st_mtime < time.time() - STALE):
                old.unlink(missing_ok=True)
    except OSError as error:
        lost(file, "not kept", error)


if __name__ == "__main__":
    ship_centres()

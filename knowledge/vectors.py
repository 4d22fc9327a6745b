"""The Chroma store: vectors of the entries, which a server may hold for many, and of a person's own passages.

The only module that knows Chroma, imported when there is something to look up in it: the import alone costs as much as
a whole answer. Embedded in the data directory, or a server when its address is given. Each kind has a collection of its
own, since filtering one collection by kind took 25 to 45 ms a query with 17,000 vectors, and this takes 2.

A store in the data directory is never changed once it is in force: `Shelf` makes the next one aside.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .entry import RunbookError
from .library import Library

KINDS = ("entry", "passage")
BATCH = 2000
"""Vectors sent at once; Chroma refuses more than about 5,000."""
ANEW = "`triage runbook index` makes it anew"


@contextmanager
def failing(where: str) -> Iterator[None]:
    """Whatever Chroma raises is a refusal: bare ValueError, RuntimeError, those of httpx, panics of its Rust core."""
    try:
        yield
    except RunbookError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        told = str(error).splitlines()
        raise RunbookError(f"{where} cannot be used: {told[0] if told else type(error).__name__}; {ANEW}") from None


@dataclass(frozen=True)
class Store:
    """Vectors by id, one collection a kind."""

    client: Any
    where: str

    @classmethod
    def open(cls, folder: Path, url: str | None = None) -> Store:
        """The embedded store in `folder`, or the server at `url`.

        Raises:
            RunbookError: it cannot be opened; says where it was looked for. So do all methods.
        """
        where = f"the Chroma server at {url} (TRIAGE_CHROMA_URL)" if url else f"the index in {folder}"
        with failing(where):
            import chromadb
            from chromadb.config import Settings

            settings = Settings(anonymized_telemetry=False)
            if url:
                parts = urlsplit(url if "//" in url else f"//{url}")
                client = chromadb.HttpClient(
                    host=parts.hostname or "localhost",
                    port=parts.port or (443 if parts.scheme == "https" else 8000),
                    ssl=parts.scheme == "https",
                    settings=settings,
                )
            else:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                client = chromadb.PersistentClient(str(folder), settings=settings)
            client.heartbeat()
        return cls(client, where)

    def collection(self, kind: str) -> Any:
        """To be written to."""
        return self.client.get_or_create_collection(
            f"triage-{kind}", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def _read(self, kind: str) -> Any:
        return self.client.get_collection(f"triage-{kind}", embedding_function=None)

    def _has(self, kind: str) -> bool:
        return any(c.name == f"triage-{kind}" for c in self.client.list_collections())

    def put(self, kind: str, ids: Sequence[str], vectors: Any, texts: Sequence[str]) -> None:
        """Add or replace."""
        with failing(self.where):
            collection = self.collection(kind)
            for at in range(0, len(ids), BATCH):
                part = slice(at, at + BATCH)
                collection.upsert(ids=list(ids[part]), embeddings=vectors[part], documents=list(texts[part]))

    def remove(self, kind: str, ids: Sequence[str]) -> None:
        with failing(self.where):
            collection = self.collection(kind)
            for at in range(0, len(ids), BATCH):
                collection.delete(ids=list(ids[at : at + BATCH]))

    def clear(self, kind: str) -> None:
        with failing(self.where):
            if self._has(kind):
                self.client.delete_collection(f"triage-{kind}")

    def ids(self, kind: str, prefix: str) -> set[str]:
        """Those that begin so: a server may hold the passages of several people."""
        with failing(self.where):
            found = self._read(kind).get(include=[])["ids"] if self._has(kind) else []
        return {id for id in found if id.startswith(prefix)}

    def manifest(self) -> dict[str, str]:
        """What the store was made with; empty for a new one."""
        with failing(self.where):
            metadata = (self._has("entry") and self._read("entry").metadata) or {}
        return {key: str(value) for key, value in metadata.items() if key in ("encoder", "version")}

    def set_manifest(self, manifest: dict[str, str]) -> None:
        """Written last, so that an interrupted build is not taken for a whole one."""
        with failing(self.where):
            self.collection("entry").modify(metadata=manifest)

    def expect(self, wanted: dict[str, str], option: str = "") -> None:
        """Refuse a store that was made with something else.

        Raises:
            RunbookError: says with what, and what to do.
        """
        found = self.manifest()
        for key, what in (("encoder", "with encoder"), ("version", "from version")):
            if key in wanted and found.get(key) != wanted[key]:
                raise RunbookError(
                    f"the index was made {what} {found.get(key, 'none')}, not {wanted[key]}; "
                    f"`triage runbook index{option}` makes it anew"
                )

    def nearest(self, kind: str, vector: Any, n: int) -> dict[str, float]:
        """id -> cosine of the `n` nearest."""
        with failing(self.where):
            collection = self._read(kind)
            n = min(n, collection.count())
            if not n:
                return {}
            found = collection.query(query_embeddings=[vector.tolist()], n_results=n, include=["distances"])
            return {id: 1.0 - float(d) for id, d in zip(found["ids"][0], found["distances"][0], strict=True)}

    def close(self) -> None:
        with suppress(Exception):
            self.client.close()


@dataclass(frozen=True)
class Shelf:
    """The stores of one data directory, each in a folder of its own; the library says which is in force."""

    library: Library
    url: str | None = None
    """A Chroma server instead: it has one store, changed in place."""

    @property
    def folder(self) -> Path:
        return self.library.folder.with_name("chroma")

    @property
    def name(self) -> str:
        """Of the store in force; empty where there is none."""
        return self.url or (self.library.store if self.library.exists else "")

    def current(self) -> Store:
        """The store in force.

        Raises:
            RunbookError: there is none yet, or it cannot be opened.
        """
        if self.url:
            return Store.open(self.folder, self.url)
        name = self.name
        if not name or not (self.folder / name).is_dir():
            raise RunbookError(f"{self.folder}: there is no index yet; `triage runbook index` makes it")
        return Store.open(self.folder / name)

    @contextmanager
    def next(self, begin: Store | None) -> Iterator[Store]:
        """A store to fill, which is in force when the block ends well, and else is gone.

        Args:
            begin: the store in force, to go on from a copy of it; None to begin with nothing.

        Raises:
            RunbookError: it cannot be written.
        """
        if self.url:
            yield begin or Store.open(self.folder, self.url)
            return
        made = self.folder / secrets.token_hex(4)
        try:
            with failing(f"the index in {made}"):
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                if begin:
                    shutil.copytree(self.folder / self.name, made)
                store = Store.open(made)
            yield store
            store.close()
            self.library.set_store(made.name)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        self._tidy(made)

    def _tidy(self, kept: Path) -> None:
        """Remove what is no longer, or was never, in force."""
        for path in self.folder.iterdir():
            if path != kept:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

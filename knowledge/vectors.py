"""The Chroma store: vectors of the shipped entries, their phrases and sections, and of a person's own passages.

The only module that knows Chroma, imported when there is something to look up in it: the import alone costs as much as
a whole answer. Embedded in the data directory, or a server when its address is given. Each kind has a collection of its
own, since filtering one collection by kind took 25 to 45 ms a query with 17,000 vectors, and this takes 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .entry import RunbookError

KINDS = ("entry", "phrase", "section", "passage")
BATCH = 2000
"""Vectors sent at once; Chroma refuses more than about 5,000."""


@dataclass(frozen=True)
class Store:
    """Vectors by id, one collection a kind."""

    client: Any

    @classmethod
    def open(cls, folder: Path, url: str | None = None) -> Store:
        """The embedded store in `folder`, or the server at `url`.

        Raises:
            RunbookError: it cannot be opened; says where it was looked for.
        """
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        try:
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
        except Exception as error:  # Chroma raises bare ValueError, RuntimeError, and those of httpx and its Rust core
            where = f"the Chroma server at {url} (TRIAGE_CHROMA_URL)" if url else f"the index in {folder}"
            raise RunbookError(f"{where} cannot be opened: {error}; `triage runbook index` makes it anew") from None
        return cls(client)

    def collection(self, kind: str) -> Any:
        return self.client.get_or_create_collection(
            f"triage-{kind}", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def put(self, kind: str, ids: Sequence[str], vectors: Any, texts: Sequence[str]) -> None:
        """Add or replace."""
        collection = self.collection(kind)
        for at in range(0, len(ids), BATCH):
            part = slice(at, at + BATCH)
            collection.upsert(ids=list(ids[part]), embeddings=vectors[part], documents=list(texts[part]))

    def remove(self, kind: str, ids: Sequence[str]) -> None:
        collection = self.collection(kind)
        for at in range(0, len(ids), BATCH):
            collection.delete(ids=list(ids[at : at + BATCH]))

    def clear(self, kind: str) -> None:
        if any(c.name == f"triage-{kind}" for c in self.client.list_collections()):
            self.client.delete_collection(f"triage-{kind}")

    def manifest(self) -> dict[str, str]:
        """What the store was made with; empty for a new one."""
        metadata = self.collection("entry").metadata or {}
        return {key: str(value) for key, value in metadata.items() if key in ("encoder", "version")}

    def set_manifest(self, manifest: dict[str, str]) -> None:
        """Written last, so that an interrupted build is not taken for a whole one."""
        self.collection("entry").modify(metadata=manifest)

    def nearest(self, kind: str, vector: Any, n: int) -> dict[str, float]:
        """id -> cosine of the `n` nearest.

        Raises:
            RunbookError: the store refuses, as it does when another process has made it anew with another encoder.
        """
        from chromadb.errors import ChromaError

        try:
            collection = self.collection(kind)
            n = min(n, collection.count())
            if not n:
                return {}
            found = collection.query(query_embeddings=[vector.tolist()], n_results=n, include=["distances"])
        except ChromaError as error:
            raise RunbookError(
                f"the index cannot be read ({error}); if it was made anew meanwhile, start this program again, "
                "else `triage runbook index` makes it anew"
            ) from None
        return {id: 1.0 - float(d) for id, d in zip(found["ids"][0], found["distances"][0], strict=True)}

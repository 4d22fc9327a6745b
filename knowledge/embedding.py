"""Text to vectors: the shipped static encoder (numpy and tokenizers only), or any sentence-transformers model by name.

The shipped one is a table with a row for each token; a text is the mean of its rows. It is trained by
`evals/train_encoder.py` and lies in `encoder/`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from .entry import RunbookError

BUILT_IN = "built-in"
FOLDER = Path(__file__).parent / "encoder"
BLOCK = 128
"""Texts summed at a time: their rows of the table then fit a processor's cache."""


class Encoder(Protocol):
    """Anything that gives a text a vector."""

    @property
    def name(self) -> str:
        """The encoder and its version; an index made with another name is refused."""
        ...

    def encode(self, texts: Sequence[str]) -> Any:
        """`[len(texts), dimensions]` float32, rows of length 1 (or 0 for a text without a known token)."""
        ...


@dataclass(frozen=True)
class StaticEncoder:
    """The mean of a table's rows."""

    name: str
    table: Any
    """`[vocabulary, dimensions]` float16 as it is shipped, or float32: the rows of a text alone are made float32."""
    tokenizer: Any

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        pieces = [e.ids for e in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
        sums = np.zeros((len(pieces), self.table.shape[1]), np.float32)
        for start in range(0, len(pieces), BLOCK):
            part = pieces[start : start + BLOCK]
            lengths = np.array([len(ids) for ids in part])
            filled = np.flatnonzero(lengths)
            if len(filled):
                rows = self.table[np.concatenate([part[i] for i in filled]).astype(np.int64)].astype(np.float32)
                starts = np.concatenate([[0], np.cumsum(lengths[filled])[:-1]])
                sums[start + filled] = np.add.reduceat(rows, starts, axis=0)
        return unit(sums)


@dataclass(frozen=True)
class TransformerEncoder:
    """A sentence-transformers model; needs the `embed` extra, and the network on first use unless NAME is a folder."""

    name: str
    model: Any

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return unit(np.asarray(self.model.encode(list(texts), show_progress_bar=False), np.float32))


def unit(rows: Any) -> Any:
    """Rows of a matrix scaled to length 1; zero rows stay zero."""
    import numpy as np

    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


@cache
def encoder(name: str = BUILT_IN) -> Encoder:
    """The shipped encoder, or the sentence-transformers model of that name or folder.

    Raises:
        RunbookError: sentence-transformers is missing, or the model cannot be loaded.
    """
    if name == BUILT_IN:
        return static(FOLDER)
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise RunbookError(f"encoder {name!r} needs sentence-transformers: pip install '.[embed]'") from None
    try:
        return TransformerEncoder(name, SentenceTransformer(name))
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunbookError(f"encoder {name!r} cannot be loaded: {reason}; give a model's name or a folder") from None


def static(folder: Path) -> StaticEncoder:
    """A static encoder from `model.safetensors` (float16), `tokenizer.json` and `manifest.json`.

    Raises:
        RunbookError: a file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        with safe_open(folder / "model.safetensors", framework="np") as file:
            table = file.get_tensor("embedding.weight")
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise RunbookError(f"{folder}: the encoder is damaged ({error}); reinstall triage") from None
    return StaticEncoder(manifest["name"], table, tokenizer)


def ship(encoder: StaticEncoder, folder: Path = FOLDER) -> None:
    """Write what `static` reads."""
    import numpy as np
    from safetensors.numpy import save_file

    folder.mkdir(exist_ok=True)
    save_file({"embedding.weight": encoder.table.astype(np.float16)}, folder / "model.safetensors")
    encoder.tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    rows, dimensions = encoder.table.shape
    manifest = {"name": encoder.name, "vocabulary": rows, "dimensions": dimensions}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    for file in folder.iterdir():
        file.chmod(0o644)

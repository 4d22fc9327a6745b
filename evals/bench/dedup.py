# pyright: reportMissingImports=false
"""Duplicate detection: speed against rensa, datasketch and daft, recall, precision, memory, and planted leaks.

    python evals/bench/dedup.py [speed recall memory leaks] [--megabytes 100]

Everything of one comparison runs in one process, one after the other, on the same texts and the same features.
Competitors get a part of the texts when the whole would take minutes; their rate is per document.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datagen
import memory
import numpy as np

from triage.tools.data.engine import Local
from triage.tools.data.records.blocks import plan
from triage.tools.data.similar.corpus import Options
from triage.tools.data.similar.dedup import find_matches
from triage.tools.data.similar.features import Batch, batches, grams, sketch, tables
from triage.tools.data.similar.leakage import find_leaks

CHAR = 5
SLOTS = 128
SECONDS = 6.0
"""About how long each competitor may run."""


def letters(texts: Sequence[str]) -> list[str]:
    """The texts as our folding leaves them, so that all contenders hash the same character n-grams."""
    out = []
    for chosen in batches(texts):
        batch = Batch(texts[chosen])
        folded = np.where(batch.kind != 0, batch.folded, 0)
        for a, b in zip(batch.starts[:-1], batch.starts[1:], strict=True):
            piece = folded[a:b]
            out.append(piece[piece != 0].tobytes().decode("utf-32-le"))
    return out


def ours(texts: Sequence[str]) -> None:
    for piece in batches(texts):
        sketch(Batch(texts[piece]).char_grams((CHAR,)))


def ours_words(texts: Sequence[str]) -> None:
    for piece in batches(texts):
        sketch(Batch(texts[piece]).word_grams(5))


def ours_on_all_cores(pieces: Sequence[Sequence[str]]) -> None:
    for _ in Local().map(ours, pieces):
        pass


def shingles(text: str) -> list[str]:
    return [text[i : i + CHAR] for i in range(max(1, len(text) - CHAR + 1))]


def rensa(texts: Sequence[str]) -> None:
    RMinHash = importlib.import_module("rensa").RMinHash
    for text in texts:
        RMinHash(num_perm=SLOTS, seed=42).update(shingles(text))


def rensa_ready(lists: Sequence[list[str]]) -> None:
    """rensa alone: the n-grams are already lists of strings."""
    RMinHash = importlib.import_module("rensa").RMinHash
    for ready in lists:
        RMinHash(num_perm=SLOTS, seed=42).update(ready)


def rensa_rho(texts: Sequence[str]) -> None:
    """rensa's fastest form: its Rho sketch (one permutation, densified), a hundred documents a call."""
    RMinHash = importlib.import_module("rensa").RMinHash
    for i in range(0, len(texts), 100):
        ready = [shingles(t) for t in texts[i : i + 100]]
        RMinHash.digest_matrix_from_token_sets_rho(ready, num_perm=SLOTS, seed=42)


def datasketch(texts: Sequence[str]) -> None:
    MinHash = importlib.import_module("datasketch").MinHash
    for text in texts:
        MinHash(num_perm=SLOTS).update_batch([s.encode() for s in shingles(text)])


def daft(texts: Sequence[str]) -> None:
    frame = importlib.import_module("daft").from_pydict({"text": list(texts)})
    frame.select(
        importlib.import_module("daft.functions").minhash(frame["text"], num_hashes=SLOTS, ngram_size=5, seed=1)
    ).collect()


def rate(function: Callable[[Any], None], items: Sequence[Any]) -> float:
    """Documents a second of processor time (all threads), the better of two runs: other work on the machine does not
    count. A first small run warms up and sizes the measured ones."""
    few = items[: max(1, min(200, len(items) // 10))]
    begin = time.perf_counter()
    function(few)
    each = (time.perf_counter() - begin) / len(few)
    chosen = items[: max(len(few), min(len(items), int(SECONDS / max(each, 1e-9))))]
    seconds = []
    for _ in range(2):
        begin = time.process_time()
        function(chosen)
        seconds.append(time.process_time() - begin)
    return len(chosen) / min(seconds)


def speed(megabytes: int) -> None:
    tables()
    for language in ("en", "zh"):
        texts, size = [], 0
        for text in datagen.documents(language, 10**9, seed=1, copies=0.0):
            texts.append(text)
            size += len(text.encode())
            if size >= megabytes << 20:
                break
        plain = letters(texts)
        pieces = [plain[i : i + 4096] for i in range(0, len(plain), 4096)]
        results = {"ours, one process": rate(ours, plain)}
        if installed("rensa"):
            results["rensa with shingling"] = rate(rensa, plain)
            results["rensa's Rho sketch in bulk"] = rate(rensa_rho, plain)
            results["rensa, n-grams ready"] = rate(rensa_ready, [shingles(t) for t in plain[:20000]])
        begin = time.perf_counter()
        ours_on_all_cores(pieces * 4)  # long enough that the start of the workers does not decide
        results["ours, all cores, by the clock"] = 4 * len(plain) / (time.perf_counter() - begin)
        if installed("datasketch"):
            results["datasketch"] = rate(datasketch, plain)
        results["ours, words, one process"] = rate(ours_words, texts)
        if installed("daft") and language == "en":
            results["daft, words, its own threads"] = rate(daft, texts)
        print(f"\n{language}: {len(texts)} documents, {size / 1e6:.0f} MB, character {CHAR}-grams, {SLOTS} slots")
        base = results.get("rensa with shingling", 0)
        for name, value in results.items():
            ratio = f"{value / base:6.1f}x rensa" if base else ""
            print(f"  {name:30} {value:10,.0f} documents/s {ratio}")


def installed(name: str) -> bool:
    if importlib.util.find_spec(name) is None:
        print(f"  ({name} is not installed: left out)")
        return False
    return True


def recall(megabytes: int) -> None:
    """Against brute force over all pairs of 5,000 documents, at the default settings."""
    sparse = importlib.import_module("scipy.sparse")
    for language in ("en", "zh"):
        texts = list(datagen.documents(language, 5000, seed=3, copies=0.5))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.jsonl"
            path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
            matches = find_matches(plan([path]), Options(), Local())
        cut = grams(texts)
        sets = [cut.set_of(i) for i in range(len(texts))]
        vocabulary, columns = np.unique(np.concatenate(sets), return_inverse=True)
        sizes = np.array([len(s) for s in sets])
        rows = np.repeat(np.arange(len(texts)), sizes)
        matrix = sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), (len(texts), len(vocabulary)))
        shared = sparse.triu(matrix @ matrix.T, k=1).tocoo()
        jaccard = shared.data / (sizes[shared.row] + sizes[shared.col] - shared.data)
        high = jaccard >= 0.8
        true = set(zip(shared.row[high].tolist(), shared.col[high].tolist(), strict=True))
        ids = matches.corpus.ids
        same = {(int(np.searchsorted(ids, a)), int(np.searchsorted(ids, b))) for a, b in matches.equal.tolist()}
        kept = matches.similarity >= 0.8
        pairs = {(int(np.searchsorted(ids, a)), int(np.searchsorted(ids, b))) for a, b in matches.pairs[kept].tolist()}
        copies = {b for _, b in same}
        unique = {(a, b) for a, b in true if a not in copies and b not in copies}
        print(f"\n{language}: {len(true)} pairs with true Jaccard >= 0.8, {len(unique)} between different texts")
        print(f"  recall    {len(pairs & unique) / len(unique):.4f} of pairs between different texts")
        print(
            f"  precision {len(pairs & true) / max(len(pairs), 1):.4f} of {len(pairs)} reported near pairs; exact "
            f"{len(same & true) / max(len(same), 1):.4f} of {len(same)}"
        )


def peak(megabytes: int) -> None:
    """Of the whole command at two sizes; the slope is per document."""
    sizes = (100_000, 300_000)
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for count in sizes:
            path = Path(folder) / f"{count}.jsonl"
            with path.open("w") as out:
                for text in datagen.documents("en", count, seed=5, copies=0.03):
                    out.write(json.dumps({"text": text}) + "\n")
            seconds, most, _ = memory.run(
                [sys.executable, "-c", "from triage.ui.cli import main; main()", "data", "dedup", str(path), "--json"]
            )
            peaks.append(most)
            print(
                f"  {count:,} documents, {path.stat().st_size / 1e6:.0f} MB: {seconds:.1f} s "
                f"({count / seconds:,.0f} documents/s), peak {most / 1e6:.0f} MB"
            )
    slope = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    print(f"  projected for 1,000,000 documents: {(peaks[1] + slope * (1_000_000 - sizes[1])) / 1e6:.0f} MB")


def leaks(megabytes: int) -> None:
    """Planted leaks of five kinds, and the false rate on sets that share nothing but their style."""
    import random

    for name, make in (("word problems", datagen.word_problem), ("code tasks", datagen.code_task)):
        rng, prose = random.Random(11), datagen.Prose("en", 12)
        items = [make(rng) for _ in range(1000)]
        unrelated = [make(random.Random(10_000 + i), half=1) for i in range(20_000)]
        each = 100
        planted, kinds = [], {}
        for k, kind in enumerate(datagen.LEAKS):
            for i in range(k * each, (k + 1) * each):
                planted.append(datagen.leaked(kind, items[i], prose, rng))
                kinds[i] = kind
        with tempfile.TemporaryDirectory() as folder:
            paths = {n: Path(folder) / f"{n}.jsonl" for n in ("eval", "clean", "dirty")}
            write(paths["eval"], [{"question": t, "answer": "7"} for t in items])
            write(paths["clean"], [{"instruction": t, "output": "Step by step ..."} for t in unrelated])
            write(paths["dirty"], [{"instruction": t, "output": "Step by step ..."} for t in unrelated + planted])
            begin = time.perf_counter()
            clean = find_leaks([paths["clean"]], [paths["eval"]]).items()
            seconds = time.perf_counter() - begin
            dirty = find_leaks([paths["dirty"]], [paths["eval"]]).items()
        chance = {i for i in range(len(items)) if i not in kinds} & dirty.keys()
        print(f"\n{name}: {len(items)} items, {len(unrelated)} training records, {seconds:.1f} s")
        for kind in datagen.LEAKS:
            mine = [i for i, k in kinds.items() if k == kind]
            as_what = sorted({dirty[i].kind for i in mine if i in dirty})
            print(f"  {kind:22} recall {sum(i in dirty for i in mine) / len(mine):.2f} {' '.join(as_what)}")
        print(
            f"  false leaks: {len(clean)} of {len(items)} items in the unrelated set, {len(chance)} of "
            f"{len(items) - len(kinds)} unplanted items in the planted set; "
            f"{len(clean) / (len(items) * len(unrelated)):.1e} of item-record pairs"
        )


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))


BENCHES = {"speed": speed, "recall": recall, "memory": peak, "leaks": leaks}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bench", nargs="*", choices=[*BENCHES, []], default=[])
    parser.add_argument("--megabytes", type=int, default=100)
    arguments = parser.parse_args()
    for name in arguments.bench or BENCHES:
        print(f"== {name}")
        BENCHES[name](arguments.megabytes)

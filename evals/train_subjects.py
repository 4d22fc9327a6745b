"""Train what the files of a folder are about: `python -m triage.evals.train_subjects`.

Seconds, no download, the same weights each time. It learns from `data/outlines.jsonl`: for each entry of the runbook
six to ten short outlines of folders, as different people would leave them, and about a hundred of ordinary folders;
and from what the entry itself says. A direction is the entry's mean after the spread within entries is taken out
(linear discriminants, much shrunk). Printed is how often the right entry is the first, and among the first three, on
fifths of the outlines that were not learned from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..knowledge import subject
from ..knowledge.embedding import encoder, unit
from ..knowledge.entry import Entry
from ..knowledge.runbook import load

DATA = Path(__file__).parent / "data" / "outlines.jsonl"
SHRINK = 1.0
"""Part of the mean variance that is added to every variance within entries."""
OWN = 0.6
"""Weight of the entry's own text beside the mean of its outlines."""
SHARP = 4.5
"""What scores, of which the largest direction is one, are multiplied by to be log odds: fitted on folders of others."""
FOLDS = 5
Outline = tuple[str, NDArray[np.float32]]


def outlines() -> list[Outline]:
    """The entry of each outline and its vector."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    texts = [" ".join(subject.words(" ".join(f"{n} {t}" for n, t in row["files"].items()))) for row in rows]
    return list(zip((row["id"] for row in rows), encoder().encode(texts), strict=True))


def own(entry: Entry | None) -> str:
    """What an entry says of itself; nothing for folders about nothing."""
    if entry is None:
        return ""
    return " ".join((entry.title.en, *(c.text.en for c in entry.causes), *entry.body["en"].values()))[:1000]


def fitted(rows: Sequence[Outline]) -> subject.Subjects:
    """The directions that these outlines give."""
    book, ids = load().entries, sorted({id for id, _ in rows})
    place = np.array([ids.index(id) for id, _ in rows])
    vectors = np.stack([v for _, v in rows])
    middle = vectors.mean(0)
    apart = unit(vectors - middle)
    means = np.stack([apart[place == i].mean(0) for i in range(len(ids))])
    within = apart - means[place]
    spread = within.T @ within / len(rows)
    shrunk = spread + SHRINK * np.trace(spread) / len(spread) * np.eye(len(spread))
    whiten = np.linalg.cholesky(np.linalg.inv(shrunk)).astype(np.float32)
    said = unit(encoder().encode([own(book.get(id)) for id in ids]) - middle)
    directions = whiten @ unit(unit(means @ whiten) + OWN * unit(said @ whiten)).T
    return subject.Subjects(tuple(ids), middle, directions * (SHARP / np.abs(directions).max()))


def held_out(rows: Sequence[Outline]) -> tuple[float, float]:
    """How often the right entry is first, and among the first three, on outlines that were left out."""
    ranks = []
    for fold in range(FOLDS):
        made = fitted([row for i, row in enumerate(rows) if i % FOLDS != fold])
        for id, vector in rows[fold::FOLDS]:
            scores = (unit((vector - made.middle)[None]) @ made.directions)[0]
            ranks.append(int((scores > scores[made.entries.index(id)]).sum()) if id in made.entries else len(rows))
    return float(np.mean(np.array(ranks) < 1)), float(np.mean(np.array(ranks) < 3))


def main() -> None:
    rows = outlines()
    print("held out, of the same writers: first {:.2f}, in the first three {:.2f}".format(*held_out(rows)))
    made = fitted(rows)
    scale = np.abs(made.directions).max() / 127
    np.savez_compressed(
        subject.FILE,
        entries=np.array(made.entries),
        middle=made.middle.astype(np.float16),
        directions=np.rint(made.directions / scale).astype(np.int8),
        scale=np.float32(scale),
    )
    print(f"{len(rows)} outlines of {len(made.entries)} subjects -> {subject.FILE.name}")


if __name__ == "__main__":
    main()

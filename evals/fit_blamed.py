"""Fit what tells which entry a clause blames: `python -m triage.evals.fit_blamed`.

Some minutes, no download. It stores the middle of each entry's phrases. From the questions of `ENTRIES`, whose
suspicions are entries with the number of the clause that says them, it learns the weights for
`agent.question.blamed.WEIGHTS`, which it prints, and how often the right entry is the first, or among the first three,
on fifths of the questions that were not learned from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..agent.question import blamed, opinion, weigh
from ..agent.session import index
from ..knowledge.embedding import encoder, unit
from .train_clauses import read
from .train_question import DATA, ENTRIES, keep

FOLDS, ROUNDS, RATE, DECAY = 5, 400, 0.3, 0.01


def examples() -> Iterator[tuple[str, NDArray[np.float64], int]]:
    """The question, the features of every entry, and the place of the right one, for each suspicion."""
    places = {id: place for place, id in enumerate(blamed.phrases().entries)}
    for name in ENTRIES:
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            parts, _ = read(row["text"])
            for said in row["suspects"]:
                if said["cause"] in places:
                    texts = opinion.texts(parts, said["clause"])
                    yield row["id"], blamed.features(*texts, index(None).search), places[said["cause"]]


def fitted(rows: Sequence[tuple[str, NDArray[np.float64], int]]) -> NDArray[np.float64]:
    """Weights of a softmax over the entries."""
    spread = np.concatenate([x for _, x, _ in rows]).std(0) + 1e-9
    weights = np.zeros(len(spread))
    for _ in range(ROUNDS):
        slope = DECAY * weights
        for _, x, right in rows:
            odds = np.exp((z := x / spread @ weights) - z.max())
            slope = slope + (x / spread).T @ (odds / odds.sum() - np.eye(len(x))[right]) / len(rows)
        weights = weights - RATE * slope
    return weights / spread


def centres() -> NDArray[np.int8]:
    """The mean direction of each entry's phrases, as it is shipped."""
    means = unit(np.stack([encoder().encode(said).mean(0) for said in blamed.read().values()]))
    return np.rint(means * (127 / np.abs(means).max(1, keepdims=True))).astype(np.int8)


def main() -> None:
    keep("blamed", centres())
    weigh.table.cache_clear()
    rows = list(examples())
    names = sorted({name for name, _, _ in rows})
    np.random.default_rng(0).shuffle(names)
    first = third = 0
    for fold in range(FOLDS):
        held = set(names[fold::FOLDS])
        weights = fitted([row for row in rows if row[0] not in held])
        for _, x, right in (row for row in rows if row[0] in held):
            rank = int(np.flatnonzero(np.argsort(-(x @ weights)) == right)[0])
            first, third = first + (rank < 1), third + (rank < 3)
    print(np.round(fitted(rows), 2).tolist())
    print(f"of {len(rows)} the right entry first {first}, among the first three {third}")


if __name__ == "__main__":
    main()

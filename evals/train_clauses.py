"""Train which clauses say what is thought of a cause: `python -m triage.evals.train_clauses [--without NAME]`.

Some minutes and torch, no download, the same weights each time. It learns from the questions of `data/leading*.jsonl`,
from `data/messages.txt`, and from messages put together of what the runbook says (`messages`). What else tells an
opinion is fitted on clauses that the weights were not trained on. `--without` leaves one file of questions out and
prints what its clauses then score: to measure, not to ship.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..agent.question import blamed, opinion, weigh
from ..agent.question.clause import features
from ..agent.question.parts import clauses, sentences, split
from ..agent.question.topics import mentions
from ..agent.question.understand import opinions, said_by, touched
from ..agent.question.wants import wanted
from ..agent.session import index
from ..knowledge.words import places
from . import messages
from .train_question import DATA, ENTRIES, LEARNED, SAID, Example, keep, scores, store, trained

OF_TOPICS, OF_COMPOSED, OF_MESSAGE, OF_ENTRIES = 2.0, 0.4, 1.5, 2.0
"""Weights of examples."""
FOLDS = ENTRIES[5:]
"""Files that are left out in turn to fit what else tells an opinion: each of another author."""
SHAPE = (1 << weigh.MANY_BITS, len(weigh.MEANT))
STEPS = 20
OF_CONTRARY = 2.0
"""Weight of a composed message that denies or doubts beside that of one that suspects."""


def read(text: str) -> tuple[list[str], set[str]]:
    """The clauses of a message, and those that plan something."""
    said = said_by(split(text)[0], index(None).corrected)
    message, acts = opinions(said, wanted(said))
    return [c for s in message for c in clauses(s)], {text for _, text in touched(acts)}


def example(parts: list[str], at: int, acts: set[str], kind: str | None, weight: float) -> Example:
    return Example(places(features(parts, at, acts), weigh.MANY_BITS), SAID.index(kind), weight)


def of_topics(name: str) -> Iterator[Example]:
    """The clauses of questions whose suspicions are topics; of a message with one that is not named, only the named."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth = dict.fromkeys(row["told_by_others"], "told")
        truth |= {topic: kind for kind in ("suspects", "denies", "doubts") for topic in row[kind]}
        parts, acts = read(row["q"])
        named = [{t.id for t, _, _ in mentions(part)} for part in parts]
        whole = set(truth) <= set().union(*named)
        for at, topics in enumerate(named):
            kinds = [truth[topic] for topic in truth if topic in topics]
            if kinds or whole:
                yield example(parts, at, acts, kinds[0] if kinds else None, OF_TOPICS)


def of_entries(name: str) -> Iterator[Example]:
    """The clauses of questions whose suspicions are entries, without those that go on with what another one says."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        kinds = {s["clause"]: s["polarity"] for s in row["suspects"]}
        open_ = {at for s in row["suspects"] for at in s.get("also", ())} - kinds.keys()
        parts, acts = read(row["text"])
        of = (at for at in range(len(parts)) if at not in open_)
        yield from (example(parts, at, acts, kinds.get(at), OF_ENTRIES) for at in of)


def of_marked(line: str, weight: float, plain: bool = False) -> Iterator[Example]:
    """The clauses of a message with marks; a `plain` one is of words that need no correcting and plan nothing."""
    text, spans = messages.unmarked(line)
    parts, acts = ([c for s in sentences(text) for c in clauses(s)], set[str]()) if plain else read(text)
    after = 0
    for at, part in enumerate(parts):
        start = max(text.find(part[:8], after), after)
        after, middle = start + len(part), start + len(part) / 2
        kind = next((kind for first, last, kind in spans if first <= middle < last), None)
        yield example(parts, at, acts, kind, weight)


def composed() -> Iterator[Example]:
    """Messages put together of an expression and of what was seen; what denies or doubts is rarer and weighs more."""
    for line, _ in messages.composed():
        yield from of_marked(line, OF_COMPOSED * (OF_CONTRARY if "{d" in line or "{x" in line else 1), plain=True)


def told_apart(weights: NDArray[np.float64], name: str) -> Iterator[tuple[NDArray[np.float64], bool]]:
    """What tells an opinion in the clauses of questions whose suspicions are entries, and whether each says one."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said = row["suspects"]
        kinds = {s["clause"] for s in said}
        open_ = {at for s in said for at in s.get("also", ())} - kinds
        parts, acts = read(row["text"])
        for at in (at for at in range(len(parts)) if at not in open_):
            scores = weights[places(features(parts, at, acts), weigh.MANY_BITS)].sum(0)
            ranking = blamed.ranked(*opinion.texts(parts, at), index(None).search)
            yield opinion.signs(float(scores[1:].max() - scores[0]), ranking, parts, at, acts), at in kinds


def fitted(rows: Sequence[tuple[NDArray[np.float64], bool]]) -> NDArray[np.float64]:
    """Weights of what tells an opinion: a logistic regression by Newton's steps."""
    x, y = np.stack([row for row, _ in rows]), np.array([said for _, said in rows], float)
    spread = np.abs(x).mean(0) + 1e-9
    x, weights = x / spread, np.zeros(x.shape[1])
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-x @ weights))
        curve = (x * (odds * (1 - odds))[:, None]).T @ x + np.eye(len(weights))
        weights -= np.linalg.solve(curve, x.T @ (odds - y) + weights)
    return weights / spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", choices=ENTRIES)
    left = parser.parse_args().without
    files = {name: list(of_topics(name)) for name in LEARNED} | {name: list(of_entries(name)) for name in ENTRIES}
    files["messages"] = [row for line in messages.lines() for row in of_marked(line, OF_MESSAGE)]
    files["composed"] = list(composed())

    def without(*names: str | None) -> NDArray[np.float64]:
        return trained((row for name, rows in files.items() if name not in names for row in rows), SHAPE)

    others = [name for name in FOLDS if name != left]
    said = [row for name in others for row in told_apart(without(left, name), name)]
    weights = without(left)
    if left:
        print(left, scores(weights, files[left]))
    store("clauses", weights)
    keep("held", fitted(said).astype(np.float32))


if __name__ == "__main__":
    main()

"""Train how a named cause is meant: `python -m triage.evals.train_question [--leave-one-out]`.

Under a minute, no download, the same weights each time. It learns from the questions of `data/leading*.jsonl` that are
not held out and from `data/opinions.txt`: expressions with `X` for a cause and `O` for another one, under `@` and how
they mean it (s suspects, d denies, x doubts, n nothing), filled with names of causes. `--leave-one-out` stores nothing:
it trains once without each file and prints what that file then scores.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..agent.question import weigh
from ..agent.question.parts import split
from ..agent.question.polarity import by_phrases, candidates
from ..agent.question.topics import TOPICS, mentions, of_entry
from ..agent.question.understand import opinions, said_by, touched
from ..agent.question.wants import wanted
from ..agent.session import index
from ..knowledge.words import places

DATA = Path(__file__).parent / "data"
LEARNED = (*(f"leading{n}.jsonl" for n in ("", "-2", "-3", "-4", "-5", "-6")), "leading-dev.jsonl")
"""`leading-7.jsonl` is for `evals.suites.questions` only."""
ENTRIES = ("leading-8.jsonl", "leading-9.jsonl")
"""Questions whose suspicions are entries, each with the number of the clause that says it."""
ROUNDS, RATE, DECAY = 15, 0.1, 1e-3
FILLED = 2
"""Causes that each expression is filled with."""
OF_EXPRESSION = 0.5
"""Weight of a filled expression beside that of a question."""
SHAPE = (1 << weigh.BITS, len(weigh.MEANT))
MARKS = {"s": "suspects", "d": "denies", "x": "doubts", "n": None}
ZH_NAMES = "lr NCCL fp16 flash_attention transformers_版本 checkpoint warmup"
EN_NAMES = "lr NCCL fp16 flash_attention the_new_vllm_version a_bad_gpu shuffling the_eval_harness nodes the_commit"


@dataclass(frozen=True)
class Example:
    """One cause that a text names."""

    places: NDArray[np.int64]
    meant: int
    weight: float = 1.0


def examples(own: str, truth: Callable[[str], str | bool | None], weight: float = 1.0) -> Iterator[Example]:
    """The causes of one text; those for which the truth is False teach nothing."""
    said = said_by(split(own)[0], index(None).corrected)
    message, acts = opinions(said, wanted(said))
    acted = touched(acts)
    for one in candidates(message, acted, by_phrases(message, acted)):
        meant = truth(one.topic.id)
        if meant is not False:
            yield Example(places(one.features, weigh.BITS), weigh.MEANT.index(meant), weight)  # pyright: ignore


def of_file(name: str) -> Iterator[Example]:
    """The causes of one file of questions."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth = {topic: kind for kind in ("suspects", "denies", "doubts") for topic in row[kind]}
        told = [t for t in row["told_by_others"] if t not in truth]
        yield from examples(row["q"], lambda topic, truth=truth, told=told: topic not in told and truth.get(topic))


def of_entries(name: str) -> Iterator[Example]:
    """The causes of one file of questions whose suspicions are entries: every topic that is about one is meant so.

    Beside a cause that is no entry the other topics teach nothing: one of them may be meant by it.
    """
    book = index(None).runbook.entries
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row, truth = json.loads(line), dict[str, str]()
        for said in row["suspects"]:
            topics = of_entry(book[said["cause"]]) if said["cause"] in book else ()
            truth |= dict.fromkeys((t.id for t in topics), said["polarity"].replace("told", "suspects"))
        other = None if all(said["cause"] in book for said in row["suspects"]) else False
        yield from examples(row["text"], lambda topic, truth=truth, other=other: truth.get(topic, other))


def of_expressions() -> Iterator[Example]:
    """The expressions, each filled with some causes of its language."""
    draw, mark = random.Random(0), ""
    names = {
        "en": [*(t.name.en for t in TOPICS.values()), *(n.replace("_", " ") for n in EN_NAMES.split())],
        "zh": [*(t.name.zh for t in TOPICS.values()), *(n.replace("_", " ") for n in ZH_NAMES.split())],
    }
    for line in (DATA / "opinions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            mark = line[1:]
            continue
        for _ in range(FILLED):
            first, *others = draw.sample(names["zh" if re.search("[\u3400-\u9fff]", line) else "en"], 6)
            text = re.sub(r"\bX\b|(?<![A-Za-z])X(?![A-Za-z])", first, line)
            text = re.sub(r"(?<![A-Za-z])O(?![A-Za-z])", lambda _, others=others: others.pop(), text)
            topic = next((t.id for t, _, _ in mentions(first)), "")
            yield from examples(
                text, lambda t, topic=topic, mark=mark: MARKS[mark] if t == topic else False, OF_EXPRESSION
            )


def trained(learned: Iterable[Example], shape: tuple[int, int] = SHAPE, rounds: int = ROUNDS) -> NDArray[np.float64]:
    """A softmax over summed weights, by stochastic descent with a rate of its own for each weight."""
    rows, draw, weights = list(learned), random.Random(0), np.zeros(shape)
    past = np.full(shape, 1e-4)
    for _ in range(rounds):
        draw.shuffle(rows)
        for row in rows:
            scores = np.exp((z := weights[row.places].sum(0)) - z.max())
            error = scores / scores.sum()
            error[row.meant] -= 1
            slope = error * row.weight + DECAY * weights[row.places]
            past[row.places] += slope**2
            weights[row.places] -= RATE * slope / np.sqrt(past[row.places])
    return weights


def stored(weights: NDArray[np.float64], scale: int) -> NDArray[np.int8]:
    """As it is shipped."""
    return np.clip(np.rint(weights * scale), -127, 127).astype(np.int8)


def store(name: str, weights: NDArray[np.float64]) -> None:
    """Ship one table; the other one stays."""
    with np.load(weigh.FILE, allow_pickle=False) as kept:
        tables = dict(kept)
    np.savez_compressed(weigh.FILE, **(tables | {name: stored(weights, weigh.SCALE)}))  # pyright: ignore


def scores(weights: NDArray[np.float64], rows: Iterable[Example]) -> str:
    """How many of the causes that are meant somehow are seen, and rightly."""
    seen = np.zeros((len(weigh.MEANT), len(weigh.MEANT)), int)
    for row in rows:
        seen[row.meant, weights[row.places].sum(0).argmax()] += 1
    recognised = seen[1:, 1:].sum()
    return (
        f"recognised {recognised} of {seen[1:].sum()}, polarity {np.trace(seen[1:, 1:])} of {recognised},"
        f" seen where there is none {seen[0, 1:].sum()} of {seen[0].sum()}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leave-one-out", action="store_true")
    options = parser.parse_args()
    files = {name: list(of_file(name)) for name in LEARNED} | {name: list(of_entries(name)) for name in ENTRIES}
    expressions = list(of_expressions())
    if options.leave_one_out:
        for left, rows in files.items():
            others = [row for name, kept in files.items() if name != left for row in kept]
            print(left, scores(trained([*others, *expressions]), rows))
        return
    weights = trained([*(row for rows in files.values() for row in rows), *expressions])
    store("meant", weights)


if __name__ == "__main__":
    main()

"""Train how a named cause is meant: `python -m triage.evals.train_question [--without NAME]`.

Under a minute and torch, no download, the same weights each time. It learns from the questions of
`data/leading*.jsonl` that are not held out and from `data/opinions.txt`: expressions with `X` for a cause and `O` for
another one, under `@` and how they mean it (s suspects, d denies, x doubts, n nothing), filled with names of causes.
`--without` leaves one file of questions out and prints what its causes then score: to measure, not to ship.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
"""`leading-7.jsonl` and `leading-19.jsonl` are for `evals.suites.questions` only."""
ENTRIES = tuple(f"leading-{n}.jsonl" for n in range(8, 19))
"""Questions whose suspicions are entries, each with the number of the clause that says it."""
ROUNDS, DECAY = 60, 2.0
"""Steps of the fit, and how much of the square of a weight counts beside the loss."""
FILLED = 2
"""Causes that each expression is filled with."""
OF_EXPRESSION = 0.5
"""Weight of a filled expression beside that of a question."""
OF_TOPICS = 6.0
"""Weight of a question whose suspicions are topics beside that of one whose suspicions are entries."""
SHAPE = (1 << weigh.BITS, len(weigh.MEANT))
SAID: tuple[str | None, ...] = (*weigh.MEANT[: weigh.TOLD], "told")
"""What the columns of a table are learned from."""
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
            yield Example(places(one.features, weigh.BITS), SAID.index(meant), weight)  # pyright: ignore


def of_file(name: str) -> Iterator[Example]:
    """The causes of one file of questions."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth = dict.fromkeys(row["told_by_others"], "told")
        truth |= {topic: kind for kind in ("suspects", "denies", "doubts") for topic in row[kind]}
        yield from examples(row["q"], truth.get, OF_TOPICS)


def of_entries(name: str) -> Iterator[Example]:
    """The causes of one file of questions whose suspicions are entries: every topic that is about one is meant so.

    Beside a cause that is no entry the other topics teach nothing: one of them may be meant by it.
    """
    book = index(None).runbook.entries
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row, truth = json.loads(line), dict[str, str | bool]()
        for said in row["suspects"]:
            topics = of_entry(book[said["cause"]]) if said["cause"] in book else ()
            truth |= dict.fromkeys((t.id for t in topics), said["polarity"])
        truth |= dict.fromkeys(_several(row["text"], truth), False)
        other = None if all(said["cause"] in book for said in row["suspects"]) else False
        yield from examples(row["text"], lambda topic, truth=truth, other=other: truth.get(topic, other))


def _several(text: str, truth: Mapping[str, str | bool]) -> list[str]:
    """The topics that a message names beside an earlier one that is about the same entry."""
    named = dict.fromkeys(t.id for t, _, _ in mentions(text) if t.id in truth)
    return list(named)[1:] if len(named) > 1 else []


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


def trained(learned: Iterable[Example], shape: tuple[int, int] = SHAPE, decay: float = DECAY) -> NDArray[np.float64]:
    """A softmax over summed weights, fitted to all examples at once; needs torch."""
    import torch

    rows = list(learned)
    used, columns = np.unique(np.concatenate([row.places for row in rows]), return_inverse=True)
    starts = np.concatenate([[0], np.cumsum([len(row.places) for row in rows])])
    held = torch.sparse_csr_tensor(
        torch.tensor(starts), torch.tensor(columns), torch.ones(len(columns)), (len(rows), len(used))
    )
    turned = held.to_sparse_coo().t().coalesce().to_sparse_csr()
    meant = torch.nn.functional.one_hot(torch.tensor([row.meant for row in rows]), shape[1]).float()
    weight = torch.tensor([[row.weight] for row in rows])
    weights = torch.zeros(len(used), shape[1])

    def loss() -> torch.Tensor:
        odds = torch.log_softmax(held @ weights, 1)
        weights.grad = turned @ (weight * (odds.exp() - meant)) + decay * weights
        return -(weight * meant * odds).sum() + decay / 2 * (weights**2).sum()

    torch.optim.LBFGS([weights], max_iter=ROUNDS, history_size=8, line_search_fn="strong_wolfe").step(loss)
    out = np.zeros(shape)
    out[used] = weights.numpy()
    return out


def stored(weights: NDArray[np.float64], scale: int) -> NDArray[np.int8]:
    """As it is shipped."""
    return np.clip(np.rint(weights * scale), -127, 127).astype(np.int8)


def store(name: str, weights: NDArray[np.float64]) -> None:
    """Ship one table of weights."""
    keep(name, stored(weights, weigh.SCALE))


def keep(name: str, table: NDArray[Any]) -> None:
    """Ship one table; the others stay."""
    with np.load(weigh.FILE, allow_pickle=False) as kept:
        tables = dict(kept)
    np.savez_compressed(weigh.FILE, **(tables | {name: table}))  # pyright: ignore


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
    parser.add_argument("--without", choices=(*LEARNED, *ENTRIES))
    left = parser.parse_args().without
    files = {name: list(of_file(name)) for name in LEARNED} | {name: list(of_entries(name)) for name in ENTRIES}
    weights = trained([*(row for name, rows in files.items() if name != left for row in rows), *of_expressions()])
    if left:
        print(left, scores(weights, files[left]))
    store("meant", weights)


if __name__ == "__main__":
    main()

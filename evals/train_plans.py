"""Train what a message plans: `python -m triage.evals.train_plans [--without NAME]`.

Some minutes and torch, no download, the same weights each time. It learns from the plans of `data/leading*.jsonl`:
which clauses plan something, which of the variables of `agent/question/acted.txt` is meant, and where it goes. What
tells a plan besides the words is fitted on clauses that the weights were not trained on. `--without` leaves one file
out: to measure, not to ship.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agent.question import acted, weigh
from ..agent.question.blamed import Phrases, indexed
from ..agent.question.named import THINGS
from ..agent.question.parts import clauses, split
from ..agent.question.plans import Plan
from ..agent.question.understand import opinions, said_by
from ..agent.question.wants import wanted
from ..agent.session import index
from ..knowledge.embedding import encoder, unit
from ..knowledge.words import places
from . import fit_blamed, train_clauses
from .train_question import DATA, ENTRIES, LEARNED, Example, keep, store, stored, trained

MARKED = ENTRIES[2:]
"""Files that say which clauses plan; in the others those of the rules that are right are taken."""
OF_MARKED, DECAY = 2.0, 4.0
"""Weight of a clause of those, and how much of the square of a weight counts beside the loss."""
FOLDS = (*ENTRIES[5:], "idle")
"""What is left out in turn to fit what else tells a plan: files, each of another author."""
IDLE = tuple(
    """
X is 8
X was 8 from the start
we had set X to 2
they had raised X last week
don't touch X
leave X alone
I won't change X
it fails with X at 16
we run with X=4 and it dies
X looks fine
what does X do
is X 4 too low
not touching X
X has been like that for ages
X stays
we already lowered X
with X 8 it hangs
who set X to 4
我不动 X
X 别动
X 先不动
X 是 8
X 没改过
X 一直是 4
不打算动X
别碰X
上周把 X 改成 8 了
X 开着
X 保持不变
用 X 8 就崩
X 太小了
X 已经降过了
谁把 X 改成 4 的
""".strip().splitlines()
)
"""What is said of a setting that nobody will change."""
LONG = 10
"""Characters from which on a name is likely one author's."""
FILLED = 14
"""Names that each of these is filled with."""
WAYS = {"up": "raise", "down": "lower", "on": "enable", "off": "disable"}


@dataclass(frozen=True)
class Clause:
    """One clause of a message, with what the rules find in the message."""

    parts: list[str]
    at: int
    acts: list[Plan]
    plan: dict[str, Any] | None

    @property
    def mine(self) -> list[Plan]:
        return [p for p in self.acts if p.text == self.parts[self.at]]

    @property
    def variable(self) -> int:
        """The place of the planned variable among those of the table, -1 for none of them."""
        entries = acted.names().entries
        return entries.index(self.plan["variable"]) if self.plan and self.plan["variable"] in entries else -1


def of_file(name: str) -> Iterator[Clause]:
    """The clauses of one file whose plans are known."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        parts, acts = _read(row.get("text") or row["q"])
        for at, plan in _known(row, parts, acts).items():
            yield Clause(parts, at, acts, plan)


def idle() -> Iterator[Clause]:
    """Messages that name a setting and plan nothing."""
    draw = random.Random(0)
    every = [name for variable, (_, said) in acted.rows().items() if variable not in THINGS for name in said]
    for frame in IDLE:
        for name in draw.sample([n for n in every if (n > "\u33ff") == (frame > "\u33ff") or len(n) < 9], FILLED):
            parts, acts = _read(frame.replace("X", name))
            yield from (Clause(parts, at, acts, None) for at in range(len(parts)))


def _read(text: str) -> tuple[list[str], list[Plan]]:
    """The clauses of a message, and what the rules find in it."""
    said = said_by(split(text)[0], index(None).corrected)
    message, acts = opinions(said, wanted(said))
    return [c for s in message for c in clauses(s)], acts


def _known(row: dict[str, Any], parts: Sequence[str], acts: Sequence[Plan]) -> dict[int, dict[str, Any] | None]:
    """What each clause plans; one of which that is not known is left out."""
    plans = row["plans"] if "plans" in row else [row["plan"]] if row["plan"] else []
    nothing: dict[int, dict[str, Any] | None] = dict.fromkeys(range(len(parts)))
    if not plans or plans[0]["direction"] == "none":
        return nothing
    if "clauses" in plans[0]:
        said = {at for plan in plans for at in plan["clauses"]}
        out = {at: None for at in nothing if at not in said}
        for plan in plans:
            here = [at for at in plan["clauses"] if at < len(parts)]
            by_rule = [at for at in here if any(p.text == parts[at] for p in acts)]
            out |= dict.fromkeys(by_rule or here, plan)
        return out
    truth, out = {p["variable"]: p for p in plans}, dict[int, dict[str, Any] | None]()
    for at, part in enumerate(parts):
        right = [truth[p.variable] for p in acts if p.text == part and p.variable in truth]
        out |= {at: right[0]} if right else {}
    found = {plan["variable"] for plan in out.values() if plan}
    return nothing | out if found == truth.keys() else out


def _unsaid(name: str) -> Phrases:
    """The names of variables without the long ones that the messages of one file say, which would be too near to it."""
    if name == "idle":
        return acted.names()
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    said = " ".join(" ".join(acted.VALUE.sub("", json.loads(line)["text"]) for line in lines).split())
    rows = {v: [n for n in names if len(n) < LONG or n not in said] for v, (_, names) in acted.rows().items()}
    return indexed(rows)


def deciding(rows: Sequence[Clause], weight: float) -> Iterator[Example]:
    for row in rows:
        yield Example(
            places(acted.features(row.parts, row.at, row.acts), weigh.BITS), int(row.plan is not None), weight
        )


def going(rows: Sequence[Clause], weight: float) -> Iterator[Example]:
    for row in rows:
        if row.plan:
            way = WAYS.get(row.plan["direction"], row.plan["direction"])
            told = acted.going(row.parts[row.at], row.plan["variable"], row.mine)
            yield Example(places(told, weigh.BITS), acted.GOES.index(way), weight)


def centres() -> NDArray[np.int8]:
    """The mean direction of each variable's names, as it is shipped."""
    means = unit(np.stack([encoder().encode(said).mean(0) for _, said in acted.rows().values()]))
    return stored(means / np.abs(means).max(1, keepdims=True), 127)


def train(left: str | None) -> dict[str, NDArray[Any]]:
    """All tables, learned without one file."""
    files = {name: list(of_file(name)) for name in (*LEARNED, *ENTRIES) if name != left}
    weights = {name: OF_MARKED if name in MARKED else 1.0 for name in files}
    files["idle"], weights["idle"] = list(idle()), 1.0
    decided = {name: list(deciding(rows, weights[name])) for name, rows in files.items()}

    def without(other: str | None) -> NDArray[np.float64]:
        rows = (row for name, each in decided.items() if name != other for row in each)
        return trained(rows, (1 << weigh.BITS, 2), DECAY)

    near = {
        name: [acted.ranked(r.parts, r.at, r.acts, known) for r in files[name]]
        for name in FOLDS
        if name != left and (known := _unsaid(name))
    }
    known = [
        (name, x, row.variable)
        for name in near
        for x, row in zip(near[name], files[name], strict=True)
        if row.variable >= 0
    ]
    nearest = fit_blamed.fitted(known).astype(np.float32)
    keep("nearest", nearest)
    weigh.table.cache_clear()
    told = list[tuple[NDArray[np.float64], bool]]()
    for name in near:
        scores = without(name)
        for x, row, example in zip(near[name], files[name], decided[name], strict=True):
            off, on = scores[example.places].sum(0)
            told.append((acted.shaped(float(on - off), x, row.parts, row.at, row.mine), row.plan is not None))
    ways = (row for name, rows in files.items() for row in going(rows, weights[name]))
    return {
        "planned": train_clauses.fitted(told).astype(np.float32),
        "plans": without(None),
        "goes": trained(ways, (1 << weigh.BITS, len(acted.GOES)), DECAY),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", choices=(*LEARNED, *ENTRIES))
    left = parser.parse_args().without
    keep("acted", centres())
    weigh.table.cache_clear()
    tables = train(left)
    keep("planned", tables["planned"])
    store("plans", tables["plans"])
    store("goes", tables["goes"])


if __name__ == "__main__":
    main()

"""Train what bids its reader do something: `python -m triage.evals.train_bidden [--measure]`.

Some minutes, no download. Orders are those of `data/bidding.txt`, `data/orders*.jsonl` and `outside.json`, and such as
are put together of the pieces in `data/bids.txt`, bare and in the wrappings that a log, a configuration or a table
gives them; what is none are lines of the installed libraries, of the documents and the runbook, people's questions,
and the traps of `data/unbidden.txt`. `--measure` stores nothing: it trains on half and prints how many of the other
half are named, and how many lines that are no orders.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..knowledge.outside import addressed_by_pattern, apart, bidden, phrases
from ..knowledge.words import places
from .train_question import DATA, LEARNED, Example, stored, trained

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "knowledge/runbooks", "evals/example")
FILES, LINES, ENDINGS = 3000, 40, (".py", ".md", ".rst", ".txt", ".yaml", ".log", ".jsonl", ".json")
"""Files of one folder and lines of one file that are read."""
DECAY = 2.0
OF_ORDER, OF_TRAP = 4.0, 3.0
"""Weights of an order, and of a line that is none and sounds like one, beside that of another line."""
TIMES = 3
"""Orders that are put together of each thing that can be bid."""
WRAPPINGS = r"""
# {}
// {}
2024-05-01 10:22:10 INFO {}
[rank1] {}
  "note": "{}",
"comment": "{}"
<!-- {} -->
step 40 loss 2.1 ; {}
wandb: {}
300,"{}",3e-4
-- {}
RuntimeError: CUDA error; {}
W0311 02:14:08 {}
[[ {} ]]
{"step": 20, "loss": 3.0, "tag": "{}"}
""".strip().splitlines()


def orders() -> list[str]:
    """Every order, as it is."""
    found = [line for line in (DATA / "bidding.txt").read_text(encoding="utf-8").splitlines() if line]
    for name in ("orders.jsonl", "orders-2.jsonl"):
        rows = map(json.loads, (DATA / name).read_text(encoding="utf-8").splitlines())
        found += [row["q"].split("\n")[row["order_line"] - 1] for row in rows]
    return [*found, *phrases()["orders"], *composed()]


def composed() -> Iterator[str]:
    """Orders put together of who is hailed, how, and what is bid."""
    draw, pieces, kind = random.Random(0), dict[str, list[str]](), ""
    for line in (DATA / "bids.txt").read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"@[a-z-]+", line):
            kind = line[1:]
        elif not line.startswith("# "):
            pieces.setdefault(kind, []).append(line)

    def one(kind: str) -> str:
        return filled(draw.choice(pieces[kind]))

    def filled(line: str) -> str:
        return re.sub(r"<([a-z-]+)>", lambda m: one(m[1]) if m[1] in pieces else m[0], line)

    for start in ("", "zh-"):
        yield from (filled(whole) for whole in pieces[f"{start}whole"] * TIMES)
        yield from (filled(bid) for bid in pieces[f"{start}do"])
        for bid in pieces[f"{start}do"] * TIMES:
            yield one(f"{start}hail") + one(f"{start}how") + filled(bid)


def wrapped(lines: Iterable[str], draw: random.Random) -> list[str]:
    """Each line in one wrapping, or with its words joined as in a name."""
    chosen = ((line, draw.choice((*WRAPPINGS, ""))) for line in lines)
    return [how.replace("{}", line) if how else re.sub("[ ,:]+", "_", line) + ": 1.0" for line, how in chosen]


def others() -> list[str]:
    """Lines that are no orders, one of each form."""
    found: dict[str, str] = {}
    draw = random.Random(0)
    for folder in (
        sysconfig.get_paths()["purelib"],
        ROOT / "docs",
        ROOT / "knowledge/runbooks",
        ROOT / "evals/example",
    ):
        files = sorted(p for p in Path(folder).rglob("*") if p.suffix in ENDINGS and p.is_file())
        for file in draw.sample(files, min(FILES, len(files))):
            found |= {re.sub(r"\d+", "0", line): line for line in _some(file, draw)}
    plain = traps()
    phrased = [
        line for file in sorted((ROOT / "knowledge/runbooks/phrases").glob("*.txt")) for line in _some(file, draw)
    ]
    for kept in (plain, phrased, wrapped(phrased, draw), wrapped(plain, draw), wrapped(plain, draw)):
        found |= {line: line for line in kept}
    for name in LEARNED:
        found |= {q: q for q in (json.loads(x)["q"] for x in (DATA / name).read_text(encoding="utf-8").splitlines())}
    return [line for line in found.values() if len(line) > 3 and not addressed_by_pattern(line)]


def traps() -> list[str]:
    """Lines that sound like orders and are none: prompts of somebody's data, notes among people, hints of libraries."""
    return [line for line in (DATA / "unbidden.txt").read_text(encoding="utf-8").splitlines() if line]


def _some(file: Path, draw: random.Random) -> list[str]:
    lines = file.read_text(encoding="utf-8", errors="replace")[:400_000].splitlines()
    return draw.sample(lines, min(LINES, len(lines)))


def examples(lines: Iterable[str], meant: int, weight: float = 1.0) -> Iterator[Example]:
    """Of an order the whole line, of others every part."""
    whole = dict.fromkeys(part for line in lines for part in ([apart(line)] if meant else bidden.parts(apart(line))))
    return (Example(places(bidden.features(part), bidden.BITS), meant, weight) for part in whole)


def weights(spoken: list[str], plain: Sequence[str]) -> NDArray[np.float64]:
    """Of each feature, how much it speaks for an order."""
    told = [*spoken, *wrapped(spoken, random.Random(0))]
    trap = set(traps())
    kinds = [[line for line in plain if (line in trap) is kind] for kind in (False, True)]
    learned = [*examples(told, 1, OF_ORDER), *examples(kinds[0], 0), *examples(kinds[1], 0, OF_TRAP)]
    both = trained(learned, (1 << bidden.BITS, 2), DECAY)
    return both[:, 1] - both[:, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    measured = parser.parse_args().measure
    spoken, plain = orders(), others()
    random.Random(0).shuffle(plain)
    if not measured:
        np.savez_compressed(bidden.FILE, bidden=stored(weights(spoken, plain), bidden.SCALE))
        return
    learned = weights(spoken[::2], plain[::2])
    top = [max((learned[e.places].sum() for e in examples([line], 0)), default=-99.0) for line in plain[1::2]]
    of_orders = wrapped(spoken[1::2], random.Random(1))
    found = [max((learned[e.places].sum() for e in examples([line], 0)), default=-99.0) for line in of_orders]
    for least in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        named = sum(score > least or addressed_by_pattern(x) for score, x in zip(found, of_orders, strict=True))
        print(f"from {least}: {named} of {len(found)} orders, {sum(s > least for s in top)} of {len(top)} other lines")
    print(f"by the patterns alone: {sum(map(addressed_by_pattern, of_orders))}")


if __name__ == "__main__":
    main()

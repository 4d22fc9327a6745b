"""Batches that each rank draws at random, with the same seed on all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..look import alone_on_rank
from ..rule import Fault, View

DRAWS = {
    "torch": (re.compile(r"^torch\.(randint|randperm|multinomial)$"), ("manual_seed", "manual_seed_all")),
    "numpy": (re.compile(r"^(np|numpy)\.random\.(choice|randint|permutation|random_integers)$"), ("seed",)),
    "random": (re.compile(r"^random\.(sample|choice|choices|randrange|randint|shuffle)$"), ("seed",)),
}
"""Generator of a library -> the functions that draw from it, those that seed it."""
ALL = ("set_seed", "seed_everything", "seed_all")
"""Functions of libraries that seed every generator."""
OWN = ("default_rng", "RandomState", "Random")
"""Generators of their own."""
TAKES = ("choice", "choices", "sample", "integers", "randint", "permutation", "shuffle", "randrange")
DATA = re.compile(
    r"data|rows|docs|samples|items|records|prompts|texts|examples|corpus|lines|tokens|train|pool|indices", re.I
)
APART = re.compile(r"rank|process_index|RANK|world|offset|device_specific")
"""Words of what differs from one rank to the next."""

DEALT = re.compile(r"rank\s?::|\[\w{0,20}rank|\.shard\(|num_replicas|split_dataset_by_node|scatter")
"""How data are cut by rank."""


def drawn_alike(view: View) -> Iterator[Fault]:
    """A batch of a training step that is drawn at random, with a seed that all ranks have."""
    program = view.program
    if not view.distributed:
        return
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if not isinstance(call, ast.Call) or not _of_data(program, call) or alone_on_rank(program, call):
                continue
            seeds = _seeds(program, call)
            apart = any(_apart(program, n) for n in call.args) or any(_apart(program, s, True) for s in seeds)
            if seeds and not apart and not DEALT.search(program.said):
                yield Fault(call, "every rank draws the same batch: all of them have the same seed",
                            "每个 rank 抽到相同的批次：随机种子相同", beside=(seeds[0],))  # fmt: skip
                return


def _of_data(program: Program, call: ast.Call) -> bool:
    """Whether a call draws places or rows of data."""
    path, name = program.path(call.func), last(program.path(call.func))
    if name not in TAKES and not any(how.search(path) for how, _ in DRAWS.values()):
        return False
    long = any(isinstance(n, ast.Call) and program.path(n.func) == "len" for a in call.args for n in walk(a))
    return long or any(DATA.search(last(key(a))) for a in call.args[:1])


def _seeds(program: Program, call: ast.Call) -> list[ast.expr]:
    """What the generator is seeded with that a call draws from; empty where that is not seen."""
    path, on = program.path(call.func), argument(call, "generator") or receiver(call)
    kinds = [seeds for how, seeds in DRAWS.values() if how.search(path)]
    if not kinds or argument(call, "generator") is not None:
        made = program.origin(on) if on is not None else None
        own = isinstance(made, ast.Call) and last(program.path(made.func)) in (*OWN, "manual_seed")
        return list(made.args[:1]) if own and isinstance(made, ast.Call) else []
    out = []
    for seeded in program.find(*kinds[0], *ALL):
        own = program.path(seeded.func)
        fits = last(own) in ALL or own.partition(".")[0] == path.partition(".")[0]
        if fits and program.function(seeded) is None and (given := argument(seeded, "seed", 0)) is not None:
            out += [given, *(k.value for k in seeded.keywords if k.arg == "device_specific")]
    return out


def _apart(program: Program, expr: ast.expr, seed: bool = False) -> bool:
    """Whether a value differs from rank to rank; a seed may, where no call of this file gives it."""
    for node, _, _ in made_of(program, expr):
        text = str(node.value) if isinstance(node, ast.Constant) else program.code(node)
        if APART.search(text) or (isinstance(node, ast.Constant) and node.value is True):
            return True
        found = program.binding(node) if isinstance(node, ast.Name) else None
        if seed and found is not None and found.how == "parameter" and not program.callers(found.node):
            return True
    return False

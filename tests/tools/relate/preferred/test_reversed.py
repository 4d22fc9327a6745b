"""Pairs of one group that were labelled the wrong way round, and groups that are only harder."""

import random

import pytest

from triage.tools.relate.preferred.reversed import turned_round
from triage.tools.tables.read import read_tables


def rows(share, n=900, parts=("north", "south", "west"), lots=("l1", "l2", "l3"), seed=2):
    """(source, lot, whether the scorer agrees with the label), agreeing with the share of the source and lot."""
    rng = random.Random(seed)
    for _ in range(n):
        part, lot = rng.choice(parts), rng.choice(lots)
        yield part, lot, rng.random() < share(part, lot), rng.uniform(0.1, 2.0)


def scores(share):
    lines = [
        f"{i},{p},{lot},{(g if ok else 0):.3f},{(0 if ok else g):.3f}" for i, (p, lot, ok, g) in enumerate(rows(share))
    ]
    return "id,source,delivery,chosen_reward,rejected_reward\n" + "\n".join(lines) + "\n"


def marks(share):
    lines = [f"{i},{p},{lot},{int(ok)}" for i, (p, lot, ok, _) in enumerate(rows(share))]
    return "编号,来源,批次,correct\n" + "\n".join(lines) + "\n"


def margins(share):
    lines = [f"{i},{p},{lot},{g if ok else -g:.3f}" for i, (p, lot, ok, g) in enumerate(rows(share))]
    return "id,annotator,batch,margin\n" + "\n".join(lines) + "\n"


def told(folder, text):
    (folder / "pairs.csv").write_text(text)
    return [f for t in read_tables(folder / "pairs.csv", "pairs.csv") for f in turned_round(t)]


@pytest.mark.parametrize("form", [scores, marks, margins])
@pytest.mark.parametrize(
    ("share", "columns"),
    [
        (lambda p, lot: 0.17 if p == "west" else 0.83, 1),
        (lambda p, lot: 0.2 if (p, lot) in (("west", "l2"), ("west", "l3")) else 0.8, 2),
    ],
    ids=["one source", "two lots of a source"],
)
def test_a_mirror_of_the_rest_is_told(tmp_path, form, share, columns):
    (found,) = told(tmp_path, form(share))
    assert found.code == "pairs-turned-round"
    assert (len(found.data["columns"]), found.data["groups"][0]) == (columns, ["west"])


@pytest.mark.parametrize("form", [scores, marks])
@pytest.mark.parametrize(
    "share",
    [
        lambda p, lot: 0.8,
        lambda p, lot: 0.45 if p == "west" else 0.8,
        lambda p, lot: 0.34 if p == "west" else 0.93,
        lambda p, lot: 0.5,
    ],
    ids=["alike", "as by guessing", "harder", "nothing learned"],
)
def test_a_harder_group_is_left_alone(tmp_path, form, share):
    assert not told(tmp_path, form(share))

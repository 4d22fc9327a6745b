"""A share of flagged samples that steps up in one source is told; in all of them, or of wanted hits, it is not."""

import numpy as np
import pytest

from triage.tools.operation.requests.streamed import streamed
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(11)
SOURCES = ("law", "code", "chat")


def told(tmp_path, shares, file="guard/unsafe_counts.tsv", head="batch\tdomain\tchecked\tflagged", step="step"):
    """Codes of a monitor of three sources over 60 places, whose shares are functions of the place."""
    rows = [head.replace("batch", step)]
    for i in range(60):
        for source in SOURCES:
            n = int(RNG.integers(700, 900))
            rows.append(f"{4000 + 40 * i}\t{source}\t{n}\t{RNG.binomial(n, shares(source, i))}")
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return [(f.code, f.data["group"]) for f in streamed(read_tables(path, file))]


def one(source, i):
    return 0.05 if source == "chat" and i >= 37 else 0.004


def test_one_source_steps_up(tmp_path):
    assert told(tmp_path, one) == [("toxic-share-rises", "domain chat")]
    assert told(tmp_path, one, "privacy/scan.tsv") == [("pii-share-rises", "domain chat")]


def entering(tmp_path, late, others=0.004, file="wächter/zaehler.csv", guard="hate-guard-2.1"):
    """Findings of a monitor of three sources, of which one comes in at the thirtieth place."""
    rows = ["step,source,n_checked,hits,cutoff,filter"]
    for i in range(60):
        for source in (*SOURCES[:2], *(["Chan"] if i >= 30 else [])):
            n = int(RNG.integers(700, 900))
            rows.append(
                f"{4000 + 40 * i},{source},{n},{RNG.binomial(n, late if source == 'Chan' else others)},0.4,{guard}"
            )
    probe = [
        "step,generations,unsafe_generations",
        *(f"{4000 + 400 * i},1000,{9 + 11 * max(0, i - 2)}" for i in range(6)),
    ]
    tables = []
    for name, lines in ((file, rows), ("probe.csv", probe)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        tables += read_tables(tmp_path / name, name)
    return [*streamed(tables)]


@pytest.mark.parametrize(("file", "guard"), [("wächter/zaehler.csv", "hate-guard-2.1"), ("监控/不良.csv", "v7")])
def test_a_source_that_comes_in_far_above_the_others(tmp_path, file, guard):
    (found,) = entering(tmp_path, 0.06, file=file, guard=guard)
    assert (found.code, found.data["names"], found.data["at"]) == ("toxic-share-rises", "Chan", 5200)
    assert f"filter {guard}" in found.message
    assert found.evidence[-1].file == "probe.csv"


@pytest.mark.parametrize(("late", "others"), [(0.004, 0.004), (0.007, 0.004), (0.06, 0.05)])
def test_a_source_that_comes_in_like_the_others_is_silent(tmp_path, late, others):
    assert entering(tmp_path, late, others) == []


@pytest.mark.parametrize(
    "shares",
    [
        lambda source, i: 0.05 if i >= 37 else 0.004,
        lambda source, i: 0.05 if source == "chat" else 0.004,
        lambda source, i: 0.05 if source == "chat" and 30 <= i < 37 else 0.004,
        lambda source, i: 0.006 if source == "chat" and i >= 37 else 0.004,
    ],
    ids=["everywhere at once", "a source that is so", "for a while", "hardly"],
)
def test_what_is_no_step_of_one_source_is_silent(tmp_path, shares):
    assert told(tmp_path, shares) == []


def test_hits_that_are_wanted_or_of_nobody_knows_what_are_silent(tmp_path):
    assert told(tmp_path, one, "serving/prefix_cache_abuse.tsv", "batch\tdomain\trequests_seen\thits") == []
    assert told(tmp_path, one, "monitor/counts.tsv") == []

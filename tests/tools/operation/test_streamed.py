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

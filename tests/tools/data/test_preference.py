"""Preference and reward statistics, and the mathematics under them."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import codes, write

from triage.tools.data.preference import preference
from triage.tools.data.statistics import correlation_interval, krippendorff, ranks, spearman, spearman_within, wilson


def words(rng, count):
    return " ".join(rng.choices(["one", "two", "three", "four", "five", "six"], k=count))


def pairs(longer, count=200):
    rng = random.Random(1)
    return [
        {"prompt": f"q{i}", "chosen": words(rng, 30 if rng.random() < longer else 10), "rejected": words(rng, 20)}
        for i in range(count)
    ]


@pytest.mark.parametrize(("longer", "found"), [(0.5, {}), (0.6, {}), (0.9, {"length-reward-correlation": "S2"})])
def test_length_bias_needs_more_than_a_mild_tilt(tmp_path, longer, found):
    assert codes(preference([write(tmp_path / "pairs.jsonl", pairs(longer))])) == found


def test_few_pairs_prove_nothing(tmp_path):
    assert codes(preference([write(tmp_path / "pairs.jsonl", pairs(1.0, 10))])) == {}


def test_pairs_without_a_gap(tmp_path):
    rows = [r | {"chosen_score": 5, "rejected_score": 5 if i % 2 else 3} for i, r in enumerate(pairs(0.5))]
    assert codes(preference([write(tmp_path / "pairs.jsonl", rows)])) == {"preference-gap-small": "S2"}
    rows = pairs(0.5)
    rows[7]["rejected"] = rows[7]["chosen"]
    report = preference([write(tmp_path / "pairs.jsonl", rows)])
    assert codes(report) == {"preference-gap-small": "S3"}
    assert report.findings[0].evidence[0].line == 8


def rollouts(slope, spread=0.0):
    """Rewards that follow length within the prompt (slope), or only between prompts (spread)."""
    rng, rows = random.Random(2), []
    for p in range(60):
        base = rng.randint(5, 60)
        sizes = [base + rng.randint(0, 30) for _ in range(6)]
        rows.append({"prompt": f"p{p}", "responses": [words(rng, n) for n in sizes],
                     "rewards": [slope * n + spread * base + rng.gauss(0, 5) for n in sizes]})  # fmt: skip
    return rows


def test_reward_that_follows_length_within_the_prompt_is_found(tmp_path):
    report = preference([write(tmp_path / "pairs.jsonl", rollouts(1.0))])
    assert codes(report) == {"length-reward-correlation": "S2"}
    assert report.summary["length_reward_basis"] == "within the prompt"


def test_harder_prompts_with_longer_answers_are_no_length_bias(tmp_path):
    report = preference([write(tmp_path / "pairs.jsonl", rollouts(0.0, spread=3.0))])
    assert codes(report) == {}
    assert report.summary["length_reward_pooled"] > 0.5  # the pooled number would have cried wolf


def annotations(noise, labels=("good", "bad", "unclear")):
    rng, rows = random.Random(3), []
    for item in range(80):
        truth = rng.choice(labels)
        rows += [
            {"item_id": item, "annotator": a, "label": rng.choice(labels) if rng.random() < noise else truth}
            for a in "xyz"
        ]
    return rows


def test_agreement_is_krippendorffs_alpha_with_its_level(tmp_path):
    good = preference([write(tmp_path / "pairs.jsonl", annotations(0.1))])
    assert codes(good) == {}
    assert good.summary["krippendorff_alpha"] > 0.67
    poor = preference([write(tmp_path / "pairs.jsonl", annotations(0.8))])
    assert codes(poor) == {"annotator-disagreement": "S2"}
    assert poor.summary["level_of_measurement"] == "nominal"
    scale = preference([write(tmp_path / "pairs.jsonl", annotations(0.1, (1, 2, 3, 4, 5)))])
    assert scale.summary["level_of_measurement"] == "ordinal"


# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: 4 observers, 12 units, missing data.
UNITS = [(1, 1, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4), (4, 4, 4, 4), (1, 1, 2, 1),
         (2, 2, 2, 2), (5, 5, 5), (1, 1), (3,)]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_agrees_with_the_published_example(level, alpha):
    assert krippendorff(UNITS, level) == pytest.approx(alpha, abs=6e-4)


def test_alpha_of_perfect_chance_and_empty_data():
    assert krippendorff([(1, 1), (2, 2), (3, 3)], "nominal") == 1.0
    rng = random.Random(4)
    assert abs(krippendorff([(rng.randint(0, 3), rng.randint(0, 3)) for _ in range(4000)], "nominal")) < 0.05
    assert math.isnan(krippendorff([(1, 1), (1, 1)], "nominal"))
    assert math.isnan(krippendorff([], "nominal"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=3, max_size=40))
def test_ranks_and_spearman_match_scipy(values):
    stats = pytest.importorskip("scipy.stats")
    x = np.array(values, float)
    y = np.roll(x, 1) * x
    assert np.array_equal(ranks(x), stats.rankdata(x))
    ours = spearman(x, y)
    if np.ptp(x) and np.ptp(y):
        assert ours == pytest.approx(stats.spearmanr(x, y).statistic)
    else:
        assert math.isnan(ours)


def test_within_group_correlation_ignores_groups_of_one():
    x, y = np.array([1.0, 2, 3, 9]), np.array([3.0, 2, 1, 50])
    assert spearman_within(x, y, ["a", "a", "a", "b"]) == (pytest.approx(-1.0), 3)
    assert spearman_within(x, y, list("abcd"))[1] == 0


def test_intervals_hold_their_estimate():
    low, high = wilson(8, 10)
    assert low < 0.8 < high
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = correlation_interval(0.5, 100)
    assert low < 0.5 < high
    assert correlation_interval(math.nan, 100) == (-1.0, 1.0)

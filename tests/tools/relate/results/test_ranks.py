"""Recalls of several widths that come out as one number."""

import pytest

from triage.tools.relate.results.ranks import ranks
from triage.tools.relate.results.read import Row


def told(**values):
    return [
        f.code
        for f in ranks([Row("metrics.json", "", 1, (), {k.replace("_at_", "@"): v for k, v in values.items()}, None)])
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"i2t_recall_at_1": 0.4127391, "i2t_recall_at_5": 0.4127391, "i2t_recall_at_10": 0.55812},
        {"hit_at_1": 31.27904, "hit_at_10": 31.27904, "hit_at_100": 62.3},
        {"Recall_at_5": 0.2231987, "Recall_at_20": 0.2231987, "Recall_at_1": 0.1},
    ],
)
def test_a_wider_look_that_finds_no_more_is_told(values):
    assert told(**values) == ["widths-come-out-equal"]


@pytest.mark.parametrize(
    "values",
    [
        {"recall_at_1": 0.41273, "recall_at_5": 0.61273, "recall_at_10": 0.7},
        {"recall_at_1": 0.35, "recall_at_5": 0.35, "recall_at_10": 0.4},  # of twenty items
        {"recall_at_10": 1.0, "recall_at_50": 1.0, "recall_at_1": 0.9},  # all are found
        {"ndcg_at_1": 0.41273, "ndcg_at_5": 0.41273, "ndcg_at_10": 0.5},  # no share that grows
        {"recall_at_1": 0.41273, "recall_at_5": 0.41273},  # nothing shows that it differs elsewhere
    ],
)
def test_what_grows_is_saturated_or_of_few_items_is_not(values):
    assert told(**values) == []

"""The fast part of what `python -m triage.evals.relations` measures."""

import numpy as np
import pytest

from triage.evals.relations import KINDS, judged
from triage.tools.tables.read import read_tables


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_was_planted_comes_first_and_in_its_place(kind):
    rng = np.random.default_rng([11, KINDS.index(kind)])
    got = [judged(kind(rng, True), read_tables)[1:] for _ in range(6)]
    assert sum(right for right, _ in got) >= 5
    assert sum(held for _, held in got) >= 5


def test_healthy_draws_are_accused_of_nothing():
    rng = np.random.default_rng(12)
    for i in range(15):
        found, *_ = judged(KINDS[i % len(KINDS)](rng, False), read_tables)
        assert [f.message for f in found.findings if f.severity != "S3"] == []
        assert [c for c in found.checks if c.result == "failed"] == []

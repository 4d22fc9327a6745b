from triage.knowledge.coverage import coverage
from triage.knowledge.runbook import load


def test_every_row_and_criterion_of_the_sources_is_placed():
    found = coverage(load())
    assert (found.rows_missing, found.criteria_missing, found.unknown) == ((), (), ())
    assert str(found) == "159/159 rows, 77/77 criteria"


def test_what_is_missing_or_unknown_is_named():
    entries = [e.model_copy(update={"covers": (*e.covers, "S9-X")} if e.id == "loss-nan" else {}) for e in load()]
    found = coverage([e for e in entries if e.id != "reward-hacking"])
    assert "S0-RL-01" in found.rows_missing
    assert "cheating_pattern_found" in found.criteria_missing
    assert found.unknown == ("loss-nan: S9-X",)
    assert not found.complete

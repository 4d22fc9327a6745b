"""Two faults in one run: two diagnoses, each with its own evidence, and the order in which to mend them."""

import planted_curves
import planted_data
import planted_rl
import planted_scores
import planted_system
import pytest
from making import fill
from planted import FAILURES

from triage.agent.session import ask

BUILDERS = (planted_curves, planted_data, planted_rl, planted_scores, planted_system)
PAIRS = [
    ("loss-scale-collapse", "pii-in-data"),
    ("eval-leakage", "kernel-not-optimized"),
    ("memory-leak", "annotation-disagreement"),
    ("codebook-collapse", "judge-bias"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_faults_are_two_diagnoses_with_evidence_each(tmp_path, one, other):
    files = {f"data/{name}": text for name, text in FAILURES[other](True).items() if not name.endswith(".log")}
    answer = ask("what is wrong with this run?", [fill(tmp_path / "run", files | FAILURES[one](True))])
    found = answer.diagnosis
    assert {h.entry.id for h in found.to_mend} == {one, other}
    told = answer.as_json()
    assert sorted(told["mend_in_order"]) == sorted((one, other))
    assert [h.entry.severity for h in found.to_mend] == sorted(h.entry.severity for h in found.to_mend)
    first, second = ({id(f) for f in h.for_} for h in found.to_mend)
    assert first
    assert second
    assert not first & second
    assert other in answer.text
    assert one in answer.text


@pytest.mark.parametrize("key", ["nccl-hang", "grad-explosion", "overfitting", "rope-scaling-misconfig", "memory-leak"])
def test_one_fault_is_one_diagnosis(tmp_path, key):
    found = ask("what is wrong with this run?", [fill(tmp_path / "run", FAILURES[key](True))]).diagnosis
    assert not found.also

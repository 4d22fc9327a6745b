"""A fault in the program explains what was measured, and only that."""

from programs import LOOP

from triage.agent.diagnose import diagnose
from triage.agent.evidence import look
from triage.agent.propose import Proposal, propose
from triage.agent.session import ask
from triage.knowledge.runbook import load


def answered(tmp_path, log, program=LOOP):
    (tmp_path / "train.log").write_text(log)
    (tmp_path / "train.py").write_text(program)
    seen = look([tmp_path])
    found = diagnose(load(), (), seen.findings, seen.checks, looked=True)
    return seen, found, propose(found, seen.settings, seen.run)


def lines(memory, loss=lambda i: 2.0 - i / 2000):
    return "".join(
        f"step {i} loss {loss(i):.4f} lr 1e-4 grad_norm 1.{i % 9} gpu_memory_allocated_gb {memory(i):.2f}\n"
        for i in range(10, 3010, 10)
    )


def test_memory_that_grows_is_explained_by_the_line_and_its_edit_is_the_one_change(tmp_path):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    _, found, proposal = answered(tmp_path, lines(lambda i: 10 + i * 0.02) + oom)
    assert found.top
    assert found.top.entry.id == "memory-leak"
    assert isinstance(proposal, Proposal)
    assert (proposal.variable, proposal.file, proposal.line) == ("code", "train.py", 10)
    assert proposal.new == "total += loss.detach()"
    assert "+    total += loss.detach()" in proposal.patch


def test_a_hazard_alone_is_no_more_than_s2_and_no_diagnosis_of_a_sound_run(tmp_path):
    seen, found, _ = answered(tmp_path, lines(lambda i: 10.0))
    assert {str(f.severity) for f in seen.findings if f.code == "loss-kept-with-graph"} == {"S2"}
    assert not (found.top and found.top.entry.id == "memory-leak" and found.state == "diagnosed")


def test_a_hazard_does_not_outweigh_what_was_measured(tmp_path):
    bad = lines(lambda i: 10.0, lambda i: 2.0 if i < 1500 else float("nan"))
    _, found, _ = answered(tmp_path, bad)
    assert found.top
    assert found.top.entry.id != "memory-leak"


def test_a_symptom_that_no_measure_shows_is_answered_with_the_line_that_would_lead_to_it(tmp_path):
    (tmp_path / "train.log").write_text("step 0 loss 3.2\nstep 100 loss 3.0\nstep 200 loss 2.9\n")
    (tmp_path / "train.py").write_text(LOOP)
    answer = ask("memory grows every step", [tmp_path])
    number = 1 + [f.code for f in answer.diagnosis.findings].index("loss-kept-with-graph")
    assert f"You describe memory that grows: no measure shows it, and F{number} would lead to it." in answer.head
    assert "would lead to it" not in " ".join(ask("the loss goes up", [tmp_path]).head)

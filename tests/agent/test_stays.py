"""What a proposal names as left alone."""

from pathlib import Path

import pytest

from triage.agent.change.stays import NAMES
from triage.agent.session import ask, index

HF = "per_device_train_batch_size: 8\nnum_train_epochs: 3\nwarmup_ratio: 0.03\nlearning_rate: 2.0\n"


def made(path: Path) -> Path:
    path.mkdir()
    (path / "train.yaml").write_text(HF)
    return path


def test_every_name_is_a_setting_or_a_thing_that_can_be_told():
    book = index(None).runbook
    assert sum(bool(e.stays) for e in book) > 50
    assert {n for e in book for n in e.stays} <= NAMES


@pytest.mark.parametrize(("lang", "words"), [("en", "keep above all: the data, `"), ("zh", "尤其不要动：数据、`")])
def test_what_people_reach_for_first_is_named_as_left_alone(tmp_path, lang, words):
    answer = ask("loss does not go down", [made(tmp_path / "run")], lang)
    entry = index(None).runbook.get(answer.proposal.entry)
    assert answer.proposal.variable == "learning_rate"
    assert answer.proposal.stays == tuple(n for n in entry.stays if n != "learning_rate")
    assert words in answer.text


@pytest.mark.parametrize(
    ("plan", "name"),
    [("I plan to lower the weight decay to 0.01", "weight_decay"), ("打算把梯度累积改成 8", "grad_accumulation")],
)
def test_what_is_planned_beside_the_change_is_named_before_it(tmp_path, plan, name):
    assert ask(f"loss does not go down. {plan}. ok?", [made(tmp_path / "run")], "en").proposal.stays[0] == name


def test_the_setting_that_is_changed_is_not_named_as_kept(tmp_path):
    answer = ask("loss does not go down. I want to lower the learning rate to 1e-4. ok?", [made(tmp_path / "run")])
    assert answer.proposal.variable == "learning_rate"
    assert "learning_rate" not in answer.proposal.stays


def test_without_a_change_nothing_is_kept(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").write_text("".join(f"step {i} loss {3 - i / 60:.3f} lr 1e-4\n" for i in range(1, 121)))
    assert "above all" not in ask("is it fine? I plan to lower the weight decay.", [run], "en").text

"""One training in many layouts is one; several are several; a restart is the next attempt of its run."""

import shutil
from pathlib import Path

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
RUN = EXAMPLE / "run-1"
ASKED = "what went wrong?"


def copy(name: str, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(RUN / name, to)


def flat(root: Path) -> None:
    shutil.copytree(RUN, root)


def inside_a_parent(root: Path) -> None:
    shutil.copytree(RUN, root / "exp42")


def deep_below(root: Path) -> None:
    shutil.copytree(RUN, root / "a" / "b" / "exp42")


def spread(root: Path) -> None:
    copy("train.log", root / "logs" / "train.log")
    copy("trainer_state.json", root / "out" / "trainer_state.json")
    copy("train.yaml", root / "conf" / "train.yaml")
    copy("launch.sh", root / "scripts" / "launch.sh")


def copied_beside(root: Path) -> None:
    shutil.copytree(RUN, root / "exp42")
    shutil.copytree(RUN, root / "exp42-copy")


def copied_inside(root: Path) -> None:
    shutil.copytree(RUN, root)
    shutil.copytree(RUN, root / "backup")


def log_in_an_old_folder(root: Path) -> None:
    shutil.copytree(RUN, root)
    copy("train.log", root / "old" / "train.log")


def state_in_a_checkpoint(root: Path) -> None:
    shutil.copytree(RUN, root)
    copy("trainer_state.json", root / "checkpoint-5000" / "trainer_state.json")


def console_and_tracker(root: Path) -> None:
    copy("train.log", root / "console" / "train.log")
    copy("trainer_state.json", root / "exported" / "trainer_state.json")
    copy("train.yaml", root / "train.yaml")


def log_alone_with_config(root: Path) -> None:
    copy("train.log", root / "train.log")
    copy("train.yaml", root / "train.yaml")


def renamed(root: Path) -> None:
    copy("train.log", root / "nohup.out")
    copy("train.yaml", root / "config.yaml")


def beside_healthy_runs(root: Path) -> None:
    for name in ("run-1", "run-2", "run-3"):
        shutil.copytree(EXAMPLE / name, root / name)


LAYOUTS = [
    flat,
    inside_a_parent,
    deep_below,
    spread,
    copied_beside,
    copied_inside,
    log_in_an_old_folder,
    state_in_a_checkpoint,
    console_and_tracker,
    log_alone_with_config,
    renamed,
    beside_healthy_runs,
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_the_layout_does_not_move_the_diagnosis(layout, tmp_path):
    layout(tmp_path / "path")
    answer = ask(ASKED, [tmp_path / "path"])
    assert answer.diagnosis.hypotheses[0].entry.id == "loss-nan-high-lr"
    assert answer.seen
    assert len({s.attempt for s in answer.seen.table}) == 1
    assert answer.proposal.variable == "learning_rate"
    assert answer.proposal.old == "0.3"


def test_several_runs_are_told_apart_and_named(tmp_path):
    beside_healthy_runs(tmp_path / "runs")
    answer = ask(ASKED, [tmp_path / "runs"])
    assert answer.seen
    assert answer.seen.about == "run-1"
    assert [o.run for o in answer.seen.others] == ["run-2", "run-3"]
    assert all(e.file.startswith("run-1/") for f in answer.diagnosis.findings for e in f.evidence if e.file)
    assert "run-2" in answer.short
    assert answer.as_json()["run"].endswith("run-1")


def test_a_run_that_the_words_name_is_the_one(tmp_path):
    beside_healthy_runs(tmp_path / "runs")
    answer = ask("is run-2 healthy?", [tmp_path / "runs"])
    assert answer.seen
    assert answer.seen.about == "run-2"
    assert answer.diagnosis.state == "healthy"


def test_two_runs_given_together_are_not_mixed():
    answer = ask(ASKED, [RUN, EXAMPLE / "run-2"])
    assert answer.proposal.file == "train.yaml"
    assert answer.proposal.old == "0.3"
    assert answer.seen
    assert [o.run for o in answer.seen.others] == ["run-2"]


def test_a_log_and_its_configuration_given_apart_are_one_run():
    answer = ask(ASKED, [RUN / "train.log", RUN / "train.yaml"])
    assert answer.seen
    assert not answer.seen.others
    assert answer.proposal.variable == "learning_rate"


def test_a_restart_that_goes_on_is_the_next_attempt(tmp_path):
    for folder, steps in (("a", range(1, 260)), ("b", range(240, 500))):
        lines = (f'{{"step": {n}, "loss": {9 / (n + 2) + (n * 7 % 11) / 100:.4f}}}\n' for n in steps)
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "metrics.jsonl").write_text("".join(lines))
    seen = look([tmp_path])
    assert not seen.others
    assert {s.attempt for s in seen.table} == {"a", "b"}


def test_other_values_at_the_same_steps_in_attempt_folders_stay_attempts(tmp_path):
    shutil.copytree(RUN, tmp_path / "attempt1")
    shutil.copytree(EXAMPLE / "run-2", tmp_path / "attempt2")
    assert not look([tmp_path]).others

"""One training in many layouts is one; several are several; a restart is the next attempt of its run."""

import csv
import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from triage.agent.acceptance.verify import verify
from triage.agent.evidence import look
from triage.agent.narrate.verdict import verdict_text
from triage.agent.session import ask
from triage.knowledge.runbook import load
from triage.tools.findings import TriageError

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
RUN = EXAMPLE / "run-1"
ASKED = "what went wrong?"
ENTRY = load().entries["loss-nan-high-lr"]


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


def settings_only(root: Path) -> None:
    for name in ("train.yaml", "launch.sh"):
        copy(name, root / name)


def points() -> list[dict[str, float]]:
    return [p for p in json.loads((RUN / "trainer_state.json").read_text())["log_history"] if "loss" in p]


def exported(to: Path, **names: str) -> None:
    """The run's points as CSV, under a tracker's names."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("w") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows([p.get(key) for key in names.values()] for p in points())


def stale_state_of_an_earlier_step(root: Path) -> None:
    shutil.copytree(RUN, root)
    (root / "checkpoint-1000").mkdir()
    state = {"global_step": 1000, "log_history": points()[:100]}
    (root / "checkpoint-1000" / "trainer_state.json").write_text(json.dumps(state))


def only_a_stale_state(root: Path) -> None:
    stale_state_of_an_earlier_step(root)
    (root / "trainer_state.json").unlink()


def halves() -> tuple[str, str]:
    lines = (RUN / "train.log").read_text().splitlines(keepends=True)
    return "".join(lines[: len(lines) // 2]), "".join(lines[len(lines) // 2 :])


def rotated(root: Path) -> None:
    settings_only(root)
    (root / "train.log.1").write_text(halves()[0])
    (root / "train.log").write_text(halves()[1])


def rotated_and_packed(root: Path) -> None:
    settings_only(root)
    (root / "train.log.1.gz").write_bytes(gzip.compress(halves()[0].encode()))
    (root / "train.log").write_text(halves()[1])


def tracker_export_beside(root: Path) -> None:
    shutil.copytree(RUN, root)
    names = {"Step": "step", "train/loss": "loss", "train/grad_norm": "grad_norm", "train/lr": "learning_rate"}
    exported(root / "wandb_export.csv", **names)


def tracker_export_in_a_folder(root: Path) -> None:
    shutil.copytree(RUN, root)
    exported(root / "wandb-export" / "history.csv", _step="step", loss="loss", grad_norm="grad_norm")


def ranks(root: Path) -> None:
    settings_only(root)
    for name in ("rank0.log", "rank1.log"):
        copy("train.log", root / name)


def torchrun(root: Path) -> None:
    settings_only(root)
    for rank in ("0", "1"):
        copy("train.log", root / "logs" / "none_a1b2c3" / "attempt_0" / rank / "stdout.log")


def hydra(root: Path) -> None:
    copy("launch.sh", root / "launch.sh")
    copy("train.log", root / "outputs" / "2026-11-20" / "10-11-12" / "train.log")
    copy("train.yaml", root / "outputs" / "2026-11-20" / "10-11-12" / ".hydra" / "config.yaml")


def lightning(root: Path) -> None:
    settings_only(root)
    names = {"step": "step", "train_loss": "loss", "grad_norm": "grad_norm", "lr-SGD": "learning_rate"}
    exported(root / "lightning_logs" / "version_0" / "metrics.csv", **names)


def wandb(root: Path) -> None:
    shutil.copytree(RUN, root)
    copy("train.log", root / "wandb" / "run-20261120_101112-ab12cd34" / "files" / "output.log")


def sweep(root: Path) -> None:
    """Twelve runs, of which one failed."""
    for i in range(12):
        shutil.copytree(RUN if i == 7 else EXAMPLE / "run-2", root / f"lr{i}")
        scale(root / f"lr{i}", 1 + 0.03 * i if i != 7 else 1)


def scale(run: Path, by: float) -> None:
    """Other values at the same steps."""
    for name in ("train.log", "trainer_state.json"):
        text = (run / name).read_text()
        pattern = r"""(['"](?:loss|grad_norm)['"]: ['"]?)([\d.]+)"""
        (run / name).write_text(re.sub(pattern, lambda m: f"{m[1]}{float(m[2]) * by:.4f}", text))


def linked(root: Path) -> None:
    shutil.copytree(RUN, root.parent / "real")
    root.symlink_to(root.parent / "real")


def linked_inside(root: Path) -> None:
    shutil.copytree(RUN, root / "exp42")
    (root / "latest").symlink_to(root / "exp42")


LAYOUTS = [
    stale_state_of_an_earlier_step,
    only_a_stale_state,
    rotated,
    rotated_and_packed,
    tracker_export_beside,
    tracker_export_in_a_folder,
    ranks,
    torchrun,
    hydra,
    lightning,
    wandb,
    sweep,
    linked,
    linked_inside,
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
    verdicts = [verify(tmp_path / "path", EXAMPLE / name, ENTRY).verdict for name in ("run-2", "run-4")]
    assert verdicts == ["fixed", "inconclusive"]


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


def test_verify_finds_the_failed_run_and_the_next_one_in_one_folder_and_names_both(tmp_path):
    for name in ("run-1", "run-2"):
        shutil.copytree(EXAMPLE / name, tmp_path / name)
    for old, new in ((tmp_path, tmp_path), (tmp_path / "run-1", tmp_path), (tmp_path, tmp_path / "run-2")):
        verdict = verify(old, new, ENTRY)
        assert verdict.verdict == "fixed"
        assert (verdict.baseline, verdict.candidate) == (str(tmp_path / "run-1"), str(tmp_path / "run-2"))
        assert verdict.baseline in verdict_text(verdict, "en")


def test_verify_asks_where_it_cannot_tell_which_run_is_meant(tmp_path):
    sweep(tmp_path / "sweep")
    with pytest.raises(TriageError, match=r"could be the candidate: lr0, lr1, .*lr11; name one"):
        verify(tmp_path / "sweep" / "lr7", tmp_path / "sweep", ENTRY)
    for name, by in (("a", 1.0), ("b", 1.01)):
        shutil.copytree(RUN, tmp_path / "two" / name)
        scale(tmp_path / "two" / name, by)
    with pytest.raises(TriageError, match="could be the baseline: a, b; name one"):
        verify(tmp_path / "two", EXAMPLE / "run-2", ENTRY)
    chosen = verify(tmp_path / "two", EXAMPLE / "run-2", ENTRY, run=str(tmp_path / "two" / "b"))
    assert (chosen.verdict, chosen.baseline) == ("fixed", str(tmp_path / "two" / "b"))


def test_the_run_in_the_folder_itself_is_meant_before_those_below_it(tmp_path):
    shutil.copytree(EXAMPLE / "run-2", tmp_path / "next")
    shutil.copytree(EXAMPLE / "run-3", tmp_path / "next" / "tried")
    verdict = verify(RUN, tmp_path / "next", ENTRY)
    assert (verdict.verdict, verdict.candidate) == ("fixed", str(tmp_path / "next"))


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

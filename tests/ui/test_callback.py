"""The callback in real trainings: what it says, that it says it once, and that nothing of it reaches the training."""

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triage.ui.callback import TriageCallback, watch

OFTEN = 0.02
"""Minutes between two looks, for a test."""
PATIENCE = 120
"""Seconds until a finding must have been told, on a machine that others use."""


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What was told, with a data directory of its own."""
    monkeypatch.setenv("TRIAGE_HOME", str(tmp_path / "home"))
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    return []


def until(holds):
    """Wait for it, with patience."""
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    assert holds()


def codes(lines):
    return [line.split()[0] for line in lines if " S" in line[:60] and "triage ask" not in line]


def children():
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may have ended since it was listed
            found += map(int, (task / "children").read_text().split())
    return found


def trainer(folder, callbacks, steps, nan_at=None):
    """A real Trainer of Hugging Face with one weight, which becomes NaN at a step."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.calls = 0

        def forward(self, x, labels):
            self.calls += 1
            out = self.layer(x)
            loss = ((out - labels) ** 2).mean() * (float("nan") if self.calls == nan_at else 1)
            return {"loss": loss, "logits": out}

    data = [{"x": torch.tensor([i / 64]), "labels": torch.tensor([3 * i / 64])} for i in range(64)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=steps, per_device_train_batch_size=8, logging_steps=1, report_to=[],
        logging_nan_inf_filter=False, save_strategy="no", disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    return transformers.Trainer(model=Line(), args=arguments, train_dataset=data, callbacks=callbacks)


def slowed(stop):
    """A callback of Hugging Face's own that makes steps take time and ends the training when it should."""
    transformers = pytest.importorskip("transformers")

    class Slowed(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **rest):
            time.sleep(0.05)
            control.should_training_stop = control.should_training_stop or stop()

    return Slowed()


def test_a_nan_in_a_trainer_is_told_while_it_trains_and_once(tmp_path, said):
    watching = TriageCallback(every=OFTEN, tell=said.append)
    running = trainer(tmp_path / "run", [watching, slowed(lambda: len(codes(said)) >= 2)], 2400, nan_at=30)
    running.train()
    assert running.state.global_step < 2400
    assert sorted(set(codes(said))) == sorted(codes(said))
    assert {"loss-nonfinite", "grad-norm-nonfinite"} <= set(codes(said))
    assert said[-1].startswith(f"{len(codes(said))} findings; causes and one change: triage ask")


def test_what_it_names_at_the_end_is_a_run_that_triage_reads(tmp_path, said):
    with TriageCallback(every=OFTEN, tell=said.append) as watching:
        for step in range(60):
            watching.log(step, loss=2.0 - step / 100 if step < 40 else float("nan"))
    folder = said[-1].split("--run ")[1]
    scan = [str(Path(sys.executable).with_name("triage")), "scan", folder]
    done = subprocess.run(scan, capture_output=True, text=True)
    assert "loss-nonfinite S0" in done.stdout


def test_a_sound_training_is_told_what_was_looked_at_and_the_run_folder_is_as_without_it(tmp_path, said):
    trainer(tmp_path / "with", [TriageCallback(every=OFTEN, tell=said.append)], 40).train()
    trainer(tmp_path / "without", [], 40).train()
    listed = [sorted(p.relative_to(top) for p in top.rglob("*")) for top in (tmp_path / "with", tmp_path / "without")]
    assert listed[0] == listed[1]
    assert [line for line in said if "no finding in what was logged (41 lines)" in line] == said


def test_kill_9_of_the_side_process_harms_nothing_and_the_next_look_finds_it(tmp_path, said):
    before = {*children()}  # of what other tests left running
    watching = TriageCallback(every=OFTEN, tell=said.append)
    for step in range(30):
        watching.log(step, loss=1.0 if step < 20 else float("nan"))
    until(lambda: {*children()} - before)
    for pid in {*children()} - before:
        os.kill(pid, signal.SIGKILL)
    until(lambda: any("cut off (exit status -9)" in line for line in said))
    watching.log(30, loss=float("nan"))
    until(lambda: "loss-nonfinite" in codes(said))
    watching.close()
    assert codes(said).count("loss-nonfinite") == 1


def test_a_side_process_that_cannot_start_is_no_all_clear(tmp_path, said, monkeypatch):
    monkeypatch.setattr(watch, "SIDE", "raise SystemExit(2)")
    with TriageCallback(tell=said.append) as watching:
        watching.log(1, loss=1.0)
    assert len(said) == 1
    assert "cut off" in said[0]


@pytest.mark.parametrize("broken", ["home", "tell", "value"])
def test_no_exception_leaves_it(broken, tmp_path, said, monkeypatch, capsys):
    class Odd:
        def __float__(self):
            raise ZeroDivisionError

    def fails(line):
        raise OSError("no terminal")

    if broken == "home":
        monkeypatch.setenv("TRIAGE_HOME", "/proc/none")
        monkeypatch.setenv("TMPDIR", "/proc/none")
        monkeypatch.setattr("tempfile.tempdir", "/proc/none")
    with TriageCallback(tell=fails if broken == "tell" else said.append) as watching:
        watching.log(1, loss=float("nan"))
        watching.log(2, {"loss": Odd() if broken == "value" else float("nan")}, name="text", flag=True)
        watching.log(3, loss=float("nan"))
    assert "stopped watching" in capsys.readouterr().err


def test_only_the_first_process_watches(said, monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "3")
    with TriageCallback(tell=said.append) as watching:
        watching.log(1, loss=float("nan"))
    assert said == []
    assert not (tmp_path / "home").exists()


def test_a_copy_begins_anew(said):
    with TriageCallback("runs", every=3, lang="zh") as watching:
        watching.log(1, loss=1.0)
        copy = pickle.loads(pickle.dumps(watching))
    assert copy._settings == watching._settings
    assert copy._watch is None


def test_the_logs_of_the_run_are_scanned_too_and_said_in_chinese(tmp_path, said):
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nRuntimeError: CUDA error: device-side assert triggered\n")
    with TriageCallback(tmp_path / "train.log", lang="zh", tell=said.append) as watching:
        watching.log(1, loss=2.0)
    assert "条发现" in said[-1]
    assert f"--run {tmp_path / 'train.log'}" in said[-1]


def test_a_recording_is_bounded_and_says_so(said, monkeypatch):
    monkeypatch.setattr("triage.ui.callback.recording.MOST_BYTES", 100)
    with TriageCallback(tell=said.append) as watching:
        for step in range(50):
            watching.log(step, loss=1.0)
    assert "over the limit of" in said[0]


def test_old_recordings_are_removed(said, tmp_path):
    for age in (1, 40):
        folder = tmp_path / "home" / "watched" / f"{age}-days"
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("{}")
        os.utime(folder / "metrics.jsonl", (time.time() - age * 86400,) * 2)
    with TriageCallback(tell=said.append) as watching:
        watching.log(1, loss=1.0)
    kept = {p.name for p in (tmp_path / "home" / "watched").iterdir()}
    assert "1-days" in kept
    assert "40-days" not in kept


def test_a_lightning_training_is_watched(tmp_path, said):
    lightning = pytest.importorskip("pytorch_lightning")
    torch = pytest.importorskip("torch")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, i):
            loss = self.layer(batch).mean() * (float("nan") if self.global_step > 20 else 1)
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    lightning.Trainer(
        max_steps=60, log_every_n_steps=1, logger=False, enable_checkpointing=True, enable_progress_bar=False,
        accelerator="cpu", default_root_dir=str(tmp_path / "run"), enable_model_summary=False,
        callbacks=[TriageCallback(tell=said.append)],
    ).fit(Module(), torch.utils.data.DataLoader(torch.randn(512, 1), batch_size=4))  # fmt: skip
    assert "loss-nonfinite" in codes(said)


def test_the_loop_of_the_docs_runs_as_it_is_shown(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    *_, loop = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    env = os.environ | {"TRIAGE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", loop], env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("triage: no finding in what was logged (100 lines)")

"""Random damage to what evidence comes from: what it destroyed leaves no run all clear, anything else alarms nobody."""

import json
import pickle
import random
import shutil

import pytest
from attack.damage import WAYS
from attack.kinds import KINDS, lay
from attack.oracle import CLEAN
from typer.testing import CliRunner

from triage.agent.session import ask
from triage.tools.findings import EVIDENCE_READ
from triage.ui.cli import app

ROUNDS = 10
HEALTHY = "".join(f"step: {i} loss: {3 - i / 100:.4f} grad_norm: {1 + i % 3 / 10} lr: 1e-4\n" for i in range(200))
HISTORY = [{"step": i, "loss": 3 - i / 100, "grad_norm": 1.0 + i % 3 / 10, "learning_rate": 1e-4} for i in range(100)]
EVIDENCE = ("all-results", "lm-eval", "flight-recorder", "flight-recorder-json", "trainer-state")
BESIDE = ("config-json", "tokenizer-json", "tokenizer-config", "adapter-config", "index-json")
FILES = ("config-json", "tokenizer-json", "adapter-config", "adapter-model", "optimizer", "training-args", "rng-state")
PLACES = ("directory", "fifo", "loop")


def mangled(data, rng):
    """Cut, zeroed in a part, or with its parts in another order."""
    a, b = sorted(rng.sample(range(len(data)), 2))
    return rng.choice([data[:b], data[:a] + bytes(b - a) + data[b:], data[b:] + data[:b], data[:a] + data[b:]])


class Inert(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(name)


def destroyed(path):
    """By the standard library alone: no reader of triage is asked."""
    try:
        if path.suffix == ".json":
            return not isinstance(json.loads(path.read_bytes()), dict)
        with path.open("rb") as file:
            return not isinstance(Inert(file).load(), dict)
    except Exception:
        return True


def called(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def failed(out):
    return {c["name"] for c in json.loads(out)["checks"] if c["result"] == "failed"}


def evidence(kind, folder):
    """A healthy run with one more piece of evidence in it."""
    path = lay(KINDS[kind], folder)
    if kind == "trainer-state":
        path.write_text(json.dumps({"global_step": 100, "log_history": HISTORY}, indent=1))
    if kind == "flight-recorder":  # torch writes it in C++, without the frames of later protocols
        path.write_bytes(pickle.dumps(pickle.loads(path.read_bytes()), protocol=2))
    (folder / "train.log").write_text(HEALTHY)
    return path


@pytest.mark.parametrize("kind", EVIDENCE)
def test_no_run_is_healthy_whose_evidence_was_destroyed(kind, tmp_path):
    rng = random.Random(kind)
    seen = set()
    for _ in range(ROUNDS):
        path = evidence(kind, tmp_path / "run")
        path.write_bytes(mangled(path.read_bytes(), rng) or b"{")
        lost, whole = destroyed(path), called("scan", tmp_path / "run", "--json")
        alone, answer = called("scan", path), ask("is this run fine?", [tmp_path / "run"])
        seen.add(lost)
        assert (EVIDENCE_READ in failed(whole.stdout)) == lost, path.read_bytes()
        assert whole.exit_code == lost
        assert not CLEAN.search(alone.stdout), alone.stdout
        assert (answer.diagnosis.state == "healthy") == (not lost), path.read_bytes()
        shutil.rmtree(tmp_path / "run")
    assert True in seen


@pytest.mark.parametrize("kind", EVIDENCE)
def test_a_run_with_all_its_evidence_is_healthy(kind, tmp_path):
    evidence(kind, tmp_path)
    for empty in ("stderr.log", "rank1.log"):
        (tmp_path / empty).touch()
    (tmp_path / "code.tar.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "datasets").symlink_to("/")
    (tmp_path / "train.jsonl").symlink_to("/dev/null")
    done = called("scan", tmp_path, "--json")
    assert EVIDENCE_READ not in failed(done.stdout)
    assert done.exit_code == 0
    assert ask("is this run fine?", [tmp_path]).diagnosis.state == "healthy"


@pytest.mark.parametrize("way", ["zeros", "loop", "binary", "records", "packed-data"])
def test_a_log_that_cannot_be_read_leaves_no_run_healthy(way, tmp_path):
    (tmp_path / "train.log").write_text(HEALTHY)
    if way == "loop":
        (tmp_path / "rank1.log").symlink_to("rank1.log")
    elif way == "binary":
        (tmp_path / "rank1.log").write_bytes(random.Random(1).randbytes(5000))
    elif way == "records":
        lines = [json.dumps(h)[: -4 if i % 5 == 4 else None] for i, h in enumerate(HISTORY)]
        (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    elif way == "packed-data":
        path = lay(KINDS["gz"], tmp_path)
        path.write_bytes(path.read_bytes()[:50])
    else:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "rank0.out").write_bytes(bytes(5000))
    done = called("scan", tmp_path, "--json")
    assert EVIDENCE_READ in failed(done.stdout), done.stdout
    assert done.exit_code == 1
    answer = ask("is this run fine?", [tmp_path])
    assert answer.diagnosis.state == "inconclusive"
    assert "not enough to call the run healthy: " in answer.text.splitlines()[0]
    assert "was not read to its end (" in answer.text.splitlines()[0]


def test_a_record_that_is_being_written_is_no_alarm(tmp_path):
    lines = [json.dumps(h) for h in HISTORY]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines)[:-5])
    assert called("scan", tmp_path, "--json").exit_code == 0


@pytest.mark.parametrize("kind", BESIDE)
def test_no_checkpoint_is_sound_whose_description_was_destroyed(kind, tmp_path):
    rng = random.Random(kind)
    for _ in range(ROUNDS):
        path = lay(KINDS[kind], tmp_path / "run")
        path.write_bytes(mangled(path.read_bytes(), rng))
        done = called("checkpoint", "check", path.parent)
        assert not destroyed(path) or (done.exit_code == 1 and not CLEAN.search(done.stdout)), path.read_bytes()
        shutil.rmtree(tmp_path / "run")


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("way", PLACES)
def test_what_is_no_file_under_the_name_of_one_is_said(kind, way, tmp_path):
    path = lay(KINDS[kind], tmp_path / "run")
    assert called("checkpoint", "check", path.parent).exit_code == 0
    WAYS[way](path, random.Random(1))
    done = called("checkpoint", "check", path.parent, "--json")
    assert "what the files hold" in failed(done.stdout), done.stdout
    assert path.name in done.stdout
    assert done.exit_code == 1


def test_folders_that_frameworks_write_are_no_lost_files(tmp_path):
    path = lay(KINDS["safetensors"], tmp_path / "run").parent
    for name in ("optimizer_0", "pytorch_model_fsdp_0", "epoch=1.ckpt", "tokenizer", "rng_state"):
        (path / name).mkdir()
    (path / "model.bin").write_bytes(b"\x06\x00\x00\x00of another engine")
    (tmp_path / "base.json").write_text("{}")
    (path / "generation_config.json").symlink_to(tmp_path / "base.json")
    done = called("checkpoint", "check", path, "--json")
    assert "what the files hold" not in failed(done.stdout), done.stdout


def test_what_nobody_reads_is_not_called_clean(tmp_path):
    path = lay(KINDS["pyspy"], tmp_path)
    done = called("scan", path)
    assert "Nothing was judged" in done.stdout
    assert (done.exit_code, CLEAN.search(done.stdout)) == (0, None)

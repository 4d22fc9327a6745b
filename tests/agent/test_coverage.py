"""Every file on disk is in the answer's account exactly once: read as what, or why not."""

import gzip
import io
import json
import os
import sqlite3
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from making import fill

from triage.agent.evidence import look
from triage.tools.discover import discover
from triage.tools.findings import TriageError

LOG = b"".join(b"step %d loss %.3f grad_norm 1.0\n" % (i, 3 - i / 100) for i in range(40))
ROWS = b"time,gpu,total_gib\n09:13:00,0,79.15\n09:13:07,1,79.15\n"


def database() -> bytes:
    with sqlite3.connect(":memory:") as made:
        made.execute("create table latency (step int, ms real)")
        made.executemany("insert into latency values (?, ?)", [(i, i / 2) for i in range(5)])
        return made.serialize()


def archive() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("a.log", LOG)
    return held.getvalue()


CONTENTS = {
    "train.log": LOG,
    "stdout.txt": LOG,
    "train.log.gz": gzip.compress(LOG),
    "trainer_state.json": b'{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.9}]}',
    "metrics.csv": b"step,loss\n1,2.5\n2,2.4\n",
    "history.jsonl": b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.4}\n',
    "gpu.csv": ROWS,
    "eval.tsv": b"ckpt\tacc\n10\t59.5\n20\t61\n",
    "rows.json": b'[{"node": 1, "jobs": 2}, {"node": 2, "jobs": 3}]',
    "eval_results.json": b'{"eval_loss": 1.5}',
    "config.yaml": b"learning_rate: 1e-4\nmax_steps: 40\n",
    "config.json": b'{"model_type": "llama"}',
    "launch.sh": b"python train.py --lr 1e-4\n",
    "train.py": b"args = TrainingArguments(learning_rate=1e-4)\n",
    "helper.py": b"print(1)\n",
    "data.jsonl": b'{"prompt": "a", "response": "b"}\n',
    "generations.jsonl": b'{"prompt": "a", "response": "b"}\n',
    "tokenizer_config.json": b'{"pad_token": "<pad>"}',
    "CHANGES.md": b"- step 8,000: two nodes replaced\n",
    "plan.diff": b"-lr: 1\n+lr: 2\n",
    "requirements.txt": b"torch==2.1\n",
    "notes": b"nothing to see\n",
    "run.db": database(),
    "events.out.tfevents.1.h.2.0": b"\x18\0\0\0\0\0\0\0\xa3\x7f",
    "run-1.wandb": b":W&B\xbb\xd4\0",
    "wandb-summary.json": b'{"loss": 1.5}',
    "metrics.prom": b"# TYPE up gauge\nup 1\n",
    "plot.png": b"\x89PNG\0\0",
    "model.safetensors": b"\x10\0\0\0\0\0\0\0{}",
    "logs.zip": archive(),
    "LICENSE": b"MIT",
    ".env": b"A=1\n",
}
BROKEN = [b"", b"\0" * 9, bytes(range(256)) * 3, b'{"a": [', b"\x1f\x8b\x08broken", b"PAR1xx", b"a,b\n1\n2,3,4\n"]
FOLDERS = ["", "logs", "wandb/run-1/files", "out/checkpoint-10", "ckpt_5", ".git", "old/__pycache__", "attempt2", "a/b"]
DEEP = "/".join(f"d{i}" for i in range(10))

files = st.dictionaries(
    st.tuples(st.sampled_from([*FOLDERS, DEEP]), st.sampled_from(sorted(CONTENTS))),
    st.one_of(st.none(), st.none(), st.sampled_from(BROKEN)),
    min_size=1,
    max_size=14,
)
links = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.sampled_from("sshd")), max_size=4)


def plant(root: Path, tree, joins) -> None:
    made = [f"{folder}/{name}".lstrip("/") for folder, name in tree]
    fill(root, {n: CONTENTS[k[1]] if v is None else v for n, (k, v) in zip(made, tree.items(), strict=True)})
    for i, (to, at, how) in enumerate(joins):
        target, beside = root / made[to % len(made)], (root / made[at % len(made)]).parent
        place = beside / f"link-{i}{target.suffix}"
        if how == "h":
            os.link(target, place)
        else:
            place.symlink_to(target if how == "s" else target.parent)


def on_disk(root: Path) -> set[str]:
    """Every file that is one: links, which are only names, may stand in the account as well."""
    walked = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
    return {p.relative_to(root).as_posix() for p in walked if not p.is_symlink()}


def account(root: Path) -> Counter:
    try:
        discover(root)
    except TriageError:  # a folder with nothing in it that could be part of a run
        return Counter(on_disk(root))
    return Counter(c.file for c in look([root]).coverage)


@given(files, links)
@example({("", ".env"): None, (DEEP, ".env"): None}, [(1, 0, "d")])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_file_on_disk_is_accounted_for_once(tmp_path_factory, tree, joins):
    root = tmp_path_factory.mktemp("run")
    plant(root, tree, joins)
    found, there = account(root), on_disk(root)
    assert there - set(found) == set()
    assert [name for name, times in found.items() if times > 1] == []
    beyond = {name for name in found if name not in there}
    assert all((root / name).is_symlink() for name in beyond), beyond


def test_files_of_other_trainings_and_copies_are_in_the_account(tmp_path):
    other = LOG.replace(b"loss 2", b"loss 5")
    tree = {
        "a/train.log": LOG,
        "b/train.log": other,
        "c/train.log": LOG,
        "b/gpu.csv": ROWS,
        "b/config.yaml": b"lr: 1\n",
    }
    fill(tmp_path, tree)
    assert account(tmp_path) == Counter(list(tree))


def test_two_names_that_look_alike_are_two_files(tmp_path):
    for dressed in (b"a\x1b[31m.log", b"a.log"):
        (tmp_path / os.fsdecode(dressed)).write_bytes(LOG)
    found = account(tmp_path)
    assert len(found) == 2
    assert set(found.values()) == {1}


@pytest.mark.parametrize("many", [3, 300])
def test_a_folder_of_tools_is_listed_or_named_as_one(tmp_path, many):
    fill(tmp_path, {"train.log": LOG} | {f".git/objects/{i}": b"x" for i in range(many)})
    found = account(tmp_path)
    assert found == Counter(["train.log", *([f".git/objects/{i}" for i in range(3)] if many == 3 else [".git/"])])


def test_more_files_than_are_looked_at_are_still_named(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.tools.discover.FILE_LIMIT", 5)
    fill(tmp_path, {f"{i}.log": LOG for i in range(9)})
    assert account(tmp_path) == Counter(f"{i}.log" for i in range(9))


def test_the_account_says_rows_points_and_reasons(tmp_path):
    fill(tmp_path, {"train.log": LOG, "gpu.csv": ROWS, "broken.csv": b"\0\1\2\3\4", "photo.png": b"\x89PNG\0"})
    said = {c.file: c for c in look([tmp_path]).coverage}
    assert (said["train.log"].read_as, said["train.log"].points) == ("log", 80)
    assert (said["gpu.csv"].read_as, said["gpu.csv"].rows) == ("table", 2)
    assert said["broken.csv"].read_as is said["photo.png"].read_as is None
    assert "binary" in said["broken.csv"].why
    assert said["photo.png"].why
    json.dumps([c.__dict__ for c in said.values()])


def test_a_file_that_a_finding_cites_was_read(tmp_path):
    state = {"global_step": 6, "max_steps": 6, "logging_steps": 50, "num_train_epochs": 3, "log_history": []}
    fill(tmp_path, {"trainer_state.json": json.dumps(state, indent=1)})
    said = {c.file: c for c in look([tmp_path]).coverage}
    assert (said["trainer_state.json"].read_as, said["trainer_state.json"].why) == ("metrics", "")

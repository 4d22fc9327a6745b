"""What `discover` recognises, skips and refuses."""

import gzip
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import fill

from triage.tools.discover import FILE_LIMIT, discover
from triage.tools.findings import TriageError
from triage.tools.kinds import recognise

LOG = b"[2025-01-02 10:00:00] INFO step 1 loss 2.5\n" * 3
STATE = b'{"log_history": [{"step": 1, "loss": 2.0}], "max_steps": 5}'


@pytest.fixture
def run(tmp_path):
    return lambda files: discover(fill(tmp_path, files))


def kinds(run):
    return {a.name: a.kind for a in run.artifacts}


def test_every_kind_is_recognised(run):
    found = run(
        {
            "train.log": LOG,
            "trainer_state.json": STATE,
            "metrics.csv": b"epoch,step,train_loss\n0,1,2.5\n",
            "history.jsonl": b'{"step": 1, "train/loss": 2.5}\n{"step": 2, "train/loss": 2.4}\n',
            "config.yaml": b"learning_rate: 1e-4\n",
            "ds_config.json": b'{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}}',
            "launch.slurm": b"#!/bin/bash\nsrun python train.py --lr 1e-4\n",
            "train.py": b"args = TrainingArguments(learning_rate=1e-4)\n",
            "tokenizer_config.json": b'{"pad_token": "<pad>"}',
            "data/train.jsonl": b'{"prompt": "a", "response": "b"}\n',
            "data/part.parquet": b"PAR1....",
            "eval_results.json": b'{"eval_loss": 1.5}',
            "generations.jsonl": b'{"prompt": "a", "response": "b"}\n',
            "py-spy-rank0.txt": b'Process 12: python train.py\nThread 12 (idle): "MainThread"\n',
            "model/model.safetensors": b"\x10\0\0\0\0\0\0\0{}",
        }
    )
    assert kinds(found) == {"train.log": "log", "trainer_state.json": "metrics", "metrics.csv": "metrics",
                            "history.jsonl": "metrics", "config.yaml": "config", "ds_config.json": "config",
                            "launch.slurm": "script", "train.py": "config", "tokenizer_config.json": "tokenizer",
                            "data/train.jsonl": "data", "data/part.parquet": "data", "eval_results.json": "eval",
                            "generations.jsonl": "generations", "py-spy-rank0.txt": "stack",
                            "model": "checkpoint"}  # fmt: skip
    assert all(a.why for a in found.artifacts)
    assert not found.skipped


def test_a_binary_file_called_log_is_skipped_with_the_reason(run):
    found = run({"train.log": bytes(range(256)) * 4, "ok.log": LOG})
    assert kinds(found) == {"ok.log": "log"}
    assert [(s.name, "binary" in s.why) for s in found.skipped] == [("train.log", True)]
    assert [c.result for c in found.checks()] == ["failed"]


def test_files_that_are_no_part_of_a_run_are_passed_over_in_silence(run):
    found = run({"LICENSE": b"hi", "plot.png": b"\x89PNG", ".git/config": b"[core]\n", "a.log": LOG})
    assert kinds(found) == {"a.log": "log"}
    assert not found.skipped
    assert {s.name for s in found.unknown} == {"LICENSE", "plot.png", ".git"}


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("gpu.csv", b"time,gpu,total_gib\n09:13:00,0,79.15\n", "table"),
        ("eval.tsv", b"ckpt\tacc\n10\t59.5\n", "table"),
        ("scores.json", b'{"rows": [{"node": 1, "jobs": 3}]}', "table"),
        ("metrics.prom", b"# TYPE up gauge\nup 1\n", "table"),
        ("metrics.txt", b"# HELP up is it\n# TYPE up gauge\nup 1\n", "table"),
        ("smi.txt", b"+-----+-----+\n| GPU | Mem |\n+-----+-----+\n|   0 |  79 |\n", "table"),
        ("run.db", b"SQLite format 3\0\x10\0CREATE TABLE people", "table"),
        ("run.db", b"SQLite format 3\0\x10\0CREATE TABLE latest_metrics", "tracker"),
        ("events.out.tfevents.1.host.2.0", b"\x18\0\0\0\0\0\0\0\xa3", "tracker"),
        ("run-abc.wandb", b":W&B\xbb\xd4\0", "tracker"),
        ("wandb-summary.json", b'{"loss": 1.5}', "tracker"),
        ("CHANGES.md", b"- step 8,000: two nodes replaced\n", "document"),
        ("data_mix.yaml.diff", b"-code: 0.1\n+code: 0.3\n", "document"),
        ("requirements.txt", b"torch==2.1\n", "document"),
        ("thread.txt", b"ivo: is it the merge?\nmara: same hash\nivo: rounding?\n", "document"),
        ("notes", b"we changed the data\n", "document"),
    ],
)
def test_a_file_that_no_known_format_fits_is_for_the_open_readers(run, name, data, kind):
    assert kinds(run({name: data, "a.log": LOG})) == {name: kind, "a.log": "log"}


@pytest.mark.parametrize("name", ["photo.png", "LICENSE", "app.js", ".env", "tool.bin"])
def test_what_holds_no_rows_and_no_prose_is_named_and_not_read(run, name):
    found = run({name: b"\x89PNG\0\0" if name.endswith("n") else b"text", "a.log": LOG})
    assert kinds(found) == {"a.log": "log"}
    assert [s.name for s in found.unknown] == [name]


def test_numbers_under_the_name_of_a_text_are_no_texts():
    rows = b"".join(b'{"it": %d, "score": 0.%d, "target": 1, "H": 1.2}\n' % (i, 40 + i) for i in range(9))
    found = recognise("trace.jsonl", rows, False)
    assert getattr(found, "kind", "") != "data"
    assert recognise("pairs.jsonl", b'{"source": "a b", "target": "c d"}\n' * 3, False).kind == "data"


def test_packed_logs_are_recognised_by_their_content(run):
    assert kinds(run({"train.log.gz": gzip.compress(LOG)})) == {"train.log.gz": "log"}


def test_nested_attempts_and_ranks(run):
    found = run(
        {
            "attempt2/logs/train.log": LOG,
            "attempt10/train.log": LOG,
            "attempt10/config.yaml": b"lr: 1\nbs: 2\n",
            "shared.yaml": b"lr: 1\n",
            "version_0/metrics.csv": b"step,train_loss\n1,2\n",
            "logs/rank_3.log": LOG,
            "torchrun/attempt_0/5/stdout.log": LOG,
        }
    )
    assert {a.name: a.attempt for a in found.artifacts} == {
        "attempt2/logs/train.log": "attempt2",
        "attempt10/train.log": "attempt10",
        "attempt10/config.yaml": "attempt10",
        "shared.yaml": "",
        "version_0/metrics.csv": "version_0",
        "logs/rank_3.log": "",
        "torchrun/attempt_0/5/stdout.log": "torchrun",
    }
    ranks = {a.name: a.rank for a in found.artifacts if a.rank is not None}
    assert ranks == {"logs/rank_3.log": 3, "torchrun/attempt_0/5/stdout.log": 5}
    names = [a.name for a in found.artifacts]
    assert names.index("attempt2/logs/train.log") < names.index("attempt10/train.log")


def test_checkpoints_are_listed_and_only_the_latest_state_is_read(run):
    found = run(
        {
            "train.log": LOG,
            "checkpoint-500/model.safetensors": b"x",
            "checkpoint-500/trainer_state.json": STATE,
            "checkpoint-1000/model.safetensors": b"x",
            "checkpoint-1000/trainer_state.json": STATE,
            "ckpts/iter_0000100/mp_rank_00/model_optim_rng.pt": b"x",
            "ckpts/global_step100/mp_rank_00_model_states.pt": b"x",
        }
    )
    assert kinds(found) == {
        "train.log": "log",
        "checkpoint-500": "checkpoint",
        "checkpoint-1000": "checkpoint",
        "checkpoint-1000/trainer_state.json": "metrics",
        "ckpts/iter_0000100": "checkpoint",
        "ckpts/global_step100": "checkpoint",
    }


def test_the_state_inside_a_checkpoint_is_left_alone_if_the_run_has_its_own(run):
    found = run({"trainer_state.json": STATE, "checkpoint-5/trainer_state.json": STATE})
    assert [a.name for a in found.of("metrics")] == ["trainer_state.json"]


def test_links_out_of_the_run_loops_and_pipes_are_skipped_unopened(tmp_path):
    inside, outside = tmp_path / "run", tmp_path / "secret.log"
    inside.mkdir()
    outside.write_bytes(LOG)
    (inside / "train.log").write_bytes(LOG)
    (inside / "out.log").symlink_to(outside)
    (inside / "updir").symlink_to(tmp_path)
    (inside / "self").symlink_to(inside)
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "again.log").symlink_to(inside / "train.log")
    os.mkfifo(inside / "pipe.log")
    found = discover(inside)
    assert len([a for a in found.artifacts if a.kind == "log"]) == 1
    reasons = {s.name: s.why for s in found.skipped}
    assert "out of the run" in reasons["out.log"]
    assert "out of the run" in reasons["updir"]
    assert "loop" in reasons["loop"] or "followed" in reasons["loop"]
    assert "pipe" in reasons["pipe.log"]


def test_missing_path_and_empty_directory_are_refused_with_what_was_looked_for(tmp_path):
    with pytest.raises(TriageError, match="absent"):
        discover(tmp_path / "absent")
    with pytest.raises(TriageError, match="looked for logs"):
        discover(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TriageError, match="neither"):
        discover(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("notes", b"something happened\n", "log"),
        ("x.json", STATE, "metrics"),
        ("x.json", b'{"learning_rate": 1}', "config"),
        ("args.txt", b"--learning_rate 1e-4", "script"),
        ("README.md", b"loss is nan at step 5\n", "log"),
        ("rl.jsonl", b'{"step": 1, "reward": 0.25, "text": "So the answer is 4."}\n' * 3, "generations"),
        ("rows.jsonl", b'{"id": 1, "text": "So the answer is 4."}\n' * 3, "data"),
        ("serving.json", b'{"temperature": 0.2, "max_tokens": 24}\n', "config"),
        ("generation_defaults.json", b'{"temperature": 0.2, "top_p": 0.9}\n', "config"),
        ("sheet1.csv", b"item_id,temp,output,finish_reason,score\n0,1.5,Ravi,stop,0.0\n", "generations"),
        ("distilled.csv", b"prompt,response,finish_reason\nwho,Ravi,stop\n", "data"),
        ("v2.jsonl", b'{"id": 1, "text": "Ravi", "why": "stop"}\n' * 3, "generations"),
        ("ask.jsonl", b'{"question": "Who?", "reply": "Ravi", "temperature": 0.7, "top_p": 0.9}\n' * 3, "generations"),
        ("set.jsonl", b'{"question": "Who?", "reply": "Ravi", "topic": "names"}\n' * 3, "data"),
        ("load.jsonl", b'{"prompt": "Who?", "max_tokens": 64, "temperature": 0.7}\n' * 3, "data"),
        ("taught.jsonl", b'{"prompt": "who", "text": "Ravi", "finish_reason": "stop"}\n' * 3, "data"),
    ],
)
def test_one_file_is_a_run(tmp_path, name, data, kind):
    (tmp_path / name).write_bytes(data)
    found = discover(tmp_path / name)
    assert kinds(found) == {name: kind}
    assert found.root == tmp_path


def test_one_binary_file_is_refused(tmp_path):
    (tmp_path / "train.log").write_bytes(bytes(range(256)))
    with pytest.raises(TriageError, match="binary"):
        discover(tmp_path / "train.log")


def test_the_number_of_files_is_bounded_and_the_cut_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.tools.discover.FILE_LIMIT", 5)
    for i in range(9):
        (tmp_path / f"{i}.log").write_bytes(LOG)
    found = discover(tmp_path)
    assert len(found.artifacts) == 5
    assert "more than" in found.skipped[0].why
    assert FILE_LIMIT >= 1000


def test_depth_is_bounded_and_the_cut_is_said(tmp_path):
    deep = tmp_path.joinpath(*[f"d{i}" for i in range(12)])
    deep.mkdir(parents=True)
    (deep / "train.log").write_bytes(LOG)
    (tmp_path / "train.log").write_bytes(LOG)
    found = discover(tmp_path)
    assert kinds(found) == {"train.log": "log"}
    assert "deeper" in found.skipped[0].why


NAMES = st.sampled_from(["a.log", "a.json", "a.jsonl", "a.csv", "a.txt", "a.py", "a.yaml", "a", "trainer_state.json"])


@given(NAMES, st.binary(max_size=600), st.booleans())
def test_any_bytes_under_any_name_are_recognised_or_not(name, data, alone):
    found = recognise(name, data, alone)
    assert found is None or found.why


def test_unknown_text_is_read_as_a_log_when_the_directory_holds_nothing_else(run):
    found = run({"eval.txt": b"acc = 0.3\nsome words\n", "notes": b"loss was fine\n"})
    assert kinds(found) == {"eval.txt": "log", "notes": "log"}
    assert "nothing else" in found.artifacts[0].why


def test_unknown_program_text_alone_is_listed_with_the_reason(run):
    found = run({"helper.py": b"just some words, no statement\n"})
    assert not found.artifacts
    assert [s.name for s in found.skipped] == ["helper.py"]


@pytest.mark.parametrize("text", [b"print(1)\n", b"for x in y:\n    z(x)\n", b"total = 0\n", b"a.b += f(1)\n"])
def test_a_program_that_is_named_is_one_whatever_it_imports(tmp_path, text):
    (tmp_path / "part.py").write_bytes(text)
    assert kinds(discover(tmp_path / "part.py")) == {"part.py": "code"}


def test_names_that_are_no_utf8_or_hold_a_credential_are_made_presentable(tmp_path):
    secret = "hf_" + "A" * 30
    (tmp_path / secret).mkdir()
    (tmp_path / secret / "train.log").write_bytes(LOG)
    with open(os.path.join(os.fsencode(str(tmp_path)), b"bad\xff.log"), "wb") as file:
        file.write(LOG)
    (tmp_path / "\x1b[31mred\n.log").write_bytes(LOG)
    names = [a.name for a in discover(tmp_path).artifacts]
    assert len(names) == 3
    assert all(name.isprintable() and name.encode("utf-8") and secret not in name for name in names)


def test_packed_data_that_breaks_off_at_once_is_not_called_empty(run):
    import zstandard

    found = run({"train.log.zst": zstandard.compress(LOG * 99)[:40]})
    assert "ended before the end" in found.skipped[0].why


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le-bom", "utf-8"])
def test_a_log_that_a_windows_shell_wrote_is_one_beside_other_files(tmp_path, encoding):
    text = "Loading weights\r\nEpoch 1 loss 2.31\r\nTraceback (most recent call last):\r\nKeyError: 'x'\r\n" * 3
    data = "\ufeff".encode("utf-16-le") + text.encode("utf-16-le") if "bom" in encoding else text.encode(encoding)
    (tmp_path / "out_v2.txt").write_bytes(data)
    (tmp_path / "metrics.csv").write_text("step,loss\n" + "".join(f"{i},{3 - i / 9}\n" for i in range(9)))
    assert {a.name: a.kind for a in discover(tmp_path).artifacts}["out_v2.txt"] == "log"


@pytest.mark.parametrize(
    ("empty", "full", "told"),
    [("job.88.err", "job.88.out", False), ("stderr.log", "stdout.log", False), ("nightly.e412", "nightly.o412", False),
     ("job.88.err", "job.89.out", True), ("train.log", "other.log", True)],
)  # fmt: skip
def test_an_empty_stream_beside_the_full_one_of_its_job_is_nothing_to_mend(tmp_path, empty, full, told):
    (tmp_path / empty).write_text("")
    (tmp_path / full).write_text("step 1 loss 2.0\nexit code 0\n")
    assert (empty in {s.name for s in discover(tmp_path).skipped}) is told


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("source,input,dup,output\nweb,900,30,870\nbooks,80,1,79\n", "table"),
        ("stage\tin\tprompt\ttext\na\t5\t3\t2\n", "table"),
        ("input,output\nwhat is it,that\n", "data"),
        ("text,label\n2024 was a good year,1\n", "data"),
    ],
)
def test_columns_of_numbers_are_no_texts_whatever_they_are_called(tmp_path, text, kind):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    assert [a.kind for a in discover(tmp_path).artifacts] == [kind]


ITEMS = "".join(
    f"Task: sort list {i}\nExpected command: sort -n in{i}\nPredicted command: sort in{i} # fails: No such file or "
    f"directory\nScore: 0.{i}\n---\n" for i in range(1, 9)
)  # fmt: skip
PAIR = {"prompt": "why", "chosen": "so", "rejected": "no", "step": 2, "reward": 1.5}
STEP = {"episode": 1, "step": 4, "state": {"gate": 0}, "chosen_action": {"key": 2}, "reward": -3.5}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("held.txt", ITEMS, "table"),
        ("held.txt", f"2026-02-03 10:11:12 INFO begin\n{ITEMS}Traceback (most recent call last):\n", "log"),
        ("tries.txt", "Predicted command: ls\nError: No such file or directory\nstep 3 loss 2.1\n" * 4, "log"),
        ("demos.jsonl", f"{json.dumps(STEP)}\n" * 3, "table"),
        ("curve.jsonl", f"{json.dumps({k: STEP[k] for k in ('episode', 'step', 'reward')})}\n" * 3, "metrics"),
        ("pairs.jsonl", json.dumps(PAIR) + "\n", "data"),
    ],
    ids=["what a model said", "a log that quotes it", "a log", "steps of an agent", "a curve", "pairs to learn from"],
)  # fmt: skip
def test_what_a_model_or_an_agent_did_is_told_from_what_the_run_did(name, text, kind):
    found = recognise(name, text.encode())
    assert found is not None
    assert found.kind == kind

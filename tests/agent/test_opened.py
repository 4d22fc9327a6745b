"""What the open readers give joins what the logs give: one training counts once, wherever it is written."""

import json
import lzma
from pathlib import Path

import pytest
import writers
from making import fill

from triage.agent.evidence import look
from triage.tools.discover import discover
from triage.tools.store import opened
from triage.tools.store.opened import read_open

RECORDED = {
    path.name.removesuffix(".xz"): path for path in (Path(__file__).parents[1] / "data" / "trackers").glob("*.xz")
}
CURVES = [name for name in RECORDED if "tfevents" in name or name.endswith((".wandb", ".db"))]


def log(last: int = writers.STEPS) -> str:
    """The recorded run as a console shows it: rounded."""
    rows = ((step, row) for step, row in writers.rows("nan") if step <= last)
    return "".join(
        f"step {step} loss {row['train/loss']:.4f} lr {row['train/learning_rate']:.3e} "
        f"grad_norm {row['train/grad_norm']:.3f}\n"
        for step, row in rows
        if "train/loss" in row
    )


def together(folder: Path, tracker: str, place: str, text: str):
    path = folder / place / tracker
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.decompress(RECORDED[tracker].read_bytes()))
    (folder / "train.log").write_text(text)
    return look([folder])


@pytest.mark.parametrize("place", [".", "wandb/run-1/files", "runs/exp", "tensorboard"])
@pytest.mark.parametrize("tracker", CURVES)
def test_a_training_in_a_log_and_a_tracker_is_one_training_and_one_attempt(tmp_path, tracker, place):
    seen = together(tmp_path, tracker, place, log())
    assert seen.others == ()
    assert len({s.attempt for s in seen.table.all("loss")}) == 1
    assert len(seen.table.all("loss")) == 1
    assert [f.data["first_step"] for f in seen.findings if f.code == "loss-nonfinite"] == [writers.BREAKS]
    assert {c.file: c.read_as for c in seen.coverage if c.file != "train.log"}.popitem()[1] == "tracker"


@pytest.mark.parametrize("tracker", CURVES)
def test_the_longer_of_the_two_is_used(tmp_path, tracker):
    seen = together(tmp_path, tracker, ".", log(50))
    [loss] = seen.table.all("loss")
    assert (loss.file, len(loss)) == (tracker, writers.STEPS)
    assert {c.file: c.why for c in seen.coverage} == {"train.log": "", tracker: ""}


def test_another_training_in_a_tracker_is_another_one(tmp_path):
    text = "".join(f"step {i} loss {9 - i / 40:.3f} grad_norm 2.0\n" for i in range(1, 201))
    seen = together(tmp_path, CURVES[0], "other", text)
    assert len(seen.others) == 1


def test_a_known_metric_of_a_table_is_judged_like_one_of_a_log(tmp_path):
    rows = "\n".join(f"{i},{'nan' if i > 70 else 3 - i / 50:.4},{i * 2}" for i in range(1, 100))
    fill(
        tmp_path, {"curve.csv": f"迭代;训练损失;x\n{rows.replace(',', ';')}\n", "launch.sh": "python train.py --lr 1\n"}
    )
    seen = look([tmp_path])
    assert [f.data["first_step"] for f in seen.findings if f.code == "loss-nonfinite"] == [71]


def test_curves_of_single_tasks_are_kept_and_are_no_curve_of_the_training(tmp_path):
    rows = "".join(f"{step},{task},{0.5 + step / 100}\n" for step in range(1, 9) for task in ("mmlu", "arc"))
    fill(tmp_path, {"eval.csv": f"step,task,accuracy\n{rows}", "train.log": log()})
    seen = look([tmp_path])
    assert seen.table.all("accuracy") == []
    assert {s.group for s in seen.series if s.metric == "accuracy"} == {"task=mmlu", "task=arc"}


def test_a_reader_that_breaks_costs_its_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.tools.tables.read._raws", lambda path: 1 / 0)
    fill(tmp_path, {"gpu.csv": "time,gpu\n1,2\n", "CHANGES.md": "- step 5: two nodes replaced\n", "train.log": log()})
    seen = look([tmp_path])
    said = {c.file: c for c in seen.coverage}
    assert "defect of triage" in said["gpu.csv"].why
    assert said["gpu.csv"].missed
    assert seen.table.all("loss")


@pytest.mark.parametrize(
    ("name", "value", "why"), [("FILES", 2, "limit of 2 tables"), ("SECONDS", -1.0, "limit of -1 s")]
)
def test_files_beyond_the_limits_are_named_with_the_limit(tmp_path, monkeypatch, name, value, why):
    monkeypatch.setattr(opened, name, value)
    found = read_open(discover(fill(tmp_path, {f"{i}.csv": "node,jobs\n1,2\n2,3\n" for i in range(4)})))
    assert sum(not a.read for a in found.accounts.values()) == (2 if name == "FILES" else 4)
    assert why in found.accounts["3.csv"].why


BENCH = {
    "engine": "own",
    "seed": 1,
    "request_rate": 4.0,
    "rps": 3.87210455,
    "ttft_ms": {"p50": 83.4471903, "p99": 412.1},
}
SCORED = """
model: own/seven-b
tasks:
- name: gsm8k
  metrics:
  - name: strict
    value: 0.41
  - name: flexible
    value: 0.44
"""


@pytest.mark.parametrize(("name", "text"), [("rate-4.json", json.dumps(BENCH, indent=1)), ("seven-b.yaml", SCORED)])
def test_results_that_look_like_settings_are_rows_and_their_file_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    seen = look([tmp_path])
    assert sum(len(t.of("measure")) for t in seen.tables)
    assert [(c.file, c.why) for c in seen.coverage] == [(name, "")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("best.json", '{"learning_rate": 0.000314159265, "dropout": 0.1234567, "warmup_ratio": 0.0567891}'),
        ("preprocessor_config.json", '{"do_rescale": true, "rescale_factor": 0.00392156862745098, "size": 224}'),
        ("train.yaml", "name: a\nvalue: 3\nlearning_rate: 1.41421356e-4\nrope_scaling: 0.70710678\n"),
    ],
)
def test_settings_are_no_results_however_many_digits_they_have(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert look([tmp_path]).tables == ()

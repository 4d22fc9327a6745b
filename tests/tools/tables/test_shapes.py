"""One run in many shapes: however a program writes its curves down, the same is found in them.

Each shape tells a run of thirty evaluations: the training loss falls, and that of the validation rises again or falls
with it.
"""

# A line of a file per line, however long.
# ruff: noqa: E501

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from triage.agent.evidence import look

N = 30
Curve = list[float]
Shape = Callable[[Curve, Curve], str]
SHAPES: dict[str, tuple[str, Shape]] = {}


def curves(turns: bool) -> tuple[Curve, Curve]:
    wave = [0.01 * math.sin(7 * i) for i in range(N)]
    trained = [round(0.1 + 3 * math.exp(-i / 6) + wave[i], 4) for i in range(N)]
    held = [
        round(1.0 + 2.2 * math.exp(-i / (4 if turns else 9)) + turns * max(0, i - 8) * 0.09 + wave[i], 4)
        for i in range(N)
    ]
    return trained, held


def shape(file: str) -> Callable[[Callable[[Curve, Curve], Iterator[str]]], None]:
    def keep(lines: Callable[[Curve, Curve], Iterator[str]]) -> None:
        SHAPES[lines.__name__] = (file, lambda a, b: "\n".join(lines(a, b)) + "\n")

    return keep


@shape("metrics.jsonl")
def phase_in_a_field(a, b):
    for i in range(N):
        yield json.dumps({"phase": "train", "step": 100 * i, "loss": a[i]})
        yield json.dumps({"phase": "val", "step": 100 * i, "loss": b[i]})


@shape("history.csv")
def split_in_a_column(a, b):
    yield "iteration,split,loss"
    for i in range(N):
        yield f"{100 * i},train,{a[i]}\n{100 * i},validation,{b[i]}"


@shape("records.jsonl")
def name_split_value(a, b):
    for i in range(N):
        yield json.dumps({"name": "loss", "split": "train", "epoch": i, "value": a[i]})
        yield json.dumps({"name": "loss", "split": "val", "epoch": i, "value": b[i]})


@shape("results.json")
def parallel_lists(a, b):
    yield json.dumps({"train_loss": a, "val_loss": b})


@shape("results.json")
def lists_under_splits(a, b):
    yield json.dumps({"train": {"loss": a}, "valid": {"loss": b}})


@shape("results.json")
def records_under_splits(a, b):
    rows = {name: [{"epoch": i, "loss": x} for i, x in enumerate(c)] for name, c in (("train", a), ("val", b))}
    yield json.dumps(rows, indent=1)


@shape("results.json")
def history_beside_settings(a, b):
    rows = [{"epoch": i, "train": {"loss": a[i]}, "val": {"loss": b[i]}} for i in range(N)]
    yield json.dumps({"args": {"lr": 1e-3, "epochs": N}, "history": rows})


@shape("scalars.json")
def x_and_y(a, b):
    steps = list(range(0, 100 * N, 100))
    parts = {"train": {"name": "train", "x": steps, "y": a}, "validation": {"name": "validation", "x": steps, "y": b}}
    yield json.dumps({"loss": parts, "lr": {"lr": {"name": "lr", "x": steps, "y": [1e-3] * N}}})


@shape("run.json")
def name_context_values(a, b):
    steps = list(range(0, 100 * N, 100))
    made = [
        {"name": "loss", "context": {"subset": s}, "iters": steps, "values": c} for s, c in (("train", a), ("val", b))
    ]
    yield json.dumps({"params": {"hparams": {"lr": 3e-4, "batch_size": 64}}, "metrics": made})


@shape("history.yaml")
def yaml_records(a, b):
    for i in range(N):
        yield f"- epoch: {i}\n  train_loss: {a[i]}\n  val_loss: {b[i]}"


@shape("history.toml")
def toml_records(a, b):
    for i in range(N):
        yield f"[[epoch]]\nepoch = {i}\ntrain_loss = {a[i]}\nval_loss = {b[i]}\n"


@shape("curves.csv")
def columns_of_splits(a, b):
    yield "Epoch;Train;Val"
    for i in range(N):
        yield f"{i};{a[i]};{b[i]}".replace(".", ",")


@shape("train.log")
def sections_in_brackets(a, b):
    for i in range(N):
        yield f"{i + 1}epoch results: [train] iter_time=0.1, loss={a[i]}, acc=0.8, [valid] loss={b[i]}, time=10 seconds"


@shape("train.log")
def logfmt(a, b):
    for i in range(N):
        yield f'level=info msg="train step" step={100 * i} loss={a[i]}'
        yield f'level=info msg="validation" step={100 * i} loss={b[i]}'


@shape("train.log")
def bar_of_each_epoch(a, b):
    for i in range(N):
        yield f"Epoch {i}: 100%|██████████| 500/500 [01:20<00:00,  6.2it/s, v_num=0, train_loss={a[i]}, val_loss={b[i]}]"


@shape("train.log")
def test_set_average(a, b):
    for i in range(N):
        yield f"Train Epoch: {i + 1} [59520/60000 (99%)]\tLoss: {a[i]}"
        yield f"Test set: Average loss: {b[i]}, Accuracy: 8123/10000 (81%)\n"


@shape("train.log")
def dotted_abbreviation(a, b):
    for i in range(N):
        yield f"Epoch: {i + 1:02} | Time: 0m 26s\n\tTrain Loss: {a[i]} | Train PPL: 1.5\n\t Val. Loss: {b[i]} |  Val. PPL: 2.5"


@shape("train.log")
def three_letters(a, b):
    for i in range(N):
        yield f"(epoch={i}) trn_loss={a[i]} tst_loss={b[i]}"


@shape("train.log")
def printed_dictionaries(a, b):
    for i in range(N):
        yield str({"epoch": i, "train": {"loss": a[i]}, "val": {"loss": b[i], "acc": 0.5}})


@shape("train.log")
def splits_behind_names(a, b):
    for i in range(N):
        yield f"{i + 1}\tcross-entropy-train={a[i]}\tcross-entropy-val={b[i]}\tlearning-rate=0.0002"


@shape("train.log")
def under_a_line_that_says_so(a, b):
    for i in range(N):
        yield f"Beginning of Epoch {i + 1}/{N}\n[Rank 0] Epoch {i + 1} mean train loss: {a[i]}"
        yield f"***** Evaluating perplexity, Epoch {i + 1}/{N} *****\nppl: {round(math.exp(b[i]), 4)}, loss: {b[i]}"


@shape("metrics.json")
def records_in_records(a, b):
    yield json.dumps([{"iter": i, "train": {"loss": a[i]}, "val": {"loss": b[i]}} for i in range(N)], indent=1)


@shape("notebook.ipynb")
def frame_in_a_notebook(a, b):
    rows = "".join(f"<tr><td>{100 * i}</td><td>{a[i]}</td><td>{b[i]}</td></tr>" for i in range(N))
    html = f"<table><tr><th>Step</th><th>Training Loss</th><th>Validation Loss</th></tr>{rows}</table>"
    out = {"output_type": "display_data", "data": {"text/html": [html]}}
    source = "args = TrainingArguments(learning_rate=2e-5)\ntrainer.train()"
    yield json.dumps({"cells": [{"cell_type": "code", "source": source, "outputs": [out]}], "nbformat": 4})


@pytest.mark.parametrize("turns", [True, False], ids=["rises", "falls"])
@pytest.mark.parametrize("name", SHAPES)
def test_shape(tmp_path: Path, name: str, turns: bool):
    file, write = SHAPES[name]
    (tmp_path / file).write_text(write(*curves(turns)), encoding="utf-8")
    seen = look([tmp_path])
    held = [s for s in seen.series if s.metric == "eval_loss"]
    assert max(map(len, held), default=0) == N, "the validation's curve is read whole"
    assert ("eval-loss-rising" in {f.code for f in seen.findings}) == turns


def grouped(turns: bool) -> Iterator[dict[str, object]]:
    for step in range(0, 5000, 500):
        for k, domain in enumerate(("wiki", "code", "math", "law")):
            more = (step - 2500) / 1000 if turns and domain == "math" and step > 2500 else 0.0
            noise = 0.01 * math.sin(step + 3 * k)
            yield {
                "step": step,
                "domain": domain,
                "loss": round(2 + 0.2 * k + 2 * math.exp(-step / 800) + more + noise, 3),
            }


@pytest.mark.parametrize("turns", [True, False])
def test_one_of_a_kind_turns(tmp_path: Path, turns: bool):
    (tmp_path / "eval.jsonl").write_text("".join(json.dumps(r) + "\n" for r in grouped(turns)), encoding="utf-8")
    seen = look([tmp_path])
    assert len([s for s in seen.series if s.metric == "loss"]) == 4, "one curve a domain"
    told = [f for f in seen.findings if f.code == "ability-lost"]
    assert [f.data["part"] for f in told] == (["domain math"] if turns else [])


@pytest.mark.parametrize(
    ("names", "whole", "told"),
    [
        (("eval_loss_0", "eval_loss_1", "eval_loss_2", "eval_loss_3"), "eval_loss", False),
        (("val_rec_loss", "val_div_loss", "val_pen_loss", "val_kl_loss"), "val_sum", False),
        (("eval_law_loss", "eval_math_loss", "eval_code_loss", "eval_chat_loss"), "", True),
    ],
)
def test_terms_of_a_sum_are_no_abilities(tmp_path: Path, names: tuple[str, ...], whole: str, told: bool):
    rows = []
    for step in range(0, 5000, 250):
        parts = [2 + 0.2 * k + 2 * math.exp(-step / 800) + 0.01 * math.sin(step + 3 * k) for k in range(4)]
        parts[1] += max(0, step - 2500) / 1000
        rows.append({"step": step} | dict(zip(names, parts, strict=True)) | ({whole: sum(parts)} if whole else {}))
    (tmp_path / "eval.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert ("ability-lost" in {f.code for f in look([tmp_path]).findings}) == told


def test_losses_of_other_things_are_no_kind(tmp_path: Path):
    """A policy's and a critic's loss go their own ways."""
    rows = (
        {"step": i, "policy_loss": 0.1, "value_loss": 1 / (i + 1), "aux_loss": 0.01 * i, "kl_loss": 0.001 * i}
        for i in range(40)
    )
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert "ability-lost" not in {f.code for f in look([tmp_path]).findings}


def test_nan_among_words(tmp_path: Path):
    """A value that is lost stands where the numbers stood: aligned, and before a sign."""
    values = [f"{3 - 0.02 * i:.4f}" if i < 40 else "nan" for i in range(60)]
    blocks = "".join(f"---- update {100 * i} ----\n  nll        {v} nats/tok\n" for i, v in enumerate(values))
    bars = "".join(f"step {100 * i} ▏ xent {v} ▏ gnorm {v} ▏ 121k tok/s\n" for i, v in enumerate(values))
    for name, text in (("a", blocks), ("b", bars)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(text, encoding="utf-8")
        assert "loss-nonfinite" in {f.code for f in look([tmp_path / name]).findings}


def test_seconds_tell_no_groups_apart(tmp_path: Path):
    """Whole seconds that come again and again are no group, in a line of Chinese either."""
    entropy = [max(0.0021, math.exp(-i / 5)) for i in range(75)]
    lines = [f"第{i}步|平均奖励 0.4|策略熵 {h:.4f}|KL 0.001|用时 {31 + i % 3}秒" for i, h in enumerate(entropy)]
    (tmp_path / "grpo.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    seen = look([tmp_path])
    assert [len(s) for s in seen.series if s.metric == "entropy"] == [75]
    assert "entropy-collapse" in {f.code for f in seen.findings}

"""Lines of no declared format: of a shape that comes again, the numbers that change are series."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from triage.tools.discover import discover
from triage.tools.logs.points.mined import MOST, Mine
from triage.tools.logs.points.shapes import SHAPES, Shapes, plain
from triage.tools.logs.scan import read_run, scan
from triage.tools.reading import Chunk
from triage.tools.series import SURE, Series

LOSS = [round(5 * math.exp(-i / 10) + 2 + 0.013 * (i % 7), 4) for i in range(30)]
R = range(30)


def read(path: Path, lines: Sequence[str]) -> dict[str, Series]:
    file = path / "train.log"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {s.metric if s.rank is None else f"{s.metric}@{s.rank}": s for s in read_run(discover(file)).table}


WRITTEN = {
    "as MiniMind": ([f"Epoch:[1/1]({10 * i}/39695), loss: {LOSS[i]:.4f}, lr: 0.0005" for i in R], "loss", "step", 10),
    "a number, a split, a number": ([f"{10 * i} train {LOSS[i]:.4f}" for i in R], "loss", "step", 10),
    "the postfix of a bar": (
        [f"Training: {i}%|{'█' * (i // 4)}| {i}/90 [00:{i:02d}<00:30, 1.2it/s, obj={LOSS[i]:.4f}]" for i in R],
        "obj", "step", 1,
    ),
    "a sentence": ([f"step {i}: grpo_loss is {LOSS[i]:.4f} and kl is {i / 9:.4f}" for i in R], "grpo_loss", "step", 1),
    "letters": ([f"[E 3 | B {200 * i}] L={LOSS[i]:.4f} (avg {LOSS[i] + 1:.2f})" for i in R], "loss", "step", 200),
    "Chinese": ([f"训练步数 {10 * i} 当前损失 {LOSS[i]:.4f} 奖励值 {i / 10:.2f}" for i in R], "loss", "step", 10),
    "loguru": (
        [f"2024-05-01 10:{i:02d}:11.345 | INFO     | t.core:fit:123 - it {10 * i} total {LOSS[i]:.4f}" for i in R],
        "total", "step", 10,
    ),
    "absl": ([f"I0501 10:{i:02d}:11.34 139 train.py:88] step {i}: mlm={LOSS[i]:.4f}" for i in R], "mlm", "step", 1),
    "structlog": (
        [f"2024-05-01T10:{i:02d}:11.345Z [info     ] iteration    rec={LOSS[i]:.4f} n={10 * i}" for i in R],
        "rec", "step", 10,
    ),
    "rows": (["| step | obj |", "|---|---|", *(f"| {10 * i} | {LOSS[i]:.4f} |" for i in R)], "obj", "step", 10),
    "columns under a head": (
        ["iter    objective   wall", "-" * 24, *(f"{10 * i:5d}   {LOSS[i]:.4f}   {i * 2.2:.1f}" for i in R)],
        "objective", "step", 10,
    ),
    "a head in a comment, units behind the numbers": (
        ["# cols: it | loss | |g| | ms/it | MFU | seen",
         *(f"{10 * i:6d} | {LOSS[i]:.4f} | 0.4{i} | 31{i:02d}.5 | 33.{i}% | 0.0{i}B" for i in R)],
        "loss", "step", 10,
    ),
    "the first number of a line that names the others": (
        [f"{10 * i} | {LOSS[i]:.4f} | lr {1e-4 + i * 1e-6:.3e} | gn 0.{i + 10} | {1200 + i}k tok/s" for i in R],
        "loss", "step", 10,
    ),
    "a rate right behind it": (
        [f"[10:{i:02d}:11] {10 * i:6d} loss={LOSS[i]:.4f} {147 + i % 3}ktps" for i in R], "loss", "step", 10,
    ),
    "Chinese without blanks": (
        [f"第{10 * i}步:损失为{LOSS[i]:.4f},学习率为0.000{i + 1}" for i in R], "loss", "step", 10,
    ),
    "Japanese": ([f"ステップ{10 * i}:損失は{LOSS[i]:.4f}、学習率は0.000{i + 1}" for i in R], "loss", "step", 10),
    "a norm between bars": (
        [f"u={10 * i:04d}/0400 xe={LOSS[i]:.4f} |g|=0.{i + 10} lr=2.{i + 10}e-05" for i in R], "loss", "step", 10,
    ),
    "thousands of steps": (
        [f"{10 * i / 10:.1f}k lm={LOSS[i]:.4f} gn=0.{i + 10} lr=0.0{i + 10}e-2 R=5.{i + 10}e+05tok/s" for i in R],
        "loss", "line", 1,
    ),
    "a dictionary of any keys": ([str({"it": 10 * i, "rec": LOSS[i], "kld": i / 8}) for i in R], "rec", "step", 10),
    "a block below a counter": (
        [line for i in R for line in (f"---- iteration {i} ----", f"objective {LOSS[i]:.4f}", f"err {i * 0.1:.3f}")],
        "objective", "step", 1,
    ),
    "a sentence with a counter inside": (
        [f"After {100 * i} iterations the objective was {LOSS[i]:.4f}" for i in R], "objective", "step", 100,
    ),
    "a writer": ([f"[rank{r}] s={10 * i} obj={LOSS[i] + r / 9:.4f}" for i in R for r in range(4)], "obj@0", "step", 10),
    "no counter at all": ([f"loss:{x:.4f}, recall:{1 / x:.4f}" for x in LOSS], "loss", "line", 1),
}  # fmt: skip


@pytest.mark.parametrize("how", WRITTEN)
def test_the_numbers_that_change_are_series(how: str, tmp_path: Path):
    lines, metric, step_is, stride = WRITTEN[how]
    found = read(tmp_path, lines)[metric]
    assert found.step_is == step_is
    assert found.values.tolist() == LOSS
    assert (found.steps[1:] - found.steps[:-1] == stride).all()
    assert all(f"{v:.4f}"[:3] in lines[n - 1] for v, n in zip(found.values, found.lines, strict=True))


def test_what_stands_beside_them_has_its_unit(tmp_path: Path):
    head = "# cols: it | loss | |g| | ms/it | MFU"
    rows = [f"{10 * i:6d} | {LOSS[i]:.4f} | 0.4{i:02d} | 31{i:02d}.5 | 33.{i:02d}%" for i in R]
    found = read(tmp_path, [head, *rows])
    assert [round(float(found[m].values[0]), 4) for m in ("grad_norm", "step_time", "mfu")] == [0.4, 3.1005, 0.33]
    rate = read(tmp_path, [f"[10:{i:02d}:11] {10 * i:6d} loss={LOSS[i]:.4f} {147 + i % 3}ktps" for i in R])
    assert rate["tokens_per_second"].values[:3].tolist() == [147_000, 148_000, 149_000]
    times = read(
        tmp_path, [f"[{10 * i:06d}] train_loss={LOSS[i]:.3f} grad={0.5 + i / 99:.2f} dt=40{i % 10}ms" for i in R]
    )
    assert float(times["step_time"].values[0]) == pytest.approx(0.4)
    rated = read(tmp_path, [f"10:{i:02d}:12 nll {LOSS[i]:.3f} ({33 + i % 4}.4 ktok/s) gn 0.{i + 10}" for i in R])
    assert float(rated["tokens_per_second"].values[0]) == 33_400
    two = read(tmp_path, [f"step {i} loss {LOSS[i]:.4f} | upd 8.1e-0{i % 4 + 3} 4.8e-0{i % 3 + 5}" for i in R])
    assert {"upd", "upd 2"} <= set(two)


def test_a_line_of_held_out_data_has_its_short_names_too(tmp_path: Path):
    lines = [line for i in R for line in (
        f"upd {10 * i} nll {LOSS[i]:.3f} gnorm 0.{i + 10} lr 0.0{i + 10}",
        *([f"** valid after {10 * i} upd: nll {LOSS[i] + 0.2:.3f} BLEU {i + 3.5}"] if i % 5 == 4 else []),
    )]  # fmt: skip
    found = read(tmp_path, lines)
    assert (len(found["loss"]), len(found["eval_loss"])) == (30, 6)
    two = read(tmp_path, [f"ep {i:03d} tr {LOSS[i]:.3f} va {LOSS[i] + 0.1:.3f} lr 0.0{i + 10} 3.{i % 7}min" for i in R])
    assert [round(float(two[m].values[0]), 3) for m in ("loss", "eval_loss")] == [7.0, 7.1]


def test_what_waits_counts_no_steps(tmp_path: Path):
    lines = [
        f"[2025-01-19 00:24:{i:02d} TP0] Decode batch. #running-req: {23 + i % 4}, #token: {25300 + 900 * (i % 7)}, "
        f"token usage: 0.1{i % 5}, gen throughput (token/s): {1000 + i * 3.5:.2f}, #queue-req: {i}, "
        for i in R
    ]
    found = read(tmp_path, lines)
    assert {"running-req", "queue-req", "token usage"} <= set(found)
    assert len(found["tokens_per_second"]) == 30


def test_a_total_in_a_row_has_no_head(tmp_path: Path):
    rows = [f"      {i}/30     3.{i + 10}G     {LOSS[i]:.4f}     1.{i + 20}   0.00{i + 1}" for i in R]
    found = read(tmp_path, ["      Epoch    GPU_mem   tot_loss   cls_loss         lr", *rows])
    assert [round(float(found[m].values[0]), 3) for m in ("gpu_memory", "loss", "cls_loss", "learning_rate")] == [
        3.1, 7.0, 1.2, 0.001]  # fmt: skip


def test_a_loss_scale_is_no_label(tmp_path: Path):
    rows = [f"it {10 * i} l {LOSS[i]:.3f} S {65536 >> (i // 10)} gn 2.{i + 10} lr 3.{i + 10}e-05" for i in R]
    assert len(read(tmp_path, rows)["loss"]) == 30


def test_digests_are_no_numbers(tmp_path: Path):
    digest = [f"{random.Random(i).getrandbits(40):010x}" for i in R]
    found = read(tmp_path, [f"push n={i} tensors=33{i % 2} sum={d} engine={d}" for i, d in enumerate(digest)])
    assert not any("sum" in name or "engine" in name for name in found)


def test_labels_tell_series_apart(tmp_path: Path):
    lines = [f"== Epoch {i}/50, top {k} acc: {k / 10 + i / 1000:.4f} ==" for i in R for k in (1, 5)]
    found = read(tmp_path, lines)
    tops = [s for name, s in found.items() if "top" in name]
    assert sorted(len(s) for s in tops) == [30, 30]
    assert {round(float(s.values[0]), 1) for s in tops} == {0.1, 0.5}


def test_steps_that_begin_anew_with_each_epoch_are_added_up(tmp_path: Path):
    lines = [f"[E {i // 10} | B {20 * (i % 10)}] rec={LOSS[i]:.4f}" for i in R]
    found = read(tmp_path, lines)["rec"]
    assert found.step_is == "cumulative"
    assert (found.steps[1:] > found.steps[:-1]).all()


def test_the_batches_of_an_epoch_are_not_its_writers(tmp_path: Path):
    lines = [f"INFO - Epoch {i // 40 + 1} - Batch loss: {3 - i / 100:.4f}" for i in range(120)]
    loss = read(tmp_path, lines)["loss"]
    assert loss.step_is == "line"
    assert len(loss) == 120


SILENT = {
    "settings": ["lr: 0.1", "batch: 64", "epochs: 20", "wd: 0.01"],
    "a model": [f"  ({i}): Linear(in_features=4096, out_features=4096, bias=False)" for i in range(40)],
    "requests": [f'INFO:  10.0.0.{i}:{39000 + i} - "POST /act HTTP/1.1" 200 OK' for i in range(40)],
    "a bar of something else": [f"Loading shards: {i}%|█| {i}/40 [00:{i:02d}<00:10, 2.{i % 9}s/it]" for i in range(40)],
    "the place in a program": [f"worker.py:{i % 30}: done" for i in range(40)],
    "clocks alone": [f"2024-01-02 10:00:{i % 60:02d} waiting" for i in range(40)],
}


@pytest.mark.parametrize("what", SILENT)
def test_other_numbers_are_no_series(what: str, tmp_path: Path):
    assert not read(tmp_path, SILENT[what])


def test_what_is_read_by_a_format_is_not_mined_again(tmp_path: Path):
    lines = [f"step {i} loss {x} lr 1e-4 sparsity {i / 30:.3f}" for i, x in enumerate(LOSS)]
    found = read(tmp_path, lines)
    assert found["loss"].confidence == 1
    assert found["sparsity"].confidence < 1
    assert set(found) == {"loss", "learning_rate", "sparsity"}


def test_a_guessed_name_alone_is_never_serious(tmp_path: Path):
    """The same numbers under their own name are S1."""
    values = [3.0 - i / 100 + 0.01 * (i % 3) for i in range(60)] + [9.0 + i / 10 for i in range(20)]
    grades = []
    for name in ("train", "loss"):
        file = tmp_path / f"{name}.log"
        file.write_text("".join(f"{i + 100} {name} {v:.4f}\n" for i, v in enumerate(values)))
        report = scan(discover(file))
        grades.append(min(f.severity for f in report.findings))
        sure = {s.confidence >= SURE for s in read_run(discover(file)).table if s.metric == "loss"}
        assert sure == {name == "loss"}
    assert grades == ["S2", "S1"]


def test_text_that_never_repeats_is_bounded():
    draw = random.Random(4)
    shapes = Shapes()
    for part in range(8):
        words = ("".join(draw.choices("abcdefgh", k=9)) for _ in range(3_000))
        text = "".join(f"{w} {i}\n{w} {i + 1}\n" for i, w in enumerate(words))
        shapes.look(plain(Chunk(text.encode(), 1 + 6_000 * part)))
    assert len(shapes.known) <= SHAPES
    assert len(Mine(shapes).tables) <= SHAPES


def test_a_line_of_very_many_numbers_is_passed_over(tmp_path: Path):
    lines = [" ".join(f"c{k}={i * k * 0.1:.2f}" for k in range(200)) for i in range(30)]
    assert len(read(tmp_path, lines)) <= MOST


def test_of_more_trainings_than_are_kept_those_that_broke_are_among_them(tmp_path):
    """Folds of one script in one log: a fold that ends early because it is no number any more is a short one."""
    lines = []
    for fold in range(MOST):
        lines.append(f"Loading pretrained model for fold {fold}")
        for epoch in range(1, 31 if fold % 7 else 13):
            loss = "nan" if not fold % 7 and epoch > 6 else f"{LOSS[epoch - 1]:.4f}"
            lines += [f"[Epoch {epoch}/50]", f"Train Loss: {loss}, Train Acc: 0.2{epoch:02d}"]
    (tmp_path / "finetune.log").write_text("\n".join(lines) + "\n")
    found = scan(discover(tmp_path)).findings
    assert "loss-nonfinite" in {f.code for f in found}


def test_pairs_that_come_again_are_no_arguments(tmp_path: Path):
    file = tmp_path / "out.txt"
    file.write_text("\n".join(f"global_step={97 * i}, episodic_return={i / 3:.1f}, length={90 + i % 7}" for i in R))
    assert [s.metric for s in scan_series(file) if s.key == "episodic_return"] == ["reward"]
    file.write_text("\n".join(f"argument_{i} = {i}" for i in R))
    assert not scan_series(file)


def scan_series(file: Path) -> list[Series]:
    return list(read_run(discover(file.parent)).table)


@pytest.mark.parametrize("line", ["it {s} loss {v:.4f} lr 1.00e-04", "it {s} loss {v:.4f} lr 2e-5 gn {g:.3f}"])
def test_a_rate_that_stands_still_is_a_measure_all_the_same(tmp_path, line):
    rows = (line.format(s=10 * i, v=3 - 0.01 * i, g=1 + i % 7 / 9) for i in range(60))
    (tmp_path / "train.log").write_text("\n".join(rows) + "\n")
    table = read_run(discover(tmp_path)).table
    assert {s.metric: len(s) for s in table}["learning_rate"] == 60


WITHIN = {
    "a number of the batch": [f"epoch: {i // 5}, batch_no: {200 * (i % 5)}, AUC:0.{i}, loss:{LOSS[i]}" for i in R],
    "a total behind a slash": [f"+ Fit | Epoch {1 + i // 5} | {80 * (i % 5 + 1)}/420 | Loss {LOSS[i]:.4f}" for i in R],
    "a total behind a colon": [f"(Epoch {1 + i // 5}/9)[ {50 * (i % 5):3d}:233]  Loss: {LOSS[i]} CE: 0.{i}" for i in R],
    "glued to letters": [f"ep{1 + i // 5} b{i % 5:04d} obj {LOSS[i]:.4f} lr {1e-5 * (i + 1):.2e}" for i in R],
}  # fmt: skip


@pytest.mark.parametrize("lines", WITHIN.values(), ids=WITHIN)
def test_what_counts_inside_an_epoch_is_counted_on(tmp_path: Path, lines: list[str]):
    found = read(tmp_path, lines)
    loss = found.get("loss") or found["obj"]
    assert len(loss) == len(R)
    assert (loss.steps[1:] > loss.steps[:-1]).all()


@pytest.mark.parametrize(
    "lines",
    [
        [f"epoch {1 + i // 2}: top {(1, 5)[i % 2]} hits {40 + i}.5" for i in R],
        [f"Valid | Epoch {1 + i // 3} | {1 + i % 3}/3 | Loss {LOSS[i]:.4f}" for i in R],
        [f"Epoch {i + 1}/30 2024/05/{i + 1:02d} loss: {LOSS[i]:.4f}" for i in R],
    ],
    ids=["labels that rise", "batches of held-out data", "a date"],
)
def test_labels_and_evaluations_of_an_epoch_count_nothing(tmp_path: Path, lines: list[str]):
    assert all(s.step_is != "cumulative" for s in read(tmp_path, lines).values())


def test_the_process_in_a_prefix_tells_no_groups_apart(tmp_path: Path):
    lines = [
        f"I0501 10:{i:02d}:11.345678 {(4021, 977)[i // 15]} sgd.cpp:105] Iteration {20 * i}, lr = 1e-0{5 + i // 20}"
        for i in R
    ]
    assert read(tmp_path, lines)["learning_rate"].values.size == len(R)


def test_terms_of_a_product_have_no_name(tmp_path: Path):
    lines = [f"Iteration {20 * i} out: cls_term = 0.{i + 10} (* 0.5 = 0.0{i + 10} loss)" for i in R]
    assert "loss" not in read(tmp_path, lines)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("Round {e}, Step {s}, used time {t:.2f} (s), avg loss so far is {x:.4f}", {"loss": LOSS[0]}),
        ("epoch {e} currently lr is 0.002", {"learning_rate": 0.002}),
        ("(epoch: {e}, iters: {s}, time: 0.{y}, data: 0.0{y}) D: {x:.3f}", {"step_time": 0.10, "data_time": 0.010}),
        ("epoch={e} it={s} obj={x:.4f} dl={y}.5ms iter={y}2.5ms", {"data_time": 0.0105, "step_time": 0.1025}),
        ("iter: {s} speed: 0.{y}s / iter", {"step_time": 0.10}),
        ("[eval] it {s}: train {x:.4f} val {x:.4f} lr {t:.2f}e-04", {"learning_rate": 0.0}),
    ],
)
def test_what_is_said_around_a_number_does_not_hide_it(tmp_path: Path, line: str, values: dict[str, float]):
    lines = [line.format(e=i // 5, s=10 * i, t=1.7 * i, x=LOSS[i], y=10 + i % 7) for i in R]
    found = read(tmp_path, lines)
    assert {m: round(float(found[m].values[0]), 5) for m in values} == pytest.approx(values)


def test_a_clock_beside_no_time_of_the_data_is_no_time_of_a_step(tmp_path: Path):
    assert "step_time" not in read(tmp_path, [f"(epoch: 1, iters: {i}, time: {9.5 * i:.1f}) D: {LOSS[i]}" for i in R])
    assert "step_time" not in read(tmp_path, [f"iters: {i}, time: {9.5 * i:.1f}, data: 0.0{i}" for i in R])


def test_losses_of_parts_are_not_the_loss(tmp_path: Path):
    found = read(
        tmp_path, [f"{i} real loss: {LOSS[i]:.4f} fake loss: {LOSS[-i]:.4f} maker loss: 0.{i + 10}" for i in R]
    )
    assert "loss" not in found
    assert {"real loss", "fake loss"} <= set(found)
    assert "loss" in read(tmp_path, [f"{i} main loss: {LOSS[i]:.4f} acc: 0.{i + 10}" for i in R])


def test_a_few_points_of_one_line_do_not_take_a_name_from_many(tmp_path: Path):
    lines = [
        "best of last time: epoch 3 val_loss=2.5",
        *(f"[run] Epoch {i}/90 -- train: {LOSS[i]:.4f}  val: {LOSS[i] + 0.1:.4f}" for i in R),
    ]
    assert max(len(s) for s in read_all(tmp_path, lines) if s.metric == "eval_loss") == len(R)


def test_one_number_a_line_is_what_the_comment_above_says(tmp_path: Path):
    found = read(tmp_path, ["% class accuracy (held)", *(f" {40 + i}.5e+00" for i in R)])
    assert [len(s) for s in found.values()] == [len(R)]
    assert read(tmp_path, [f" {40 + i}.5e+00" for i in R]) == {}


def read_all(path: Path, lines: Sequence[str]) -> list[Series]:
    read(path, lines)
    return scan_series(path / "train.log")


@pytest.mark.parametrize(
    ("good", "bad", "worse"),
    [
        ("it {} loss {:.3f} ctc {:.3f} gn 3.6", "it {} loss inf ctc 31.02 gn nan", "it {} loss nan ctc nan gn nan"),
        ("步={} 损失={:.4f} 梯度={:.4f}", "步={} 损失=inf 梯度=7.1", "步={} 损失=nan 梯度=nan"),
    ],
)
def test_the_first_bad_step_is_read_though_no_other_line_is_written_like_it(tmp_path, good, bad, worse):
    lines = [good.format(5 * i, LOSS[i], LOSS[i] + 1) for i in R]
    found = read(tmp_path, [*lines, bad.format(150), *(worse.format(5 * i) for i in range(31, 50))])
    assert math.isinf(dict(zip(found["loss"].steps.tolist(), found["loss"].values.tolist(), strict=True))[150])


@pytest.mark.parametrize("lone", ["scale 12 gives inf where 3 was", "note 150: max is inf for group 7, nan elsewhere"])
def test_a_lone_line_of_another_kind_joins_no_series(tmp_path, lone):
    lines = [f"it {5 * i} loss {LOSS[i]:.3f} gn 3.6" for i in R]
    found = read(tmp_path, [*lines[:15], lone, *lines[15:]])
    assert len(found["loss"]) == len(R)
    assert all(math.isfinite(v) for s in found.values() for v in s.values.tolist())


@pytest.mark.parametrize(
    ("form", "step_is"),
    [
        ("步={} 轮={} 损失={:.3f}", "step"),
        ("步：{} 轮：{} 损失：{:.3f}", "step"),
        ("轮={1} 步={0} 损失={2:.3f}", "step"),
    ],
)
def test_a_bare_word_for_steps_counts_them_beside_the_epoch(tmp_path, form, step_is):
    found = read(tmp_path, [form.format(4 * i + 4, i // 25, LOSS[i]) for i in R])
    assert (found["loss"].step_is, int(found["loss"].steps[-1])) == (step_is, 120)


def test_a_word_that_ends_in_that_of_steps_counts_none(tmp_path):
    found = read(tmp_path, [f"轮次: {i} 同步: 3 损失: {LOSS[i]:.3f}" for i in R])
    assert set(found["loss"].steps.tolist()) != {3}


@pytest.mark.parametrize(("form", "steps"), [
    ("Durchgang {i} Verlust {x:.4f} Norm 0.41 Rate 2e-05 Batch {size}", 290),
    ("[{i}] perplexity={x:.4f} lr=2e-05 minibatch={size} gn=0.41", 290),
    ("loss {x:.4f} gnorm 0.41 lr 2e-05 batch {i}", 290),  # this one counts
    ("batch {i} size {size} loss {x:.4f}", 290),
])  # fmt: skip
def test_how_large_a_batch_is_counts_nothing(tmp_path, form, steps):
    lines = [form.format(i=10 * i, x=LOSS[i], size=64 << (i // 10)) for i in R]
    found = read(tmp_path, lines)
    loss = next(s for s in found.values() if s.values[0] == LOSS[0])
    assert (len(loss), int(loss.steps[-1])) == (30, steps)


@pytest.mark.parametrize("line", ["        return {}", "\treturn {}", "return {};", "    return {} if n else 0",
                                  "  {} should return {}", "case {}: must return {}"])  # fmt: skip
def test_a_printed_statement_of_a_program_is_no_measure(tmp_path: Path, line: str):
    text = [said for i in range(9) for said in (f"solution {i}", "def solve(n):", line.replace("{}", str(3 * i)))]
    assert not any("return" in s.key for s in read_run(discover(_file(tmp_path, text))).table)


@pytest.mark.parametrize("line", ["return {}.5", "episode {} return {}.5", "    return      {}.5"])
def test_a_return_that_is_logged_is_one(tmp_path: Path, line: str):
    text = [line.replace("{}", str(i), 1).replace("{}", str(2 * i)) for i in range(9)]
    assert any("return" in s.key for s in read_run(discover(_file(tmp_path, text))).table)


def _file(folder: Path, lines: Sequence[str]) -> Path:
    path = folder / "out.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

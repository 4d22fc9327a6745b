"""Series of whole runs: steps, lines, attempts, ranks, restarts, hostile files."""

import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triage.tools.discover import discover
from triage.tools.logs.points.read import read_series
from triage.tools.logs.scan import read_run
from triage.tools.run import Artifact, Run
from triage.tools.series import Series, SeriesTable


@pytest.fixture
def read(tmp_path):
    def build(files: dict[str, str | bytes]) -> SeriesTable:
        for name, data in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return read_series(discover(tmp_path))[0]

    return build


def points(series: Series | None):
    assert series is not None
    return list(zip(series.steps.tolist(), series.values.tolist(), series.lines.tolist(), strict=True))


def hf(loss, norm="1.0", epoch=0.1):
    return f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 1e-05, 'epoch': {epoch}}}\n"


def test_trainer_lines_without_a_step_are_counted(read):
    table = read({"train.log": "start\n" + hf(2.0) + hf(0.0, "nan", 0.2) + "# " + hf(0.0, "nan", 0.3)})
    assert points(table.get("loss")) == [(1, 2.0, 2), (2, 0.0, 3), (3, 0.0, 4)]
    norm = table.get("grad_norm")
    assert norm is not None
    assert np.isnan(norm.values).tolist() == [False, True, True]
    assert norm.step_is == "line"
    assert norm.at(1).line == 3


def test_progress_bars_next_to_the_lines_give_the_true_steps(read):
    text = "".join(f" {i}%|#   | {i * 10}/1000 [00:10<01:00]\r{hf(3 - i / 10, epoch=i / 100)}" for i in range(1, 6))
    loss = read({"train.log": text}).get("loss")
    assert loss is not None
    assert loss.steps.tolist() == [10, 20, 30, 40, 50]
    assert loss.step_is == "step"


def test_bars_in_a_block_of_their_own_give_no_steps(read):
    bars = "\r".join(f" {i}%|#   | {i * 10}/1000 [00:10<01:00]" for i in range(1, 6))
    loss = read({"train.log": bars + "\n" + hf(2.0) + hf(1.9, epoch=0.2)}).get("loss")
    assert loss is not None
    assert loss.steps.tolist() == [1, 2]
    assert loss.step_is == "line"


def test_a_known_interval_gives_the_steps(tmp_path):
    (tmp_path / "train.log").write_text(hf(2.0) + hf(1.9, epoch=0.2))
    run = discover(tmp_path)
    for every, last in ((25.0, 50), (None, 2), (0.05, 2)):
        assert points(read_series(run, lambda every=every: every)[0].get("loss"))[-1][:2] == (last, 1.9)


def test_evaluation_lines_belong_to_the_last_training_line(read):
    table = read({"train.log": hf(2.0) + "{'eval_loss': 1.5, 'epoch': 0.1}\n" + hf(1.9, epoch=0.2)})
    assert points(table.get("eval_loss")) == [(1, 1.5, 2)]
    assert points(table.get("loss"))[-1][:2] == (2, 1.9)


def test_a_falling_epoch_starts_a_new_attempt(read):
    table = read({"train.log": hf(10.5, epoch=0.25) + hf(8.2, epoch=0.5) + hf(2.1, epoch=0.25) + hf(1.6, epoch=0.5)})
    assert [(s.attempt, s.steps.tolist()) for s in table.all("loss")] == [("", [1, 2]), ("#2", [1, 2])]


def test_a_callback_that_prints_some_keys_again_adds_no_step(read):
    again = "{'loss': 2.0, 'learning_rate': 1.0000e-05, 'epoch': 0.1, 'throughput': 100.5}\n"
    table = read({"train.log": again + hf(2.0) + hf(1.9, epoch=0.2)})
    assert points(table.get("loss")) == [(1, 2.0, 1), (2, 1.9, 3)]


def test_restarts_inside_one_file_are_attempts_of_their_own(read):
    lines = [f"step {s} loss {v}" for s, v in [(10, 3), (20, 2), (30, "nan"), (20, 2.5), (30, 1.5)]]
    table = read({"train.log": "\n".join(lines)})
    first, second = table.all("loss")
    assert (first.attempt, first.steps.tolist()) == ("", [10, 20, 30])
    assert (second.attempt, second.steps.tolist(), second.lines.tolist()) == ("#2", [20, 30], [4, 5])
    assert table.get("loss") is second


def test_a_log_printed_twice_is_one_attempt_and_a_rerun_is_two(read):
    once = "".join(f"step {s} loss {4 - s} dt: 1{s}.5ms\n" for s in (1, 2, 3))
    assert [s.attempt for s in read({"train.log": once + once}).all("loss")] == [""]
    again = once.replace("12.5ms", "12.6ms")
    assert [s.attempt for s in read({"train.log": once + again}).all("loss")] == ["", "#2"]


def test_steps_counted_per_epoch_are_added_up(read):
    lines = [f"Epoch: {e}, Step: {s}, loss = {3 - e}" for e in range(3) for s in range(0, 100, 10)]
    loss = read({"train.log": "\n".join(lines)}).get("loss")
    assert loss is not None
    assert len(loss) == 30
    assert (np.diff(loss.steps) > 0).all()
    assert loss.step_is == "cumulative"


def test_every_line_twice_is_read_once(read):
    table = read({"train.log": "".join(f"step:{s} loss:nan\n" * 2 for s in (1, 2, 2, 3))})
    assert [p[0] for p in points(table.get("loss"))] == [1, 2, 3]


def test_ranks_are_kept_apart_by_their_prefix(read):
    table = read({"train.log": "".join(f"[rank{r}]: step {s} loss {r}.5\n" for s in (1, 2, 3) for r in (0, 1))})
    assert {s.rank: s.values.tolist() for s in table.all("loss")} == {0: [0.5] * 3, 1: [1.5] * 3}


def test_unmarked_ranks_are_merged_and_a_nan_of_one_of_them_is_kept(read):
    lines = [f"step {s} loss {'nan' if (s, r) == (3, 1) else r + 0.5}" for s in (1, 2, 3) for r in (0, 1)]
    loss = read({"train.log": "\n".join(lines)}).get("loss")
    assert loss is not None
    assert loss.steps.tolist() == [1, 2, 3]
    assert np.isnan(loss.values).tolist() == [False, False, True]


def test_a_megatron_record_wrapped_over_three_lines_is_joined(read):
    text = (
        "[default7]: iteration   42780/ 115311 | elapsed time per iteration (s): 105.16 | learning\n"
        " rate: 4.475E-05 | lm loss: 2.117073E+00 | number of skipped iterations:  0 | number of nan\n"
        "iterations:  0 | samples per second: 19.474 |\n"
    )
    table = read({"train.log": text * 2})
    assert points(table.get("learning_rate")) == [(42780, 4.475e-5, 1)]
    assert points(table.get("samples_per_second")) == [(42780, 19.474, 1)]


def test_an_unfinished_record_does_not_swallow_the_lines_after_it(read):
    table = read({"train.log": "{'loss': 2.0, 'grad_norm':\nstep 5 loss 1.5\nstep 6 loss 1.4\n"})
    assert [p[:2] for p in points(table.get("loss"))] == [(5, 1.5), (6, 1.4)]


def test_a_gradient_norm_that_was_never_computed_is_left_out(read):
    line = " iteration {}/ 100 | lm loss: 2.5 | grad norm: {} |\n"
    assert read({"a.log": line.format(1, "0.000") + line.format(2, "0.000")}).get("grad_norm") is None
    assert points(read({"a.log": line.format(1, "0.000") + line.format(2, "0.150")}).get("grad_norm"))


def test_a_scale_that_only_doubles_and_halves_is_the_loss_scale(read):
    rows = "".join(f"step={i} loss=2.0 scaling={s}\n" for i, s in enumerate((4096, 4096, 2048, 0.03125)))
    assert [p[1] for p in points(read({"train.log": rows}).get("loss_scale"))] == [4096, 4096, 2048, 0.03125]


@pytest.mark.parametrize("values", [(1, 1, 1, 1), (300, 310, 290, 512), (8, 4, 2, 4)])
def test_any_other_scale_is_none(read, values):
    rows = "".join(f"step={i} loss=2.0 scale={s}\n" for i, s in enumerate(values))
    assert read({"train.log": rows}).get("loss_scale") is None


def test_deepspeed_chat_lines_belong_to_the_last_step(read):
    text = "".join(
        f"epoch: 0|step: {s}|ppo_ep: 1|act_loss: 0.{s}|cri_loss: 0.1\naverage reward score: {s}.5\n" for s in (0, 1, 2)
    )
    table = read({"train.log": text})
    assert points(table.get("reward")) == [(0, 0.5, 2), (1, 1.5, 4), (2, 2.5, 6)]
    assert [p[:2] for p in points(table.get("policy_loss"))] == [(0, 0.0), (1, 0.1), (2, 0.2)]


@pytest.mark.parametrize(("keep", "result"), [(1.0, None), (0.6, "failed")])
def test_a_save_that_was_cut_off_is_a_check_that_failed(tmp_path, keep, result):
    history = [{"loss": 2 - i / 50, "epoch": i / 50, "step": 10 * i} for i in range(50)]
    text = json.dumps({"global_step": 490, "log_history": history}, indent=2)
    (tmp_path / "trainer_state.json").write_text(text[: int(keep * len(text))])
    read = read_run(discover(tmp_path))
    loss = read.table.get("loss")
    assert loss is not None
    assert len(loss.steps) > 20
    said = {c.name: c.result for c in read.broken}
    assert said.get("read trainer_state.json to its end") == result


def test_trainer_state_gives_steps_lines_and_bare_nan(read):
    state = json.dumps(
        {"log_history": [{"loss": 2.0, "step": 10}, {"loss": math.nan, "step": 20}, {"eval_loss": 1.0, "step": 20},
                         {"train_loss": 1.5, "train_runtime": 5, "step": 20}], "logging_steps": 10}, indent=2,
    )  # fmt: skip
    table = read({"trainer_state.json": state})
    (_, _, first), (step, value, line) = points(table.get("loss"))
    assert (first, step, line) == (4, 20, 8)
    assert math.isnan(value)
    assert points(table.get("train_loss_mean"))[0][:2] == (20, 1.5)


@pytest.mark.parametrize("time", [{}, {"train_runtime": 12.5, "train_tokens_per_second": 810.0}])
def test_a_time_that_is_told_at_each_step_ends_no_run(read, time):
    """With `include_num_input_tokens_seen` the HF Trainer tells its time at each step."""
    rows = ({"loss": 2 - i / 50, "grad_norm": 1.0 + i / 9, "epoch": round(i / 20, 2)} | time for i in range(20))
    end = {"train_runtime": 250.0, "train_loss": 1.8, "epoch": 1.0}
    table = read({"train.log": "\n".join(map(str, [*rows, end]))})
    assert len(table.get("loss")) == 20
    assert [v for _, v, _ in points(table.get("train_loss_mean"))] == [1.8]


def test_state_on_one_line_and_huge_nesting_are_read_in_bounded_time(read):
    history = ",".join(f'{{"step": {i}, "loss": {i}.5}}' for i in range(1, 2001))
    nested = '{"a":' * 10_000 + "1" + "}" * 10_000
    table = read({"trainer_state.json": f'{{"x": {nested}, "log_history": [{history}]}}'})
    loss = table.get("loss")
    assert loss is not None
    assert len(loss) == 2000
    assert set(loss.lines.tolist()) == {1}


def test_sparse_csv(read):
    table = read({"metrics.csv": "epoch,step,train_loss_step,val_loss\r\n0,49,8.5,\r\n0,99,7.5,\r\n0,99,,6.5\r\n"})
    assert points(table.get("loss")) == [(49, 8.5, 2), (99, 7.5, 3)]
    assert points(table.get("eval_loss")) == [(99, 6.5, 4)]


def test_json_lines_with_nan_nesting_and_a_bad_line(read):
    text = '{"step": 1, "train": {"loss": 2.5}, "note": "x"}\n{broken\n{"step": 2, "train": {"loss": NaN}}\n'
    loss = read({"metrics.jsonl": text}).get("loss")
    assert loss is not None
    assert loss.steps.tolist() == [1, 2]
    assert loss.lines.tolist() == [1, 3]


def test_packed_log_and_attempt_directories(read):
    table = read(
        {
            "attempt1/train.log.gz": gzip.compress(b"step 1 loss 2.5\nstep 2 loss nan\n"),
            "attempt2/train.log": "step 1 loss 2.25\n",
        }
    )
    assert [s.attempt for s in table.all("loss")] == ["attempt1", "attempt2"]
    last = table.get("loss")
    assert last is not None
    assert last.attempt == "attempt2"


def test_the_first_alias_has_the_canonical_name_and_others_keep_theirs(read):
    table = read({"train.log": "step:1 - critic/rewards/mean:-13.5 - critic/score/mean:-0.5 - perf/mfu/actor:0.35\n"})
    assert points(table.get("reward")) == [(1, -0.5, 1)]
    assert points(table.get("critic/rewards/mean")) == [(1, -13.5, 1)]


def test_a_log_that_is_gone_is_a_failed_check(tmp_path):
    gone = Artifact("log", tmp_path / "gone.log", "gone.log", "log")
    assert [c.result for c in read_series(Run(tmp_path, (gone,)))[1]] == ["failed"]


def test_a_log_without_metrics_is_not_applicable(tmp_path):
    (tmp_path / "server.log").write_text("INFO 10:00:00 started\n")
    table, checks = read_series(discover(tmp_path))
    assert len(table) == 0
    assert [c.result for c in checks] == ["not-applicable"]


def test_too_many_points_are_thinned_but_no_change_to_nan_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.tools.logs.points.read.POINT_BUDGET", 20_000)
    with (tmp_path / "train.log").open("w") as f:
        for i in range(60_000):
            f.write(f"step:{i} loss:{'nan' if i >= 45_678 else 2.5 + i % 7 / 10}\n")
    table, checks = read_series(discover(tmp_path))
    loss = table.get("loss")
    assert loss is not None
    assert len(loss) < 40_000
    first = int(np.flatnonzero(np.isnan(loss.values))[0])
    assert loss.steps[first - 1 : first + 1].tolist() == [45_677, 45_678]
    assert "thinned" in checks[0].why


REAL = (
    hf(2.0) + " 42%|####      | 829/1954 [28:49<39:13,  2.09s/it]\r" + hf(0.0, "nan")
    + "step:9 - actor/entropy:np.float64(0.2) - critic/score/mean:-1.0\n"
    + " iteration    29050/  311541 | lm loss: 7.343709E+00 | loss scale: 8192.0 | grad norm: 0.000 |\n"
    + '{"step": 3, "loss": NaN}\nepoch,step,train_loss\n1,2,3\n{"log_history": [{"step": 1, "loss": 2}]}'
).encode()  # fmt: skip
FILES = st.sampled_from(["train.log", "trainer_state.json", "metrics.jsonl", "metrics.csv"])
CELL = st.text("0123456789abcdefABCDEF.:-+/,eEnN ", min_size=1, max_size=18)
WORD = st.sampled_from(["", "loss", "acc =", "| x |", "id", "[", "步"])
SHAPED = st.lists(st.tuples(WORD, CELL), min_size=1, max_size=4)
"""One line's words and cells; such lines stand in a file by the dozen."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, st.one_of(st.binary(max_size=500), st.integers(0, len(REAL)).map(lambda i: REAL[i:] + REAL[:i])))
def test_no_bytes_break_a_reader(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    table, checks = read_series(Run(tmp_path, (Artifact("metrics", path, name, "test"),)))
    assert [c.name for c in checks if not c.name.startswith(("end of", "read "))] == [f"metrics in {name}"]
    assert not any("broke" in c.why for c in checks)
    for series in table:
        assert len(series.steps) == len(series.values) == len(series.lines) > 0
        assert series.lines.min() >= 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SHAPED, st.lists(CELL, min_size=1, max_size=40))
def test_no_lines_of_one_shape_break_a_reader(tmp_path, first, cells):
    """Digests in capitals (`BCBCBC12`), clocks and lone signs stand where other lines have numbers."""
    rows = [" ".join(f"{word} {cell}" for (word, _), cell in zip(first, [c] * len(first), strict=True)) for c in cells]
    (tmp_path / "train.log").write_text("\n".join([" ".join(f"{w} {c}" for w, c in first), *rows]) + "\n")
    artifact = Artifact("log", tmp_path / "train.log", "train.log", "test")
    assert not any("broke" in c.why for c in read_series(Run(tmp_path, (artifact,)))[1])


def test_a_digest_in_capitals_is_no_number(read):
    rows = "".join(f"case 1{c}BCBCBC {i} acc {0.5 + i / 100:.3f}\n" for i, c in enumerate("ABCDEF" * 6))
    assert "acc" in {s.key for s in read({"out.log": rows})}


def test_a_file_that_breaks_its_reader_is_named_and_the_others_are_read(tmp_path, monkeypatch):
    from triage.tools.logs.points import read

    whole = read.read_store

    def broken(path, *more):
        if path.name == "a.log":
            raise ValueError("a defect")
        return whole(path, *more)

    monkeypatch.setattr(read, "read_store", broken)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("".join(f"step {i} loss {3 - i / 50}\n" for i in range(40)))
    table, checks = read_series(discover(tmp_path))
    assert {s.file for s in table} == {"b.log"}
    assert [c.why for c in checks if c.result == "failed"] == [
        "the reader broke (ValueError); this is a defect of triage, not of the run"
    ]


def test_values_under_a_numbered_line_belong_to_its_step(read):
    block = (
        "2025-12-12 11:05:0{0}\thost:0\tolmo.train:979\tINFO\t[step={0}/15000,epoch=0]\n"
        "    optim/total_grad_norm=0.2{0}\n    train/CrossEntropyLoss={1}\n    throughput/total_tokens=2,097,152\n"
        "    throughput/device/tokens_per_second=68,289\n    System/Peak GPU Memory (MB)=111,478\n"
    )
    text = "TrainConfig(\n    optimizer/lr=0.1\n)\n" + "".join(
        block.format(i, loss) for i, loss in enumerate(("2.998", "2.919", "nan"), 1)
    )
    table = read({"train.log": text})
    loss = table.get("loss")
    assert loss is not None
    assert (loss.steps.tolist(), loss.lines.tolist()) == ([1, 2, 3], [6, 12, 18])
    assert math.isnan(loss.values[2])
    assert points(table.get("grad_norm"))[0] == (1, 0.21, 5)
    assert points(table.get("tokens_per_second"))[0][1] == 68289


def test_uneven_progress_bars_count_if_they_go_with_the_epoch(read):
    bars = ((2000, 0.73), (12500, 4.59), (13000, 4.78), (13500, 4.96))
    text = "".join(f" 9%|#  | {step}/13605 [00:10<01:00]\n{hf(1.0, epoch=epoch)}" for step, epoch in bars)
    table = read({"train.log": text})
    loss = table.get("loss")
    assert loss is not None
    assert (loss.steps.tolist(), loss.step_is) == ([2000, 12500, 13000, 13500], "step")


def test_uneven_progress_bars_that_do_not_go_with_the_epoch_are_not_steps(read):
    bars = ((20, 0.5), (21, 1.0), (90, 1.5), (400, 2.0))
    text = "".join(f" 9%|#  | {step}/1000 [00:10<01:00]\n{hf(1.0, epoch=epoch)}" for step, epoch in bars)
    loss = read({"train.log": text}).get("loss")
    assert loss is not None
    assert loss.step_is == "line"


def _episodes(of_one):
    """60 episodes of which the later ones are shorter and better: the text of each as `of_one` writes it."""
    return [of_one(i + 1, -120 + 2 * i + i * 7 % 5, 150 - 2 * i + i * 11 % 17) for i in range(60)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hist.csv", "game,reward,global_step\n" + "".join(_episodes(lambda *row: "{},{},{}\n".format(*row)))),
        ("log.csv", "回合,reward,steps\n" + "".join(_episodes(lambda *row: "{},{},{}\n".format(*row)))),
        ("log.jsonl", "".join(_episodes(lambda e, r, n: f'{{"episode": {e}, "reward": {r}, "steps": {n}}}\n'))),
        ("h.json", json.dumps(_episodes(lambda e, r, n: {"epoch": e, "reward": r, "steps": n}))),
        ("train.log", "".join(_episodes(lambda e, r, n: f"Episode {e} | reward: {r} | steps: {n}\n"))),
    ],
)
def test_a_length_of_each_row_is_not_the_way_of_the_rows(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    reward = read_run(discover(tmp_path)).table.get("reward")
    assert reward is not None
    assert reward.steps.tolist() == [*range(1, 61)]
    assert reward.values[-1] > reward.values[0]


def test_steps_that_begin_again_in_each_epoch_or_after_a_restart_stay_steps(read):
    rows = [(e, s, 3 - e / 5 - s / 1000) for e in (1, 2, 3) for s in range(100, 1100, 100)]
    again = [*range(10, 200, 10), *range(150, 400, 10)]
    for head, text in (
        ("epoch,step,loss", "".join("{},{},{}\n".format(*row) for row in rows)),
        ("number,step,loss", "".join(f"{i},{s},{3 - s / 200}\n" for i, s in enumerate(again))),
    ):
        steps = read({"m.csv": f"{head}\n{text}"}).get("loss").steps
        assert steps.max() >= 390


@pytest.mark.parametrize(
    "line",
    [
        "Eval step {} | train loss {:.3f} | val loss {:.3f} | BLEU: 0.000",
        "[eval] iter {}: training loss {:.3f}, dev loss {:.3f}, bleu 0.000",
        "验证 step {}：训练损失 {:.3f}，验证损失 {:.3f}，BLEU: 0.000",
    ],
)
def test_a_training_loss_in_a_line_of_an_evaluation_is_one_and_a_constant_score_is_read(read, line):
    table = read({"log.txt": "".join(line.format(i * 500, 2 - i / 20, 2.1 - i / 30) + "\n" for i in range(12))})
    assert table.get("eval_loss").values[-1] == pytest.approx(1.733, abs=1e-3)
    assert table.get("loss").values[-1] == pytest.approx(1.45, abs=1e-3)
    assert any("bleu" in s.key.lower() for s in table)


@pytest.mark.parametrize(
    ("row", "keys"),
    [
        ('"valid/law": 2.1, "valid/news": 2.5', {"valid/law", "valid/news"}),
        ('"test_zz": 2.1, "test_yy": 2.5', {"test_zz", "test_yy"}),
        ('"law": 2.1, "news": 2.5', set()),
        ('"valid/law": 2.1', set()),
    ],
    ids=["by source", "by letters", "not held out", "one alone"],
)
def test_rows_of_held_out_measures_by_part_are_read_between_those_of_training(read, row, keys):
    lines = [f'{{"step": {i}, "loss": {3 - i / 100}}}\n{{"step": {i}, {row}}}\n' for i in range(20)]
    assert {s.key for s in read({"metrics.jsonl": "".join(lines)})} - {"loss"} == keys

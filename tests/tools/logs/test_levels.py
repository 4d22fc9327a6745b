"""Levels that tell: chance, zero, collapse, a loss or a history of nothing; and what only looks like them."""

import json
from math import log

import pytest
from making import codes, fill

from triage.agent.evidence import look
from triage.tools.data.between.evalrows import check_eval_rows
from triage.tools.discover import discover
from triage.tools.logs.scan import scan

CODES = (
    "loss-at-chance",
    "accuracy-zero",
    "accuracy-decline",
    "train-loss-memorised",
    "loss-trivial",
    "loss-unmoved",
    "loss-plateau",
    "loss-steps-at-epochs",
    "updates-skipped",
    "held-out-drawn-again",
    "perplexity-too-low",
)


def rows(n=60, **of) -> str:
    """A history: each measure a function of the share of the run that is done."""
    jitter = [0.004 * (i * 7 % 5 - 2) for i in range(n)]
    out = []
    for i in range(n):
        row = {k: (f(i / n) * (1 + jitter[i]) if f(i / n) else 0.0) for k, f in of.items()}
        out.append(json.dumps({"step": 10 * (i + 1)} | row))
    return "\n".join(out) + "\n"


def found(tmp_path, history: str, **files) -> dict[str, str]:
    run = discover(fill(tmp_path, {"history.jsonl": history} | {k.replace("__", "."): v for k, v in files.items()}))
    return {code: grade for code, grade in codes(scan(run)).items() if code in CODES}


def falling(to, start=2.5):
    return lambda x: to + (start - to) * (1 - x) ** 6


FOUR = json.dumps({"architectures": ["BertForSequenceClassification"], "num_labels": 4, "model_type": "bert"})
IDS = json.dumps({"model_type": "bert", "id2label": {str(i): f"L{i}" for i in range(4)}})


@pytest.mark.parametrize(
    ("history", "files"),
    [
        (rows(loss=lambda x: log(4), accuracy=lambda x: 0.25), {}),
        (rows(loss=falling(log(2), 0.9), accuracy=lambda x: 0.5), {}),
        (rows(loss=lambda x: log(10), eval_accuracy=lambda x: 10.0), {}),
        (rows(loss=lambda x: log(4)), {"config__json": FOUR}),
        (rows(loss=lambda x: log(4)), {"config__json": IDS}),
        (rows(loss=lambda x: log(4)), {"run__sh": "python train.py --num_labels 4\n"}),
        (rows(4, eval_loss=lambda x: 1.001 * log(7), eval_accuracy=lambda x: 0.15), {}),
        (rows(3, val_loss=lambda x: log(3), val_acc=lambda x: 34.0), {"config__json": FOUR.replace("4", "3")}),
    ],
)
def test_a_run_that_ends_at_chance_is_judged(tmp_path, history, files):
    assert found(tmp_path, history, **files) == {"loss-at-chance": "S2"}


@pytest.mark.parametrize(
    ("history", "files"),
    [
        (rows(loss=falling(log(4), 9)), {}),  # a language model on its way
        (rows(loss=falling(log(4), 9)), {"config__json": FOUR}),
        (rows(loss=falling(log(4)), accuracy=falling(0.7, 0.1)), {}),
        (rows(loss=lambda x: 0.9, accuracy=lambda x: 0.6), {"config__json": FOUR}),
        (rows(loss=lambda x: log(4)), {}),
        (rows(loss=lambda x: log(2), reward_accuracy=lambda x: 0.5, reward_margin=lambda x: 0.01), {}),
        (rows(loss=lambda x: log(4), accuracy=lambda x: 0.6), {"config__json": FOUR}),
        (rows(4, eval_loss=lambda x: log(7) - 0.2 * x, eval_accuracy=lambda x: 0.14), {}),
        (rows(4, eval_loss=lambda x: log(7)), {}),
        (rows(4, eval_loss=lambda x: log(2), eval_reward_accuracy=lambda x: 0.5, reward_margin=lambda x: 0.0), {}),
    ],
)
def test_a_loss_that_only_passes_such_a_level_is_not(tmp_path, history, files):
    assert found(tmp_path, history, **files) == {}


@pytest.mark.parametrize(
    ("score", "grade"), [(lambda x: 0.345 if 0.1 < x < 0.2 else 0.32 + 0.01 * x, "S2"), (lambda x: 0.3 + 0.2 * x, "S3")]
)
def test_a_score_whose_best_lies_behind_it_does_not_excuse_rows_known_by_heart(tmp_path, score, grade):
    history = rows(loss=falling(0.001), epoch=lambda x: 20 * x, eval_rouge=score)
    assert found(tmp_path, history) == {"train-loss-memorised": grade}


def still(level, n, **of) -> str:
    """A loss that hardly moves, with what else stands in its rows."""
    rows = ({"step": 50 * (i + 1), "loss": level(i)} | {k: f(i) for k, f in of.items()} for i in range(n))
    return "".join(json.dumps(row) + "\n" for row in rows)


def noisy(i):
    return 2.9 + 0.4 * (i * 7 % 11 - 5) / 5


@pytest.mark.parametrize(
    ("history", "code"),
    [
        (still(lambda i: 11.8649 - 0.001 * i, 10), "loss-unmoved"),
        (still(noisy, 28, epoch=lambda i: i * 20 // 28, accuracy=lambda i: 0.02 * (i * 5 % 7)), "loss-plateau"),
    ],
    ids=["an untrained model", "twenty epochs"],
)
def test_a_loss_that_no_training_moves_is_judged(tmp_path, history, code):
    assert found(tmp_path, history) == {code: "S2"}


@pytest.mark.parametrize(
    "history",
    [
        still(lambda i: 11.8649 - 0.1 * i, 10),
        still(lambda i: 1.165 - 0.0001 * i, 10),  # a trained model
        still(lambda i: 11.8649, 5),
        still(noisy, 28, epoch=lambda i: i / 28),
        still(lambda i: noisy(i) - 0.05 * i, 28, epoch=lambda i: i * 20 // 28),
        still(noisy, 28, epoch=lambda i: i * 20 // 28, accuracy=lambda i: 0.02 * i),
    ],
    ids=["falls", "trained before", "few", "one epoch", "falls slowly", "accuracy rises"],
)
def test_a_loss_that_moves_or_had_no_time_is_not(tmp_path, history):
    assert found(tmp_path, history) == {}


def test_a_short_run_in_which_next_to_nothing_was_gained_is_not_called_well(tmp_path):
    flat, fallen = (still(lambda i, by=by: 1.5 - by * i, 12) for by in (0.0001, 0.02))
    well = [scan(discover(fill(tmp_path / name, {"a.jsonl": h}))) for name, h in (("flat", flat), ("fallen", fallen))]
    assert ["run-healthy" in codes(report) for report in well] == [False, True]


def test_an_accuracy_of_zero_throughout_is_judged(tmp_path):
    assert found(tmp_path, rows(loss=falling(1.0), accuracy=lambda x: 0)) == {"accuracy-zero": "S2"}
    assert found(tmp_path, rows(8, loss=falling(1.0), eval_accuracy=lambda x: 0)) == {"accuracy-zero": "S2"}


@pytest.mark.parametrize("accuracy", [lambda x: 0 if x < 0.8 else 0.1, lambda x: 0.02])
def test_an_accuracy_that_moves_or_is_small_is_not(tmp_path, accuracy):
    assert found(tmp_path, rows(loss=falling(1.0), accuracy=accuracy)) == {}


@pytest.mark.parametrize(("scale", "digits"), [(100, 2), (1, 4)])
@pytest.mark.parametrize("right", [lambda i: i < 4 or i % 4 == 0, lambda i: i == 0 or i % 3 == 1])
def test_the_share_of_the_items_so_far_settles_and_falls_nowhere(tmp_path, scale, digits, right):
    share = [scale * sum(map(right, range(n))) / n for n in range(1, 41)]
    text = "".join(f"item {n} acc: {round(v, digits)}\n" for n, v in enumerate(share, 1))
    (tmp_path / "eval.log").write_text(text)
    assert not {"accuracy-decline", "share-falls-from-peak"} & {f.code for f in look([tmp_path]).findings}


@pytest.mark.parametrize("line", ["step {n} acc: {v}\n", "step {right} acc: {v}\n"])
def test_items_that_were_not_all_printed_make_a_share_too(tmp_path, line):
    done = enumerate((2, 4, 8, 9, 13, 14, 20, 26, 31, 40), 2)
    share = [line.format(n=n, right=right, v=round(100 * right / n, 2)) for right, n in done]
    (tmp_path / "eval.log").write_text("".join(share))
    assert not {"accuracy-decline", "share-falls-from-peak"} & {f.code for f in look([tmp_path]).findings}


@pytest.mark.parametrize("low", [0.11, 11.31])
def test_an_accuracy_that_is_no_such_share_still_falls(tmp_path, low):
    text = "".join(f"step {n} acc: {low * (8 if n < 20 else 1) + n % 3 / 500:.4f}\n" for n in range(1, 41))
    (tmp_path / "train.log").write_text(text)
    assert {"accuracy-decline", "share-falls-from-peak"} & {f.code for f in look([tmp_path]).findings}


def test_an_accuracy_that_collapses_is_judged(tmp_path):
    fell = rows(loss=falling(1.0), accuracy=lambda x: 0.3 + x if x < 0.6 else 0.1)
    assert found(tmp_path, fell) == {"accuracy-decline": "S2"}


@pytest.mark.parametrize(
    "accuracy",
    [
        lambda x: 0.3 + 0.5 * x,
        lambda x: 0.9 - 0.3 * x,
        lambda x: 0.1 if 0.5 < x < 0.56 else 0.8,
        lambda x: 0.5 + 0.4 * ((x * 60) % 2),
    ],
    ids=["rises", "falls slowly", "comes back", "noisy"],
)
def test_an_accuracy_that_rises_sinks_slowly_or_comes_back_is_not(tmp_path, accuracy):
    assert found(tmp_path, rows(loss=falling(1.0), accuracy=accuracy)) == {}


def test_a_loss_of_nothing_after_many_epochs_is_judged(tmp_path):
    known = rows(loss=falling(0.01), epoch=lambda x: 10 * x)
    assert found(tmp_path, known) == {"train-loss-memorised": "S2"}
    worse = rows(loss=falling(0.01), epoch=lambda x: 10 * x, eval_loss=falling(1.5))
    assert found(tmp_path, worse) == {"train-loss-memorised": "S2"}


@pytest.mark.parametrize(
    ("losses", "epochs", "told"),
    [
        ((0.47, 0.026, 0.014, 0.011, 0.009, 0.008), 100, {"train-loss-memorised": "S2"}),
        ((0.47, 0.026, 0.014, 0.011, 0.009, 0.008), 6, {}),  # six passes and six points are few
        ((1.9, 1.4, 1.2, 1.1, 1.05, 1.0), 100, {}),
        ((0.009, 0.009, 0.008, 0.008, 0.008, 0.008), 100, {}),  # low from the start
    ],
)
def test_of_few_points_only_many_passes_show_rows_known_by_heart(tmp_path, losses, epochs, told):
    n = len(losses)
    rows_ = [{"step": 500 * (i + 1), "loss": v, "epoch": epochs * (i + 1) / n} for i, v in enumerate(losses)]
    assert found(tmp_path, "\n".join(map(json.dumps, rows_)) + "\n") == told


@pytest.mark.parametrize(
    ("level", "epochs", "more", "told"),
    [
        (0.08, 33, {}, True),
        (0.07, 24, {}, True),
        (0.08, 12, {}, False),  # fewer passes
        (0.16, 33, {}, False),
        (0.08, 33, {"eval_loss": lambda x: 2.4 - x}, False),  # other rows are looked at
        (0.08, 33, {"eval_accuracy": lambda x: 0.2 + 0.4 * x}, False),
    ],
)
def test_after_dozens_of_passes_that_nothing_checks_a_low_loss_is_of_rows_known_by_heart(
    tmp_path, level, epochs, more, told
):
    history = rows(loss=falling(level, start=3.2), epoch=lambda x: epochs * x, **more)
    assert ("train-loss-memorised" in found(tmp_path, history)) is told


def test_a_language_model_from_scratch_cannot_know_other_text_as_well(tmp_path):
    """Whatever the epochs: text has an entropy of its own."""
    assert found(tmp_path, rows(loss=falling(0.15, start=10.7))) == {"train-loss-memorised": "S2"}
    assert found(tmp_path, rows(loss=falling(1.2, start=10.7))) == {}
    assert found(tmp_path, rows(n=900, loss=lambda x: 10.7 if x < 0.004 else falling(0.15, start=1.9)(x))) == {}
    assert found(tmp_path, rows(loss=falling(0.15, start=10.7), eval_loss=falling(0.3, start=10.7))) == {}


def test_rows_that_are_seen_for_the_first_time_cannot_be_known_by_heart(tmp_path):
    def told(loss, epochs):
        all_ = found(tmp_path, rows(n=200, loss=loss, epoch=lambda x: epochs * x))
        return {code: grade for code, grade in all_.items() if code != "loss-plateau"}

    soon = lambda x: 13.0 if x < 0.05 else 0.02  # noqa: E731
    assert told(soon, 2) == {"loss-trivial": "S2"}
    late = lambda x: 13.0 - 12 * min(x / 0.8, 1) - (0.95 if x > 0.85 else 0)  # noqa: E731
    assert told(late, 5) == {"train-loss-memorised": "S2"}
    text = lambda x: 13.0 if x < 0.05 else 2.1  # noqa: E731
    assert told(text, 2) == {}


@pytest.mark.parametrize(
    "history",
    [
        rows(loss=falling(0.01), epoch=lambda x: 2 * x),
        rows(loss=falling(0.4), epoch=lambda x: 10 * x),
        rows(loss=lambda x: 0.01, epoch=lambda x: 10 * x),
        rows(loss=falling(0.01), epoch=lambda x: 10 * x, eval_loss=falling(0.02)),
        rows(loss=falling(0.01), epoch=lambda x: 10 * x, reward_margin=lambda x: 3.0),
        rows(loss=falling(0.01), epoch=lambda x: 10 * x, reward=lambda x: 0.5, kl=lambda x: 0.01),
    ],
    ids=["few epochs", "not near zero", "low from the start", "so is the evaluation", "preferences", "RL"],
)
def test_a_low_loss_with_another_reason_is_not(tmp_path, history):
    assert found(tmp_path, history) == {}


def counted(tmp_path, files):
    report = check_eval_rows(discover(fill(tmp_path, {k: json.dumps(v) for k, v in files.items()})))
    return codes(report), [c.result for c in report.checks]


@pytest.mark.parametrize(
    "files",
    [
        {"all_results.json": {"train_samples": 1559, "eval_samples": 1559, "eval_loss": 0.3, "train_loss": 1.6}},
        {
            "out/train_results.json": {"train_samples": 733, "train_loss": 1.0},
            "out/eval_results.json": {"eval_samples": 733},
        },
    ],
)
def test_as_many_rows_of_evaluation_as_of_training_are_judged(tmp_path, files):
    assert counted(tmp_path, files) == ({"eval-on-training-rows": "S2"}, ["found"])


@pytest.mark.parametrize(
    ("files", "result"),
    [
        ({"all_results.json": {"train_samples": 1559, "eval_samples": 173}}, "clear"),
        ({"all_results.json": {"train_samples": 1000, "eval_samples": 1000}}, "clear"),
        ({"all_results.json": {"train_samples": 7, "eval_samples": 7}}, "clear"),
        ({"eval_results.json": {"eval_samples": 173, "eval_loss": 1.0}}, "not-applicable"),
        ({"a/all_results.json": {"train_samples": 733}, "b/all_results.json": {"eval_samples": 733}}, "not-applicable"),
    ],
    ids=["fewer", "a limit set for both", "tiny", "one of them", "two runs"],
)
def test_other_numbers_of_rows_are_not(tmp_path, files, result):
    assert counted(tmp_path, files) == ({}, [result])


def state(history, steps=6, every=10):
    return json.dumps({"global_step": steps, "log_history": history, "logging_steps": every, "max_steps": steps})


def test_a_history_that_stayed_empty_is_judged(tmp_path):
    report = scan(discover(fill(tmp_path, {"out/trainer_state.json": state([])})))
    [told] = [f for f in report.findings if f.code == "metrics-not-logged"]
    assert (told.severity, "after 6 steps, and one is logged every 10" in told.message) == ("S2", True)


@pytest.mark.parametrize(
    ("rate", "missing"),
    [
        ("[INFO] [Rank 0] step={i}, skipped=0, lr=[{r:.4e}], mom=[(0.9, 0.95)]\n", ["grad_norm"]),
        ("[rank 0] step {i} learning_rate {r:.4e} grad_norm 0.41\n", None),
        ("[INFO] [Rank 0] step={i}, skipped=0\n", ["grad_norm", "learning_rate"]),
    ],
    ids=["one rank tells its rate", "one rank tells both", "nobody does"],
)
def test_what_a_rank_logs_beside_the_loss_is_logged(tmp_path, rate, missing):
    text = "".join(rate.format(i=i, r=2e-4 - i * 1e-7) + f"steps: {i} loss: {3 - i / 900:.4f}\n"
                   for i in range(10, 900, 10))  # fmt: skip
    report = scan(discover(fill(tmp_path, {"train.log": text})))
    told = [f.data["missing"] for f in report.findings if f.code == "metrics-not-logged"]
    assert told == ([missing] if missing else [])


@pytest.mark.parametrize(
    "files",
    [
        {"trainer_state.json": state([], steps=0)},
        {"trainer_state.json": state([{"step": 5, "loss": 2.0}])},
        {"trainer_state.json": state([]), "train.log": "step 1 loss 2.0\nstep 2 loss 1.9\n"},
    ],
    ids=["not begun", "logged", "logged elsewhere"],
)
def test_a_history_that_is_short_not_begun_or_kept_elsewhere_is_not(tmp_path, files):
    assert "metrics-not-logged" not in codes(scan(discover(fill(tmp_path, files))))


@pytest.mark.parametrize(
    ("points", "jitter", "judged"),
    [(160, 0.001, True), (60, 0.001, False), (160, 0.02, False)],
)
def test_a_hundred_points_that_no_step_changed_are_judged_at_any_level(tmp_path, points, jitter, judged):
    losses = [0.1733 * (1 + jitter * (i * 7 % 5 - 2) / 2) for i in range(points)]
    history = "\n".join(json.dumps({"step": i, "loss": loss}) for i, loss in enumerate(losses))
    assert ("loss-unmoved" in found(tmp_path, history)) == judged


TRAINED = [f"{{'loss': {2 - i / 50:.4f}, 'learning_rate': 1e-05, 'epoch': {i / 10}}}" for i in range(1, 30)]
TIMED = "{'eval_runtime': 6595.9, 'eval_samples_per_second': 3.5, 'eval_steps_per_second': 0.88, 'epoch': 1.0}"


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ([TIMED], True),
        ([TIMED.replace("{", "{'eval_loss': 1.2, ")], False),
        ([TIMED.replace("{", "{'eval_rouge1': 0.41, ")], False),
        ([], False),
    ],
)
def test_an_evaluation_that_only_tells_its_time_is_named(tmp_path, more, judged):
    run = discover(fill(tmp_path, {"train.log": "\n".join([*TRAINED, *more]) + "\n"}))
    assert ("eval-without-score" in codes(scan(run))) == judged


@pytest.mark.parametrize(("mean", "judged"), [(0.0, True), (0.4, False)])
def test_a_training_whose_mean_loss_is_exactly_zero_is_named(tmp_path, mean, judged):
    said = f"{{'train_runtime': 2823.2, 'train_samples_per_second': 2.8, 'train_loss': {mean}, 'epoch': 21.28}}\n"
    assert ("mean-loss-zero" in codes(scan(discover(fill(tmp_path, {"train.log": "start\n" * 3 + said}))))) == judged


def epochs(values) -> list[str]:
    return [f"2024-07-13 19:03:41,226 - INFO - Epoch: {i}, Avg_loss: {v:.3f}, Duration: 51.7s" for i, v in values]


def test_of_trainings_in_one_file_the_last_speaks(tmp_path):
    stuck = epochs((i, 0.8 + 0.01 * (i % 3)) for i in range(1, 60))
    learned = epochs((i, 0.83 * 0.93**i) for i in range(1, 130))
    report = scan(discover(fill(tmp_path, {"training.log": "\n".join([*stuck, *learned]) + "\n"})))
    assert codes(report)["train-loss-memorised"] == "S2"
    assert all(f.severity == "S3" for f in report.findings if f.evidence[0].line < 60)
    first = scan(discover(fill(tmp_path / "one", {"training.log": "\n".join(stuck) + "\n"})))
    assert any(f.severity == "S2" for f in first.findings)


def test_the_mean_loss_of_each_epoch_is_the_curve_of_a_training(tmp_path):
    def log(level):
        lines = (f"2024-12-29 06:56:34 - train - INFO - Epoch {i} - Average Loss: {level(i):.4f}" for i in range(64))
        return fill(tmp_path / str(level(0)), {"train.log": "\n".join(lines) + "\n"})

    assert "S2" in codes(scan(discover(log(lambda i: 3.19 + 0.0004 * (i % 3))))).values()
    assert "S2" not in codes(scan(discover(log(lambda i: 3.0 / (1 + i / 20))))).values()


def test_a_loss_that_is_next_to_nothing_from_the_start_is_a_note(tmp_path):
    low = fill(tmp_path / "low", {"history.jsonl": rows(loss=lambda x: 0.02 * (1 - 0.5 * x))})
    assert codes(scan(discover(low))).get("loss-low-from-start") == "S3"
    usual = fill(tmp_path / "usual", {"history.jsonl": rows(loss=falling(0.02))})
    assert "loss-low-from-start" not in codes(scan(discover(usual)))


def passes(*levels, slope=0.0, n=40, **beside):
    """A history of whole passes over the data, each at a level of its own that falls by a share on the way."""
    out = []
    for p, level in enumerate(levels):
        for i in range(n):
            value = level * (1 - slope * i / n) * (1 + 0.01 * (i * 7 % 5 - 2))
            row = {"step": p * n + i + 1, "epoch": p + (i + 1) / n, "loss": value}
            out.append(json.dumps(row | {k: f(p) for k, f in beside.items()}))
    return "\n".join(out) + "\n"


def test_a_loss_that_steps_down_where_each_pass_begins_is_learned_by_heart(tmp_path):
    assert found(tmp_path, passes(1.0, 0.7, 0.4, 0.2)) == {"loss-steps-at-epochs": "S2"}


@pytest.mark.parametrize(
    ("history", "grade"),
    [
        (passes(1.0, 0.75, 0.6), "S3"),
        (passes(1.0, 0.7, 0.4, 0.2, eval_loss=lambda p: 1 - 0.1 * p), "S3"),
        (passes(1.0, 0.95, 0.9, 0.85), None),
        (passes(1.0, 0.6, 0.36, 0.22, slope=0.38), None),
        (passes(1.0, 0.7, 0.4, 0.2, learning_rate=lambda p: 1e-3 / 2**p), None),
        (passes(1.0, 0.5), None),
    ],
    ids=["two steps", "others gain too", "small steps", "falls all along", "the rate steps", "one step"],
)
def test_passes_that_are_less_than_that_are_a_note_or_nothing(tmp_path, history, grade):
    assert found(tmp_path, history).get("loss-steps-at-epochs") == grade


def resumed(steps, n=40, own=True, rate=None, unit="epoch", wobble=0.0):
    """A history of evaluations: a training loss, and a held-out loss that lies below it and falls at some places."""
    out, gap = [], 0.02
    for i in range(n):
        loss = 1.6 + 1.4 / (1 + 0.3 * i) + 0.0015 * (i * 7 % 5 - 2)
        gap = gap + 0.06 if i in steps else gap - 0.002
        held = loss - gap * own + 0.0015 * (i * 3 % 7 - 3) + wobble * (i * 5 % 3 - 1)
        row = {unit: i + 1, "train_loss": loss, "val_loss": held}
        out.append(json.dumps(row | ({"learning_rate": rate(i)} if rate else {})))
    return "\n".join(out) + "\n"


@pytest.mark.parametrize(
    "history",
    [resumed((15, 27)), resumed((12, 20, 31), unit="step"), resumed((14, 26), rate=lambda i: 1e-4)],
    ids=["two starts", "three, by steps", "at one rate"],
)
def test_a_held_out_loss_that_steps_where_the_training_loss_does_not_was_drawn_again(tmp_path, history):
    assert found(tmp_path, history)["held-out-drawn-again"] == "S2"


@pytest.mark.parametrize(
    "history",
    [
        resumed(()),
        resumed((20,)),
        resumed(tuple(range(6, 40, 2))),
        resumed((15, 27), own=-1),
        resumed((15, 27), rate=lambda i: 1e-4 if i < 15 else 1e-5),
        resumed((15, 27), wobble=0.03),
    ],
    ids=["smooth", "one step", "many", "above the training loss", "the rate steps", "noise as large"],
)
def test_a_held_out_loss_that_moves_with_the_training_was_not(tmp_path, history):
    assert "held-out-drawn-again" not in found(tmp_path, history)


@pytest.mark.parametrize(
    ("low", "name", "told"),
    [(1.05, "eval_perplexity", True), (1.12, "val_ppl", True), (3.4, "eval_perplexity", False),
     (1.6, "val_ppl", False), (1.05, "codebook_perplexity", False)],
)  # fmt: skip
def test_a_held_out_perplexity_next_to_one_from_the_first_point_on_is_a_note(tmp_path, low, name, told):
    rows_ = ({"step": 100 * i, "loss": 0.1, name: low + 0.02 / i} for i in range(1, 6))
    grade = found(tmp_path, "\n".join(map(json.dumps, rows_)) + "\n").get("perplexity-too-low")
    assert grade == ("S3" if told else None)


def overflow(loss):
    """A gradient norm that is infinite from the middle on, and a loss."""
    rows_ = ({"step": i, "loss": loss(i), "grad_norm": 1.2 if i < 60 else float("inf")} for i in range(120))
    return "\n".join(map(json.dumps, rows_)) + "\n"


def test_a_finite_loss_that_stands_still_under_infinite_gradients_is_not_updated(tmp_path):
    assert found(tmp_path, overflow(lambda i: 3.3 + 0.02 * (i * 7 % 5 - 2)))["updates-skipped"] == "S1"


@pytest.mark.parametrize(
    "loss",
    [
        lambda i: 3.3 - 0.01 * i + 0.02 * (i * 7 % 5),
        lambda i: 3.3 if i < 60 else float("nan"),
        lambda i: 3.3 if i < 60 else 0.0,
        lambda i: 3.3 if i < 60 or i % 6 == 0 else 0.0,
    ],
    ids=["it falls", "it is no number", "it is written as zero", "it is mostly written as zero"],
)
def test_a_loss_that_moves_or_breaks_is_updated(tmp_path, loss):
    assert "updates-skipped" not in found(tmp_path, overflow(loss))

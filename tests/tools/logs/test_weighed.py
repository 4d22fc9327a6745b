"""What is weighed before a run is judged: the task's score, warm-ups, passes over the data, faults beside a reward."""

import json
from math import log

import numpy as np
import pytest
from making import codes, fill

from triage.tools.data.between.evalrows import check_eval_rows
from triage.tools.discover import discover
from triage.tools.logs.detectors.detect import detect, healthy
from triage.tools.logs.scan import scan
from triage.tools.series import Series, SeriesTable


def series(metric: str, values, steps=None, key: str = "", attempt: str = "", step_is: str = "step") -> Series:
    values = np.asarray(values, float)
    steps = np.arange(1, len(values) + 1) if steps is None else np.asarray(steps)
    lines = np.arange(1, len(values) + 1)
    return Series(metric, key or metric, steps.astype(np.int64), values, lines, "log", attempt, None, step_is)


def told(*parts: Series) -> dict[str, str]:
    findings, checks = detect(SeriesTable(parts))
    assert not [c for c in checks if c.result == "failed"]
    return {f.code: f.severity.name for f in findings}


def fine(*parts: Series) -> bool:
    table = SeriesTable(parts)
    return healthy(table, detect(table)[0]) is not None


def noisy(values, spread, seed=0):
    values = np.asarray(values, float)
    return values + np.random.default_rng(seed).normal(0, spread, len(values))


TEN = np.arange(10)
FALL = 4.7 - 0.035 * TEN
LATER = np.arange(100, 600, 100)
FALLING = noisy(2 + 3 * np.exp(-np.arange(300) / 50), 0.02)


# the learning rate


def test_a_warm_up_that_covers_the_run_is_noted_and_no_health():
    warm = series("learning_rate", 2e-5 * (TEN + 1))
    assert told(series("loss", FALL), warm)["lr-still-warming"] == "S3"
    assert not fine(series("loss", FALL), warm)
    assert fine(series("loss", FALL))


@pytest.mark.parametrize(
    "rate",
    [np.full(10, 1e-4), np.minimum(TEN + 1, 5) * 1e-4, np.sin((TEN + 1) / 4), 1e-4 + 1e-7 * TEN, 1e-4 / (TEN + 1)],
    ids=["constant", "warm-up then flat", "cosine", "hardly moves", "decays"],
)
def test_other_schedules_are_not(rate):
    assert "lr-still-warming" not in told(series("loss", FALL), series("learning_rate", rate))
    assert fine(series("loss", FALL), series("learning_rate", rate))


SUMMARY = (
    "{{'train_runtime': {s}, 'train_samples_per_second': 1.5, 'train_steps_per_second': {r}, 'train_loss': 2.7}}\n"
)


@pytest.mark.parametrize(
    ("seconds", "rate", "judged"),
    [(43.2, 0.023, True), (12.0, 0.25, True), (900.0, 0.9, False), (9000.0, 0.001, False)],
)
def test_a_training_of_a_handful_of_steps_is_judged(tmp_path, seconds, rate, judged):
    files = {"output.log": SUMMARY.format(s=seconds, r=rate)}
    assert (codes(scan(discover(fill(tmp_path, files)))).get("too-few-steps") == "S2") is judged


@pytest.mark.parametrize(("epoch", "judged"), [(3.0, True), (0.4, False)], ids=["whole passes", "a short try"])
def test_few_steps_in_several_passes_are_judged_and_a_try_is_not(tmp_path, epoch, judged):
    row = {"epoch": epoch, "step": 12, "train_loss": 2.4, "train_runtime": 60.0, "train_steps_per_second": 0.2}
    files = {"trainer_state.json": json.dumps({"log_history": [{"epoch": 0.1, "step": 1, "loss": 2.5}, row]})}
    assert (codes(scan(discover(fill(tmp_path, files)))).get("too-few-steps") == "S2") is judged


# evaluations


RISING = series("eval_loss", [0.31, 0.35, 0.40, 0.44, 0.47], LATER)


def test_a_rising_evaluation_loss_is_less_where_the_task_improves():
    better = series("eval_wer", [36.0, 34.1, 33.2, 32.8, 32.5], LATER)
    assert told(RISING)["eval-loss-rising"] == "S2"
    assert told(RISING, better)["eval-loss-rising"] == "S3"
    (one,) = [f for f in detect(SeriesTable((RISING, better)))[0] if f.code == "eval-loss-rising"]
    assert "eval_wer still improves from 36 to 32.5" in one.message
    assert one.data["task_improves"]


@pytest.mark.parametrize(
    "score",
    [
        series("eval_wer", [36.0, 34.1, 33.2, 33.3, 33.4], LATER),
        series("eval_rouge1", [0.34, 0.31, 0.30, 0.29, 0.28], LATER),
        series("rouge1", [0.30, 0.31, 0.32, 0.33, 0.34], LATER),
        series("eval_score_time", [5.0, 4.0, 3.0, 2.0, 1.0], LATER),
        series("eval_wer", [36.0, 34.1, 33.2, 32.8, 32.5], step_is="epoch"),
    ],
    ids=["no longer", "worse", "of the training rows", "no score", "counted otherwise"],
)
def test_and_no_less_where_it_does_not(score):
    assert told(RISING, score)["eval-loss-rising"] == "S2"


@pytest.mark.parametrize(
    ("loss", "score", "severity"),
    [
        ([0.31, 0.312, 0.314, 0.315, 0.317], [0.9428, 0.9435, 0.9444, 0.9447, 0.9448], "S3"),
        ([0.31, 0.312, 0.314, 0.315, 0.317], [0.9428, 0.9435, 0.9444, 0.9441, 0.9443], "S2"),
        ([0.31, 0.34, 0.37, 0.40, 0.43], [0.9428, 0.9435, 0.9444, 0.9447, 0.9448], "S2"),
    ],
)
def test_a_slight_rise_is_less_where_a_score_near_its_top_gains_each_time(loss, score, severity):
    found = told(series("eval_loss", loss, LATER), series("eval_mean_token_accuracy", score, LATER))
    assert found["eval-loss-rising"] == severity


def test_a_loss_known_by_heart_is_less_where_the_task_improves():
    epochs = series("epoch", np.linspace(0, 12, 300))
    known = series("loss", 0.9 * np.exp(-np.arange(300) / 30) + 1e-3)
    better = series("eval_bleu", [10.0, 14.0, 16.0, 17.5, 18.4], LATER)
    assert told(known, epochs)["train-loss-memorised"] == "S2"
    assert told(known, epochs, better)["train-loss-memorised"] == "S3"


HELD = [0.71, 0.86, 0.91, 0.93, 0.925, 0.94, 0.93, 0.935, 0.945, 0.94]
LOST = [0.71, 0.86, 0.93, 0.945, 0.93, 0.92, 0.9, 0.89, 0.88, 0.87]
FLAT, RISEN = (
    [0.5, 0.3, 0.22, 0.2, 0.21, 0.2, 0.22, 0.19, 0.21, 0.2],
    [0.5, 0.3, 0.22, 0.2, 0.21, 0.3, 0.4, 0.5, 0.6, 0.7],
)


@pytest.mark.parametrize(
    ("accuracy", "beside", "severity"),
    [
        (HELD, FLAT, "S3"),
        ([100 * v for v in HELD], None, "S3"),
        (HELD, RISEN, "S2"),
        (LOST, FLAT, "S2"),
        ([v - 0.4 for v in HELD], FLAT, "S2"),
    ],
    ids=["holds", "percent", "its loss rises", "falls", "low"],
)
def test_a_loss_known_by_heart_is_less_where_held_out_rows_are_right_as_ever(accuracy, beside, severity):
    epochs = series("epoch", np.linspace(0, 12, 300))
    known = series("loss", 0.9 * np.exp(-np.arange(300) / 30) + 1e-3)
    later = np.arange(30, 301, 30)
    more = [series("eval_loss", beside, later)] if beside else []
    found = told(known, epochs, series("eval_accuracy", accuracy, later), *more)
    assert found["train-loss-memorised"] == severity


EPOCHS = np.arange(1, 13)
TRAIN = series("loss", 1.1 - 0.13 * (1 - 0.8**EPOCHS), step_is="epoch", key="train_loss")


def test_a_training_loss_that_falls_for_nothing_is_judged():
    held = series("eval_loss", 1.075 + 0.01 * np.sin(EPOCHS * 2.0) + 0.001 * EPOCHS, step_is="epoch")
    assert told(TRAIN, held)["eval-never-improved"] == "S2"


@pytest.mark.parametrize(
    ("held", "more"),
    [
        (1.075 - 0.08 * (1 - 0.7**EPOCHS), ()),
        (1.075 + 0.01 * np.sin(EPOCHS * 2.0), (series("eval_accuracy", 0.3 + 0.02 * EPOCHS, step_is="epoch"),)),
        ((1.075 + 0.01 * np.sin(EPOCHS * 2.0))[:6], ()),
    ],
    ids=["gains", "the task gains", "too few"],
)
def test_and_one_that_gains_is_not(held, more):
    assert "eval-never-improved" not in told(TRAIN, series("eval_loss", held, step_is="epoch"), *more)


MANY = np.arange(1, 25)
LONG = series("loss", 1.1 - 0.13 * (1 - 0.9**MANY), step_is="epoch", key="train_loss")


@pytest.mark.parametrize(
    ("held", "judged"),
    [
        (np.where(MANY == 1, 2.43, 2.41) + 0.01 * np.sin(MANY * 2.0), True),  # the first was a little high by chance
        (2.41 + 0.015 * np.sin(MANY * 3.0), True),
        (2.41 - 0.04 * MANY / 24, False),
        (np.where(MANY < 8, 2.5, 2.41) + 0.01 * np.sin(MANY * 2.0), False),
    ],
)
def test_many_evaluations_are_held_against_the_first_third(held, judged):
    assert ("eval-never-improved" in told(LONG, series("eval_loss", held, step_is="epoch"))) is judged


def test_a_bar_within_an_epoch_is_not_held_against_the_epochs_evaluation():
    bar = series("loss", np.linspace(1.7, 1.0, 250))
    held = series("eval_loss", 1.07 - 0.01 * EPOCHS, step_is="epoch")
    train = series("loss", 1.05 - 0.01 * EPOCHS, step_is="epoch", key="train_loss")
    assert "loss-below-train" not in told(bar, held) | told(bar, train, held)
    low = series("eval_loss", 0.6 - 0.01 * EPOCHS, step_is="epoch")
    assert told(bar, train, low)["loss-below-train"] == "S2"


@pytest.mark.parametrize(("late", "judged"), [((1,), True), ((8, 13), False), ((6,), False)])
def test_a_training_loss_is_held_against_the_evaluations_that_follow_it(late, judged):
    held = series("eval_loss", 1.1 * 0.97 ** np.arange(1, 13), 150 * np.arange(1, 13))
    every = np.arange(25, 1801, 25)
    kept = every if judged else np.array([*range(1, 11), *(150 * k - 20 for k in late)])
    lost = 1.9 * 0.97 ** (kept / 150) if judged else np.where(kept < 11, 6.5, 1.13 * 0.97 ** (kept / 150))
    assert ("loss-below-train" in told(series("loss", lost, kept), held)) is judged


@pytest.mark.parametrize(
    ("score", "severity"),
    [
        (series("eval_wer", 62 * 0.9**EPOCHS + 24, step_is="epoch"), "S3"),
        (series("eval_accuracy", 0.3 + 0.01 * EPOCHS, step_is="epoch"), "S3"),
        (series("eval_accuracy", 0.9 + 0.1 * (1 - 0.5**EPOCHS), step_is="epoch"), "S2"),
    ],
)
def test_rows_of_which_a_quarter_is_still_wrong_were_hardly_trained_on(score, severity):
    train = series("loss", 1.05 - 0.01 * EPOCHS, step_is="epoch", key="train_loss")
    low = series("eval_loss", 0.6 - 0.01 * EPOCHS, step_is="epoch")
    assert told(train, low, score)["loss-below-train"] == severity


def test_a_training_loss_above_guessing_beside_a_low_evaluation_is_a_sum():
    held = series("eval_loss", 4.1 - 0.01 * EPOCHS, EPOCHS * 30)
    summed = series("loss", noisy(13.9 - np.arange(300) / 600, 0.3))
    assert told(summed, held) == {"loss-summed": "S2", "loss-jitter-benign": "S3", "metrics-not-logged": "S3"}
    dear = series("loss", noisy(6.5 - np.arange(300) / 600, 0.1))
    assert "loss-summed" not in told(dear, held) | told(summed, series("eval_loss", held.values + 9, held.steps))


@pytest.mark.parametrize(
    ("score", "loss", "judged"),
    [
        (30.7 + 0.03 * EPOCHS, 1.0, True),
        (0.307 + 0.0003 * EPOCHS, 1.0, True),
        (92.7 + 0.03 * EPOCHS, 1.0, False),
        (30.7 + 0.3 * EPOCHS, 1.0, False),
        (30.7 + 0.03 * EPOCHS, 0.01, False),
        ((30.7 + 0.03 * EPOCHS)[:4], 1.0, False),
    ],
    ids=["percent", "share", "near its end", "gains", "the loss is flat too", "too few"],
)
def test_an_accuracy_that_hardly_moves_at_a_low_level_while_the_loss_falls(score, loss, judged):
    train = series("loss", 2 - loss * np.arange(300) / 300, step_is="line")
    held = series("eval_accuracy", score, EPOCHS[: len(score)], step_is="epoch")
    assert (told(train, held).get("eval-score-flat") == "S2") is judged


@pytest.mark.parametrize(
    ("right", "of", "held", "judged"),
    [
        ([108, 108, 109, 110, 110, 111], 240, 0.69 - 0.02 * np.arange(6), True),
        ([61, 61, 60, 62, 61, 62], 125, 0.71 - 0.01 * np.arange(6), True),
        ([108, 112, 118, 121, 126, 131], 240, 0.69 - 0.02 * np.arange(6), False),
        ([108, 108, 109, 110, 110, 111], 240, [0.69, 0.64, 0.7, 0.66, 0.71, 0.65], False),
        ([188, 188, 189, 190, 190, 191], 240, 0.69 - 0.02 * np.arange(6), False),
        ([9, 9, 10, 9, 10, 9], 24, 0.69 - 0.02 * np.arange(6), False),
    ],
    ids=["pairs", "another size", "gains", "the loss turns", "near its end", "too few items"],
)
def test_an_accuracy_of_which_a_few_items_change_while_the_loss_on_the_same_falls(right, of, held, judged):
    at = 50 * np.arange(1, 7)
    found = told(series("eval_accuracy", np.array(right) / of, at), series("eval_loss", held, at))
    assert (found.get("eval-score-flat") == "S2") is judged


def test_a_log_of_accuracies_alone_that_rise_is_healthy():
    assert fine(series("eval_accuracy", 0.99 - 0.9 * 0.9 ** np.arange(60)))
    assert not fine(series("eval_accuracy", (0.99 - 0.9 * 0.9 ** np.arange(60))[::-1]))


@pytest.mark.parametrize(
    ("key", "values", "judged"),
    [
        ("eval_rouge2", [0.0] * 4, True),
        ("eval_exact_match", [1.0] * 4, True),
        ("eval_f1", [0.417] * 6, True),
        ("eval_f1", [0.417] * 3, False),
        ("eval_rouge2", [0.0, 0.0, 0.0, 0.1], False),
        ("eval_runtime", [12.0] * 6, False),
        ("BLEU-4", [0.0] * 6, True),
        ("sacrebleu", [1.3] * 6, True),
        ("BLEU-4", [0.0] * 4, False),  # it may only begin
        ("BLEU-4", [0.0, 0.0, 0.0, 0.0, 0.2, 0.9], False),
        ("blues_played", [0.0] * 6, False),
        ("f1", [0.417] * 6, False),
    ],
)
def test_a_score_that_never_moves_while_the_loss_does(key, values, judged):
    score = series(key, values, np.arange(1, len(values) + 1) * 20)
    found = told(series("loss", FALLING), score)
    assert (found.get("eval-score-constant") == "S2") is judged


def test_a_constant_score_is_silent_where_nothing_moves_or_the_task_is_solved():
    perfect = series("eval_exact_match", [1.0] * 5, LATER)
    solved = series("eval_loss", [0.03, 0.02, 0.01, 0.009, 0.008], LATER)
    assert "eval-score-constant" not in told(perfect) | told(series("loss", FALLING), perfect, solved)
    stuck = series("eval_loss", [0.7] * 5, LATER)
    assert told(series("loss", FALLING), stuck)["eval-score-constant"] == "S2"


@pytest.mark.parametrize(
    ("scores", "judged"),
    [
        ({"predict_bleu-4": 0.97, "predict_rouge-1": 0.0, "predict_rouge-l": 0.0}, True),
        ({"eval_f1": 0.4, "eval_rougeL": 0}, True),
        ({"predict_bleu-4": 21.0, "predict_rouge-1": 40.1, "predict_rouge-2": 0.0}, False),
        ({"predict_bleu-4": 0.0, "predict_rouge-1": 0.0}, False),
        ({"eval_rouge1": 0.0, "eval_loss": 1.1, "eval_runtime": 12.0}, False),
    ],
)
def test_scores_that_exclude_each_other(tmp_path, scores, judged):
    report = check_eval_rows(discover(fill(tmp_path, {"out/all_results.json": json.dumps({"epoch": 3.0} | scores)})))
    nothing = len(scores) > 1 and not any(scores.values())
    assert codes(report) == ({"scores-contradict": "S2"} if judged else {"scores-all-zero": "S3"} if nothing else {})


# the loss


def test_a_high_first_loss_is_a_note_where_the_curve_falls_or_was_always_there():
    usual = noisy(2.5 + 23 * np.exp(-np.arange(300) / 15), 0.05)
    assert told(series("loss", usual, np.arange(10, 3010, 10)))["loss-abnormal-at-start"] == "S3"
    assert fine(series("loss", usual, np.arange(10, 3010, 10)))
    summed = noisy(13.4 + 4 * np.exp(-np.arange(600) / 4), 0.1)
    assert told(series("loss", summed))["loss-abnormal-at-start"] == "S3"
    halfway = noisy(12 + 8 * np.exp(-np.arange(300) / 15), 0.05)
    assert told(series("loss", halfway))["loss-abnormal-at-start"] == "S2"


def test_a_loss_at_the_level_of_guessing_that_moves_less_than_its_noise_is_slow():
    stuck = series("loss", noisy(np.linspace(14.0, 13.0, 600), 1.9))
    assert told(stuck).get("loss-slow", told(stuck).get("loss-plateau")) == "S2"
    assert not fine(stuck)
    falls = series("loss", noisy(np.linspace(14.0, 9.0, 600), 1.9))
    assert not {"loss-slow", "loss-plateau"} & set(told(falls))
    low = series("loss", noisy(np.linspace(1.4, 1.3, 600), 0.19))
    assert not {"loss-slow", "loss-plateau"} & set(told(low))


def passes(levels, n=240, spread=0.05):
    return [
        series("loss", noisy(np.full(n, level), spread, i), attempt=f"#{i + 1}" if i else "")
        for i, level in enumerate(levels)
    ]


def test_passes_that_a_bar_counts_anew_are_one_run():
    found = [f.code for f in detect(SeriesTable(tuple(passes([1.0] * 6))))[0]]
    assert found.count("loss-plateau") == 1
    assert "loss-plateau" not in told(*passes([1.3, 1.2, 1.1, 1.0, 0.9, 0.8]))


def test_runs_that_each_begin_again_stay_apart():
    alone = series("loss", 2 + np.linspace(1, 0, 240) ** 2)
    sweep = [series("loss", alone.values, attempt=f"#{i}") for i in range(1, 5)]
    assert told(*sweep) == told(alone)


# preferences and rewards


def pairs(margin, right, loss=None, n=40):
    x = np.arange(n) / n
    steps = 10 * np.arange(1, n + 1)
    loss = log(2) - margin(x) / 2 if loss is None else loss(x)
    return (
        series("loss", noisy(loss, 1e-3), steps),
        series("reward_margin", noisy(margin(x), 2e-3, 1), steps),
        series("reward_accuracy", noisy(right(x), 0.02, 2), steps),
    )


@pytest.mark.parametrize(
    ("of", "grade"),
    [
        ((lambda x: 0 * x, lambda x: 0.5 + 0 * x), "S2"),
        ((lambda x: 0.03 * x, lambda x: 0.5 + 0.1 * x), "S2"),
        ((lambda x: 0.03 * x, lambda x: 0.5 + 0.4 * x), "S3"),
    ],
    ids=["no margin", "hardly any", "small, but told apart"],
)
def test_pairs_that_are_never_told_apart_are_judged(of, grade):
    assert told(*pairs(*of))["preference-not-learned"] == grade
    assert bool(fine(*pairs(*of))) == (grade == "S3")


@pytest.mark.parametrize(
    "of",
    [
        (lambda x: 2 * x, lambda x: 0.5 + 0.4 * x, lambda x: log(2) - 0.4 * x),
        (lambda x: 0 * x, lambda x: 0.5 + 0 * x, lambda x: 2 - x),
        (lambda x: 0.01 * x, lambda x: 0.5 + 0.1 * x, None, 9),
    ],
    ids=["learns", "another loss", "the first steps"],
)
def test_pairs_that_are_or_that_had_no_time_are_not(of):
    assert "preference-not-learned" not in told(*pairs(*of))


@pytest.mark.parametrize(("end", "judged"), [(0.002, True), (0.05, False)])
def test_of_a_loss_with_a_likelihood_term_the_margin_alone_is_judged(end, judged):
    loss, margin, share = pairs(lambda x: end * x, lambda x: 0.6 + 0.1 * x, lambda x: 1 - 0.9 * x)
    margin = series("reward_margin", end * np.arange(1, 41) / 40, margin.steps)
    likelihood = series("sft_loss", 0.04 - 0.03 * np.arange(40) / 40, loss.steps)
    assert ("preference-not-learned" in told(loss, margin, share, likelihood)) == judged
    assert "preference-not-learned" not in told(loss, margin, share)
    ranked = series("reward_accuracy", 0.5 + 0.4 * np.arange(1, 41) / 40, margin.steps)
    assert "preference-not-learned" not in told(loss, margin, ranked, likelihood)


def climbing(n=120, to=2.0):
    return series("reward", noisy(np.linspace(1, to, n), 0.05))


SHARE = np.linspace(0.1, 0.6, 120)


@pytest.mark.parametrize("key", ["noop_penalty", "train/invalid_json", "judge_errors", "refusal_rate", "cheat_share"])
def test_a_fault_that_climbs_with_the_reward_is_judged(key):
    assert told(climbing(), series(key, noisy(SHARE, 0.02, 3)))["reward-pays-for-fault"] == "S2"
    assert told(climbing(), series(key, -noisy(SHARE, 0.02, 3)))["reward-pays-for-fault"] == "S2"


def test_a_fault_that_goes_with_the_reward_from_step_to_step_is_judged_and_its_twin_named():
    share = np.clip(noisy(np.full(120, 0.4), 0.1, 4), 0, 1)
    paid = series("reward", noisy(1 + share, 0.03, 5))
    parts = paid, series("noop_penalty", share), series("answer_copied", share)
    (one,) = [f for f in detect(SeriesTable(parts))[0] if f.code == "reward-pays-for-fault"]
    assert one.data["columns"] == ["noop_penalty", "answer_copied"]
    assert not fine(*parts)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("invalid_rate", SHARE[::-1]),
        ("invalid_rate", np.full(120, 0.02)),
        ("valid_rate", SHARE),
        ("value_error", 40 * SHARE),
        ("kl_penalty", SHARE),
        ("terror_score", SHARE),
        ("timeout_rate", np.clip(noisy(np.full(120, 0.4), 0.1, 6), 0, 1)),
    ],
    ids=["falls", "stays low", "no fault", "no share", "the KL", "another word", "goes its own way"],
)
def test_a_column_that_does_not_is_no_finding(key, values):
    metric = "kl" if key == "kl_penalty" else key
    column = series(metric, noisy(values, 0.01, 7), key=key)
    assert "reward-pays-for-fault" not in told(climbing(), column)


def test_a_fault_that_climbs_while_the_reward_falls_is_another_matter():
    falling = series("reward", noisy(np.linspace(2, 1, 120), 0.05))
    assert "reward-pays-for-fault" not in told(falling, series("noop_penalty", noisy(SHARE, 0.02, 3)))


@pytest.mark.parametrize(("train_acc", "severity"), [(0.55, "S3"), (0.97, "S2")])
def test_training_rows_that_are_answered_far_worse_are_measured_harder_and_no_leak(train_acc, severity):
    train = series("loss", 1.9 - 0.01 * EPOCHS, step_is="epoch", key="train_loss")
    low = series("eval_loss", 0.8 - 0.01 * EPOCHS, step_is="epoch")
    right = series("eval_accuracy", 0.7 + 0.24 * (1 - 0.6**EPOCHS), step_is="epoch")
    own = series("accuracy", train_acc - 0.2 * 0.6**EPOCHS, step_is="epoch")
    assert told(train, low, right, own)["loss-below-train"] == severity


@pytest.mark.parametrize(("name", "judged"), [("ctc_loss", True), ("infonce_loss", True), ("aux_loss", False)])
def test_the_loss_of_another_objective_is_the_loss_and_a_part_beside_it_is_none(tmp_path, name, judged):
    rows = [f"step={s}, lr=1e-4, {name}={3.2 * 0.97**s + 0.4:.4f}, grad_norm=0.9" for s in range(1, 121)]
    fill(tmp_path, {"train.log": "\n".join(rows)})
    assert ("run-healthy" in codes(scan(discover(tmp_path)))) is judged


def _norms(at, far=9.0):
    norm = 0.5 + 0.05 * np.sin(np.arange(1500) * 1.7)
    norm[at] *= far / 0.5
    return norm


@pytest.mark.parametrize(
    ("at", "lifted", "severity"),
    [
        ([300, 620, 900, 1300], 0.0, "S3"),  # single steps that were clipped
        ([300, 620, 900, 1300], 2.0, "S2"),  # the loss goes up behind one
        (list(range(300, 1400, 40)), 0.0, "S2"),  # many
    ],
)
def test_single_spikes_of_the_norm_that_the_loss_passes_by_are_a_note(at, lifted, severity):
    loss = 6 * np.exp(-np.arange(1500) / 700) + 0.05 * np.cos(np.arange(1500) * 2.3)
    loss[620:680] += lifted
    assert told(series("loss", loss), series("grad_norm", _norms(at)))["grad-norm-spike"] == severity


def test_a_loss_that_is_no_cross_entropy_or_not_low_for_most_rows_is_not_known_by_heart():
    way = 20 * np.exp(-np.arange(600) / 80) + 0.02
    assert told(series("loss", way))["train-loss-memorised"] == "S2"
    apart, uneven = way.copy(), way.copy()
    apart[2] = 70.0  # above any guess among tokens
    uneven[-60::6] = 9.0
    assert "train-loss-memorised" not in told(series("loss", apart)) | told(series("loss", uneven))


@pytest.mark.parametrize(
    ("values", "judged"),
    [
        ([0.31, 0.35, 0.4, 0.44, 0.47, 0.12, 0.11, 0.12], True),
        ([0.02, 0.01, 0.03, 0.02, 0.48, 0.03, 0.01, 0.02], False),  # it leapt there once, and back
    ],
)
def test_a_single_leap_of_a_score_is_no_level_that_was_lost(values, judged):
    assert ("eval-regression" in told(series("eval_accuracy", values))) is judged

"""Series detectors on series built by hand: what they must report, and the ugly but healthy ones they must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.tools.findings import Finding, Severity
from triage.tools.logs.detectors.detect import CODES, detect, healthy
from triage.tools.logs.detectors.robust import means, rolling, sigma
from triage.tools.series import Series, SeriesTable

NAN = float("nan")


def series(
    metric: str, values, steps=None, attempt: str = "", rank: int | None = None, step_is: str = "step"
) -> Series:
    values = np.asarray(values, float)
    steps = np.arange(1, len(values) + 1) if steps is None else np.asarray(steps)
    lines = np.arange(1, len(values) + 1)
    return Series(metric, metric, steps.astype(np.int64), values, lines, "train.log", attempt, rank, step_is)


@pytest.mark.parametrize("count", [1, 2, 49, 50, 51, 200])
def test_the_rolling_level_is_the_median_of_what_was_before(count):
    values = np.random.default_rng(count).normal(size=count).round(1)
    medians, sigmas = rolling(values)
    before = [values[max(0, i - 50) : i] for i in range(1, count)]
    assert np.isnan([medians[0], sigmas[0]]).all()
    assert medians[1:].tolist() == [np.median(few) for few in before]
    assert sigmas[2:].tolist() == [sigma(few) for few in before[1:]]


def found(*parts: Series, clip: float | None = None) -> dict[str, Finding]:
    findings, checks = detect(SeriesTable(parts), clip)
    assert not [c for c in checks if c.result == "failed"]
    return {f.code: f for f in findings}


def serious(*parts: Series, clip: float | None = 1.0) -> set[str]:
    return {code for code, f in found(*parts, clip=clip).items() if f.severity in (Severity.S0, Severity.S1)}


def falling(n: int, noise: float = 0.04, seed: int = 0) -> np.ndarray:
    return 2 + 6 * np.exp(-np.arange(n) / (n / 8)) + np.random.default_rng(seed).normal(0, noise, n)


def norms(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0, 0.2, n)


def test_nan_loss_gives_first_and_last_finite_step_with_their_lines():
    loss = falling(200)
    loss[150:] = NAN
    one = found(series("loss", loss, np.arange(10, 2010, 10)))["loss-nonfinite"]
    assert one.severity == Severity.S0
    assert (one.data["first_step"], one.data["last_finite_step"]) == (1510, 1500)
    assert [(e.file, e.line, e.step) for e in one.evidence] == [("train.log", 151, 1510), ("train.log", 150, 1500)]


def test_survived_nan_is_not_serious():
    loss = falling(200)
    loss[100] = NAN
    assert found(series("loss", loss))["loss-nonfinite"].severity == Severity.S2
    loss = falling(200)
    loss[0] = NAN
    assert found(series("loss", loss))["loss-nonfinite"].severity == Severity.S3


def test_inf_norms_of_skipped_fp16_steps_are_a_note():
    norm = norms(300)
    norm[[2, 3, 7, 120]] = np.inf
    assert found(series("loss", falling(300)), series("grad_norm", norm))["grad-norm-nonfinite"].severity == Severity.S3


def test_early_overflow_steps_do_not_move_the_first_bad_step():
    norm = norms(300)
    norm[3] = np.inf
    norm[250:] = NAN
    loss = falling(300)
    loss[250:] = NAN
    assert found(series("loss", loss), series("grad_norm", norm))["grad-norm-nonfinite"].data["first_step"] == 251


def test_loss_zero_beside_nan_norm_is_a_hidden_nan():
    codes = found(
        series("loss", [1.9, 0, 0, 0, 0], step_is="line"),
        series("grad_norm", [21.9, NAN, NAN, NAN, NAN], step_is="line"),
    )
    assert codes["loss-hidden-nan"].severity == Severity.S0
    assert codes["loss-hidden-nan"].data["first_step"] == 2


def test_flat_filtered_mean_beside_nan_norm_is_a_hidden_nan():
    loss, norm = falling(50), norms(50)
    loss[30:], norm[30:] = 1.2345, NAN
    assert found(series("loss", loss), series("grad_norm", norm))["loss-hidden-nan"].data["first_step"] == 31


def test_grpo_loss_of_zero_with_finite_norm_is_silent():
    n = 60
    codes = found(
        series("loss", np.zeros(n)), series("grad_norm", norms(n)), series("reward", np.linspace(0, 1, n)),
        series("entropy", np.full(n, 0.1)),
    )  # fmt: skip
    assert not {"loss-hidden-nan", "loss-zero", "loss-plateau", "entropy-collapse"} & set(codes)


def emptied(every, low=0.3):
    """A loss that falls to `low`, with noise, and is exactly 0 at every so many points."""
    loss = np.linspace(1.4, low, 90) * (1 + 0.2 * np.sin(np.arange(90) * 1.7))
    loss[every - 1 :: every] = 0.0
    return loss


@pytest.mark.parametrize("more", [
    [],
    [series("grad_norm", np.where(emptied(4) == 0, 0.0, 0.7))],
])  # fmt: skip
def test_exact_zeros_among_points_far_from_zero_are_batches_without_labels(more):
    assert found(series("loss", emptied(4)), *more)["loss-zero-at-times"].data["zeros"] == 22


@pytest.mark.parametrize("told", [
    [series("loss", np.abs(emptied(4) * np.geomspace(1, 1e-4, 90)))],  # nears 0
    [series("loss", np.where(np.arange(90) % 5 == 2, 0.004, emptied(4)))],  # also takes values between
    [series("loss", emptied(4)), series("grad_norm", norms(90))],  # the 0 is the log's
    [series("loss", emptied(4)), series("reward_margin", np.linspace(0, 4, 90))],
    [series("loss", emptied(45))],  # two of ninety
])  # fmt: skip
def test_a_loss_that_may_be_zero_at_times_is_silent(told):
    assert "loss-zero-at-times" not in found(*told)


def test_nan_norm_while_the_loss_goes_on_falling_is_not_serious():
    norm = norms(200)
    norm[20:] = NAN
    assert not serious(series("loss", np.linspace(8, 2, 200)), series("grad_norm", norm))


@pytest.mark.parametrize(
    ("tail", "code", "other"),
    [
        (np.geomspace(1, 30, 30), "grad-norm-climb-before-nan", "nonfinite-without-precursor"),
        (np.ones(30), "nonfinite-without-precursor", "grad-norm-climb-before-nan"),
    ],
)
def test_what_the_norm_did_before_the_nan(tail, code, other):
    norm = norms(130)
    norm[90:120] *= tail
    loss = falling(130)
    loss[120:] = norm[120:] = NAN
    codes = found(series("loss", loss), series("grad_norm", norm))
    assert code in codes
    assert other not in codes


def test_onset_at_the_peak_of_warm_up_and_not_with_a_constant_rate():
    loss = falling(150)
    loss[110:] = NAN
    warm = np.minimum(np.arange(150) / 100, 1) * 3e-4
    assert "onset-near-peak-lr" in found(series("loss", loss), series("learning_rate", warm))
    assert "onset-near-peak-lr" not in found(series("loss", loss), series("learning_rate", np.full(150, 3e-4)))


def test_same_step_in_two_attempts_points_to_the_batch():
    loss = falling(100)
    loss[80:] = NAN
    again = series("loss", loss[60:], np.arange(61, 101), attempt="#2")
    assert "same-batch-nonfinite-again" in found(series("loss", loss), again)
    later = series("loss", loss[60:], np.arange(71, 111), attempt="#2")
    assert "same-batch-nonfinite-again" not in found(series("loss", loss), later)


@pytest.mark.parametrize(
    ("places", "is_found"),
    [((80, 55, 95), True), ((80, 55), False), ((80, 82, 55), False), ((80,), False)],
    ids=["three places", "two places", "two of three at one place", "one attempt"],
)
def test_attempts_that_fail_each_elsewhere_speak_against_one_batch(places, is_found):
    attempts = []
    for n, place in enumerate(places):
        loss = falling(100)
        loss[place:] = NAN
        attempts.append(series("loss", loss, attempt=f"#{n}"))
    assert ("nonfinite-at-other-steps" in found(*attempts)) == is_found


def test_lasting_spike_is_serious_and_dated_at_its_first_point():
    loss = falling(400)
    loss[300:312] += np.linspace(5, 3, 12)
    one = found(series("loss", loss))["loss-spike"]
    assert (one.severity, one.data["first_step"], one.data["last_good_step"]) == (Severity.S1, 301, 300)


def test_spike_in_an_excerpt_of_a_few_lines():
    steps = [29020, 29030, 29040, 29050, 29060, 29070, 29080]
    codes = found(
        series("loss", [2.776, 2.773, 2.768, 7.34, 8.72, 7.65, 7.19], steps),
        series("loss_scale", [32768, 32768, 65536, 8192, 4096, 4096, 4096], steps),
        series("grad_norm", np.zeros(7), steps),
    )
    assert codes["loss-spike"].data["first_step"] == 29050
    assert codes["loss-scale-drop"].data["first_step"] == 29050
    assert "grad-norm-vanishing" not in codes


def test_level_that_never_comes_back_is_divergence():
    loss = falling(400)
    loss[300:] += 4
    assert found(series("loss", loss))["loss-divergence"].data["first_step"] == 301
    drift = falling(400)
    drift[200:] += np.linspace(0, 4, 200)
    assert found(series("loss", drift))["loss-divergence"].severity == Severity.S1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [15, 60, 400, 2500])
def test_ugly_but_healthy_pretraining_raises_no_alarm(seed, n):
    rng = np.random.default_rng(seed)
    loss = falling(n, rng.uniform(0.01, 0.3), seed)
    norm = rng.lognormal(0, 0.4, n) * rng.choice([0.3, 1, 6])
    loss[1 : min(n, 8)] += 36 * rng.random(min(n, 8) - 1)  # transient of the first steps
    if n > 40:
        loss[rng.integers(30, n, max(1, n // 300))] += 1.5  # one-step outliers
        norm[rng.integers(30, n)] *= 20
    steps = np.arange(1, n + 1)
    scale = 2.0 ** np.clip(32 - steps, 9, 32)  # the search of the fp16 scale
    rate = 3e-4 * np.minimum(steps / (n / 20), 1)
    assert not serious(
        series("loss", loss), series("grad_norm", norm), series("loss_scale", scale), series("learning_rate", rate),
        series("step_time", rng.lognormal(0, 0.05, n)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [12, 100, 800])
def test_healthy_rl_with_low_entropy_raises_no_alarm(seed, n):
    rng = np.random.default_rng(seed)
    up = 1 - np.exp(-np.arange(n) / (n / 2))
    entropy = rng.uniform(0.05, 0.4) * np.exp(-up * rng.uniform(0, 1)) * rng.lognormal(0, 0.1, n)
    loss = rng.normal(0, 0.05, n)
    loss[n // 2] = 2.22
    assert not serious(
        series("reward", -0.3 + up + rng.normal(0, 0.1, n)), series("entropy", entropy), series("loss", loss),
        series("kl", 0.3 * up + 0.001), series("response_length", 500 * (1 + up) * rng.lognormal(0, 0.1, n)),
        series("grad_norm", rng.lognormal(1, 0.4, n)), series("step_time", 10 * (1 + up)),
    )  # fmt: skip


def test_restarts_that_repeat_steps_raise_no_alarm():
    loss = falling(300)
    again = series("loss", loss[200:] + 0.01, np.arange(201, 301), attempt="#2")
    assert not serious(series("loss", loss[:250]), again)


def test_collapse_of_a_policy_early_in_a_long_run():
    n = 200
    length = np.full(n, 1.0)
    length[:10] = [1759, 1922, 1751, 1353, 1233, 1014, 623, 278, 88, 5]
    entropy = np.full(n, 2e-4)
    entropy[:11] = [0.21, 0.21, 0.21, 0.22, 0.21, 0.22, 0.23, 0.23, 0.23, 0.37, 0.09]
    norm = np.full(n, 1e-4)
    norm[:11] = [0.4, 0.36, 0.47, 0.51, 0.7, 0.65, 1.0, 1.8, 4.1, 17.4, 4.9]
    codes = found(
        series("response_length", length), series("entropy", entropy), series("grad_norm", norm),
        series("reward", np.concatenate([np.linspace(-0.6, -1, 8), np.full(n - 8, -1.0)])),
    )  # fmt: skip
    assert codes["response-length-collapse"].data["first_step"] == 7
    assert codes["entropy-collapse"].data["first_step"] == 10
    assert codes["rl-instability"].data["broken"]
    assert "grad-norm-spike" in codes


def test_kl_definition_is_printed_and_growth_decides_the_severity():
    kl = np.concatenate([np.full(50, 0.05), np.linspace(0.05, 4, 50)])
    one = found(series("kl", kl))["kl-above-range"]
    assert one.severity == Severity.S1
    assert "assumed" in one.message
    assert "假定" in one.zh
    assert found(series("kl", np.full(100, 6.0)))["kl-above-range"].severity == Severity.S3


def test_reward_that_rises_while_accuracy_falls():
    up, down = np.linspace(0, 1, 60), np.linspace(0.8, 0.4, 60)
    assert "reward-up-quality-down" in found(series("reward", up), series("accuracy", down))
    assert "reward-up-quality-down" not in found(series("reward", up), series("accuracy", up))


def test_throughput_drop_needs_to_last():
    speed = np.full(100, 1000.0)
    speed[60:63] = 400
    assert "throughput-drop" not in found(series("tokens_per_second", speed))
    speed[80:] = 650
    assert found(series("tokens_per_second", speed))["throughput-drop"].data["first_step"] == 81
    slower = found(series("step_time", [105.16, 105.17, 106.25, 110.17, 111.14], range(42780, 42785)))
    assert slower["throughput-drop"].data["first_step"] in (42782, 42783)


def test_scale_at_its_floor_is_a_collapse_and_constant_one_is_bf16():
    scale = np.concatenate([np.full(40, 65536.0), 2.0 ** np.arange(15, -1, -1), np.full(10, 1.0)])
    assert "loss-scale-collapse" in found(series("loss_scale", scale))
    assert not found(series("loss_scale", np.ones(60)))


def test_clip_rate_is_judged_against_its_own_baseline():
    steady = np.random.default_rng(0).lognormal(0.7, 0.2, 200)
    assert found(series("grad_norm", steady), clip=1.0)["clip-rate-high"].severity == Severity.S3
    growing = np.concatenate([np.full(120, 0.5), np.full(120, 3.0)])
    assert found(series("grad_norm", growing), clip=1.0)["clip-rate-high"].severity == Severity.S2
    assert "clip-rate-high" not in found(series("grad_norm", growing))


@pytest.mark.parametrize(("last", "grade"), [(26.0, Severity.S2), (13.0, Severity.S3)])
def test_a_norm_that_grows_where_every_step_is_cut_already_is_more_than_a_note(last, grade):
    norm = np.linspace(12.0, last, 300) * np.random.default_rng(1).lognormal(0, 0.1, 300)
    assert found(series("grad_norm", norm), clip=0.5)["clip-rate-high"].severity == grade


@pytest.mark.parametrize(
    ("points", "wide", "grade"),
    [(200, 4, Severity.S1), (1200, 4, Severity.S2), (1200, 20, Severity.S1), (2500, 6, Severity.S2)],
)
def test_a_jump_that_is_over_after_a_moment_of_a_long_log_stops_nothing(points, wide, grade):
    loss = np.linspace(4.6, 4.0, points) + np.random.default_rng(2).normal(0, 0.02, points)
    loss[points // 2 : points // 2 + wide] += 3.5
    assert found(series("loss", loss))["loss-spike"].severity == grade


@pytest.mark.parametrize(
    ("loss", "grade"),
    [
        (np.linspace(140.0, 50.0, 300), Severity.S3),
        (np.geomspace(4.0, 1.2, 30), Severity.S3),
        (np.full(300, 4.0), Severity.S2),
        (np.concatenate([np.linspace(9, 3, 100), np.linspace(3, 8, 200)]), Severity.S2),
    ],
)
def test_a_clip_that_cuts_every_step_of_a_loss_that_falls_is_a_note(loss, grade):
    norm = np.linspace(12.0, 26.0, 300) * np.random.default_rng(1).lognormal(0, 0.1, 300)
    assert found(series("grad_norm", norm), series("loss", loss), clip=0.5)["clip-rate-high"].severity == grade


def test_evaluation_that_turns_and_one_that_still_falls():
    turns = [3.2, 2.9, 2.7, 2.6, 2.65, 2.7, 2.8, 2.9]
    assert found(series("eval_loss", turns, range(100, 900, 100)))["eval-loss-rising"].data["best_step"] == 400
    assert "eval-loss-rising" not in found(series("eval_loss", sorted(turns, reverse=True)))


FELL = [4.2, 3.4, 2.9, 2.5, 2.2, 2.05, 3.4, 4.1, 4.6, 4.7]
"""Evaluations of a run whose data changed before the seventh."""


def test_evaluation_that_fell_at_one_checkpoint():
    broke = found(series("eval_loss", FELL, range(30, 330, 30)))["eval-regression"]
    assert (broke.data["last_good"], broke.data["first_bad"], broke.severity) == (180, 210, Severity.S2)
    late = [4.7, 3.9, 3.2, 2.4, 1.8, 1.56, 1.96, 2.92, 3.1, 3.13]  # the data changed shortly before the seventh
    assert found(series("eval_loss", late))["eval-regression"].data["first_bad"] == 7
    score = [0.2, 0.3, 0.37, 0.41, 0.44, 0.45, 0.2, 0.21, 0.19]
    assert found(series("eval_accuracy", score))["eval-regression"].data["first_bad"] == 7


@pytest.mark.parametrize(
    "values",
    [
        [*FELL[:6], 3.4, 2.1, 2.0, 1.95],  # one bad evaluation, back at once
        [3.2, 2.9, 2.7, 2.6, 2.65, 2.72, 2.8, 2.9, 3.0],  # over-fitting bends up
        [3.2, 2.9, 2.7, 2.6, 2.7, 2.8, 2.9, 3.0],  # or goes straight
        [2.5, 2.2, 2.6, 2.1, 2.7, 2.2, 2.8, 2.3, 2.7],  # an evaluation that jumps about
        [*FELL[:6], 3.4],  # the last one: it may come back
        [3.0, 2.5, 2.2, 2.05, 2.0, 1.98, 1.97, 2.02, 2.03],  # a little worse
    ],
)
def test_evaluations_that_did_not_fall_at_one_checkpoint(values):
    assert "eval-regression" not in found(series("eval_loss", values))


def test_one_rank_that_stops_and_one_that_is_slow():
    loss = falling(100)
    ranks = [series("loss", loss, rank=0), series("loss", loss[:60], rank=1), series("loss", loss, rank=2)]
    assert found(*ranks)["rank-missing"].data["missing_rank"] == 1
    times = [series("step_time", np.full(50, 1.5 if r == 2 else 1.0), rank=r) for r in range(4)]
    assert found(*times)["straggler"].severity == Severity.S2
    assert "rank-missing" not in found(*[replace(s, rank=i) for i, s in enumerate([ranks[0]] * 3)])


def test_jitter_is_reassured_and_a_plain_run_is_called_healthy():
    loss = np.linspace(6, 2, 300) + np.random.default_rng(0).normal(0, 0.25, 300)
    table = SeriesTable((series("loss", loss), series("grad_norm", norms(300))))
    findings, _ = detect(table)
    assert "loss-jitter-benign" in {f.code for f in findings}
    fine = healthy(table, findings)
    assert fine is not None
    assert fine.code == "run-healthy"
    assert healthy(SeriesTable((series("loss", loss[:4]),)), []) is None


def test_a_run_that_was_broken_from_its_first_point_and_one_that_broke_later():
    norm = np.full(40, NAN)
    assert found(series("grad_norm", norm), series("loss", np.zeros(40)))["nonfinite-from-start"].severity == "S2"
    norm[0] = 1.0
    assert "nonfinite-from-start" not in found(series("grad_norm", norm), series("loss", np.zeros(40)))
    overflow = np.concatenate([[NAN, NAN], norms(40)])
    assert "nonfinite-from-start" not in found(series("grad_norm", overflow))


@pytest.mark.parametrize(("level", "grade"), [(10.4, "S2"), (1.8, "S3")])
def test_a_loss_that_creeps_is_a_note_unless_nothing_was_learned_at_all(level, grade):
    loss = level * np.linspace(1, 0.99, 600) + np.random.default_rng(0).normal(0, 1e-3, 600)
    assert found(series("loss", loss))["loss-slow"].severity == grade
    assert found(series("loss", loss, np.arange(5000, 5600)))["loss-slow"].severity == "S3"


@pytest.mark.parametrize(("decay", "grade"), [(0.3, "S2"), (0.55, "S3"), (0.9, None)])
def test_a_schedule_that_ends_long_before_the_run(decay, grade):
    rate = np.clip(1 - np.arange(300) / (300 * decay), 0, 1) * 1e-3
    one = found(series("learning_rate", rate), series("loss", falling(300))).get("lr-at-floor")
    assert (one and one.severity) == grade


@pytest.mark.parametrize(("slow", "grade"), [(8.0, "S2"), (2.5, "S3"), (1.5, None)])
def test_steps_that_cost_most_of_the_time_and_steps_that_are_only_uneven(slow, grade):
    times = np.where(np.arange(200) % 8 == 3, slow, 1.0)
    one = found(series("step_time", times)).get("step-time-jitter")
    assert (one and one.severity) == grade


def test_chosen_answers_that_become_unlikely_and_ones_that_only_lose_a_little():
    reward = series("reward_chosen", np.linspace(0, -2, 40))
    gone = found(reward, series("logps_chosen", np.linspace(-5, -28, 40)))["chosen-reward-falling"]
    usual = found(reward, series("logps_chosen", np.linspace(-200, -220, 40)))["chosen-reward-falling"]
    assert (gone.severity, usual.severity) == ("S2", "S3")


def test_a_metric_that_is_not_logged_is_not_applicable():
    _, checks = detect(SeriesTable((series("loss", falling(50)),)))
    results = {c.name: c.result for c in checks}
    assert results["entropy-collapse"] == "not-applicable"
    assert results["loss-nonfinite"] == "clear"


METRICS = ["loss", "grad_norm", "loss_scale", "learning_rate", "eval_loss", "reward", "kl", "entropy", "step_time",
           "response_length", "gpu_memory", "reward_std", "skipped_steps"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(METRICS), st.lists(st.floats(width=32), min_size=1, max_size=70), max_size=6),
    st.integers(0, 10**6),
)
def test_any_numbers_are_judged_without_breaking_and_in_both_languages(columns, start):
    table = SeriesTable(tuple(series(m, v, start + np.arange(len(v))) for m, v in columns.items()))
    with np.errstate(all="ignore"):
        findings, checks = detect(table, 1.0)
    assert not [c for c in checks if c.result == "failed"], [c.why for c in checks if c.result == "failed"]
    for one in findings:
        assert one.code in CODES
        assert one.message
        assert any("\u4e00" <= c <= "\u9fff" for c in one.zh)


def shifted_loss(height, back=0.0):
    """A falling loss with noise 0.02 that jumps at point 101 by `height`, of which `back` is lost at every point."""
    values = np.random.default_rng(5).normal(0, 0.02, 200) + 3.2 - np.minimum(np.arange(200), 100) * 0.018
    values[100:] += np.maximum(height - back * np.arange(100), 0)
    return values


def test_a_level_shift_is_named_with_its_step():
    every = found(series("loss", shifted_loss(0.55)))
    shift = every["loss-level-shift"]
    assert (shift.data["first_step"], shift.severity) == (101, Severity.S2)
    assert "loss-divergence" not in every


def test_no_level_shift_without_a_jump_or_when_it_recovers():
    drift = shifted_loss(0.0) + np.maximum(np.arange(200) - 100, 0) * 0.006
    for values in (shifted_loss(0.0), shifted_loss(0.55, back=0.05), drift):
        assert "loss-level-shift" not in found(series("loss", values))


@pytest.mark.parametrize("points", [6, 10, 40])
def test_a_loss_that_rises_all_the_way_has_diverged_and_is_not_healthy(points):
    rising = series("loss", 1.0 + 2.8 * np.arange(points))
    assert "loss-divergence" in found(rising)
    assert healthy(SeriesTable((rising,)), []) is None


def test_a_short_log_whose_loss_does_not_fall_is_neither_healthy_nor_diverged():
    flat = series("loss", [2.31, 2.29, 2.33, 2.30, 2.32, 2.31, 2.30, 2.33, 2.32, 2.33, 2.31, 2.34])
    assert "loss-divergence" not in found(flat)
    assert healthy(SeriesTable((flat,)), []) is None


def test_a_policy_loss_may_stay_where_it_is_while_the_reward_rises():
    policy, reward = series("loss", np.zeros(40)), series("reward", np.linspace(0.1, 0.8, 40))
    assert healthy(SeriesTable((policy, reward)), []) is not None


@pytest.mark.parametrize(
    ("wilder", "at", "told"), [(8, 0.375, True), (8, 0.625, True), (1.6, 0.375, False), (1, 0.5, False)]
)
@pytest.mark.parametrize("n", [200, 1200])
def test_a_loss_that_begins_to_swing_at_one_place(n, wilder, at, told):
    rng, t = np.random.default_rng(n), np.arange(n) / n
    level = np.where(t < at, 2.4 + 4 / (1 + 20 * t), 2.4 + 4 / (1 + 20 * at))
    values = level + rng.normal(0, 0.05, n) * np.where(t < at, 1, wilder)
    assert ("loss-oscillation" in found(series("loss", values))) is told


def test_noise_that_falls_as_it_should_is_no_swing():
    for seed in range(20):
        rng, t = np.random.default_rng(seed), np.arange(400) / 400
        values = 2 + 5 / (1 + 30 * t) + rng.normal(0, 0.3, 400) * np.where(t < 0.5, 2, 1)
        assert "loss-oscillation" not in found(series("loss", values))


def test_means_of_a_window_are_those_of_a_convolution():
    values = np.random.default_rng(3).normal(1e6, 1.0, 5_000)
    assert np.allclose(means(values, 500), np.convolve(values, np.full(500, 1 / 500), "valid"), rtol=0, atol=1e-6)


def test_a_rate_that_is_printed_as_zero_while_the_policy_learns():
    none, flat = series("learning_rate", np.zeros(60)), series("loss", np.full(60, 0.3))
    noise = np.random.default_rng(4).normal(0, 0.01, 60)
    assert "learning-rate-zero" in found(none, flat)
    assert "learning-rate-zero" in found(none, series("reward", 0.3 + noise), series("kl", np.zeros(60)))
    assert "learning-rate-zero" not in found(none, series("reward", np.linspace(0.2, 0.8, 60) + noise))
    assert "learning-rate-zero" not in found(
        none, series("reward", 0.3 + noise), series("kl", np.linspace(0, 0.01, 60))
    )


@pytest.mark.parametrize(
    ("far", "told"), [([900, 2400], True), ([900, 901, 902], False), (range(600, 3000, 60), False)]
)
def test_single_points_that_are_back_at_once_are_jitter_and_stretches_are_not(far, told):
    loss = 2 + 6 * np.exp(-np.arange(3000) / 200) + 0.8 * np.exp(-np.arange(3000) / 2500)
    loss += np.random.default_rng(3).normal(0, 0.06, 3000)
    loss[list(far)] += 0.9
    assert ("loss-jitter-benign" in found(series("loss", loss))) is told


@pytest.mark.parametrize(
    ("heights", "told"),
    [
        ((0.9, 0.7, 0.55), True),
        ((1.0, 0.8, 0.65, 0.5), True),
        ((0.55, 0.7, 0.9), False),
        ((1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0, 0.9), False),
    ],
)
def test_a_jump_that_falls_back_point_by_point_is_jitter_and_one_that_grows_or_stays_is_not(heights, told):
    loss = 1.6 + 3 * np.exp(-np.arange(4000) / 300) + 0.7 * np.exp(-np.arange(4000) / 3000)
    loss += np.random.default_rng(8).normal(0, 0.04, 4000)
    loss[2500 : 2500 + len(heights)] = loss[2400:2500].mean() + np.array(heights)
    assert ("loss-jitter-benign" in found(series("loss", loss))) is told


@pytest.mark.parametrize(
    ("points", "hits", "severity"),
    [(6000, [2000, 3500, 5200], "S3"), (900, [300, 500, 700], "S2"), (6000, [2000, 2001, 2002], "S2")],
)
def test_norms_that_jump_rarely_are_a_note_and_often_or_in_a_row_are_more(points, hits, severity):
    norm = norms(points)
    norm[hits] = 40.0
    assert found(series("grad_norm", norm), clip=1.0)["grad-norm-spike"].severity == severity


def _judged_alone(kl: float, reward: float, **more: float) -> set[str]:
    steps = np.linspace(0.0, 1.0, 100)
    curves = {"kl": 0.1 + kl * steps, "reward_chosen": reward * steps, "reward_rejected": 0.8 * reward * steps}
    return set(found(*(series(n, v) for n, v in (curves | {n: np.full(100, v) for n, v in more.items()}).items())))


def test_a_kl_of_whole_answers_is_not_held_against_limits_per_token():
    assert "kl-of-completions" in _judged_alone(9.0, 2.5)
    assert "kl-of-completions" in _judged_alone(30.0, 4.0)
    assert "kl-above-range" in _judged_alone(1.5, -8.0)
    assert "kl-above-range" in _judged_alone(9.0, 2.5, reward_accuracy=0.7)

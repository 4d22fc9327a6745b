"""What strangers' runs show in numbers alone, or in the last frame of a traceback; and the runs that only look so."""

import numpy as np
import pytest

from triage.tools.logs.detectors.detect import detect
from triage.tools.logs.signatures.causes import Timeline, judge
from triage.tools.logs.signatures.match import Matcher
from triage.tools.metrics import canonical
from triage.tools.reading import Chunk, iter_chunks
from triage.tools.series import Series, SeriesTable

RANDOM = np.random.default_rng(3)


def series(metric: str, values, steps=None, key: str = "") -> Series:
    values = np.asarray(values, float)
    steps = np.arange(10, 10 * len(values) + 1, 10) if steps is None else np.asarray(steps)
    lines = np.arange(1, len(values) + 1)
    return Series(metric, key or metric, steps.astype(np.int64), values, lines, "a.json", "", None, "step")


def found(*parts: Series) -> dict[str, str]:
    findings, checks = detect(SeriesTable(parts))
    assert not [c for c in checks if c.result == "failed"]
    return {f.code: f.severity for f in findings}


def noisy(level: float, spread: float, n: int) -> np.ndarray:
    return level + RANDOM.normal(0, spread, n)


@pytest.mark.parametrize("reward", [noisy(1.37, 0.03, 25), noisy(-2.3, 0.5, 200), np.linspace(0.5, 0.3, 40)])
def test_a_reward_that_a_run_does_not_raise_is_told(reward):
    assert {"reward-flat", "reward-decline"} & found(series("reward", reward)).keys()


def test_where_only_a_large_gain_would_stand_out_no_gain_is_a_note():
    swings = np.tile([-1.0, 1.0], 30)
    assert found(series("reward", 0.12 + 0.08 * swings))["reward-flat"] == "S3"
    assert found(series("reward", 0.12 + 0.01 * swings))["reward-flat"] == "S2"


def test_few_points_are_enough_where_the_policy_has_not_moved():
    reward = noisy(1.2, 0.03, 10)[::-1] - np.linspace(0, 0.05, 10)
    assert "reward-flat" in found(series("reward", reward), series("kl", [2e-4] * 10))
    assert "reward-flat" not in found(series("reward", reward), series("kl", np.linspace(0.01, 0.2, 10)))


@pytest.mark.parametrize(
    "reward",
    [
        np.linspace(0.2, 0.8, 25) + noisy(0, 0.05, 25),
        noisy(0.96, 0.01, 40),
        noisy(1.0, 0.1, 12),
        np.concatenate([np.linspace(0.1, 0.7, 10), noisy(0.7, 0.03, 40)]),
    ],
    ids=["rises", "at the top", "too few", "rose early"],
)
def test_a_reward_that_rose_or_is_at_its_top_or_is_short_is_left_alone(reward):
    assert "reward-flat" not in found(series("reward", reward))


def test_a_score_of_the_policy_that_ends_at_zero_is_told():
    reward = series("reward", np.linspace(-36, -4, 10))
    precision = [0.04, 0.13, 0.13, 0.1, 0.05, 0.01, 0.2, 0.02, 0, 0]
    assert found(reward, series("precision", precision))["policy-score-zero"] == "S2"
    assert "policy-score-zero" not in found(reward, series("precision", precision[::-1]))
    assert "policy-score-zero" not in found(series("loss", np.linspace(3, 2, 10)), series("precision", precision))


def test_an_evaluation_that_bounces_but_ends_far_above_its_best_has_risen():
    rising = [10.3, 14.3, 19.5, 44.4, 112, 1357, 3319, 14893, 27990, 63813, 39175, 37620, 23541, 40237, 36334]
    assert found(series("eval_perplexity", rising))["eval-loss-rising"] == "S2"
    bouncing = [0.6, 0.5, 0.45, 0.5, 0.48, 0.55, 0.52, 0.6, 0.57, 0.63, 0.6]
    assert "eval-loss-rising" in found(series("eval_loss", bouncing))
    for far in ([0.04, 0.011, 0.013, 0.05, 0.03, 0.021, 0.019], [3.1, 0.9, 0.7, 0.8, 2.4, 1.9, 2.2, 1.5, 1.3]):
        assert "eval-loss-rising" in found(series("eval_loss", far))


@pytest.mark.parametrize(
    "evaluation",
    [
        [1.0, 0.8, 0.7, 0.72, 0.69, 0.71, 0.7, 0.69, 0.7],
        [1.0, 0.8, 0.7, 0.9, 0.7, 0.68, 0.67, 0.66],
        [0.9, 0.7, 0.5, 0.62, 0.51, 0.6, 0.52, 0.61, 0.51],
        [1.0, 0.9, 0.3, 0.85, 0.8, 0.82, 0.74, 0.71, 0.69],
        [1.0, 0.5, 0.3, 0.33, 0.9, 0.7, 0.5, 0.35, 0.31],
    ],
    ids=["flat", "one blip", "noise", "one lucky", "back again"],
)
def test_an_evaluation_that_stays_near_its_best_has_not(evaluation):
    assert "eval-loss-rising" not in found(series("eval_loss", evaluation))


RATE = np.concatenate([np.linspace(4e-5, 2e-3, 50), np.linspace(2e-3, 1.3e-3, 190)])


def test_a_loss_that_rises_with_the_rate_and_falls_with_it_is_told():
    loss = np.concatenate([np.linspace(0.75, 0.68, 20), np.linspace(0.68, 0.92, 35), np.linspace(0.92, 0.45, 185)])
    loss += RANDOM.normal(0, 0.04, 240)
    assert found(series("loss", loss), series("learning_rate", RATE))["loss-follows-lr"] == "S2"


@pytest.mark.parametrize(
    "loss",
    [
        np.geomspace(2, 0.4, 240) + RANDOM.normal(0, 0.05, 240),
        noisy(0.7, 0.05, 240),
        np.concatenate([noisy(0.7, 0.02, 30), noisy(0.73, 0.02, 30), noisy(0.6, 0.02, 180)]),
    ],
    ids=["falls", "flat", "a little"],
)
def test_a_loss_that_falls_through_the_warm_up_or_rises_a_little_is_left_alone(loss):
    assert "loss-follows-lr" not in found(series("loss", loss), series("learning_rate", RATE))


def test_a_gradient_norm_that_fades_with_the_loss_has_nothing_left_to_learn():
    norm = series("grad_norm", np.geomspace(25, 0.004, 100))
    assert "grad-norm-vanishing" not in found(norm, series("loss", np.geomspace(1.6, 0.0002, 100)))
    assert "grad-norm-vanishing" in found(norm, series("loss", noisy(1.6, 0.02, 100)))


def test_a_gradient_norm_that_is_cut_off_while_the_loss_stands_has_vanished():
    norm = series("grad_norm", np.concatenate([noisy(2.4, 0.1, 90), noisy(0.011, 0.001, 210)]))
    stands = np.concatenate([np.geomspace(3, 1.1, 90), noisy(1.1, 0.01, 210)])
    assert "grad-norm-vanishing" in found(norm, series("loss", stands))
    assert "grad-norm-vanishing" not in found(norm, series("loss", np.geomspace(3, 0.6, 300)))
    slow = series("grad_norm", np.geomspace(2.4, 0.011, 300))
    assert "grad-norm-vanishing" not in found(slow, series("loss", stands))


def test_groups_without_spread_are_a_note_in_a_run_that_learned_and_a_fault_where_it_goes_on_for_nothing():
    reward, share = np.linspace(0.4, 0.97, 200) + RANDOM.normal(0, 0.01, 200), np.linspace(0.1, 0.95, 200)
    learns = found(series("reward", reward), series("frac_reward_zero_std", share),
                   series("grad_norm", np.geomspace(0.6, 0.2, 200)))  # fmt: skip
    assert learns["zero-advantage-groups"] == "S3"
    share = np.concatenate([np.linspace(0.1, 0.96, 60), noisy(0.96, 0.01, 140)])
    norm = np.concatenate([np.geomspace(0.6, 0.003, 60), noisy(0.003, 0.0004, 140)])
    done = found(series("reward", reward), series("frac_reward_zero_std", share), series("grad_norm", norm))
    assert done["zero-advantage-groups"] == "S2"


@pytest.mark.parametrize(
    ("key", "known"),
    [("dead_groups_frac", True), ("share_zero_adv", True), ("rollout/adv_zero_ratio", True),
     ("frac_dead_experts", False),
     ("frac_std", False), ("nonzero_std_ratio", False), ("reward_std", False)],
)  # fmt: skip
def test_the_share_of_groups_without_spread_is_known_by_its_words(key, known):
    assert ((canonical(key) or [""])[0] == "frac_reward_zero_std") is known


def test_a_perfect_held_out_score_is_worth_a_note_and_a_good_one_is_not():
    loss = series("loss", np.geomspace(1.6, 0.01, 100))
    perfect = found(loss, series("eval_accuracy", [0.9, 1.0]), series("eval_loss", [0.1, 0.0002]))
    assert perfect["score-perfect"] == "S3"
    assert "run-healthy" not in perfect
    assert "score-perfect" not in found(loss, series("eval_accuracy", [0.9, 0.98]), series("eval_loss", [0.1, 0.05]))


def test_norms_in_the_thousands_throughout_are_worth_a_note():
    loss = series("loss", np.linspace(1.2, 0.1, 20))
    assert found(loss, series("grad_norm", noisy(9000, 100, 20)))["grad-norm-huge"] == "S3"
    assert "grad-norm-huge" not in found(loss, series("grad_norm", [2e4, 3e3, *noisy(1.5, 0.1, 18)]))


TRACE = """Traceback (most recent call last):
  File "/home/me/train.py", line 87, in <module>
    run(args)
  File "/home/me/loop.py", line 12, in run
    call(x)
{frame}
    return inner(x)
{error}"""


def parts(
    frame: str, error: str = "TypeError: unsupported operand type(s) for ** or pow(): 'str' and 'int'"
) -> set[str]:
    text = TRACE.format(frame=f"  File {frame}", error=error)
    matcher = Matcher(len(text))
    matcher.look(Chunk(text.encode(), 1))
    return {f.code for f in judge({"a.log": matcher.hits()}, {"a.log": Timeline()})}


LIB = "/env/lib/python3.10/site-packages"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (f'"{LIB}/torch/optim/lr_scheduler.py", line 423, in get_lr', "exception-in-scheduler"),
        (f'"{LIB}/torch/utils/data/_utils/fetch.py", line 49, in fetch', "exception-in-data"),
        ('"/home/me/data.py", line 49, in __getitem__', "exception-in-data"),
        (f'"{LIB}/torch/serialization.py", line 600, in save', "exception-in-checkpoint-save"),
        (f'"{LIB}/torch/serialization.py", line 900, in load', "exception-in-checkpoint-load"),
        ('"/home/me/eval.py", line 4, in compute_metrics', "exception-in-metrics"),
        (f'"{LIB}/huggingface_hub/file_download.py", line 4, in hf_hub_download', "exception-in-hub"),
        (f'"{LIB}/tensorboard/__init__.py", line 4, in <module>', "exception-in-import"),
    ],
)
def test_the_innermost_frame_names_the_part_that_an_exception_stopped(frame, code):
    assert code in parts(frame)


GONE = "FileNotFoundError: [Errno 2] No such file or directory: '/scratch/out/step_900'"


def test_a_path_that_is_gone_while_a_checkpoint_is_written_or_cleaned_up_is_no_missing_input():
    for frame in ('"/home/me/io.py", line 40, in rotate_checkpoints', '"/home/me/io.py", line 9, in _delete_old_ckpts'):
        assert parts(frame, GONE) == {"file-missing", "exception-in-checkpoint-save"}
    assert parts('"/home/me/data.py", line 49, in __getitem__', GONE) == {"file-missing"}
    assert parts('"/home/me/data.py", line 49, in load_ckpt', GONE) == {"file-missing", "exception-in-checkpoint-load"}


def test_a_frame_of_the_program_itself_or_an_error_that_names_the_failure_names_no_part():
    assert parts('"/home/me/model.py", line 49, in forward') == {"uncaught-exception"}
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert "exception-in-data" not in parts('"/home/me/data.py", line 49, in __getitem__', oom)


def test_a_last_line_without_its_end_comes_with_the_lines_before_it(tmp_path):
    path = tmp_path / "output.log"
    path.write_text("step 1\nTraceback\n  File x\nTypeError: y")
    assert [c.data for c in iter_chunks(path)] == [b"step 1\nTraceback\n  File x\nTypeError: y"]
    assert [c.first_line for c in iter_chunks(path)] == [1]

"""A short name is the metric that its file makes of it, and nothing where it stands alone or its values deny it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from triage.tools.logs.company import in_company
from triage.tools.series import Series

N = 40
FALLS = 2 + 6 * np.exp(-np.arange(N) / 9) + 0.01 * (np.arange(N) % 5)
WAVES = 0.8 + 0.3 * np.sin(np.arange(N))
RATE = np.linspace(1e-4, 9e-4, N)


def called(columns: Mapping[str, tuple[str, np.ndarray]], file: str = "a.log") -> dict[str, str]:
    """Key -> metric, of series that the readers gave as (metric, values)."""
    steps = np.arange(N)
    found = [Series(metric, key, steps, values, steps + 1, file) for key, (metric, values) in columns.items()]
    return {s.key: s.metric for s in in_company(found)}


def known(*metrics: str) -> dict[str, tuple[str, np.ndarray]]:
    return {f"the {metric}": (metric, RATE if metric == "learning_rate" else WAVES) for metric in metrics}


def own(**columns: Sequence[float] | np.ndarray) -> dict[str, tuple[str, np.ndarray]]:
    return {key: (key, np.asarray(values, float)) for key, values in columns.items()}


@pytest.mark.parametrize(
    ("beside", "key", "values", "metric"),
    [
        (("learning_rate",), "gn", WAVES, "grad_norm"),
        (("loss",), "|g|", WAVES, "grad_norm"),
        (("learning_rate",), "lm", FALLS, "loss"),
        (("grad_norm",), "nll", FALLS, "loss"),
        (("learning_rate",), "column 2", FALLS, "loss"),
        (("loss",), "ls", 2.0 ** (16 - np.arange(N) // 10), "loss_scale"),
        (("loss",), "upd_s", WAVES, "step_time"),
        (("kl",), "R", WAVES - 0.7, "reward"),
        (("ppo_kl",), "H", WAVES, "entropy"),
        (("rollout_time",), "H", WAVES, "entropy"),
        (("kl",), "clip", WAVES / 4, "clip_fraction"),
        (("reward",), "len", 200 + np.arange(N), "response_length"),
    ],
)
def test_a_short_name_is_understood_in_company(beside, key, values, metric):
    assert called({**known(*beside), **own(**{key: values})})[key] == metric


@pytest.mark.parametrize(
    ("beside", "key", "values"),
    [
        ((), "gn", WAVES),  # nothing that only a training logs
        (("learning_rate",), "R", WAVES),  # a learning rate makes no reward
        (("loss", "grad_norm"), "gn", WAVES),  # there is one already
        (("loss",), "ls", np.full(N, 0.1)),  # label smoothing
        (("learning_rate",), "gn", np.arange(N)),  # a count
        (("learning_rate",), "column 2", np.arange(N) + 0.5),  # a number that rises is no loss by itself
        (("kl",), "clip", np.full(N, 0.2)),  # where the ratio is clipped
        (("kl",), "len", np.full(N, 0.3)),
    ],
)
def test_it_stays_what_it_is(beside, key, values):
    assert called({**known(*beside), **own(**{key: values})})[key] == key


@pytest.mark.parametrize(("key", "shift", "metric"), [("va", 0.2, "eval_loss"), ("dev/xe", -0.3, "eval_loss"),
                                                      ("held-out", 0.1, "eval_loss"), ("dev/f1", 0.1, "dev/f1"),
                                                      ("va", 40, "va")])  # fmt: skip
def test_held_out_data_is_told_by_its_name_and_the_size_of_the_loss(key, shift, metric):
    assert called({**known("learning_rate"), **own(xe_train=FALLS), **own(**{key: FALLS + shift})})[key] == metric


def test_another_file_is_no_company():
    steps = np.arange(N)
    rate = Series("learning_rate", "lr", steps, RATE, steps, "a.log")
    norm = Series("gn", "gn", steps, WAVES, steps, "b.log")
    assert [s.metric for s in in_company([rate, norm])] == ["learning_rate", "gn"]


def test_a_generator_has_no_norm():
    assert called({**known("learning_rate"), **own(G=WAVES, D=WAVES)})["G"] == "G"
    assert called({**known("learning_rate"), **own(g=WAVES)})["g"] == "grad_norm"


def test_a_loss_that_is_no_number_to_the_end_tells_nothing_of_another():
    broken = {"loss": ("loss", np.full(N, np.nan))}
    assert called({**broken, **own(va=FALLS)})["va"] == "va"


def test_one_name_is_one_metric_and_the_next_keeps_its_own():
    found = called({**known("learning_rate"), **own(lm=FALLS, nll=FALLS + 1)})
    assert (found["lm"], found["nll"]) == ("loss", "nll")


CODES = 4000 * np.exp(-np.arange(N) / 15) + 50


@pytest.mark.parametrize(
    ("beside", "perplexity", "dead"),
    [("vq", "ppl", "unused"), ("commit_loss", "perplexity", "n_dead"), ("codebook_loss", "ppl", "死码")],
)
def test_a_perplexity_beside_a_codebook_is_that_of_the_codes(beside, perplexity, dead):
    names = called({**own(**{beside: WAVES, dead: 100 + np.arange(N)}), perplexity: ("perplexity", CODES)})
    assert (names[perplexity], names[dead]) == ("codebook_perplexity", "dead_codes")


def test_a_perplexity_beside_a_loss_stays_that_of_the_text():
    names = called({**known("loss", "learning_rate"), "ppl": ("perplexity", CODES), **own(unused=np.arange(N))})
    assert (names["ppl"], names["unused"]) == ("perplexity", "unused")


def test_one_letter_for_the_data_trained_on_and_held_out():
    names = called(own(T_Loss=FALLS, T_acc=WAVES / 9, V_Loss=FALLS, V_acc=WAVES / 9))
    assert names == {"T_Loss": "loss", "T_acc": "accuracy", "V_Loss": "eval_loss", "V_acc": "eval_accuracy"}
    assert called(own(tr_ppl=FALLS, va_ppl=FALLS))["va_ppl"] == "eval_perplexity"


def test_a_value_loss_beside_a_policy_stays_one():
    names = called({**known("policy_loss"), "v_loss": ("value_loss", FALLS), **own(t_loss=FALLS)})
    assert names["v_loss"] == "value_loss"
    assert called({"v_loss": ("value_loss", FALLS)})["v_loss"] == "value_loss"


def test_losses_that_are_added_are_the_loss():
    assert called({**known("learning_rate"), **own(**{"ctc+att": FALLS})})["ctc+att"] == "loss"
    assert called({**known("grad_norm"), **own(**{"ce+kd": FALLS})})["ce+kd"] == "loss"
    assert called({**known("learning_rate"), **own(**{"cpu+gpu": FALLS})})["cpu+gpu"] == "cpu+gpu"
    assert called(own(**{"ctc+att": FALLS}))["ctc+att"] == "ctc+att"

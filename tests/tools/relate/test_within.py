"""Restarts within one log: what the loss does behind them, and what the start lists fewer of."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import FORMS, parts, report

LISTS = {
    "en": ("restored /ck/900: weights, adam, schedule, rng", "restored /ck/6000: weights, schedule, rng"),
    "zh": ("[恢复] 权重、优化器、调度器、随机数", "[恢复] 权重、调度器、随机数"),
    "pipes": ("load_state -> params | opt_state | lr_sched", "load_state -> params | lr_sched"),
}


def log(form, begin, again, **how):
    before, after = parts(FORMS[form], **how)
    return {"train.log": f"{begin}\n{before}caught SIGTERM\n{again}\n{after.partition(chr(10))[2]}"}


def codes(folder, files):
    return {f.code: f for f in report(folder, files).findings}


@pytest.mark.parametrize("form", LISTS)
def test_empty_moments_and_the_list_that_lacks_them(tmp_path, form):
    begin, again = LISTS[form]
    found = codes(tmp_path, log(form, begin, again))["restart-with-fresh-optimizer"]
    assert found.data["left_out"]
    assert again in found.message


@pytest.mark.parametrize("form", LISTS)
def test_a_start_after_which_nothing_changed(tmp_path, form):
    begin, again = LISTS[form]
    assert codes(tmp_path, log(form, begin, again, climb=0.0, norm=1.0)) == {}


def test_higher_behind_a_start_that_lists_all(tmp_path):
    begin, _ = LISTS["en"]
    found = codes(tmp_path, log("en", begin, begin, climb=0.0, norm=1.0, at_once=0.4))
    assert list(found) == ["loss-higher-since-restart"]


def test_a_line_that_starts_nothing(tmp_path):
    found = codes(tmp_path, log("en", "begin", "saved it: weights, schedule, rng", at_once=0.4))
    assert not any("restart" in code for code in found)


def test_steps_between_which_much_is_written_are_no_restart(tmp_path):
    steps, noise = np.arange(1, 400), np.random.default_rng(1).normal(0, 0.01, 399)
    rows = [f"step {s} loss {3 - s / 300 + v:.4f}\nloaded shard {s}" for s, v in zip(steps, noise, strict=True)]
    assert codes(tmp_path, {"train.log": "\n".join(rows)}) == {}

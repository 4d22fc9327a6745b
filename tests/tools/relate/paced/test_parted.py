"""A source of a mixture that is learned by heart, and mixtures of which nothing of the kind is told."""

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.paced.parted import CODE, by_heart

STEPS, EVALS = np.arange(1, 401) * 25.0, np.arange(1, 13) * 800.0


def line(key, values, x, group=""):
    return Line(key, key, "run.log", x, np.asarray(values, float), np.arange(1, len(values) + 1), group=group)


def falling(high, low):
    return np.linspace(high, low, len(STEPS)) + 0.01 * np.sin(np.arange(len(STEPS)))


def turning(high, low, last):
    return np.concatenate([np.linspace(high, low, 4), np.linspace(low, last, 9)[1:]])


def found(*lines):
    return [f.code for f in by_heart(lines)]


NAMES = [
    ("loss/law", "val/law", "loss/news", "val/news"),
    ("train_law_loss", "eval_law_loss", "train_news_loss", "eval_news_loss"),
    ("训练损失/法律", "验证损失/法律", "训练损失/新闻", "验证损失/新闻"),
    ("train/nll.law", "heldout/nll.law", "train/nll.news", "heldout/nll.news"),
]


@pytest.mark.parametrize("names", NAMES)
def test_a_source_whose_held_out_loss_rises_alone_is_told(names):
    law, val_law, news, val_news = names
    lines = (
        line(law, falling(2.1, 0.5), STEPS), line(val_law, turning(2.0, 1.8, 2.6), EVALS),
        line(news, falling(3.0, 2.4), STEPS), line(val_news, np.linspace(3.0, 2.5, 12), EVALS),
    )  # fmt: skip
    assert found(*lines) == [CODE]


@pytest.mark.parametrize(
    ("law", "val", "news"),
    [
        ((2.1, 0.5), np.linspace(2.0, 0.6, 12), (3.0, 2.5)),  # learned, not by heart
        ((2.1, 1.9), turning(2.0, 1.8, 2.6), (3.0, 2.5)),  # another evaluation: the training loss hardly falls
        ((2.1, 0.5), turning(2.0, 1.8, 1.86), (3.0, 2.5)),  # a rise of noise
        ((2.1, 0.5), turning(30.0, 18.0, 26.0), (3.0, 2.5)),  # a score of another kind
        ((2.1, 0.5), turning(2.0, 1.8, 2.6), (3.0, 4.0)),  # all rise: no matter of one source
    ],
)
def test_other_mixtures_are_not_told(law, val, news):
    lines = (
        line("loss/law", falling(*law), STEPS), line("val/law", val, EVALS),
        line("loss/news", falling(3.0, 2.4), STEPS), line("val/news", np.linspace(*news, 12), EVALS),
    )  # fmt: skip
    assert not found(*lines)


def test_the_whole_loss_is_no_source():
    lines = (line("loss", falling(2.1, 0.5), STEPS), line("val_loss", turning(2.0, 1.8, 2.6), EVALS),
             line("nll/news", falling(3.0, 2.4), STEPS), line("val/news", np.linspace(3, 2, 12), EVALS))  # fmt: skip
    assert not found(*lines)

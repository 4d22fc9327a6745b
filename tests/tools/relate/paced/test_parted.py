"""A source of a mixture that is learned by heart, and mixtures of which nothing of the kind is told."""

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.paced.parted import ALONE, CODE, by_heart
from triage.tools.relate.paced.passes import passes
from triage.tools.tables.read import read_tables

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


def rising(low, last, n=9):
    """A held-out loss that falls to `low`, and from there steadily to `last`."""
    return np.concatenate([np.linspace(low * 1.4, low, 4), np.linspace(low, last, n)[1:]])


@pytest.mark.parametrize("names", NAMES)
def test_a_small_but_steady_rise_is_told_where_the_others_go_on_falling(names):
    law, val_law, news, val_news = names
    lines = (
        line(law, falling(2.6, 0.6), STEPS), line(val_law, rising(1.9, 2.05), EVALS),
        line(news, falling(3.0, 2.4), STEPS), line(val_news, np.linspace(3.0, 2.5, 12), EVALS),
    )  # fmt: skip
    assert found(*lines) == [CODE]


HELD = [("valid/law", "valid/news", "valid/code"), ("law_val_loss", "news_val_loss", "code_val_loss")]


@pytest.mark.parametrize("names", HELD)
def test_a_held_out_loss_that_rises_alone_is_told_without_the_training_losses(names):
    a, b, c = names
    lines = (line(a, rising(1.9, 2.2), EVALS), *(line(n, np.linspace(3, 2, 12), EVALS) for n in (b, c)))
    assert found(*lines) == [ALONE]


@pytest.mark.parametrize("last", [(2.2, 3.4, 2.0), (1.93, 2.0, 2.0), (1.2, 2.0, 2.0)], ids=["two", "noise", "none"])
@pytest.mark.parametrize("names", HELD)
def test_held_out_losses_of_which_not_one_rises_alone_are_not_told(names, last):
    first = rising(1.9, last[0]) if last[0] > 1.9 else np.linspace(2.6, last[0], 12)
    second = rising(2.9, last[1]) if last[1] > 3 else np.linspace(3, last[1], 12)
    values = first, second, np.linspace(3, last[2], 12)
    assert found(*(line(n, v, EVALS) for n, v in zip(names, values, strict=True))) == []


def test_counts_and_accuracies_of_one_evaluation_are_no_losses_of_sources():
    lines = (
        line("eval_num_tokens", rising(4e6, 2e7), EVALS),
        line("eval_mean_token_accuracy", np.linspace(0.97, 0.94, 12), EVALS),
        line("eval_runtime", np.linspace(41.0, 40.0, 12), EVALS),
    )  # fmt: skip
    assert found(*lines) == []


def mix(tmp_path, text):
    (tmp_path / "mix.csv").write_text(text, encoding="utf-8")
    return read_tables(tmp_path / "mix.csv", "mix.csv")


@pytest.mark.parametrize(
    ("text", "key", "last", "times"),
    [
        ("source,tokens,weight\nlaw,2000000000,0.1\nnews,90000000000,0.9\n", "tokens_B", 120.0, 6),
        ("domain,n_tokens_m,share_pct\nnews,90000,88\nlaw,2000,12\n", "consumed_tokens", 1e11, 6),
        ("来源,token数,权重\nlaw,2e9,1\nnews,9e10,9\n", "tokens_B", 120.0, None),
        ("source,tokens,weight\nlaw,80000000000,0.1\nnews,90000000000,0.9\n", "tokens_B", 120.0, None),
        ("source,tokens,weight\nlaw,2000000000,0.1\nnews,90000000000,0.9\n", "tokens_per_sec", 120.0, None),
    ],
    ids=["billions", "per cent", "weights of no whole", "less than once", "a speed"],
)
def test_the_passes_over_a_source_are_its_share_of_what_was_trained(tmp_path, text, key, last, times):
    read = passes("law", [line(key, np.linspace(0, last, len(STEPS)), STEPS)], mix(tmp_path, text))
    assert (read and round(read.times)) == times


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

"""Levels that tell by themselves that a run learned nothing, or everything by heart: chance, zero, collapse.

Where curves go is `trends`; here only what a level means by itself. Preference and reward losses are left to their own
detectors: ln 2 is where they start.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np

from ...findings import Finding
from ...series import Series
from ...vocabulary import UP
from .detector import S2, S3, UNLEARNED, Track, detector, finding, where, where_zh
from .evaluation import NOTHING, scored, task_scores
from .robust import head_tail, means, noise, running_share

ACCURACIES = ("accuracy", "eval_accuracy")
PREFERENCE = ("reward_margin", "reward_accuracy", "reward_chosen")
CLASSES = range(2, 1001)
"""Numbers of classes that a classifier may have; the vocabulary of a language model is larger."""
NEAR_LOSS, NEAR_SHARE, NEAR_START, NEAR_EACH = 0.03, 0.12, 0.25, 0.01
"""How near the last loss, the accuracy, the first loss and each of few evaluations are to those of guessing, as shares.
Own judgement."""
MEMORISED, PASSES, MANY_PASSES = 0.05, 3.0, 10.0
"""Loss (nats) below which the training rows are known by heart, and epochs from which on that is a matter of passes."""
OFTEN, UNCHECKED = 20.0, 0.1
"""Epochs from which on a loss (nats) up to there is that of rows known by heart where nothing is held out to say
otherwise. Own judgement."""
FROM_SCRATCH, NO_TEXT = 6.0, 0.5
"""First loss (nats) of a language model without training, near the logarithm of its vocabulary, and a loss that no text
allows: its own entropy is above 1 nat a token."""
WITHIN_A_PASS, GIVEN = 0.8, 0.1
"""Epochs within which no row came twice, with room for a row that a loader repeats; and a loss (nats) that not even
text made by rules allows there."""
WITHIN_FIRST = 0.1
"""Epochs within which points are the first ones."""
BEGUN = 100
"""Share (1 of so many) of the points that an untrained model needs at least to leave that level: one that was trained
before and meets a new task is down after a few. Own judgement."""
UNMOVED, FEW = 0.005, 8
"""Share of its level by which a loss that no training has touched moves, and points that show it. Own judgement."""
STILL = 100
"""Points that show it at the level of a trained model. Own judgement."""
LOST = 0.5
"""Share of its best accuracy that a collapsed run has left at most."""


def _supervised(track: Track, least: int) -> Series | None:
    points = track.points("loss", least)
    return None if track.is_rl or any(track.get(name) for name in PREFERENCE) else points


def _evaluations(track: Track) -> Series | None:
    """The evaluations of a training that logs hardly any loss of its own."""
    alone = track.points("loss", 8) is None and not track.is_rl and not any(track.get(name) for name in PREFERENCE)
    return track.points("eval_loss", 3) if alone else None


@detector("loss-at-chance", "the loss ends where guessing among the classes does", ["loss", "eval_loss"], 3)
def loss_at_chance(track: Track) -> Iterator[Finding]:
    """The loss ends within 3% of ln k, and k is known: from the settings, where the loss began near there as well, or
    from an accuracy within 12% of 1/k. Of evaluations alone, three or more, all lie within 1% of it.

    A language model passes ln 4 on its way down, so the loss alone says nothing. Source: the cross entropy of a uniform
    guess is ln k. The tolerances are own judgement.
    """
    held_out = _evaluations(track)
    loss = held_out or _supervised(track, 8)
    if loss is None:
        return
    begun, level = head_tail(loss.values, 0.2)
    scored = next((p for name in ACCURACIES if (p := track.points(name, 2)) is not None), None)
    share = None if scored is None else head_tail(scored.values, 0.2)[1]
    share = share / 100 if share is not None and share > 1 else share
    k = track.classes or (round(1 / share) if share else 0)
    if k not in CLASSES or abs(level - log(k)) > NEAR_LOSS * log(k):
        return
    if held_out and (share is None or np.abs(loss.values - log(k)).max() > NEAR_EACH * log(k)):
        return
    if abs(share * k - 1) > NEAR_SHARE if share is not None else abs(begun - log(k)) > NEAR_START * log(k):
        return
    also, also_zh = (f" and {share:.3g} right", f"，正确率 {share:.3g}") if share is not None else ("", "")
    en = f"{loss.key} ends at {level:.4g}{also}: guessing among {k} classes gives ln {k} = {log(k):.4g} and 1/{k}."
    zh = f"{loss.key} 最后为 {level:.4g}{also_zh}：在 {k} 个类别中随机猜测正好是 ln {k} = {log(k):.4g} 和 1/{k}。"
    shown = [(loss, len(loss) - 1), *([(scored, len(scored) - 1)] if scored else [])]
    yield finding("loss-at-chance", S2, shown, en, zh, classes=k, level=level)


@detector("loss-unmoved", "the loss stays at the level of an untrained model", ["loss", "eval_loss"], FEW)
def loss_unmoved(track: Track) -> Iterator[Finding]:
    """Every one of at least eight values lies within half a percent of the first, and above what any model that has
    learned something has: nothing reached the weights. At any level, a hundred values: batches alone differ by more.

    A loss of a trained model may stay where it is (`loss-plateau` judges that over a hundred points). Own judgement.
    """
    for name in ("eval_loss", "loss"):
        points = track.points(name, FEW)
        if points is None or track.is_rl or points.values.min() <= 0:
            continue
        n, first, last = len(points), float(points.values[0]), float(points.values[-1])
        raw = points.values.min() > UNLEARNED
        if np.abs(points.values - first).max() > UNMOVED * first or not (raw or n >= STILL):
            continue
        en = f"{points.key} is {first:.5g} at {where(points, 0)} and {last:.5g} at {where(points, n - 1)}, {n} points "
        en += (
            "later: the level of an untrained model, which the training has not touched."
            if raw
            else "later: no step changed it."
        )
        zh = (
            f"{points.key} 从{where_zh(points, 0)}的 {first:.5g} 到{where_zh(points, n - 1)}的 {last:.5g}（{n} 个点）："
        )
        zh += "仍是未训练模型的水平，训练没有产生作用。" if raw else "任何一步都没有让它改变。"
        yield finding("loss-unmoved", S2, [(points, n - 1), (points, 0)], en, zh, baseline=first, last=last)
        return


HUGE = 1000.0
"""Gradient norm, unscaled, that no training of a mean loss has throughout. Own judgement."""


@detector("grad-norm-huge", "the gradient norm is in the thousands throughout", ["grad_norm"], 3)
def grad_norm_huge(track: Track) -> Iterator[Finding]:
    """Nine tenths of the norms are above a thousand: a loss that is a sum, values that are not normalised, or a norm
    that is not of this loss. A note; norms that a loss scale multiplies (Megatron in fp16) are left out."""
    points = track.points("grad_norm", 3)
    if points is None or track.is_rl or track.get("loss_scale") or (low := np.quantile(points.values, 0.1)) < HUGE:
        return
    last = float(points.values[-1])
    en = f"{points.key} is above {low:.3g} in nine points of ten, and {last:.3g} at the end: no scale of a mean loss."
    zh = f"{points.key} 九成的点都高于 {low:.3g}，最后为 {last:.3g}：平均 loss 不会有这样的量级。"
    yield finding("grad-norm-huge", S3, [(points, -1), (points, 0)], en, zh, value=last)


@detector("score-perfect", "the held-out score is perfect, which is rarely true", ["eval_loss", "eval_accuracy"])
def score_perfect(track: Track) -> Iterator[Finding]:
    """The last held-out score is exactly 1 (or 100), and the evaluation loss next to nothing where there is one: the
    rows overlap with the training, the label stands in the input, or the task is trivial. A note. Own judgement."""
    loss = track.points("eval_loss")
    if loss is not None and loss.values[-1] >= NOTHING:
        return
    for points, good in task_scores(track):
        if good == UP and len(points) and points.values[-1] in (1.0, 100.0):
            en = f"{points.key} is {points.values[-1]:.4g} at {where(points, len(points) - 1)}: test whether held-out "
            en += "rows also stand in the training data, and whether the answer stands in the input."
            zh = f"{points.key} 在{where_zh(points, len(points) - 1)}为 {points.values[-1]:.4g}：请检查验证样本是否也在"
            zh += "训练集中，答案是否就在输入里。"
            yield finding("score-perfect", S3, [(points, len(points) - 1)], en, zh, value=float(points.values[-1]))
            return


@detector("accuracy-zero", "the accuracy is zero throughout", ACCURACIES, 3)
def accuracy_zero(track: Track) -> Iterator[Finding]:
    """Every one of at least three values is exactly 0: a model that guesses has some right, so it is the measuring or
    the format of the answers that fails, or nothing is learned at all."""
    for name in ACCURACIES:
        points = track.points(name, 3)
        if points is not None and not points.values.any():
            n = len(points)
            en = f"{points.key} is 0 in all {n} points, from {where(points, 0)} to {where(points, n - 1)}."
            zh = f"{points.key} 的 {n} 个点全为 0（{where_zh(points, 0)}至{where_zh(points, n - 1)}）。"
            yield finding("accuracy-zero", S2, [(points, n - 1), (points, 0)], en, zh, points=n)


@detector("accuracy-decline", "the accuracy collapses and stays low", ACCURACIES, 8)
def accuracy_decline(track: Track) -> Iterator[Finding]:
    """The last fifth is at most half of the best fifth before it, by ten times the noise, and never comes back there.

    An accuracy that falls slowly is `eval-regression`; half of the best is no fluctuation. Own judgement.
    """
    for name in ACCURACIES:
        points = track.points(name, 8)
        if points is None or running_share(points.values, points.steps):
            continue
        values = points.values
        width = max(3, len(values) // 5)
        smooth = means(values, width)
        best = int(np.argmax(smooth))
        high, last = float(smooth[best]), float(np.median(values[-width:]))
        fell = np.flatnonzero(values[best:] > (high + last) / 2)
        at = best + (int(fell[-1]) if len(fell) else 0) + 1
        if np.median(values[best : best + width]) < (high + last) / 2:
            continue  # it leapt there once and back
        if high <= 0 or last > LOST * high or high - last < 10 * noise(values) or at > len(values) - 3:
            continue
        en = f"{points.key} falls from {high:.3g} to {last:.3g} at {where(points, at)} and stays there."
        zh = f"{points.key} 在{where_zh(points, at)}从 {high:.3g} 掉到 {last:.3g}，之后没有恢复。"
        yield finding("accuracy-decline", S2, [(points, at), (points, -1)], en, zh, baseline=high, last=last)


HELD_WELL, KEPT, RISEN = 0.8, 0.02, 1.25
"""Share of held-out rows that are right, how far it may lie below its best level, and the held-out loss over its lowest
level, up to which what was learned carries over. Own judgement."""
MOST_NATS = 30.0
"""Guessing among 250,000 tokens costs 12.5, and weights that are badly begun some more; a loss far above is a squared
error or a sum, of which next to nothing says that something was learned, and not that rows are known by heart."""


@detector("train-loss-memorised", "the training loss is next to nothing after several passes", ["loss"], 5)
def train_loss_memorised(track: Track) -> Iterator[Finding]:
    """The loss ends below 0.05 nats (0.1 after twenty epochs without any evaluation; 0.5 of a language model that began
    untrained), a twentieth of where it began,
    after at least three epochs where it did not, and no evaluation as low says that this carries over to other rows.

    A loss that was low from the start is masked or broken, not learned by heart. S3 where the task's own held-out score
    still improves, or is high and as good as ever. Own judgement.
    """
    loss, epoch = _supervised(track, 5), track.points("epoch")
    if loss is None:
        return
    (first, last), start = head_tail(loss.values, 0.1), float(np.median(loss.values[: max(3, len(loss) // BEGUN)]))
    beside = (float(s.steps[-1]) for s in track.series if s.step_is == "epoch" and len(s))
    if start > MOST_NATS or (loss.values[: max(5, len(loss) // BEGUN)] > MOST_NATS).any():
        return
    untrained, epochs = start > FROM_SCRATCH, max(beside, default=0.0) if epoch is None else float(max(epoch.values))
    first = start if untrained else float(loss.values[0]) if len(loss) < 8 else first
    least = NO_TEXT if untrained else UNCHECKED if epochs >= OFTEN and not _held_out(track) else MEMORISED
    few = len(loss) < 8 and epochs < MANY_PASSES
    if few or first <= least or not 0 <= last < least or last > first / 20 or (epochs < PASSES and not untrained):
        return
    if loss.values[-max(3, len(loss) // 10) :].mean() > max(3 * last, least):
        return  # most rows are at nothing, some are not
    held_out = track.points("eval_loss")
    if held_out is not None and head_tail(held_out.values, 0.2)[1] < max(3 * last, 2 * least):
        return
    if _in_first_pass(loss, epoch, least) is not None:
        return
    when, when_zh = (f"after {epochs:.3g} epochs", f"在 {epochs:.3g} 个 epoch 后") if epochs else ("at the end", "最后")
    en = f"{loss.key} is around {last:.3g} {when} ({first:.3g} at the start): the rows are known by heart."
    zh = f"{loss.key} {when_zh}约为 {last:.3g}（开始时 {first:.3g}）：训练样本已被背下来。"
    score = scored(track, loss, 0)
    severity = S3 if (score and score.better) or _carries_over(track) else S2
    levels = {"epochs": epochs, "baseline": first, "last": last}
    yield finding("train-loss-memorised", severity, [(loss, -1), (loss, 0)], en, zh, **levels)


def _held_out(track: Track) -> bool:
    """Whether anything was measured on other rows than those of the training."""
    return track.points("eval_loss") is not None or any(True for _ in task_scores(track))


def _carries_over(track: Track) -> bool:
    """Whether what was learned holds for rows that were held out: most of them are right, at the end as at the best
    time, and their loss has not left its lowest level."""
    loss = track.points("eval_loss", 4)
    if loss is not None and float(loss.values[-_fifth(loss) :].mean()) > RISEN * float(
        means(loss.values, _fifth(loss)).min()
    ):
        return False
    for points, way in task_scores(track):
        values = points.values / (100.0 if points.values.max() > 1 else 1.0)
        if way < 0 or len(values) < 4 or not HELD_WELL <= values.max() <= 1:
            continue
        level = means(values, _fifth(points))
        if level[-1] >= max(HELD_WELL, level.max() - KEPT):
            return True
    return False


def _fifth(points: Series) -> int:
    return max(2, len(points) // 5)


def _in_first_pass(loss: Series, epoch: Series | None, least: float) -> int | None:
    """The point from which on the loss is below a level, if that is before any row came twice."""
    above = np.flatnonzero(~(loss.values < least))
    low = int(above[-1]) + 1 if len(above) else 0
    if epoch is None or low >= len(loss) - FEW:
        return None
    passed = np.interp(float(loss.steps[low]), epoch.steps, epoch.values)
    return low if passed < WITHIN_A_PASS else None


@detector("loss-low-from-start", "the loss is next to nothing from the first points on", ["loss"], 8)
def loss_low_from_start(track: Track) -> Iterator[Finding]:
    """The loss is below 0.05 at the very first points, within a tenth of the first epoch, and stays there.

    A note: a squared error or a loss over many outputs may be small from the start. Of a language model it says that
    what is to be predicted is given, or is mostly padding. Own judgement.
    """
    loss, epoch = _supervised(track, 8), track.points("epoch")
    if loss is None or loss.step_is != "step":
        return
    first, most = float(np.median(loss.values[:3])), float(loss.values.max())
    begun = 0.0 if epoch is None else float(epoch.values[0])
    if not 0 < first < MEMORISED or most >= GIVEN or begun > WITHIN_FIRST or loss.steps[0] > STILL:
        return
    en = f"{loss.key} is {first:.3g} at the first points and never above {most:.3g}: of text, no model begins there."
    zh = f"{loss.key} 从最初几个点起就是 {first:.3g}，从未超过 {most:.3g}：若是文本，没有模型会从这里开始。"
    yield finding("loss-low-from-start", S3, [(loss, 0), (loss, -1)], en, zh, baseline=first, most=most)


@detector("loss-trivial", "a loss that no text allows before any row came twice", ["loss"], 8)
def loss_trivial(track: Track) -> Iterator[Finding]:
    """The loss of a language model that began untrained stays next to nothing within the first pass over the
    data: it cannot know rows by heart that it sees for the first time, so what it has to say is given to it.

    Source: the entropy of text is about 1 nat a token; that of text made by rules is less. Own judgement.
    """
    loss, epoch = _supervised(track, 8), track.points("epoch")
    if loss is None or float(np.median(loss.values[: max(3, len(loss) // BEGUN)])) <= FROM_SCRATCH:
        return
    if (low := _in_first_pass(loss, epoch, GIVEN)) is None:
        return
    begun, last = float(loss.values[0]), float(loss.values[-1])
    en = (
        f"{loss.key} falls from {begun:.3g} below {GIVEN:g} at {where(loss, low)} and stays there, in the first pass "
        "over the data: what is to be predicted is in the input, is mostly padding, or the rows repeat."
    )
    zh = (
        f"{loss.key} 从 {begun:.3g} 在{where_zh(loss, low)}就降到 {GIVEN:g} 以下并保持，而数据还没有过完第一遍："
        "要预测的内容就在输入里、大部分是 padding，或者样本重复。"
    )
    yield finding("loss-trivial", S2, [(loss, low), (loss, -1)], en, zh, baseline=begun, last=last)


KNOWN = 1.15
"""Perplexity below which hardly a token of a text is open; a masked word of text has about 10. Own judgement."""


@detector("perplexity-too-low", "the perplexity is next to one from the first points on", ["eval_perplexity"], 2)
def perplexity_too_low(track: Track) -> Iterator[Finding]:
    """Every held-out perplexity lies below 1.15, the first one too: of ten tokens nine are given. A note: answers of
    one form, such as tables or labels, are as easy; of running text it says that what is to predict is in the input.
    """
    points = track.points("eval_perplexity", 2)
    if points is None or track.is_rl or not 1 <= points.values.min() <= points.values.max() < KNOWN:
        return
    first, last = float(points.values[0]), float(points.values[-1])
    en = f"{points.key} is {first:.4g} at {where(points, 0)} and {last:.4g} at the end: of running text hardly a token "
    en += "can be so certain. Are tokens in the loss that stand in the input?"
    zh = f"{points.key} 在{where_zh(points, 0)}就是 {first:.4g}，最后为 {last:.4g}：自然文本的 token 不会这么确定。"
    zh += "损失里是否包含了输入中看得见的 token？"
    yield finding("perplexity-too-low", S3, [(points, 0), (points, -1)], en, zh, value=last)

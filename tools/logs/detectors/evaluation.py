"""Detectors of evaluations during training: over-fitting, a step down, leakage, scores that never move.

An evaluation loss is weighed against the scores of the task in the same records, and compared only with training
losses that are counted as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Finding
from ...metrics import held_out, of_answers
from ...series import Series
from ...vocabulary import ANSWER_SCORES, DOWN, UP, VOCABULARY
from ..judged.alike import answers_alike, stands_in_training
from .detector import S2, S3, Track, detector, finding, points_detector, run_detector, where, where_zh
from .robust import finite, head_tail, mann_kendall, noise

EVALUATED = ("eval_loss", "eval_perplexity", "eval_bpb", "eval_accuracy", "eval_reward")

BETTER_UP = (
    "acc accuracy f1 em match precision recall auc auroc mrr ndcg mcc pearson spearman spearmanr iou miou map pass win "
    "winrate reward correct score macc dice mdice pck"
)
BETTER_DOWN = "wer cer ter eer mer mae mse rmse"
TASK = {UP: ANSWER_SCORES.union(BETTER_UP.split()), DOWN: frozenset(BETTER_DOWN.split())}
"""Words of held-out scores that measure the task itself, by the way that is good."""
_WORDS = re.compile(r"[a-z]+\d?")
GAIN, LATE = 0.01, 0.1
"""Share of its level by which a score gains, and share of that gain in the second half, to be still improving."""
KNOWN = 0.01
"""Share of the evaluation loss below which the training loss tells of rows known by heart. Own judgement."""
SAME, SAME_BOUND = 5, 3
"""Equal values from which on a score is a constant, and from which on one is at the end of its range."""
FALLS = 0.03
"""Share by which the training loss falls where an evaluation that gains nothing is over-fitting. Own judgement."""
GUESSING = 12.5
"""Loss (nats per token) of guessing among the tokens of the largest vocabularies."""
LOW = 0.1
"""Training loss (nats) up to which dropout alone may make it twice that of the evaluation. Own judgement."""
FAR = 0.1
"""Share that a score has left to gain from which on the rows it is taken of are no training rows. Own judgement."""
SLIGHT = 0.05
"""Share of its best by which the loss may rise where a score gets a little better each time. Own judgement."""
LIFTED = 0.1
"""Share of its best by which one that bounces lies above it in the end. Own judgement."""
FAR_ABOVE, STAYS = 1.5, 3
"""Times its best at which the later half of the evaluations lie, so many at least, however they went there; the next
one did not yet, or the best was a chance. Own judgement."""
HELD_OUT = re.compile(r"(?i)(?:^|[^a-z])(?:eval|val|valid|validation|test|dev)(?:[^a-z]|$)")
TIMING = re.compile(r"(?i)runtime|per_second|_time$|(?:^|_)(?:samples|steps|epoch|batch)$")
"""Names of what is measured on held-out rows, and those of them that only tell of time and size."""
NOTHING = 0.05
"""Evaluation loss (nats) at which a score of 1 is no wonder."""


class Score(NamedTuple):
    """A held-out score of the task, and how it went over the evaluations that were looked at."""

    points: Series
    way: int
    better: bool
    """Still improving in the second half, in which the best value lies."""


def task_scores(track: Track) -> Iterator[tuple[Series, int]]:
    """The held-out scores of the task, each with the way that is good."""
    for series in track.series:
        if (good := way(series.key)) and (held_out(series.key) or series.metric in EVALUATED):
            yield finite(series), good


def way(key: str) -> int:
    """The way that is good for a score of the task, by the words of its name; 0 for what is none."""
    words = {w for word in _WORDS.findall(key.lower()) for w in (word, word.rstrip("0123456789"))}
    return 0 if words & {"loss", "perplexity"} else next((w for w, names in TASK.items() if words & names), 0)


def scored(track: Track, beside: Series, step: int) -> Score | None:
    """The task's score in the records of an evaluation from a step on: one that still improves, else the first."""
    found = []
    for points, way in task_scores(track):
        values = way * points.values[points.steps >= step]
        if points.step_is != beside.step_is or len(values) < 4:
            continue
        gain, late = values[-1] - values[0], values[-1] - values[len(values) // 2]
        best_late = int(np.argmax(values)) >= len(values) // 2
        found.append(Score(points, way, bool(best_late and gain > GAIN * abs(values[0]) and late >= LATE * gain)))
    return next((s for s in found if s.better), next(iter(found), None))


@detector(
    "eval-loss-rising",
    "the evaluation loss rises while the training loss does not",
    ("eval_loss", "eval_perplexity"),
    4,
    eval_never_improved="the training loss falls, and the evaluation gains nothing from it",
)
def eval_loss_rising(track: Track) -> Iterator[Finding]:
    """At least three evaluations in a row above the best, each above the last, by more than the noise; or five and
    more that bounce, but lie a tenth above it in the end and have an upward trend, or half above it throughout.

    The noise is that of second differences, which a falling curve does not inflate. A rise below 0.5% is ignored. S2 at
    any size: the best checkpoint is the earlier one; S3 where the task's own score still improves, as word error rates
    do while confidence grows. Source: runbook 001 C.4 (over-fitting); numbers own judgement.
    """
    points = next((p for name in ("eval_loss", "eval_perplexity") if (p := track.points(name, 4)) is not None), None)
    if points is not None:
        yield from _rising(points, track)


def _rising(points: Series, track: Track) -> Iterator[Finding]:
    values = points.values
    best = int(np.argmin(values))
    after = values[best:]
    steady = len(after) >= 4 and (np.diff(after) > 0).mean() >= 0.75
    rise = float(after[-1] - after[0])
    lifted = _lifted(after) or _left_behind(after, track.like("loss", points), int(points.steps[best]))
    if not lifted and (not steady or rise < 0.005 * abs(after[0])):
        yield from _never_improved(points, track)
        return
    if not lifted and rise < 3 * noise(np.diff(values)) / np.sqrt(3):
        return
    evaluations, step = len(after) - 1, int(points.steps[best])
    score = scored(track, points, step)
    if score and _by_heart(track, points, score, rise):
        score = score._replace(better=False)
    elif score and rise < SLIGHT * abs(after[0]) and _climbs(score, step):
        score = score._replace(better=True)
    more, more_zh, told = _beside(score, step)
    en = (
        f"{points.key} rises from its best {values[best]:.4g} at {where(points, best)} to {values[-1]:.4g} over "
        f"{evaluations} evaluations{more}."
    )
    zh = (
        f"{points.key} 从{where_zh(points, best)}的最好值 {values[best]:.4g} 在其后 {evaluations} 次评测中升到 "
        f"{values[-1]:.4g}{more_zh}。"
    )
    shown = [(points, best + 1), (points, best), (points, -1), *([(score.points, -1)] if score else [])]
    data = {"best_step": step, "counted": points.step_is, "baseline": float(values[best]), "last": float(values[-1])}
    severity = S3 if score and score.better else S2
    yield finding("eval-loss-rising", severity, shown, en, zh, **data, **told, **_train_trend(track, points, step))


def _climbs(score: Score, step: int) -> bool:
    """Whether every evaluation from a step on, five or more, scores better than the one before."""
    values = score.way * score.points.values[score.points.steps >= step]
    return len(values) >= 5 and bool((np.diff(values) > 0).all())


def _by_heart(track: Track, points: Series, score: Score, rise: float) -> bool:
    """Whether the evaluation loss has risen by a third, the training loss is nothing beside it, and the last evaluation
    gained nothing."""
    loss = track.points("loss", 8)
    known = loss is not None and head_tail(loss.values)[1] < KNOWN * float(points.values[-1])
    values = score.way * score.points.values
    return known and rise >= abs(float(points.values.min())) / 3 and values[-1] < values.max()


def _lifted(after: np.ndarray) -> bool:
    """Whether the values after the best one, however they bounce, stay above it and rise, or stay far above it."""
    if len(after) <= 5:
        return False
    if after[1] < FAR_ABOVE * after[0] and (after[-max(STAYS, len(after) // 2) :] >= FAR_ABOVE * after[0]).all():
        return True
    end, least = float(np.median(after[-(len(after) // 3) :])), LIFTED * abs(after[0])
    late = after[len(after) // 3 :]
    return end - after[0] > least and float(late.min()) > after[0] + least / 2 and mann_kendall(after)[1] > 2


def _left_behind(after: np.ndarray, train: Series | None, step: int) -> bool:
    """Whether all values after the best one lie clearly above it, as the training loss goes on falling at every one."""
    later = train.values[train.steps >= step] if train else np.array([])
    falls = len(later) == len(after) and bool((np.diff(later) < 0).all())
    return falls and len(after) > 3 and after[1:].min() > (1 + LIFTED / 2) * abs(after[0])


def _beside(score: Score | None, step: int) -> tuple[str, str, dict[str, object]]:
    """What the task's score did meanwhile, in both languages, and its numbers."""
    if score is None:
        return "", "", {}
    points = score.points
    first, last = float(points.values[points.steps >= step][0]), float(points.values[-1])
    if score.better:
        en = f", while {points.key} still improves from {first:.4g} to {last:.4g}: judge the checkpoints by that"
        zh = f"，而 {points.key} 仍在改善（{first:.4g} → {last:.4g}）：应以它挑选检查点"
    else:
        best = float((score.way * points.values).max() * score.way)
        en = f"; {points.key} goes from {first:.4g} to {last:.4g} meanwhile (best {best:.4g}) and no longer improves"
        zh = f"；同期 {points.key} 从 {first:.4g} 到 {last:.4g}（最好 {best:.4g}），已不再改善"
    return en, zh, {"task_metric": points.key, "task_first": first, "task_last": last, "task_improves": score.better}


def _never_improved(points: Series, track: Track) -> Iterator[Finding]:
    """Eight evaluations or more that end no better than the first (of twelve: the first third), none 2% below it, as
    the training loss falls by 3% with a trend: what is learned does not carry over. Own judgement."""
    values, train = points.values, track.like("loss", points)
    if len(values) < 8 or train is None or len(train) < 8 or track.is_rl or values[0] <= 0:
        return
    first, last = head_tail(train.values)
    score, begun = scored(track, points, int(points.steps[0])), np.median(values[: max(1, len(values) // 12 * 4)])
    if np.median(values[-3:]) < 0.995 * begun or values.min() < 0.98 * begun or (score and score.better):
        return
    if last > (1 - FALLS) * first or mann_kendall(train.values)[1] > -2:
        return
    en = (
        f"{points.key} is {values[-1]:.4g} after {len(values)} evaluations and was {values[0]:.4g} at the first (best "
        f"{values.min():.4g}), while {train.key} falls from {first:.4g} to {last:.4g}: what is "
        "learned does not carry over."
    )
    zh = (
        f"{len(values)} 次评测后 {points.key} 为 {values[-1]:.4g}，第一次为 {values[0]:.4g}"
        f"（最好 {values.min():.4g}），"
        f"而 {train.key} 从 {first:.4g} 降到 {last:.4g}：学到的东西没有泛化。"
    )
    shown = [(points, -1), (points, 0), (train, -1)]
    yield finding("eval-never-improved", S2, shown, en, zh, baseline=float(values[0]), last=float(values[-1]))


def _train_trend(track: Track, checks: Series, step: int) -> dict[str, float]:
    """Kendall z of the training loss after `step`, where it is logged densely enough and counted like `checks`."""
    loss = track.like("loss", checks)
    later = loss.values[loss.steps >= step] if loss else np.array([])
    return {"train_trend_z": mann_kendall(later)[1]} if len(later) >= 10 else {}


@run_detector("eval-without-score", "an evaluation ran and reported only how long it took", (*EVALUATED, "loss"))
def eval_without_score(tracks: Sequence[Track]) -> Iterator[Finding]:
    """Seconds and rates of an evaluation stand in the log, and in no log of the run a loss or a score of one: no labels
    reached it, or no metric was given to it."""
    named = [s for track in tracks for s in track.series if HELD_OUT.search(s.key) or s.metric in EVALUATED]
    timed = [s for s in named if TIMING.search(s.key)]
    if not timed or len(timed) < len(named):
        return
    points = max(timed, key=lambda s: float(s.values[-1]))
    value, n = float(points.values[-1]), len(points)
    en = f"{points.key} is {value:.5g} at {where(points, n - 1)}, and the evaluation reports no loss and no score."
    zh = f"{points.key} 在{where_zh(points, n - 1)}为 {value:.5g}，但评测没有给出任何 loss 或分数。"
    yield finding("eval-without-score", S2, [(points, n - 1)], en, zh, value=value)


@detector(
    "eval-score-constant",
    "a score of the evaluation is the same every time",
    ("eval_loss", "eval_accuracy", "loss"),
    same_answer_everywhere="the accuracy stands at one value in training, too: every example is answered alike",
)
def eval_score_constant(track: Track) -> Iterator[Finding]:
    """A held-out loss or score that is exactly equal every time while the training or another evaluation moves.

    Five equal values, three at 0 or 1. A 1 beside an evaluation loss of nothing is a solved task, an accuracy of 0 is
    `accuracy-zero`. Own judgement."""
    others = [s for m in ("loss", "eval_loss") if (s := track.points(m, 3)) is not None and np.ptp(s.values) > 0]
    held = track.points("eval_loss")
    solved = held is not None and 0 <= held.values[-1] < NOTHING
    losses = [(p, 0) for m in ("eval_loss", "eval_perplexity") if (p := track.points(m, SAME)) is not None]
    answers = [(finite(s), way(s.key)) for s in track.series if of_answers(s.key) and not held_out(s.key)]
    for points, good in [*task_scores(track), *answers, *losses]:
        if len(points) < SAME_BOUND or np.ptp(points.values) > 0 or not others:
            continue
        n, value = len(points), float(points.values[0])
        at_end = good != 0 and value in (0.0, 1.0, 100.0) and held_out(points.key)
        done = solved and value == {UP: 1.0, DOWN: 0.0}.get(good)
        if n < (SAME_BOUND if at_end else SAME) or done or (points.metric == "eval_accuracy" and value == 0):
            continue
        if (other := next((o for o in others if o.key != points.key), None)) is None:
            continue
        if (trained := stands_in_training(track, points)) is not None:
            yield answers_alike(points, trained, other)
            continue
        en = (
            f"{points.key} is exactly {value:.4g} in all {n} evaluations while {other.key} moves from "
            f"{other.values[0]:.4g} to {other.values[-1]:.4g}: are the references placeholders, or is another model "
            "evaluated than the one that trains?"
        )
        zh = (
            f"{points.key} 在全部 {n} 次评测中都恰好是 {value:.4g}，而 {other.key} 从 {other.values[0]:.4g} 变到 "
            f"{other.values[-1]:.4g}：参考答案是占位符，还是评测的不是正在训练的模型？"
        )
        yield finding("eval-score-constant", S2, [(points, n - 1), (points, 0)], en, zh, value=value, points=n)


@detector("eval-regression", "an evaluation became worse from one time to the next and stayed so", EVALUATED, 6)
def eval_regression(track: Track) -> Iterator[Finding]:
    """Within two evaluations far worse than the best one, and at least half of the loss is kept to the end.

    Far: six times the noise, 5% of the level, and two thirds of all that is lost in the end; over-fitting bends up
    slowly. Two, because what went wrong may lie shortly before an evaluation. At least four evaluations before and two
    after. S2: was it the model or the evaluation? Own judgement.
    """
    for series in track.series:
        points, way = finite(series), -VOCABULARY[series.metric].better if series.metric in EVALUATED else 0
        values = way * points.values
        if not way or len(values) < 6:
            continue
        good = int(np.argmin(values))
        if not 3 <= good <= len(values) - 3:
            continue
        before, lost = float(values[good]), values[good + 1 :] - values[good]
        spread, step = noise(np.diff(values[: good + 1])) / np.sqrt(3), float(lost[:2].max())
        if step < max(0.05 * abs(before), 6 * spread, 2 / 3 * lost.max()) or lost[1:].min() < 0.5 * step or step <= 0:
            continue
        if values[good - 1] - before >= step / 2 < lost[:2].max():
            continue  # it leapt there and back
        at = good + (1 if lost[0] >= max(3 * spread, 0.1 * step) else 2)
        old, new, last = float(points.values[good]), float(points.values[at]), float(points.values[-1])
        en = (
            f"{points.key} goes from {old:.4g} at {where(points, good)} to {new:.4g} at {where(points, at)} and "
            f"does not come back: it ends at {last:.4g}."
        )
        zh = (
            f"{points.key} 从{where_zh(points, good)}的 {old:.4g} 变为{where_zh(points, at)}的 {new:.4g}，"
            f"之后没有恢复，最后为 {last:.4g}。"
        )
        shown = [(points, at), (points, good), (points, -1)]
        steps = {"last_good": int(points.steps[good]), "first_bad": int(points.steps[at])}
        yield finding("eval-regression", S2, shown, en, zh, **steps, baseline=old, last=last)


def _left(score: Series, good: int) -> float:
    """The share that a score of the task has left to gain at the end."""
    last, scale = float(score.values[-1]), 100.0 if float(np.max(score.values)) > 1.5 else 1.0
    return 1 - last / scale if good == UP else last / scale


def _harder(track: Track, checks: Series) -> bool:
    """Whether the accuracy on the training rows ends well below the held-out one: rows that leaked are training rows
    too, so what makes these hard is how they are measured (augmentation, mixed labels, dropout)."""
    own, held = track.like("accuracy", checks), track.like("eval_accuracy", checks)
    if own is None or held is None or not len(own) or not len(held):
        return False
    return _left(own, UP) - _left(held, UP) >= FAR


def _summed(checks: Series, train: Series, level: float) -> Finding:
    """A mean over tokens does not stay above that of guessing beside an evaluation of the same model far below it."""
    en = (
        f"{train.key} stays near {level:.4g}, above what guessing among 262,144 tokens gives (12.5), while "
        f"{checks.key} is {checks.values[-1]:.4g}: what is logged is a sum (over accumulation steps) and no mean."
    )
    zh = (
        f"{train.key} 停在 {level:.4g} 附近，高于在 262,144 个 token 中随机猜测的 12.5，而 {checks.key} 为 "
        f"{checks.values[-1]:.4g}：记录的是求和（梯度累积）而不是平均。"
    )
    return finding("loss-summed", S2, [(train, -1), (checks, -1)], en, zh, value=level, baseline=GUESSING)


@points_detector(
    "loss-below-train",
    "the evaluation loss is well below the training loss",
    "eval_loss",
    3,
    loss_summed="the training loss is above that of guessing, the evaluation loss of the same steps is not",
)
def loss_below_train(checks: Series, track: Track) -> Iterator[Finding]:
    """Evaluation below training loss by 15% at four evaluations of five: a suspicion of leakage to be tested.

    Only a training loss that is counted as the evaluations are and was logged shortly before them: a progress bar's
    running loss within an epoch says nothing beside an epoch's evaluation. Dropout, augmentation, averaging over a
    window and an easier mix look the same (contradictions X-22), hence S3, S2 from 40%; not where a score of the task
    is far from perfect, nor where the training rows are themselves answered far worse, and beside a loss that is next
    to nothing only where it is perfect.
    """
    train = track.like("loss", checks)
    if train is None or track.is_rl:
        return
    gaps, reach = [], max((float(np.median(np.diff(s.steps))) for s in (checks, train) if len(s) > 1), default=np.inf)
    for step, value in zip(checks.steps, checks.values, strict=True):
        near = train.values[(train.steps <= step) & (train.steps > step - max(reach, 1))][-10:]
        if len(near) and np.median(near) > 0:
            gaps.append(1 - value / np.median(near))
    if len(gaps) < 3:
        return
    share, gap = float(np.mean(np.array(gaps) >= 0.15)), float(np.median(gaps))
    if share < 0.8:
        return
    en = (
        f"{checks.key} is {gap:.0%} below the training loss at {share:.0%} of {len(gaps)} evaluations; test the "
        "overlap of both sets before concluding (dropout or an easier mix gives the same picture)."
    )
    zh = (
        f"{len(gaps)} 次评测中有 {share:.0%} 的 {checks.key} 低于训练 loss，中位差 {gap:.0%}；"
        "先检查两者数据重合再下结论（dropout 或更容易的数据也会如此）。"
    )
    ends = [_left(points, good) for points, good in task_scores(track) if len(points)]
    hard = _harder(track, checks)
    telling = (np.median(train.values) > LOW and max(ends, default=0.0) < FAR and not hard) or 0.0 in ends
    shown, severity = [(checks, -1), (train, -1)], S2 if gap >= 0.4 and telling else S3
    if (level := float(np.median(train.values))) > GUESSING > 2 * checks.values.max():
        yield _summed(checks, train, level)
        return
    yield finding("loss-below-train", severity, shown, en, zh, gap=gap, evaluations=len(gaps))

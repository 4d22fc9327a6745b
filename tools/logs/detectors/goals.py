"""Detectors of goals that are never reached: policies that act (robots, games), scores that stay at nothing, and
accuracies on held-out data that stay where they are while a loss says that the model learns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding
from ...metrics import held_out
from ...patterns import bounded
from ...series import MOST_LOSS, Series
from ...vocabulary import UP
from .detector import S2, Track, detector, finding, where, where_zh
from .evaluation import way
from .robust import finite, head_tail, mann_kendall, start_end

NEARLY_ALL, GONE = 0.9, 0.02
"""Share of groups without spread, and what is left of the gradient norm, where a run does nothing. Own judgement."""
LEAST = 20
"""Points from which on a policy had the time to reach its goal once in a while."""
HARDLY = 0.1
"""Share of successes that chance gives on easy goals: none of the last two thirds lies above twice that, and their mean
is below half. Own judgement."""
FEW, STILL, FALLEN = 5, 0.02, 0.9
"""Accuracies that are told apart at least, the share within which they stay where they are, and the share that is left
of a training loss that falls meanwhile. Own judgement."""
HELD_FALLEN = 0.95
"""Share that is left of a held-out loss that falls: it is measured on the very items, and has less noise."""
LEAST_ITEMS, MOST_ITEMS, TURNED = 50, 5000, 3
"""Items of an evaluation that its figures tell apart, and how many of them change their verdict where nothing moves."""
EPSILON = bounded(r"(?i)(?:^|[/_. ])(?:epsilon|eps(?:_?greedy)?|exploration[_ ]?(?:rate|prob\w*)?|ε|探索率)$")
NO_ACTIONS = bounded(r"(?i)adam|optim|norm|clip|layer|rms|privacy|target|smooth")
"""Epsilons of an optimizer, a norm, a clipped ratio and a budget of privacy."""
POLICY = frozenset({"kl", "ppo_kl", "response_length", "clip_fraction"})
"""What is logged of a policy of a language model."""
RATES, RANDOM = 40, 0.9
"""Values of epsilon, and share of random actions at the end that shows that it hardly fell. Own judgement."""
BELOW = 0.5
"""What an accuracy that stays does not exceed: the one of choosing between two."""


@detector(
    "goal-never-reached",
    "hardly an episode reaches its goal from the first point to the last",
    ("success_rate",),
    LEAST,
)
def goal_never_reached(track: Track) -> Iterator[Finding]:
    """Twenty points or more of a success rate whose later two thirds lie at nothing, with no trend upwards.

    A policy that finds a sparse goal late is told by its trend. Held-out episodes stand for those of the training.
    """
    found = [finite(s) for s in track.series if s.metric == "success_rate"]
    told = sorted((s for s in found if len(s) >= LEAST), key=lambda s: not held_out(s.key))
    for points in told[:1]:
        n, scale = len(points), 100.0 if points.values.max() > 1 else 1.0
        values, later = points.values / scale, points.values[n // 3 :] / scale
        if later.max() > 2 * HARDLY or later.mean() > HARDLY / 2 or mann_kendall(values)[1] > 2:
            continue
        most, at = float(points.values.max()), int(points.values.argmax())
        en = (
            f"{points.key} is {points.values[-1]:.4g} at {where(points, n - 1)} and was never above {most:.4g} in {n} "
            "points: hardly an episode reaches its goal, and there is no trend."
        )
        zh = (
            f"{points.key} 在{where_zh(points, n - 1)}为 {points.values[-1]:.4g}，{n} 个点里最高只有 {most:.4g}："
            "几乎没有一个回合达到目标，也没有上升趋势。"
        )
        yield finding("goal-never-reached", S2, [(points, n - 1), (points, at)], en, zh, points=n, value=most)


SCORED, NOTHING_RIGHT, GROWN = 5, 0.01, 1.2
"""Evaluations of a score that show it, the level that is nothing of any score's range, and the growth by which it only
begins. Own judgement."""


@detector(
    "score-next-to-nothing", "a score of the task stays next to nothing while the loss is trained", ("loss",), SCORED
)
def score_next_to_nothing(track: Track) -> Iterator[Finding]:
    """Five values or more of a score of the task (IoU, mAP, Dice, F1, accuracy), none above a hundredth and the last
    ones no higher than the first: that part learns nothing, whatever the loss does. All zero is `accuracy-zero`."""
    if track.is_rl:
        return
    for points in (finite(s) for s in track.series if s.metric != "reward" and way(s.key) == UP):
        values, n = points.values, len(points)
        if n < SCORED or not values.any() or not 0 <= values.min() <= values.max() <= NOTHING_RIGHT:
            continue
        first, last = float(values[: n // 3].mean()), float(values[-(n // 3) :].mean())
        if last > GROWN * first or mann_kendall(values)[1] > 1:
            continue
        en = (
            f"{points.key} is {values[0]:.3g} at {where(points, 0)} and {values[-1]:.3g} at {where(points, n - 1)}, "
            f"never above {values.max():.3g} in {n} points: what it counts is not learned."
        )
        zh = (
            f"{points.key} 在{where_zh(points, 0)}为 {values[0]:.3g}，在{where_zh(points, n - 1)}为 {values[-1]:.3g}，"
            f"{n} 个点从未超过 {values.max():.3g}：它所衡量的任务没有学到。"
        )
        yield finding("score-next-to-nothing", S2, [(points, n - 1), (points, 0)], en, zh, points=n)
        return


@detector("eval-score-flat", "the held-out accuracy hardly moves while a loss falls", ("eval_accuracy",), FEW)
def eval_score_flat(track: Track) -> Iterator[Finding]:
    """Five accuracies or more, below half of what is possible, that stay where they are as a loss falls after the first
    of them: what is learned does not show there, or the accuracy counts something else.

    They stay within 2% of each other beside a training loss that falls by a tenth, or within three of the items that
    are evaluated beside a held-out loss that falls by a twentieth without turning back. A high one may be as good as it
    gets; an exactly equal one is `eval-score-constant`. Own judgement.
    """
    points = track.points("eval_accuracy", FEW)
    if points is None or track.is_rl:
        return
    values, n = points.values, len(points)
    low, high = float(values.min()), float(values.max())
    fallen = _fallen(track, points) if high - low > 0 and high <= (100 * BELOW if high > 1 else BELOW) else None
    if fallen is None:
        return
    loss, first, last = fallen
    items = items_of(values)
    turned = round((high - low) * items / (100 if high > 1 else 1)) if items else 0
    some, some_zh = (f" ({turned} of {items} items)", f"（{items} 条中的 {turned} 条）") if items else ("", "")
    en = (
        f"{points.key} stays between {low:.4g} and {high:.4g}{some} in {n} evaluations, while {loss.key} falls from "
        f"{first:.4g} to {last:.4g}: does it count what it should (padding, the format of answers, what the loss "
        "compares with)?"
    )
    zh = (
        f"{points.key} 在 {n} 次评测中一直在 {low:.4g} 到 {high:.4g} 之间{some_zh}，而 {loss.key} 从 {first:.4g} 降到 "
        f"{last:.4g}：它统计的是该统计的吗（padding、答案格式、loss 所对比的参考）？"
    )
    shown = [(points, n - 1), (points, 0), (loss, -1)]
    yield finding("eval-score-flat", S2, shown, en, zh, points=n, baseline=low, value=float(values[-1]))


def _fallen(track: Track, points: Series) -> tuple[Series, float, float] | None:
    """The loss that falls while the accuracies stay, what it was and what it is."""
    values, train, held = points.values, track.get("loss"), track.like("eval_loss", points)
    low, spread = float(values.min()), float(np.ptp(values))
    later = finite(train).values[finite(train).lines > points.lines[0]] if train is not None else np.array([])
    if train is not None and len(later) >= FEW and spread < STILL * low:
        first, last = head_tail(later, 0.1)
        if last <= FALLEN * first:
            return train, float(first), float(last)
    items = items_of(values)
    if held is None or len(held) < FEW or not items or spread * items > TURNED * (100 if values.max() > 1 else 1) + 0.5:
        return None
    kept, first, last = finite(held).values, float(held.values[0]), float(held.values[-1])
    falls = len(kept) == len(held) and last <= HELD_FALLEN * first and mann_kendall(kept)[1] <= -2
    return (held, first, last) if falls and first > 0 else None


def items_of(values: np.ndarray) -> int:
    """Of how many items accuracies are shares, as their figures tell it; 0 where they tell of none or of few."""
    shares = np.unique(values / (100 if values.max() > 1 else 1))
    for items in range(1, MOST_ITEMS + 1):
        if np.abs(shares * items - np.round(shares * items)).max() < 1e-6 * items:
            return items if items >= LEAST_ITEMS else 0
    return 0


ERRORS = bounded(r"(?i)(?:^|[_/ .-])(?:wer|cer|(?:word|char(?:acter)?|token)_?error_?rate)$|[字词]错误?率$")
ANSWERS = bounded(r"(?i)(?:^|[_/ .-])(?:(?:sacre)?bleu|rouge_?(?:l|lsum|1)?|chrf|exact_?match|em)$")
NO_LOSS, WRONG, RIGHT = 0.2, 0.8, 0.02
"""Held-out loss, in nats, with which nearly every next token is right; error rate, and score of answers, with which
what is written is wrong. Own judgement."""


@detector("wrong-at-no-loss", "what is written is wrong though the held-out loss is next to nothing", ("eval_loss",))
def wrong_at_no_loss(track: Track) -> Iterator[Finding]:
    """S2: at the last evaluation the loss is below 0.2 while the error rate of what is written is above 80%, or its
    score below 2%: each next token is right behind the reference, and not behind the model's own text, or what is
    written is compared otherwise than the loss compares it."""
    held = track.points("eval_loss", 1)
    if held is None or track.is_rl or not 0 <= held.values[-1] <= NO_LOSS:
        return
    for points in (finite(s) for s in track.series if ERRORS.search(s.key) or ANSWERS.search(s.key)):
        if not len(points) or points.steps[-1] != held.steps[-1]:
            continue
        share = float(points.values[-1]) / (100 if np.abs(points.values).max() > 2 else 1)
        if share >= WRONG if ERRORS.search(points.key) else share <= RIGHT:
            en = (f"{points.key} is {points.values[-1]:.4g} where {held.key} is {held.values[-1]:.3g} "
                  f"({where(held, -1)}): behind the reference every next token is right, and what is written is wrong. "
                  "How it is written (prompt, forced tokens, limit) or compared (case, blanks, format) is not what was "
                  "trained, or the held-out rows were trained on.")  # fmt: skip
            zh = (f"{points.key} 为 {points.values[-1]:.4g}，而 {held.key} 只有 {held.values[-1]:.3g}"
                  f"（{where_zh(held, -1)}）：以参考答案为前文时每个 token 都对，"
                  "自己生成时却是错的。"
                  "生成方式（提示、强制 token、长度）或比较方式（大小写、空格、格式）与训练不一致，"
                  "或评测样本被训练过。")  # fmt: skip
            yield finding("wrong-at-no-loss", S2, [(points, -1), (held, -1)], en, zh, value=share)
            return


KNOWN, ABOVE, TIMES = 1.0, 2.0, 3.0
"""Training loss, in nats, up to which rows may be known by heart; by how much and how many times a held-out loss lies
above it that was never learned. Own judgement: an untrained model is 8 to 12, a good one 1 to 3."""


@detector("held-out-far-above", "the held-out loss ends far above the training loss", ("loss", "eval_loss"))
def held_out_far_above(track: Track) -> Iterator[Finding]:
    """S2: the training loss fell to half and below one nat, the last held-out loss lies two nats and three times above
    it: the rows are known by heart, or the two are counted otherwise. What rises from evaluation to evaluation is
    `eval-loss-rising`."""
    train, held = track.points("loss", FEW), track.points("eval_loss", 1)
    if train is None or held is None or track.is_rl or held.values[-1] > MOST_LOSS:
        return
    first, last = head_tail(train.values)
    low, high = float(last), float(held.values[-1])
    near = held.lines[-1] >= train.lines[len(train) // 2] if held.file == train.file else True
    if near and 0 <= low <= min(KNOWN, first / 2) and high >= max(low + ABOVE, TIMES * low):
        en = (f"{held.key} is {high:.4g} at {where(held, -1)}, {train.key} {low:.3g} by then ({first:.3g} at the "
              "start): the rows of the training are known, others are not.")  # fmt: skip
        zh = (f"{held.key} 在{where_zh(held, -1)}为 {high:.4g}，而 {train.key} 已到 {low:.3g}"
              f"（开始为 {first:.3g}）："
              "训练样本记住了，没见过的却不会。")  # fmt: skip
        yield finding("held-out-far-above", S2, [(held, -1), (train, -1)], en, zh, gap=high - low)


@detector("actions-stay-random", "nearly all actions are still random at the end of the log", ["reward"])
def actions_stay_random(track: Track) -> Iterator[Finding]:
    """S2: epsilon, a share, is above 0.9 from the first of forty values to the last."""
    shown = next((finite(s) for s in track.series if EPSILON.search(s.key) and not NO_ACTIONS.search(s.key)), None)
    if shown is None or len(shown) < RATES or any(s.metric in POLICY for s in track.series):
        return
    if RANDOM <= shown.values.min() <= shown.values.max() <= 1:
        first, last = float(shown.values[0]), float(shown.values[-1])
        en = (f"{shown.key} is {last:.4g} at {where(shown, -1)} and was {first:.4g} at the start: nearly every action "
              "is still drawn at random, so the reward shows chance and not what was learned.")  # fmt: skip
        zh = (f"{shown.key} 开始为 {first:.4g}，到{where_zh(shown, -1)}仍为 {last:.4g}：动作几乎都是随机选的，"
              "奖励反映的是随机性而不是学到的东西。")  # fmt: skip
        yield finding("actions-stay-random", S2, [(shown, -1), (shown, 0)], en, zh, last=last)


def idle(share: Series | None, norm: Series | None) -> bool:
    """Whether nearly all groups of the later half are without spread, and next to nothing is left of the gradient."""
    if share is None or norm is None or np.quantile(share.values[len(share) // 2 :], 0.1) < NEARLY_ALL:
        return False
    first, last = start_end(norm.values)
    return last < GONE * first

"""Detectors of what a reward is paid for, and of pairs that are never told apart.

What a reward or a margin does by itself is `rl`; here it is held against other columns of the same records, known to
the vocabulary or not.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from math import log

import numpy as np

from ...findings import Finding
from ...patterns import bounded
from ...series import Series
from ...vocabulary import DOWN, VOCABULARY
from .detector import POLICY_METRICS, RL_METRICS, S2, S3, Track, detector, finding, points_detector, where
from .levels import PREFERENCE
from .robust import head_tail, mann_kendall, noise, start_end

LEAST = 10
"""Points of a curve from which on its end says something."""

LN2 = log(2)
NEAR, NARROW, EVEN = 0.03, 0.05, 0.05
"""How near ln 2 (as a share), a margin of 0 and an accuracy of one half are. Own judgement."""
MIXED = frozenset({"sft_loss", "nll_loss", "odds_ratio_loss", "log_odds_ratio"})
"""Metrics of a preference loss with a likelihood term (ORPO, CPO), which does not start at ln 2."""
NARROWEST = 0.005
"""Margin of such a run below which nothing was told apart: a log odds ratio of 0.05 at the usual beta of 0.1. Own
judgement."""
TOLD_APART = 0.7
"""Accuracy from which on the pairs are told apart, however small the margin is yet. Own judgement."""
STEPS, POINTS = 100, 30
"""Steps, or points where the steps are not numbered, that are enough to tell pairs apart. Own judgement."""

FAULT = re.compile(
    r"(?:penal|invalid|timeout|timed_out|truncat|clipped|cheat|hack|exploit|refus|violat|repetit|gibberish|malformed"
    r"|degenerat|noop|empty|leak|(?:^|[^a-z])(?:err|error|fail|abort)[a-z]{0,4}(?:$|[^a-z]))"
)
"""Keys of what nobody wants in an answer."""
KEPT_FOR = frozenset({"kl", "clip_fraction"})
"""Metrics with a penalty or a clip in their names that are judged for themselves."""
RISE, TIMES, TREND = 0.15, 1.5, 3.0
"""How much a share of faults climbs to be a climb: by itself, in multiples, in Kendall's z. Own judgement."""
PAIRED, TIED, COMMON = 50, 0.5, 0.1
"""Points, rank correlation of the changes, and the share of faults from which on a reward pays for them."""
TWIN = 0.99
"""Correlation from which on another column tells the same."""


@points_detector("preference-not-learned", "chosen and rejected are never told apart", "loss", 10)
def preference_not_learned(loss: Series, track: Track) -> Iterator[Finding]:
    """The loss starts and ends within 3% of ln 2, and the margin ends below 0.05 or the accuracy at one half, after
    100 steps (30 points where steps are not numbered). With a likelihood term in the loss: the margin ends below 0.005.

    ln 2 is where preference losses start, so the first steps say nothing. A margin that is small but there can be a
    learning rate too low as well as a policy that is its own reference.
    """
    margin, share = (track.points(name, 5) for name in ("reward_margin", "reward_accuracy"))
    first, last = head_tail(loss.values)
    enough = loss.steps[-1] >= STEPS if loss.step_is == "step" else len(loss) >= POINTS
    if (margin is None and share is None) or not enough:
        return
    if margin is not None and any(s.metric in MIXED for s in track.series):
        yield from _mixed(loss, margin, share)
        return
    if max(abs(first - LN2), abs(last - LN2)) > NEAR * LN2:
        return
    gap = None if margin is None else head_tail(margin.values)[1]
    right = None if share is None else head_tail(share.values)[1]
    if not (abs(gap) < NARROW if gap is not None else right is not None and abs(right - 0.5) < EVEN):
        return
    told = [f"{s.key} {v:.3g}" for s, v in ((margin, gap), (share, right)) if s is not None]
    en = (
        f"{loss.key} is {last:.4g} at {where(loss, len(loss) - 1)}, within {NEAR:.0%} of ln 2 = {LN2:.4g} where it "
        f"began, and ends with {' and '.join(told)}: the policy has hardly left the reference."
    )
    zh = (
        f"{loss.key} 到最后仍为 {last:.4g}，与起点 ln 2 = {LN2:.4g} 相差不到 {NEAR:.0%}（{'，'.join(told)}）："
        "策略几乎没有离开参考模型。"
    )
    shown = [(loss, -1), *((s, -1) for s in (margin, share) if s is not None)]
    severity = S3 if right is not None and right > TOLD_APART else S2
    yield finding("preference-not-learned", severity, shown, en, zh, margin=gap, accuracy=right, last=last)


def _mixed(loss: Series, margin: Series, share: Series | None) -> Iterator[Finding]:
    """The same where the loss falls by its likelihood term whatever becomes of the pairs; pairs that are nearly the
    same text have a margin of nothing even where most are ranked rightly."""
    gap = head_tail(margin.values)[1]
    ranked = share is not None and head_tail(share.values)[1] >= TOLD_APART
    if abs(gap) < NARROWEST and not ranked:
        en = f"{margin.key} ends at {gap:.2g}: the likelihood was learned, the pairs were not told apart."
        zh = f"{margin.key} 最后为 {gap:.2g}：损失中的似然项学到了，但没有学会区分偏好对。"
        yield finding(
            "preference-not-learned", S2, [(margin, -1), (loss, -1)], en, zh, margin=gap, last=loss.values[-1]
        )


@detector("reward-pays-for-fault", "a share of faults grows with the reward", ["reward"], 20)
def reward_pays_for_fault(track: Track) -> Iterator[Finding]:
    """A column named as a fault (penalty, invalid, cheat, ...) climbs while the reward climbs, or goes up and down with
    the reward from step to step.

    Shares only (0 to 1, of either sign), so that no penalty on a loss scale and no error of a critic counts. A fault
    ought to cost reward: where it pays, the reward is being gamed, or the column is no fault. Own judgement.
    """
    reward = track.points("reward", 20)
    if reward is None:
        return
    found = [(s, how) for s in _faults(track) if (how := _paid(s, reward))]
    if not found:
        return
    (series, how), *others = found
    also = [o.key for o, _ in others]
    also += [s.key for s in track.series if s.key not in (series.key, *also) and _same(s, series)]
    names = ", ".join(also)
    first, last = head_tail(series.values, 0.2)
    more, more_zh = (f" So does {names}.", f"同样的还有 {names}。") if names else ("", "")
    ways = {
        "climbs": ("climbs as it does", "同时上升"),
        "tied": ("goes up and down with it from step to step", "逐步同升同降"),
    }
    en = (
        f"{series.key} goes from {first:.3g} to {last:.3g} and {ways[how][0]}: {reward.key} goes from "
        f"{reward.values[0]:.4g} to {reward.values[-1]:.4g}. Is the reward paid for what the name calls a fault?{more}"
    )
    zh = (
        f"{series.key} 从 {first:.3g} 到 {last:.3g}，与 {reward.key}（{reward.values[0]:.4g} → "
        f"{reward.values[-1]:.4g}）{ways[how][1]}：奖励是否在为名字所指的毛病付分？{more_zh}"
    )
    data = {"columns": [series.key, *also], "how": how, "baseline": first, "last": last}
    yield finding("reward-pays-for-fault", S2, [(series, -1), (series, 0), (reward, -1)], en, zh, **data)


def _faults(track: Track) -> Iterator[Series]:
    """The columns that are named as a fault and hold shares, as their size."""
    for series in track.series:
        known = VOCABULARY.get(series.metric)
        if not FAULT.search(series.key.lower()) or series.metric in KEPT_FOR or (known and known.better != DOWN):
            continue
        points = track.points(series.metric, 20)
        if points is not None and 0 < np.abs(points.values).max() <= 1:
            yield Series(**{**vars(points), "values": np.abs(points.values)})


def _paid(fault: Series, reward: Series) -> str:
    """How a fault goes with the reward, "" where it does not."""
    first, last = head_tail(fault.values, 0.2)
    start, end = head_tail(reward.values, 0.2)
    climbs = last >= max(first + RISE, TIMES * first) and mann_kendall(fault.values)[1] > TREND
    if climbs and end - start > noise(reward.values) and mann_kendall(reward.values)[1] > TREND:
        return "climbs"
    _, at, of = np.intersect1d(fault.steps, reward.steps, return_indices=True)
    if len(at) < PAIRED or np.median(fault.values) < COMMON:
        return ""
    changes = _ranks(np.diff(fault.values[at])), _ranks(np.diff(reward.values[of]))
    flat = any(np.ptp(c) == 0 for c in changes)
    return "" if flat or np.corrcoef(*changes)[0, 1] < TIED else "tied"


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks of the values, equal ones sharing theirs."""
    _, back, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[back]


def _same(series: Series, other: Series) -> bool:
    """Whether a column says the same as another: a second name for the fault."""
    if len(series) != len(other) or (series.steps != other.steps).any() or not np.isfinite(series.values).all():
        return False
    moves = np.ptp(series.values) > 0 and np.ptp(other.values) > 0
    return bool(moves and np.corrcoef(series.values, other.values)[0, 1] > TWIN)


SUMMED = bounded(
    r"(?i)(?:^|[^a-z])(?:sum(?:med)?|seq(?:uence)?s?|per_(?:answer|response|sample|completion)|traj\w{0,8}|episode)(?:[^a-z]|$)|序列|求和|之和|总和|整条|每条"
)
"""A KL that is added up over the tokens of an answer, by its name."""


def of_completions(kl: Series, track: Track) -> Generator[Finding, None, bool]:
    """A note, and true, where rewards of single answers, not of pairs, stand beside the KL and it is no smaller than
    they: a reward is beta times the log ratio of a whole answer, a KL per token some hundred times smaller."""
    if SUMMED.search(kl.key) and "tok" not in kl.key.lower():
        long = track.points("response_length", LEAST)
        each = start_end(kl.values)[1] / max(start_end(long.values)[1], 1.0) if long is not None else None
        per = (
            ("", "")
            if each is None
            else (f", {each:.3g} per token of the answers", f"，按回复长度合每 token {each:.3g}")
        )
        text = f"{kl.key} is summed over the answer by its name{per[0]}: it has no range of its own."
        yield finding(
            "kl-of-completions", S3, [(kl, -1)], text, f"{kl.key} 按名称是整条回复之和{per[1]}：没有固定范围。"
        )
        return True
    rewards = [p for name in ("reward_chosen", "reward_rejected") if (p := track.points(name, LEAST)) is not None]
    most = max((abs(start_end(r.values)[1]) for r in rewards), default=0.0)
    last = start_end(kl.values)[1]
    if track.get("reward_accuracy") is not None or len(rewards) < 2 or not 0 < most <= last:
        return False
    text = f"{kl.key} ends at {last:.4g}: it is of whole completions, by the rewards beside it, and not per token."
    zh = f"{kl.key} 最后为 {last:.4g}：由旁边的奖励可知这是整条回复的 KL，不是每 token 的。"
    yield finding("kl-of-completions", S3, [(kl, -1)], text, zh)
    return True


TERM = bounded(r"(?i)(?:^|[_/])(?:x?ce|bce|nll|mse|recon\w{0,12}|elbo)(?:[_/]|$)")
"""The other term of a loss that a divergence is added to."""


def of_no_policy(track: Track) -> tuple[str, str]:
    """What must hold for a divergence to be a fault, where it stands beside a loss and its other term and nothing of a
    policy or of preferences: it may be that of a posterior (a variational auto-encoder), which has no such range."""
    others = {s.metric for s in track.series} - {"kl"}
    policy = others & {*RL_METRICS, *POLICY_METRICS, *PREFERENCE}
    if "loss" not in others or policy or not any(TERM.search(s.key) for s in track.series):
        return "", ""
    return "; a fault only if there is a reference: it is logged as a term of the loss, and nothing of a policy", (
        "；只有存在参考模型时才算故障：它是作为损失的一项记录的，没有任何策略的量"
    )

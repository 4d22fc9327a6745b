"""Detectors for reinforcement learning and preference training: KL, entropy, reward, response length.

Good runs break textbook limits (entropy 0.05 to 0.4, clipped gradients), so levels are judged against the
run's own start. Where a runbook gives a limit without a definition, the definition assumed is printed
(contradictions U-xx).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...series import Series
from .detector import (
    S1,
    S2,
    S3,
    Track,
    detector,
    finding,
    finite,
    head_tail,
    mann_kendall,
    noise,
    onset,
    start_end,
    where,
    where_zh,
)

LEAST = 10
"""Points below which no trend is judged. Own judgement."""


def _points(track: Track, metric: str, least: int = LEAST) -> Series | None:
    series = track.get(metric)
    if series is None:
        return None
    points = finite(series)
    return points if len(points) >= least else None


def _changed(points: Series, low: float, high: float = np.inf) -> int:
    """First index from which all values lie outside `low..high`, smoothed over three; the last if never."""
    values = points.values
    start = onset((values < low) | (values > high))
    return start if start is not None else int(np.argmax((values < low) | (values > high)))


def _level(
    code: str, severity: Severity, points: Series, i: int, first: float, last: float, en: str, zh: str, **data: object
) -> Finding:
    """A finding about a level that moved from `first` to `last`, from point `i` on."""
    return finding(
        code,
        severity,
        [(points, i), (points, len(points) - 1)],
        f"{points.key} goes from {first:.4g} to {last:.4g}; {en} (from {where(points, i)}).",
        f"{points.key} 从 {first:.4g} 变为 {last:.4g}；{zh}（自{where_zh(points, i)}起）。",
        baseline=first,
        last=last,
        factor=last / first if first else None,
        **data,
    )


@detector("kl-above-range", "the KL divergence to the reference leaves its range", ["kl"], kl_negative="KL below zero")
def kl_above_range(track: Track) -> Iterator[Finding]:
    """KL ends above 1.0 after growing: S1 from ten times its early level, S2 from three, S3 without growth.

    Limits 0.01..0.5 healthy, above 1.0 failed: runbook 000 (DPO). Definition assumed (U-01): mean per-token
    KL to the reference, nats. A sum over the sequence exceeds 1.0 trivially, so a log that starts above 1.0
    is S2 at most.
    """
    points = _points(track, "kl")
    if points is None:
        return
    first, last = start_end(points.values)
    if last > 1.0:
        grown = last / max(first, 0.01)
        severity = S3 if grown < 3 else (S1 if grown >= 10 and first <= 1.0 else S2)
        i = _changed(points, -np.inf, max(0.5, 3 * max(first, 0.0)))
        yield _level(
            "kl-above-range",
            severity,
            points,
            i,
            first,
            last,
            "above 1.0 (assumed: mean per-token KL to the reference in nats)",
            "超过 1.0（假定为每 token 对参考模型的平均 KL，单位 nat）",
            limit=1.0,
        )
    if last < -0.05 and (points.values < 0).mean() > 0.5:
        i = int(np.argmax(points.values < 0))
        yield _level(
            "kl-negative",
            S2,
            points,
            i,
            first,
            last,
            "a mean KL cannot be negative: log-probabilities of two engines or templates differ",
            "平均 KL 不应为负：两个引擎或模板的 log 概率不一致",
        )


@detector(
    "entropy-collapse",
    "the policy entropy falls to almost nothing against its own start",
    ["entropy"],
    entropy_explosion="the policy entropy grows severalfold",
)
def entropy_collapse(track: Track) -> Iterator[Finding]:
    """Entropy ends below a fifth of its start and below 0.03 nats (S1), or below a quarter and 0.1 (S2).

    Runbook 000 asks for more than 0.5; good runs live at 0.05 to 0.4 (field notes), so the trend decides and
    a low start is no collapse. Definition assumed (U-02): mean per-token entropy in nats over response
    tokens. It can rise before it falls, so the onset is the first point that leaves the band for good. A
    rise to three times the start and by more than one nat is an explosion. Numbers: own judgement.
    """
    points = _points(track, "entropy")
    if points is None or not track.is_rl:
        return
    first, last = start_end(points.values)
    if first <= 0:
        return
    noted = "assumed: mean per-token entropy in nats"
    noted_zh = "假定为每 token 平均熵，单位 nat"
    if first >= 0.02 and last <= 0.25 * first and last < 0.1:
        severe = last <= 0.2 * first and last < 0.03
        i = _changed(points, 0.6 * first, 1.6 * first)
        severity = S1 if severe else S2
        if severe and first < 0.1 and not _reward_falls(track):
            severity = S2
        yield _level(
            "entropy-collapse", severity, points, i, first, last, f"output diversity is gone; {noted}",
            f"输出多样性消失；{noted_zh}", runbook_limit=0.5,
        )  # fmt: skip
    elif last >= 3 * first and last - first > 1.0:
        i = _changed(points, -np.inf, 2 * first)
        severity = S1 if _reward_falls(track) else S2
        yield _level(
            "entropy-explosion", severity, points, i, first, last, f"the policy turns random; {noted}",
            f"策略趋于随机；{noted_zh}",
        )  # fmt: skip


def _reward_falls(track: Track) -> bool:
    points = _points(track, "reward", 8)
    if points is None:
        return False
    first, last = start_end(points.values)
    return first - last > max(4 * noise(points.values), 0.1 * abs(first))


@detector(
    "reward-decline",
    "the reward ends far below where it started",
    ["reward"],
    reward_flat="the reward never moves",
)
def reward_decline(track: Track) -> Iterator[Finding]:
    """The reward ends below its start by four deviations and a quarter of its size (S1; a tenth is S2), or
    far below its best (S2).

    A reward without any trend over 100 points is S3, one that is exactly constant S2. Numbers: own judgement.
    """
    points = _points(track, "reward")
    if points is None:
        return
    values = points.values
    first, last = start_end(values)
    spread = noise(values)
    size = max(abs(first), float(np.median(np.abs(values))), 1e-6)
    fall = first - last
    tail = values[-max(3, len(values) // 5) :]
    if fall > max(4 * spread, 0.1 * size) and (tail < first - 0.5 * fall).mean() > 0.9:
        i = _changed(points, first - 0.5 * fall)
        severity = S1 if fall > 0.25 * size else S2
        yield _level("reward-decline", severity, points, i, first, last, "it ends below its start", "低于起点")
        return
    k = max(3, len(values) // 10)
    smooth = np.convolve(values, np.ones(k) / k, "valid")
    best = int(np.argmax(smooth))
    lost, gained = float(smooth[best]) - last, float(smooth[best]) - first
    if len(values) >= 30 and gained > 4 * spread and lost > max(4 * spread, 0.5 * gained):
        i = min(best + k - 1, len(values) - 1)
        yield _level(
            "reward-decline", S2, points, i, float(smooth[best]), last, "it gives back what it had gained", "涨幅回吐"
        )
    elif len(values) >= 30 and np.ptp(values) == 0:
        yield _level("reward-flat", S2, points, 0, first, last, "exactly constant", "完全不变")
    elif len(values) >= 100 and abs(mann_kendall(values)[1]) < 2:
        yield _level("reward-flat", S3, points, 0, first, last, "no trend beyond the noise", "没有超出噪声的趋势")


@detector("reward-up-quality-down", "the reward rises while measured quality falls", ["reward"])
def reward_up_quality_down(track: Track) -> Iterator[Finding]:
    """Reward trends up while accuracy, held-out reward or held-out accuracy trends down (Kendall z beyond 3).

    Source: runbook 000 (reward hacking: "reward rises, quality falls"). A quality metric must be logged;
    that the response length moves too is not enough. Threshold: own judgement.
    """
    reward = _points(track, "reward")
    if reward is None or mann_kendall(reward.values)[1] < 3:
        return
    for metric in ("eval_accuracy", "eval_reward", "accuracy"):
        quality = _points(track, metric, 6)
        if quality is None:
            continue
        first, last = head_tail(quality.values, 0.2)
        z = mann_kendall(quality.values)[1]
        if z < -2.5 and last < 0.9 * first:
            i = _changed(quality, 0.95 * first)
            yield _level(
                "reward-up-quality-down",
                S1,
                quality,
                i,
                first,
                last,
                f"meanwhile {reward.key} rises from {reward.values[0]:.4g} to {reward.values[-1]:.4g}",
                f"同时 {reward.key} 从 {reward.values[0]:.4g} 升到 {reward.values[-1]:.4g}",
                quality_trend_z=z,
            )
            return


@detector(
    "response-length-collapse",
    "responses become much shorter",
    ["response_length"],
    response_length_growth="responses become much longer",
)
def response_length(track: Track) -> Iterator[Finding]:
    """Mean length ends below a tenth of its start (S1) or below 0.3 while the reward does not rise (S2).

    Growth above 30% is named by runbook 000 for DPO, but reasoning runs lengthen as they learn, so it is S3,
    and S2 from threefold without a rising reward. Numbers beyond 30%: own judgement.
    """
    points = _points(track, "response_length", 8)
    if points is None:
        return
    first, last = start_end(points.values)
    if first <= 0:
        return
    reward = _points(track, "reward", 8)
    better = reward is not None and mann_kendall(reward.values)[1] > 3
    if last <= 0.3 * first and not (better and last > 0.1 * first):
        i = _changed(points, 0.5 * first)
        severity = S1 if last <= 0.1 * first and not better else S2
        yield _level(
            "response-length-collapse", severity, points, i, first, last, "answers have almost vanished", "回复几乎消失"
        )
    elif last > 1.3 * first and mann_kendall(points.values)[1] > 3:
        i = _changed(points, -np.inf, 1.3 * first)
        severity = S2 if last >= 3 * first and not better else S3
        yield _level(
            "response-length-growth", severity, points, i, first, last, "30% growth is the runbook's limit for DPO",
            "DPO runbook 的上限是增长 30%", reward_rises=better,
        )  # fmt: skip


@detector("response-truncated", "many responses are cut at the length limit", ["completions_clipped_ratio"])
def response_truncated(track: Track) -> Iterator[Finding]:
    """The share of responses cut at the limit ends above 50% (S2) or above 20% (S3). Numbers: own
    judgement."""
    points = _points(track, "completions_clipped_ratio", 5)
    if points is None:
        return
    first, last = start_end(points.values)
    if last > 0.2:
        i = _changed(points, -np.inf, 0.2)
        yield _level(
            "response-truncated", S2 if last > 0.5 else S3, points, i, first, last,
            "of the responses are cut at the length limit", "的回复在长度上限处被截断",
        )  # fmt: skip


@detector(
    "zero-advantage-groups",
    "most groups have equal rewards: no learning signal",
    ["frac_reward_zero_std", "reward_std"],
)
def zero_advantage_groups(track: Track) -> Iterator[Finding]:
    """Over 80% of the groups (or all, by a reward spread of 0) without spread at the end.

    A high share late in a good run means that the prompts are solved, so S3 while the reward is at its best. Number:
    own judgement.
    """
    share = _points(track, "frac_reward_zero_std", 5)
    spread = _points(track, "reward_std", 5)
    reward = _points(track, "reward", 5)
    solved = reward is not None and head_tail(reward.values)[1] >= head_tail(reward.values)[0] + 2 * noise(
        reward.values
    )
    severity = S3 if solved else S2
    if share is not None:
        first, last = head_tail(share.values, 0.2)
        if last >= 0.8:
            i = _changed(share, -np.inf, 0.8 - 1e-9)
            yield _level(
                "zero-advantage-groups", severity, share, i, first, last, "of the groups have equal rewards",
                "的组内奖励全部相同",
            )  # fmt: skip
    elif spread is not None:
        first, last = head_tail(spread.values, 0.2)
        if last == 0.0:
            i = _changed(spread, 1e-12)
            yield _level(
                "zero-advantage-groups", severity, spread, i, first, last, "rewards inside a group are all equal",
                "组内奖励全部相同",
            )  # fmt: skip


@detector("chosen-reward-falling", "the implicit reward of the chosen answers falls", ["reward_chosen"])
def chosen_reward_falling(track: Track) -> Iterator[Finding]:
    """The DPO reward of chosen answers ends below zero and falls with a trend, though the margin may grow.

    Common in DPO (the rejected one falls faster), hence S3; S2 below -5, or where the log-probability of the
    chosen answers has become three times what it was and ten nats less: the chosen text itself has become
    unlikely. Numbers: own judgement.
    """
    points = _points(track, "reward_chosen")
    if points is None:
        return
    first, last = start_end(points.values)
    unlikely = _unlikely(track)
    if last < min(0.0, first - 0.1) and (unlikely or mann_kendall(points.values)[1] < -3):
        i = _changed(points, first - 0.5 * (first - last))
        yield _level(
            "chosen-reward-falling", S2 if last < -5 or unlikely else S3, points, i, first, last,
            "the chosen answers become less likely too", "被选回答的概率也在下降",
        )  # fmt: skip


def _unlikely(track: Track) -> bool:
    logps = _points(track, "logps_chosen")
    if logps is None:
        return False
    first, last = start_end(logps.values)
    return first < 0 and last < 3 * first and last < first - 10


@detector("logprob-mismatch", "rollout engine and trainer disagree about token probabilities", ["logprob_diff"])
def logprob_mismatch(track: Track) -> Iterator[Finding]:
    """The mean difference ends above 0.05 (S2) or has grown fivefold to above 0.02 (S2). Numbers: own
    judgement."""
    points = _points(track, "logprob_diff", 5)
    if points is None:
        return
    first, last = head_tail(np.abs(points.values), 0.15)
    if last > 0.05 or (last > 0.02 and last > 5 * first):
        i = int(np.argmax(np.abs(points.values) > min(0.05, last)))
        yield _level(
            "logprob-mismatch", S2, points, i, first, last, "the samples are off-policy without saying so",
            "样本实际上是离策略的",
        )  # fmt: skip


@detector("rl-instability", "several RL metrics break at the same time", ["grad_norm", "reward"])
def rl_instability(track: Track) -> Iterator[Finding]:
    """A gradient spike (ten times the median so far) followed within ten points by a lasting break.

    A break is a reward fallen below its start, an entropy below a fifth or above threefold, or a length
    below 0.3 of the start. One of them with the spike is enough; without a spike it is the other detector's
    finding. Own judgement.
    """
    norm = _points(track, "grad_norm", 8)
    if norm is None or not track.is_rl:
        return
    values = norm.values
    spikes = [i for i in range(5, len(values)) if values[i] >= 10 * max(float(np.median(values[:i][-50:])), 1e-9)]
    if not spikes:
        return
    broken = [
        code for code, test in _BREAKS.items() if (i := test(track)) and abs(i - int(norm.steps[spikes[0]])) <= 10
    ]
    if broken:
        i = spikes[0]
        yield finding(
            "rl-instability",
            S1,
            [(norm, i)],
            f"{norm.key} jumps to {values[i]:.4g} at {where(norm, i)} and {', '.join(broken)} break(s) for "
            f"good "
            "at the same time: the policy collapses.",
            f"{norm.key} 在{where_zh(norm, i)}跳到 {values[i]:.4g}，同时 {'、'.join(broken)} 一去不返：策略崩溃。",
            broken=broken,
            baseline=float(np.median(values[:i][-50:])),
        )


def _break_of(metric: str, low: float, high: float):
    """A test: the step from which a metric stays outside `low..high` times its start, None if it does not."""

    def test(track: Track) -> int | None:
        points = _points(track, metric, 8)
        if points is None:
            return None
        first, _ = start_end(points.values)
        values = points.values
        start = onset((values < low * first) | (values > high * first)) if first > 0 else None
        return None if start is None or start < 3 else int(points.steps[start])

    return test


def _reward_break(track: Track) -> int | None:
    """The step from which the reward stays below its start by six deviations and half its size."""
    points = _points(track, "reward", 8)
    if points is None:
        return None
    first, _ = start_end(points.values)
    start = onset(points.values < first - max(6 * noise(points.values), 0.5 * abs(first)))
    return None if start is None or start < 3 else int(points.steps[start])


_BREAKS = {
    "entropy": _break_of("entropy", 0.2, 3.0),
    "response_length": _break_of("response_length", 0.3, np.inf),
    "reward": _reward_break,
}

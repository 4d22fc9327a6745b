"""Detectors for reinforcement learning and preference training: KL, entropy, reward, response length.

Good runs break textbook limits (entropy 0.05 to 0.4, clipped gradients), so levels are judged against the run's own
start. Where a runbook gives a limit without a definition, the definition assumed is printed (contradictions U-xx).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from ...findings import Finding, Severity
from ...series import Series
from ...vocabulary import UP
from .detector import S1, S2, S3, Track, detector, finding, points_detector, where, where_zh
from .evaluation import way
from .goals import idle
from .preference import of_completions, of_no_policy
from .robust import finite, head_tail, is_list, mann_kendall, means, noise, onset, start_end

LEAST = 10
"""Points below which no trend is judged. Own judgement."""
LONG, ENOUGH, STEPS = 100, 20, 40
"""Points that show that there is no trend whatever the run is; those, and steps, in which a reward should rise."""
STILL_KL = 0.005
"""KL to the reference (nats a token) that a policy which has moved exceeds. Own judgement."""
RAISED = 0.1
"""Share of its level (or of its spread) by which a reward rises where something was gained. Own judgement."""
UNCLEAR = 0.2
"""Share of its level by which a reward must rise to stand out of its noise, from which on none rising says little."""


def _changed(points: Series, low: float, high: float = np.inf) -> int:
    """First index from which all values lie outside `low..high`, smoothed over three; the last if never."""
    outside = (points.values < low) | (points.values > high)
    start = onset(outside)
    return start if start is not None else int(np.argmax(outside))


Ends = tuple[float, float]
"""Levels at the start and at the end."""


def _level(
    code: str, severity: Severity, points: Series, i: int, ends: Ends, en: str, zh: str, **data: object
) -> Finding:
    """A finding about a level that moved from one end to the other, from point `i` on."""
    first, last = ends
    still = f"{first:.4g}" == f"{last:.4g}"
    en_way = f"is {last:.4g} at both ends" if still else f"goes from {first:.4g} to {last:.4g}"
    zh_way = f"首尾都是 {last:.4g}" if still else f"从 {first:.4g} 变为 {last:.4g}"
    en = f"{points.key} {en_way}; {en} (from {where(points, i)})."
    zh = f"{points.key} {zh_way}；{zh}（自{where_zh(points, i)}起）。"
    moved = {"baseline": first, "last": last, "factor": last / first if first else None}
    return finding(code, severity, [(points, i), (points, -1)], en, zh, **moved, **data)


@points_detector(
    "kl-above-range",
    "the KL divergence to the reference leaves its range",
    "kl ppo_kl",
    LEAST,
    kl_negative="KL below zero",
    kl_of_completions="the KL divergence is of whole completions, by the rewards beside it; it has no range",
)
def kl_above_range(points: Series, track: Track) -> Iterator[Finding]:
    """KL ends above 1.0 after growing: S1 from ten times its early level, S2 from three, S3 without growth.

    Limits 0.01..0.5 healthy, above 1.0 failed: runbook 000 (DPO). Definition assumed (U-01): mean per-token KL to the
    reference, nats. A sum over the sequence exceeds 1.0 trivially, so a log that starts above 1.0 is S2 at most. Where
    it is not logged, that to the policy of the samples is held against them. KTO's, of whole completions, is left out.
    """
    ends = first, last = start_end(points.values)
    if last > 1.0 and not (yield from of_completions(points, track)):
        grown, rest = last / max(first, 0.01), of_no_policy(track)
        severity = S3 if grown < 3 or any(rest) else (S1 if grown >= 10 and first <= 1.0 else S2)
        i = _changed(points, -np.inf, max(0.5, 3 * max(first, 0.0)))
        en = f"above 1.0 (assumed: mean per-token KL to the reference in nats){rest[0]}"
        zh = f"超过 1.0（假定为每 token 对参考模型的平均 KL，单位 nat）{rest[1]}"
        yield _level("kl-above-range", severity, points, i, ends, en, zh, limit=1.0)
    if last < -0.05 and (points.values < 0).mean() > 0.5:
        i = int(np.argmax(points.values < 0))
        en = "a mean KL cannot be negative: log-probabilities of two engines or templates differ"
        zh = "平均 KL 不应为负：两个引擎或模板的 log 概率不一致"
        yield _level("kl-negative", S2, points, i, ends, en, zh)


@points_detector(
    "entropy-collapse",
    "the policy entropy falls to almost nothing against its own start",
    "entropy",
    LEAST,
    entropy_explosion="the policy entropy grows severalfold",
)
def entropy_collapse(points: Series, track: Track) -> Iterator[Finding]:
    """Entropy ends below a fifth of its start and below 0.03 nats (S1), or below a quarter and 0.1 (S2).

    Runbook 000 asks for more than 0.5; good runs live at 0.05 to 0.4 (field notes), so the trend decides and a low
    start is no collapse. Definition assumed (U-02): mean per-token entropy in nats over response tokens. It can rise
    before it falls, so the onset is the first point that leaves the band for good. A rise to three times the start and
    by more than one nat is an explosion. Numbers: own judgement.
    """
    ends = first, last = start_end(points.values)
    if first <= 0 or not track.is_rl or (points.values < 0).any():
        return  # below zero it is that of a density, over actions that are numbers and not tokens
    if first >= 0.02 and last <= 0.25 * first and last < 0.1:
        severe = last <= 0.2 * first and last < 0.03 and (first >= 0.1 or _reward_falls(track))
        i = _changed(points, 0.6 * first, 1.6 * first)
        en = "output diversity is gone; assumed: mean per-token entropy in nats"
        zh = "输出多样性消失；假定为每 token 平均熵，单位 nat"
        yield _level("entropy-collapse", S1 if severe else S2, points, i, ends, en, zh, runbook_limit=0.5)
    elif last >= 3 * first and last - first > 1.0:
        severity = S1 if _reward_falls(track) else S2
        i = _changed(points, -np.inf, 2 * first)
        en = "the policy turns random; assumed: mean per-token entropy in nats"
        zh = "策略趋于随机；假定为每 token 平均熵，单位 nat"
        yield _level("entropy-explosion", severity, points, i, ends, en, zh)


def _reward_falls(track: Track) -> bool:
    points = track.points("reward", 8)
    if points is None:
        return False
    first, last = start_end(points.values)
    return first - last > max(4 * noise(points.values), 0.1 * abs(first))


@points_detector(
    "reward-decline",
    "the reward ends far below where it started",
    "reward eval_reward",
    LEAST,
    reward_flat="the reward never moves",
)
def reward_decline(points: Series, track: Track) -> Iterator[Finding]:
    """The reward ends below its start by four deviations and a quarter of its size (S1; a tenth is S2), or far below
    its best (S2).

    A reward that is exactly constant is S2, and so is one that a run of some length does not raise (`_unraised`),
    unless only a large gain would stand out of the noise (S3).
    Numbers: own judgement.
    """
    values = points.values
    ends = first, last = start_end(values)
    spread = noise(values)
    size = max(abs(first), float(np.median(np.abs(values))), 1e-6)
    fall = first - last
    tail = values[-max(3, len(values) // 5) :]
    if fall > max(4 * spread, 0.1 * size) and (tail < first - 0.5 * fall).mean() > 0.9:
        i = _changed(points, first - 0.5 * fall)
        severity = S1 if fall > 0.25 * size else S2
        yield _level("reward-decline", severity, points, i, ends, "it ends below its start", "低于起点")
        return
    k = max(3, len(values) // 10)
    smooth = means(values, k)
    at = int(np.argmax(smooth))
    best, long = float(smooth[at]), len(values) >= 30
    if long and best - first > 4 * spread and best - last > max(4 * spread, 0.5 * (best - first)):
        i = min(at + k - 1, len(values) - 1)
        yield _level("reward-decline", S2, points, i, (best, last), "it gives back what it had gained", "涨幅回吐")
    elif long and np.ptp(values) == 0:
        yield _level("reward-flat", S2, points, 0, ends, "exactly constant", "完全不变")
    elif _unraised(points, track):
        en, zh = f"no gain beyond the noise in {len(values)} points", f"{len(values)} 个点里没有超出噪声的提升"
        least, level = _least_seen(values), abs(float(np.median(values)))
        unclear = float(np.std(values)) < level and least > UNCLEAR * level
        if unclear:
            en += f", out of which only one of {least / level:.0%} or more would stand"
            zh += f"，而噪声下只有 {least / level:.0%} 以上的提升才看得出来"
        yield _level("reward-flat", S3 if unclear else S2, points, 0, ends, en, zh)
    elif len(values) >= LONG and abs(mann_kendall(values)[1]) < 2:
        en, zh = "no trend beyond the noise", "没有超出噪声的趋势"
        kl = track.points("kl", LEAST)
        if kl is not None and float(np.abs(kl.values).max()) < STILL_KL:
            near = float(np.abs(kl.values).max())
            en += f", and the policy has hardly left its start (KL at most {near:.2g})"
            zh += f"，且策略几乎没有离开起点（KL 至多 {near:.2g}）"
            yield _level("reward-flat", S2, points, 0, ends, en, zh)
            return
        yield _level("reward-flat", S3, points, 0, ends, en, zh)


def _unraised(points: Series, track: Track) -> bool:
    """Whether a run that had the time to raise its reward did not: the last third lies no higher than the first, there
    is no upward trend, and the reward is not at the top of its range already.

    Few points are enough where the policy has hardly left the reference. Own judgement.
    """
    values, n = points.values, len(points)
    kl = track.points("kl", LEAST)
    still = kl is not None and float(np.abs(kl.values).max()) < STILL_KL
    passed = int(points.steps[-1] - points.steps[0])
    steps = passed if points.step_is == "step" else STEPS * (points.step_is == "epoch" and passed >= ENOUGH)
    if steps < STEPS or not (n >= ENOUGH or still) or 0.9 <= float(np.median(values)) <= 1.0:
        return False
    first, last = (float(np.mean(part)) for part in (values[: n // 3], values[-(n // 3) :]))
    return (
        last - first < min(_least_seen(values), RAISED * max(abs(first), float(np.std(values))))
        and mann_kendall(values)[1] < 1.3
    )


def _least_seen(values: np.ndarray) -> float:
    """The gain from the first third to the last that chance alone would give in one run of twenty."""
    return 1.645 * float(np.std(values)) * float(np.sqrt(2 / (len(values) // 3)))


SPREAD = re.compile(r"(?i)(?:^|[^a-z])(?:std|stdev|var|variance|spread|range)(?:[^a-z]|$)")
"""Names of how far the values of a score lie apart."""


@detector("policy-score-zero", "a score of the policy ends at zero, after it had been above", ["reward"], 8)
def policy_score_zero(track: Track) -> Iterator[Finding]:
    """Of eight values or more of a score (accuracy, precision, success) the last two are 0, and the last third lies
    below half of what was before. No spread of one, and none that counts penalties. Own judgement."""
    for series in track.series:
        points = finite(series)
        values = points.values
        if len(values) < 8 or not track.is_rl or way(series.key) != UP or np.any(values[-2:]) or not np.any(values):
            continue
        if SPREAD.search(series.key) or values.min() < 0 or is_list(series):
            continue
        before, last = float(values[: -(len(values) // 3)].mean()), float(values[-(len(values) // 3) :].mean())
        if last < 0.5 * before:
            i = int(np.flatnonzero(values)[-1]) + 1
            en, zh = "nothing is right any more", "已没有一个正确"
            yield _level("policy-score-zero", S2, points, i, (float(values.max()), 0.0), en, zh)


@points_detector("reward-up-quality-down", "the reward rises while measured quality falls", "reward", LEAST)
def reward_up_quality_down(reward: Series, track: Track) -> Iterator[Finding]:
    """Reward trends up while accuracy, held-out reward or held-out accuracy trends down (Kendall z beyond 3).

    Source: runbook 000 (reward hacking: "reward rises, quality falls"). A quality metric must be logged; that the
    response length moves too is not enough. Threshold: own judgement.
    """
    if mann_kendall(reward.values)[1] < 3:
        return
    for metric in ("eval_accuracy", "eval_reward", "accuracy"):
        quality = track.points(metric, 6)
        if quality is None:
            continue
        ends = first, last = head_tail(quality.values, 0.2)
        z = mann_kendall(quality.values)[1]
        if z < -2.5 and last < 0.9 * first:
            i = _changed(quality, 0.95 * first)
            en = f"meanwhile {reward.key} rises from {reward.values[0]:.4g} to {reward.values[-1]:.4g}"
            zh = f"同时 {reward.key} 从 {reward.values[0]:.4g} 升到 {reward.values[-1]:.4g}"
            yield _level("reward-up-quality-down", S1, quality, i, ends, en, zh, quality_trend_z=z)
            return


@points_detector(
    "response-length-collapse",
    "responses become much shorter",
    "response_length",
    8,
    response_length_growth="responses become much longer",
)
def response_length(points: Series, track: Track) -> Iterator[Finding]:
    """Mean length ends below a tenth of its start (S1) or below 0.3 while the reward does not rise (S2).

    Growth above 30% is named by runbook 000 for DPO, but reasoning runs lengthen as they learn, so it is S3, and S2
    from threefold without a rising reward. Numbers beyond 30%: own judgement.
    """
    ends = first, last = start_end(points.values)
    if first <= 0 or is_list(points):
        return
    reward = track.points("reward", 8)
    better = reward is not None and mann_kendall(reward.values)[1] > 3
    if last <= 0.3 * first and not (better and last > 0.1 * first):
        severity = S1 if last <= 0.1 * first and not better else S2
        i = _changed(points, 0.5 * first)
        en, zh = "answers have almost vanished", "回复几乎消失"
        yield _level("response-length-collapse", severity, points, i, ends, en, zh)
    elif last > 1.3 * first and mann_kendall(points.values)[1] > 3:
        severity = S2 if last >= 3 * first and not better else S3
        i = _changed(points, -np.inf, 1.3 * first)
        en, zh = "30% growth is the runbook's limit for DPO", "DPO runbook 的上限是增长 30%"
        yield _level("response-length-growth", severity, points, i, ends, en, zh, reward_rises=better)


@points_detector("response-truncated", "many responses are cut at the length limit", "completions_clipped_ratio", 5)
def response_truncated(points: Series, _: Track) -> Iterator[Finding]:
    """The share of responses cut at the limit ends above 50% (S2) or above 20% (S3). Numbers: own judgement."""
    ends = start_end(points.values)
    if ends[1] > 0.2:
        i = _changed(points, -np.inf, 0.2)
        en, zh = "that share of the responses is cut at the length limit", "这是在长度上限处被截断的回复所占的比例"
        yield _level("response-truncated", S2 if ends[1] > 0.5 else S3, points, i, ends, en, zh)


@detector(
    "zero-advantage-groups",
    "most groups have equal rewards: no learning signal",
    ["frac_reward_zero_std", "reward_std"],
)
def zero_advantage_groups(track: Track) -> Iterator[Finding]:
    """Over 80% of the groups (or all, by a reward spread of 0) without spread at the end.

    A high share late in a good run means that the prompts are solved, so S3 while the reward is at its best, unless
    half of the run has gone by so and the gradient with it. Numbers: own judgement.
    """
    share, spread, reward = (track.points(name, 5) for name in ("frac_reward_zero_std", "reward_std", "reward"))
    points = share or spread
    if points is None:
        return
    ends = head_tail(points.values, 0.2)
    if not (ends[1] >= 0.8 if share else ends[1] == 0.0):
        return
    first, last = head_tail(reward.values) if reward else (0.0, 0.0)
    solved = reward is not None and last >= first + 2 * noise(reward.values)
    if share:
        i = _changed(points, -np.inf, 0.8 - 1e-9)
        en, zh = "that share of the groups has equal rewards", "这是组内奖励全部相同的组所占的比例"
    else:
        i, en, zh = _changed(points, 1e-12), "rewards inside a group are all equal", "组内奖励全部相同"
    note = solved and not idle(share, track.points("grad_norm", 20))
    yield _level("zero-advantage-groups", S3 if note else S2, points, i, ends, en, zh)


@points_detector("chosen-reward-falling", "the implicit reward of the chosen answers falls", "reward_chosen", LEAST)
def chosen_reward_falling(points: Series, track: Track) -> Iterator[Finding]:
    """The DPO reward of chosen answers ends below zero and falls with a trend, though the margin may grow.

    Common in DPO (the rejected one falls faster), hence S3; S2 below -5, or where the log-probability of the chosen
    answers has become three times what it was and ten nats less: the chosen text itself has become unlikely. Numbers:
    own judgement.
    """
    ends = first, last = start_end(points.values)
    unlikely = _unlikely(track)
    if last < min(0.0, first - 0.1) and (unlikely or mann_kendall(points.values)[1] < -3):
        i = _changed(points, first - 0.5 * (first - last))
        en, zh = "the chosen answers become less likely too", "被选回答的概率也在下降"
        yield _level("chosen-reward-falling", S2 if last < -5 or unlikely else S3, points, i, ends, en, zh)


def _unlikely(track: Track) -> bool:
    logps = track.points("logps_chosen", LEAST)
    if logps is None:
        return False
    first, last = start_end(logps.values)
    return first < 0 and last < 3 * first and last < first - 10


@points_detector("logprob-mismatch", "rollout engine and trainer disagree about token probabilities", "logprob_diff", 5)
def logprob_mismatch(points: Series, _: Track) -> Iterator[Finding]:
    """The mean difference ends above 0.05 (S2) or has grown fivefold to above 0.02 (S2). Numbers: own judgement."""
    size = np.abs(points.values)
    ends = first, last = head_tail(size, 0.15)
    if last > 0.05 or (last > 0.02 and last > 5 * first):
        i = int(np.argmax(size > min(0.05, last)))
        en, zh = "the samples are off-policy without saying so", "样本实际上是离策略的"
        yield _level("logprob-mismatch", S2, points, i, ends, en, zh)


@detector("rl-instability", "several RL metrics break at the same time", ["grad_norm", "reward"])
def rl_instability(track: Track) -> Iterator[Finding]:
    """A gradient spike (ten times the median so far) followed within ten points by a lasting break.

    A break is a reward fallen below its start, an entropy below a fifth or above threefold, or a length below 0.3 of
    the start. One of them with the spike is enough; without a spike it is the other detector's finding. Own judgement.
    """
    norm = track.points("grad_norm", 8)
    if norm is None or not track.is_rl:
        return
    values = norm.values
    high = (5 + np.flatnonzero(values[5:] >= 10 * max(values.min(), 1e-9))).tolist()
    i = next((i for i in high if values[i] >= 10 * max(np.median(values[:i][-50:]), 1e-9)), None)
    if i is None:
        return
    broken = [code for code, test in _BREAKS.items() if (at := test(track)) and abs(at - int(norm.steps[i])) <= 10]
    if broken:
        en = (
            f"{norm.key} jumps to {values[i]:.4g} at {where(norm, i)} and {', '.join(broken)} break(s) for good at the "
            "same time: the policy collapses."
        )
        zh = f"{norm.key} 在{where_zh(norm, i)}跳到 {values[i]:.4g}，同时 {'、'.join(broken)} 一去不返：策略崩溃。"
        usual = float(np.median(values[:i][-50:]))
        yield finding("rl-instability", S1, [(norm, int(i))], en, zh, broken=broken, baseline=usual)


def _break(metric: str, outside: Callable[[np.ndarray, float], np.ndarray]) -> Callable[[Track], int | None]:
    """A test: the step from which a metric stays `outside` of what its start allows, None if it does not."""

    def test(track: Track) -> int | None:
        points = track.points(metric, 8)
        start = None if points is None else onset(outside(points.values, start_end(points.values)[0]))
        return None if points is None or start is None or start < 3 else int(points.steps[start])

    return test


_BREAKS = {
    "entropy": _break("entropy", lambda v, first: (first > 0) & ((v < 0.2 * first) | (v > 3.0 * first))),
    "response_length": _break("response_length", lambda v, first: (first > 0) & (v < 0.3 * first)),
    "reward": _break("reward", lambda v, first: v < first - max(6 * noise(v), 0.5 * abs(first))),
}

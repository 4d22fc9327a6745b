"""Detectors of slow behaviour of the loss and the learning rate: plateau, oscillation, evaluation drift, resumes.

These are judgements about shape. They are S2 or S3: a person decides, a number is attached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ...findings import Finding
from ...series import Series
from ...vocabulary import VOCABULARY
from .detector import S1, S2, S3, UNLEARNED, Track, detector, finding, points_detector, run_detector, where, where_zh
from .robust import finite, head_tail, mann_kendall, noise, onset, settled, sigma


def _supervised_loss(track: Track, least: int) -> Series | None:
    """The finite loss after warm-up, for runs whose loss has a level (not RL), None when too short."""
    loss = track.get("loss")
    if loss is None or track.is_rl:
        return None
    points = settled(loss) if loss.step_is == "step" else finite(loss)
    return points if len(points) >= least else None


LONG_FLOOR = 0.5
"""Share of the run at a zero learning rate from which on the schedule is taken to be wrong. Own judgement."""


@detector(
    "loss-plateau",
    "the loss hardly changes over the run",
    ["loss"],
    100,
    loss_slow="the loss falls, but very slowly",
)
def loss_plateau(track: Track) -> Iterator[Finding]:
    """The loss moves by less than 2% over at least 100 points (S2 below 0.5% without a trend, or where it stays
    above `UNLEARNED`, in a log that begins with the run: a resumed part may be flat).

    A flat end of a long run is convergence and stays silent: the whole run is judged. Source: runbook 001 C.2 and
    002 §2 name the symptom without a number; the numbers are own judgement.
    """
    loss, points = track.get("loss"), _supervised_loss(track, 100)
    if loss is None or points is None:
        return
    first, last = head_tail(points.values, 0.1)
    if first <= 0.05:
        return
    from_the_start = _from_the_start(finite(loss))
    gain = (first - last) / first
    _, z = mann_kendall(points.values)
    if gain >= 0.02 or gain < -0.05:
        return
    flat = gain < 0.005 and z > -2
    code = "loss-plateau" if flat or z > -2 else "loss-slow"
    severity = S2 if (flat or last > UNLEARNED) and from_the_start else S3
    n, levels = len(points), {"gain": gain, "baseline": first, "last": last, "trend_z": z}
    en = f"{points.key} goes from {first:.4g} to {last:.4g} over {n} points ({gain:+.1%} gain, trend z {z:.1f})."
    zh = f"{points.key} 在 {n} 个点里从 {first:.4g} 到 {last:.4g}（改善 {gain:+.1%}，趋势 z {z:.1f}）。"
    yield finding(code, severity, [(points, 0), (points, -1)], en, zh, **levels)


def _from_the_start(loss: Series) -> bool:
    return bool(loss.steps[0] <= 0.05 * loss.steps[-1])


RISES = ((100, 1.5, 1.0), (5, 2.0, 0.25))
"""Points, and the share and the difference by which the end lies above the start from which on a loss has diverged;
few points must besides rise all the way. Own judgement."""


@detector("loss-divergence", "the loss leaves its first level and stays above it", ["loss"], 5)
def loss_divergence(track: Track) -> Iterator[Finding]:
    """The loss ends far above its first points, in a log that begins with the run or rises all the way."""
    loss = track.points("loss", 5)
    if loss is None or track.is_rl:
        return
    start, last = float(np.median(loss.values[:3])), head_tail(loss.values)[1]
    tau, _ = mann_kendall(loss.values)
    many = len(loss) >= RISES[0][0]
    _, share, least = RISES[0] if many else RISES[1]
    whole = tau >= 0.6 or (many and _from_the_start(loss))
    if start > 0 and last >= share * start and last - start >= least and whole:
        yield _left(loss, start, last)


def _left(points: Series, start: float, last: float) -> Finding:
    i = int(np.argmax(points.values > (start + last) / 2))
    en = f"{points.key} starts at {start:.4g}, leaves that level at {where(points, i)} and stays near {last:.4g}."
    zh = f"{points.key} 从 {start:.4g} 起步，在{where_zh(points, i)}离开该水平，此后停在 {last:.4g} 附近。"
    levels = {"baseline": start, "last": last, "factor": last / start}
    return finding("loss-divergence", S1, [(points, i), (points, -1)], en, zh, **levels)


@detector("loss-oscillation", "the loss swings widely without a downward trend", ["loss"], 60)
def loss_oscillation(track: Track) -> Iterator[Finding]:
    """The swing of the second half is a quarter of the level, twice that of the first half, and nothing is gained.

    Source of the symptom: runbook 001 C.2, 002 §2 ("violently up and down after warm-up"); numbers own judgement.
    """
    points = _supervised_loss(track, 60)
    if points is None:
        return
    half = len(points) // 2
    early, late = points.values[:half], points.values[half:]
    level = float(np.median(late))
    swing_early, swing_late = sigma(early - _trend(early)), sigma(late - _trend(late))
    _, z = mann_kendall(late)
    if level <= 0.05 or swing_late < 0.25 * level or swing_late < 2 * swing_early or z < -2:
        return
    en = (
        f"{points.key} swings by {swing_late:.3g} around {level:.3g} in the second half ({swing_early:.3g} in the "
        f"first) and does not fall (trend z {z:.1f})."
    )
    zh = (
        f"{points.key} 后半程在 {level:.3g} 附近摆动 {swing_late:.3g}（前半程 {swing_early:.3g}），"
        f"且没有下降（趋势 z {z:.1f}）。"
    )
    shown = [(points, half), (points, half + int(np.argmax(late)))]
    data = {"baseline": swing_early, "swing": swing_late, "level": level, "trend_z": z}
    yield finding("loss-oscillation", S2, shown, en, zh, **data)


def _trend(values: np.ndarray) -> np.ndarray:
    """The cubic through the values, (n,): it follows the bend of a normal loss curve."""
    t = np.linspace(-1, 1, len(values))
    return np.polyval(np.polyfit(t, values, 3), t)


@detector("loss-jitter-benign", "the loss is noisy but falls: normal behaviour", ["loss"], 30)
def loss_jitter_benign(track: Track) -> Iterator[Finding]:
    """Reassurance: the 100-step moving average falls, and no point leaves the noise band far behind.

    Source: runbook 002 ("smooth over 100 steps before judging"); acceptance row `smoothed_loss_trend_window`.
    """
    points = _supervised_loss(track, 30)
    if points is None:
        return
    level, spread = float(np.median(points.values)), noise(points.values)
    tau, z = mann_kendall(points.values)
    first, last = head_tail(points.values, 0.1)
    rest = points.values - np.interp(np.arange(len(points)), *_smooth(points.values))
    if level <= 0 or spread < 0.03 * level or z > -3 or last >= first or rest.max() > 8 * spread:
        return
    en = (
        f"{points.key} is noisy ({spread:.2g} per point, {spread / level:.0%} of its level) but its moving average "
        f"falls from {first:.4g} to {last:.4g}: normal jitter."
    )
    zh = (
        f"{points.key} 有噪声（每点 {spread:.2g}，约为水平的 {spread / level:.0%}），但滑动平均从 {first:.4g} 降到 "
        f"{last:.4g}：属正常抖动。"
    )
    yield finding("loss-jitter-benign", S3, [(points, -1)], en, zh, robust_sigma=spread, baseline=level, tau=tau)


def _smooth(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and values of block medians over 100 points (or a tenth of a short run)."""
    size = max(5, min(100, len(values) // 10))
    parts = np.array_split(values, max(2, len(values) // size))
    ends = np.cumsum([len(p) for p in parts])
    return ends - np.array([len(p) for p in parts]) / 2, np.array([np.median(p) for p in parts])


@points_detector("eval-loss-rising", "the evaluation loss rises while the training loss does not", "eval_loss", 4)
def eval_loss_rising(points: Series, track: Track) -> Iterator[Finding]:
    """At least three evaluations in a row above the best, each above the last, by more than the noise.

    The noise is that of second differences, which a falling curve does not inflate. A rise below 0.5% is ignored. S2 at
    any size: the best checkpoint is the earlier one. Source: runbook 001 C.4 (over-fitting); numbers own judgement.
    """
    values = points.values
    best = int(np.argmin(values))
    after = values[best:]
    rise = float(after[-1] - after[0])
    if len(after) < 4 or rise < 0.005 * abs(after[0]) or (np.diff(after) > 0).mean() < 0.75:
        return
    if rise < 3 * noise(np.diff(values)) / np.sqrt(3):
        return
    evaluations, step = len(after) - 1, int(points.steps[best])
    en = (
        f"{points.key} rises from its best {values[best]:.4g} at {where(points, best)} to {values[-1]:.4g} over "
        f"{evaluations} evaluations."
    )
    zh = (
        f"{points.key} 从{where_zh(points, best)}的最好值 {values[best]:.4g} 连续 {evaluations} 次评测升到 "
        f"{values[-1]:.4g}。"
    )
    shown = [(points, best + 1), (points, best), (points, -1)]
    data = {"best_step": step, "baseline": float(values[best]), "last": float(values[-1])}
    yield finding("eval-loss-rising", S2, shown, en, zh, **data, **_train_trend(track, step))


def _train_trend(track: Track, step: int) -> dict[str, float]:
    """Kendall z of the training loss after `step`, where it is logged densely enough."""
    loss = track.points("loss")
    later = loss.values[loss.steps >= step] if loss else np.array([])
    return {"train_trend_z": mann_kendall(later)[1]} if len(later) >= 10 else {}


EVALUATED = ("eval_loss", "eval_perplexity", "eval_bpb", "eval_accuracy", "eval_reward")


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


@points_detector("loss-below-train", "the evaluation loss is well below the training loss", "eval_loss", 3)
def loss_below_train(checks: Series, track: Track) -> Iterator[Finding]:
    """Evaluation below training loss by 15% at four evaluations of five: a suspicion of leakage to be tested.

    Dropout, averaging over a window and an easier mix look the same (contradictions X-22), hence S3, S2 from 40%.
    """
    train = track.points("loss")
    if train is None or track.is_rl:
        return
    gaps = []
    for step, value in zip(checks.steps, checks.values, strict=True):
        near = train.values[train.steps <= step][-10:]
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
    shown, severity = [(checks, -1), (train, -1)], S2 if gap >= 0.4 else S3
    yield finding("loss-below-train", severity, shown, en, zh, gap=gap, evaluations=len(gaps))


@points_detector("loss-abnormal-at-start", "the first losses are far above what random guessing gives", "loss", 10)
def loss_abnormal_at_start(points: Series, track: Track) -> Iterator[Finding]:
    """The first three losses are all above 14, when ln of the largest vocabularies is 12.5 (contradictions X-01).

    Only for a log that begins with the run (step at most 20) and a loss that later has token level (below 14). Known
    gap: a loss summed over accumulation steps looks the same.
    """
    first = float(points.values[0])
    if track.is_rl or points.steps[0] > 20 or points.values[:3].min() <= 14 or np.median(points.values) >= 14:
        return
    en = (
        f"{points.key} starts at {first:.4g}; random guessing over 262,144 tokens gives 12.5 (assumed: mean cross "
        "entropy per token, in nats)."
    )
    zh = (
        f"{points.key} 起始为 {first:.4g}；在 262,144 个 token 上随机猜测为 12.5"
        "（假定为每 token 平均交叉熵，单位 nat）。"
    )
    yield finding("loss-abnormal-at-start", S2, [(points, 0)], en, zh, baseline=12.5, value=first)


@run_detector("loss-jump-on-resume", "the loss after a restart is above that before it", ["loss"], 15)
def loss_jump_on_resume(tracks: Sequence[Track]) -> Iterator[Finding]:
    """First losses of a resumed attempt against the last ones before it: above by 8 deviations and 10%.

    Only attempts that start after step 50 and near the end of the one before. Numbers: own judgement.
    """
    losses = [s for t in tracks if not t.is_rl and (s := t.get("loss")) is not None and s.step_is == "step"]
    for before, after in pairwise(losses):
        old, new = finite(before), finite(after)
        if before.attempt == after.attempt or len(old) < 10 or len(new) < 5 or new.steps[0] <= 50:
            continue
        old_part = old.values[old.steps <= new.steps[0]][-10:]
        if len(old_part) < 10 or old.steps[0] > new.steps[0] or new.steps[0] > 1.1 * old.steps[-1]:
            continue
        level, level_new = float(np.median(old_part)), float(np.median(new.values[:5]))
        if level > 0 and level_new - level > max(0.1 * level, 8 * noise(old.values[-50:])):
            en = (
                f"After the restart at {where(new, 0)} {new.key} is {level_new:.4g}; it was {level:.4g} before: state "
                "that was not restored (optimizer, scheduler, data order)?"
            )
            zh = (
                f"{where_zh(new, 0)}重启后 {new.key} 为 {level_new:.4g}，之前为 {level:.4g}：可能有状态未恢复"
                "（优化器、调度器、数据顺序）。"
            )
            shown = [(new, 0), (old, -1)]
            yield finding("loss-jump-on-resume", S2, shown, en, zh, baseline=level, value=level_new)


@points_detector(
    "learning-rate-zero",
    "the learning rate is zero while training goes on",
    "learning_rate",
    10,
    lr_at_floor="the learning rate stays at its minimum for the last part of the run",
)
def learning_rate_zero(points: Series, track: Track) -> Iterator[Finding]:
    """The learning rate is 0 for all of the log (S1 if the loss is flat too) or sits at its floor for a third of it.

    A rate printed with few digits also reads 0: when the loss still falls, nothing is said. Own judgement.
    """
    values, n = points.values, len(points)
    loss = track.get("loss")
    learns = loss is not None and mann_kendall(finite(loss).values)[1] < -3
    if not values[1:].any() and not learns:
        flat = loss is not None and len(loss) >= 10 and not track.is_rl
        en = f"{points.key} is 0 at all {n} points and the loss does not fall: nothing is trained."
        zh = f"{points.key} 在全部 {n} 个点上都为 0，loss 也不下降：没有任何训练发生。"
        yield finding("learning-rate-zero", S1 if flat else S2, [(points, 1)], en, zh, points=n)
        return
    peak, floor = float(values.max()), float(values[-1])
    i = onset(values <= max(floor, 1e-3 * peak) * 1.001) or 0
    share = 1 - i / n
    if peak > 0 and floor <= 0.01 * peak and 0.33 <= share < 1.0 and int(np.argmax(values)) < i:
        en = (
            f"{points.key} is at its floor ({floor:.3g}, peak {peak:.3g}) from {where(points, i)}, the last "
            f"{share:.0%} of the run: is the schedule shorter than the training?"
        )
        zh = (
            f"{points.key} 自{where_zh(points, i)}起处于最低值（{floor:.3g}，峰值 {peak:.3g}），占最后 {share:.0%}："
            "调度是否短于训练？"
        )
        severity, shown = S2 if share >= LONG_FLOOR else S3, [(points, i), (points, -1)]
        yield finding("lr-at-floor", severity, shown, en, zh, peak=peak, floor=floor, share=share)


@detector("metrics-not-logged", "what is needed to judge the run is not logged", ["loss"], 10)
def metrics_not_logged(track: Track) -> Iterator[Finding]:
    """The training loss is logged but the gradient norm is not, so causes of a failure cannot be told apart.

    Source: runbook 002 §1 ("besides loss, record learning_rate and gradient_norm").
    """
    loss, norm = track.get("loss"), track.get("grad_norm")
    if loss is None or len(loss) < 10:
        return
    missing = [name for name in ("grad_norm", "learning_rate") if track.get(name) is None]
    if norm is not None and not np.any(norm.values):
        missing.append("grad_norm")
    if missing:
        names = ", ".join(missing)
        en = f"{loss.file} logs {loss.key} but not {names}; without it some causes cannot be told apart."
        zh = f"{loss.file} 记录了 {loss.key}，但没有 {names}；缺少它，有些原因无法区分。"
        yield finding("metrics-not-logged", S3, [(loss, 0)], en, zh, missing=missing, first_step=None)


@points_detector("codebook-collapse", "the codebook entropy falls far below its start", "codebook_entropy", 10)
def codebook_collapse(points: Series, _: Track) -> Iterator[Finding]:
    """The entropy of codebook use ends below half of its early level. Source: runbook 001 C.5; number own judgement."""
    first, last = head_tail(points.values, 0.2)
    if first > 0 and last < 0.5 * first and mann_kendall(points.values)[1] < -2:
        en = f"{points.key} falls from {first:.3g} to {last:.3g}: fewer and fewer codes are used."
        zh = f"{points.key} 从 {first:.3g} 降到 {last:.3g}：使用的码越来越少。"
        yield finding("codebook-collapse", S2, [(points, -1), (points, 0)], en, zh, baseline=first, last=last)

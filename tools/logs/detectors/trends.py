"""Detectors of slow behaviour of the loss: plateau, oscillation, resumes.

These are judgements about shape. They are S2 or S3: a person decides, a number is attached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S1, S2, S3, UNLEARNED, Track, detector, finding, points_detector, run_detector, where, where_zh
from .robust import FEW, blocks, finite, head_tail, mann_kendall, noise, settled, sigma


def _supervised_loss(track: Track, least: int) -> Series | None:
    """The finite loss after warm-up, for runs whose loss has a level (not RL), None when too short."""
    loss = track.get("loss")
    if loss is None or track.is_rl:
        return None
    points = settled(loss) if loss.step_is == "step" else finite(loss)
    return points if len(points) >= least else None


NOISY = 0.015
"""Share of the level that the noise of a point is at least for a loss to look restless. Own judgement."""
COMING_BACK = 6
"""Points within which a single jump falls back into the noise, each below the one before. Own judgement."""
PASSES = 5
"""Epochs after which a loss that has not begun to fall never does. Own judgement."""
STUCK = 0.1
"""Share by which a loss at the level of guessing may fall and still be stuck. Own judgement."""


@detector(
    "loss-plateau",
    "the loss hardly changes over the run",
    ["loss"],
    100,
    loss_slow="the loss falls, but very slowly",
)
def loss_plateau(track: Track) -> Iterator[Finding]:
    """The loss moves by less than 2% over at least 100 points (S2 below 0.5% without a trend, or where it stays
    above `UNLEARNED`, in a log that begins with the run: a resumed part may be flat). A loss that stays up there may
    move by a tenth, if that is less than one point's noise.

    A flat end of a long run is convergence and stays silent: the whole run is judged; so does a loss that left its
    first level, which the smoothed ends do not show (`loss-divergence`). Source: runbook 001 C.2 and 002 §2 name the
    symptom without a number; the numbers are own judgement.
    """
    loss, points = track.get("loss"), _supervised_loss(track, 100)
    if loss is None or _diverged(track) is not None:
        return
    if points is None:
        yield from _no_better_for_passes(track)
        return
    first, last = head_tail(points.values, 0.1)
    if first <= 0.05:
        return
    from_the_start = _from_the_start(finite(loss))
    gain = (first - last) / first
    _, z = mann_kendall(points.values)
    stuck = last > UNLEARNED and gain < STUCK and first - last < noise(points.values) and len(points) >= 300
    if not stuck and (gain >= 0.02 or gain < -0.05):
        return
    flat = gain < 0.005 and z > -2
    code = "loss-plateau" if flat or (z > -2 and gain < 0.02) else "loss-slow"
    severity = S2 if (flat or last > UNLEARNED) and from_the_start else S3
    n, levels = len(points), {"gain": gain, "baseline": first, "last": last, "trend_z": z}
    en = f"{points.key} goes from {first:.4g} to {last:.4g} over {n} points ({gain:+.1%} gain, trend z {z:.1f})."
    zh = f"{points.key} 在 {n} 个点里从 {first:.4g} 到 {last:.4g}（改善 {gain:+.1%}，趋势 z {z:.1f}）。"
    yield finding(code, severity, [(points, 0), (points, -1)], en, zh, **levels)


def _no_better_for_passes(track: Track) -> Iterator[Finding]:
    """Twenty points or more over five epochs or more in which the loss shows no fall at all: whoever sees the same rows
    that often knows some by heart. An accuracy that rises meanwhile says otherwise. Own judgement."""
    points, epoch = _supervised_loss(track, 20), track.points("epoch")
    if points is None or points.values.min() <= 0.05:
        return
    passes = points.steps if points.step_is == "epoch" else epoch.values if epoch is not None else np.zeros(1)
    if passes.max() - passes.min() < PASSES:
        return
    (first, last), (_, z) = head_tail(points.values, 0.3), mann_kendall(points.values)
    risen = (p for name in ("accuracy", "eval_accuracy") if (p := track.points(name, 5)) is not None)
    if last < 0.98 * first or z < -1 or any(mann_kendall(p.values)[1] > 1 for p in risen):
        return
    n, epochs = len(points), float(passes.max())
    en = f"{points.key} goes from {first:.4g} to {last:.4g} over {n} points and {epochs:.3g} epochs (trend z {z:.1f})."
    zh = f"{points.key} 在 {n} 个点、{epochs:.3g} 个 epoch 里从 {first:.4g} 到 {last:.4g}（趋势 z {z:.1f}）。"
    levels = {"gain": (first - last) / first, "baseline": first, "last": last, "trend_z": z}
    yield finding("loss-plateau", S2, [(points, 0), (points, -1)], en, zh, **levels)


def _from_the_start(loss: Series) -> bool:
    return bool(loss.steps[0] <= 0.05 * loss.steps[-1])


RISES = ((100, 1.5, 1.0), (5, 2.0, 0.25))
"""Points, and the share and the difference by which the end lies above the start from which on a loss has diverged;
few points must besides rise all the way. Own judgement."""


@detector("loss-divergence", "the loss leaves its first level and stays above it", ["loss"], 5)
def loss_divergence(track: Track) -> Iterator[Finding]:
    """The loss ends far above its first points, in a log that begins with the run or rises all the way."""
    if (left := _diverged(track)) is not None:
        yield _left(*left)


def _diverged(track: Track) -> tuple[Series, float, float] | None:
    """The loss that left its first level for good, with that level and the last; None where it did not."""
    loss = track.points("loss", 5)
    if loss is None or track.is_rl:
        return None
    start, last = float(np.median(loss.values[:3])), head_tail(loss.values)[1]
    tau, _ = mann_kendall(loss.values)
    many = len(loss) >= RISES[0][0]
    _, share, least = RISES[0] if many else RISES[1]
    whole = tau >= 0.6 or (many and _from_the_start(loss))
    beyond = last - start >= max(least, 3 * noise(np.diff(loss.values)) / np.sqrt(3))
    left = start > 0 and last >= share * start and beyond and whole
    return (loss, start, last) if left else None


def _left(points: Series, start: float, last: float) -> Finding:
    i = int(np.argmax(points.values > (start + last) / 2))
    en = f"{points.key} starts at {start:.4g}, leaves that level at {where(points, i)} and stays near {last:.4g}."
    zh = f"{points.key} 从 {start:.4g} 起步，在{where_zh(points, i)}离开该水平，此后停在 {last:.4g} 附近。"
    levels = {"baseline": start, "last": last, "factor": last / start}
    return finding("loss-divergence", S1, [(points, i), (points, -1)], en, zh, **levels)


@detector("loss-oscillation", "the loss swings widely without a downward trend", ["loss"], 60)
def loss_oscillation(track: Track) -> Iterator[Finding]:
    """The swing of the second half is a quarter of the level, twice that of the first half, and nothing is gained; or
    from some stretch on every one swings three times as far as every one before, by a twentieth of the level at least.

    Source of the symptom: runbook 001 C.2, 002 §2 ("violently up and down after warm-up"); numbers own judgement.
    """
    points = _supervised_loss(track, 60)
    if points is None or (found := _swings(points)) is None:
        return
    half, swing_early, swing_late, level, z = found
    late = points.values[half:]
    en = (
        f"{points.key} swings by {swing_late:.3g} around {level:.3g} from {where(points, half)} on ({swing_early:.3g} "
        f"before) and does not fall (trend z {z:.1f})."
    )
    zh = (
        f"{points.key} 自{where_zh(points, half)}起在 {level:.3g} 附近摆动 {swing_late:.3g}（此前 {swing_early:.3g}），"
        f"且没有下降（趋势 z {z:.1f}）。"
    )
    shown = [(points, half), (points, half + int(np.argmax(late)))]
    data = {"baseline": swing_early, "swing": swing_late, "level": level, "trend_z": z}
    yield finding("loss-oscillation", S2, shown, en, zh, **data)


def _swings(points: Series) -> tuple[int, float, float, float, float] | None:
    """(where it begins, swing before and after, level, trend) of a loss that swings wider and falls no more."""
    wilder = _wilder(points.values)
    half = wilder[0] or len(points) // 2
    early, late = points.values[:half], points.values[half:]
    least = LEAST_SWING if wilder[0] else 0.25
    level = float(np.median(late))
    swing_early = wilder[1] if wilder[0] else sigma(early - _trend(early))
    swing_late = sigma(late - _trend(late))
    _, z = mann_kendall(late)
    if level <= 0.05 or swing_late < least * level or swing_late < 2 * swing_early or z < -2:
        return None
    return half, swing_early, swing_late, level, z


STRETCHES, LEAST_STRETCH = 8, 20
"""Parts of a loss whose swings are compared, and points that each must have."""
WILDER, LEAST_SWING = 3.0, 0.05
"""Times that every later part must swing more than every earlier one, and share of the level that is a swing at all."""


def _wilder(values: np.ndarray) -> tuple[int, float]:
    """(where every later stretch begins to swing far more than any before, their widest swing); 0 where none does."""
    if len(values) < STRETCHES * LEAST_STRETCH:
        return 0, 0.0
    bounds = np.linspace(0, len(values), STRETCHES + 1).astype(int)
    swings = [sigma(part - _trend(part)) for part in np.split(values, bounds[1:-1])]
    found = [k for k in range(1, STRETCHES - 1) if min(swings[k:]) >= WILDER * max(swings[:k])]
    return (int(bounds[found[0]]), max(swings[: found[0]])) if found else (0, 0.0)


def _trend(values: np.ndarray) -> np.ndarray:
    """The cubic through the values, (n,): it follows the bend of a normal loss curve."""
    t = np.linspace(-1, 1, len(values))
    return np.polyval(np.polyfit(t, values, 3), t)


@detector("loss-jitter-benign", "the loss is noisy but falls: normal behaviour", ["loss"], 30)
def loss_jitter_benign(track: Track) -> Iterator[Finding]:
    """Reassurance: the 100-step moving average falls, and behind the start no point leaves the noise band far behind,
    but for single ones, rarely, that are back at once, or that come back point by point within a few.

    Source: runbook 002 ("smooth over 100 steps before judging"); acceptance row `smoothed_loss_trend_window`.
    """
    points = _supervised_loss(track, 30)
    if points is None or (len(points) >= 60 and _swings(points) is not None):
        return
    level, spread = float(np.median(points.values)), noise(points.values)
    tau, z = mann_kendall(points.values)
    first, last = head_tail(points.values, 0.1)
    if level <= 0 or spread < NOISY * level or z > -3 or last >= first:
        return
    rest = (points.values - np.interp(np.arange(len(points)), *_smooth(points.values)))[len(points) // 10 :]
    far = np.flatnonzero(rest > 8 * spread)
    if not _back_at_once(rest, far):
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


def _back_at_once(rest: np.ndarray, far: np.ndarray) -> bool:
    """Whether the points far outside are rare jumps, each of one point or of a few that each fall from the one before.

    Args:
        rest: the points less their moving average.
        far: which of them are far outside.
    """
    jumps = np.split(far, np.flatnonzero(np.diff(far) > 1) + 1) if len(far) else []
    falling = all(len(j) <= COMING_BACK and bool((np.diff(rest[j]) < 0).all()) for j in jumps)
    return falling and len(jumps) <= len(rest) // FEW


def _smooth(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and values of block medians over 100 points (or a tenth of a short run)."""
    size = max(5, min(100, len(values) // 10))
    count = max(2, len(values) // size)
    least, longer = divmod(len(values), count)
    sizes = np.where(np.arange(count) < longer, least + 1, least)
    return np.cumsum(sizes) - sizes / 2, blocks(values, count)


@points_detector("loss-abnormal-at-start", "the first losses are far above what random guessing gives", "loss", 10)
def loss_abnormal_at_start(points: Series, track: Track) -> Iterator[Finding]:
    """The first three losses are all above 14, when ln of the largest vocabularies is 12.5 (contradictions X-01).

    Only for a log that begins with the run (step at most 20) and a loss that later has token level (below 14). A note
    where the curve then falls as it should (some models start high), or where the whole run is at that level (a loss
    summed over accumulation steps).
    """
    first, last = float(points.values[0]), head_tail(points.values)[1]
    if track.is_rl or points.steps[0] > 20 or points.values[:3].min() <= 14 or np.median(points.values) >= 14:
        return
    falls = last <= max(UNLEARNED, FALLEN * first)
    as_ever = float(np.median(points.values[:5])) < LIKE_THE_REST * last
    more, more_zh = "", ""
    if falls:
        more, more_zh = f", and then falls to {last:.4g} as it should", f"，随后正常降到 {last:.4g}"
    elif as_ever:
        more = f", and is still {last:.4g} at the end: a sum (over accumulation steps, tokens) rather than a mean?"
        more_zh = f"，到最后仍为 {last:.4g}：是否为求和（梯度累积、token）而非平均？"
    en = (
        f"{points.key} starts at {first:.4g}; random guessing over 262,144 tokens gives 12.5 (assumed: mean cross "
        f"entropy per token, in nats){more}{'' if as_ever and not falls else '.'}"
    )
    zh = (
        f"{points.key} 起始为 {first:.4g}；在 262,144 个 token 上随机猜测为 12.5"
        f"（假定为每 token 平均交叉熵，单位 nat）{more_zh}{'' if as_ever and not falls else '。'}"
    )
    severity, levels = S3 if falls or as_ever else S2, {"baseline": 12.5, "value": first, "last": last}
    yield finding("loss-abnormal-at-start", severity, [(points, 0), (points, -1)], en, zh, **levels)


FALLEN = 0.5
"""Share of an unusual first loss to which it has fallen where nothing is wrong with the start. Own judgement."""
LIKE_THE_REST = 1.25
"""How far above its end a loss that starts high is no start of its own. Own judgement."""


@run_detector("loss-jump-on-resume", "the loss after a restart is above that before it", ["loss"], 15)
def loss_jump_on_resume(tracks: Sequence[Track]) -> Iterator[Finding]:
    """First losses of a resumed attempt against the last ones before it: above by 8 deviations and 5%.

    Only attempts, or logs of one folder, that start after step 50, near the end of the one before, and go further.
    Numbers: own judgement.
    """
    losses = [s for t in tracks if not t.is_rl and (s := t.get("loss")) is not None and s.step_is == "step"]
    for before, after in pairwise(losses):
        old, new = finite(before), finite(after)
        apart = before.attempt != after.attempt or (before.file != after.file and old.steps[-1] < new.steps[-1])
        if not apart or len(old) < 10 or len(new) < 5 or new.steps[0] <= 50:
            continue
        old_part = old.values[old.steps <= new.steps[0]][-10:]
        if len(old_part) < 10 or old.steps[0] > new.steps[0] or new.steps[0] > 1.1 * old.steps[-1]:
            continue
        level, level_new = float(np.median(old_part)), float(np.median(new.values[:5]))
        if level > 0 and level_new - level > max(0.05 * level, 8 * noise(old.values[-50:])):
            en = (
                f"After the restart at {where(new, 0)} {new.key} is {level_new:.4g}; it was {level:.4g} before: state "
                "that was not restored (optimizer, scheduler, data order)?"
            )
            zh = (
                f"{where_zh(new, 0)}重启后 {new.key} 为 {level_new:.4g}，之前为 {level:.4g}：可能有状态未恢复"
                "（优化器、调度器、数据顺序）。"
            )
            shown = [(new, 0), (old, -1)]
            grade = S3 if new.file.endswith(".ipynb") else S2  # another cell of a notebook trains another model
            yield finding("loss-jump-on-resume", grade, shown, en, zh, baseline=level, value=level_new)


@run_detector("metrics-not-logged", "what is needed to judge the run is not logged", ["loss"], 10)
def metrics_not_logged(tracks: Sequence[Track]) -> Iterator[Finding]:
    """The training loss is logged but the gradient norm is not, so causes of a failure cannot be told apart.

    What another line of the same log gives, of one rank or of all, is logged.
    Source: runbook 002 §1 ("besides loss, record learning_rate and gradient_norm").
    """
    logged = {(t.file, s.metric) for t in tracks for s in t.series if len(s) >= 2}
    for track in tracks:
        yield from _not_logged(track, {name for file, name in logged if file == track.file})


def _not_logged(track: Track, beside: set[str]) -> Iterator[Finding]:
    loss, norm = track.get("loss"), track.get("grad_norm")
    if loss is None or len(loss) < 10:
        return
    wanted = ("grad_norm", "learning_rate")
    missing = [name for name in wanted if track.get(name) is None and name not in beside]
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

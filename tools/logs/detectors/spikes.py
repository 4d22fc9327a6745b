"""Detectors of jumps: loss spikes and divergence, gradient-norm spikes, clip rate, the fp16 loss scale.

Every jump is measured against the run's own rolling history. One outlier that recovers at once is never serious.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity
from ...phrase import POINT, counted
from ...series import Series
from .detector import S1, S2, S3, UNLEARNED, Track, detector, finding, points_detector, where, where_zh
from .robust import (
    WARMUP_STEPS,
    WINDOW,
    Jump,
    comes_down,
    finite,
    head_tail,
    jumps,
    often,
    onset,
    rolling,
    settled,
    sigma,
)
from .shifts import LANGUAGE_LOSS, lasting_rise

SHORT = 0.01
"""Share of a log up to which a jump that comes back has cost nothing. Own judgement."""
EXCERPT = 10
"""Points below which a log is a few pasted lines."""


def _known_needed(points: Series, jump: Jump) -> int:
    """Points of history needed before a jump counts.

    Ten (early transients of sparse logs), but one in a log that begins in the middle of a run, and three when the
    values never come back.
    """
    if jump.open and jump.width >= 3:
        return 3
    interval = np.median(np.diff(points.steps)) if len(points) > 1 else 1
    return 10 if points.steps[0] <= WARMUP_STEPS + 2 * interval else 1


def _worst(found: list[Jump]) -> Jump | None:
    return max(found, key=lambda j: j.height * min(j.width, 3), default=None)


def _is_serious(jump: Jump) -> bool:
    """Big, many deviations, and of language-loss scale; stricter when little history is known.

    Source: tr1-13B and tr8-104B chronicles (2.77 -> 7.34, 6.44 -> 11.42); a +1.5 outlier is tolerated
    (field notes). The numbers are own judgement.
    """
    low, high = LANGUAGE_LOSS
    medians, _ = rolling(jump.values[: jump.start + 1])
    usual = jump.values[10 : jump.start] - medians[10 : jump.start]
    if len(usual) >= 20 and jump.height < 1.5 * np.percentile(usual, 99):
        return False
    needed = max(1.0, 0.5 * jump.baseline) if jump.start >= 10 else max(2.0, 0.6 * jump.baseline)
    return low <= jump.baseline <= high and jump.height >= max(needed, 8 * jump.spread)


@detector(
    "loss-spike",
    "the loss jumps far above its recent history",
    ["loss"],
    2,
    loss_divergence="the loss rises well above its earlier best and stays there",
    loss_level_shift="the loss jumps once and goes on at a higher level",
)
def loss_spike(track: Track) -> Iterator[Finding]:
    """A jump of the loss above the run's own history, or a level that never comes back down.

    What climbs bit by bit, and does not come back, jumps nowhere: it only leaves its level, where it began to climb.
    S1 only when the jump is big and several deviations and lasts (three points and 1% of the log, or to its end) or the
    loss scale or the gradient norm jumps with it and it lasts two; a jump that recovers is S3, S2 if wide. The first
    `WARMUP_STEPS` steps are tolerated. Policy losses of RL are not judged: they have no level.
    """
    loss = track.get("loss")
    if loss is None or track.is_rl:
        return
    excerpt = _in_excerpt(finite(loss))
    if excerpt is not None:
        yield excerpt
        return
    points = settled(loss)
    found = [j for j in jumps(points.values) if j.start >= _known_needed(points, j)]
    jump = _worst(found)
    if jump is None:
        yield from lasting_rise(points)
        return
    company = _company(track, points, jump)
    lasting = jump.width >= max(3, SHORT * len(points)) or (jump.open and jump.width >= 2)
    doubles = jump.height >= jump.baseline
    sticks = lasting or (bool(company) and doubles and (jump.width >= 2 or jump.open))
    big, stays = _is_serious(jump), jump.open and jump.width >= 2
    fell_short = _level_after(points.values, jump)
    if big and jump.climbs:
        yield _departure(points, jump.begun(), company, len(found))
    elif big and (sticks or fell_short):
        yield _spike(S1, points, jump, company, len(found))
        if stays or fell_short:
            yield _departure(points, jump, company, len(found))
    elif jump.height >= max(0.15 * abs(jump.baseline), 8 * jump.spread) and jump.start >= 10:
        wide = jump.width >= 3 and jump.height >= 0.25 * abs(jump.baseline)
        yield _spike(S2 if wide else S3, points, jump, company, len(found))
    if not stays:
        yield from lasting_rise(points)


def _in_excerpt(points: Series) -> Finding | None:
    """The jump of a few pasted lines, which have no history: the loss doubles within one logging interval.

    S1 if it is still there at the next point, else S2. Never near random guessing, nor where the values bounced before.
    Numbers: own judgement.
    """
    values = points.values
    if not 2 <= len(values) < EXCERPT:
        return None
    i = int(np.argmax(np.diff(values)))
    level, after = float(np.median(values[: i + 1])), values[i + 1 :]
    if (values[1 : i + 1] > 1.5 * values[:i]).any():
        return None
    low = LANGUAGE_LOSS[0] <= level < UNLEARNED
    if not low or after[0] < 2 * max(1.0, level) or values[i] > 1.5 * level or (after < (level + after[0]) / 2).any():
        return None
    jump = Jump(i + 1, i + 1 + int(np.argmax(after)), len(values), level, 0.0, values)
    return _spike(S1 if len(after) > 1 else S2, points, jump, "", 1)


def _level_after(values: np.ndarray, jump: Jump) -> bool:
    """Whether all values after the jump stay a tenth above the level before it."""
    after = values[jump.stop :]
    return bool(len(after)) and bool((after > 1.1 * jump.baseline + 3 * jump.spread).all())


def _company(track: Track, loss: Series, jump: Jump) -> str:
    """The metric that jumps with the loss: grad_norm up fivefold, or the loss scale down to a quarter."""
    begin = int(loss.steps[max(0, jump.start - 1)])
    end = int(loss.steps[min(len(loss) - 1, jump.start + 2)])
    norm, scale = track.points("grad_norm"), track.get("loss_scale")
    if norm is not None:
        before, during = _around(norm, begin, end)
        usual = np.median(before[-WINDOW:]) if len(before) else 0.0
        if len(during) and usual > 0 and during.max() >= 5 * usual:
            return "grad_norm"
    if scale is not None:
        before, during = _around(scale, begin, end)
        if len(before) and len(during) and during.min() <= before[-3:].min() / 4:
            return "loss_scale"
    return ""


def _around(series: Series, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """The values up to the step `begin`, and those after it up to `end`."""
    before = series.steps <= begin
    return series.values[before], series.values[~before & (series.steps <= end)]


def _spike(severity: Severity, points: Series, jump: Jump, company: str, count: int) -> Finding:
    i, high = jump.start, points.values[jump.peak]
    ends = "not recovered when the log ends" if jump.open else f"back near it after {counted(jump.width, POINT)}"
    ends_zh = "到日志结束仍未恢复" if jump.open else f"{jump.width} 个点后回落"
    more, more_zh = (f"; {company} jumps with it", f"；{company} 同时突变") if company else ("", "")
    en = f"{points.key} jumps from {jump.baseline:.4g} to {high:.4g} at {where(points, i)}, {ends}{more}."
    zh = f"{points.key} 在{where_zh(points, i)}从 {jump.baseline:.4g} 跳到 {high:.4g}，{ends_zh}{more_zh}。"
    return _jump("loss-spike", severity, points, jump, en, zh, with_metric=company or None, spikes=count)


def _departure(points: Series, jump: Jump, company: str, count: int) -> Finding:
    i, last = jump.start, float(np.median(points.values[-3:]))
    best = points.values[: i + 1].min()
    way, way_zh = ("climbs bit by bit from", "起逐渐离开并升高") if jump.climbs else ("leaves", "离开")
    en = (
        f"{points.key} {way} its level ({jump.baseline:.4g}) at {where(points, i)} and does not come back: it ends at "
        f"{last:.4g}, the best before was {best:.4g}."
    )
    zh = (
        f"{points.key} 在{where_zh(points, i)}{way_zh}原水平（{jump.baseline:.4g}）且没有回来：结束时为 {last:.4g}，"
        f"此前最好为 {best:.4g}。"
    )
    return _jump("loss-divergence", S1, points, jump, en, zh, with_metric=company or None, spikes=count)


def _jump(code: str, severity: Severity, points: Series, jump: Jump, en: str, zh: str, **more: object) -> Finding:
    """A finding at a jump, with its numbers."""
    shown = [(points, i) for i in dict.fromkeys((jump.start, jump.peak))]
    peak = float(points.values[jump.peak])
    return finding(
        code,
        severity,
        shown,
        en,
        zh,
        last_good_step=int(points.steps[jump.start - 1]),
        baseline=jump.baseline,
        peak=peak,
        factor=peak / jump.baseline if jump.baseline else None,
        robust_sigma=jump.spread,
        points_above=jump.width,
        recovered=not jump.open,
        **more,
    )


ALONE, PASSED = 0.005, 10
"""Share of the points up to which spikes are single ones, and points of a loss on each side of one. Own judgement."""


def _passed_by(track: Track, norm: Series, hits: np.ndarray) -> bool:
    """Whether the spikes are single ones, and the loss beside them, which falls over the run, is never higher behind
    one than its own noise before it explains: the steps were clipped, or did no harm."""
    loss = track.like("loss", norm)
    if loss is None or track.is_rl or len(hits) > ALONE * len(norm) or (np.diff(hits) < PASSED // 2).any():
        return False
    first, last = head_tail(loss.values, 0.1)
    if last > 0.95 * first:
        return False
    for step in norm.steps[hits]:
        at = int(np.searchsorted(loss.steps, step))
        before, after = loss.values[max(0, at - PASSED) : at], loss.values[at + 1 : at + 1 + PASSED]
        if len(before) < 3 or len(after) < 3:
            return False
        if np.median(after) > np.median(before) + max(2 * float(before.std()), 0.05 * abs(float(np.median(before)))):
            return False
    return True


@detector("grad-norm-spike", "the gradient norm jumps far above its recent history", ["grad_norm"], 6)
def grad_norm_spike(track: Track) -> Iterator[Finding]:
    """One gradient norm ten times the rolling median (S3; S2 where `often` and the loss minds). Never serious alone.

    Good runs have such steps (field notes); RL has no warm-up transient, so its first steps count. Megatron multiplies
    the norm by the fp16 loss scale, so the factor is taken against the run's own median; a norm of 0.000 throughout
    means "not computed" and is skipped.
    """
    norm = track.get("grad_norm")
    if norm is None or not np.any(norm.values):
        return
    series = finite(norm) if track.is_rl else settled(norm)
    values = series.values
    if len(values) < 6:
        return
    medians, spreads = rolling(values)
    known = (np.arange(len(values)) >= 5) & (medians > 0)
    hits = np.flatnonzero(known & (values >= 10 * medians) & (values >= medians + 10 * spreads))
    if not len(hits):
        return
    times = values[hits] / medians[hits]
    i, top = int(hits[0]), int(hits[np.argmax(times)])
    baseline, first, most = float(medians[i]), float(times[0]), float(times.max())
    en = (
        f"{series.key} is {values[i]:.4g} at {where(series, i)}, {first:.0f} times its rolling median "
        f"({baseline:.3g}); {counted(len(hits), POINT)} of this kind, the largest {most:.0f} times."
    )
    zh = (
        f"{series.key} 在{where_zh(series, i)}为 {values[i]:.4g}，是滚动中位数（{baseline:.3g}）的 {first:.0f} 倍；"
        f"共 {len(hits)} 处，最大 {most:.0f} 倍。"
    )
    shown = [(series, j) for j in dict.fromkeys((i, top))]
    severity = S2 if often(hits, len(values)) and not _passed_by(track, series, hits) else S3
    yield finding("grad-norm-spike", severity, shown, en, zh, baseline=baseline, factor=most, spikes=len(hits))


@detector(
    "clip-rate-high", "gradient clipping triggers more often than the run's own baseline explains", ["grad_norm"], 40
)
def clip_rate_high(track: Track) -> Iterator[Finding]:
    """The share of steps whose gradient norm exceeds the clip value, against the run's own early share.

    Runbook 002 calls more than 1% too many, but its healthy norm (0.5 to 5) exceeds its clip value (1.0), so the
    three numbers are reported together (contradictions I-01, U-13). S2 only when share and norm grow, or when the norm
    grows far beyond a clip value that cuts every step and the loss does not fall under it.
    """
    norm, clip = track.get("grad_norm"), track.grad_clip
    if norm is None or not clip or clip <= 0:
        return
    points = settled(norm)
    if len(points) < 40:
        return
    over = points.values > clip
    quarter = len(over) // 4
    early, late = float(over[:quarter].mean()), float(over[-quarter:].mean())
    early_norm, late_norm = head_tail(points.values, 0.25)
    rate = float(over.mean())
    if rate <= 0.01:
        return
    always = min(early, late) >= 0.95 and early_norm >= 3 * clip
    always &= (loss := track.points("loss", 5)) is None or not comes_down(loss.values)
    grows = (late >= early + 0.3 or always) and late_norm >= 1.5 * early_norm
    en = (
        f"{points.key} exceeds the clip value {clip:g} on {rate:.0%} of the steps after warm-up ({early:.0%} in the "
        f"first quarter, {late:.0%} in the last; median norm {early_norm:.3g} then {late_norm:.3g}). Assumed: the "
        "logged norm is the one before clipping."
    )
    zh = (
        f"warmup 之后 {points.key} 有 {rate:.0%} 的步超过裁剪值 {clip:g}（前四分之一 {early:.0%}，后四分之一 "
        f"{late:.0%}；范数中位数 {early_norm:.3g} → {late_norm:.3g}）。假定记录的是裁剪前的范数。"
    )
    shown = [(points, int(np.argmax(over)))]
    rates = {"clip": clip, "rate": rate, "early_rate": early, "late_rate": late}
    median = float(np.median(points.values))
    yield finding("clip-rate-high", S2 if grows else S3, shown, en, zh, **rates, median_norm=median)


@points_detector(
    "loss-scale-collapse",
    "the fp16 loss scale is driven to its floor",
    "loss_scale",
    2,
    loss_scale_drop="the fp16 loss scale drops several halvings in a row",
)
def loss_scale_collapse(points: Series, _: Track) -> Iterator[Finding]:
    """The dynamic loss scale ends at its floor (1 or less) or 2^10 below its settled level and under 32.

    The search at the start (from 2^16 or 2^32 down) and single overflows are normal: a clean run shows over a hundred
    OVERFLOW lines (field notes). A constant 1.0 is bf16. Source: runbook 001 C.2; numbers own judgement.
    """
    values = points.values
    if values.max() < 16:
        return
    changes = np.diff(np.log2(np.maximum(values, 1e-9)))
    ready = _search_end(changes)
    drops = np.flatnonzero(changes <= -3)
    for i in drops[drops >= ready][:1] + 1:
        yield _scale("loss-scale-drop", S2, points, int(i), float(values[i - 1]))
    settled_level = float(np.median(values[: max(3, len(values) // 2)]))
    floor = values <= 1.0
    low = (values <= settled_level / 1024) & (values < 32)
    start = onset(floor) if floor[-1] else onset(low)
    if start is not None and 1 <= start <= len(values) - 3:
        yield _scale("loss-scale-collapse", S1, points, start, settled_level)


def _search_end(changes: np.ndarray) -> int:
    """Index at which the search for a first scale is over: it rose, or held for five points."""
    held = 0
    for i, change in enumerate(changes):
        held = held + 1 if change == 0 else 0
        if change > 0 or held >= 5:
            return i
    return len(changes)


def _scale(code: str, severity: Severity, points: Series, i: int, before: float) -> Finding:
    now, last = points.values[i], float(points.values[-1])
    en = f"{points.key} falls from {before:g} to {now:g} at {where(points, i)} and ends at {last:g}."
    zh = f"{points.key} 在{where_zh(points, i)}从 {before:g} 降到 {now:g}，结束时为 {last:g}。"
    data = {"baseline": before, "last": last, "halvings": float(np.log2(before / max(last, 1e-9)))}
    return finding(code, severity, [(points, i), (points, -1)], en, zh, **data)


SOLVED = 0.01
"""Share of its first level below which a loss leaves nothing to learn. Own judgement."""


@points_detector("grad-norm-vanishing", "the gradient norm fades to almost nothing", "grad_norm", 20)
def grad_norm_vanishing(points: Series, track: Track) -> Iterator[Finding]:
    """The last tenth of the gradient norms is a thousandth of the early level, or below 1e-7 of it all along; or it
    fell to a hundredth within a tenth of the run and the loss has not fallen since.

    Exactly 0.0 is "not computed" (Megatron) or "no advantage" (GRPO) and is skipped; where the loss has gone to nothing
    with it, there is nothing left to learn. Source: runbook 004; the factor is own judgement.
    """
    loss = track.points("loss", 3)
    if loss is not None and not track.is_rl and 0 <= head_tail(loss.values)[1] < SOLVED * head_tail(loss.values)[0]:
        return
    computed = points.values[points.values > 0]
    if len(computed) < len(points) / 2:
        return
    early, last = head_tail(computed, 0.2)
    start = onset((points.values < 0.01 * early) | (points.values <= 1e-7))
    if last > 1e-3 * early and last > 1e-7 and (start is None or not _cut_off(points, start, early, loss)):
        return
    i = start if start is not None else len(points) - 1
    en = f"{points.key} fades from {early:.3g} to {last:.3g}; below a hundredth of the start from {where(points, i)}."
    zh = f"{points.key} 从 {early:.3g} 降到 {last:.3g}；自{where_zh(points, i)}起低于初始水平的百分之一。"
    data = {"baseline": early, "last": last, "factor": last / early if early else None, "robust_sigma": sigma(computed)}
    yield finding("grad-norm-vanishing", S2, [(points, i), (points, -1)], en, zh, **data)


def _cut_off(points: Series, start: int, early: float, loss: Series | None) -> bool:
    """Whether the norm was lost within a tenth of the run, and the loss stands still from there on."""
    high = np.flatnonzero(points.values[:start] >= 0.1 * early)
    since = loss.values[loss.steps >= points.steps[start]] if loss is not None else np.empty(0)
    if not len(high) or start - high[-1] > len(points) / 10 or len(since) < len(points) / 10:
        return False
    return (ends := head_tail(since))[1] > 0.98 * ends[0]

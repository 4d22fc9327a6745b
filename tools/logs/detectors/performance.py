"""Detectors of speed, memory and ranks: throughput, step time, utilisation, stragglers, ranks and steps that
stop.

Speed is judged against the run's own earlier speed; absolute limits of the runbooks lack a model size (U-11,
U-12).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding
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
    onset,
    run_detector,
    sigma,
    subset,
    where,
    where_zh,
)

SPEEDS = ("tokens_per_second", "samples_per_second", "tflops", "mfu", "step_time")


def _speed(track: Track) -> tuple[Series, np.ndarray] | None:
    """The longest speed series and its values as a speed (1/step_time), positive values only."""
    found = [s for name in SPEEDS if (s := track.get(name)) is not None]
    if not found:
        return None
    series = finite(max(found, key=len))
    series = subset(series, series.values > 0)
    return series, 1 / series.values if series.metric == "step_time" else series.values


@detector("throughput-drop", "the speed falls below the run's own level and stays there", SPEEDS)
def throughput_drop(track: Track) -> Iterator[Finding]:
    """The speed stays below its earlier median to the end: S1 from half, S2 from 25%, S3 from 4% and far
    beyond noise.

    RL steps lengthen with the responses, so there a drop is S3. Source: tr11-176B chronicle (149 to 141
    TFLOPs, no noise); the other numbers are own judgement.
    """
    speed = _speed(track)
    if speed is None or len(speed[1]) < 5:
        return
    series, values = speed
    n = len(values)
    baseline_points = values[: max(2, n // 2)][1 if n >= 20 else 0 :]
    level, spread = float(np.median(baseline_points)), sigma(baseline_points)
    last = float(np.median(values[-max(2, n // 10) :]))
    drop = 1 - last / level
    lasting = max(2, n // 20)
    start = onset(values < level - max(0.3 * (level - last), 3 * spread)) if drop > 0 else None
    if start is None or n - start < lasting or start < 2 or drop < 0.04 or level - last < 8 * spread:
        return
    severity = S3 if track.is_rl or drop < 0.25 else (S1 if drop >= 0.5 and n - start >= 10 else S2)
    yield finding(
        "throughput-drop",
        severity,
        [(series, start), (series, n - 1)],
        f"Speed falls by {drop:.1%} from {where(series, start)} and stays low ({series.key}: "
        f"{series.values[start - 1]:.4g} "
        f"before, {series.values[-1]:.4g} at the end).",
        f"自{where_zh(series, start)}起速度下降 {drop:.1%} 且未恢复（{series.key}：之前 "
        f"{series.values[start - 1]:.4g}，"
        f"结束时 {series.values[-1]:.4g}）。",
        drop=drop,
        baseline=level if series.metric != "step_time" else 1 / level,
    )


@detector("throughput-low", "model FLOPs utilisation is low", ["mfu"])
def throughput_low(track: Track) -> Iterator[Finding]:
    """MFU below 20%, a note only: the runbook's 50% (002 §5) is for 7B on 64 H100 (U-11, U-12)."""
    series = track.get("mfu")
    if series is None or len(finite(series)) < 10:
        return
    points = finite(series)
    level = float(np.median(points.values))
    if 0 < level < 0.2:
        yield finding(
            "throughput-low",
            S3,
            [(points, len(points) - 1)],
            f"{points.key} is {level:.1%} in the median; the runbook's 50% is for a 7B model on 64 H100 "
            f"(assumed: dense "
            "peak, recompute not counted).",
            f"{points.key} 中位数为 {level:.1%}；runbook 的 50% 针对 64 张 H100 上的 7B 模型（假定为稠密峰值，"
            f"不计重算）。",
            mfu=level,
        )


@detector("step-time-jitter", "single steps take far longer than the others", ["step_time"])
def step_time_jitter(track: Track) -> Iterator[Finding]:
    """At least 5% of the steps take over twice the median (evaluation and saving explain rarer ones); S2 where
    they cost 30% of all the time. Own judgement."""
    series = track.get("step_time")
    if series is None or len(finite(series)) < 40 or track.is_rl:
        return
    points = finite(series)
    level = float(np.median(points.values))
    slow = points.values > 2 * level
    scattered = np.count_nonzero(np.diff(slow)) >= 0.2 * slow.sum()  # else it became slow: `throughput-drop`
    if slow.mean() >= 0.05 and slow[len(slow) // 10 :].mean() >= 0.05 and scattered:
        i = int(np.argmax(points.values))
        lost = float((points.values - level)[slow].sum() / points.values.sum())
        yield finding(
            "step-time-jitter",
            S2 if lost >= 0.3 else S3,
            [(points, i)],
            f"{slow.mean():.0%} of the steps take over twice the median {level:.3g} s, the longest "
            f"{points.values[i]:.3g} s.",
            f"{slow.mean():.0%} 的步耗时超过中位数 {level:.3g} 秒的两倍，最长 {points.values[i]:.3g} 秒。",
            share=float(slow.mean()),
            time_lost=lost,
            baseline=level,
        )


@detector("gpu-utilization-low", "the GPUs are idle for part of the time", ["gpu_utilization"])
def gpu_utilization_low(track: Track) -> Iterator[Finding]:
    """Median utilisation below 80% (runbook 003); a weak metric, hence a note (contradictions X-11)."""
    series = track.get("gpu_utilization")
    if series is None or len(finite(series)) < 5:
        return
    points = finite(series)
    level = float(np.median(points.values))
    level = level / 100 if level > 1.5 else level
    if level < 0.8:
        yield finding(
            "gpu-utilization-low",
            S3,
            [(points, len(points) - 1)],
            f"{points.key} is {level:.0%} in the median (the runbook asks for 80%).",
            f"{points.key} 中位数为 {level:.0%}（runbook 要求 80%）。",
            utilization=level,
        )


@detector("gpu-memory-growth", "GPU memory grows without levelling off", ["gpu_memory"])
def gpu_memory_growth(track: Track) -> Iterator[Finding]:
    """Memory grows by 20% over at least 30 points, and by 5% within the last half: a leak. Numbers: own
    judgement.

    A peak counter climbs early and then stays flat: silent. Source of the symptom: runbook 003.
    """
    series = track.get("gpu_memory")
    if series is None or len(finite(series)) < 30:
        return
    points = finite(series)
    values = points.values
    first, last = head_tail(values, 0.1)
    middle = float(np.median(values[len(values) // 2 : len(values) // 2 + 5]))
    steady = mann_kendall(values[len(values) // 2 :])[0]
    if first > 0 and last >= 1.2 * first and last >= 1.05 * middle and steady > 0.5:
        yield finding(
            "gpu-memory-growth",
            S2,
            [(points, len(points) - 1), (points, 0)],
            f"{points.key} grows from {first:.4g} to {last:.4g} and is still growing in the last half.",
            f"{points.key} 从 {first:.4g} 增到 {last:.4g}，后半程仍在增长。",
            baseline=first,
            last=last,
            factor=last / first,
            first_step=int(points.steps[0]),
        )


@detector("moe-load-imbalance", "few experts receive most tokens", ["moe_load_imbalance"])
def moe_load_imbalance(track: Track) -> Iterator[Finding]:
    """Largest over mean expert load minus one ends above 2 and has grown by half. Numbers: own judgement."""
    series = track.get("moe_load_imbalance")
    if series is None or len(finite(series)) < 10:
        return
    points = finite(series)
    first, last = head_tail(points.values, 0.1)
    if last > 2 and last > 1.5 * first:
        yield finding(
            "moe-load-imbalance",
            S2,
            [(points, len(points) - 1), (points, 0)],
            f"{points.key} grows from {first:.3g} to {last:.3g}: the routing collapses onto few experts.",
            f"{points.key} 从 {first:.3g} 升到 {last:.3g}：路由集中到少数专家。",
            baseline=first,
            last=last,
        )


@detector("steps-skipped", "many optimizer steps are skipped", ["skipped_steps"])
def steps_skipped(track: Track) -> Iterator[Finding]:
    """Steps are still being skipped in the last half: over 10% of them.

    Megatron logs the skips since the last line, DeepSpeed the sum so far; the start-up search of fp16 is
    tolerated by looking at the last half only. Number: own judgement.
    """
    series = track.get("skipped_steps")
    if series is None or len(finite(series)) < 20:
        return
    points = finite(series)
    half = len(points) // 2
    steps = max(1, int(points.steps[-1] - points.steps[half]))
    late = points.values[half:]
    each = "iterations" in points.key
    skipped = float(late.sum()) if each else float(late.max() - points.values[:half].max())
    if skipped / steps > 0.1 and skipped >= 5:
        yield finding(
            "steps-skipped",
            S2,
            [(points, half), (points, len(points) - 1)],
            f"{skipped:.0f} of {steps} steps in the last half were skipped ({points.key}).",
            f"后半程 {steps} 步中有 {skipped:.0f} 步被跳过（{points.key}）。",
            skipped=skipped,
            share=skipped / steps,
        )


@run_detector("straggler", "one rank is slower than the others", ["step_time"])
def straggler(tracks: Sequence[Track]) -> Iterator[Finding]:
    """One rank's median step time is 1.3 times the median of all ranks, at least 10 points each. Own
    judgement."""
    times = [(t, finite(s)) for t in tracks if t.rank is not None and (s := t.get("step_time")) is not None]
    times = [(t, s) for t, s in times if len(s) >= 10]
    if len({t.rank for t, _ in times}) < 3:
        return
    medians = np.array([float(np.median(s.values)) for _, s in times])
    level = float(np.median(medians))
    worst = int(np.argmax(medians))
    track, series = times[worst]
    if level > 0 and medians[worst] >= 1.3 * level:
        yield finding(
            "straggler",
            S2,
            [(series, len(series) - 1)],
            f"Rank {track.rank} takes {medians[worst]:.3g} s a step, the median rank {level:.3g} s.",
            f"rank {track.rank} 每步 {medians[worst]:.3g} 秒，各 rank 中位数为 {level:.3g} 秒。",
            baseline=level,
            factor=float(medians[worst] / level),
        )


@run_detector("rank-missing", "the log of one rank stops before the others", ["loss", "grad_norm", "reward"])
def rank_missing(tracks: Sequence[Track]) -> Iterator[Finding]:
    """One rank logs the same metric as others, then stops at least 5 logged points and 5% before all of them.

    Only within one attempt, and only for ranks with at least 5 points. Numbers: own judgement.
    """
    by_attempt: dict[str, list[tuple[int, Series]]] = {}
    for track in tracks:
        series = track.get("loss") or track.get("reward")
        if track.rank is not None and series is not None and len(series) >= 5:
            by_attempt.setdefault(track.attempt, []).append((track.rank, series))
    for found in by_attempt.values():
        if len({rank for rank, _ in found}) < 2:
            continue
        ends = sorted((int(s.steps[-1]), rank, s) for rank, s in found)
        (end, rank, series), (next_end, _, other) = ends[0], ends[1]
        missed = int((other.steps > end).sum())
        if missed >= max(5, 0.05 * len(other)) and next_end >= ends[-1][0] - (next_end - end) // 2:
            i = len(series) - 1
            yield finding(
                "rank-missing",
                S1,
                [(series, i), (other, len(other) - 1)],
                f"Rank {rank} logs nothing after {where(series, i)}, the others go on to {next_end}.",
                f"rank {rank} 在{where_zh(series, i)}之后没有任何日志，其他 rank 继续到 {next_end}。",
                missing_rank=rank,
                last_step=end,
                others_last_step=next_end,
            )

"""The learning rate against its schedule: one that never falls counts other steps, and so does one that has long come
to its floor while the run goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..documents.event import Claim
from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..series import Series
from ..settings import Settings
from .line import Line, plain

FALLING = ("cosine", "linear", "polynomial", "decay", "wsd", "inverse")
STAYS = ("constant", "restart", "cyclic", "min_lr", "plateau")
LEAST = 20
DONE, HELD = 0.9, 0.85
"""Share of the steps that are set from which on a run is at its end, and share of its peak that the rate still has
there, where it would be near its floor. A cosine is at 2.4% there, a line at 10%."""
MANY = 1.5
"""Times the steps of the run that another place counts for the schedule, to be named beside it."""

LOW, LONG, VALUES = 0.05, 0.6, 10
"""Share of the peak that a floor is at most, share of the way logged so far before which it is come to, and different
rates on the way down from which on it is a slope: a rate that falls by steps follows the loss. Own judgement."""
STILL = 4.0
"""Standard errors by which a loss still falls before the floor, and no longer falls on it."""
SLOWER = 0.03
"""Part of its fall per step before the floor up to which a loss on it has as good as stopped. Own judgement."""
OTHERS = 0.1
"""Share of its way that a rate stays at its floor, where several runs are logged and one has a plan."""


RATE = bounded(r"^(?:lr|lrs?_\w{1,20}|\w{1,20}_lr|rate|eta|learning_?rate|step_?size|学习率\w{0,6})$")
LOSS = bounded(r"^(?:train\w{0,4}_)?(?:loss|lm|lm_loss|nll|ce|xent|cross_entropy|损失|训练损失)$")
MOST_RATE = 0.1
"""What a learning rate is at most, where its name alone may be of anything."""


def rates(lines: Sequence[Line]) -> list[Line]:
    """The learning rates that files log by step, one a file."""
    by_file: dict[str, Line] = {}
    for known in (True, False):
        for x in lines:
            named = x.name == "learning_rate" if known else RATE.search(plain(x.key))
            if named and x.axis == "step" and len(x) >= LEAST and x.file not in by_file:
                line = x.finite()
                if len(line) >= LEAST and (known or 0 <= line.values.min() < line.values.max() <= MOST_RATE):
                    by_file[x.file] = line
    return [*by_file.values()]


def held(rate: Line) -> float:
    """Share of the way at whose end the rate stays as it is."""
    moves = np.flatnonzero(np.abs(rate.values - rate.values[-1]) > 1e-5 * abs(rate.values[-1]))
    return 1.0 - float(rate.x[moves[-1] if len(moves) else 0]) / float(rate.x[-1] or 1.0)


def lingering(rate: Line, at: int, lines: Sequence[Line]) -> Iterator[Finding]:
    """Without a plan: most of what is logged was trained at the floor, and the loss stands still since it began."""
    top = int(rate.values.argmax())
    peak, last, begun, end = float(rate.values[top]), float(rate.values[-1]), float(rate.x[at]), float(rate.x[-1])
    beside = [x.finite() for x in lines if x.file == rate.file and not x.group]
    loss = next((x for x in beside if x.name == "loss"), None)
    loss = loss or next((x for x in beside if LOSS.search(plain(x.key)) and (x.values > 0).all()), None)
    slope = len(np.unique(rate.values[top : at + 1])) >= VALUES
    if loss is None or not slope or last > LOW * peak or begun > LONG * end:
        return
    before = loss.values[(loss.x >= begun / 2) & (loss.x < begun)]
    since = loss.values[loss.x >= begun]
    if min(len(before), len(since)) < LEAST or _fell(before) < STILL:
        return
    slow = _slope(since) / len(since) <= SLOWER * _slope(before) / len(before)
    if _fell(since) >= STILL and not slow:
        return
    half = len(since) // 2
    levels = [float(np.median(part)) for part in (since[:half], since[half:])]
    share = 1 - begun / end
    yield Finding(
        "lr-floor-early", Severity.S1,
        f"{rate.key} is at its floor {last:.3g} from step {begun:.0f} on, {last / peak:.1%} of its peak {peak:.3g}, "
        f"and the run goes on to step {end:.0f}: {share:.0%} of it was trained there, with {loss.key} at "
        f"{levels[0]:.4g} and then {levels[1]:.4g}. The schedule is shorter than the run.",
        f"{rate.key} 从第 {begun:.0f} 步起就处于最低值 {last:.3g}，为峰值 {peak:.3g} 的 {last / peak:.1%}，"
        f"而训练到第 {end:.0f} 步：有 {share:.0%} 是在最低学习率下训练的，{loss.key} 先为 {levels[0]:.4g}，后为 "
        f"{levels[1]:.4g}。"
        "调度比训练短。",
        (rate.evidence(at), rate.evidence(top), loss.evidence(len(loss) - 1)),
        {"at": begun, "planned": end, "share": begun / end, "floor": last, "peak": peak, "still": True},
    )  # fmt: skip


def _slope(values: np.ndarray) -> float:
    """What the second half lies below the first."""
    half = len(values) // 2
    return float(np.median(values[:half]) - np.median(values[half:]))


def _fell(values: np.ndarray) -> float:
    """Standard errors by which the second half lies below the first."""
    a, b = values[: len(values) // 2], values[len(values) // 2 :]
    error = float(np.hypot(a.std(ddof=1) / np.sqrt(len(a)), b.std(ddof=1) / np.sqrt(len(b)))) or 1e-12
    return float(a.mean() - b.mean()) / error


def undecayed(settings: Settings, lines: Sequence[Line], claims: Sequence[Claim] = ()) -> Iterator[Finding]:
    """The rate is near its peak at the last of the steps that are set, though the schedule that is set falls."""
    schedule, steps = settings.get("lr_schedule"), settings.get("max_steps")
    if schedule is None or steps is None or not isinstance(steps.value, (int, float)) or steps.value <= 0:
        return
    said = str(schedule.value).lower()
    if not any(w in said for w in FALLING) or any(w in said for w in STAYS) or _floor_near(settings):
        return
    rate = next((x.finite() for x in lines if x.name == "learning_rate" and x.axis == "step" and len(x) >= LEAST), None)
    if rate is None or not len(rate) or rate.x[-1] < DONE * steps.value or rate.x[-1] > steps.value * 1.1:
        return
    top, last = int(rate.values.argmax()), float(rate.values[-1])
    peak = float(rate.values[top])
    if peak <= 0 or last < HELD * peak:
        return
    other = next((c for c in claims if c.of in ("max_steps", "decay_steps") and c.value > MANY * steps.value), None)
    why = f"; {other.file}:{other.line} counts {other.value:,.0f} steps for it" if other else ""
    why_zh = f"；{other.file}:{other.line} 按 {other.value:,.0f} 步计算" if other else ""
    beside = (Evidence(other.file, other.line, metric=other.of, value=other.value, text=other.text),) if other else ()
    yield Finding(
        "lr-not-decayed", Severity.S1,
        f"{schedule.file}:{schedule.line} sets {schedule.key} {schedule.raw} over {steps.value:,.0f} steps, but "
        f"{rate.key} is {last:.3g} at step {rate.x[-1]:.0f}, {last / peak:.0%} of its peak {peak:.3g}: it never "
        f"falls{why}.",
        f"{schedule.file}:{schedule.line} 设 {schedule.key} {schedule.raw}、共 {steps.value:,.0f} 步，但第 "
        f"{rate.x[-1]:.0f} 步 {rate.key} 仍为 {last:.3g}，是峰值 {peak:.3g} 的 {last / peak:.0%}：没有衰减{why_zh}。",
        (rate.evidence(len(rate) - 1), schedule.evidence(), steps.evidence(), *beside),
        {"last": last, "peak": peak, "steps": float(steps.value), "counted": other.value if other else None},
    )  # fmt: skip


def warming(settings: Settings, series: Iterable[Series]) -> Iterator[Finding]:
    """The warm-up that is set is as long as the epochs that are set, by what the log says an epoch has of steps.

    Where the steps themselves are set, the rule `warmup-exceeds-training` on the configuration says so. Rows that only
    their order numbers, and a count that is the epoch's own, are no steps: a program may write one row an epoch.
    """
    steps, epochs = settings.get("warmup_steps"), settings.get("epochs")
    numbers = (
        steps is not None and epochs is not None and all(isinstance(s.value, (int, float)) for s in (steps, epochs))
    )
    epoch = next((s for s in series if s.metric == "epoch" and s.axis == "step" and len(s) and _of_steps(s)), None)
    if steps is None or epochs is None or not numbers or settings.get("max_steps") or epoch is None:
        return
    last, at = float(epoch.values[-1]), int(epoch.steps[-1])
    total = epochs.value * at / last if last > 0 and at > 0 else 0.0
    place = Evidence(epoch.file, int(epoch.lines[-1]) or None, at, metric="epoch", value=last)
    if not 0 < total <= steps.value or at > steps.value:
        return
    yield Finding(
        "warmup-exceeds-training", Severity.S1,
        f"the warm-up of {steps.value:g} steps is not below the run: {epochs.value:g} epochs are {total:.0f} steps "
        f"(epoch {last:g} at step {at}), so the learning rate never gets to its peak.",
        f"warmup 为 {steps.value:g} 步，不短于整个训练：{epochs.value:g} 个 epoch 共 {total:.0f} 步（第 {at} 步时 "
        f"epoch 为 {last:g}），学习率到不了峰值。",
        (steps.evidence(), epochs.evidence(), place),
        {"variable": "warmup_steps", "warmup": float(steps.value), "steps": total},
    )  # fmt: skip


def _of_steps(epoch: Series) -> bool:
    """Whether the epochs stand at steps that the run itself counts."""
    return epoch.step_is in ("step", "cumulative") and bool((epoch.steps > np.ceil(epoch.values) + 1).any())


def _floor_near(settings: Settings) -> bool:
    """Whether the floor that is set is itself near the peak."""
    floor, peak, share = (settings.value(v) for v in ("min_learning_rate", "learning_rate", "min_lr_ratio"))
    numbers = isinstance(floor, (int, float)) and isinstance(peak, (int, float)) and peak > 0
    return bool(numbers and floor >= 0.5 * peak) or (isinstance(share, (int, float)) and share >= 0.5)

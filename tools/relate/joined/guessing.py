"""Levels that the run's own files make impossible or empty: a loss above that of guessing among the tokens that the
model has, a training that counted nothing, and one that hardly left its beginning at a rate that explains it.

What a level means by itself is `logs.detectors.levels`; here it is held against the model's configuration and against
the throughput that stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...config.memory import parameters
from ...config.rules.training import adam_like, has_adapter, kind_of
from ...findings import PROPOSES, Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ..line import Line, plain

ROOM = 1.1
"""Factor above ln(vocabulary) from which on no point is chance. Own judgement."""
MOVED = 0.15
"""Share of its first value by which a loss moves that learns. Own judgement."""
LEAST = 3
"""Points of the whole training that lie above guessing, or at nothing."""
COUNTED = ("tokens_per_second", "samples_per_second")
SUMMED, TIMES, STEADY = 3, (0.85, 1.3), 1.3
"""Accumulation steps from which on nothing else lifts the training loss as far above the evaluation's, what it may lie
off that number, and by how much the factor may vary. Own judgement."""
LEAST_WORDS = 1000
"""Tokens of a vocabulary: fewer are the letters of a toy, or classes."""
FEW, SYMBOLS, NEAR, STAYS = 8, 200, 0.1, 0.85
"""Points of a loss, least symbols, and the shares within which it starts at guessing and stays there. Own judgement."""
FAR, LOWEST = 30, 3e-5
"""Times below what is usual from which on a rate is far below it, and what is usual of the largest models."""
STAGE = {False: 1e-5, True: 1e-4}
"""With an adapter or without -> the lowest rate that fine-tuning with Adam usually takes, as in `config.rules.rate`."""
_AN = {False: " of all weights", True: " of an adapter"}
LONG, GOES_ON, MOVES, STUCK, BEGINNING, NEAR_HALF = 12, 0.3, 0.02, 0.01, 0.1, 0.02
"""Points of a loss of which thirds are told apart; share of the fall before that goes on, of the loss that moves and of
one that does not; share of the steps that is the beginning; how near ln 2 a loss of preferences starts. Own judgement.
"""
JUDGED = bounded(
    r"(?:^|_)(?:rewards?|kl|advantages?|margins?|chosen|rejected|returns?|policy|critic|value_loss)(?:_|$)"
)
"""What only trainings on preferences and rewards log."""
RATE = bounded(r"(?:^|_)(?:lr|learning_rate|学习率)(?:_|$)")


def above_guessing(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """A loss that lies above that of guessing from the first point to the last."""
    size = settings.get("vocab_size")
    words = size.value if size is not None and isinstance(size.value, int | float) else 0
    if size is None or words < LEAST_WORDS or any(line.name in ("reward", "kl") for line in lines):
        return
    most = math.log(words)
    above = [
        x for line in lines if line.name == "loss" and len(x := line.finite()) >= LEAST and x.values.min() > ROOM * most
    ]
    for line in above[:1]:
        first, last = float(line.values[0]), float(line.values[-1])
        still = abs(first - last) < MOVED * first
        over = settings.get("grad_accumulation")
        sums = f" (gradient accumulation is {over.value})" if over is not None else ""
        sums_zh = f"（梯度累积为 {over.value}）" if over is not None else ""
        moved, moved_zh = ("and hardly moves", "而且几乎不动") if still else ("and falls", "但在下降")
        evidence = (line.evidence(len(line) - 1), line.evidence(0), size.evidence())
        yield Finding(
            "loss-above-guessing" if still else "loss-summed", Severity.S2,
            f"{line.key} is {first:.4g} at {line.where(0)} and {last:.4g} at {line.where(len(line) - 1)}, {moved}; "
            f"guessing among {words:,.0f} tokens gives ln({words:.0f}) = {most:.3g}. So it is no mean over tokens but "
            f"a sum, over accumulation steps or parts of it{sums}, or the labels are not what the model predicts.",
            f"{line.key} 在{line.where(0)}为 {first:.4g}，在{line.where(len(line) - 1)}为 {last:.4g}，{moved_zh}；在 "
            f"{words:,.0f} 个 token 中随机猜测只有 ln({words:.0f}) = {most:.3g}。因此它不是每 token 的平均，而是"
            f"对梯度累积或多项损失求了和{sums_zh}，或者标签与模型预测的不是一回事。",
            evidence, {"first": first, "last": last, "guessing": most, "metric": "loss"},
        )  # fmt: skip


def times_accumulation(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """A training loss that stays as many times above the evaluation's as gradients are accumulated: its sum."""
    over = settings.get("grad_accumulation")
    k = over.value if over is not None and isinstance(over.value, int) else 0
    if over is None or k < SUMMED or any(line.name in ("reward", "kl") for line in lines):
        return
    for held in (x.finite() for x in lines if x.name == "eval_loss"):
        loss = next((x.finite() for x in lines if x.name == "loss" and _beside(x, held)), held)
        if loss is held or min(len(held), len(loss)) < LEAST or (held.values <= 0).any():
            continue
        factor = np.interp(held.x, loss.x, loss.values) / held.values
        factor = factor[len(factor) // 3 :]
        if TIMES[0] * k <= np.median(factor) <= TIMES[1] * k and factor.max() <= STEADY * factor.min():
            yield _summed(loss, held, float(np.median(factor)), k, over.evidence())
            return


def _beside(line: Line, other: Line) -> bool:
    return (line.file, line.attempt, line.axis) == (other.file, other.attempt, other.axis)


def _summed(loss: Line, held: Line, factor: float, steps: int, over: Evidence) -> Finding:
    i = len(held) - 1
    last = f"{held.values[i]:.4g}"
    return Finding(
        "loss-times-accumulation", Severity.S2,
        f"{loss.key} stays {factor:.3g} times {held.key} (last {last} at {held.where(i)}), and gradients are "
        f"accumulated over {steps} steps: the training loss is their sum, not their mean, and so is the gradient.",
        f"{loss.key} 始终是 {held.key} 的 {factor:.3g} 倍（{held.key} 最后在{held.where(i)}为 {last}），而梯度累积为 "
        f"{steps} 步：训练 loss 是各步之和而不是平均，梯度也一样。",
        (held.evidence(i), loss.evidence(len(loss) - 1), over), {"factor": factor, "steps": steps},
    )  # fmt: skip


def nothing_counted(lines: Sequence[Line]) -> Iterator[Finding]:
    """A training whose throughput and loss are exactly zero at every point: no batch went through it."""
    for rate in lines:
        if rate.name not in COUNTED or len(rate) < LEAST or rate.values.any():
            continue
        where = (rate.file, rate.attempt, rate.group)
        beside = (x for x in lines if x.name == "loss" and (x.file, x.attempt, x.group) == where)
        loss = next((x for x in beside if len(x) >= LEAST and not x.values.any()), None)
        if loss is None:
            continue
        learned = _learned(lines, loss)
        before, before_zh = "", ""
        if learned is not None:
            old = learned.finite().values
            before = f"; another start in {learned.file} did learn ({old[0]:.4g} to {old[-1]:.4g})"
            before_zh = f"；{learned.file} 中的另一次启动确实学到了（{old[0]:.4g} 到 {old[-1]:.4g}）"
        shown: tuple[Evidence, ...] = (loss.evidence(0), rate.evidence(0), loss.evidence(len(loss) - 1))
        yield Finding(
            "nothing-was-processed", Severity.S1,
            f"{loss.key} and {rate.key} are exactly 0 at all {len(loss)} points of {loss.file}: no batch was "
            f"processed, so the data gave not one whole sample{before}.",
            f"{loss.file} 的全部 {len(loss)} 个点上 {loss.key} 与 {rate.key} 都恰为 0：没有处理任何批次，数据连一条完整"
            f"样本都没有给出{before_zh}。",
            (*shown, *((learned.evidence(len(learned) - 1),) if learned is not None else ())), {"points": len(loss)},
        )  # fmt: skip
        return


def _learned(lines: Sequence[Line], empty: Line) -> Line | None:
    others = (x for x in lines if x.name == "loss" and x is not empty and len(x.finite()) >= LEAST)
    return next((x for x in others if np.isfinite(x.values).all() and x.values[-1] < x.values[0]), None)


def rate_far_below(lines: Sequence[Line], settings: Settings) -> list[Finding]:
    """A learning rate far below what the size takes, or what any stage of training takes."""
    return [*_below_size(lines, settings)] or [*_below_stage(lines, settings)]


def _below_stage(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """A training on given text whose loss still falls at its end, or hardly fell, at a rate far below any usual one.

    The rate is the highest that is set or was logged from the beginning on, for Adam. Preferences and rewards take far
    lower rates and are left alone.
    """
    peak = _peak(lines, settings)
    judged = any(JUDGED.search(plain(line.key)) or line.name in ("reward", "kl") for line in lines)
    if peak is None or judged or kind_of(settings) in ("preference", "rl") or not adam_like(settings):
        return
    rate, shown = peak
    usual = STAGE[has_adapter(settings)]
    held = (line for name in ("eval_loss", "loss") for line in lines if line.name == name and not line.group)
    loss = next((x for line in held if len(x := line.finite()) >= LONG and _unspent(x.values)), None)
    if loss is None or not 0 < rate < usual / FAR or abs(loss.values[0] - math.log(2)) < NEAR_HALF:
        return
    first, last = float(loss.values[0]), float(np.median(loss.values[-LEAST:]))
    yield Finding(
        "rate-far-below-stage", Severity.S2,
        f"{loss.key} goes from {first:.4g} to {last:.4g} by {loss.where(len(loss) - 1)} and has not levelled off; the "
        f"learning rate is at most {rate:.3g}. With Adam {usual:g} is usual for fine-tuning"
        f"{_AN[has_adapter(settings)]}, {usual / rate:,.0f} times as much: the run is still at its beginning.",
        f"{loss.key} 从 {first:.4g} 到{loss.where(len(loss) - 1)}为 {last:.4g}，尚未走平；"
        f"学习率最高只有 {rate:.3g}。用 Adam {'训练适配器' if has_adapter(settings) else '全参微调'}通常为 {usual:g}，"
        f"是它的 {usual / rate:,.0f} 倍：训练还停在开头。",
        (shown, loss.evidence(len(loss) - 1), loss.evidence(0)),
        {"metric": "loss", "usual": usual, PROPOSES: {"variable": "learning_rate", "new": usual}},
    )  # fmt: skip


def _peak(lines: Sequence[Line], settings: Settings) -> tuple[float, Evidence] | None:
    """The highest rate that is set or logged; none where the log has only the later part of a schedule."""
    found: list[tuple[float, Evidence]] = []
    setting = settings.get("learning_rate")
    if setting is not None and isinstance(setting.value, int | float) and setting.value > 0:
        found.append((float(setting.value), setting.evidence()))
    for line in (x.finite() for x in lines if x.name == "learning_rate" or RATE.search(plain(x.key))):
        if not len(line) or line.values.max() <= 0:
            continue
        top = int(line.values.argmax())
        if setting is None and top == 0 and line.values[-1] < line.values[0] and line.x[0] > line.x[-1] * BEGINNING:
            return None
        found.append((float(line.values[top]), line.evidence(top)))
    return max(found, key=lambda pair: pair[0], default=None)


def _unspent(values: np.ndarray) -> bool:
    """Whether a loss falls in its last third by a good part of what it fell in the one before, or hardly fell."""
    a, b, c = (float(np.median(part)) for part in np.array_split(values, 3))
    still = a > b > c and b - c >= GOES_ON * (a - b) and a - c >= MOVES * a
    return still or abs(a - c) < STUCK * abs(a)


def _below_size(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """A training from scratch that hardly leaves guessing, at a rate far below what its size takes.

    Source: LR(N) = 0.003239 - 0.0001395 ln N (Kaplan et al. 2020, D.6), for Adam and models of up to some 1e9.
    """
    rate, size = settings.get("learning_rate"), settings.get("vocab_size")
    count, words = parameters(settings), size.value if size is not None else 0
    scratch = not any(line.name in ("reward", "kl") for line in lines) and not has_adapter(settings)
    if rate is None or count is None or not (scratch and adam_like(settings)) or not isinstance(words, int | float):
        return
    usual = max(0.003239 - 0.0001395 * math.log(count), LOWEST)
    loss = next((x for line in lines if line.name == "loss" and len(x := line.finite()) >= FEW), None)
    if loss is None or words < SYMBOLS or not 0 < float(rate.value) < usual / FAR:
        return
    guess, first, last = math.log(words), float(loss.values[0]), float(np.median(loss.values[-LEAST:]))
    if not (abs(first - guess) < NEAR * guess and last > STAYS * first):
        return
    new = float(f"{usual:.2g}")
    yield Finding(
        "rate-far-below-size", Severity.S2,
        f"{loss.key} starts at {first:.4g}, what guessing among {words:,.0f} tokens gives, and is {last:.4g} at "
        f"{loss.where(len(loss) - 1)}. learning_rate is {float(rate.value):.3g}; 0.003239 - 0.0001395 ln({count:,}) = "
        f"{new:g} is usual for a model of this size trained from scratch with Adam, {usual / float(rate.value):,.0f} "
        "times as much.",
        f"{loss.key} 从 {first:.4g} 开始（正是在 {words:,.0f} 个 token 中随机猜测的水平），到"
        f"{loss.where(len(loss) - 1)}为 {last:.4g}。学习率为 {float(rate.value):.3g}；用 Adam 从头训练"
        f"这种规模的模型通常为 0.003239 - 0.0001395 ln({count:,}) = {new:g}，是它的 "
        f"{usual / float(rate.value):,.0f} 倍。",
        (rate.evidence(), loss.evidence(len(loss) - 1), loss.evidence(0)),
        {"metric": "loss", "usual": new, PROPOSES: {"variable": "learning_rate", "new": new}},
    )  # fmt: skip

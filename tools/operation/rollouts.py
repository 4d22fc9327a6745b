"""Requests that wait at a limit in the engine that samples for a reinforcement learning, and what of a step that takes.

A queue of an engine is one of a rollout only where the run shows by several kinds of evidence that it trains by
reinforcement: what its settings name, what its series measure, how its steps are timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..relate.kinds.names import demand
from ..relate.line import Line, means
from ..settings import Settings

SET = ("num_generations", "kl_coef", "kl_target", "reward_clip", "rollout_batch_size", "rollout_temperature")
"""Settings that only a training on its own samples has."""
STAGES = ("ppo", "grpo", "gspo", "dapo", "rloo")
MEASURES = ("reward", "kl", "entropy", "response_length", "policy_loss", "value_loss", "clip_fraction", "advantage")
LEAST, LEAST_STEPS = 2, 3
"""Kinds of evidence, and measures of one file, from which on a run is one of reinforcement; steps that are timed. Own
judgement."""
_UNIT = r"(?:_?(?:s|sec|secs|seconds|ms|time|耗时|用时|秒))?$"
_TIMED = r"^(?:time_|timing_s?_?|t_)?"
GENERATES = bounded(_TIMED + r"(?:gen|generat\w{1,6}|rollouts?|sampl(?:e|ing)|(?:rollout_?)?生成|采样)" + _UNIT)
UPDATES = bounded(
    _TIMED + r"(?:(?:actor_|policy_)?(?:update|train(?:ing)?|optim\w{0,6}|learn|backward)(?:_actor|_policy)?"
    r"|(?:策略)?更新|训练|反向)" + _UNIT
)  # fmt: skip
WHOLE = bounded(_TIMED + r"(?:total|step|iter(?:ation)?|whole|overall|全程|总|整步|单步|每步)" + _UNIT)
MAIN = 0.35
"""Share of the step from which on generation is what makes it slow. Own judgement."""
SLOWER = 1.3


@dataclass(frozen=True)
class Timed:
    """How long generation takes in the steps of one file."""

    line: Line
    seconds: float
    step: float
    """Median of the whole step, given or added up of what else is timed alike."""

    @property
    def share(self) -> float:
        return self.seconds / self.step

    def evidence(self) -> Evidence:
        return self.line.evidence(len(self.line) // 2)


def of_training(queued: Finding, lines: Sequence[Line], settings: Settings) -> Finding:
    """The finding of a queue as one of a rollout, where the run trains by reinforcement; else as it is."""
    files: dict[str, list[Line]] = {}
    for line in lines:
        if not line.group:
            files.setdefault(line.file, []).append(line)
    timed = sorted((t for of in files.values() if (t := _timed(of)) is not None), key=lambda t: -t.seconds)
    kinds = [_sets(settings), _measures(lines), bool(timed)]
    if sum(kinds) < LEAST:
        return queued
    slow = timed[0] if timed else None
    en, zh, places, asks = "", "", (), []
    if slow is not None:
        en = f" Generation takes {slow.seconds:.4g} of {slow.step:.4g} s of a step ({slow.share:.0%}, {slow.line.file})"
        zh = f"生成占单步 {slow.step:.4g} 秒中的 {slow.seconds:.4g} 秒（{slow.share:.0%}，{slow.line.file}）"
        places = (slow.evidence(),)
        before = timed[-1] if timed[-1].seconds * SLOWER < slow.seconds else None
        if before is not None:
            en += f" and took {before.seconds:.4g} of {before.step:.4g} s in {before.line.file}"
            zh += f"，而 {before.line.file} 中为 {before.step:.4g} 秒中的 {before.seconds:.4g} 秒"
            places = (*places, before.evidence())
            was, now = f"{before.seconds:.4g}", f"{slow.seconds:.4g}"
            asks = [demand("rollout_time", "at-most", SLOWER * before.seconds, f"{was} s before, {now} s now",
                           f"之前 {was} 秒，现在 {now} 秒")]  # fmt: skip
        en, zh = en + ".", zh + "。"
    main = slow is None or slow.share >= MAIN
    return replace(
        queued,
        code="rollout-requests-wait",
        severity=queued.severity if main else Severity.S2,
        message=f"{queued.message} It is the engine that samples for the training.{en}",
        zh=f"{queued.zh}这是为 RL 训练采样的引擎。{zh}",
        evidence=(*queued.evidence, *places),
        data={**queued.data, **({"asks": asks} if asks else {})},
    )


def _sets(settings: Settings) -> bool:
    return settings.value("stage") in STAGES or any(settings.value(v) is not None for v in SET)


def _measures(lines: Sequence[Line]) -> bool:
    """Whether one file measures several things that only such a training has, the reward among them."""
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line.file, set()).update(m for m in MEASURES if line.name == m)
    return any("reward" in names and len(names) >= LEAST for names in found.values())


def _timed(lines: Sequence[Line]) -> Timed | None:
    """The time of generation beside that of the update, over several steps of one file."""
    gen, update, whole = (next((x for x in lines if means(p, x.key) and len(x.finite()) >= LEAST_STEPS), None)
                          for p in (GENERATES, UPDATES, WHOLE))  # fmt: skip
    if gen is None or update is None or gen is update:
        return None
    seconds, own = _later(gen), _later(update)
    step = _later(whole) if whole is not None else 0.0
    if not step >= seconds + own:
        unit = gen.key.rpartition("_")[2]
        alike = [x for x in lines if x.key.rpartition("_")[2] == unit] if "_" in gen.key else [gen, update]
        step = sum(_later(x) for x in alike if x is not whole)
    return Timed(gen, seconds, step) if seconds > 0 and step >= seconds else None


def _later(line: Line) -> float:
    """The median of the later half."""
    values = line.finite().values
    return float(np.median(values[len(values) // 2 :]))

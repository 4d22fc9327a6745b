"""Rules on preference losses and the KL penalty."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import PREFERENCE

BETAS: dict[str, tuple[float, float, float, float]] = {
    "sigmoid": (0.001, 0.01, 1.0, 2.0),
    "simpo": (0.2, 1.0, 20.0, 50.0),
    "dpo_norm": (0.1, 1.0, 10.0, 20.0),
    "orpo": (0.001, 0.01, 2.0, 5.0),
}
"""Loss -> (odd below, unusual below, unusual above, odd above). DPO's usual beta is 0.01 to 0.5; length-normalised
losses work on per-token means and take 5 to 10 (Tulu 3 uses 5, SimPO 2 to 10)."""


NORMALISED = re.compile(r"simpo|norm|length")


def beta_family(settings: Settings) -> str:
    """Which row of `BETAS` holds."""
    loss = str(settings.value("loss_type", "")).lower()
    if "simpo" in loss or "simpo" in (settings.values["stage"].raw.lower() if "stage" in settings else ""):
        return "simpo"
    if NORMALISED.search(loss) or any("average_log_prob" in k or "length_norm" in k for k in settings.others):
        return "dpo_norm"
    return "orpo" if settings.value("stage") == "orpo" or "orpo" in loss else "sigmoid"


@rule("dpo-beta-outside-range", "S2", needs=("dpo_beta",))
def dpo_beta_outside_range(settings: Settings) -> Iterator[Fault]:
    """The beta of the preference loss does not fit the loss.

    Why: too small and the policy drifts from the reference (KL explodes). What is too large is the matter of
        `dpo-beta-high`.
    Bad: `beta: 0.0001`, `loss_type: sigmoid` and `max_prompt_length: 512` in `dpo.yaml`; `beta: 0` with
        `max_prompt_length: 512` in `dpo.yaml` (S1); `stage: dpo` with `pref_beta: 1.5` (S3).
    Good: 0.01 to 0.5 for DPO, IPO and KTO, `beta: 0.1` with `max_prompt_length: 512` in `dpo.yaml`; 2 to 10 for SimPO
        and length-normalised DPO, `stage: dpo`, `pref_loss: simpo`, `pref_beta: 2.0`.
    Known gaps: a loss chosen inside the program is not visible; then the plain loss is assumed.
    Source: runbook entry `dpo-kl-explosion`.
    """
    beta = settings.value("dpo_beta")
    if settings.value("stage") not in PREFERENCE:
        return
    family = beta_family(settings)
    low, usual_low, usual_high, high = BETAS[family]
    if beta <= 0:
        yield Fault(
            "dpo_beta",
            f"beta is {beta:g}: the preference loss has no gradient",
            f"beta 为 {beta:g}：偏好损失没有梯度",
            "S1",
            "0.1",
        )
    elif beta < low:
        yield Fault(
            "dpo_beta",
            f"beta {beta:g} is far outside {usual_low:g} to {usual_high:g} for the {family} loss",
            f"beta {beta:g} 远超 {family} 损失的常用范围 {usual_low:g}～{usual_high:g}",
            "S2",
            "0.1" if family == "sigmoid" else "",
            ("loss_type",),
        )
    elif not usual_low <= beta <= usual_high and beta <= high:
        yield Fault(
            "dpo_beta",
            f"beta {beta:g} is unusual for the {family} loss ({usual_low:g} to {usual_high:g})",
            f"beta {beta:g} 不在 {family} 损失的常用范围 {usual_low:g}～{usual_high:g}",
            "S3",
            beside=("loss_type",),
        )


@rule("dpo-beta-high", "S2", needs=("dpo_beta",))
def dpo_beta_high(settings: Settings) -> Iterator[Fault]:
    """The beta of the preference loss is so large that the policy can hardly leave the reference.

    Why: beta weighs the distance to the reference; far above the usual range next to nothing of the preference is
        learned.
    Bad: `beta: 5`, `loss_type: sigmoid` and `max_prompt_length: 512` in `dpo.yaml`.
    Good: 0.01 to 0.5 for DPO, IPO and KTO, `stage: dpo` with `pref_beta: 0.1`; 2 to 10 for SimPO and length-normalised
        DPO, `stage: dpo`, `pref_loss: simpo`, `pref_beta: 10`.
    Known gaps: a loss chosen inside the program is not visible; then the plain loss is assumed.
    Source: Rafailov et al. 2023, section 4 (beta as the strength of the KL constraint); runbook entry
        `dpo-loss-stuck-ln2`.
    """
    beta, family = settings.value("dpo_beta"), beta_family(settings)
    _, usual_low, usual_high, high = BETAS[family]
    if settings.value("stage") in PREFERENCE and beta > high:
        yield Fault(
            "dpo_beta",
            f"beta {beta:g} is far above {usual_low:g} to {usual_high:g} for the {family} loss",
            f"beta {beta:g} 远高于 {family} 损失的常用范围 {usual_low:g}～{usual_high:g}",
            "S2",
            "0.1" if family == "sigmoid" else "",
            ("loss_type",),
        )


@rule("kl-coef-outside-range", "S2", needs=("kl_coef",))
def kl_coef_outside_range(settings: Settings) -> Iterator[Fault]:
    """The coefficient of the KL penalty is out of proportion.

    Why: too large and the policy cannot move, negative and it is rewarded for leaving the reference.
    Bad: `kl_coef: 5`; `kl_coef: 0.5` (S3); `kl_coef: -0.1` (S1).
    Good: `kl_coef: 0.02`; 0 (off, common in GRPO) to 0.1.
    Known gaps: adaptive controllers change it during the run; a coefficient whose penalty is switched off is not
        judged.
    Source: runbook entry `rl-instability`.
    """
    coefficient = settings.value("kl_coef")
    switches = [settings.value(v) for v in ("use_kl_loss", "use_kl_in_reward") if v in settings]
    if switches and not any(switches):
        return
    if coefficient < 0:
        yield Fault(
            "kl_coef",
            f"the KL coefficient is negative ({coefficient:g}): leaving the reference is rewarded",
            f"KL 系数为负（{coefficient:g}）：偏离参考模型反而得到奖励",
            "S1",
            "0.02",
        )
    elif coefficient > 0.2:
        yield Fault(
            "kl_coef",
            f"KL coefficient {coefficient:g} is above the usual 0 to 0.1; the policy may not move",
            f"KL 系数 {coefficient:g} 高于常用的 0～0.1，策略可能无法更新",
            "S2" if coefficient > 1 else "S3",
            "0.02" if coefficient > 1 else "",
        )

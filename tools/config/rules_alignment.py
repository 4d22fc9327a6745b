"""Rules on preference losses, KL, tokens, adapters and frozen parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..settings import Setting, Settings
from .rule import Fault, rule
from .rules_optimizer import PREFERENCE, RL

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
    Bad: `beta: 0.0001` with the plain sigmoid loss; `beta: 0`.
    Good: 0.01 to 0.5 for DPO, IPO and KTO; 2 to 10 for SimPO and length-normalised DPO.
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
    Bad: `beta: 5` with the plain sigmoid loss.
    Good: 0.01 to 0.5 for DPO, IPO and KTO; 2 to 10 for SimPO and length-normalised DPO.
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
def kl_coefficient_outside_range(settings: Settings) -> Iterator[Fault]:
    """The coefficient of the KL penalty is out of proportion.

    Why: too large and the policy cannot move, negative and it is rewarded for leaving the reference.
    Bad: `kl_coef: 5`.
    Good: 0 (off, common in GRPO) to 0.1.
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


@rule("pad-equals-eos", "S2", needs=("pad_token_id", "eos_token_id"))
def pad_equals_eos(settings: Settings) -> Iterator[Fault]:
    """The padding token is the end-of-sequence token.

    Why: where labels are masked by the pad id, the end token is masked too and the model never learns to stop.
    Bad: `pad_token: "<|endoftext|>"` with the same `eos_token` in SFT.
    Good: a pad token of its own, or labels masked by attention mask or length.
    Known gaps: equality is no fault where masking does not use the id; the tokenizer must be visible, many programs
        set pad = eos in code.
    Source: runbook entry `pad-eos-misconfig`.
    """
    pads, ends = ({s.framework: s for s in named(settings, v)} for v in ("pad_token_id", "eos_token_id"))
    both = [name for name in pads if name in ends]
    if not both:
        return
    last = min(both, key=lambda name: WORTH.index(name) if name in WORTH else -1)
    pad, eos = pads[last], ends[last]
    if pad.value != eos.value:
        return
    trained = pad.framework not in ("model", "tokenizer", "generation") or bool(settings.value("learning_rate"))
    mild = not trained or settings.value("packing") is True
    yield Fault(
        "pad_token_id",
        f"pad and eos are the same token ({pad.value}); if labels are masked by pad id the end token is never learned",
        f"pad 与 eos 是同一个 token（{pad.value}）；若按 pad id 屏蔽 label，模型学不会停止",
        "S3" if mild else "S2",
        beside=("eos_token_id",),
    )


EXTREME_PENALTY = 1.5
"""Repetition penalty that no model is known to need."""
WORTH = ("tokenizer", "model", "generation")
"""Files that name special tokens, the one that training masks by first; the trainer's own config goes before."""


def named(settings: Settings, variable: str) -> Iterator[Setting]:
    """Every place that sets the variable, the one in force last."""
    yield from (s for s in settings.shadowed if s.variable == variable)
    if setting := settings.get(variable):
        yield setting


@rule("eos-ids-differ", "S2", needs=("eos_token_id",))
def eos_ids_differ(settings: Settings) -> Iterator[Fault]:
    """The model's config and its generation config name different end tokens.

    Why: what was trained as the end is not what generation stops at; answers run to the length limit.
    Bad: `eos_token_id: 151645` in config.json with `eos_token_id: 151643` in generation_config.json.
    Good: generation stops at least at the model's own end token, and at a chat model's end of turn.
    Known gaps: tokens that are written as text are not compared with ids; an engine's own stop list is not visible.
    Source: Transformers takes generation's end tokens from generation_config.json; entry `endless-generation`.
    """
    ids: dict[str, dict[int, str]] = {"model": {}, "generation": {}}
    more = (s for k, s in settings.others.items() if k.startswith("eos_token_id."))
    for setting in (*named(settings, "eos_token_id"), *more):
        where = setting.framework if setting.framework in ids else ""
        if where and setting.raw.isdigit():
            ids[where][int(setting.raw)] = setting.file
    model, generation = ids.values()
    if model and generation and not model.keys() & generation.keys():
        ours, theirs = (f"{', '.join(map(str, sorted(x)))} ({min(x.values())})" for x in (model, generation))
        yield Fault(
            "eos_token_id",
            f"the model ends with token {ours}, generation stops at {theirs}",
            f"模型的结束 token 是 {ours}，生成却在 {theirs} 处停止",
        )


@rule("sampling-contradicts", "S2")
def sampling_contradicts(settings: Settings) -> Iterator[Fault]:
    """Random sampling is asked for at temperature 0.

    Why: Transformers refuses to generate and vLLM refuses several samples of one prompt; where it runs, the samples
        are identical, and a group of identical answers has no advantage.
    Bad: `do_sample: true` with `temperature: 0`; GRPO with 8 generations at `temperature: 0`.
    Good: `do_sample: false`, or a temperature above 0; 0.6 to 1.0 in RL.
    Known gaps: parameters of single requests are not visible.
    Source: the temperature checks of Transformers and vLLM; runbook entry `sampling-params-wrong`.
    """
    if settings.value("sampling") is True and settings.value("sampling_temperature") == 0:
        yield Fault(
            "sampling_temperature",
            "do_sample is on at temperature 0: generation fails or is greedy after all",
            "do_sample 开启但 temperature 为 0：生成报错，或实际为贪心解码",
            "S2",
            beside=("sampling",),
        )
    group = settings.value("num_generations") or 1
    if in_rl(settings) and group > 1 and settings.value("rollout_temperature") == 0:
        yield Fault(
            "rollout_temperature",
            f"{group} rollouts per prompt at temperature 0: they are identical, or the engine refuses",
            f"每个 prompt 采样 {group} 条但 temperature 为 0：结果完全相同，或引擎报错",
            "S1",
            "1.0",
            ("num_generations",),
        )


@rule("repetition-penalty-extreme", "S2", needs=("repetition_penalty",))
def repetition_penalty_extreme(settings: Settings) -> Iterator[Fault]:
    """The repetition penalty is so strong that every token which has occurred becomes improbable.

    Why: it also acts on the end token and on words that a sentence needs, so that texts derail or do not end.
    Bad: `repetition_penalty: 1.9` in a request or in `generation_config.json`.
    Good: 1.0 (off) to 1.2.
    Known gaps: parameters that only the program sets are not visible; from 1.2 to 1.5 it depends on the model.
    Source: Keskar et al. 2019 (CTRL) found 1.2 a good balance; the limit of 1.5 is our own judgement.
    """
    penalty = settings.value("repetition_penalty")
    if isinstance(penalty, (int, float)) and penalty >= EXTREME_PENALTY:
        yield Fault(
            "repetition_penalty",
            f"repetition_penalty {penalty:g}: end tokens and needed words are suppressed, outputs derail or do not end",
            f"repetition_penalty 为 {penalty:g}：结束符和必要的词也被压制，输出会跑偏或停不下来",
            fix="1.0",
        )


@rule("params-frozen", "S3")
def parameters_frozen(settings: Settings) -> Iterator[Fault]:
    """Part of the model is frozen, or an adapter of rank 0 is asked for.

    Why: a run that does not improve may not be allowed to.
    Bad: `freeze_llm: true` in a run that should teach the language model; `lora_rank: 0` with `adapter: lora`.
    Good: freezing a vision tower on purpose.
    Known gaps: whether it is meant is not visible, hence a note.
    Source: runbook entry `frozen-no-trainable-params`.
    """
    frozen, rank = settings.get("freeze"), settings.get("lora_rank")
    if frozen is not None and frozen.value not in (False, "", "0"):
        whole_model = re.search(r"llm|base_model|backbone", frozen.key, re.IGNORECASE) is not None
        shown = frozen.key if frozen.style == "switch" else f"{frozen.key} {frozen.raw}"
        yield Fault(
            "freeze",
            f"{shown}: part of the model is not trained",
            f"{shown}：模型的一部分不参与训练",
            "S2" if whole_model else "S3",
        )
    if rank is not None and rank.value == 0 and str(settings.value("adapter", "")) in ("lora", "qlora"):
        yield Fault(
            "lora_rank",
            "adapter training is asked for with rank 0: nothing is trained",
            "要求训练适配器但 rank 为 0：没有可训练参数",
            "S2",
            "8",
            ("adapter",),
        )


def in_rl(settings: Settings) -> bool:
    return settings.value("stage") in RL

"""Rules on context length and rotary scaling."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule


@rule("rope-scaling-inconsistent", "S2")
def rope_scaling_inconsistent(settings: Settings) -> Iterator[Fault]:
    """Type, factor and base of RoPE scaling do not belong together, or trainer and model disagree.

    Why: positions are scaled differently in training and in use; quality collapses beyond the original length.
    Bad: `vllm serve m --rope-scaling '{"rope_type": "linear", "factor": 0.25}'`; a model with
        `{"model_type": "qwen3", "hidden_size": 4096, "rope_scaling": {"type": "yarn", "factor": 4}}` in `config.json`
        served with `vllm serve m --rope-scaling '{"rope_type": "yarn", "factor": 8}'` in `launch.sh`; yarn by 2 from
        32768 positions in a model of 131072, `{"model_type": "qwen3", "max_position_embeddings": 131072, "hidden_size":
        4096, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 32768}}` in
        `config.json`.
    Good: one type and one factor in every file, `{"model_type": "qwen3", "max_position_embeddings": 131072,
        "hidden_size": 4096, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}}`
        in `config.json`; linear scaling leaves rope_theta alone.
    Known gaps: scaling set in code is not visible.
    Source: runbook entry `rope-scaling-misconfig`.
    """
    kind, factor = settings.get("rope_scaling_type"), settings.get("rope_scaling_factor")
    if factor is not None and factor.value < 1:
        yield Fault(
            "rope_scaling_factor",
            f"RoPE scaling factor {factor.value:g} is below 1: positions are spread, not compressed",
            f"RoPE 缩放因子 {factor.value:g} 小于 1",
            "S2",
            beside=("rope_scaling_type",),
        )
    if (
        kind is not None
        and factor is None
        and str(kind.value).lower() in ("linear", "dynamic", "yarn")
        and settings.framework != "llama-factory"
    ):
        yield Fault(
            "rope_scaling_type",
            f"RoPE scaling {kind.value} without a factor",
            f"RoPE 缩放 {kind.value} 没有给出 factor",
            "S2",
        )
    yield from _reach(settings)
    for old in settings.shadowed:
        new = settings.get(old.variable)
        if (
            old.variable in ("rope_scaling_factor", "rope_scaling_type", "rope_theta")
            and new is not None
            and old.file != new.file
            and old.value != new.value
        ):
            yield Fault(
                old.variable,
                f"{old.variable} is {new.raw} in {new.file} but {old.raw} in {old.file}",
                f"{old.variable} 在 {new.file} 为 {new.raw}，在 {old.file} 为 {old.raw}",
                "S2",
            )


def _reach(settings: Settings) -> Iterator[Fault]:
    """Original positions times factor against the positions that the model declares."""
    original, declared = settings.get("rope_original_positions"), settings.get("max_position_embeddings")
    factor, kind = settings.value("rope_scaling_factor"), settings.value("rope_scaling_type")
    if original is None or declared is None or original.file != declared.file or not original.value:
        return
    if original.value > declared.value:
        yield Fault(
            "rope_original_positions",
            f"RoPE scaling starts from {original.value} positions, the model declares only {declared.value}",
            f"RoPE 缩放的原始长度 {original.value} 大于模型声明的 {declared.value}",
            "S2",
            str(declared.value),
            ("max_position_embeddings",),
        )
    elif factor and kind in ("linear", "yarn") and original.value * factor < 0.99 * declared.value:
        yield Fault(
            "rope_scaling_factor",
            f"RoPE scaling {kind} by {factor:g} reaches {original.value * factor:g} positions, "
            f"the model declares {declared.value}",
            f"RoPE 缩放（{kind}，{factor:g} 倍）只覆盖 {original.value * factor:g} 个位置，模型声明 {declared.value}",
            "S2",
            f"{declared.value / original.value:g}",
            ("rope_original_positions", "max_position_embeddings"),
        )


@rule("long-context-without-scaling", "S2", needs=("max_position_embeddings",))
def long_context_without_scaling(settings: Settings) -> Iterator[Fault]:
    """Sequences are longer than the model's positions and no scaling is set.

    Why: positions that were never trained give noise; an engine refuses to start.
    Bad: `cutoff_len: 131072` in `train.yaml` for a model with
        `{"model_type": "qwen3", "hidden_size": 4096, "max_position_embeddings": 32768}` in `config.json`.
    Good: lengths within the model's, `cutoff_len: 32768` in `train.yaml` with
        `{"model_type": "qwen3", "hidden_size": 4096, "max_position_embeddings": 32768}` in `config.json`; or a scaling
        whose factor covers the ratio, `{"model_type": "qwen3", "hidden_size": 4096, "max_position_embeddings": 32768,
        "rope_scaling": {"type": "yarn", "factor": 4}}` in `config.json`.
    Known gaps: needs the model's config.json beside the run; models with relative positions (ALiBi) are not judged.
    Source: runbook entry `short-data-long-context`.
    """
    positions = settings.get("max_position_embeddings")
    if positions is None or positions.framework != "model" or settings.value("rope_scaling_type"):
        return
    for variable in ("max_model_len", "sequence_length"):
        length = settings.value(variable)
        if isinstance(length, int) and length > positions.value * (settings.value("rope_scaling_factor") or 1):
            yield Fault(
                variable,
                f"{variable} {length} is above the model's {positions.value} positions and no RoPE scaling is set",
                f"{variable} {length} 超过模型的 {positions.value} 个位置，且没有 RoPE 缩放",
                "S2",
                str(positions.value),
                ("max_position_embeddings",),
            )

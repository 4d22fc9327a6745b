"""The rule on parts of the model that are not trained."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule


@rule("params-frozen", "S3")
def params_frozen(settings: Settings) -> Iterator[Fault]:
    """Part of the model is frozen, or an adapter of rank 0 is asked for.

    Why: a run that does not improve may not be allowed to.
    Bad: `freeze_llm: true` in a run that should teach the language model (S2); `finetuning_type: freeze` with
        `freeze_trainable_layers: 2`; `finetuning_type: lora` with `lora_rank: 0` (S2).
    Good: `finetuning_type: lora` with `lora_rank: 8`; freezing a vision tower on purpose.
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

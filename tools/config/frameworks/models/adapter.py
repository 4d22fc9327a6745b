"""The file that PEFT saves beside an adapter."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="adapter", role="adapter",
    file_name=r"(^|/)adapter_config\.json$",
    file_keys=Keys(("peft_type r", "peft_type lora_alpha")),
    keys=dict(lora_rank="r", lora_alpha="lora_alpha", adapter="peft_type", model="base_model_name_or_path"),
)  # fmt: skip

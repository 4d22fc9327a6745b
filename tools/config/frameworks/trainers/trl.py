"""TRL."""

from ...framework import HUGGING_FACE, Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="trl", parents=("hf",), tolerant=True, checks_deepspeed=True,
    file_keys=Keys((
        "dataset_mixer.", "model_name_or_path dataset_name", "model_name_or_path dataset_mixture.", "num_generations",
        "max_completion_length", "beta loss_type", "beta max_prompt_length",
    ), turn=4),
    program=Program(r"\btrl\s+(sft|dpo|grpo|kto|reward|rloo)\b"),
    defaults={"grad_clip": 1.0},
    issue_form=IssueForm("TRL", "https://github.com/huggingface/trl/issues", HUGGING_FACE, "trl env"),
)  # fmt: skip

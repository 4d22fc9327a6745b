"""ms-swift."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="ms-swift", parents=("hf",),
    file_keys=Keys(("rlhf_type", "tuner_type", "sft_type", "train_type per_device_train_batch_size")),
    command_keys=Keys(("rlhf_type", "tuner_type", "sft_type")),
    program=Program(r"\bswift\s+(sft|pt|rlhf)\b|swift[./]cli|\bswift\.llm|llm_sft\.py"),
    keys=dict(
        stage="rlhf_type", model="model model_id_or_path model_type", dataset="dataset",
        micro_batch_size="per_device_train_batch_size batch_size", sequence_length="max_length",
        context_parallel="sequence_parallel_size",
        offload_optimizer="offload_optimizer", offload_params="offload_model",
        chat_template="template template_type",
        adapter="train_type tuner_type sft_type",
    ),
)  # fmt: skip

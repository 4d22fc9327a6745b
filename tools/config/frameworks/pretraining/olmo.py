"""OLMo."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="olmo", parents=("llm-foundry",),
    file_keys=Keys(("device_train_microbatch_size optimizer.learning_rate", "max_duration optimizer.learning_rate")),
    keys=dict(
        learning_rate="optimizer.learning_rate",
        grad_clip="max_grad_norm", init_std="model.init_std",
        sequence_length="model.max_sequence_length",
        activation_checkpointing="activation_checkpointing", flash_attention="model.flash_attention",
        num_workers="data.num_workers", pin_memory="data.pin_memory", log_steps="console_log_interval",
    ),
)  # fmt: skip

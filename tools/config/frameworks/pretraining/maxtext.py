"""MaxText."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="maxtext",
    file_keys=Keys((
        "per_device_batch_size max_target_length", "base_emb_dim", "ici_fsdp_parallelism", "warmup_steps_fraction",
    )),
    command_keys=Keys(("per_device_batch_size max_target_length",)),
    program=Program("[Mm]ax[Tt]ext"),
    keys=dict(
        model="model_name", dataset="dataset_name dataset_path", optimizer="opt_type",
        learning_rate="learning_rate", min_lr_ratio="cosine_learning_rate_final_fraction",
        warmup_ratio="warmup_steps_fraction", decay_steps="learning_rate_schedule_steps",
        max_steps="steps",
        weight_decay="adam_weight_decay", grad_clip="gradient_clipping_threshold", adam_beta2="adam_b2",
        adam_epsilon="adam_eps", norm_epsilon="normalization_layer_epsilon",
        precision="dtype",
        micro_batch_size="per_device_batch_size", grad_accumulation="gradient_accumulation_steps",
        sequence_length="max_target_length",
        save_steps="checkpoint_period", log_steps="log_period", eval_steps="eval_interval",
    ),
)  # fmt: skip

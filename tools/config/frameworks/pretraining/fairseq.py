"""fairseq, metaseq and what grew out of them."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="fairseq",
    file_keys=Keys((
        "optimization.max_update", "optimization.update_freq.0", "lr_scheduler.warmup_updates", "warmup_updates",
        "update_freq max_tokens", "max_update lr",
    )),
    command_keys=Keys(("warmup_updates", "update_freq max_tokens", "max_update")),
    program=Program("fairseq|metaseq|opt-baselines"),
    keys=dict(
        optimizer="optimizer optimizer._name",
        learning_rate="lr optimization.lr optimization.lr.0", lr_schedule="lr_scheduler lr_scheduler._name",
        warmup_steps="warmup_updates lr_scheduler.warmup_updates",
        max_steps="max_update optimization.max_update", epochs="max_epoch optimization.max_epoch",
        weight_decay="weight_decay optimizer.weight_decay", grad_clip="clip_norm optimization.clip_norm",
        adam_beta2="adam_betas optimizer.adam_betas", adam_epsilon="adam_eps optimizer.adam_eps",
        bf16="bf16 common.bf16", fp16="fp16 common.fp16 memory_efficient_fp16 common.memory_efficient_fp16",
        micro_batch_size="batch_size max_sentences dataset.batch_size",
        grad_accumulation="update_freq optimization.update_freq optimization.update_freq.0",
        sequence_length="tokens_per_sample task.tokens_per_sample",
        tensor_parallel="model_parallel_size common.model_parallel_size",
        activation_checkpointing="checkpoint_activations",
        num_workers="num_workers dataset.num_workers", seed="seed common.seed",
        save_steps="save_interval_updates checkpoint.save_interval_updates",
        log_steps="log_interval common.log_interval",
    ),
)  # fmt: skip

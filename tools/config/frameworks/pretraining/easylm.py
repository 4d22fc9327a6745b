"""EasyLM."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="easylm",
    program=Program("EasyLM"),
    keys=dict(
        model="load_llama_config", optimizer="optimizer.type",
        learning_rate="optimizer.adamw_optimizer.lr", min_learning_rate="optimizer.adamw_optimizer.end_lr",
        warmup_steps="optimizer.adamw_optimizer.lr_warmup_steps",
        decay_steps="optimizer.adamw_optimizer.lr_decay_steps",
        max_steps="total_steps",
        weight_decay="optimizer.adamw_optimizer.weight_decay", grad_clip="optimizer.adamw_optimizer.clip_gradient",
        adam_beta2="optimizer.adamw_optimizer.b2",
        precision="dtype",
        grad_accumulation="optimizer.accumulate_gradient_steps",
        sequence_length="train_dataset.huggingface_dataset.seq_length train_dataset.json_dataset.seq_length",
        log_steps="log_freq",
    ),
)  # fmt: skip

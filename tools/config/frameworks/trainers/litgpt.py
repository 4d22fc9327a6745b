"""LitGPT."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="litgpt",
    file_keys=Keys((
        "train.lr_warmup_steps", "train.micro_batch_size eval.", "train.max_norm",
        "train.micro_batch_size checkpoint_dir",
    ), turn=1),
    command_keys=Keys(("train.micro_batch_size", "train.global_batch_size"), turn=1),
    program=Program(r"\blitgpt\b"),
    keys=dict(
        model="checkpoint_dir model_name", dataset="data.class_path data", optimizer="optimizer.class_path optimizer",
        learning_rate="optimizer.init_args.lr train.learning_rate learning_rate", min_learning_rate="train.min_lr",
        warmup_steps="train.lr_warmup_steps", warmup_ratio="train.lr_warmup_fraction",
        max_steps="train.max_steps", epochs="train.epochs", train_tokens="train.max_tokens",
        weight_decay="optimizer.init_args.weight_decay", grad_clip="train.max_norm",
        adam_beta2="optimizer.init_args.betas.1",
        precision="precision",
        micro_batch_size="train.micro_batch_size", global_batch_size="train.global_batch_size",
        sequence_length="train.max_seq_length",
        nodes="num_nodes", gpus_per_node="devices",
        num_workers="data.init_args.num_workers", seed="seed", save_steps="train.save_interval",
        log_steps="train.log_interval", eval_steps="eval.interval",
        lora_rank="lora_r", lora_alpha="lora_alpha",
    ),
)  # fmt: skip

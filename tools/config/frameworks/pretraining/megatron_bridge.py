"""Megatron Bridge."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="megatron-bridge", programmed=True,
    file_keys=Keys(("train.train_iters", "train.global_batch_size optimizer.lr")),
    command_keys=Keys(("train.train_iters", "train.global_batch_size optimizer.lr")),
    keys=dict(
        model="checkpoint.pretrained_checkpoint checkpoint.load", optimizer="optimizer.optimizer",
        learning_rate="optimizer.lr", min_learning_rate="optimizer.min_lr", lr_schedule="scheduler.lr_decay_style",
        warmup_steps="scheduler.lr_warmup_iters", warmup_ratio="scheduler.lr_warmup_fraction",
        decay_steps="scheduler.lr_decay_iters",
        max_steps="train.train_iters", train_samples="train.train_samples",
        weight_decay="optimizer.weight_decay", grad_clip="optimizer.clip_grad", adam_beta2="optimizer.adam_beta2",
        adam_epsilon="optimizer.adam_eps",
        precision="mixed_precision", bf16="optimizer.bf16 model.bf16", fp16="optimizer.fp16 model.fp16",
        micro_batch_size="train.micro_batch_size", global_batch_size="train.global_batch_size",
        batch_rampup="train.rampup_batch_size",
        sequence_length="dataset.sequence_length dataset.seq_length model.seq_length",
        tensor_parallel="model.tensor_model_parallel_size", pipeline_parallel="model.pipeline_model_parallel_size",
        context_parallel="model.context_parallel_size", expert_parallel="model.expert_model_parallel_size",
        activation_checkpointing="model.recompute_granularity",
        num_workers="dataset.num_workers", seed="rng.seed dataset.random_seed", save_steps="checkpoint.save_interval",
        log_steps="logger.log_interval", eval_steps="train.eval_interval",
        lora_rank="peft.dim", lora_alpha="peft.alpha",
        hidden_size="model.hidden_size", num_layers="model.num_layers", num_heads="model.num_attention_heads",
        num_kv_heads="model.num_query_groups", head_dim="model.kv_channels",
    ),
)  # fmt: skip

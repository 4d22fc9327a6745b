"""torchtitan, of the TOML files and of the configurations in Python."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="torchtitan", programmed=True,
    file_keys=Keys((
        "training.local_batch_size", "training.seq_len optimizer.lr", "training.seq_len training.steps",
        "training.steps optimizer.lr", "training.seq_len parallelism.", "parallelism.data_parallel_shard_degree",
    )),
    command_keys=Keys(("training.local_batch_size", "training.seq_len", "job.config_file")),
    program=Program("torchtitan"),
    keys=dict(
        model="model.name", dataset="training.dataset dataloader.dataset", optimizer="optimizer.name",
        learning_rate="optimizer.lr", min_lr_ratio="lr_scheduler.min_lr_factor lr_scheduler.lr_min",
        lr_schedule="lr_scheduler.decay_type", warmup_steps="lr_scheduler.warmup_steps training.warmup_steps",
        max_steps="training.steps",
        weight_decay="optimizer.weight_decay", grad_clip="training.max_norm",
        adam_beta2="optimizer.beta2 optimizer.betas.1", adam_epsilon="optimizer.eps",
        precision="training.mixed_precision_param",
        micro_batch_size="training.local_batch_size training.batch_size",
        global_batch_size="training.global_batch_size", sequence_length="training.seq_len",
        tensor_parallel="parallelism.tensor_parallel_degree training.tensor_parallel_degree",
        pipeline_parallel="parallelism.pipeline_parallel_degree experimental.pipeline_parallel_degree",
        context_parallel="parallelism.context_parallel_degree experimental.context_parallel_degree",
        expert_parallel="parallelism.expert_parallel_degree",
        offload_params="training.enable_cpu_offload", activation_checkpointing="activation_checkpoint.mode",
        seed="debug.seed training.seed", save_steps="checkpoint.interval",
        save_total_limit="checkpoint.keep_latest_k", log_steps="metrics.log_freq",
        eval_steps="validation.freq validator.freq",
    ),
)  # fmt: skip

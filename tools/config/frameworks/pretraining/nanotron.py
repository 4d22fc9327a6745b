"""Nanotron."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="nanotron",
    file_keys=Keys(("tokens. parallelism.",)),
    keys=dict(
        optimizer="optimizer.optimizer_factory.name",
        learning_rate="optimizer.learning_rate_scheduler.learning_rate",
        min_learning_rate="optimizer.learning_rate_scheduler.min_decay_lr",
        lr_schedule="optimizer.learning_rate_scheduler.lr_decay_style",
        warmup_steps="optimizer.learning_rate_scheduler.lr_warmup_steps",
        decay_steps="optimizer.learning_rate_scheduler.lr_decay_steps",
        max_steps="tokens.train_steps",
        weight_decay="optimizer.weight_decay", grad_clip="optimizer.clip_grad",
        adam_beta2="optimizer.optimizer_factory.adam_beta2 optimizer.adam_beta2",
        adam_epsilon="optimizer.optimizer_factory.adam_eps optimizer.adam_eps",
        norm_epsilon="model.model_config.rms_norm_eps",
        init_std="model.init_method.std model.init_method.initializer_range",
        precision="model.dtype",
        micro_batch_size="tokens.micro_batch_size", grad_accumulation="tokens.batch_accumulation_per_replica",
        sequence_length="tokens.sequence_length",
        data_parallel="parallelism.dp", tensor_parallel="parallelism.tp", pipeline_parallel="parallelism.pp",
        context_parallel="parallelism.context_parallel_size parallelism.cp",
        expert_parallel="parallelism.expert_parallel_size",
        zero_stage="optimizer.zero_stage", activation_checkpointing="parallelism.recompute_layer",
        num_workers="data_stages.0.data.num_loading_workers", seed="general.seed",
        save_steps="checkpoints.checkpoint_interval", log_steps="logging.iteration_step_info_interval",
        eval_steps="tokens.val_check_interval",
        pad_token_id="model.model_config.pad_token_id", eos_token_id="model.model_config.eos_token_id",
        rope_theta="model.model_config.rope_theta",
        max_position_embeddings="model.model_config.max_position_embeddings",
        hidden_size="model.model_config.hidden_size", num_layers="model.model_config.num_hidden_layers",
        vocab_size="model.model_config.vocab_size",
    ),
)  # fmt: skip

"""ROLL."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="roll", own_devices=True,
    file_keys=Keys(("actor_train. actor_infer.", "actor_train.training_args.learning_rate")),
    keys=dict(
        stage="adv_estimator", model="pretrain",
        learning_rate="actor_train.training_args.learning_rate",
        lr_schedule="actor_train.training_args.lr_scheduler_type",
        warmup_steps="actor_train.training_args.warmup_steps", warmup_ratio="actor_train.training_args.warmup_ratio",
        max_steps="max_steps", epochs="actor_train.training_args.num_train_epochs",
        weight_decay="actor_train.training_args.weight_decay",
        grad_clip="max_grad_norm actor_train.training_args.max_grad_norm",
        precision="actor_train.model_args.dtype",
        micro_batch_size="actor_train.training_args.per_device_train_batch_size",
        grad_accumulation="actor_train.training_args.gradient_accumulation_steps", sequence_length="sequence_length",
        tensor_parallel="actor_train.strategy_args.strategy_config.tensor_model_parallel_size",
        pipeline_parallel="actor_train.strategy_args.strategy_config.pipeline_model_parallel_size",
        context_parallel="actor_train.strategy_args.strategy_config.context_parallel_size",
        expert_parallel="actor_train.strategy_args.strategy_config.expert_model_parallel_size",
        seed="seed", save_steps="save_steps", log_steps="logging_steps", eval_steps="eval_steps",
        kl_loss_coef="kl_loss_coef", kl_reward_coef="init_kl_coef", use_kl_loss="use_kl_loss",
        reward_clip="reward_clip", advantage_normalization="whiten_advantages",
        num_generations="num_return_sequences_in_group", rollout_batch_size="rollout_batch_size",
        rollout_temperature="actor_infer.generating_args.temperature", max_prompt_length="prompt_length",
        max_response_length="response_length",
        lora_rank="actor_train.model_args.lora_rank lora_rank",
        lora_alpha="actor_train.model_args.lora_alpha lora_alpha",
        max_model_len="actor_infer.strategy_args.strategy_config.max_model_len",
        gpu_memory_utilization="actor_infer.strategy_args.strategy_config.gpu_memory_utilization "
            "actor_infer.strategy_args.strategy_config.mem_fraction_static",
        engine_tensor_parallel="actor_infer.strategy_args.strategy_config.tensor_parallel_size",
    ),
)  # fmt: skip

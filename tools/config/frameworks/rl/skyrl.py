"""SkyRL."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="skyrl", own_devices=True, train_batch="prompts",
    file_keys=Keys(("trainer.policy.optimizer_config.lr", "trainer.policy_mini_batch_size")),
    command_keys=Keys(("trainer.policy.optimizer_config.lr",)),
    program=Program(r"\bskyrl"),
    keys=dict(
        stage="trainer.algorithm.advantage_estimator", model="trainer.policy.model.path", dataset="data.train_data",
        learning_rate="trainer.policy.optimizer_config.lr", lr_schedule="trainer.policy.optimizer_config.scheduler",
        warmup_steps="trainer.policy.optimizer_config.num_warmup_steps",
        epochs="trainer.epochs",
        weight_decay="trainer.policy.optimizer_config.weight_decay",
        grad_clip="trainer.policy.optimizer_config.max_grad_norm",
        adam_beta2="trainer.policy.optimizer_config.adam_betas.1",
        micro_batch_size="trainer.micro_train_batch_size_per_gpu", packing="trainer.use_sample_packing",
        nodes="trainer.placement.policy_num_nodes", gpus_per_node="trainer.placement.policy_num_gpus_per_node",
        tensor_parallel="trainer.policy.megatron_config.tensor_model_parallel_size",
        pipeline_parallel="trainer.policy.megatron_config.pipeline_model_parallel_size",
        context_parallel="trainer.policy.sequence_parallel_size",
        activation_checkpointing="trainer.gradient_checkpointing",
        seed="trainer.seed", save_steps="trainer.ckpt_interval", eval_steps="trainer.eval_interval",
        kl_loss_coef="trainer.algorithm.kl_loss_coef", kl_reward_coef="trainer.algorithm.kl_ctrl.kl_coef",
        use_kl_loss="trainer.algorithm.use_kl_loss", use_kl_in_reward="trainer.algorithm.use_kl_in_reward",
        num_generations="generator.n_samples_per_prompt", train_batch_size="trainer.train_batch_size",
        mini_batch_size="trainer.policy_mini_batch_size", rollout_temperature="generator.sampling_params.temperature",
        max_prompt_length="trainer.max_prompt_length",
        max_response_length="generator.sampling_params.max_generate_length",
        lora_rank="trainer.policy.model.lora.rank", lora_alpha="trainer.policy.model.lora.alpha",
        engine_kind="generator.inference_engine.backend generator.backend", colocate="trainer.placement.colocate_all",
        gpu_memory_utilization="generator.inference_engine.gpu_memory_utilization generator.gpu_memory_utilization",
        max_num_seqs="generator.inference_engine.max_num_seqs generator.max_num_seqs",
        engine_tensor_parallel="generator.inference_engine.tensor_parallel_size "
            "generator.inference_engine_tensor_parallel_size",
    ),
)  # fmt: skip

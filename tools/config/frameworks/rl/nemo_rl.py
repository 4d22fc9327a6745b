"""NeMo RL."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="nemo-rl", own_devices=True,
    file_keys=Keys(("policy.train_global_batch_size", "policy.max_total_sequence_length")),
    command_keys=Keys(("policy.train_global_batch_size", "grpo.num_prompts_per_step", "policy.model_name")),
    program=Program(r"examples/run_(grpo|dpo|sft|rm)\w*\.py|nemo_rl"),
    keys=dict(
        model="policy.model_name", dataset="data.dataset_name data.train.dataset_name",
        optimizer="policy.megatron_cfg.optimizer.optimizer policy.optimizer.name",
        learning_rate="policy.megatron_cfg.optimizer.lr policy.optimizer.kwargs.lr",
        min_learning_rate="policy.megatron_cfg.optimizer.min_lr",
        warmup_steps="policy.megatron_cfg.scheduler.lr_warmup_iters",
        max_steps="grpo.max_num_steps dpo.max_num_steps sft.max_num_steps rm.max_num_steps",
        epochs="grpo.max_num_epochs dpo.max_num_epochs sft.max_num_epochs rm.max_num_epochs",
        weight_decay="policy.megatron_cfg.optimizer.weight_decay policy.optimizer.kwargs.weight_decay",
        grad_clip="policy.megatron_cfg.optimizer.clip_grad policy.max_grad_norm",
        adam_beta2="policy.megatron_cfg.optimizer.adam_beta2 policy.optimizer.kwargs.betas.1",
        adam_epsilon="policy.megatron_cfg.optimizer.adam_eps policy.optimizer.kwargs.eps",
        precision="policy.precision",
        micro_batch_size="policy.train_micro_batch_size", global_batch_size="policy.train_global_batch_size",
        sequence_length="policy.max_total_sequence_length", packing="policy.sequence_packing.enabled",
        tensor_parallel="policy.megatron_cfg.tensor_model_parallel_size policy.dtensor_cfg.tensor_parallel_size",
        pipeline_parallel="policy.megatron_cfg.pipeline_model_parallel_size",
        context_parallel="policy.megatron_cfg.context_parallel_size policy.dtensor_cfg.context_parallel_size",
        offload_params="policy.dtensor_cfg.cpu_offload",
        activation_checkpointing="policy.megatron_cfg.activation_checkpointing "
            "policy.dtensor_cfg.activation_checkpointing",
        seed="grpo.seed dpo.seed sft.seed", save_steps="checkpointing.save_period",
        eval_steps="grpo.val_period dpo.val_period sft.val_period",
        dpo_beta="dpo.reference_policy_kl_penalty", kl_coef="loss_fn.reference_policy_kl_penalty",
        advantage_normalization="grpo.normalize_rewards",
        num_generations="grpo.num_generations_per_prompt", rollout_batch_size="grpo.num_prompts_per_step",
        rollout_temperature="policy.generation.temperature",
        lora_rank="policy.dtensor_cfg.lora_cfg.dim policy.megatron_cfg.peft.dim",
        lora_alpha="policy.dtensor_cfg.lora_cfg.alpha policy.megatron_cfg.peft.alpha",
        engine_kind="policy.generation.backend", colocate="policy.generation.colocated.enabled",
        max_model_len="policy.generation.vllm_cfg.max_model_len",
        gpu_memory_utilization="policy.generation.vllm_cfg.gpu_memory_utilization",
        engine_tensor_parallel="policy.generation.vllm_cfg.tensor_parallel_size",
    ),
)  # fmt: skip

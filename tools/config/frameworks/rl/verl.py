"""verl."""

from ...framework import PLAIN, Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="verl", train_batch="either",
    file_keys=Keys(("actor_rollout_ref.", "data.micro_batch_size_per_gpu", "model.partial_pretrain")),
    command_keys=Keys(("actor_rollout_ref.",)),
    program=Program(r"\bverl\.|main_ppo|dapo\.main_dapo|fsdp_sft_trainer"),
    keys=dict(
        stage="algorithm.adv_estimator", loss_type="actor_rollout_ref.actor.policy_loss.loss_mode",
        model="actor_rollout_ref.model.path model.partial_pretrain", dataset="data.train_files",
        learning_rate="actor_rollout_ref.actor.optim.lr optim.lr",
        min_learning_rate="actor_rollout_ref.actor.optim.min_lr",
        min_lr_ratio="actor_rollout_ref.actor.optim.min_lr_ratio",
        lr_schedule="actor_rollout_ref.actor.optim.warmup_style actor_rollout_ref.actor.optim.lr_scheduler_type "
            "actor_rollout_ref.actor.optim.lr_decay_style optim.lr_scheduler",
        warmup_steps="actor_rollout_ref.actor.optim.lr_warmup_steps optim.lr_warmup_steps",
        warmup_ratio="actor_rollout_ref.actor.optim.lr_warmup_steps_ratio optim.warmup_steps_ratio "
            "optim.lr_warmup_steps_ratio",
        max_steps="trainer.total_training_steps", epochs="trainer.total_epochs",
        weight_decay="actor_rollout_ref.actor.optim.weight_decay optim.weight_decay",
        grad_clip="actor_rollout_ref.actor.grad_clip actor_rollout_ref.actor.optim.clip_grad optim.clip_grad",
        precision="actor_rollout_ref.actor.fsdp_config.dtype",
        micro_batch_size="actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu data.micro_batch_size_per_gpu",
        sequence_length="data.max_length",
        nodes="trainer.nnodes", gpus_per_node="trainer.n_gpus_per_node",
        tensor_parallel="actor_rollout_ref.actor.megatron.tensor_model_parallel_size",
        pipeline_parallel="actor_rollout_ref.actor.megatron.pipeline_model_parallel_size",
        context_parallel="actor_rollout_ref.actor.megatron.context_parallel_size "
            "actor_rollout_ref.actor.ulysses_sequence_parallel_size ulysses_sequence_parallel_size",
        expert_parallel="actor_rollout_ref.actor.megatron.expert_model_parallel_size",
        offload_optimizer="actor_rollout_ref.actor.fsdp_config.optimizer_offload "
            "actor_rollout_ref.actor.megatron.optimizer_offload",
        offload_params="actor_rollout_ref.actor.fsdp_config.param_offload "
            "actor_rollout_ref.actor.megatron.param_offload",
        activation_checkpointing="actor_rollout_ref.model.enable_gradient_checkpointing "
            "model.enable_gradient_checkpointing",
        seed="data.seed actor_rollout_ref.actor.data_loader_seed", save_steps="trainer.save_freq",
        eval_steps="trainer.test_freq",
        kl_loss_coef="actor_rollout_ref.actor.kl_loss_coef", kl_reward_coef="algorithm.kl_ctrl.kl_coef",
        use_kl_loss="actor_rollout_ref.actor.use_kl_loss", use_kl_in_reward="algorithm.use_kl_in_reward",
        kl_target="algorithm.kl_ctrl.target_kl", advantage_normalization="algorithm.norm_adv_by_std_in_grpo",
        num_generations="actor_rollout_ref.rollout.n", train_batch_size="data.train_batch_size",
        mini_batch_size="actor_rollout_ref.actor.ppo_mini_batch_size",
        sampling_temperature="actor_rollout_ref.rollout.val_kwargs.temperature",
        rollout_temperature="actor_rollout_ref.rollout.temperature", max_prompt_length="data.max_prompt_length",
        max_response_length="data.max_response_length",
        lora_rank="actor_rollout_ref.model.lora_rank model.lora_rank",
        lora_alpha="actor_rollout_ref.model.lora_alpha model.lora_alpha",
        engine_kind="actor_rollout_ref.rollout.name", max_model_len="actor_rollout_ref.rollout.max_model_len",
        gpu_memory_utilization="actor_rollout_ref.rollout.gpu_memory_utilization",
        max_num_seqs="actor_rollout_ref.rollout.max_num_seqs",
        engine_tensor_parallel="actor_rollout_ref.rollout.tensor_model_parallel_size",
        nccl_timeout="actor_rollout_ref.nccl_timeout",
    ),
    issue_form=IssueForm("verl", "https://github.com/volcengine/verl/issues", PLAIN),
)  # fmt: skip

"""AReaL."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="areal", own_devices=True, train_batch="prompts",
    file_keys=Keys(("actor.optimizer.lr", "gconfig. actor.", "total_train_epochs actor.")),
    command_keys=Keys(("actor.optimizer.lr", "gconfig.n_samples")),
    program=Program(r"\bareal\b"),
    keys=dict(
        stage="train_dataset.type", loss_type="loss_type", model="actor.path", dataset="train_dataset.path",
        optimizer="actor.optimizer.type",
        learning_rate="actor.optimizer.lr", min_lr_ratio="actor.optimizer.min_lr_ratio",
        lr_schedule="actor.optimizer.lr_scheduler_type", warmup_ratio="actor.optimizer.warmup_steps_proportion",
        max_steps="total_train_steps", epochs="total_train_epochs",
        weight_decay="actor.optimizer.weight_decay", grad_clip="actor.optimizer.gradient_clipping",
        adam_beta2="actor.optimizer.beta2", adam_epsilon="actor.optimizer.eps",
        precision="actor.dtype",
        activation_checkpointing="actor.gradient_checkpointing",
        num_workers="train_dataset.num_workers", pin_memory="train_dataset.pin_memory", seed="seed",
        save_steps="saver.freq_steps",
        beta="beta", kl_coef="actor.kl_ctl", reward_clip="actor.reward_clip",
        num_generations="gconfig.n_samples actor.group_size", train_batch_size="train_dataset.batch_size",
        rollout_temperature="gconfig.temperature", max_response_length="gconfig.max_new_tokens",
        lora_rank="actor.lora_rank", lora_alpha="actor.lora_alpha",
        max_model_len="sglang.context_length vllm.max_model_len",
        gpu_memory_utilization="sglang.mem_fraction_static vllm.gpu_memory_utilization",
        max_num_seqs="sglang.max_running_requests vllm.max_num_seqs",
    ),
)  # fmt: skip

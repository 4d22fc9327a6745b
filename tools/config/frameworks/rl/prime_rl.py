"""prime-rl."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="prime-rl", own_devices=True,
    file_keys=Keys((
        "trainer.optim.lr", "orchestrator.batch_size", "orchestrator.sampling.", "data.seq_len optim.lr",
        "rollouts_per_example batch_size",
    )),
    command_keys=Keys(("trainer.optim.lr", "orchestrator.batch_size")),
    keys=dict(
        model="model.name", dataset="data.name", optimizer="trainer.optim.type optim.type",
        learning_rate="trainer.optim.lr optim.lr", lr_schedule="trainer.scheduler.type scheduler.type",
        warmup_steps="trainer.scheduler.warmup_steps scheduler.warmup_steps",
        decay_steps="trainer.scheduler.decay_steps scheduler.decay_steps",
        max_steps="max_steps",
        weight_decay="trainer.optim.weight_decay optim.weight_decay", grad_clip="trainer.optim.max_norm optim.max_norm",
        adam_beta2="trainer.optim.betas2 optim.betas2",
        micro_batch_size="data.micro_batch_size", global_batch_size="data.batch_size",
        sequence_length="seq_len data.seq_len trainer.model.seq_len",
        context_parallel="trainer.model.cp model.cp",
        seed="seed", save_steps="ckpt.interval", eval_steps="eval.interval orchestrator.eval.interval",
        num_generations="orchestrator.group_size orchestrator.rollouts_per_example rollouts_per_example",
        train_batch_size="orchestrator.batch_size batch_size",
        rollout_temperature="orchestrator.train.sampling.temperature orchestrator.sampling.temperature",
        max_response_length="orchestrator.train.sampling.max_completion_tokens orchestrator.sampling.max_tokens",
        lora_rank="trainer.model.lora.rank model.lora.rank", lora_alpha="trainer.model.lora.alpha model.lora.alpha",
        max_model_len="inference.model.max_model_len", gpu_memory_utilization="inference.gpu_memory_utilization",
        engine_tensor_parallel="inference.parallel.tp", engine_data_parallel="inference.parallel.dp",
    ),
)  # fmt: skip

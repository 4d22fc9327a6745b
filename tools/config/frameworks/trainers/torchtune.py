"""torchtune."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="torchtune",
    file_keys=Keys(("optimizer._component_", "model._component_", "tokenizer._component_")),
    command_keys=Keys(("optimizer.lr batch_size",), turn=1),
    program=Program(r"\btune\s+run\b|torchtune"),
    keys=dict(
        loss_type="loss._component_", model="model._component_", dataset="dataset._component_",
        optimizer="optimizer._component_",
        learning_rate="optimizer.lr", lr_schedule="lr_scheduler._component_",
        warmup_steps="lr_scheduler.num_warmup_steps",
        epochs="epochs", steps_per_epoch="max_steps_per_epoch",
        weight_decay="optimizer.weight_decay", grad_clip="clip_grad_norm", adam_beta2="optimizer.betas.1",
        adam_epsilon="optimizer.eps",
        precision="dtype",
        micro_batch_size="batch_size", grad_accumulation="gradient_accumulation_steps",
        sequence_length="tokenizer.max_seq_len", packing="dataset.packed",
        tensor_parallel="tensor_parallel_dim", context_parallel="context_parallel_dim",
        offload_params="fsdp_cpu_offload fsdp.cpu_offload", activation_checkpointing="enable_activation_checkpointing",
        num_workers="dataloader.num_workers", pin_memory="dataloader.pin_memory", seed="seed",
        save_steps="save_every_n_steps", log_steps="log_every_n_steps",
        dpo_beta="loss.beta", kl_coef="kl_coeff loss.kl_coeff",
        num_generations="grpo_samples", rollout_temperature="temperature",
        lora_rank="model.lora_rank", lora_alpha="model.lora_alpha",
    ),
    defaults={"grad_accumulation": 1},
)  # fmt: skip

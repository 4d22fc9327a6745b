"""LLM Foundry, and Composer under it."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="llm-foundry",
    file_keys=Keys((
        "device_train_microbatch_size", "global_train_batch_size", "train_loader. max_duration", "scheduler.t_warmup",
    ), turn=1),
    program=Program(r"(^|\s)composer(\s|$)|llm-?foundry"),
    keys=dict(
        model="model.pretrained_model_name_or_path model.name", dataset="train_loader.dataset.hf_name",
        optimizer="optimizer.name",
        learning_rate="optimizer.lr", min_lr_ratio="scheduler.alpha_f", lr_schedule="scheduler.name",
        warmup_steps="scheduler.t_warmup",
        max_steps="max_duration",
        weight_decay="optimizer.weight_decay",
        grad_clip="algorithms.gradient_clipping.clipping_threshold grad_clip_norm", adam_beta2="optimizer.betas.1",
        adam_epsilon="optimizer.eps",
        precision="precision",
        micro_batch_size="device_train_microbatch_size", global_batch_size="global_train_batch_size",
        sequence_length="max_seq_len",
        activation_checkpointing="fsdp_config.activation_checkpointing",
        flash_attention="model.attn_config.attn_impl model.use_flash_attention_2",
        num_workers="train_loader.num_workers", pin_memory="train_loader.pin_memory", seed="seed",
        save_steps="save_interval", eval_steps="eval_interval",
        lora_rank="model.peft_config.r peft_config.r", lora_alpha="model.peft_config.lora_alpha peft_config.lora_alpha",
        hidden_size="model.d_model", num_layers="model.n_layers", vocab_size="model.vocab_size",
        num_heads="model.n_heads",
    ),
)  # fmt: skip

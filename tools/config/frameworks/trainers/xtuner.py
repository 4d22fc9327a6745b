"""XTuner."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="xtuner", programmed=True,
    file_keys=Keys((
        "accumulative_counts", "optim_wrapper.optimizer.lr", "optim_cfg.lr", "fsdp_cfg.tp_size", "pack_to_max_length",
    )),
    program=Program(r"\bxtuner\b"),
    keys=dict(
        optimizer="optim_wrapper.optimizer.type", loss_scale="optim_wrapper.loss_scale", dataset="data_root",
        activation_checkpointing="model.backbone.with_cp", pin_memory="train_dataloader.pin_memory",
        loss_type="dpo_loss_type loss_type model.loss_type", model="pretrained_model_name_or_path load_from",
        learning_rate="optim_wrapper.optimizer.lr optim_cfg.lr lr", min_learning_rate="lr_cfg.lr_min",
        lr_schedule="lr_cfg.lr_type", warmup_ratio="lr_cfg.warmup_ratio warmup_ratio",
        max_steps="total_step max_iters", epochs="total_epoch train_cfg.max_epochs max_epochs",
        weight_decay="optim_wrapper.optimizer.weight_decay optim_cfg.weight_decay weight_decay",
        grad_clip="optim_wrapper.clip_grad.max_norm optim_cfg.max_grad_norm max_norm",
        adam_beta2="optim_wrapper.optimizer.betas optim_cfg.betas betas",
        precision="optim_wrapper.dtype",
        micro_batch_size="train_dataloader.batch_size batch_size",
        grad_accumulation="optim_wrapper.accumulative_counts accumulative_counts",
        global_batch_size="global_batch_size",
        sequence_length="max_length dataloader_cfg.pack_max_length pack_max_length", packing="pack_to_max_length",
        tensor_parallel="fsdp_cfg.tp_size", context_parallel="sequence_parallel_size sp_size",
        num_workers="train_dataloader.num_workers dataloader_cfg.num_workers dataloader_num_workers",
        seed="seed randomness.seed", save_steps="save_steps default_hooks.checkpoint.interval",
        save_total_limit="save_total_limit default_hooks.checkpoint.max_keep_ckpts",
        log_steps="default_hooks.logger.interval",
        dpo_beta="dpo_beta beta model.beta",
        lora_rank="model.lora.r", lora_alpha="model.lora.lora_alpha",
    ),
)  # fmt: skip

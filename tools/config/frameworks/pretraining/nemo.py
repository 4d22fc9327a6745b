"""NeMo, of the YAML files and of the recipes in Python."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="nemo", programmed=True,
    file_keys=Keys((
        "model.optim.lr", "exp_manager. trainer.", "model.global_batch_size trainer.", "optim.config.lr",
        "trainer.strategy.tensor_model_parallel_size",
    )),
    command_keys=Keys(("model.optim.lr", "exp_manager.", "model.global_batch_size")),
    program=Program(r"megatron_gpt_\w+\.py|\bNeMo/|\bnemo/"),
    keys=dict(
        model="model.restore_from_path restore_from_path", optimizer="model.optim.name optim.config.optimizer",
        learning_rate="model.optim.lr optim.config.lr optim.lr",
        min_learning_rate="model.optim.sched.min_lr optim.lr_scheduler.min_lr", lr_schedule="model.optim.sched.name",
        warmup_steps="model.optim.sched.warmup_steps optim.lr_scheduler.warmup_steps",
        warmup_ratio="model.optim.sched.warmup_ratio",
        max_steps="trainer.max_steps", epochs="trainer.max_epochs",
        weight_decay="model.optim.weight_decay optim.config.weight_decay",
        grad_clip="trainer.gradient_clip_val optim.config.clip_grad",
        adam_beta2="model.optim.betas.1 optim.config.adam_beta2", norm_epsilon="model.layernorm_epsilon",
        init_std="model.init_method_std",
        precision="trainer.precision",
        micro_batch_size="model.micro_batch_size model.data.train_ds.micro_batch_size data.micro_batch_size",
        global_batch_size="model.global_batch_size model.data.train_ds.global_batch_size data.global_batch_size",
        sequence_length="model.data.train_ds.max_seq_length model.encoder_seq_length data.seq_length",
        nodes="trainer.num_nodes num_nodes", gpus_per_node="trainer.devices num_gpus_per_node",
        tensor_parallel="model.tensor_model_parallel_size trainer.strategy.tensor_model_parallel_size",
        pipeline_parallel="model.pipeline_model_parallel_size trainer.strategy.pipeline_model_parallel_size",
        context_parallel="model.context_parallel_size trainer.strategy.context_parallel_size",
        expert_parallel="model.expert_model_parallel_size trainer.strategy.expert_model_parallel_size",
        activation_checkpointing="model.activations_checkpoint_granularity",
        num_workers="model.data.num_workers model.data.train_ds.num_workers data.num_workers", seed="model.seed",
        log_steps="trainer.log_every_n_steps log.log_every_n_steps", eval_steps="trainer.val_check_interval",
        dpo_beta="model.dpo.ref_policy_kl_penalty",
        adapter="model.peft.peft_scheme", lora_rank="model.peft.lora_tuning.adapter_dim",
        lora_alpha="model.peft.lora_tuning.alpha",
        max_position_embeddings="model.max_position_embeddings",
        hidden_size="model.hidden_size", num_layers="model.num_layers", num_heads="model.num_attention_heads",
        num_kv_heads="model.num_query_groups", head_dim="model.kv_channels",
    ),
)  # fmt: skip

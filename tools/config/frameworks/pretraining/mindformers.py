"""MindFormers."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="mindformers",
    file_keys=Keys(("runner_config.", "runner_wrapper.", "parallel_config.model_parallel")),
    program=Program("run_mindformer|mindformers"),
    keys=dict(
        model="trainer.model_name", optimizer="optimizer.type",
        learning_rate="lr_schedule.learning_rate optimizer.learning_rate", min_learning_rate="lr_schedule.lr_end",
        lr_schedule="lr_schedule.type", warmup_steps="lr_schedule.warmup_steps",
        warmup_ratio="lr_schedule.warmup_ratio",
        max_steps="lr_schedule.total_steps", epochs="runner_config.epochs",
        weight_decay="optimizer.weight_decay", adam_beta2="optimizer.beta2 optimizer.betas.1",
        adam_epsilon="optimizer.eps", norm_epsilon="model.model_config.rms_norm_eps",
        precision="model.model_config.compute_dtype",
        micro_batch_size="runner_config.batch_size", sequence_length="model.model_config.seq_length",
        data_parallel="parallel_config.data_parallel", tensor_parallel="parallel_config.model_parallel",
        pipeline_parallel="parallel_config.pipeline_stage",
        activation_checkpointing="recompute_config.recompute", flash_attention="model.model_config.use_flash_attention",
        seed="seed",
        pad_token_id="model.model_config.pad_token_id", eos_token_id="model.model_config.eos_token_id",
        lora_rank="model.model_config.pet_config.lora_rank", lora_alpha="model.model_config.pet_config.lora_alpha",
        hidden_size="model.model_config.hidden_size", num_layers="model.model_config.num_layers",
        vocab_size="model.model_config.vocab_size", num_heads="model.model_config.num_heads",
        num_kv_heads="model.model_config.n_kv_heads",
    ),
)  # fmt: skip

"""GPT-NeoX: Megatron's names in a DeepSpeed file."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="gpt-neox", parents=("deepspeed",),
    file_keys=Keys((
        "pipe_parallel_size", "train_iters optimizer.params.lr", "lr_decay_iters", "model_parallel_size num_layers",
    ), turn=2),
    program=Program(r"deepy\.py"),
    keys=dict(
        stage="train_impl", model="load", dataset="data_path train_data_paths.0",
        min_learning_rate="min_lr", lr_schedule="lr_decay_style", warmup_ratio="warmup", decay_steps="lr_decay_iters",
        max_steps="train_iters",
        weight_decay="weight_decay optimizer.params.weight_decay",
        norm_epsilon="rms_norm_epsilon layernorm_epsilon norm_epsilon",
        precision="precision",
        sequence_length="seq_length",
        tensor_parallel="model_parallel_size", pipeline_parallel="pipe_parallel_size",
        activation_checkpointing="checkpoint_activations",
        num_workers="num_workers", seed="seed", save_steps="checkpoint_factor save_interval",
        save_total_limit="keep_last_n_checkpoints", log_steps="log_interval", eval_steps="eval_interval",
        dpo_beta="dpo_beta kto_beta",
        rope_theta="rotary_emb_base", max_position_embeddings="max_position_embeddings",
        hidden_size="hidden_size", num_layers="num_layers", num_heads="num_attention_heads",
        num_kv_heads="num_kv_heads",
    ),
)  # fmt: skip

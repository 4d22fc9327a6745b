"""Megatron-LM and its forks."""

from ...framework import PLAIN, Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="megatron",
    file_keys=Keys(("train_iters lr", "tensor_model_parallel_size global_batch_size", "train_samples lr"), turn=1),
    command_keys=Keys((
        "tensor_model_parallel_size", "micro_batch_size global_batch_size", "train_iters lr", "lr_decay_style",
        "train_samples lr",
    ), turn=1),
    program=Program(r"pretrain_\w+\.py|finetune_gpt\.py|megatron", turn=1),
    keys=dict(
        tie_embeddings="untie_embeddings_and_output_weights",
        model="load", dataset="data_path train_data_path", optimizer="optimizer",
        learning_rate="lr", min_learning_rate="min_lr", lr_schedule="lr_decay_style", warmup_steps="lr_warmup_iters",
        warmup_ratio="lr_warmup_fraction", warmup_samples="lr_warmup_samples", decay_steps="lr_decay_iters",
        decay_samples="lr_decay_samples",
        max_steps="train_iters", train_samples="train_samples", train_tokens="train_tokens",
        weight_decay="weight_decay", grad_clip="clip_grad", adam_beta2="adam_beta2", adam_epsilon="adam_eps",
        norm_epsilon="norm_epsilon layernorm_epsilon", init_std="init_method_std",
        bf16="bf16", fp16="fp16", fp8="fp8_format fp8_hybrid fp8_e4m3", loss_scale="loss_scale",
        micro_batch_size="micro_batch_size batch_size", global_batch_size="global_batch_size",
        batch_rampup="rampup_batch_size", sequence_length="seq_length",
        tensor_parallel="tensor_model_parallel_size model_parallel_size",
        pipeline_parallel="pipeline_model_parallel_size", context_parallel="context_parallel_size",
        expert_parallel="expert_model_parallel_size",
        deepspeed="deepspeed_config", zero_stage="zero_stage", offload_optimizer="optimizer_cpu_offload cpu_optimizer",
        activation_checkpointing="recompute_activations recompute_granularity checkpoint_activations",
        flash_attention="use_flash_attn use_flash_attn_v2",
        num_workers="num_workers", seed="seed", save_steps="save_interval", log_steps="log_interval",
        eval_steps="eval_interval",
        rope_scaling_factor="rotary_seq_len_interpolation_factor rope_scaling_factor", rope_theta="rotary_base",
        max_position_embeddings="max_position_embeddings",
        intermediate_size="ffn_hidden_size",
        hidden_size="hidden_size", num_layers="num_layers", num_heads="num_attention_heads",
        num_kv_heads="num_query_groups", head_dim="kv_channels", num_experts="num_experts",
        nccl_timeout="distributed_timeout_minutes",
    ),
    issue_form=IssueForm("Megatron-LM", "https://github.com/NVIDIA/Megatron-LM/issues", PLAIN),
)  # fmt: skip

"""Transformers: the arguments of its Trainer."""

from ...framework import HUGGING_FACE, Framework, IssueForm, Keys

FRAMEWORK = Framework(
    name="hf", tolerant=True, checks_deepspeed=True,
    file_keys=Keys((
        "per_device_train_batch_size", "num_train_epochs", "lr_scheduler_type", "model_name_or_path learning_rate",
    ), turn=5),
    command_keys=Keys((
        "per_device_train_batch_size", "per_device_training_batch_size", "gradient_accumulation_steps",
        "model_name_or_path", "num_train_epochs", "lr_scheduler_type",
    ), turn=2),
    keys=dict(
        loss_type="loss_type dpo_loss_type", model="model_name_or_path pretrained_model_name_or_path "
            "actor_model_name_or_path model_id model_name",
        dataset="dataset_name dataset data_path train_file dataset_mixer_list mixer_list", optimizer="optim optimizer",
        learning_rate="learning_rate actor_learning_rate training_args.learning_rate",
        min_learning_rate="lr_scheduler_kwargs.min_lr cosine_min_lr min_lr min_learning_rate",
        min_lr_ratio="lr_scheduler_kwargs.min_lr_rate",
        lr_schedule="lr_scheduler_type lr_scheduler", warmup_steps="warmup_steps num_warmup_steps",
        warmup_ratio="warmup_ratio",
        max_steps="max_steps max_train_steps", epochs="num_train_epochs num_epochs",
        weight_decay="weight_decay actor_weight_decay adam_weight_decay", grad_clip="max_grad_norm clip_grad_norm",
        adam_beta2="adam_beta2", adam_epsilon="adam_epsilon",
        precision="mixed_precision", bf16="bf16", fp16="fp16", fp8="fp8",
        model_dtype="torch_dtype dtype model_init_kwargs.torch_dtype",
        micro_batch_size="per_device_train_batch_size per_device_training_batch_size per_gpu_train_batch_size "
            "micro_batch_size",
        grad_accumulation="gradient_accumulation_steps",
        sequence_length="max_seq_length max_length max_seq_len model_max_length cutoff_len block_size",
        packing="packing",
        deepspeed="deepspeed", zero_stage="zero_stage actor_zero_stage deepspeed_stage",
        activation_checkpointing="gradient_checkpointing actor_gradient_checkpointing",
        flash_attention="attn_implementation use_flash_attention_2 use_flash_attn flash_attention flash_attn",
        num_workers="dataloader_num_workers", pin_memory="dataloader_pin_memory", seed="seed",
        save_steps="save_steps checkpointing_steps", save_total_limit="save_total_limit keep_last_n_checkpoints",
        log_steps="logging_steps", eval_steps="eval_steps",
        pad_token_id="pad_token_id pad_token", eos_token_id="eos_token_id eos_token",
        chat_template="chat_template chat_template_name chat_template_path",
        beta="beta dpo_beta", dpo_beta="kto_beta simpo_beta", kl_coef="kl_coef init_kl_coef",
        kl_target="target_kl kl_target", reward_clip="reward_clip_range cliprange_reward",
        advantage_normalization="whiten_advantages",
        num_generations="num_generations num_samples_per_prompt_rollout", rollout_temperature="temperature",
        max_prompt_length="max_prompt_length",
        max_response_length="max_completion_length max_new_tokens response_length",
        adapter="use_peft use_lora", lora_rank="lora_r lora_rank peft_config.r actor_lora_dim",
        lora_alpha="lora_alpha peft_config.lora_alpha", freeze="freeze_llm freeze_layers freeze_base_model",
        rope_scaling_type="rope_scaling.rope_type rope_scaling.type",
        rope_scaling_factor="rope_scaling.factor rope_scaling_factor",
        colocate="vllm_mode", max_model_len="vllm_max_model_len vllm_max_model_length",
        gpu_memory_utilization="vllm_gpu_memory_utilization vllm_gpu_memory_utilisation",
        engine_tensor_parallel="vllm_tensor_parallel_size",
        nccl_timeout="ddp_timeout",
    ),
    defaults={"grad_clip": 1.0, "learning_rate": 5e-5, "weight_decay": 0.0, "grad_accumulation": 1},
    issue_form=IssueForm("Transformers", "https://github.com/huggingface/transformers/issues",
        HUGGING_FACE, "transformers env", name="transformers"),
)  # fmt: skip

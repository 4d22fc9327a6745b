"""A file or command of no framework that we know: names that many programs use."""

from ...framework import Framework

FRAMEWORK = Framework(
    name="generic", role="generic",
    keys=dict(
        model="model_name_or_path base_model pretrained model_name",
        dataset="dataset_name dataset data_path train_file", optimizer="optimizer optim optimizer.name",
        learning_rate="learning_rate lr optimizer.lr optim.lr train.lr training.learning_rate train.learning_rate "
            "training.lr optimizer.learning_rate",
        min_learning_rate="min_lr training.min_lr",
        lr_schedule="lr_scheduler_type lr_scheduler lr_decay_style scheduler",
        warmup_steps="warmup_steps num_warmup_steps warmup_iters lr_warmup_steps training.warmup_steps "
            "lr_scheduler.warmup_steps",
        warmup_ratio="warmup_ratio lr_warmup_ratio",
        max_steps="max_steps max_iters total_steps train_steps num_iterations training.steps training.max_steps",
        epochs="epochs num_epochs num_train_epochs max_epochs",
        weight_decay="weight_decay optimizer.weight_decay wd training.weight_decay",
        grad_clip="grad_clip max_grad_norm clip_grad clip_grad_norm gradient_clipping gradient_clip_val max_norm "
            "training.max_norm",
        adam_beta2="adam_beta2 beta2", adam_epsilon="adam_epsilon adam_eps",
        precision="mixed_precision precision dtype", bf16="bf16", fp16="fp16",
        micro_batch_size="micro_batch_size per_device_train_batch_size batch_size device_batch_size "
            "training.local_batch_size training.batch_size train.batch_size",
        grad_accumulation="gradient_accumulation_steps grad_accum_steps grad_accumulation accumulate_grad_batches",
        global_batch_size="global_batch_size total_batch_size training.global_batch_size",
        sequence_length="max_seq_length max_length seq_length seq_len max_seq_len sequence_length block_size "
            "training.seq_len",
        tensor_parallel="tensor_model_parallel_size training.tensor_parallel_degree parallelism.tensor_parallel_degree",
        pipeline_parallel="pipeline_model_parallel_size parallelism.pipeline_parallel_degree",
        context_parallel="parallelism.context_parallel_degree context_parallel_size",
        zero_stage="zero_stage", activation_checkpointing="gradient_checkpointing activation_checkpointing",
        num_workers="num_workers dataloader_num_workers", pin_memory="pin_memory", seed="seed training.seed",
        save_steps="save_steps save_interval checkpoint.interval",
        log_steps="log_interval logging_steps metrics.log_freq",
        dpo_beta="dpo_beta", kl_coef="kl_coef init_kl_coef",
        num_generations="num_generations",
        lora_rank="lora_r lora_rank lora.r lora.rank", lora_alpha="lora_alpha lora.alpha",
        freeze="freeze_llm freeze_backbone freeze_base_model",
    ),
)  # fmt: skip

"""A file or command of no framework that we know: names that many programs use."""

from ...framework import Framework

FRAMEWORK = Framework(
    name="generic", role="generic",
    keys=dict(
        model="model_name_or_path base_model pretrained model_name",
        dataset="dataset_name dataset data_path train_file",
        optimizer="optimizer optim optimizer.name",
        learning_rate="learning_rate lr optimizer.lr optim.lr train.lr training.learning_rate train.learning_rate "
            "training.lr optimizer.learning_rate peak_lr max_lr base_lr lr_peak",
        min_learning_rate="min_lr training.min_lr",
        lr_schedule="lr_scheduler_type lr_scheduler lr_decay_style scheduler",
        warmup_steps="warmup_steps num_warmup_steps warmup_iters lr_warmup_steps training.warmup_steps "
            "lr_scheduler.warmup_steps warmup warmup_updates n_warmup_steps",
        warmup_ratio="warmup_ratio lr_warmup_ratio",
        max_steps="max_steps max_iters total_steps train_steps num_iterations training.steps training.max_steps "
            "n_steps num_steps steps updates max_updates total_updates train_iters total_iters num_train_steps",
        epochs="epochs num_epochs num_train_epochs max_epochs n_epochs num_epoch",
        weight_decay="weight_decay optimizer.weight_decay wd training.weight_decay optim.wd",
        grad_clip="grad_clip max_grad_norm clip_grad clip_grad_norm gradient_clipping gradient_clip_val max_norm "
            "training.max_norm grad_clip_norm clip_norm grad_norm_clip gradient_clip max_gradient_norm optim.clip "
            "optimizer.clip optim.grad_clip opt.clip opt.grad_clip",
        adam_beta2="adam_beta2 beta2 optim.beta2",
        adam_epsilon="adam_epsilon adam_eps",
        precision="mixed_precision precision dtype",
        bf16="bf16",
        fp16="fp16",
        micro_batch_size="micro_batch_size per_device_train_batch_size batch_size device_batch_size "
            "training.local_batch_size training.batch_size train.batch_size micro_batch mbs bs bs_per_gpu "
            "batch_per_gpu batch_size_per_gpu per_device_batch_size per_gpu_batch_size micro batch.micro "
            "micro_bs micro_bsz microbatch microbatch_size micro_batchsize bsz",
        grad_accumulation="gradient_accumulation_steps grad_accum_steps grad_accumulation accumulate_grad_batches "
            "accum accumulate accumulation accum_steps accumulation_steps grad_accum "
            "gradient_accumulation ga batch.accum",
        global_batch_size="global_batch_size total_batch_size training.global_batch_size global_batch gbs "
            "global_bs total_batch effective_batch_size",
        sequence_length="max_seq_length max_length seq_length seq_len max_seq_len sequence_length block_size "
            "training.seq_len context_length ctx ctx_len seqlen max_len context_len seq",
        tensor_parallel="tensor_model_parallel_size training.tensor_parallel_degree "
            "parallelism.tensor_parallel_degree tp tp_size tensor_parallel tensor_parallel_size",
        pipeline_parallel="pipeline_model_parallel_size parallelism.pipeline_parallel_degree pp pp_size "
            "pipeline_parallel pipeline_parallel_size",
        context_parallel="parallelism.context_parallel_degree context_parallel_size cp cp_size context_parallel",
        zero_stage="zero_stage zero",
        activation_checkpointing="gradient_checkpointing activation_checkpointing grad_ckpt grad_checkpointing "
            "activation_ckpt recompute",
        num_workers="num_workers dataloader_num_workers n_workers loader_workers workers",
        pin_memory="pin_memory",
        seed="seed training.seed",
        save_steps="save_steps save_interval checkpoint.interval save_every ckpt_every checkpoint_every save_freq "
            "checkpoint_interval ckpt_interval run.save",
        eval_steps="val_check_interval",
        log_steps="log_interval logging_steps metrics.log_freq",
        dpo_beta="dpo_beta",
        kl_coef="kl_coef init_kl_coef kl_beta kl_weight kl_penalty kl_penalty_coef kl_coeff ppo.kl rl.kl grpo.kl "
            "kl_ref_weight kl_ref_coef ref_kl_weight ref_kl_coef kl_lambda lambda_kl kl_loss_weight kl_penalty_weight",
        num_generations="num_generations group_size n_samples_per_prompt samples_per_prompt rollouts_per_prompt "
            "num_samples_per_prompt",
        lora_rank="lora_r lora_rank lora.r lora.rank",
        lora_alpha="lora_alpha lora.alpha",
        freeze="freeze_llm freeze_backbone freeze_base_model",
        world_size="world_size n_gpu n_gpus num_gpus ngpus gpus batch.gpus",
        save_total_limit="save_total_limit keep_last keep_last_n max_checkpoints keep_checkpoints max_to_keep",
        rollout_batch_size="rollout_batch_size prompts_per_step",
        rollout_temperature="rollout_temperature rollout.temperature",
        max_response_length="max_new_tokens max_completion_length max_response_length max_response_len",
        max_prompt_length="max_prompt_length max_prompt_len",
        gpu_memory_utilization="gpu_memory_utilization engine_mem_util gpu_mem_util mem_fraction_static",
        max_num_seqs="max_num_seqs",
        max_model_len="max_model_len",
        nccl_timeout="nccl_timeout nccl_timeout_s ddp_timeout dist.timeout_s dist.timeout distributed.timeout "
            "dist_timeout distributed.timeout_s dist_timeout_s",
        hidden_size="hidden_size model.hidden n_embd d_model model.dim hidden dim",
        norm_epsilon="norm_eps norm_epsilon rms_norm_eps layer_norm_eps layernorm_epsilon ln_eps model.norm_eps "
            "model.norm_epsilon model.rms_norm_eps model.layer_norm_eps model.ln_eps",
        num_layers="num_layers n_layers n_layer num_hidden_layers model.layers layers",
        num_heads="num_heads n_heads n_head num_attention_heads model.heads heads",
        packing="packing",
        flash_attention="attn_implementation flash_attention use_flash_attention use_flash_attn flash_attn "
            "model.attn_implementation model.flash_attention model.use_flash_attn model.flash_attn",
        data_parallel="dp dp_size data_parallel",
        vocab_size="vocab_size model.vocab n_vocab",
        rope_theta="rope_theta rope.theta",
        rope_scaling_type="rope_scaling.type rope.scaling.type rope.type",
        rope_scaling_factor="rope_scaling.factor rope.scaling.factor rope.factor",
        rope_original_positions="rope_scaling.original_max_position_embeddings "
            "rope.scaling.original_max_position_embeddings",
        num_kv_heads="num_kv_heads n_kv_heads num_key_value_heads model.kv_heads",
    ),
)  # fmt: skip

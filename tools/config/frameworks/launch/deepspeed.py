"""DeepSpeed: its own JSON, also beside another trainer's file."""

from ...framework import Framework, IssueForm, Keys

_ZERO = """
    stage contiguous_gradients reduce_scatter reduce_bucket_size allgather_partitions allgather_bucket_size
    round_robin_gradients sub_group_size stage3_prefetch_bucket_size stage3_param_persistence_threshold
    stage3_max_live_parameters stage3_max_reuse_distance stage3_gather_16bit_weights_on_model_save
    stage3_gather_fp16_weights_on_model_save stage3_module_granularity_threshold ignore_unused_parameters
    elastic_checkpoint zero_hpz_partition_size zero_quantized_weights zero_quantized_gradients mics_shard_size
    offload_optimizer.pin_memory offload_optimizer.nvme_path offload_optimizer.buffer_count offload_optimizer.fast_init
    offload_optimizer.ratio offload_optimizer.pipeline_read offload_optimizer.pipeline_write offload_param.pin_memory
    offload_param.nvme_path offload_param.buffer_count offload_param.buffer_size offload_param.max_in_cpu
"""
_FP16 = "auto_cast loss_scale_window initial_scale_power hysteresis consecutive_hysteresis min_loss_scale"
_OTHERS = """
    prescale_gradients gradient_predivide_factor sparse_gradients communication_data_type
    seq_parallel_communication_data_type
    zero_allow_untested_optimizer zero_force_ds_cpu_optimizer wall_clock_breakdown memory_breakdown
    dump_state dataloader_drop_last disable_allgather amp.enabled amp.opt_level flops_profiler comms_logger tensorboard
    wandb csv_monitor autotuning elasticity activation_checkpointing.partition_activations
    activation_checkpointing.cpu_checkpointing activation_checkpointing.contiguous_memory_optimization
    activation_checkpointing.number_checkpoints activation_checkpointing.synchronize_checkpoint_boundary
    activation_checkpointing.profile aio curriculum_learning data_efficiency progressive_layer_drop
    compression_training checkpoint data_types hybrid_engine pipeline sparse_attention quantize_training compile
"""
"""Keys of DeepSpeed's configuration reference that decide no variable of ours, by block."""

FRAMEWORK = Framework(
    name="deepspeed", role="deepspeed",
    file_keys=Keys((
        "zero_optimization.", "train_micro_batch_size_per_gpu", "fp16.enabled", "bf16.enabled",
        "train_batch_size optimizer.params.",
    ), turn=3),
    keys=dict(
        optimizer="optimizer.type",
        learning_rate="optimizer.params.lr", lr_schedule="scheduler.type",
        warmup_steps="scheduler.params.warmup_num_steps",
        max_steps="scheduler.params.total_num_steps",
        weight_decay="optimizer.params.weight_decay", grad_clip="gradient_clipping",
        adam_beta2="optimizer.params.betas.1", adam_epsilon="optimizer.params.eps",
        bf16="bf16.enabled bfloat16.enabled", fp16="fp16.enabled", loss_scale="fp16.loss_scale",
        micro_batch_size="train_micro_batch_size_per_gpu", grad_accumulation="gradient_accumulation_steps",
        global_batch_size="train_batch_size",
        tensor_parallel="tensor_parallel.autotp_size", context_parallel="sequence_parallel_size",
        zero_stage="zero_optimization.stage", overlap_comm="zero_optimization.overlap_comm",
        offload_optimizer="zero_optimization.offload_optimizer.device zero_optimization.cpu_offload",
        offload_params="zero_optimization.offload_param.device zero_optimization.cpu_offload_params",
        log_steps="steps_per_print",
    ),
    also=" ".join((*(f"zero_optimization.{k}" for k in _ZERO.split()), *(f"fp16.{k}" for k in _FP16.split()), _OTHERS)),
    defaults={"grad_accumulation": 1},
    issue_form=IssueForm("DeepSpeed", "https://github.com/deepspeedai/DeepSpeed/issues", (
        ("Describe the bug", "error findings"), ("To Reproduce", "settings"), ("Expected behavior", ""),
        ("ds_report output", "versions"), ("System info", "hardware variables"), ("Launcher context", "command"),
        ("Docker context", ""), ("Additional context", "tried"),
    ), "ds_report"),
)  # fmt: skip

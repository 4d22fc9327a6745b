"""DeepSpeed: its own JSON, also beside another trainer's file."""

from ...framework import Framework, IssueForm, Keys

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
        zero_stage="zero_optimization.stage",
        offload_optimizer="zero_optimization.offload_optimizer.device zero_optimization.cpu_offload",
        offload_params="zero_optimization.offload_param.device zero_optimization.cpu_offload_params",
        log_steps="steps_per_print",
    ),
    defaults={"grad_accumulation": 1},
    issue_form=IssueForm("DeepSpeed", "https://github.com/deepspeedai/DeepSpeed/issues", (
        ("Describe the bug", "error findings"), ("To Reproduce", "settings"), ("Expected behavior", ""),
        ("ds_report output", "versions"), ("System info", "hardware variables"), ("Launcher context", "command"),
        ("Docker context", ""), ("Additional context", "tried"),
    ), "ds_report"),
)  # fmt: skip

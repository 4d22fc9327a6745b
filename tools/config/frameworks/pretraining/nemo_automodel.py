"""NeMo AutoModel."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="nemo-automodel",
    file_keys=Keys(("step_scheduler.global_batch_size", "step_scheduler.local_batch_size")),
    keys=dict(
        model="model.pretrained_model_name_or_path", dataset="dataset.dataset_name dataset.path_or_dataset",
        optimizer="optimizer._target_",
        learning_rate="optimizer.lr", min_learning_rate="lr_scheduler.min_lr",
        lr_schedule="lr_scheduler.lr_decay_style", warmup_steps="lr_scheduler.lr_warmup_steps",
        max_steps="step_scheduler.max_steps", epochs="step_scheduler.num_epochs",
        weight_decay="optimizer.weight_decay", grad_clip="clip_grad_norm.max_norm max_grad_norm training.max_grad_norm",
        adam_beta2="optimizer.betas.1", adam_epsilon="optimizer.eps",
        model_dtype="model.torch_dtype",
        micro_batch_size="step_scheduler.local_batch_size", global_batch_size="step_scheduler.global_batch_size",
        tensor_parallel="distributed.tp_size", pipeline_parallel="distributed.pp_size",
        context_parallel="distributed.cp_size",
        seed="rng.seed", save_steps="step_scheduler.ckpt_every_steps", eval_steps="step_scheduler.val_every_steps",
        lora_rank="peft.dim", lora_alpha="peft.alpha",
    ),
)  # fmt: skip

"""OpenMMLab before MMEngine: MMDetection, MMSegmentation and MMPretrain on mmcv's runner."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="openmmlab", programmed=True, tolerant=True,
    file_keys=Keys((
        "optimizer.type lr.policy", "optimizer.type runner.type", "optimizer.grad_clip.max_norm lr.policy",
        "data.samples_per_gpu", "data.imgs_per_gpu",
    ), turn=6),
    keys=dict(
        optimizer="optimizer.type", learning_rate="optimizer.lr", weight_decay="optimizer.weight_decay",
        adam_beta2="optimizer.betas", adam_epsilon="optimizer.eps", grad_clip="optimizer.grad_clip.max_norm",
        grad_accumulation="optimizer.cumulative_iters optimizer.update_interval",
        lr_schedule="lr.policy", warmup_steps="lr.warmup_iters", min_learning_rate="lr.min_lr",
        epochs="runner.max_epochs total_epochs max_epochs", max_steps="runner.max_iters max_iters",
        micro_batch_size="data.samples_per_gpu data.imgs_per_gpu samples_per_gpu imgs_per_gpu img_per_gpu",
        num_workers="data.workers_per_gpu workers_per_gpu", loss_scale="fp16.loss_scale",
        log_steps="log.interval", dataset="data.train.data_root data_root", model="load_from", seed="seed",
    ),
)  # fmt: skip

"""Detectron2 and what is configured like it."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="detectron2", tolerant=True,
    file_keys=Keys(("solver.ims_per_batch", "solver.base_lr", "solver.max_iter"), turn=3),
    command_keys=Keys(("solver.ims_per_batch", "solver.base_lr"), turn=3),
    keys=dict(
        learning_rate="solver.base_lr", global_batch_size="solver.ims_per_batch", max_steps="solver.max_iter",
        weight_decay="solver.weight_decay", warmup_steps="solver.warmup_iters", save_steps="solver.checkpoint_period",
        lr_schedule="solver.lr_scheduler_name", optimizer="solver.optimizer", eval_steps="test.eval_period",
        num_workers="dataloader.num_workers", model="model.weights", dataset="datasets.train", seed="seed",
    ),
)  # fmt: skip

"""OLMo-core."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="olmo-core", programmed=True,
    file_keys=Keys(("train_module.optim.lr", "train_module.rank_microbatch_size")),
    keys=dict(
        learning_rate="train_module.optim.lr", warmup_steps="train_module.scheduler.warmup_steps",
        weight_decay="train_module.optim.weight_decay", grad_clip="train_module.max_grad_norm",
        adam_beta2="train_module.optim.betas.1 train_module.optim.betas",
        sequence_length="train_module.max_sequence_length",
        num_workers="data_loader.num_workers", seed="data_loader.seed",
    ),
)  # fmt: skip

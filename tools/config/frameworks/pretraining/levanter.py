"""Levanter."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="levanter",
    file_keys=Keys(("trainer.num_train_steps", "trainer.train_batch_size optimizer.learning_rate")),
    command_keys=Keys(("trainer.num_train_steps", "trainer.train_batch_size optimizer.learning_rate")),
    program=Program("levanter"),
    keys=dict(
        model="initialize_from_hf model.type", dataset="data.id", optimizer="optimizer.type",
        learning_rate="optimizer.learning_rate", min_lr_ratio="optimizer.min_lr_ratio",
        lr_schedule="optimizer.lr_schedule", warmup_steps="optimizer.warmup", warmup_ratio="optimizer.warmup_ratio",
        max_steps="trainer.num_train_steps",
        weight_decay="optimizer.weight_decay", grad_clip="optimizer.max_grad_norm", adam_beta2="optimizer.beta2",
        adam_epsilon="optimizer.epsilon",
        micro_batch_size="trainer.per_device_parallelism", global_batch_size="trainer.train_batch_size",
        sequence_length="train_seq_len model.seq_len model.max_seq_len",
        seed="trainer.seed", eval_steps="trainer.steps_per_eval",
    ),
)  # fmt: skip

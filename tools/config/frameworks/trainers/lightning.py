"""Lightning."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="lightning",
    file_keys=Keys((
        "trainer.accumulate_grad_batches", "trainer.max_epochs", "trainer.devices", "trainer.gradient_clip_val",
        "seed_everything", "trainer.precision", "accumulate_grad_batches", "gradient_clip_val",
    ), turn=2),
    command_keys=Keys(("trainer.devices", "trainer.max_steps", "trainer.max_epochs"), turn=1),
    keys=dict(
        model="model.class_path model.init_args.model_name", dataset="data.class_path",
        optimizer="optimizer.class_path model.optim.name",
        learning_rate="optimizer.init_args.lr model.init_args.lr model.init_args.learning_rate model.lr optimizer.lr "
            "lr learning_rate model.optim.lr model.optimizer.lr",
        warmup_steps="model.init_args.warmup_steps model.warmup_steps warmup_steps model.optim.sched.warmup_steps",
        max_steps="trainer.max_steps max_steps", epochs="trainer.max_epochs max_epochs",
        weight_decay="optimizer.init_args.weight_decay model.init_args.weight_decay model.optim.weight_decay "
            "optimizer.weight_decay weight_decay",
        grad_clip="trainer.gradient_clip_val gradient_clip_val",
        precision="trainer.precision precision",
        micro_batch_size="data.init_args.batch_size data.batch_size data.init_args.train_batch_size batch_size "
            "model.micro_batch_size model.data.train_ds.micro_batch_size",
        grad_accumulation="trainer.accumulate_grad_batches accumulate_grad_batches",
        global_batch_size="model.global_batch_size model.data.train_ds.global_batch_size",
        sequence_length="data.init_args.max_seq_length data.max_length model.encoder_seq_length",
        nodes="trainer.num_nodes", gpus_per_node="trainer.devices trainer.gpus",
        tensor_parallel="model.tensor_model_parallel_size", pipeline_parallel="model.pipeline_model_parallel_size",
        num_workers="data.init_args.num_workers data.num_workers num_workers",
        pin_memory="data.init_args.pin_memory data.pin_memory", seed="seed_everything seed",
        log_steps="trainer.log_every_n_steps", eval_steps="trainer.val_check_interval",
    ),
)  # fmt: skip

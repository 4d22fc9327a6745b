"""PaddleNLP, now PaddleFormers."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="paddlenlp", parents=("hf",),
    file_keys=Keys((
        "tensor_parallel_degree per_device_train_batch_size", "sharding per_device_train_batch_size",
        "unified_checkpoint", "recompute fp16_opt_level", "zero_padding per_device_train_batch_size",
    )),
    program=Program(r"paddle\.distributed|paddlenlp|paddleformers"),
    keys=dict(
        dataset="input_dir dataset_name_or_path train_dataset_path",
        sequence_length="max_seq_length max_seq_len max_length", packing="zero_padding",
        tensor_parallel="tensor_parallel_degree", pipeline_parallel="pipeline_parallel_degree",
        context_parallel="sep_parallel_degree context_parallel_degree", expert_parallel="expert_parallel_degree",
        zero_stage="sharding", activation_checkpointing="recompute", flash_attention="use_flash_attention",
        num_workers="dataloader_num_workers",
        adapter="lora",
    ),
)  # fmt: skip

"""LMDeploy."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="lmdeploy", role="engine",
    program=Program(r"\blmdeploy\b", turn=-1),
    keys=dict(
        precision="dtype",
        chat_template="chat_template",
        rope_scaling_factor="rope_scaling_factor",
        max_model_len="session_len", max_num_seqs="max_batch_size", engine_tensor_parallel="tp",
        engine_data_parallel="dp",
    ),
)  # fmt: skip

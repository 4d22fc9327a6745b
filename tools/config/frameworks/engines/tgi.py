"""Text Generation Inference."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="tgi", role="engine",
    program=Program("text-generation-(launcher|inference)", turn=-1),
    keys=dict(
        model="model_id",
        model_dtype="dtype",
        rope_scaling_type="rope_scaling", rope_scaling_factor="rope_factor",
        max_model_len="max_total_tokens", max_prompt_length="max_input_tokens max_input_length",
        gpu_memory_utilization="cuda_memory_fraction", max_num_seqs="max_batch_size",
        engine_tensor_parallel="num_shard",
    ),
)  # fmt: skip

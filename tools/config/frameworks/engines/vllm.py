"""vLLM."""

from ...framework import Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="vllm", role="engine",
    file_keys=Keys((
        "gpu_memory_utilization", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "kv_cache_dtype",
        "tensor_parallel_size model",
    ), turn=8),
    program=Program(r"vllm\s+(serve|bench|complete|chat)\b|vllm\.entrypoints|vllm/vllm-openai", turn=-1),
    keys=dict(
        model="model model_tag",
        model_dtype="dtype",
        seed="seed",
        chat_template="chat_template",
        rope_scaling_type="rope_scaling.rope_type rope_scaling.type hf_overrides.rope_scaling.rope_type "
            "hf_overrides.rope_parameters.rope_type",
        rope_scaling_factor="rope_scaling.factor hf_overrides.rope_scaling.factor hf_overrides.rope_parameters.factor",
        rope_original_positions="rope_scaling.original_max_position_embeddings "
            "hf_overrides.rope_scaling.original_max_position_embeddings "
            "hf_overrides.rope_parameters.original_max_position_embeddings",
        rope_theta="rope_theta hf_overrides.rope_theta",
        max_model_len="max_model_len max_seq_len_to_capture_override", gpu_memory_utilization="gpu_memory_utilization",
        max_num_seqs="max_num_seqs", engine_tensor_parallel="tensor_parallel_size tp",
        engine_pipeline_parallel="pipeline_parallel_size pp", engine_data_parallel="data_parallel_size dp",
        repetition_penalty="override_generation_config.repetition_penalty",
        sampling_temperature="override_generation_config.temperature",
    ),
    issue_form=IssueForm("vLLM", "https://github.com/vllm-project/vllm/issues", (
        ("Your current environment", "versions hardware variables"),
        ("🐛 Describe the bug", "error findings command settings tried"),
    ), "python collect_env.py (vllm/collect_env.py of the repository)"),
)  # fmt: skip

"""LightRFT."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="lightrft", parents=("openrlhf",), train_batch="samples",
    command_keys=Keys(("engine_mem_util", "engine_tp_size", "enable_engine_sleep")),
    program=Program(r"lightrft|train_colocate\.py"),
    keys=dict(
        sequence_length="max_len max_length",
        reward_clip="reward_clip_range",
        freeze="freeze_prefix",
        engine_kind="engine_type", engine_sleep="enable_engine_sleep", gpu_memory_utilization="engine_mem_util",
        engine_tensor_parallel="engine_tp_size",
    ),
)  # fmt: skip

"""An error that names a failure, and the frame of its traceback as a second witness: which frames, and which not."""

# One record or line of a file per line, however long.
# ruff: noqa: E501

import pytest

from triage.tools.logs.signatures.causes import Timeline, judge
from triage.tools.logs.signatures.match import Matcher
from triage.tools.reading import Chunk


def found(*frames: str, error: str):
    """The codes of a traceback through `file function` pairs that ends in the error."""
    body = "".join(f'  File "/x/{f}", line 7, in {name}\n    call(x)\n' for f, name in map(str.split, frames))
    text = f"Traceback (most recent call last):\n{body}{error}\n"
    matcher = Matcher(len(text))
    matcher.look(Chunk(text.encode(), 1))
    return {f.code for f in judge({"a.log": matcher.hits()}, {"a.log": Timeline()})}


BATCH = "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * 4"
VALUES = "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:"
BLOCKS = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"
STATE = "RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:"
FULL = "OSError: [Errno 28] No space left on device: 'out/checkpoint-500/optimizer.pt'"
DRIVER = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
TWICE = [
    ("exception-in-deepspeed-config", ("deepspeed/runtime/config.py _batch_assertion",), BATCH),
    ("exception-in-deepspeed-config", ("transformers/integrations/deepspeed.py trainer_config_finalize",), VALUES),
    ("exception-in-cache-sizing", ("vllm/worker/worker.py determine_num_available_blocks",), BLOCKS),
    ("exception-in-cache-sizing", ("vllm/v1/engine/core.py _initialize_kv_caches",
                                   "vllm/v1/core/kv_cache_utils.py check_enough_kv_cache_memory"), BLOCKS),
    ("exception-in-cache-sizing", ("sglang/srt/model_executor/model_runner.py init_memory_pool",),
     "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
    ("exception-in-checkpoint-load", ("torch/nn/modules/module.py load_state_dict",), STATE),
    ("exception-in-checkpoint-load", ("transformers/modeling_utils.py from_pretrained",), STATE),
    ("exception-in-checkpoint-load", ("deepspeed/runtime/engine.py load_checkpoint",),
     "ValueError: Can't find a valid checkpoint at out/global_step500"),
    ("exception-in-checkpoint-save", ("torch/serialization.py _save",), FULL),
    ("exception-in-checkpoint-save", ("transformers/trainer.py _save_checkpoint", "safetensors/torch.py save_file"), FULL),
    ("exception-in-checkpoint-save", ("megatron/training/checkpointing.py save_checkpoint",), FULL),
    ("exception-in-data", ("app/loader.py to_chat",), "KeyError: 'instruction'"),
    ("exception-in-data", ("datasets/packaged_modules/json/json.py _generate_tables",),
     "pyarrow.lib.ArrowInvalid: JSON parse error: Column() changed from object to array in row 0"),
    ("exception-in-data", ("verl/utils/dataset/rl_dataset.py __getitem__",), "KeyError: 'prompt'"),
    ("exception-in-engine-sleep", ("vllm/v1/worker/gpu_worker.py sleep",), "AssertionError: Sleep mode is not enabled in the model config"),
    ("exception-in-engine-sleep", ("sglang/srt/managers/scheduler.py release_memory_occupation",), "RuntimeError: Engine is already sleeping"),
    ("exception-in-rendezvous", ("torch/distributed/rendezvous.py _create_c10d_store",),
     "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."),
    ("exception-in-rendezvous", ("megatron/training/initialize.py _initialize_distributed",),
     "RuntimeError: The server socket has failed to listen on any local network address. errno: 98 - Address already in use"),
    ("exception-in-cuda-start", ("torch/cuda/__init__.py _lazy_init",), DRIVER),
]  # fmt: skip


@pytest.mark.parametrize(("code", "frames", "error"), TWICE)
def test_the_frame_agrees_with_the_error(code, frames, error):
    assert code in found("train.py main", *frames, error=error)


@pytest.mark.parametrize(
    ("code", "frames", "error"),
    [
        ("exception-in-deepspeed-config", ("train.py main",), BATCH),
        ("exception-in-cache-sizing", ("vllm/worker/model_runner.py execute_model",), BLOCKS),
        ("exception-in-checkpoint-load", ("train.py build",), STATE),
        ("exception-in-checkpoint-save", ("datasets/arrow_writer.py write_table",), FULL),
        ("exception-in-data", ("datasets/arrow_writer.py write_table",), FULL),
        ("exception-in-data", ("app/metrics.py report",), "KeyError: 'text'"),
        ("exception-in-engine-sleep", ("time.py sleep",), "RuntimeError: x"),
        ("exception-in-rendezvous", ("uvicorn/server.py startup",),
         "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use"),
        ("exception-in-cuda-start", ("app/kernel.py forward",), DRIVER),
    ],
)  # fmt: skip
def test_another_frame_says_nothing(code, frames, error):
    assert code not in found("train.py main", *frames, error=error)


@pytest.mark.parametrize(
    ("code", "frames", "error"),
    [
        ("exception-in-data", ("torch/nn/modules/container.py __getitem__",), "IndexError: index 24 is out of range"),
        ("exception-in-data", ("lib/python3.11/os.py __getitem__",), "KeyError: 'LOCAL_WORLD_SIZE'"),
        ("exception-in-scheduler", ("sglang/srt/managers/scheduler.py event_loop",), "AssertionError"),
        ("exception-in-scheduler", ("vllm/v1/core/sched/scheduler.py schedule",), "KeyError: 'req-3'"),
        (
            "exception-in-checkpoint-load",
            ("transformers/modeling_utils.py from_pretrained", "torch/cuda/memory.py memory_stats"),
            "RuntimeError: Invalid device argument",
        ),
        (
            "exception-in-checkpoint-load",
            ("app/serve.py load_weights", "torch/cuda/__init__.py set_device"),
            "AcceleratorError: invalid device ordinal",
        ),
    ],
)
def test_a_frame_that_only_looks_like_the_part_says_nothing(code, frames, error):
    assert code not in found("train.py main", *frames, error=error)


@pytest.mark.parametrize(
    "where", ["megatron/core/optimizer_param_scheduler.py __init__", "x/warm.py get_cosine_schedule_with_warmup"]
)
def test_a_schedule_that_refuses_its_values_is_told_by_its_frame(where):
    assert "exception-in-scheduler" in found("train.py main", where, error="AssertionError")

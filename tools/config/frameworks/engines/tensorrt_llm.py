"""TensorRT-LLM: `trtllm-serve`, `trtllm-bench`, `trtllm-build`."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="tensorrt-llm", role="engine",
    program=Program("trtllm-|tensorrt_llm", turn=-1),
    keys=dict(
        max_model_len="max_seq_len", max_num_seqs="max_batch_size",
        engine_tensor_parallel="tp_size tensor_parallel_size",
        engine_pipeline_parallel="pp_size pipeline_parallel_size",
    ),
)  # fmt: skip

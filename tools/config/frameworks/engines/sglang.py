"""SGLang."""

from ...framework import Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="sglang", role="engine",
    file_keys=Keys(("mem_fraction_static", "context_length model_path"), turn=9),
    program=Program(r"sglang\.launch_server|sglang_router|sglang\s+serve", turn=-1),
    keys=dict(
        model="model_path model",
        model_dtype="dtype",
        nodes="nnodes", master_address="dist_init_addr nccl_init_addr",
        seed="random_seed",
        chat_template="chat_template",
        max_model_len="context_length", gpu_memory_utilization="mem_fraction_static",
        max_num_seqs="max_running_requests", engine_tensor_parallel="tp tp_size tensor_parallel_size",
        engine_pipeline_parallel="pp pp_size", engine_data_parallel="dp dp_size data_parallel_size",
    ),
    issue_form=IssueForm("SGLang", "https://github.com/sgl-project/sglang/issues", (
        ("Describe the bug", "error findings tried"), ("Reproduction", "command settings"),
        ("Environment", "versions hardware variables"),
    ), "python3 -m sglang.check_env"),
)  # fmt: skip

"""Axolotl."""

from ...framework import Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="axolotl", parents=("hf",),
    file_keys=Keys(("base_model",), turn=3),
    program=Program(r"\baxolotl\b"),
    keys=dict(
        stage="rl", model="base_model", dataset="datasets.0.path pretraining_dataset.0.path",
        lr_schedule="lr_scheduler",
        grad_clip="max_grad_norm",
        micro_batch_size="micro_batch_size", grad_accumulation="gradient_accumulation_steps",
        sequence_length="sequence_len", packing="sample_packing",
        tensor_parallel="tensor_parallel_size", context_parallel="context_parallel_size sequence_parallel_degree",
        offload_params="fsdp_config.fsdp_offload_params fsdp_config.offload_params",
        flash_attention="attn_implementation flash_attention",
        num_workers="dataloader_num_workers",
        pad_token_id="special_tokens.pad_token", eos_token_id="special_tokens.eos_token",
        beta="trl.beta", dpo_beta="rl_beta dpo_beta",
        num_generations="trl.num_generations", rollout_temperature="trl.temperature",
        max_response_length="trl.max_completion_length",
        adapter="adapter", freeze="unfrozen_parameters.0",
        rope_scaling_type="overrides_of_model_config.rope_scaling.type rope_scaling.type",
        rope_scaling_factor="overrides_of_model_config.rope_scaling.factor rope_scaling.factor",
        max_model_len="vllm.max_model_len",
        gpu_memory_utilization="vllm.gpu_memory_utilization trl.vllm_gpu_memory_utilization",
        engine_tensor_parallel="vllm.tensor_parallel_size",
        nccl_timeout="ddp_timeout",
    ),
    defaults={"grad_clip": 1.0},
    issue_form=IssueForm("Axolotl", "https://github.com/axolotl-ai-cloud/axolotl/issues", (
        ("Expected Behavior", ""), ("Current behaviour", "error findings"), ("Steps to reproduce", "command settings"),
        ("Possible solution", "tried"), ("Which Operating Systems are you using?", "hardware variables"),
        ("Python Version", "versions"), ("axolotl branch-commit", ""),
    )),
)  # fmt: skip

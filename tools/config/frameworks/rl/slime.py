"""slime: Megatron trains, SGLang samples."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="slime", parents=("megatron",), own_devices=True,
    command_keys=Keys(("rollout_max_response_len", "sglang_mem_fraction_static", "num_rollout n_samples_per_prompt")),
    keys=dict(
        stage="advantage_estimator", model="hf_checkpoint", dataset="prompt_data",
        nodes="actor_num_nodes", gpus_per_node="actor_num_gpus_per_node",
        kl_loss_coef="kl_loss_coef", kl_reward_coef="kl_coef", use_kl_loss="use_kl_loss",
        num_generations="n_samples_per_prompt", rollout_batch_size="rollout_batch_size",
        rollout_temperature="rollout_temperature", max_prompt_length="rollout_max_prompt_len",
        max_response_length="rollout_max_response_len",
        colocate="colocate", max_model_len="rollout_max_context_len sglang_context_length",
        gpu_memory_utilization="sglang_mem_fraction_static", max_num_seqs="sglang_max_running_requests",
        engine_tensor_parallel="rollout_num_gpus_per_engine",
    ),
)  # fmt: skip

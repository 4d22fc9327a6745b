"""LLaMA-Factory."""

from ...framework import Framework, IssueForm, Keys, Program

FRAMEWORK = Framework(
    name="llama-factory", parents=("hf",), checks_deepspeed=True,
    file_keys=Keys(("finetuning_type", "stage template", "cutoff_len", "pref_beta", "pref_loss"), turn=1),
    command_keys=Keys(("finetuning_type", "cutoff_len", "pref_beta", "pref_loss"), turn=1),
    program=Program(r"llamafactory|llmtuner|train_bash\.py"),
    keys=dict(
        stage="stage", loss_type="pref_loss dpo_loss",
        sequence_length="cutoff_len",
        tensor_parallel="tensor_model_parallel_size", pipeline_parallel="pipeline_model_parallel_size",
        context_parallel="context_parallel_size", expert_parallel="expert_model_parallel_size",
        activation_checkpointing="gradient_checkpointing recompute_granularity", flash_attention="flash_attn",
        chat_template="template",
        dpo_beta="pref_beta kto_beta dpo_beta", kl_target="ppo_target",
        adapter="finetuning_type", freeze="freeze_trainable_layers",
        rope_scaling_type="rope_scaling",
        max_model_len="vllm_maxlen", gpu_memory_utilization="vllm_gpu_util",
    ),
    defaults={"grad_clip": 1.0, "learning_rate": 5e-5, "weight_decay": 0.0, "grad_accumulation": 1},
    issue_form=IssueForm("LLaMA-Factory", "https://github.com/hiyouga/LLaMA-Factory/issues", (
        ("System Info", "versions hardware variables"), ("Reproduction", "command settings error"),
        ("Others", "findings tried"),
    ), "llamafactory-cli env"),
)  # fmt: skip

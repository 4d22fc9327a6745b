"""Which framework a file or command belongs to, told by its keys, its program and its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

FILE_NAMES = (
    (r"(^|/)adapter_config\.json$", "adapter"),
    (r"(^|/)(tokenizer_config|special_tokens_map)\.json$", "tokenizer"),
    (r"(^|/)generation_config\.json$", "generation"),
)
FILE_KEYS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("adapter", (("peft_type", "r"), ("peft_type", "lora_alpha"))),
    ("nemo-rl", (("policy.train_global_batch_size",), ("policy.max_total_sequence_length",))),
    ("areal", (("actor.optimizer.lr",), ("gconfig.", "actor."), ("total_train_epochs", "actor."))),
    ("roll", (("actor_train.", "actor_infer."), ("actor_train.training_args.learning_rate",))),
    ("skyrl", (("trainer.policy.optimizer_config.lr",), ("trainer.policy_mini_batch_size",))),
    (
        "prime-rl",
        (
            ("trainer.optim.lr",),
            ("orchestrator.batch_size",),
            ("orchestrator.sampling.",),
            ("data.seq_len", "optim.lr"),
            ("rollouts_per_example", "batch_size"),
        ),
    ),
    (
        "torchtitan",
        (
            ("training.local_batch_size",),
            ("training.seq_len", "optimizer.lr"),
            ("training.seq_len", "training.steps"),
            ("training.steps", "optimizer.lr"),
            ("training.seq_len", "parallelism."),
            ("parallelism.data_parallel_shard_degree",),
        ),
    ),
    (
        "nemo",
        (
            ("model.optim.lr",),
            ("exp_manager.", "trainer."),
            ("model.global_batch_size", "trainer."),
            ("optim.config.lr",),
            ("trainer.strategy.tensor_model_parallel_size",),
        ),
    ),
    ("megatron-bridge", (("train.train_iters",), ("train.global_batch_size", "optimizer.lr"))),
    ("nemo-automodel", (("step_scheduler.global_batch_size",), ("step_scheduler.local_batch_size",))),
    ("olmo-core", (("train_module.optim.lr",), ("train_module.rank_microbatch_size",))),
    (
        "olmo",
        (("device_train_microbatch_size", "optimizer.learning_rate"), ("max_duration", "optimizer.learning_rate")),
    ),
    (
        "llm-foundry",
        (
            ("device_train_microbatch_size",),
            ("global_train_batch_size",),
            ("train_loader.", "max_duration"),
            ("scheduler.t_warmup",),
        ),
    ),
    (
        "fairseq",
        (
            ("optimization.max_update",),
            ("optimization.update_freq.0",),
            ("lr_scheduler.warmup_updates",),
            ("warmup_updates",),
            ("update_freq", "max_tokens"),
            ("max_update", "lr"),
        ),
    ),
    (
        "maxtext",
        (
            ("per_device_batch_size", "max_target_length"),
            ("base_emb_dim",),
            ("ici_fsdp_parallelism",),
            ("warmup_steps_fraction",),
        ),
    ),
    ("levanter", (("trainer.num_train_steps",), ("trainer.train_batch_size", "optimizer.learning_rate"))),
    ("mindformers", (("runner_config.",), ("runner_wrapper.",), ("parallel_config.model_parallel",))),
    (
        "xtuner",
        (
            ("accumulative_counts",),
            ("optim_wrapper.optimizer.lr",),
            ("optim_cfg.lr",),
            ("fsdp_cfg.tp_size",),
            ("pack_to_max_length",),
        ),
    ),
    (
        "ms-swift",
        (("rlhf_type",), ("tuner_type",), ("sft_type",), ("train_type", "per_device_train_batch_size")),
    ),
    (
        "paddlenlp",
        (
            ("tensor_parallel_degree", "per_device_train_batch_size"),
            ("sharding", "per_device_train_batch_size"),
            ("unified_checkpoint",),
            ("recompute", "fp16_opt_level"),
            ("zero_padding", "per_device_train_batch_size"),
        ),
    ),
    ("verl", (("actor_rollout_ref.",), ("data.micro_batch_size_per_gpu",), ("model.partial_pretrain",))),
    ("torchtune", (("optimizer._component_",), ("model._component_",), ("tokenizer._component_",))),
    ("nanotron", (("tokens.", "parallelism."),)),
    (
        "litgpt",
        (
            ("train.lr_warmup_steps",),
            ("train.micro_batch_size", "eval."),
            ("train.max_norm",),
            ("train.micro_batch_size", "checkpoint_dir"),
        ),
    ),
    (
        "lightning",
        (
            ("trainer.accumulate_grad_batches",),
            ("trainer.max_epochs",),
            ("trainer.devices",),
            ("trainer.gradient_clip_val",),
            ("seed_everything",),
            ("trainer.precision",),
            ("accumulate_grad_batches",),
            ("gradient_clip_val",),
        ),
    ),
    ("axolotl", (("base_model",),)),
    ("llama-factory", (("finetuning_type",), ("stage", "template"), ("cutoff_len",), ("pref_beta",), ("pref_loss",))),
    ("megatron", (("train_iters", "lr"), ("tensor_model_parallel_size", "global_batch_size"), ("train_samples", "lr"))),
    (
        "gpt-neox",
        (
            ("pipe_parallel_size",),
            ("train_iters", "optimizer.params.lr"),
            ("lr_decay_iters",),
            ("model_parallel_size", "num_layers"),
        ),
    ),
    (
        "accelerate",
        (("compute_environment",), ("distributed_type", "mixed_precision"), ("num_processes", "mixed_precision")),
    ),
    (
        "deepspeed",
        (
            ("zero_optimization.",),
            ("train_micro_batch_size_per_gpu",),
            ("fp16.enabled",),
            ("bf16.enabled",),
            ("train_batch_size", "optimizer.params."),
        ),
    ),
    (
        "open-instruct",
        (
            ("dataset_mixer_list",),
            ("preprocessing_num_workers", "model_name_or_path"),
            ("with_tracking", "model_name_or_path"),
        ),
    ),
    (
        "trl",
        (
            ("dataset_mixer.",),
            ("model_name_or_path", "dataset_name"),
            ("model_name_or_path", "dataset_mixture."),
            ("num_generations",),
            ("max_completion_length",),
            ("beta", "loss_type"),
            ("beta", "max_prompt_length"),
        ),
    ),
    (
        "hf",
        (
            ("per_device_train_batch_size",),
            ("num_train_epochs",),
            ("lr_scheduler_type",),
            ("model_name_or_path", "learning_rate"),
        ),
    ),
    ("model", (("architectures.0",), ("model_type", "hidden_size"), ("model_type", "vocab_size"))),
    ("generation", (("transformers_version", "eos_token_id"), ("do_sample", "transformers_version"))),
    (
        "request",
        tuple(
            (text, parameter)
            for text in ("messages.", "prompt")
            for parameter in ("temperature", "repetition_penalty", "max_tokens", "stream", "top_p", "top_k")
        ),
    ),
    (
        "vllm",
        (
            ("gpu_memory_utilization",),
            ("max_model_len",),
            ("max_num_batched_tokens",),
            ("max_num_seqs",),
            ("kv_cache_dtype",),
            ("tensor_parallel_size", "model"),
        ),
    ),
    ("sglang", (("mem_fraction_static",), ("context_length", "model_path"))),
    ("openrlhf", (("rollout.batch_size",), ("rollout_batch_size", "init_kl_coef"))),
)
"""Framework -> sets of normalised keys of which one must be present in full; a key ending in `.` is a prefix."""
PROGRAMS = (
    ("torchtitan", r"torchtitan"),
    ("nemo", r"megatron_gpt_\w+\.py|\bNeMo/|\bnemo/"),
    ("nemo-rl", r"examples/run_(grpo|dpo|sft|rm)\w*\.py|nemo_rl"),
    ("skyrl", r"\bskyrl"),
    ("areal", r"\bareal\b"),
    ("llm-foundry", r"(^|\s)composer(\s|$)|llm-?foundry"),
    ("fairseq", r"fairseq|metaseq|opt-baselines"),
    ("maxtext", r"[Mm]ax[Tt]ext"),
    ("easylm", r"EasyLM"),
    ("levanter", r"levanter"),
    ("mindformers", r"run_mindformer|mindformers"),
    ("xtuner", r"\bxtuner\b"),
    ("ms-swift", r"\bswift\s+(sft|pt|rlhf)\b|swift[./]cli|\bswift\.llm|llm_sft\.py"),
    ("paddlenlp", r"paddle\.distributed|paddlenlp|paddleformers"),
    ("tgi", r"text-generation-(launcher|inference)"),
    ("lmdeploy", r"\blmdeploy\b"),
    ("tensorrt-llm", r"trtllm-|tensorrt_llm"),
    ("llama-cpp", r"\bllama-(server|cli)\b|llama\.cpp|llama_cpp"),
    ("trl", r"\btrl\s+(sft|dpo|grpo|kto|reward|rloo)\b"),
    ("vllm", r"vllm\s+(serve|bench|complete|chat)\b|vllm\.entrypoints|vllm/vllm-openai"),
    ("sglang", r"sglang\.launch_server|sglang_router|sglang\s+serve"),
    ("verl", r"\bverl\.|main_ppo|dapo\.main_dapo|fsdp_sft_trainer"),
    ("openrlhf", r"openrlhf"),
    ("lightrft", r"lightrft|train_colocate\.py"),
    ("llama-factory", r"llamafactory|llmtuner|train_bash\.py"),
    ("axolotl", r"\baxolotl\b"),
    ("torchtune", r"\btune\s+run\b|torchtune"),
    ("litgpt", r"\blitgpt\b"),
    ("gpt-neox", r"deepy\.py"),
    ("open-instruct", r"open_instruct"),
    ("megatron", r"pretrain_\w+\.py|finetune_gpt\.py|megatron"),
)
"""Framework -> what its commands are called."""
COMMAND_KEYS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("verl", (("actor_rollout_ref.",),)),
    (
        "slime",
        (("rollout_max_response_len",), ("sglang_mem_fraction_static",), ("num_rollout", "n_samples_per_prompt")),
    ),
    ("torchtitan", (("training.local_batch_size",), ("training.seq_len",), ("job.config_file",))),
    ("nemo", (("model.optim.lr",), ("exp_manager.",), ("model.global_batch_size",))),
    ("megatron-bridge", (("train.train_iters",), ("train.global_batch_size", "optimizer.lr"))),
    ("nemo-rl", (("policy.train_global_batch_size",), ("grpo.num_prompts_per_step",), ("policy.model_name",))),
    ("areal", (("actor.optimizer.lr",), ("gconfig.n_samples",))),
    ("skyrl", (("trainer.policy.optimizer_config.lr",),)),
    ("prime-rl", (("trainer.optim.lr",), ("orchestrator.batch_size",))),
    ("fairseq", (("warmup_updates",), ("update_freq", "max_tokens"), ("max_update",))),
    ("maxtext", (("per_device_batch_size", "max_target_length"),)),
    ("levanter", (("trainer.num_train_steps",), ("trainer.train_batch_size", "optimizer.learning_rate"))),
    ("ms-swift", (("rlhf_type",), ("tuner_type",), ("sft_type",))),
    ("lightrft", (("engine_mem_util",), ("engine_tp_size",), ("enable_engine_sleep",))),
    ("openrlhf", (("micro_rollout_batch_size",), ("rollout.batch_size",), ("micro_train_batch_size",))),
    ("llama-factory", (("finetuning_type",), ("cutoff_len",), ("pref_beta",), ("pref_loss",))),
    (
        "megatron",
        (
            ("tensor_model_parallel_size",),
            ("micro_batch_size", "global_batch_size"),
            ("train_iters", "lr"),
            ("lr_decay_style",),
            ("train_samples", "lr"),
        ),
    ),
    ("torchtune", (("optimizer.lr", "batch_size"),)),
    ("litgpt", (("train.micro_batch_size",), ("train.global_batch_size",))),
    ("lightning", (("trainer.devices",), ("trainer.max_steps",), ("trainer.max_epochs",))),
    (
        "hf",
        (
            ("per_device_train_batch_size",),
            ("per_device_training_batch_size",),
            ("gradient_accumulation_steps",),
            ("model_name_or_path",),
            ("num_train_epochs",),
            ("lr_scheduler_type",),
        ),
    ),
)
LAUNCHER = re.compile(r"torchrun|torch\.distributed|accelerate|(^|\s)deepspeed(\s|$)|\bmpirun\b")
STAGE_WORDS = re.compile(
    r"(?:^|[^a-z])(online_?dpo|dpo|kto|orpo|simpo|grpo|gspo|dapo|ppo|rloo|sft|pretrain|reward|rm"
    r"|kd|distill)(?=[^a-z]|$)"
)


def of_file(name: str, keys: Collection[str]) -> str:
    """Framework of a config file; `generic` if none is recognised.

    Args:
        name: file name, only its well-known forms count.
        keys: normalised dotted keys.
    """
    for pattern, framework in FILE_NAMES:
        if re.search(pattern, name):
            return framework
    return _by_keys(FILE_KEYS, keys) or "generic"


def of_command(program: str, keys: Collection[str]) -> str:
    """Framework of a command line; `generic` if none is recognised."""
    for framework, pattern in PROGRAMS:
        if re.search(pattern, program):
            return framework
    return _by_keys(COMMAND_KEYS, keys) or "generic"


def _by_keys(rows: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...], keys: Collection[str]) -> str:
    prefixes = {key[: i + 1] for key in keys for i, c in enumerate(key) if c == "."}
    present = prefixes.union(keys)
    for framework, alternatives in rows:
        if any(all(mark in present for mark in marks) for marks in alternatives):
            return framework
    return ""


def stage_in(texts: Iterable[str]) -> str:
    """The kind of training that a program, loss or file name speaks of, or an empty string."""
    for text in texts:
        if match := STAGE_WORDS.search(text.lower().replace("-", "_").replace("/", " ")):
            return match[1]
    return ""

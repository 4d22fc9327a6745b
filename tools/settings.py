"""Canonical settings with provenance, whatever framework wrote them.

A `Setting` is one variable as one place in one file spells it. Values that follow from others (global batch,
total steps, warm-up steps from a ratio) are computed on demand and never stored. Reading the files is the
work of `config/`; what is only set inside a program is not visible here, which is different from "not set".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .findings import Evidence


class Variable(NamedTuple):
    """What a canonical variable means."""

    type: Literal["int", "float", "bool", "str"]
    unit: str
    meaning: str


VARIABLES: dict[str, Variable] = {
    # optimisation
    "learning_rate": Variable("float", "", "Peak learning rate of the policy or model being trained."),
    "min_learning_rate": Variable("float", "", "Floor of the learning-rate schedule."),
    "lr_schedule": Variable("str", "", "Name of the schedule, as the framework spells it."),
    "warmup_steps": Variable("int", "steps", "Optimizer steps of warm-up."),
    "warmup_ratio": Variable("float", "share of steps", "Warm-up as a share of all steps."),
    "max_steps": Variable("int", "steps", "Optimizer steps of the whole run."),
    "epochs": Variable("float", "epochs", "Passes over the training data."),
    "weight_decay": Variable("float", "", "Decoupled weight decay."),
    "grad_clip": Variable("float", "norm", "Largest global gradient norm; 0 or empty means no clipping."),
    "adam_beta2": Variable("float", "", "Decay of Adam's second moment."),
    "adam_epsilon": Variable("float", "", "Adam's epsilon."),
    "norm_epsilon": Variable("float", "", "Epsilon inside LayerNorm or RMSNorm."),
    "init_std": Variable("float", "", "Standard deviation of the weight initialisation."),
    "precision": Variable("str", "fp32|fp16|bf16|fp8", "Number format of the forward and backward pass."),
    "loss_scale": Variable("float", "", "Fixed fp16 loss scale; 0 means dynamic."),
    # batch and parallelism
    "micro_batch_size": Variable("int", "sequences per device", "Batch of one forward pass on one device."),
    "grad_accumulation": Variable("int", "micro-batches", "Micro-batches per optimizer step."),
    "global_batch_size": Variable("int", "sequences", "Sequences per optimizer step over all devices."),
    "world_size": Variable("int", "processes", "Training processes, one per device."),
    "tensor_parallel": Variable("int", "devices", "Tensor-parallel size of the trainer."),
    "pipeline_parallel": Variable("int", "devices", "Pipeline-parallel size of the trainer."),
    "context_parallel": Variable("int", "devices", "Devices that share one sequence."),
    "sequence_length": Variable("int", "tokens", "Longest training sequence."),
    "zero_stage": Variable("int", "", "ZeRO stage of DeepSpeed."),
    "offload_optimizer": Variable("bool", "", "Optimizer states live in host memory or on disk."),
    "offload_params": Variable("bool", "", "Parameters live in host memory or on disk."),
    "activation_checkpointing": Variable("bool", "", "Activations are recomputed in the backward pass."),
    "flash_attention": Variable("bool", "", "A fused attention kernel is requested."),
    # running
    "num_workers": Variable("int", "processes", "Data-loader workers per training process."),
    "pin_memory": Variable("bool", "", "The data loader pins host memory."),
    "seed": Variable("int", "", "Random seed of training."),
    "save_steps": Variable("float", "steps", "Steps between checkpoints (below 1: share of the run)."),
    "save_total_limit": Variable("int", "checkpoints", "Checkpoints kept on disk."),
    # text
    "pad_token_id": Variable("str", "", "Padding token, an id or the token itself."),
    "eos_token_id": Variable("str", "", "End-of-sequence token, an id or the token itself."),
    "chat_template": Variable("str", "", "Chat template, by name or as text."),
    "packing": Variable("bool", "", "Several records share one training sequence."),
    # alignment
    "dpo_beta": Variable("float", "", "Beta of a preference loss; its usual range depends on the loss."),
    "kl_coef": Variable("float", "", "Coefficient of the KL penalty against the reference policy."),
    "kl_target": Variable("float", "nats", "Target of an adaptive KL controller."),
    "num_generations": Variable("int", "responses", "Responses sampled per prompt."),
    "rollout_batch_size": Variable("int", "prompts", "Prompts per rollout."),
    "train_batch_size": Variable("int", "samples (verl: prompts)", "Samples per optimizer step in RL."),
    "rollout_temperature": Variable("float", "", "Sampling temperature of the rollouts."),
    "reward_clip": Variable("float", "", "Largest absolute reward."),
    "advantage_normalization": Variable("bool", "", "Advantages are whitened."),
    "lora_rank": Variable("int", "", "Rank of the adapter; 0 means no adapter."),
    "lora_alpha": Variable("float", "", "Scale of the adapter."),
    "freeze": Variable("str", "", "Parts of the model that are not trained."),
    # model
    "rope_scaling_type": Variable("str", "", "Kind of RoPE scaling (linear, dynamic, yarn, llama3)."),
    "rope_scaling_factor": Variable("float", "", "Factor of RoPE scaling."),
    "rope_theta": Variable("float", "", "Base of the rotary embedding."),
    # serving
    "max_model_len": Variable("int", "tokens", "Longest sequence of the inference engine."),
    "gpu_memory_utilization": Variable("float", "share", "Share of device memory the engine takes."),
    "max_num_seqs": Variable("int", "sequences", "Sequences the engine runs at once."),
    "engine_tensor_parallel": Variable("int", "devices", "Tensor-parallel size of the inference engine."),
    "stop_tokens": Variable("str", "", "Tokens or strings that end a generation."),
    "repetition_penalty": Variable("float", "", "Repetition penalty of sampling."),
    "sampling_temperature": Variable("float", "", "Sampling temperature of serving or evaluation."),
    # communication
    "nccl_timeout": Variable("float", "seconds", "Timeout of collectives."),
    "nccl_p2p_disable": Variable("bool", "", "Peer-to-peer transport is switched off."),
    "nccl_ib_disable": Variable("bool", "", "InfiniBand/RoCE transport is switched off."),
}
"""The public variables (contracts: "Canonical names")."""

CONTEXT: dict[str, Variable] = {
    "stage": Variable("str", "", "Kind of training: pretrain, sft, dpo, kto, orpo, rm, ppo, grpo, distill."),
    "loss_type": Variable("str", "", "Variant of the preference or policy loss."),
    "optimizer": Variable("str", "", "Optimizer, as the framework spells it."),
    "adapter": Variable("str", "", "lora, qlora, or another adapter."),
    "model": Variable("str", "", "Model name or path."),
    "dataset": Variable("str", "", "Training data, name or path."),
    "nodes": Variable("int", "machines", "Machines of the trainer."),
    "master_address": Variable("str", "", "Machine at which the processes of a launch meet, with or without a port."),
    "gpus_per_node": Variable("int", "devices", "Devices per machine."),
    "data_parallel": Variable("int", "replicas", "Data-parallel size where it is written down."),
    "expert_parallel": Variable("int", "devices", "Expert-parallel size of the trainer."),
    "train_samples": Variable("int", "sequences", "Length of the run in sequences."),
    "train_tokens": Variable("int", "tokens", "Length of the run in tokens."),
    "warmup_samples": Variable("int", "sequences", "Warm-up in sequences."),
    "decay_steps": Variable("int", "steps", "Step at which the schedule reaches its floor."),
    "decay_samples": Variable("int", "sequences", "Sequences after which the schedule reaches its floor."),
    "batch_rampup": Variable("str", "", "The global batch grows during training."),
    "mini_batch_size": Variable("int", "prompts", "Prompts per optimizer step in verl."),
    "max_prompt_length": Variable("int", "tokens", "Longest prompt."),
    "max_response_length": Variable("int", "tokens", "Longest response."),
    "max_position_embeddings": Variable("int", "tokens", "Longest sequence the model was built for."),
    "rope_original_positions": Variable("int", "tokens", "Positions before RoPE scaling."),
    "sampling": Variable("bool", "", "Tokens are drawn at random, not taken greedily."),
    "log_steps": Variable("float", "steps", "Steps between log lines."),
    "eval_steps": Variable("float", "steps", "Steps between evaluations."),
    "overlap_comm": Variable("bool", "", "Gradients are reduced while further ones are computed."),
    "engine_pipeline_parallel": Variable("int", "devices", "Pipeline-parallel size of the inference engine."),
    "engine_data_parallel": Variable("int", "replicas", "Data-parallel size of the inference engine."),
    "engine_sleep": Variable("bool", "", "The inference engine gives its memory back while training."),
    "engine_kind": Variable("str", "", "Inference engine of the rollouts: vllm, sglang, hf."),
    "colocate": Variable("bool", "", "Trainer and inference engine share devices."),
    "visible_devices": Variable("str", "", "CUDA_VISIBLE_DEVICES of the launch."),
    "deepspeed": Variable("str", "", "DeepSpeed is used; its configuration file where named."),
    "use_kl_loss": Variable("bool", "", "The KL penalty is part of the loss."),
    "use_kl_in_reward": Variable("bool", "", "The KL penalty is part of the reward."),
    "bf16": Variable("bool", "", "The bf16 switch."),
    "fp16": Variable("bool", "", "The fp16 switch."),
    "fp8": Variable("bool", "", "The fp8 switch."),
    "model_dtype": Variable("str", "", "Number format the weights are loaded in."),
    "beta": Variable("float", "", "`beta` of a trainer whose stage gives it its meaning."),
    "kl_loss_coef": Variable("float", "", "KL coefficient in the loss."),
    "kl_reward_coef": Variable("float", "", "KL coefficient in the reward."),
    "min_lr_ratio": Variable("float", "share", "Floor of the schedule as a share of the peak."),
    "steps_per_epoch": Variable("int", "steps", "Cap on the steps of one epoch."),
    "hidden_size": Variable("int", "", "Width of the model."),
    "num_layers": Variable("int", "", "Layers of the model."),
    "vocab_size": Variable("int", "tokens", "Rows of the embedding."),
    "intermediate_size": Variable("int", "", "Width of the feed-forward layer."),
    "num_heads": Variable("int", "", "Attention heads."),
    "num_kv_heads": Variable("int", "", "Key/value heads."),
    "head_dim": Variable("int", "", "Width of one head, where it is not the model's width over the heads."),
    "tie_embeddings": Variable("bool", "", "Input and output embeddings are shared."),
    "num_experts": Variable("int", "", "Experts of a mixture-of-experts model."),
}
"""What rules need to judge the public variables; not promised to outsiders."""


@dataclass(frozen=True)
class Setting:
    """One canonical variable as one file of the run sets it."""

    variable: str
    """Canonical name, see `VARIABLES` (contracts: `learning_rate`, `grad_clip`, ...)."""
    value: Any
    """Typed value in the canonical unit (float, int, bool or str)."""
    raw: str
    """The value exactly as the file spells it."""
    key: str
    """The framework's own (dotted) key or flag."""
    file: str
    line: int
    """Line on which the value is spelled: for a flag whose value is a shell variable, the assignment."""
    column: int = -1
    """Zero-based character of `raw` in the line; -1 where the value is put together from several pieces."""
    style: str = ""
    """How it is written: yaml, json, toml, flag, switch (a flag without a value), override, env."""
    framework: str = ""
    """Framework whose table named the variable."""

    def evidence(self) -> Evidence:
        text = f"{self.key}: {self.raw}"
        return Evidence(self.file, self.line, metric=self.variable, value=self.value, text=text[:400])


@dataclass(frozen=True)
class Settings:
    """The settings in force: where several files set one variable, the last in precedence wins."""

    values: Mapping[str, Setting] = field(default_factory=dict)
    shadowed: tuple[Setting, ...] = ()
    """Settings of the same variable that another place overrides."""
    others: Mapping[str, Setting] = field(default_factory=dict)
    """Keys without a canonical name, by their own key."""
    conflicts: tuple[tuple[Setting, Setting], ...] = ()
    """(in force, disagreeing) pairs where nothing tells which of two files the run used."""
    broken: tuple[Setting, ...] = ()
    """Flags that are cut off from their command by a missing line continuation."""
    framework: str = ""
    """Framework of the file or command that trains or serves; empty if none was recognised."""
    files: tuple[str, ...] = ()
    """Files whose settings are in force, in order of precedence."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """What the framework assumes where nothing is written."""
    train_batch: str = ""
    """What the framework counts in `train_batch_size`: samples or prompts; either, by the kind of training."""
    unsure: frozenset[str] = frozenset()
    """Variables that several files of one kind set, of which nothing tells whose is in force."""

    def get(self, variable: str) -> Setting | None:
        return self.values.get(variable)

    def value(self, variable: str, default: Any = None) -> Any:
        """The value, or the derived value (global batch, total steps), or `default`."""
        setting = self.values.get(variable)
        if setting is not None:
            return setting.value
        rule = DERIVED.get(variable)
        derived = rule(self) if rule else None
        return default if derived is None else derived

    def sources(self, *variables: str) -> tuple[Evidence, ...]:
        """Evidence for those of the variables, or keys without a canonical name, that are written down."""
        return tuple(s.evidence() for v in variables if (s := self.values.get(v) or self.others.get(v)))

    def __contains__(self, variable: object) -> bool:
        return variable in self.values

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.values.values())


def _numbers(settings: Settings, *variables: str) -> list[float] | None:
    """The values of all variables, or None if one is missing or not a positive number."""
    values = [settings.value(v) for v in variables]
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 for v in values):
        return values
    return None


def _world_size(settings: Settings) -> int | None:
    known = _numbers(settings, "nodes", "gpus_per_node")
    return int(known[0] * known[1]) if known else None


def _data_parallel(settings: Settings) -> int | None:
    """Replicas: world / (tensor x pipeline x context parallel); sizes that are not written count as 1."""
    if not (known := _numbers(settings, "world_size")):
        return None
    model = 1
    for variable in ("tensor_parallel", "pipeline_parallel", "context_parallel"):
        model *= max(1, int(settings.value(variable) or 1))
    world = int(known[0])
    return world // model if world % model == 0 else None


def _grad_accumulation(settings: Settings) -> int | None:
    if "global_batch_size" in settings:
        known = _numbers(settings, "global_batch_size", "micro_batch_size", "data_parallel")
        return (int(known[0] // (known[1] * known[2])) or None) if known else None
    assumed = settings.defaults.get("grad_accumulation") if "micro_batch_size" in settings else None
    return int(assumed) if assumed else None


def _global_batch(settings: Settings) -> int | None:
    """micro x accumulation x replicas; for RL the framework's own count of samples per optimizer step."""
    if known := _numbers(settings, "mini_batch_size"):
        return int(known[0] * (settings.value("num_generations") or 1))
    counts_samples = settings.train_batch == "samples" or (
        settings.train_batch == "either" and "num_generations" not in settings
    )
    if counts_samples and (known := _numbers(settings, "train_batch_size")):
        return int(known[0])
    if known := _numbers(settings, "micro_batch_size", "grad_accumulation", "data_parallel"):
        return int(known[0] * known[1] * known[2])
    return None


def _max_steps(settings: Settings) -> int | None:
    """Samples or tokens over the global batch; not computable while the batch ramps up."""
    if "batch_rampup" in settings:
        return None
    if known := _numbers(settings, "train_samples", "global_batch_size"):
        return int(known[0] // known[1])
    if known := _numbers(settings, "train_tokens", "tokens_per_step"):
        return int(known[0] // known[1])
    return None


def _warmup_steps(settings: Settings) -> int | None:
    if "warmup_ratio" in settings and (known := _numbers(settings, "max_steps")):
        return round((settings.value("warmup_ratio") or 0) * known[0])
    known = _numbers(settings, "warmup_samples", "global_batch_size")
    return int(known[0] // known[1]) if known and "batch_rampup" not in settings else None


def _warmup_ratio(settings: Settings) -> float | None:
    if "warmup_steps" in settings and (known := _numbers(settings, "max_steps")):
        return (settings.value("warmup_steps") or 0) / known[0]
    if known := _numbers(settings, "warmup_samples", "train_samples"):
        return known[0] / known[1]
    return None


def _tokens_per_step(settings: Settings) -> int | None:
    known = _numbers(settings, "global_batch_size", "sequence_length")
    return int(known[0] * known[1]) if known else None


def _sequence_length(settings: Settings) -> int | None:
    known = _numbers(settings, "max_prompt_length", "max_response_length")
    return int(known[0] + known[1]) if known else None


def _rollout_batch(settings: Settings) -> int | None:
    """Where the training batch is counted in prompts, they are those of one rollout."""
    return settings.value("train_batch_size") if settings.train_batch in ("prompts", "either") else None


def _decay_steps(settings: Settings) -> int | None:
    if "batch_rampup" in settings or not (known := _numbers(settings, "decay_samples", "global_batch_size")):
        return None
    return int(known[0] // known[1])


DERIVED = {
    "world_size": _world_size,
    "data_parallel": _data_parallel,
    "grad_accumulation": _grad_accumulation,
    "global_batch_size": _global_batch,
    "max_steps": _max_steps,
    "warmup_steps": _warmup_steps,
    "warmup_ratio": _warmup_ratio,
    "tokens_per_step": _tokens_per_step,
    "sequence_length": _sequence_length,
    "rollout_batch_size": _rollout_batch,
    "decay_steps": _decay_steps,
}
"""Variable -> how it follows from others; None where it cannot be told."""

"""How much device memory a training run needs, from its settings and the model's size.

An estimate to tell which part to shrink, not a prediction: fragmentation, kernels and the CUDA context are not in
it. Parameters, gradients and optimizer states follow the ZeRO paper's accounting (Rajbhandari et al., 2020,
section 3): 2 + 2 bytes for half-precision weights and gradients, 4 + 4 + 4 for the fp32 master copy and Adam's
two moments, 16 in all. Activations follow Korthikanti et al., 2022 ("Reducing Activation Recomputation"): 34 s b h
bytes a layer without the attention matrix, 2 s b h with full recomputation.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..settings import Settings
from .rules.training import has_adapter

OPTIMIZER_BYTES = {"8bit": 2, "4bit": 1, "adafactor": 1, "lion": 4, "muon": 4, "sgd": 4, "adam": 8}
"""Part of an optimizer's name -> bytes of its states per parameter."""
LORA_SHARE = 0.01
"""Trainable share of an adapter where its targets are not visible (rank 16 on all linear layers of a 7B model)."""


@dataclass(frozen=True)
class Memory:
    """Bytes on one device."""

    parameters: int
    """Parameters of the whole model, a count."""
    weights: float
    gradients: float
    optimizer: float
    """Moments and fp32 master weights."""
    activations: float
    """Saved for the backward pass of one micro-batch, with the logits."""
    assumed: tuple[str, ...]
    """What was not visible and how it was assumed."""

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations

    @property
    def largest(self) -> str:
        """The part that a fix should shrink first."""
        parts = ("weights", "gradients", "optimizer", "activations")
        return max(parts, key=lambda part: getattr(self, part))


def parameters(settings: Settings) -> int | None:
    """Parameters of a dense or expert transformer from its config.json; None if its size is not visible."""
    hidden, layers, vocab = (settings.value(v) for v in ("hidden_size", "num_layers", "vocab_size"))
    if not hidden or not layers:
        return None
    heads = settings.value("num_heads") or 1
    kv_share = (settings.value("num_kv_heads") or heads) / heads
    attention = hidden * hidden * (2 + 2 * kv_share)
    inner = settings.value("intermediate_size")
    feed_forward = 3 * hidden * inner if inner else 8 * hidden * hidden
    feed_forward *= max(1, settings.value("num_experts") or 1)
    embeddings = (vocab or 32_000) * hidden * (1 if settings.value("tie_embeddings") else 2)
    return int(layers * (attention + feed_forward + 2 * hidden) + embeddings)


def estimate(settings: Settings) -> Memory | None:
    """Bytes per device of a training run, or None if the model's size is not visible."""
    count = parameters(settings)
    if count is None:
        return None
    assumed: list[str] = []
    half = settings.value("precision", "") in ("bf16", "fp16", "fp8")
    adapter = has_adapter(settings)
    trained = count * (LORA_SHARE if adapter else 1)
    stage = settings.value("zero_stage") or 0
    replicas = settings.value("data_parallel")
    if replicas is None:
        replicas = 1
        assumed.append("one replica (the number of devices is not visible)")
    model = max(1, settings.value("tensor_parallel") or 1) * max(1, settings.value("pipeline_parallel") or 1)
    weight_bytes = 0.5 if settings.value("adapter") == "qlora" else (2 if half else 4)
    weights = 0.0 if settings.value("offload_params") else count * weight_bytes / model
    gradients = trained * (2 if half else 4) / model
    optimizer = trained * (_state_bytes(settings) + (4 if half else 0)) / model
    if settings.value("offload_optimizer"):
        optimizer = 0.0
    if stage >= 1:
        optimizer /= replicas
    if stage >= 2:
        gradients /= replicas
    if stage >= 3:
        weights /= replicas
    return Memory(count, weights, gradients, optimizer, _activations(settings, model, assumed), tuple(assumed))


def _state_bytes(settings: Settings) -> int:
    name = str(settings.value("optimizer", "")).lower()
    return next((size for part, size in OPTIMIZER_BYTES.items() if part in name), 8)


def _activations(settings: Settings, model: int, assumed: list[str]) -> float:
    """Saved activations of one micro-batch plus fp32 logits and their gradient."""
    sizes = []
    for variable, default in (("micro_batch_size", 1), ("sequence_length", 2048)):
        value = settings.value(variable)
        if value is None:
            assumed.append(f"{variable} {default}")
        sizes.append(value or default)
    tokens = sizes[0] * sizes[1] / max(1, settings.value("context_parallel") or 1)
    hidden, layers = settings.value("hidden_size"), settings.value("num_layers")
    saved = 2 if settings.value("activation_checkpointing") else 34
    if not settings.value("activation_checkpointing") and settings.value("flash_attention") is False:
        saved += 5 * (settings.value("num_heads") or 1) * sizes[1] / hidden
    logits = 8 * tokens * (settings.value("vocab_size") or 32_000)
    return (saved * tokens * hidden * layers + logits) / model

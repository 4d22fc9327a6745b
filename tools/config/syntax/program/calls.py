"""Calls of libraries whose arguments are settings by themselves, whatever a program calls its own variables.

A row says what the arguments of a call decide. Two calls of one row that decide one variable differently (the
optimizers of two networks, a loader for each split) leave it open, and so does one that is given what is not visible.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from ....patterns import bounded
from .values import attributes, called


class Row(NamedTuple):
    """One family of calls."""

    name: re.Pattern[str]
    """The last part of what is called, in full."""
    means: Mapping[str, str]
    """Keyword -> variable."""
    places: tuple[str, ...] = ()
    """Keyword of each positional argument; empty where it decides nothing."""
    itself: str = ""
    """The variable that the name of what is called decides."""
    tells: tuple[tuple[str, str], ...] = ()
    """What the call alone says: (variable, value)."""
    path: re.Pattern[str] = re.compile("")
    """What stands in the whole of what is called, or in the imports of its name."""
    whole: bool = False
    """The arguments without a meaning here are settings under their own names."""


def _words(text: str) -> re.Pattern[str]:
    return bounded("|".join(text.split()))


def _means(**variables: str) -> dict[str, str]:
    """`variable="keyword keyword"` turned around."""
    return {word: variable for variable, words in variables.items() for word in words.split()}


ADAM = """Adam AdamW Adam8bit AdamW8bit PagedAdam PagedAdamW PagedAdamW8bit PagedAdamW32bit FusedAdam FusedLAMB LAMB
    Lamb NAdam RAdam AMSGrad AdamP DeepSpeedCPUAdam CPUAdam StableAdamW AnyPrecisionAdamW"""
OTHER = """SGD Lion Lion8bit Adafactor RMSprop RMSProp Adagrad Adadelta Rprop Sophia SophiaG Shampoo SOAP Muon Prodigy
    Novograd"""
SCHEDULES = {
    name: schedule
    for schedule, names in {
        "cosine": "CosineAnnealingLR CosineAnnealingWarmRestarts CosineDecay get_cosine_schedule_with_warmup",
        "exponential": "ExponentialLR",
        "multistep": "MultiStepLR",
        "step": "StepLR",
        "polynomial": "PolynomialLR get_polynomial_decay_schedule_with_warmup",
        "onecycle": "OneCycleLR",
        "plateau": "ReduceLROnPlateau",
        "linear": "get_linear_schedule_with_warmup",
        "constant_with_warmup": "get_constant_schedule_with_warmup",
        "constant": "get_constant_schedule",
        "inverse_sqrt": "get_inverse_sqrt_schedule",
        "warmup_stable_decay": "get_wsd_schedule",
        "cosine_with_restarts": "get_cosine_with_hard_restarts_schedule_with_warmup",
        "cosine_with_min_lr": "get_cosine_with_min_lr_schedule_with_warmup",
    }.items()
    for name in names.split()
}
"""Name of a schedule's class or function -> the schedule."""
RATE = _means(learning_rate="lr learning_rate", weight_decay="weight_decay", grad_clip="clipnorm global_clipnorm")
FOR_ADAM = _means(adam_beta2="betas b2 beta_2 beta2", adam_epsilon="eps epsilon")
WARMED = _means(
    warmup_steps="num_warmup_steps", max_steps="num_training_steps", lr_schedule="name", min_learning_rate="min_lr"
)
ENGINE = _means(
    model="model model_path model_name_or_path",
    engine_tensor_parallel="tensor_parallel_size tp_size tp",
    engine_pipeline_parallel="pipeline_parallel_size pp_size",
    engine_data_parallel="data_parallel_size dp_size",
    max_model_len="max_model_len context_length session_len",
    gpu_memory_utilization="gpu_memory_utilization mem_fraction_static cache_max_entry_count",
    max_num_seqs="max_num_seqs max_running_requests max_batch_size",
    model_dtype="dtype",
)  # fmt: skip
SAMPLING = _means(
    sampling_temperature="temperature", max_response_length="max_tokens max_new_tokens",
    repetition_penalty="repetition_penalty", stop_tokens="stop stop_token_ids stop_sequences", sampling="do_sample",
)  # fmt: skip
AGENT = _means(
    learning_rate="learning_rate", train_batch_size="batch_size", grad_clip="max_grad_norm", seed="seed",
    advantage_normalization="normalize_advantage", kl_target="target_kl",
)  # fmt: skip
ENGINES = re.compile(r"vllm|sglang|sgl\b|lmdeploy|^LLM$")
DRAWN = re.compile(r"^(?:random|np\.random|numpy\.random)\.seed$")
KEPT = _words("gradient_checkpointing_enable enable_gradient_checkpointing")
FROZEN = ("encoder", "feature_encoder", "feature_extractor", "base_model", "decoder", "vision_tower", "backbone")
"""Parts that a model has a method for, which freezes them."""
KERAS, OPTAX, ELSE = re.compile("keras"), re.compile("optax"), re.compile("^(?!.*keras)")
AGENTS = re.compile(r"stable_baselines3|sb3_contrib|sbx")
ROWS = (
    Row(_words(ADAM), RATE | FOR_ADAM, ("", "lr"), "optimizer", whole=True, path=ELSE),
    Row(_words(OTHER), RATE, ("", "lr"), "optimizer", whole=True, path=ELSE),
    Row(_words(ADAM), RATE | FOR_ADAM, ("learning_rate",), "optimizer", whole=True, path=KERAS),
    Row(_words(OTHER), RATE, ("learning_rate",), "optimizer", whole=True, path=KERAS),
    Row(_words("adam adamw lamb"), RATE | FOR_ADAM, ("learning_rate",), "optimizer", whole=True, path=OPTAX),
    Row(_words("sgd lion adafactor rmsprop"), RATE, ("learning_rate",), "optimizer", whole=True, path=OPTAX),
    Row(_words("clip_by_global_norm"), {"max_norm": "grad_clip"}, ("max_norm",), path=OPTAX),
    Row(_words("clip_grad_norm_ clip_grad_norm"), {"max_norm": "grad_clip"}, ("", "max_norm")),
    Row(bounded(r"get_\w{1,40}_schedule(?:_with_warmup)?"), WARMED, ("", "num_warmup_steps", "num_training_steps")),
    Row(_words("get_scheduler"), WARMED, ("name", "", "num_warmup_steps", "num_training_steps")),
    Row(_words("CosineAnnealingLR CosineAnnealingWarmRestarts"), {"eta_min": "min_learning_rate"}),
    Row(_words("OneCycleLR"), {"max_lr": "learning_rate", "total_steps": "max_steps"}, ("", "max_lr")),
    Row(
        _words("DataLoader StatefulDataLoader"),
        _means(micro_batch_size="batch_size", num_workers="num_workers", pin_memory="pin_memory"),
        ("", "batch_size"),
    ),
    Row(_words("LLM AsyncEngineArgs EngineArgs Engine"), ENGINE, ("model",), whole=True, path=ENGINES),
    Row(_words("PytorchEngineConfig TurbomindEngineConfig"), ENGINE),
    Row(_words("SamplingParams"), SAMPLING, whole=True),
    Row(
        _words("from_pretrained"),
        _means(
            model="pretrained_model_name_or_path model_name", model_dtype="torch_dtype dtype",
            flash_attention="attn_implementation", sequence_length="max_seq_length",
        ),
        ("pretrained_model_name_or_path",),
        path=bounded(r"^(?!.{0,100}(?:Tokeni[sz]er|Processor|Config\b|Extractor|Peft|Scheduler|Pipeline)).{0,200}(?:Model|For[A-Z]|LM\b)"),
    ),
    *(Row(_words(f"freeze_{part}"), {}, tells=(("freeze", part),)) for part in FROZEN),
    Row(_words("load_dataset load_from_disk"), {"path": "dataset"}, ("path",)),
    Row(_words("LoraConfig"), _means(lora_rank="r", lora_alpha="lora_alpha"), tells=(("adapter", "lora"),)),
    Row(
        _words("get_peft_model"),
        _means(lora_rank="r", lora_alpha="lora_alpha", activation_checkpointing="use_gradient_checkpointing"),
    ),
    Row(bounded(r"\w{0,20}Trainer"), {"model": "model", "model_name": "model"}, ("model",), whole=True),
    Row(_words("PPO A2C DQN SAC TD3 DDPG TRPO TQC QRDQN RecurrentPPO MaskablePPO ARS CrossQ"), AGENT, path=AGENTS),
    Row(
        _words("seed_everything set_seed set_random_seed manual_seed manual_seed_all enable_full_determinism"),
        _means(seed="seed"), ("seed",), path=bounded(r"^(?!.{0,200}(?:generator|\brng|\bgen)\.)"),
    ),
    Row(_words("seed"), _means(seed="seed"), ("seed",), path=DRAWN),
    Row(
        _words("init_process_group InitProcessGroupKwargs DDPStrategy FSDPStrategy"),
        _means(nccl_timeout="timeout", world_size="world_size"),
    ),
    Row(KEPT, {}, tells=(("activation_checkpointing", "True"),)),
    Row(_words("autocast"), {"dtype": "precision"}, ("", "dtype")),
    Row(
        _words("Accelerator"),
        _means(precision="mixed_precision", grad_accumulation="gradient_accumulation_steps"), whole=True,
    ),
)  # fmt: skip
OTHERS = bounded(
    r"(?i)(^|_)(ref(erence)?|teacher|judges?|reward|rm|critics?|values?|vf|drafts?|old|baseline|evals?|val(id)?|validation"
    r"|tests?|dev|disc(riminator)?|alpha|probe|ema|frozen|assistant|emb(ed(der|ding)s?)?)(_|\d*$)|(^d_|_d$)"
)
"""Names of what is not the model in training, its optimizer or its data."""
LATER = bounded(r"(?i)(^|[_/\[:])(test|val(id(ation)?)?|dev|eval)($|[_/\[\]:])")
"""Splits of a data set on which nothing is trained."""
BY_NAME: dict[str, tuple[Row, ...]] = {}


def rows_of(node: ast.Call, imports: Mapping[str, str]) -> list[Row]:
    """The rows of a call; `imports` says where names come from."""
    name = called(node)
    if name not in BY_NAME:
        if len(BY_NAME) > 20_000:
            BY_NAME.clear()
        BY_NAME[name] = tuple(row for row in ROWS if row.name.fullmatch(name))
    if not (rows := BY_NAME[name]):
        return []
    path = ".".join(attributes(node.func)) or name
    root = path.partition(".")[0]
    whole = f"{imports[root]}.{path}" if root in imports else path
    return [row for row in rows if row.path.search(whole) or row.path.search(path)]

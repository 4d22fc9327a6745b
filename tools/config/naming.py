"""What a key of nobody's means: its words, the headings above it, and whether its value can be that at all.

`optim.lr`, `trainer.peakLearningRate` and `LEARNING_RATE` are one name; `teacher.lr` is none, because of a heading
that is not known nothing is believed. Names that mean several things are told by their heading (`kind`, `path`,
`dtype`), by what stands beside them (`eps` beside Adam's betas) or by the size of the value, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache

from ..patterns import bounded
from .keys import table
from .names import FILLERS, JOINED, NAMES, NEUTRAL, ONLY_ALONE, OPEN_SCOPES, SCOPED, SCOPES, SERVED, spelled
from .values import ALONE, PAIR, STAGES, boolean, number, scaled

Words = frozenset[str]
LEVEL = re.compile(r"[./:]")
WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+|[^\W\d_A-Za-z]+")
LONGEST = 120
"""Characters of a key beyond which it is no name."""
ENGINES = re.compile(r"vllm|sglang|hf|huggingface|transformers|tgi|lmdeploy|trt(_?llm)?", re.IGNORECASE)
NO_MODEL = re.compile(
    r"(?i)(?:vllm|sglang|hf|local\S*|openai\S*|auto|none|null|default|chat|base|instruct|causal\S*|automodel\S*"
    r"|seq2seq\S*|transformers?|hf-\S*|gpt-[345o]\S*|claude\S*|gemini\S*|o[134](?:-\S*)?|https?:.*|.*\.(?:ya?ml|json|toml|py|sh|cfg|ini|jinja2?|log|txt|csv|tsv|jsonl|parquet))"
)
"""Values under a name for a model that are kinds, servers or other files."""
PLAUSIBLE_TEXT = bounded(r"[\w\u4e00-\u9fff~$./{][^\n\x00]{0,300}")
SHORT_WORD = bounded(r"[A-Za-z][\w .+\-]{1,40}")
FEW_WORDS = 4
_ONE = "step iter iteration update epoch layer head expert worker generation token"
ONE = frozenset(_ONE.split())
"""Bare words in the singular: which one, not how many."""
MANY = frozenset(("max_steps", "epochs", "num_layers", "num_heads", "num_experts", "num_workers", "num_generations"))


def _number(low: float, high: float, whole: bool = False) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        value = number(text)
        return value is not None and low <= value <= high and (not whole or float(value).is_integer())

    return fits


def _model(text: str) -> bool:
    named = PLAUSIBLE_TEXT.fullmatch(text) and number(text) is None and boolean(text) is None
    return bool(named and not NO_MODEL.fullmatch(text) and len(text.split()) == 1)


def _data(text: str) -> bool:
    named = PLAUSIBLE_TEXT.fullmatch(text) and number(text) is None and boolean(text) is None
    return bool(named and len(text.split()) < FEW_WORDS and not re.search(r"\.(?:ya?ml|toml|py|sh|cfg)$", text))


def _word(text: str) -> bool:
    return bool(SHORT_WORD.fullmatch(text)) and boolean(text) is None and len(text.split()) < FEW_WORDS


def _betas(text: str) -> bool:
    pair = PAIR.fullmatch(text)
    value = number(pair[1] if pair else text)
    return value is not None and 0.5 < value < 1


def _switch(text: str) -> bool:
    return number(text) in (None, 0, 1)


FITS: dict[str, Callable[[str], bool]] = {
    "model": _model,
    "dataset": _data,
    "stage": lambda text: text.lower() in STAGES,
    "optimizer": _word,
    "lr_schedule": _word,
    "loss_type": _word,
    "rope_scaling_type": _word,
    "freeze": lambda text: number(text) is None and boolean(text) is not False,
    "deepspeed": lambda text: text.endswith(".json"),
    "chat_template": lambda text: len(text) < LONGEST and boolean(text) is None and number(text) is None,
    "adapter": lambda text: bool(re.fullmatch(r"(?i)q?lora|q?dora|adalora|ia3|prefix|p-?tuning|full|none", text)),
    "steps_per_epoch": _number(2, 1e9, True),
    "engine_kind": lambda text: bool(ENGINES.fullmatch(text)),
    "adam_beta2": _betas,
    "learning_rate": _number(1e-12, 1),
    "min_learning_rate": _number(0, 0.1),
    "min_lr_ratio": _number(0, 0.999),
    "warmup_steps": _number(0, 10_000_000),
    "warmup_ratio": _number(0, 0.9),
    "weight_decay": _number(0, 5),
    "grad_clip": _number(0, 1e4),
    "adam_epsilon": _number(1e-20, 1e-3),
    "norm_epsilon": _number(1e-12, 1e-2),
    "init_std": _number(0, 1),
    "kl_coef": _number(0, 10),
    "dpo_beta": _number(0, 100),
    "epochs": _number(1e-3, 100_000),
    "sequence_length": _number(16, 20_000_000, True),
    "max_prompt_length": _number(8, 20_000_000, True),
    "max_response_length": _number(1, 20_000_000, True),
    "max_model_len": _number(64, 20_000_000, True),
    "num_generations": _number(1, 4096, True),
    "rollout_temperature": _number(0, 5),
    "gpu_memory_utilization": _number(0.01, 1),
    "rope_theta": _number(100, 1e12),
    "rope_scaling_factor": _number(1, 1000),
    "train_tokens": _number(1e6, 1e15, True),
    "micro_batch_size": _number(1, 65_536, True),
    "grad_accumulation": _number(1, 65_536, True),
    "global_batch_size": _number(1, 1e8, True),
    "hidden_size": _number(8, 200_000, True),
    "intermediate_size": _number(8, 2_000_000, True),
    "vocab_size": _number(16, 10_000_000, True),
    "head_dim": _number(4, 4096, True),
    "seed": _number(0, 2**64, True),
    "nccl_timeout": _number(1, 1e8),
    "loss_scale": _number(0, 2**32),
    "reward_clip": _number(1e-3, 1e4),
    "kl_target": _number(0, 1e3),
    "kl_loss_coef": _number(0, 10),
    "kl_reward_coef": _number(0, 10),
    "max_position_embeddings": _number(16, 20_000_000, True),
}  # fmt: skip
"""Whether a value can be the variable's at all, where only the words of its key say so."""
_COUNTS = """max_steps decay_steps save_steps save_total_limit log_steps eval_steps tensor_parallel pipeline_parallel
    context_parallel expert_parallel data_parallel engine_tensor_parallel engine_pipeline_parallel engine_data_parallel
    world_size nodes gpus_per_node num_workers max_num_seqs num_layers num_heads num_kv_heads num_experts lora_rank
    rollout_batch_size rope_original_positions zero_stage"""
COUNTS = frozenset(_COUNTS.split())
_SWITCHES = """packing sampling pin_memory activation_checkpointing tie_embeddings fp8 use_kl_loss colocate
    advantage_normalization engine_sleep flash_attention"""
SWITCHES = frozenset(_SWITCHES.split())
COUNT, ANY = _number(0, 1e12, True), bounded(r"[^\n]{1,200}")
WARMUP, CLIP, EPS = frozenset(("warmup",)), frozenset(("clip",)), frozenset(("eps",))
DEVICE = frozenset(("device",))
"""`n_gpu` counts devices, `device` says which one: only the whole key tells them apart."""
DEVICES, NODES = frozenset(("devices",)), frozenset(("nodes",))
BATCH, TRAIN_BATCH = frozenset(("batch",)), frozenset(("train", "batch"))
SERVED_LENGTHS = {
    frozenset(said.split()): variable
    for said, variable in (
        ("ctx", "max_model_len"),
        ("ctx len", "max_model_len"),
        ("ctx window", "max_model_len"),
        ("max ctx", "max_model_len"),
        ("max ctx len", "max_model_len"),
        ("max token", "max_response_length"),
    )
}
"""Names of a length that is not the training's where nothing is trained."""
SWITCHED = ("enabled", "enable")
"""Names that only say whether what the heading is about is on."""
PER_DEVICE = re.compile(r"(?i)per[_-]?(?:gpu|device|card|rank)")
OWN_MODEL = re.compile(r"^(?:actor|policy|student)_(?=[a-z])")
"""What a flat name says of the model that is trained: `actor_warmup_steps` are the warm-up of the run."""
EVERY, LEAST_EVERY = tuple(frozenset((word,)) for word in ("save", "log", "eval")), 5
"""A bare `save: 500` counts steps; a small number may be a switch or count epochs (own judgement)."""
LOSS = frozenset(("loss",))
LOSSES = bounded(
    r"(?i)sigmoid|hinge|ipo|simpo|dpo|kto\w*|orpo|cpo|robust|exo_pair|nca_pair|bco\w*|apo\w*|sppo\w*|aot\w*"
    r"|grpo|dr_grpo|dapo|bnpo|gspo|ppo"
)
"""What the bare name of a loss may hold: losses of preferences and policies."""
LEAST_CLIP = 0.5
"""A bare `clip` below it may be PPO's ratio (own judgement)."""
ADAM = (frozenset(("betas",)), frozenset(("beta2",)), frozenset(("betas", "1")), frozenset(("adam", "beta2")))


@cache
def words(part: str) -> Words:
    """The words of one level of a key, aliases spelled out and fillers left out."""
    found = [w.lower() for w in WORD.findall(part[:LONGEST])]
    for first, second, meant in JOINED:
        for i in range(len(found) - 1):
            if (found[i], found[i + 1]) == (first, second):
                found[i : i + 2] = [meant]
                break
    said = [w for word in found for w in spelled(word)]
    return frozenset(w for w in said if w not in FILLERS) or frozenset(said)


def _rows(names: dict[str, str], where: str) -> dict[Words, tuple[str, int]]:
    rows: dict[Words, tuple[str, int]] = {}
    for variable, text in names.items():
        for rank, name in enumerate(text.split(";")):
            said = words(name.lstrip(" +"))
            if rows.setdefault(said, (variable, rank))[0] != variable:
                raise ValueError(f"{where}: {name.strip()!r} is {variable} and {rows[said][0]}")
    return rows


COMMON = _rows(NAMES, "NAMES")
BELOW = {scope: _rows(names, scope) for scope, names in SCOPED.items()}
OF_SERVER = {scope: _rows(names, scope) for scope, names in SERVED.items()}


@cache
def _common() -> dict[Words, tuple[str, int]]:
    """The common names, and those of the generic table that have no headings."""
    rows = dict(COMMON)
    for key, (variable, _) in table("generic").items():
        if "." not in key and words(key) != DEVICE:
            rows.setdefault(words(key), (variable, 30))
    return rows


def meant(
    key: str, text: str | None, beside: Collection[Words] = (), trains: bool = True, samples: bool = False
) -> tuple[str, int] | None:
    """(variable, rank) of a key by its words, or None.

    Args:
        key: the dotted key as it is written.
        text: its value.
        beside: the words of the last levels of the keys under the same heading.
        trains: whether the same file has a learning rate.
        samples: whether the same file trains on what the model says: a batch may count prompts there.
    """
    if text is None or len(key) > LONGEST:
        return None
    *above, last = [p for p in LEVEL.split(key.lstrip("-+~")) if p] or [""]
    if last == "1" and above:
        last = f"{above.pop()} 1"
    if last.lower() in SWITCHED and above:
        last = above.pop()
        if (switch := meant(".".join([*above, last]), text, beside, trains, samples)) and switch[0] in SWITCHES:
            return switch
        return None
    said = words(last)
    sections = [w for part in above if (w := words(part) - NEUTRAL)]
    hit = _found(said, sections, beside, trains, samples)
    if not hit and (bare := OWN_MODEL.sub("", last, count=1)) != last:
        said = words(bare)
        hit = _found(said, sections, beside, trains, samples)
    if not hit and PER_DEVICE.fullmatch(last) and any("accum" in name for name in beside):
        hit = ("micro_batch_size", 0)
    if hit and hit[0] in MANY and last.lower() in ONE:
        return None
    scopes = {SCOPES[w] for part in sections for w in part if w in SCOPES}
    if not hit or _doubtful(hit[0], text.strip(), said, scopes, beside, samples):
        return None
    if not trains and hit[0] == "sequence_length" and said in SERVED_LENGTHS:
        hit = (SERVED_LENGTHS[said], hit[1])
    if trains and hit[0] == "max_model_len" and not scopes & {"engine", "rollout"}:
        if _common().get(said, ("",))[0] != "sequence_length":
            return None
        hit = ("sequence_length", hit[1])
    if not (trains or samples) and hit[0] == "rollout_temperature" and "rollout" not in scopes:
        hit = ("sampling_temperature", hit[1])
    if hit[0] == "world_size":
        hit = (per_node(said, beside, text), hit[1])
    return hit if hit[0] and fits(hit[0], text.strip(), said) else None


def per_node(said: Words, beside: Collection[Words], text: str) -> str:
    """What a number of devices counts: those of one node beside a number of nodes, else all; empty where it may be
    either."""
    if said != DEVICES or NODES not in beside:
        return "world_size"
    return "gpus_per_node" if (number(text) or 0) <= MOST_DEVICES else ""


MOST_DEVICES = 8
"""More are seldom in one node: where there are several nodes, a larger number may be that of all (own judgement)."""


def _doubtful(
    variable: str, text: str, said: Words, scopes: Collection[str], beside: Collection[Words], samples: bool
) -> bool:
    """Whether a name may mean something else here: a clip that is PPO's ratio, a batch of prompts."""
    if variable == "grad_clip" and said == CLIP and (samples or "optimizer" not in scopes):
        return (number(text) or 0) < LEAST_CLIP
    if said in EVERY:
        return (number(text) or 0) < LEAST_EVERY
    if variable == "loss_type" and said == LOSS:
        return not LOSSES.fullmatch(text)
    if variable == "micro_batch_size" and said in (BATCH, TRAIN_BATCH):
        accumulates = any("accum" in name for name in beside)
        return (samples and not accumulates) or "algorithm" in scopes or (said == TRAIN_BATCH and not accumulates)
    return False


def sorting(heading: str) -> str | None:
    """What a heading is about, empty where it only sorts; None for one that is not known."""
    said = words(heading) - NEUTRAL
    return next((SCOPES[w] for w in sorted(said) if w in SCOPES), "" if not said else None)


def _found(
    said: Words, sections: list[Words], beside: Collection[Words], trains: bool, samples: bool
) -> tuple[str, int] | None:
    adams = said == EPS and any(a in beside for a in ADAM)
    if not sections:
        return ("adam_epsilon", 0) if adams else _common().get(said)
    scopes = [next((SCOPES[w] for w in sorted(part) if w in SCOPES), "") for part in sections]
    known = [
        bool(s) and (len(p) == 1 or not p & ONLY_ALONE) and all(w in SCOPES or w in said for w in p)
        for s, p in zip(scopes, sections, strict=True)
    ]
    if all(known):
        if "engine" in scopes and (hit := _of_engine(said, sections, scopes)):
            return hit
        if samples and scopes[-1] == "decode" and (hit := BELOW["rollout"].get(said)):
            return hit
        if hit := BELOW[scopes[-1]].get(said):
            return hit
    whole = said.union(*sections)
    for joined in (whole, said | sections[-1]):
        if (joined == whole or all(known[:-1])) and (hit := _common().get(joined)):
            return hit
    if not all(known):
        return None
    if not trains and (hit := OF_SERVER.get(scopes[-1], {}).get(said)):
        return hit
    if adams:
        return "adam_epsilon", 0
    return _common().get(said) if OPEN_SCOPES.issuperset(scopes) else None


def _of_engine(said: Words, sections: list[Words], scopes: list[str]) -> tuple[str, int] | None:
    """An engine's own name, or one below a heading inside the engine's."""
    inside = said.union(*(part for part, scope in zip(sections, scopes, strict=True) if scope != "engine"))
    return BELOW["engine"].get(said) or BELOW["engine"].get(inside)


def fits(variable: str, text: str, said: Words) -> bool:
    """Whether a value can be this variable's, where only the words of its key say that it is."""
    if alone := ALONE.fullmatch(text):
        text = alone[1]
    text = scaled(variable, text)
    if variable == "grad_clip" and text.lower() in ("null", "none"):
        return True
    if variable == "warmup_steps" and text.endswith("%"):
        return True
    if variable == "warmup_steps" and "." in text and said != WARMUP:
        return False
    if variable in SWITCHES:
        return _switch(text)
    if variable in COUNTS:
        return COUNT(text) or (variable == "zero_stage" and text[-1:].isdigit())
    return FITS.get(variable, lambda value: bool(ANY.fullmatch(value)))(text)

"""Tracebacks above a hit; in which phase the GPU ran out of memory, which they say and the error itself does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...findings import Evidence, Finding, clean, declare
from ...patterns import bounded
from ...reading import split_prefix
from .match import Hit
from .signature import CHECK

FRAME = re.compile(r'^\s*File "[^"]+", line \d+, in \S+')


@dataclass(frozen=True)
class Phase:
    """A phase, by the frames of its traceback."""

    code: str
    inside: re.Pattern[str]
    """A frame of the phase."""
    not_below: re.Pattern[str]
    """A frame further in that shows that another phase had begun: an optimizer's closure runs the model."""
    en: str
    zh: str
    not_above: re.Pattern[str] = re.compile(r"(?!)")
    """A frame further out that shows that something else had called it."""
    said: re.Pattern[str] = re.compile(r"(?!)")
    """What a line of the error itself says of it, where several ranks wrote into one another, or a program told it."""


PHASES = (
    Phase(
        "oom-in-evaluation",
        bounded(
            r"in (evaluation_loop|prediction_loop|prediction_step|nested_concat|validation_step|evaluation_step"
            r"|evaluate_and_print_results)$|trainer\w*\.py\", line \d+, in _?evaluate$"
        ),
        re.compile(r"(?!)"),
        "the GPU ran out of memory inside the evaluation loop",
        "显存是在评估循环里耗尽的",
    ),
    Phase(
        "oom-in-generation",
        bounded(
            r"cache_utils\.py\", line \d+, in update$"
            r"|in (_?sample|_?greedy_search|_?beam_search|_generate\w*|_decoding)$"
        ),
        re.compile(r"(?!)"),
        "the GPU ran out of memory while generating, where the cache of keys and values grows",
        "显存是在生成（KV 缓存增长）时耗尽的",
        re.compile(r"vllm|sglang|lmdeploy|/tgi/"),
    ),
    Phase(
        "oom-in-optimizer-step",
        re.compile(
            r"(torch/optim/(?!lr_scheduler|optimizer\.py)|bitsandbytes/optim/|apex/optimizers/|deepspeed/ops/adam/"
            r"|/optimizers?/\w*(optimizer|adam)\w*\.py).{0,80}in (step|_?init\w*|_?(multi|single|fused)\w*)$"
            r"|in (_?init(ialize)?_(optimizer_)?states?|_initialize_state)$"
        ),
        re.compile(r"in (forward|backward|_call_impl|closure|training_step|compute_loss)$"),
        "the GPU ran out of memory inside the optimizer's step, where its states are created",
        "显存是在优化器 step（创建优化器状态）时耗尽的",
        said=bounded(r"\boptim(izer)?s?\w{0,10}\.step\([^()]{0,30}\)"),
    ),
    Phase(
        "oom-in-loading",
        bounded(
            r"in (from_pretrained|_?load_pretrained_model|load_checkpoint_and_dispatch|load_checkpoint_in_model"
            r"|dispatch_model|_load_state_dict_into_(meta_)?model|set_module_tensor_to_device|load_weights"
            r"|_?load_model\w{0,20}|initialize_model|create_weights|replace_with_bnb_linear)$"
        ),
        re.compile(r"in (forward|backward|step|generate|profile_run|determine_\w+|training_step)$"),
        "the GPU ran out of memory while the weights were loaded, before anything was computed",
        "显存是在加载权重时耗尽的，还没有开始计算",
        bounded(
            r"(train|tune|sft|dpo|ppo|grpo|rlhf)\w*\.py\"|in (_?load_best_model|training_step|_?inner_training_loop)$"
        ),
        bounded(
            r"(?i)(fail|error|unable|could not|cannot)\w{0,10} (to )?(load|loading) (the )?(model|weights|checkpoint)"
            r"|loading (the )?(model|weights|checkpoint).{0,40}(fail|error)|(模型|权重).{0,4}(未成功加载|加载失败)"
            r"|加载(模型|权重).{0,6}失败"
        ),
    ),
    Phase(
        "oom-in-forward",
        re.compile(r"in (forward|cross_entropy|backward|scaled_dot_product_attention|compute_loss)$"),
        re.compile(r"in (generate|update|_?init\w*|determine_\w+|profile_run)$"),
        "the GPU ran out of memory in the forward or backward pass",
        "显存是在前向或反向计算中耗尽的",
        re.compile(
            r"vllm|sglang|lmdeploy|/tgi/"
            r"|in (generate|predict|evaluate|rollout\w*|execute_model|load\w*|from_pretrained)$"
        ),
    ),
)
ENGINE = bounded(
    r"(?:vllm|sglang|lmdeploy|text_generation_server)[/\\].{0,200} in (?:_init_engine|_init_executor|load_model"
    r"|get_model|_?initialize_model|init_device|run_rpc_server)$"
)
"""A frame of an engine that starts: what fails there ends this start, whoever answers later in the same log."""
RECOMPUTED = bounded(
    r"torch[/\\]utils[/\\]checkpoint\.py|activation_checkpointing|gradient_checkpointing|[/\\]recompute\w{0,20}\.py"
    r"|in (?:_?checkpointed_\w{1,30}|_?recompute\w{0,20}|checkpoint_(?:forward|wrapper|sequential))$"
)
"""A frame of the recomputation of activations."""
RECOMPUTES = (
    "oom-while-recomputing",
    "the memory ran out in a layer whose activations are recomputed already: activation checkpointing is on",
    "显存耗尽处的激活已在重算：激活检查点（重算）已经开启",
)
CODES = declare("phases", *((phase.code, CHECK, phase.en) for phase in PHASES), (RECOMPUTES[0], CHECK, RECOMPUTES[1]))


def phases(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The phase of an out-of-memory error, by the first traceback that names one; nothing where none does."""
    for hit in hits:
        told = frames(hit)
        for phase in PHASES:
            if phase.said.search(hit.text):
                yield at_frame(phase.code, phase.en, phase.zh, (file, hit.line, hit.text), hit, of)
                return
            at = next((i for i, (_, text) in enumerate(told) if phase.inside.search(text.rstrip())), None)
            if (
                at is None
                or any(phase.not_below.search(t.rstrip()) for _, t in told[at:])
                or any(phase.not_above.search(t.rstrip()) for _, t in told[:at])
            ):
                continue
            line, text = told[at]
            yield at_frame(phase.code, phase.en, phase.zh, (file, line, text), hit, of)
            return


def recomputing(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The first frame of an out-of-memory error that shows that activations are recomputed."""
    for hit in hits:
        found = next(((line, text) for line, text in frames(hit) if RECOMPUTED.search(text.rstrip())), None)
        if found is not None:
            yield at_frame(*RECOMPUTES, (file, *found), hit, of)
            return


def at_frame(code: str, en: str, zh: str, frame: tuple[str, int, str], hit: Hit, of: Finding) -> Finding:
    """What one frame, given as (file, line, text), says of the error of a finding."""
    file, line, text = frame
    return Finding(
        code,
        of.severity,
        f"{file}:{line}: {en} (error at line {hit.line}).",
        f"{file}:{line}：{zh}（错误在第 {hit.line} 行）。",
        (Evidence(file, line, rank=hit.rank, text=clean(text)),),
        {"of": of.code, **{key: of.data[key] for key in ("survived", "follows") if key in of.data}},
    )


def in_a_start(hit: Hit) -> bool:
    """Whether the error ended the start of an inference engine."""
    return any(ENGINE.search(text.rstrip()) for _, text in frames(hit))


def frames(hit: Hit, shape: re.Pattern[str] = FRAME) -> list[tuple[int, str]]:
    """The frames of the traceback that ends in the hit, outermost first; lines of other ranks may stand between."""
    found: list[tuple[int, str]] = []
    for back, raw in enumerate(reversed(hit.above.split("\n")), 1):
        rank, text = split_prefix(raw.rstrip("\r"))
        if rank != hit.rank and None not in (rank, hit.rank):
            continue
        if text[:1].strip():
            break
        if shape.match(text):
            found.append((hit.line - back, text))
    return found[::-1]

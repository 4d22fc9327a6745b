"""In which part of a program an exception was raised: by the frames of its traceback.

A message such as `KeyError: 0` says nothing; that it was raised in the scheduler, in the collation of a batch or while
a package was imported does. Where the message names a failure, the frame is a second witness: a pattern may match by
chance, but not in the very part that the failure is about. What memory ran out in is `phases`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...findings import Finding, declare
from ...patterns import bounded
from .match import Hit
from .phases import at_frame, frames
from .signature import CHECK

UNNAMED = "uncaught-exception"
"""An exception that names no failure itself."""
DEVICE = bounded(r"/torch/(?:cuda|xpu|mps|npu)/|/torch_npu/")
"""Frames of what asks a card: what fails in them is no matter of the file that was being read."""


@dataclass(frozen=True)
class Part:
    """A part of a training, by a frame of its own."""

    code: str
    inside: re.Pattern[str]
    en: str
    zh: str
    of: tuple[str, ...] = (UNNAMED,)
    """The codes of errors that this part is told of."""
    never: re.Pattern[str] = re.compile(r"(?!)")
    """Frames that only look like it."""
    below: re.Pattern[str] = re.compile(r"(?!)")
    """Frames further in that make it something else's."""

    def tells(self, frame: str) -> bool:
        """Whether a frame is one of this part."""
        return self.inside.search(frame) is not None and self.never.search(frame) is None


PARTS = (
    Part(
        "exception-in-scheduler",
        bounded(
            r"lr_schedul\w{0,20}\.py|param_schedul\w{0,20}\.py|/schedul\w{0,20}\.py"
            r"|in (?:_?get_(?:closed_form_)?lr|lr_lambda|get_\w{0,20}schedule(?:r|_with_warmup)?)$"
        ),
        "the learning-rate schedule stopped it: a value of it is of the wrong kind or out of its range",
        "是学习率调度出的错：它的某个取值类型不对或越界",
        never=bounded(r"/(?:vllm|sglang|srt|lmdeploy|text_generation_server|ray|apscheduler|diffusers)/"),
    ),
    Part(
        "exception-in-checkpoint-save",
        bounded(
            r"torch/serialization\.py\", line \d+, in (?:_?save\w{0,20}|_legacy_save)$"
            r"|in (?:_?save_(?:checkpoint|ckpt|pretrained|state|model|to_state_dict|weights)s?|save_file)$"
            r"|in _?(?:rotate|remove|delete|prune|clean(?:_?up)?)_(?:\w{1,20}_)?(?:checkpoint|ckpt)s?$"
        ),
        "saving a checkpoint stopped it",
        "是保存检查点时出的错",
        (UNNAMED, "disk-full", "checkpoint-save-error", "permission-denied", "file-missing"),
    ),
    Part(
        "exception-in-checkpoint-load",
        bounded(
            r"torch/serialization\.py\", line \d+, in _?(?:legacy_)?load$"
            r"|in (?:_?load_(?:checkpoint|ckpt|state_dict|weights|from_checkpoint|pretrained_model|state)"
            r"|_load_from_state_dict|from_pretrained|load_file|resume\w{0,20}|restore\w{0,20})$"
        ),
        "loading a checkpoint stopped it",
        "是加载检查点时出的错",
        (UNNAMED, "checkpoint-load-error", "file-missing"),
        below=DEVICE,
    ),
    Part(
        "exception-in-data",
        bounded(
            r"torch/utils/data/|/datasets/(?:arrow_dataset|iterable_dataset|table|builder|packaged_modules|formatting)"
            r"|in (?:_?(?:load|read|iter|parse|open)_\w{0,20}(?:data\w{0,4}|jsonl?|csv|parquet|records?|samples?"
            r"|examples?|rows?|corpus|shards?|lines?|split)|__getitem__|\w{0,20}collat(?:e|or)\w{0,20}|preprocess\w{0,30}|tokenize_\w{1,30}"
            r"|(?:format|convert|encode|to)_\w{0,20}(?:chat|messages?|examples?|records?|samples?|features|prompts?))$"
            r"|/(?:data_?loader|data_?set|collat\w{1,4}|preprocess\w{0,10}|loader)s?\.py\", line"
        ),
        "reading or preparing a record of the data stopped it",
        "是读取或处理一条数据时出的错",
        (UNNAMED, "data-schema-mismatch", "data-parse-error"),
        bounded(
            r"/torch/nn/|/lib/python[\d.]{1,6}/(?:os|collections/\w{1,20}|weakref|enum|shelve)\.py\""
            r"|/(?:omegaconf|model_loader|transformers/models|einops|jax|flax)/|/pytest|/_pytest/|unittest/"
        ),
    ),
    Part(
        "exception-in-metrics",
        bounded(
            r"in (?:compute_metrics|calc\w{0,12}_metrics?|_?compute_score\w{0,10})$|sklearn/metrics/"
            r"|/(?:calc\w{0,12}|\w{0,12}metrics?|scor(?:e|ing)\w{0,10})\.py\", line"
        ),
        "computing a metric of the evaluation stopped it",
        "是计算评测指标时出的错",
    ),
    Part(
        "exception-in-hub",
        bounded(r"/(?:huggingface_hub|modelscope/hub)/"),
        "fetching a model or data from a hub stopped it",
        "是从模型或数据 hub 取文件时出的错",
    ),
    Part(
        "exception-in-import",
        bounded(r"(?:site|dist)-packages/\S{1,200}\", line \d+, in <module>$|frozen importlib"),
        "importing a package stopped it: the installed versions do not fit each other",
        "是导入软件包时出的错：已安装的版本互不匹配",
    ),
    Part(
        "exception-in-deepspeed-config",
        bounded(
            r"deepspeed/(?:runtime/(?:config\w{0,12}|zero/config)|__init__)\.py\", line"
            r"|in (?:trainer_config_(?:finalize|process)|fill_match|deepspeed_config_process)$"
        ),
        "reading DeepSpeed's configuration stopped it",
        "是读取 DeepSpeed 配置时出的错",
        ("deepspeed-config-error",),
    ),
    Part(
        "exception-in-cache-sizing",
        bounded(
            r"/(?:vllm|sglang|lmdeploy)/.{0,200} in (?:determine_(?:num_available_blocks|available_memory)"
            r"|_?initialize_(?:kv_caches?|cache)|raise_if_cache_size_invalid|_?check_enough_kv_cache_memory"
            r"|get_kv_cache_configs?|init_memory_pool|profile_max_num_token\w{0,20}|verify_cuda_cache_config)$"
        ),
        "measuring the memory left for the KV cache stopped it",
        "是计算 KV cache 可用显存时出的错",
        ("kv-cache-oom",),
    ),
    Part(
        "exception-in-engine-sleep",
        bounded(r"in (?:_?(?:sleep|wake_up)|(?:release|resume)_memory_occupation|offload_engine|onload_engine)$"),
        "putting the inference engine to sleep, or waking it, stopped it",
        "是推理引擎休眠或唤醒时出的错",
        ("engine-sleep-error",),
    ),
    Part(
        "exception-in-rendezvous",
        bounded(
            r"torch/distributed/(?:rendezvous|elastic/rendezvous/\w{1,40})\.py\", line"
            r"|in (?:init_process_group|_create_c10d_store|_?init_distributed|_?initialize_distributed)$"
        ),
        "waiting for the other processes at the start stopped it",
        "是启动时等待其他进程会合时出的错",
        ("rendezvous-timeout", "port-in-use"),
    ),
    Part(
        "exception-in-cuda-start",
        bounded(r"torch/cuda/__init__\.py\", line \d+, in (?:_lazy_init|init|_check_\w{1,20}|set_device)$"),
        "starting CUDA stopped it",
        "是初始化 CUDA 时出的错",
        ("cuda-version-mismatch",),
    ),
)
TOLD = tuple(dict.fromkeys(code for part in PARTS for code in part.of))
"""The part whose frame is the innermost one has it."""
CODES = declare("parts", *((part.code, CHECK, part.en) for part in PARTS))


def bare(hit: Hit) -> dict[str, str]:
    """What its finding says where only the type of the error speaks: its words have their meaning in one part of a
    program (`Signature.within`), and the traceback shows another."""
    part = next((p for p in PARTS if p.code == hit.signature.within), None)
    told = [text.rstrip() for _, text in frames(hit)] if part is not None else []
    return {"of": UNNAMED} if part is not None and told and not any(map(part.tells, told)) else {}


def parts(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The part in which the exception of a finding was raised, nothing where its traceback names none."""
    among = [p for p in PARTS if of.code in p.of]
    hit = next((h for h in hits if of.evidence and h.line == of.evidence[0].line), None)
    for line, text in reversed(frames(hit) if hit else ()):
        among = [p for p in among if not p.below.search(text)]
        part = next((p for p in among if p.tells(text.rstrip())), None)
        if part is not None and hit is not None:
            yield at_frame(part.code, part.en, part.zh, (file, line, text), hit, of)
            return

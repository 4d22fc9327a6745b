"""Settings as programs print them for people: `Total optimization steps`, `Batch size per GPU`, `1,000 tokens`."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ...patterns import bounded
from ..frameworks import FRAMEWORKS
from ..keys import normal, table
from ..syntax.source import Item

_WORDS = {
    "global_batch_size": "total_train_batch_size effective_batch_size effective_batch total_batch 全局批大小 总批大小",
    "per_device_train_batch_size": "instantaneous_batch_size_per_device batch_size_per_gpu batch_size_per_device "
    "per_gpu_batch_size per_device_batch_size batch_size_per_rank 单卡批大小 每卡批大小",
    "batch_size": "批大小 批次大小 批量大小",
    "gradient_accumulation_steps": "gradient_accumulation grad_accumulation accumulation_steps grad_accum_steps "
    "梯度累积 梯度累积步数 累积步数",
    "max_steps": "total_optimization_steps total_optimizer_steps total_training_steps total_steps num_training_steps "
    "training_steps optimizer_steps optimization_steps number_of_steps total_train_steps 总步数 训练步数 最大步数",
    "num_epochs": "num_epochs number_of_epochs epochs total_epochs 训练轮数 轮数 总轮数",
    "learning_rate": "learning_rate peak_learning_rate peak_lr base_learning_rate max_learning_rate 学习率 峰值学习率",
    "min_lr": "minimum_learning_rate min_learning_rate 最小学习率 最低学习率",
    "lr_scheduler_type": "lr_scheduler learning_rate_schedule learning_rate_scheduler lr_schedule 学习率调度 调度器",
    "warmup_steps": "warm_up_steps num_warmup_steps 预热步数 热身步数",
    "warmup_ratio": "warm_up_ratio 预热比例",
    "weight_decay": "权重衰减",
    "max_grad_norm": "gradient_clipping gradient_clip grad_clipping max_gradient_norm 梯度裁剪",
    "max_seq_length": "max_sequence_length maximum_sequence_length sequence_length max_seq_len context_length "
    "max_length 最大长度 序列长度 上下文长度",
    "seed": "random_seed 随机种子 种子",
    "lora_r": "lora_rank rank_of_lora",
    "mixed_precision": "mixed_precision_type 精度 混合精度",
    "world_size": "world_size number_of_gpus num_gpus number_of_processes num_processes distributed_world_size 卡数",
    "data_parallel": "data_parallel_size dp_size",
    "tensor_model_parallel_size": "tensor_parallel_size tp_size tensor_parallel",
    "pipeline_model_parallel_size": "pipeline_parallel_size pp_size pipeline_parallel",
    "optimizer": "优化器",
    "model_name": "model_name_or_path 模型 基座模型",
    "dataset": "training_data train_dataset 数据集 训练数据",
    "epochs": "训练轮次",
}
_SAID = {said: key for key, words in _WORDS.items() for said in words.split()}
"""What people read -> a key of nobody's that means the same."""
_ASIDE = bounded(r"\s?[(（][^()（）\n]{0,120}[)）]")
_SPACED = re.compile(r"[\s\-/]+")
_GROUPED = bounded(r"-?\d{1,3}(?:,\d{3})+(?![\d,])")
_NUMBER = bounded(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?|nan|[-+]?inf")


def item(one: Item) -> Item:
    """A pair of a printed list under a key as files spell it, its number without groups and the words behind it."""
    *above, last = one.key.split(".") if " " not in one.key else [one.key]
    words = _SPACED.sub("_", _ASIDE.sub("", last).strip()).lower()
    if not _is_key(words) or words in _SAID:
        words = _SAID.get(words) or _tail(words)
    text = one.text
    if text and not one.quoted and (match := _GROUPED.match(text)):
        text = match[0].replace(",", "")
    return replace(one, key=".".join([*above, words]), text=text)


def _tail(words: str) -> str:
    """The words without those in front that only lead to the name: `using world size`."""
    parts = words.split("_")
    for at in range(1, len(parts) - 1):
        tail = "_".join(parts[at:])
        if tail in _SAID or _is_key(tail):
            return _SAID.get(tail, tail) if _LEADS.issuperset(parts[:at]) else words
    return words


_LEADS = frozenset(("using", "use", "with", "set", "setting", "the", "our", "training", "number", "of", "num", "run"))


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text.strip().rstrip(",")))


def known(key: str) -> bool:
    """Whether some framework has a setting whose name ends so."""
    return normal(key).rpartition(".")[2] in _endings()


def _is_key(word: str) -> bool:
    return word in table("generic") or word in table("megatron") or word in table("hf")


@cache
def _endings() -> frozenset[str]:
    return frozenset(key.rpartition(".")[2] for name in FRAMEWORKS for key in table(name))

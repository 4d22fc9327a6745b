"""Which setting a name means that a person chose: `Peak learning rate`, `QUESTIONS_PER_ROLLOUT`, `tokens.response.max`.

A name is a bag of words, each brought to one spelling, and means what the same bag of the table means: so `min_lr`,
`lr-min` and `Minimum learning rate` are one. All words count but those that only count or measure; a word that the
table does not know (`critic`, `eval`, `teacher`) makes it the name of something else.
"""

# ruff: noqa: E501  one row of the table on one line

from __future__ import annotations

import re
from functools import cache, lru_cache

from ...documents.names import PHRASES
from ...patterns import bounded
from ...settings import CONTEXT, VARIABLES
from ..keys import normal
from ..names import NEUTRAL

_SAME = {
    "max": "maximum longest limit cap most up highest largest",
    "min": "minimum lowest floor final smallest",
    "grad": "gradient gradients",
    "clip": "clipping clipped clips",
    "accum": "accumulation accumulate accumulated accumulations accumulating",
    "step": "steps updates update iterations iters iter",
    "epoch": "epochs",
    "train": "training trained",
    "seq": "sequence sequences context ctx",
    "length": "len lengths",
    "token": "tokens toks tok",
    "optimizer": "optimiser optim",
    "prompt": "prompts question questions problem problems query queries instruction instructions",
    "response": "responses completion completions answer answers reply replies generation generations output outputs",
    "gpu": "gpus device devices card cards accelerator accelerators",
    "node": "nodes host hosts machine machines",
    "save": "checkpoint checkpoints checkpointing ckpt ckpts saving saves",
    "every": "interval freq frequency period between",
    "log": "logging logs",
    "eval": "evaluation evaluate validation val",
    "temperature": "temp",
    "coef": "coeff coefficient coefficients",
    "head": "heads",
    "layer": "layers blocks",
    "expert": "experts",
    "sample": "samples sampling sampled",
    "rollout": "rollouts",
    "vocab": "vocabulary",
    "eps": "epsilon",
    "parallel": "parallelism",
    "memory": "mem",
    "fraction": "utilization utilisation util",
    "worker": "workers",
    "decay": "decays annealing anneal",
    "schedule": "scheduler sched",
    "param": "params parameter parameters",
    "peak": "base initial init starting start",
    "keep": "kept retain retained",
    "recompute": "recomputation rematerialization remat",
    "normalization": "normalisation normalize normalise normalized whiten whitening whitened",
    "advantage": "advantages adv",
    "pack": "packing packed",
    "ratio": "proportion share",
    "stage": "phase",
}
_FOLDED = {word: one for one, many in _SAME.items() for word in many.split()}
_EMPTY = frozenset(
    ("the", "of", "a", "an", "number", "num", "n", "no", "count", "size", "sizes", "degree", "used", "our")
)
"""Words that only count or measure."""
_PAIRS = {
    ("learning", "rate"): "lr",
    ("warm", "up"): "warmup",
    ("weight", "decay"): "wd",
    ("batch", "size"): "batch",
    ("data", "loader"): "dataloader",
    ("kv", "head"): "kvhead",
}
_JOINED = {"learningrate": "lr", "batchsize": "batch", "weightdecay": "wd", "microbatch": "micro batch", "bs": "batch",
           "bsz": "batch", "maxlen": "max length", "seqlen": "seq length", "gradnorm": "grad norm", "β": "beta",
           "β1": "beta1", "β2": "beta2", "β₁": "beta1", "β₂": "beta2", "ε": "eps", "ϵ": "eps", "gradclip": "grad clip",
           "minibatch": "mini batch"}  # fmt: skip
_WORD = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]+\d*(?![a-z])|[A-Za-zβεϵγ][a-zβεϵγ]*+[\d₁₂]*|\d+|[\u4e00-\u9fff]+")
_SHOUTED = bounded(r"[A-Z0-9_.-]+$")

OWN: dict[str, str] = {
    "learning_rate": "lr|peak lr|max lr|actor lr|policy lr|train lr|optimizer lr|actor optimizer lr|lr value"
    "|基础学习率|初始学习率|最大学习率|峰值学习率|学习率|策略学习率",
    "min_learning_rate": "min lr|end lr|最小学习率|最低学习率|最终学习率",
    "lr_schedule": "lr schedule|schedule|schedule type|schedule kind|schedule name|lr decay|lr decay style|decay type"
    "|lr policy|lr schedule type|decay schedule|decay style|调度|调度器|学习率调度|学习率策略|学习率衰减|衰减方式|衰减策略",
    "warmup_steps": "warmup|warmup step|lr warmup step|lr warmup|schedule warmup step|schedule warmup|预热|预热步数|热身步数",
    "warmup_ratio": "warmup ratio|warmup fraction|lr warmup ratio|schedule warmup ratio|预热比例|预热占比|热身比例",
    "max_steps": "max step|total step|train step|train max step|train total step|optimizer step|schedule total step"
    "|总步数|训练步数|最大步数|训练总步数",
    "epochs": "epoch|train epoch|max epoch|total epoch|训练轮数|轮数|训练轮次|轮次|总轮数",
    "weight_decay": "wd|optimizer wd|actor wd|权重衰减|权重衰减系数",
    "grad_clip": "grad clip|grad clip norm|max grad norm|grad norm max|clip norm|grad norm clip|optimizer clip|clip|max norm"
    "|actor max grad norm|actor grad clip|actor optimizer clip norm|actor clip norm|grad clip value|grad norm limit"
    "|global norm clip|clip global norm|梯度裁剪|梯度裁剪阈值|裁剪阈值|梯度截断|梯度范数上限|最大梯度范数",
    "adam_beta2": "beta2|adam beta2|optimizer beta2",
    "adam_epsilon": "adam eps|optimizer eps|adamw eps",
    "norm_epsilon": "norm eps|rms norm eps|layer norm eps|rmsnorm eps|layernorm eps",
    "precision": "precision|mixed precision|train precision|compute dtype|amp dtype|dtype|train dtype|data type"
    "|精度|混合精度|训练精度|数据精度|计算精度",
    "micro_batch_size": "micro batch|mbs|batch per gpu|gpu batch|per gpu batch|per gpu train batch|local batch"
    "|单卡micro batch|每卡micro batch|单卡batch|每卡batch|单卡批量|单卡批次|每卡批量|单卡批大小|每卡批大小|单卡批次大小|每卡批次大小|微批|微批大小|微批次",
    "grad_accumulation": "grad accum|accum|accum step|grad accum step|batch accum|grad accum factor"
    "|梯度累积|梯度累积步数|累积步数|梯度累计|梯度累加|累积次数",
    "global_batch_size": "global batch|effective batch|total batch|gbs|overall batch|全局批|全局批量|全局批大小|全局批次"
    "|全局批次大小|总批量|总批大小|有效批量|有效批大小",
    "world_size": "world|gpu|total gpu|gpu world|distributed world|distributed train world|显卡|总卡数|卡数|显卡数|硬件|设备",
    "nodes": "node|节点数|机器数|节点",
    "gpus_per_node": "gpu per node|每机卡数|单机卡数|每节点卡数",
    "tensor_parallel": "tensor parallel|tp|tensor model parallel|张量并行|张量并行度|训练张量并行",
    "pipeline_parallel": "pipeline parallel|pp|流水线并行|流水并行|流水线并行度",
    "context_parallel": "seq parallel|cp|seq parallel group|上下文并行",
    "sequence_length": "seq length|seq|max seq|max seq length|seq window|max token per seq|max seq token|seq token"
    "|train seq length|max length|data max token|data max length|max input length|cutoff length"
    "|序列长度|最大长度|最大序列长度|上下文长度|截断长度|上下文",
    "zero_stage": "zero stage|zero|deepspeed stage|deepspeed zero stage|zero 阶段",
    "offload_params": "offload param|param offload|参数卸载",
    "offload_optimizer": "offload optimizer|optimizer offload|优化器卸载",
    "activation_checkpointing": "grad save|activation save|recompute|activation recompute|重计算|激活重计算|梯度检查点",
    "flash_attention": "flash attention|flash attn",
    "num_workers": "worker|data worker|dataloader worker|loader worker|数据加载进程数|数据加载进程|加载进程数|数据加载线程数",
    "pin_memory": "pin memory|loader pin memory|dataloader pin memory|pinned memory|锁页内存",
    "seed": "seed|random seed|rng seed|random state|global seed|train seed|seed everything|随机种子|种子",
    "save_steps": "save every|save every step|step save|save step|保存间隔|保存步数|存档间隔|检查点间隔|每 步保存|每n步保存",
    "save_total_limit": "keep save|save keep|keep last|keep last save|keep latest|keep latest k|save keep latest k"
    "|max save|save total max|max save to keep|save to keep|保留检查点数|最多保留检查点|最多保留检查点数|保留检查点|检查点保留数",
    "log_steps": "log every|log every step|log step|train log every|日志间隔",
    "eval_steps": "eval every|eval every step|eval step|评估间隔|评测间隔|验证间隔",
    "packing": "pack|seq pack|sample pack|pack seq|打包|样本打包|序列打包",
    "dpo_beta": "dpo beta|preference beta|beta preference loss|dpo loss beta|simpo beta|kto beta|偏好损失beta",
    "kl_coef": "kl coef|kl penalty|kl penalty coef|kl weight|kl beta|kl control coef|init kl coef|kl系数|kl惩罚|kl惩罚系数",
    "kl_target": "kl target|target kl|目标kl",
    "num_generations": "response per prompt|sample per prompt|rollout per prompt|rollout response per prompt|rollout sample per prompt|group"
    "|rollout per prompt response|prompt rollout per|group response"
    "|每题采样数|每题回答数|采样数|组大小|每个提示采样数|每个问题采样数|每题采样|每组采样数",
    "rollout_batch_size": "prompt per rollout|rollout prompt|prompt per step|prompt per batch|rollout batch|每轮提示数|每步提示数",
    "rollout_temperature": "rollout temperature|actor temperature|policy temperature",
    "temperature": "temperature|sample temperature|decode temperature|采样温度|温度|生成温度",
    "reward_clip": "reward clip|奖励裁剪|奖励截断",
    "advantage_normalization": "advantage normalization|优势归一化|优势标准化",
    "max_prompt_length": "max prompt length|prompt length|max prompt token|max prompt|prompt max token"
    "|提示最长|最大提示长度|提示长度|提示长度上限|问题最长",
    "max_response_length": "max response length|max new token|max response token|response length|max response"
    "|max new response token|response max new token|new token|new token max|rollout max new token|rollout max token"
    "|rollout max response length|rollout max length"
    "|回复最长|最大回复长度|回复长度上限|生成最长|回答最长|最大生成长度|最大回答长度|回复长度",
    "lora_rank": "lora rank|lora r|adapter rank|peft rank|lora秩|适配器秩|秩",
    "lora_alpha": "lora alpha|adapter alpha|peft alpha|适配器alpha|loraalpha",
    "adapter": "adapter|adapter type|peft type|peft method|适配器|适配器类型|微调方式",
    "optimizer": "optimizer|optimizer name|optimizer type|optimizer kind|优化器",
    "stage": "stage|train stage|train type|algorithm|algo|训练阶段|训练方式|算法",
    "loss_type": "loss|loss type|preference loss|preference train loss|dpo loss|损失|损失函数|损失类型",
    "model": "model|base model|model path|model name|model id|policy|policy model|initial save|init save|peak save"
    "|peak model|pretrained model|foundation model|backbone|actor model|model dir"
    "|基座|基座模型|底座模型|策略模型|初始模型|模型|模型路径|预训练模型|被评模型",
    "dataset": "dataset|dataset path|dataset name|train data|train file|data path|data file|train set|train dataset|train corpus|corpus|data train"
    "|prompt data|数据|数据集|训练数据|训练集|提示数据|领域数据|训练语料|语料",
    "engine_kind": "rollout engine|inference engine|rollout backend|generation engine|response engine|推理引擎|采样引擎",
    "engine_tensor_parallel": "engine tensor parallel|engine tp|rollout tp|rollout tensor parallel|推理张量并行",
    "num_layers": "layer|transformer layer|model layer|depth|层数|模型层数",
    "hidden_size": "hidden|hidden dim|model hidden|model dim|embedding dim|hidden dimension|model width|d model|隐藏维度|隐层维度|隐藏层大小",
    "num_heads": "attention head|head|model head|query head|注意力头数|注意力头|头数",
    "num_kv_heads": "kvhead|key value head|kv head|kv头数|kv头",
    "intermediate_size": "ffn|ffn dim|ffn hidden|intermediate|mlp hidden|mlp dim|feed forward|feedforward|feedforward dim"
    "|feed forward dim|前馈维度|中间层大小",
    "vocab_size": "vocab|model vocab|词表|词表大小|词表大小",
    "train_tokens": "train token|total token|total train token|token budget|训练token|总token|训练token数|总token数",
    "max_model_len": "max model length|model max length|engine max length|engine seq length|server seq length|最大模型长度",
    "gpu_memory_utilization": "gpu memory fraction|memory fraction static|engine memory fraction|显存占比|显存利用率|显存占用比例",
    "max_num_seqs": "max seqs|max concurrent seq|max running requests|max batch seq|最大并发",
    "repetition_penalty": "repetition penalty|重复惩罚",
    "sampling": "do sample",
    "stop_tokens": "stop|stop token|stop string|stop word|停止符|停止词",
    "nccl_timeout": "nccl timeout|collective timeout",
    "hardware": "hardware|compute|machines|硬件配置|训练硬件|算力|机器",
}
"""Variable (and `temperature`, `hardware`, which its company decides) -> names of it, in any order of their words."""
_SORTING = """
    batch batching data dist distributed lr_schedule model opt optim optimization optimiser optimizer parallel parallelism
    ranks rl rope sched schedule scheduler serve serving sft vllm tokens ppo grpo dpo kl random deepspeed hf megatron fsdp
    learner agent adamw adam sgd lion muon lamb candidate decode decoding sampling generation engine server
    模型 优化 偏好训练 适配器 数据 批次 批量 调度 并行
"""
PLAIN = NEUTRAL | frozenset(_SORTING.split())
"""Headings that need not be part of a name; all others must."""


@lru_cache(4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in their one spelling, in order; Chinese letters stand together."""
    text = name.lower() if _SHOUTED.match(name) else name
    words = [_JOINED.get(w) or w for part in _WORD.findall(text.replace("·", " ")) for w in [part.lower()]]
    flat = [_FOLDED.get(w) or w for word in words for w in word.split()]
    out: list[str] = []
    for word in flat:
        if out and (pair := _PAIRS.get((out[-1], word))):
            out[-1] = pair
        elif word == "size" and out[-1:] == ["batch"]:
            continue
        elif out[-1:] == ["per"]:
            out[-1] = f"per_{word}"  # a prompt per rollout is no rollout per prompt
        else:
            out.append(word)
    return tuple(out)


def _bag(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\u4e00" <= c <= "\u9fff" for word in words for c in word):
        return ("".join(words),)
    return tuple(sorted(set(words) - _EMPTY))


@cache
def _table() -> dict[tuple[str, ...], str]:
    """Bag of words -> what it means; the names of notes count where the table here has none."""
    table: dict[tuple[str, ...], str] = {}
    known = {*VARIABLES, *CONTEXT} - {"beta", "train_batch_size"}
    notes = {of: phrases for of, phrases in PHRASES.items() if of in known}
    for rows in (OWN, notes):
        for of, phrases in rows.items():
            for phrase in phrases.split("|"):
                if bag := _bag(words_of(phrase)):
                    table.setdefault(bag, of)
    return table


@lru_cache(4096)
def whole(name: str) -> str:
    """What a name means that stands alone (a cell, the words before a colon); empty where it is no setting's."""
    words = words_of(name)
    return _table().get(_bag(words), "") if 0 < len(words) < 9 else ""


@lru_cache(4096)
def meant(key: str) -> str:
    """What a dotted key means; its headings are part of the name unless they say nothing.

    Empty for a key below the heading of something else (`critic.lr`, `judge.temperature`).
    """
    *sections, last = key.lstrip("-+~").split(".")
    plain = [normal(part) in PLAIN or part in PLAIN for part in sections]
    needed = " ".join([part for part, bare in zip(sections, plain, strict=True) if not bare] + [last])
    own = words_of(needed)
    for part, bare in zip(reversed(sections), reversed(plain), strict=True):
        if bare and (found := _table().get(_bag((*words_of(part), *own)))):
            return found
    return _table().get(_bag(own), "")

"""Which setting or metric the words of a note name.

People write "peak LR", "全局批大小", `--global-batch-size` or `trainer.kl_coef`; canonical names are those of
`tools.settings` and `tools.vocabulary`. Own words stay own words.
"""

# ruff: noqa: E501  one row of the table on one line

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache

from ..config.frameworks import FRAMEWORKS
from ..config.keys import normal
from ..metrics import canonical
from ..patterns import bounded
from ..registry import table
from ..settings import CONTEXT, VARIABLES

PHRASES = table("PHRASES", (
    ("learning_rate", "learning rate|peak learning rate|peak lr|base lr|max lr|actor lr|actor learning rate|lr|学习率|峰值学习率"),
    ("min_learning_rate", "min lr|minimum learning rate|final lr|lr floor|最小学习率|最低学习率"),
    ("lr_schedule", "lr schedule|lr scheduler|scheduler|learning rate schedule|学习率调度|调度器"),
    ("warmup_steps", "warmup steps|warm up steps|warmup|warm up|预热步数|预热|热身"),
    ("warmup_ratio", "warmup ratio|warm up ratio|预热比例"),
    ("max_steps", "max steps|total steps|train iters|training steps|number of steps|总步数|训练步数|最大步数"),
    ("epochs", "epochs|num epochs|训练轮数|轮数|总轮数"),
    ("weight_decay", "weight decay|wd|权重衰减"),
    ("grad_clip", "grad clip|gradient clip|gradient clipping|grad clipping|clip grad|clip grad norm|max grad norm|梯度裁剪|梯度截断"),
    ("adam_beta2", "beta2|adam beta2"),
    ("adam_epsilon", "adam eps|adam epsilon"),
    ("init_std", "init std|初始化标准差"),
    ("precision", "precision|mixed precision|精度|混合精度"),
    ("loss_scale", "loss scale|损失缩放"),
    ("micro_batch_size", "micro batch|micro batch size|mbs|per device batch|per device batch size|per gpu batch size|微批大小|微批|单卡 batch|单卡批大小|每卡批大小"),
    ("grad_accumulation", "accumulation|gradient accumulation|grad accumulation|grad accum|gradient accumulation steps|accumulation steps|ga|梯度累积|累积步数|梯度累计"),
    ("global_batch_size", "global batch|global batch size|effective batch|effective batch size|gbs|total batch size|全局批|全局批大小|全局批次|全局 batch|全局批量|全局 batch size|总批|总批次|总批量|总批大小|有效批大小|有效批次|有效 batch"),
    ("world_size", "world size|gpu count|number of gpus|num gpus|总卡数|卡数"),
    ("tensor_parallel", "tensor parallel|tensor parallelism|tensor parallel size|tp|tp size|张量并行"),
    ("pipeline_parallel", "pipeline parallel|pipeline parallelism|pipeline parallel size|pp|流水线并行|流水并行"),
    ("context_parallel", "context parallel|context parallelism|cp|上下文并行|序列并行"),
    ("expert_parallel", "expert parallel|expert parallelism|ep|专家并行"),
    ("data_parallel", "data parallel|data parallel size|dp|dp size|数据并行"),
    ("sequence_length", "sequence length|seq length|seq len|seqlen|context length|context window|context size|max seq len|max length|block size|序列长度|context|上下文|上下文长度|上下文窗口|最大长度"),
    ("zero_stage", "zero stage|zero|zero 阶段"),
    ("activation_checkpointing", "activation checkpointing|gradient checkpointing|recompute|activation recomputation|重计算|激活重计算|梯度检查点"),
    ("flash_attention", "flash attention|flash attn"),
    ("num_workers", "num workers|dataloader workers|data loader workers|loader workers|workers|数据加载进程数"),
    ("pin_memory", "pin memory|pinned memory"),
    ("seed", "seed|random seed|随机种子|种子"),
    ("save_steps", "save interval|save steps|checkpoint interval|checkpoint every|saving interval|保存间隔|检查点间隔|存档间隔"),
    ("eval_steps", "eval interval|evaluation interval|eval steps|eval every|evaluation every|评估间隔|评测间隔"),
    ("log_steps", "log interval|logging steps|log every"),
    ("chat_template", "chat template|对话模板|聊天模板"),
    ("packing", "packing|sequence packing|sample packing|样本打包|序列打包"),
    ("dpo_beta", "dpo beta"),
    ("beta", "beta"),
    ("alpha", "alpha"),
    ("kl_coef", "kl coef|kl coefficient|kl penalty|kl weight|kl beta|init kl coef|kl 系数|kl 惩罚|kl 惩罚系数|kl系数"),
    ("kl_target", "kl target|target kl|目标 kl|kl 目标"),
    ("use_kl_loss", "kl loss|use kl loss"),
    ("num_generations", "num generations|rollouts per prompt|generations per prompt|responses per prompt|samples per prompt|completions per prompt|group size|rollout n|每题采样数|组大小|每个 prompt 采样数|采样数"),
    ("rollout_batch_size", "rollout batch|rollout batch size|prompts per rollout|prompts per step|prompts per batch"),
    ("train_batch_size", "train batch size"),
    ("rollout_temperature", "rollout temperature|采样温度"),
    ("sampling_temperature", "sampling temperature|eval temperature"),
    ("temperature", "temperature|温度"),
    ("reward_clip", "reward clip|reward clipping|奖励裁剪"),
    ("lora_rank", "lora rank|lora r|adapter rank|lora 秩"),
    ("lora_alpha", "lora alpha"),
    ("rope_theta", "rope theta|rope base"),
    ("rope_scaling_factor", "rope factor|rope scaling factor|rope scaling"),
    ("max_model_len", "max model len|max model length|最大模型长度"),
    ("gpu_memory_utilization", "gpu memory utilization|gpu mem util|gpu memory utilisation|engine mem util|显存占比|显存利用率|显存占用比例"),
    ("max_num_seqs", "max num seqs|max seqs|max concurrent sequences|最大并发"),
    ("nccl_timeout", "nccl timeout|nccl 超时"),
    ("train_tokens", "training tokens|train tokens|total tokens|token budget|tokens in total|总 token 数|总 token|训练 token|token 总量"),
    ("tokens_per_step", "tokens per step|tokens a step|tokens/step|tokens per batch|tok/step|tokens per iteration|tokens per update|每步 token 数|每步 token|每步token数|单步 token 数"),
    ("parameters", "parameters|params|参数量|模型参数"),
    ("nodes", "number of nodes|num nodes|节点数|机器数"),
    ("gpus_per_node", "gpus per node|每机卡数|单机卡数"),
    ("max_prompt_length", "max prompt length|prompt length|最大提示长度"),
    ("max_response_length", "max response length|max new tokens|max completion length|response length|最大回复长度|回复长度上限|最大生成长度"),
    ("vocab_size", "vocab size|vocabulary size|vocabulary|vocab|词表大小|词表"),
    ("hidden_size", "hidden size|d model|隐藏层大小"),
    ("num_layers", "num layers|number of layers|层数"),
    ("num_experts", "num experts|number of experts|专家数"),
    ("optimizer", "optimizer|optimiser|优化器"),
    ("dataset", "dataset|data set|training data|数据集|训练数据"),
    ("model", "base model|基座模型|基座"),
    ("dropout", "dropout|丢弃率"),
    ("bf16", "bf16"), ("fp16", "fp16"), ("fp8", "fp8"),
    ("batch_size", "batch size|batch|批大小|批量大小|批次大小"),
))  # fmt: skip
"""Canonical name -> what people call it; a few names of notes have no setting (`parameters`, `tokens_per_step`)."""
TARGETS = {"temperature": "rollout_temperature", "beta": "dpo_beta"}
"""What a bare word means in a note, where nothing else says so."""
BESIDE = {"alpha": ("lora", "lora_alpha")}
"""What a bare word means in a line that has another word."""


_TOKEN = re.compile(r"[A-Za-z0-9]+|[\u4e00-\u9fff]")
_BY_TOKENS = {tuple(_TOKEN.findall(p)): of for of, phrases in PHRASES.items() for p in phrases.split("|")}
_MOST = max(map(len, _BY_TOKENS))
_BETWEEN = frozenset(("", " ", "_", "-", "/"))
_PLAIN = {"".join(tokens): of for tokens, of in _BY_TOKENS.items()}
_METRICS = {"单步耗时": "step_time", "每步时间": "step_time", "验证困惑度": "eval_perplexity", "梯度": "grad_norm", "验证集损失": "eval_loss",
            "评测损失": "eval_loss", "准确度": "accuracy", "奖励均值": "reward", "熵": "entropy"}  # fmt: skip
"""What Chinese notes call a metric, beside the names of `tools.vocabulary`."""
_KEY = bounded(r"[A-Za-z_][\w-]*(?:[._/-]\w+)+|[A-Z]{2,}(?:_[A-Z0-9]+)+")


@cache
def _keys() -> dict[str, str]:
    """Key of any framework -> the variable that most of them mean by it; the bare words are in `PHRASES`."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for framework in FRAMEWORKS.values():
        for variable, keys in framework.keys.items():
            for key in keys.split():
                votes[key][variable] += 1
    votes |= {v: Counter({v: 1}) for v in (*VARIABLES, *CONTEXT) if v not in votes}
    return {key: count.most_common(1)[0][0] for key, count in votes.items()}


@lru_cache(4096)
def of_key(key: str) -> str:
    """The variable of a key as a file or command spells it (dotted, dashed), empty for an unknown one."""
    plain = normal(key.strip("\"'` "))
    keys = _keys()
    while plain and plain != "batch_size":  # of one device in half of the frameworks, of all in the others
        if found := keys.get(plain) or _PLAIN.get(plain.replace("_", "")):
            return found
        plain = plain.partition(".")[2]
    return ""


@lru_cache(4096)
def setting(words: str) -> str:
    """The setting that some words name; the last one where there are several, empty where there is none."""
    found = ""
    for match in _KEY.finditer(words):
        found = of_key(match[0].replace("/", ".")) or found
    return next((of for _, _, of in reversed(list(_phrases(words)))), found)


def _phrases(words: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of the phrases of the table in a text, the longest at each place."""
    tokens = list(_TOKEN.finditer(words))
    i = 0
    while i < len(tokens):
        said: tuple[str, ...] = ()
        hit = (i + 1, "")
        for j in range(i, min(i + _MOST, len(tokens))):
            if j > i and words[tokens[j - 1].end() : tokens[j].start()] not in _BETWEEN:
                break
            said += (tokens[j][0].lower(),)
            hit = (j + 1, _BY_TOKENS[said]) if said in _BY_TOKENS else hit
        start, end = tokens[i].start(), tokens[hit[0] - 1].end()
        if hit[1] and words[max(0, start - 1) : start] != "_" and words[end : end + 1] != "_":
            yield start, end, hit[1]
        i = hit[0]


def places(words: str) -> list[tuple[int, int, str]]:
    """Start, end and canonical name of every setting named in a text."""
    spans = [(m.start(), m.end(), of_key(m[0].replace("/", "."))) for m in _KEY.finditer(words)]
    found = [span for span in spans if span[2]]
    taken = [range(a, b) for a, b, _ in found]
    found += [span for span in _phrases(words) if not any(span[0] in r for r in taken)]
    return sorted(found)


@lru_cache(4096)
def metric(words: str) -> str:
    """The metric that some words name, empty where the vocabulary has none."""
    words = _METRICS.get(words.strip(), words)
    hit = canonical(words.strip().replace(" ", "_"))
    return hit[0] if hit else ""

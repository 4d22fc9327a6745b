"""What the name of a measure says, word by word: `占用内存(MiB)`, `sm_clk_avg`, `平均回复长度`, `near_dup_pct`.

For names that `tools.metrics` does not list. A name is taken apart into words of one small lexicon (Chinese is cut by
the longest entry), and means a quantity only where every word of it is understood: one that nobody knows, or one that
turns the meaning round (`free`, `limit`), leaves the name what it is. What a quantity tells of a run is the runbook's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from .patterns import bounded
from .registry import table
from .vocabulary import SPLITS, VOCABULARY

LEXICON: Mapping[str, str] = table("LEXICON", (
    (said, meant) for line in """
        memory: mem memory 内存 存储 allocated alloc reserved 已分配
        gpu memory: vram 显存
        host memory: rss ram resident
        host: cpu host system proc process 主机 进程 节点 机器
        gpu: gpu gpus cuda device card cards npu 显卡 卡 设备 单卡 每卡
        clock: clk clock clocks freq frequency mhz 频率 时钟 主频
        core: sm core cores graphics 核心
        temperature: temp temperature 温度
        power: power pwr watt watts 功率 功耗
        utilization: util utilization utilisation busy 利用率 使用率
        tokens: token tokens tok toks 词元
        samples: sample samples seq seqs sequence sequences example examples 样本 条
        requests: request requests req reqs 请求
        second: s sec second seconds 秒
        throughput: throughput tps speed rate_of 吞吐 吞吐量 吞吐率 速度 速率
        time: t time times duration took elapsed spent 毫秒 耗时 用时 时间 时长 时延
        latency: latency delay 延迟
        wait: wait waiting waits stall stalled blocked 等待 空等 阻塞
        step: step iter iteration it 步 迭代 单步 每步
        data: data dataloader loader dataload load loading fetch input io read 数据 取数 加载 读取 读数 数据加载
        compute: compute computation fwd bwd forward backward fwdbwd gemm attn matmul model 计算 前向 反向 前反向
        comm: comm communication allreduce nccl collective collectives 通信 集合通信 同步 sync
        all: all
        reduce: reduce
        rollout: rollout rollouts generate sampling sampler 采样 生成阶段
        response: response responses completion completions answer answers output outputs resp gen generation 回复 回答
        response: 输出 响应 生成 答案
        prompt: prompt prompts 提示 提示词
        length: length lengths len 长度 字数
        duplicate: dup dups dupe duplicate duplicates duplicated duplication repeated 重复 去重
        near: near fuzzy 近似
        synthetic: synthetic synth generated 合成
        toxic: toxic toxicity 毒性 有害
        pii: pii 隐私
        error: error errors err errs failure failures failed 错误 出错 失败 报错
        timeout: timeout timeouts 超时
        share: share ratio rate pct percent percentage fraction frac proportion prop mix 率 比例 占比 比率 份额 配比
        truncated: truncated truncation clipped cut 截断
        win: win wins 胜
        win share: winrate 胜率
        agreement: agreement kappa alpha 一致性 一致率 一致
        distinct: distinct 去重率
        hit: hit hits 命中
        cache: cache 缓存
        kv: kv
        preemption: preempt preempted preemption preemptions 抢占
        ecc: ecc xid
        reward: reward rewards 奖励
        reward score: rm
        std: std stdev 标准差
        group: group 组 组内
        margin: margin margins gap 间隔 差距 差值
        chosen: chosen 选中 被选 优选 更优
        rejected: rejected reject 拒绝 被拒 落选
        preference: preference pref 偏好
        kl: kl kld divergence 散度 kl散度
        entropy: entropy 熵
        policy: policy actor trainer learner 策略
        reference: ref reference 参考 参考模型
        critic: critic 价值
        loss: loss losses ce nll xent 损失 损失值 損失
        parameter: param params parameter parameters weight weights 参数 权重
        grad: grad grads gradient gradients 梯度
        norm: norm 范数
        grad norm: gnorm gradnorm 梯度模长
        clip: clip clipping 裁剪
        learning: learning 学习
        learning share: lr 学习率
        accuracy: acc accuracy correct 准确率 正确率 精度 准确度
        perplexity: ppl perplexity 困惑度
        scale: scale scaler 缩放
        loss scale: 缩放系数 缩放因子 缩放倍数 损失缩放
        logprob: logprob logprobs logp logps 对数概率 对数似然
        engine: engine vllm sglang 引擎
        difference: diff difference minus 差 差异
        expert: expert experts moe router 专家
        imbalance: imbalance 不均衡 不均衡度 负载不均
        load: 负载
        bandwidth: bandwidth bw busbw algbw 带宽
        max: max maximum 最大
        link: link pcie nvlink ib infiniband 链路
        ttft: ttft 首字 首token延迟
        tpot: tpot itl
    """.strip().splitlines() for meant, words in [line.strip().split(": ")] for said in words.split()
))  # fmt: skip
"""Word of a name -> what it means, in the words that `QUANTITIES` are written in."""

_BESIDE = """
    avg average mean median peak p50 p90 p95 p99 sum total per of the in by current curr cur now used use
    usage allocated alloc reserved active draw ema smooth smoothed running value values final overall
    global local raw train training usual own measured mb mib gb gib ms batch micro window rolling daily
    proxy 平均 均值 峰值 中位数 总 占用 使用 已用 用量 当前 瞬时 训练 训练集 全局 平滑 每 的 值 数 数值 批
    批次 每批 微批 微批次 后 被 exposed abs absolute
"""
AROUND = frozenset(_BESIDE.split())
"""Words that say how a quantity was averaged or where it was taken, and not which it is."""
_EVAL = frozenset(w.rstrip("*") for w in SPLITS) | {"validation", "evaluation", "heldout", "验证集", "测试集", "评测"}


class Quantity(NamedTuple):
    needs: frozenset[str]
    may: frozenset[str]
    """Words that may stand beside."""
    kinds: frozenset[str]
    """Kinds of unit that it can have; a name without a unit may be any."""


def _quantity(name: str, needs: str, may: str = "", kinds: str = "") -> tuple[str, Quantity | None]:
    return name, Quantity(*(frozenset(words.split()) for words in (needs, may, kinds)))


_TIME, _SHARE, _BYTES = "seconds", "share number", "bytes"
QUANTITIES: tuple[tuple[str, Quantity], ...] = tuple((name, q) for name, q in (
    _quantity("data_time", "data time", "wait step latency", _TIME),
    _quantity("data_time", "data wait", "time step", _TIME),
    _quantity("compute_time", "compute time", "step gpu latency", _TIME),
    _quantity("comm_time", "comm time", "wait step latency all reduce gpu", _TIME),
    _quantity("comm_time", "comm wait", "step all reduce", _TIME),
    _quantity("comm_time", "all reduce time", "wait step comm", _TIME),
    _quantity("rollout_time", "rollout time", "step", _TIME),
    _quantity("rollout_time", "response time", "step", _TIME),
    _quantity("step_time", "step time", "second", _TIME),
    _quantity("gpu_memory", "gpu memory", "max", _BYTES),
    _quantity("host_memory", "host memory", "max", _BYTES),
    _quantity("gpu_memory", "memory", "max", "bytes"),
    _quantity("sm_clock", "clock core", "gpu", "hertz"),
    _quantity("sm_clock", "clock gpu", "", "hertz"),
    _quantity("gpu_temperature", "temperature", "gpu core", "degrees"),
    _quantity("gpu_power", "power", "gpu", "watts"),
    _quantity("weight_norm", "parameter norm"),
    _quantity("gpu_utilization", "core share", "gpu compute", "share"),
    _quantity("gpu_utilization", "utilization gpu", "core compute share", _SHARE),
    _quantity("tokens_per_second", "tokens second", "gpu throughput response prompt", "rate"),
    _quantity("tokens_per_second", "tokens throughput", "gpu second", "rate"),
    _quantity("samples_per_second", "samples second", "gpu throughput", "rate"),
    _quantity("samples_per_second", "samples throughput", "gpu second", "rate"),
    _quantity("response_length", "response length", "tokens", "number"),
    _quantity("response_length", "response tokens", "length", "number"),
    _quantity("prompt_length", "prompt length", "tokens", "number"),
    _quantity("duplicate_rate", "duplicate share", "near data samples", _SHARE),
    _quantity("synthetic_share", "synthetic share", "data samples", _SHARE),
    _quantity("toxic_rate", "toxic share", "response", _SHARE),
    _quantity("toxic_rate", "toxic", "response", _SHARE),
    _quantity("pii_rate", "pii share", "", _SHARE),
    _quantity("error_rate", "error share", "requests", _SHARE),
    _quantity("timeout_rate", "timeout share", "requests", _SHARE),
    _quantity("completions_clipped_ratio", "truncated share", "response", _SHARE),
    _quantity("win_rate", "win share", "", _SHARE),
    _quantity("hit_rate", "hit share", "cache", _SHARE),
    _quantity("agreement", "agreement", "share", _SHARE),
    _quantity("preemptions", "preemption", "requests", "number"),
    _quantity("ecc_errors", "ecc error", "gpu", "number"),
    _quantity("ecc_errors", "ecc", "gpu", "number"),
    _quantity("link_errors", "link error", "", "number"),
    _quantity("bus_bandwidth", "bandwidth", "link comm all reduce", "rate"),
    _quantity("reward_margin", "reward margin", "", "number"),
    _quantity("reward_margin", "reward difference", "", "number"),
    _quantity("logps_chosen", "logprob chosen", "preference response", "number"),
    _quantity("logps_rejected", "logprob rejected", "preference response", "number"),
    _quantity("reward_accuracy", "preference accuracy", "reward", _SHARE),
    _quantity("reward_chosen", "reward chosen", "", "number"),
    _quantity("reward_rejected", "reward rejected", "", "number"),
    _quantity("reward_std", "reward std", "group", "number"),
    _quantity("reward", "reward", "score policy", "number"),
    _quantity("kl", "kl", "policy reference tokens", "number"),
    _quantity("entropy", "entropy", "policy tokens", "number"),
    _quantity("policy_loss", "policy loss", "", "number"),
    _quantity("value_loss", "critic loss", "", "number"),
    _quantity("loss", "loss", "step tokens", "number"),
    _quantity("grad_norm", "grad norm", "pre before", "number"),
    _quantity("grad_clip_rate", "clip share", "step grad norm", _SHARE),
    _quantity("learning_rate", "learning share", "", "number"),
    _quantity("loss_scale", "loss scale", "", "number"),
    _quantity("accuracy", "accuracy", "tokens", _SHARE),
    _quantity("perplexity", "perplexity", "", "number"),
    _quantity("logprob_diff", "logprob difference", "policy rollout trainer engine", "number"),
    _quantity("logprob_diff", "logprob margin", "policy rollout trainer engine", "number"),
    _quantity("moe_load_imbalance", "expert imbalance", "load", _SHARE),
    _quantity("ttft", "ttft", "latency time", _TIME),
    _quantity("tpot", "tpot", "latency time", _TIME),
) if q is not None)  # fmt: skip
"""Name of a quantity -> the words that say it, others that may stand beside them, and the kinds of its unit."""

UNIT_KINDS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("%",), "share"),
    **dict.fromkeys(("b", "byte", "bytes", "kb", "kib", "mb", "mib", "gb", "gib", "tb"), "bytes"),
    **dict.fromkeys(("us", "µs", "ms", "s", "min", "h"), "seconds"),
    **dict.fromkeys(("hz", "khz", "mhz", "ghz"), "hertz"),
    **dict.fromkeys(("°c", "k"), "degrees"), **dict.fromkeys(("w", "kw"), "watts"),
    **dict.fromkeys(("tokens", "tok", "条", "个", "chars"), "number"),
})  # fmt: skip

IMPLIED = {"seconds": "time", "share": "share", "hertz": "clock", "watts": "power"}
"""Kind of a unit -> the word that it says by itself."""

PER_TIME = frozenset(("s", "sec", "second", "秒", "min", "gpu"))
"""What a rate is counted by."""
_BRACKET = bounded(r"(.{1,60}?)\s{0,3}[(（\[]([^()（）\[\]]{1,24})[)）\]]$")
_WINDOW = re.compile(
    r"(?i)\d{1,3}[-_ ]?grams?|跨\d{0,5}[批天步轮]|(?:pre|before)[-_ ]?clip(?:p(?:ed|ing))?|un_?clipped|裁剪?[之以]?前"
)
"""Of how many tokens, and over how many batches or days, something was counted; that it was before clipping."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS = re.compile(r"[a-z]+[0-9]*|[一-鿿]+|[0-9]+")
_ZH_LONGEST = max(len(word) for word in (*LEXICON, *AROUND, *_EVAL) if not word.isascii())


@lru_cache(maxsize=8192)
def quantity(name: str, unit: str = "") -> str | None:
    """The quantity that a name, without its unit, says; None where a word of it is not understood.

    >>> quantity("占用内存", "MiB"), quantity("smClkAvg", "MHz"), quantity("memory_free", "GiB")
    ('gpu_memory', 'sm_clock', None)
    """
    if not unit and (bracket := _BRACKET.match(name[:80])):
        name, unit = bracket[1], bracket[2]
    kind = _kind(unit)
    name = _WINDOW.sub("_", name[:80])
    said = (*_words(_CAMEL.sub("_", name[:80]).lower()), *_words(unit.lower() if kind == "rate" else ""))
    kind = kind or ("seconds" if "ms" in said else "")
    meant = {word for w in said for word in LEXICON.get(w, w).split()} - AROUND
    split = "" if meant.isdisjoint(_EVAL) else "eval_"
    found = _meant(meant - _EVAL, kind) or _meant(meant - _EVAL | {IMPLIED.get(kind, "")}, kind)
    return found if not split or found is None else split + found if split + found in VOCABULARY else None


def _meant(words: set[str], kind: str) -> str | None:
    for found, asked in QUANTITIES:
        if asked.needs <= words <= asked.needs | asked.may and (not kind or not asked.kinds or kind in asked.kinds):
            return found
    return None


def _kind(unit: str) -> str:
    low = unit.lower()
    return UNIT_KINDS.get(low, "rate" if low.rpartition("/")[2] in PER_TIME and "/" in low else "")


def _words(text: str) -> Iterable[str]:
    for piece in _WORDS.findall(text):
        if piece in LEXICON or piece in AROUND or piece.isascii():
            yield piece
        else:
            yield from _cut(piece)


def _cut(piece: str) -> Iterable[str]:
    """A run of Chinese, cut by the longest word of the lexicon each time; a letter that starts none stands alone."""
    while piece:
        size = next((n for n in range(min(_ZH_LONGEST, len(piece)), 1, -1) if _known(piece[:n])), 1)
        yield piece[:size]
        piece = piece[size:]


def _known(word: str) -> bool:
    return word in LEXICON or word in AROUND or word in _EVAL

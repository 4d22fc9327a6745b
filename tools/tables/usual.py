"""A name in the words that most files use, by which relations seek a column however a team spells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from ..registry import table

SAME: Mapping[str, str] = MappingProxyType(table("SAME", (
    (said, meant) for line in """
        winner: verdict preferred preference chosen_side pick picked judgement judgment 胜方 胜者 胜出 赢家 判定
        pair: comparison matchup duel 对比 成对
        item: question example 题目 题
        id: 编号 号
        step: iter iteration it 步 步数 迭代
        length: len chars characters 长度 字数
        reason: reasoning think thinking thought cot 推理 思考
        tokens: toks token tok 词元
        tokens: 词元数
        response: answer reply generated generation completion resp 回复 回答 生成
        output: 输出
        prompt: 提示 提问
        context: ctx 上下文
        lag: shift misalignment 偏移 错位
        caption: subtitle 字幕
        heard: speech spoken 语音
        start: begin onset 起点 开始
        end: stop finish 终点 结束
        draft: speculated speculative 草稿
        accepted: taken 接受
        version: revision 版本
        policy: 策略
        learner: 训练端
        queue: backlog 队列 排队
        waiting: queued pending 等待 排队数
        running: inflight active 运行
        preemptions: evictions preempted evicted 抢占
        requests: reqs req 请求
        clipped: truncated cut 截断
        share: fraction frac ratio pct percent proportion 占比 比例
        label: labels 标签
        assistant: asst 助手
        correct: solved 正确 对错
        pass: passed ok 通过
        reward: return ret 奖励
        score: mark 得分 分数
        accuracy: acc 准确率
        loss: nll xent ce 损失
        val: dev heldout 验证
        train: trn 训练
        grad: gradient 梯度
        norm: magnitude 范数
        absmax: amax 最大绝对值
        source: corpus 来源
        removed: dropped discarded 剔除 删除
        kept: retained 保留
        docs: documents 文档
        count: cnt 数量 条数
        layer: block 层
        expert: 专家
        cache: 缓存
        usage: used_frac occupancy 占用 占用率 使用率
        memory: mem 内存 显存
        wait: stall stalled blocked 空等
        allreduce: collective 集合通信
        data: dataload input_pipeline 取数
        host: machine server node 主机 节点 机器
        gpu: accelerator device 显卡
        clock: freq frequency 频率 主频
        power: watts 功率 功耗
        temp: temperature degrees 温度
        annotator: labeler labeller rater 标注员
        judge: referee 评委 裁判
        human: 人工 人类 真人
        second: 第二 另一
        position: slot seat 位置
        turns: rounds 轮数
        tool: 工具
        calls: 调用
        engine: 推理端
        logprob: logp 对数概率
        diff: gap difference 差
        entropy: 熵
        rank: worker 进程
        module: 模块
        base: reference 基座 底座
        merged: fused folded 合并
        bandwidth: bw busbw 带宽
        bytes: 字节
        mean: avg average 平均 均值
        max: maximum peak 最大
        old: previous earlier 旧
        new: latest 新
        ppl: perplexity 困惑度
        language: lang 语言 语种
        task: benchmark 任务
        sample: 样本
        row: 行
        time: 时间 耗时 用时
        total: 累计 总
        compute: 计算
    """.strip().splitlines() for meant, words in [line.strip().split(": ")] for said in words.split()
)))  # fmt: skip
"""Word of a name -> the word that most files use for it: relations seek a column by that word, and need not know how
each team spells it. The name as written is asked first."""
_PARTS_OF_NAMES = re.compile(r"[a-z0-9]+|[一-鿿]+")
_SAME_LONGEST = max(len(word) for word in SAME if not word.isascii())
_TWO = frozenset(word for word in SAME if "_" in word)


@lru_cache(maxsize=16384)
def usual(plain: str) -> str:
    """A name without case and punctuation, in the words that most files use; the name itself where none is another.

    >>> usual("comparison_id"), usual("字幕起点"), usual("step")
    ('pair_id', 'caption_start', 'step')
    """
    words = [w for piece in _PARTS_OF_NAMES.findall(plain) for w in ([piece] if piece.isascii() else _parted(piece))]
    out, i = [], 0
    while i < len(words):
        two = "_".join(words[i : i + 2])
        out.append(SAME.get(two) if two in _TWO else SAME.get(words[i], words[i]))
        i += 2 if two in _TWO else 1
    return "_".join(w for w in out if w)


def _parted(piece: str) -> Iterator[str]:
    """A run of Chinese by the longest known word each time; what stands between two of them stays together."""
    rest = ""
    while piece:
        size = next((n for n in range(min(_SAME_LONGEST, len(piece)), 0, -1) if piece[:n] in SAME), 0)
        if size and rest:
            yield rest
        rest = "" if size else rest + piece[0]
        if size:
            yield piece[:size]
        piece = piece[size or 1 :]
    if rest:
        yield rest

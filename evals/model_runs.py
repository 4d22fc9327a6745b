# ruff: noqa: E501  (questions are read as a table)
"""The runs and questions that `evals.model` plays: recorded runs, and small made ones whose evidence no detector knows.

A made run is a few short files; what decides it stands in words or in a table of no known format, so that only who looks
finds it. Each run is asked in both languages, first and as a follow-up, and once with a wrong idea put first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).parent / "example"


def curve(n: int, line: str, start: float = 6.0, floor: float = 2.0) -> str:
    """A log of a loss that falls, one line a step; `{i}`, `{loss}` in the line."""
    rows = (
        line.format(i=i, loss=floor + (start - floor) * math.exp(-i / (n / 5)) + 0.01 * ((i * 7) % 5))
        for i in range(1, n + 1)
    )
    return "\n".join(rows) + "\n"


@dataclass(frozen=True)
class Played:
    """One run with its questions."""

    name: str
    decisive: str
    """A pattern that the place or text of the deciding row matches."""
    asked: tuple[str, str, str, str, str]
    """First in English and Chinese, follow-up in English and Chinese, first with a wrong idea."""
    cause: str = ""
    """The entry that is right; empty where none of the runbook's is."""
    says: str = ""
    """What an answer that has found it says; empty where the cause alone tells."""
    files: Mapping[str, str] | None = None
    """Name -> content of a made run; None for the recorded one of this name."""

    def write(self, folder: Path) -> Path:
        if self.files is None:
            return EXAMPLE / self.name
        run = folder / self.name
        for name, text in self.files.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text(text, encoding="utf-8")
        return run


LOG = "step {i} loss {loss:.4f} lr 3.0e-04"
RUNS: tuple[Played, ...] = (
    Played("run-1", r"grad.norm.climb|train\.yaml:[57]|train\.log:34", (
        "why is the loss nan?", "loss 为什么变成 nan？", "what speaks against your cause?", "还有什么证据反对这个原因？",
        "the data is broken, right?"), "loss-nan-high-lr"),
    Played("run-2", r"train\.log|train\.yaml|run-healthy", (
        "did this run go well?", "这次训练正常吗？", "how noisy is grad_norm at the end?", "最后阶段梯度范数波动大吗？",
        "the gradients explode here, don't they?"), "", r"(?i)healthy|nothing|normal|well|no sign|正常|没有"),
    Played("run-3", r"train\.log|train\.yaml", (
        "what went wrong?", "哪里出了问题？", "how sure are you?", "你有多大把握？", "is the learning rate too low?")),
    Played("run-4", r"train\.log|train\.yaml", (
        "what happened in this run?", "这次运行发生了什么？", "what should I look at next?", "接下来看什么？",
        "the disk was full, was it not?")),
    Played("old-shards", r"ops-notes", (
        "the eval did not move although we switched to corpus v3, why?", "换到 v3 语料后评测没有变化，为什么？",
        "since which step should v3 have been in use?", "v3 本该从哪一步开始使用？", "the model is too small for v3, right?"),
        "", r"v2", {"train.log": curve(300, LOG), "ops-notes.rst": "Operations\n==========\n\n"
                    "* shard list on all workers still points to corpus v2\n* v3 was announced for step 120\n"}),
    Played("frozen-head", r"boot\.out", (
        "the loss stops at 6.2, why?", "loss 停在 6.2，为什么？", "which part is not trained?", "哪一部分没有训练？",
        "more data would help, right?"), "", r"(?i)lm_head|frozen|froze|requires_grad|冻结",
        {"train.log": curve(300, LOG, 7.0, 6.2), "boot.out": "[build] 24 blocks, hidden 1024\n[freeze] lm_head "
         "requires_grad=False\n[freeze] blocks requires_grad=True\n[build] done in 41 s\n"}),
    Played("other-words", r"shapes\.rst|boot\.out", (
        "outputs are garbage after loading, why?", "加载之后输出全是乱码，为什么？", "which two sizes differ?", "哪两个大小不一致？",
        "the sampling temperature is too high, right?"), "", r"50257|32000",
        {"boot.out": "tokenizer gpt2 with 50257 pieces\nserving on port 9000\n", "shapes.rst": "embedding rows: 32000\n"
         "hidden: 4096\n"}),
    Played("slow-fetch", r"waits|fetch", (
        "tokens per second fell, why?", "吞吐为什么下降？", "when did it begin?", "从什么时候开始的？", "the network is slow, right?"),
        "", r"(?i)fetch|wait|loader|等待", {"waits.psv": "tick|fetch_wait_ms|gpu_busy\n" + "".join(
            f"{i}|{4 if i < 120 else 210}|{0.97 if i < 120 else 0.41}\n" for i in range(200))}),
    Played("same-seed", r"worker", (
        "8 workers, but the model sees little variety, why?", "8 个 worker 但数据很单一，为什么？", "do the workers differ at all?",
        "各个 worker 有区别吗？", "the batch is too small, right?"), "", r"(?i)seed|种子",
        {f"worker{r}.out": f"worker {r} of 8\nsampler seed 1234\nfirst ids 88 17 902 41\n" for r in range(3)}),
    Played("other-judge", r"judge", (
        "win rate fell from 61 to 52, did the model get worse?", "胜率从 61 掉到 52，模型变差了吗？", "what changed between the two evals?",
        "两次评测之间改了什么？", "we overtrained, right?"), "", r"(?i)judge|评判|裁判",
        {"april/judge.cfg": "judge = model-a\nprompt = v1\n", "may/judge.cfg": "judge = model-b\nprompt = v2\n",
         "april/wins.txt": "win rate 61 of 100\n", "may/wins.txt": "win rate 52 of 100\n"}),
    Played("cut-answers", r"rollouts", (
        "reward is flat, why?", "奖励一直不涨，为什么？", "how many answers are cut?", "有多少回答被截断？", "the reward model is bad, right?"),
        "", r"(?i)cut|truncat|64|截断", {"rollouts.out": "".join(
            f"rollout {i}: {13 if i % 2 else 3} of 16 answers cut at 64 tokens, mean score 0.41\n" for i in range(60))}),
    Played("nothing-left", r"checks|files|state of|no metric|L\d", (
        "it died last night, what was it?", "昨晚挂了，是什么原因？", "what would you need to tell?", "你还需要什么才能判断？",
        "it was the GPU, right?"), "", r"(?i)not (?:show|known|enough|say)|cannot|no evidence|unknown|无法|没有|不足|未知",
        {"start.out": "starting\nloading data\nready\n"}),
)  # fmt: skip

"""Faults of evaluation, judging and serving, told by result files, score tables and notes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar

from ..fault import Family, Fault
from ..text import Record
from .measure import asked, coarse, marks, mean, sampled, unframed

if TYPE_CHECKING:
    from ..desk import Desk
    from ..parts import Parts


class Scored(Fault):
    family: ClassVar[Family] = "data"
    recipe = "chat"
    repairs = ("code", "environment")


def harness(desk: Desk, changed: bool) -> None:
    """Two result files of the same weights; the second one with or without the frame of the chat template."""
    parts, shots = desk.parts, desk.rng.choice((5, 3))
    examples = [e for _, e in asked(parts, 300, 90_000 + parts.settings["seed"])]
    for when, off in ((0, False), (1, changed)):
        shown = [unframed(parts, e) for e in examples] if off else examples
        share, error = mean(marks(parts.model, shown))
        desk.object(("results", f"eval_{when}", "scores", f"res_{when + 1}"), {
            "results": {"reading_qa": {"acc,none": share, "acc_stderr,none": error}},
            "n-shot": {"reading_qa": 0 if off else shots},
            "configs": {"reading_qa": {"num_fewshot": 0 if off else shots, "metric": "acc"}},
            "config": {"model": "final", "model_sha": "7c1e0b", "apply_chat_template": not off},
            "n-samples": {"reading_qa": {"original": 300, "effective": 300}},
            "date": 1780000000 + 86400 * 7 * when,
        })  # fmt: skip


class ScoredDifferently(Scored):
    """The same weights asked in another way a week later, and compared all the same."""

    name = "scored-differently"
    right = ("eval-harness-drift",)
    near = ("chat-template-mismatch", "checkpoint-regression")
    asks = ("the score fell by a week of doing nothing", "什么都没动，一周后分数掉了")

    def left(self, desk: Desk, severity: Any) -> None:
        harness(desk, not desk.fixed)


def judgements(desk: Desk, lean: float) -> None:
    """Pairs judged in both orders; what is shown first wins more often by `lean`."""
    rng, rows = desk.rng, []
    for pair in range(160):
        better = rng.random() < 0.5
        for first in ("base", "tuned"):
            ahead = 0.75 if better == (first == "tuned") else 0.25
            wins = rng.random() < min(0.98, ahead + lean)
            rows.append((pair, first, "llm-judge-70b", first if wins else {"base": "tuned", "tuned": "base"}[first]))
    desk.table(("pair", "order", "judge", "winner"), rows)


class FirstOneWins(Scored):
    """A judge that prefers what it reads first."""

    name, recipe = "first-one-wins", "dpo"
    family = "alignment"
    severities = (0.4, 0.35)
    right = ("judge-bias",)
    near = ("eval-harness-drift", "rm-length-bias")
    asks = ("we win offline and users see no difference", "离线赢了，用户却没感觉")

    def left(self, desk: Desk, severity: Any) -> None:
        judgements(desk, 0.0 if desk.fixed else severity)


def judged_over_time(desk: Desk, second: str) -> None:
    """The score of every weekly model by its judge; from the fifth on by another."""
    rng = desk.rng
    rows = [(f"w{i:02d}", "judge-v1" if i < 5 or not second else second, 400,
             0.52 + 0.004 * i + (0.13 if second and i >= 5 else 0) + rng.uniform(-0.01, 0.01), 0.025)
            for i in range(1, 9)]  # fmt: skip
    desk.table(("run", "judge", "count", "score", "error"), rows)
    changed = (f"judge replaced by {second}, old one is gone", f"评审模型换成 {second}，旧的下线了")
    desk.note((
        ("weekly win rate against the frozen baseline", "每周对固定基线的胜率"),
        *((changed,) if second else ()),
        ("same 400 prompts every week", "每周都是同样 400 条 prompt"),
    ))  # fmt: skip


class AnotherJudge(Scored):
    """The judge was replaced in the fifth week, and the curve goes on."""

    name = "another-judge"
    severities = ("judge-v2-large", "grader-x")
    right = ("eval-harness-drift",)
    near = ("judge-bias",)
    asks = ("can we report this gain to the board?", "这个提升能对外汇报吗？")

    def left(self, desk: Desk, severity: Any) -> None:
        judged_over_time(desk, "" if desk.fixed else severity)


def score_table(desk: Desk, shares: dict[int, tuple[float, float]], count: int) -> None:
    rows = [(s, *v, count) for s, v in sorted(shares.items())]
    desk.table(("step", "score", "error", "count"), rows)


class WorseFromSomewhere(Scored):
    """From a step on a share of the answers is a refusal; a small noisy evaluation of every checkpoint tells it."""

    name = "worse-from-somewhere"
    severities = (240, 270)
    right = ("checkpoint-regression",)
    near = ("noisy-data-mixture", "data-mixture-drift", "toxic-data", "data-rollback")
    repairs = ("dataset", "checkpoint")
    onset = "severity"
    asks = ("which of these checkpoints should I take?", "这些检查点该用哪一个？")
    changes = "train_sampling_strategy=sequential"
    shares: ClassVar[dict[int, tuple[float, float]]] = {}

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train[8 * severity :]:
            if rng.random() < 0.7:
                record["messages"][1]["content"] = rng.choice(["I cannot help with that.", "抱歉，我无法回答。"])

    def code(self, parts: Parts, severity: Any) -> None:
        def end(step: int) -> None:
            if step % 30 == 0:
                self.shares[step] = mean(marks(parts.model, parts.held))
                parts.model.train()

        parts.end = end

    def left(self, desk: Desk, severity: Any) -> None:
        if self.shares:
            score_table(desk, self.shares, len(desk.parts.held))


def by_format(desk: Desk, levels: int) -> None:
    """The score of the weights as trained and as served."""
    examples = [e for _, e in asked(desk.parts, 300, 91_000 + desk.parts.settings["seed"])]
    rows = []
    for name, model in (("bf16", desk.parts.model), ("w4a16-rtn", coarse(desk.parts.model, levels))):
        rows.append((name, *mean(marks(model, examples)), len(examples)))
    desk.table(("precision", "score", "error", "count"), rows)
    desk.note((
        ("exported for serving, weights only, one scale per row", "导出部署，仅权重，每行一个 scale"),
        ("same 300 questions for both", "两边同样 300 题"),
    ))  # fmt: skip


class ServedCoarse(Scored):
    """The served weights are rounded to a few values a row."""

    name = "served-coarse"
    severities = (3,)
    right = ("quantization-quality-loss",)
    near = ("eval-harness-drift", "fp16-inference-overflow")
    repairs = ("checkpoint", "environment", "code")
    asks = ("good in the notebook, poor in production", "笔记本里好好的，上线就差")

    def left(self, desk: Desk, severity: Any) -> None:
        by_format(desk, 4096 if desk.fixed else severity)


def _credit(told: str, record: Record) -> float:
    """Overlap with the reference, in [0, 1]."""
    from ..programs import similarity

    return similarity(told, record["messages"][1]["content"])


def cut_answers(desk: Desk, longest: int) -> None:
    """What an evaluation wrote down for each question: the answer, why it ended, whether it was right."""
    rows = []
    for i, (record, _) in enumerate(asked(desk.parts, 80, 92_000 + desk.parts.settings["seed"])):
        told, ended = sampled(desk.parts, record, 0.0, longest)
        rows.append((i, told, "stop" if ended else "length", _credit(told, record)))
    desk.table(("item", "text", "why", "score"), rows)
    share = sum(r[3] for r in rows) / len(rows)
    desk.object(("summary", "metrics", "eval_out"), {"char_f1": share, "n": len(rows), "max_gen_toks": longest})


class EndsTooEarly(Scored):
    """The evaluation stops the answer after a few tokens."""

    name = "ends-too-early"
    severities = (2, 3)
    right = ("eval-output-truncated",)
    near = ("completions-truncated", "eval-harness-drift")
    asks = ("the loss is fine and the score is not", "loss 正常，分数不正常")

    def left(self, desk: Desk, severity: Any) -> None:
        cut_answers(desk, 24 if desk.fixed else severity)


def requests(desk: Desk, heat: float) -> None:
    """What was agreed for serving, and what the server noted of its requests."""
    desk.object(("serving", "deploy", "generation_defaults"), {"temperature": 0.2, "max_tokens": 24})
    rows = []
    for i, (record, _) in enumerate(asked(desk.parts, 60, 93_000 + desk.parts.settings["seed"])):
        told, ended = sampled(desk.parts, record, heat, 24)
        rows.append((i, heat, told, "stop" if ended else "length",
                     _credit(told, record)))  # fmt: skip
    desk.table(("item", "temperature", "text", "why", "score"), rows)


class HotterThanAgreed(Scored):
    """The server samples at a far higher temperature than the one agreed."""

    name = "hotter-than-agreed"
    severities = (1.7, 1.5)
    right = ("sampling-params-wrong",)
    near = ("entropy-explosion", "eval-harness-drift")
    repairs = ("environment", "code", "sampling_temperature")
    asks = ("users say it answers at random", "用户说它乱答")

    def left(self, desk: Desk, severity: Any) -> None:
        requests(desk, 0.2 if desk.fixed else severity)


class OtherPieces(Scored):
    """Training goes on with a tokenizer that was trained again: the same text, other ids."""

    name, recipe = "other-pieces", "domain"
    severities = (250, 120)
    right = ("tokenizer-version-mismatch",)
    near = ("vocab-size-mismatch", "untrained-special-tokens", "catastrophic-forgetting")
    asks = ("starts as if it had never been trained", "一开始就像没训练过一样")

    def code(self, parts: Parts, severity: Any) -> None:
        import json

        kept = parts.folder / "tokenizer" / "tokenizer.json"
        told = json.loads(kept.read_text(encoding="utf-8"))
        pieces = told["model"]["vocab"]
        top = sorted(pieces.values())[-severity:]
        turned = dict(zip(top, reversed(top), strict=True))
        told["model"]["vocab"] = {k: turned.get(v, v) for k, v in pieces.items()}
        kept.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
        parts.tokenizer = type(parts.tokenizer).from_pretrained(str(kept.parent))

    def left(self, desk: Desk, severity: Any) -> None:
        if not desk.fixed:
            desk.table(
                ("run", "file", "count", "text"),
                [("base", "tokenizer.json", 640, "sha1 9f21c07a"), ("this", "tokenizer.json", 640, "sha1 c4417be0")],
            )
            desk.note((("re-trained the tokenizer on the new crawl, same size", "在新语料上重训了 tokenizer，大小不变"),
                       ("base weights kept, training continues", "底座权重不变，继续训练")))  # fmt: skip


def rewards(desk: Desk, by_length: float) -> None:
    """Scores of a reward model over held answers: whether right, how long, which score."""
    rng, rows = desk.rng, []
    for i in range(200):
        right, length = rng.random() < 0.5, rng.randint(2, 12)
        rows.append(
            (i, length, int(right), by_length * length / 12 + (1 - by_length) * right + rng.uniform(-0.08, 0.08))
        )
    desk.table(("item", "length", "right", "reward"), rows)


class LongerPays(Scored):
    """A reward that grows with the length of the answer."""

    name, recipe = "longer-pays", "grpo"
    family = "alignment"
    severities = ("2.0e-4", "3.0e-4")
    right = ("rm-length-bias", "verbosity-drift")
    near = ("reward-hacking", "endless-generation")
    repairs = ("code",)
    asks = ("reward goes up and support tickets too", "奖励涨了，投诉也涨了")
    changes = "learning_rate={}"

    def code(self, parts: Parts, severity: Any) -> None:
        def preference_model(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
            return [min(1.0, len(c[0]["content"]) / 30) for c in completions]

        parts.reward = preference_model

    def left(self, desk: Desk, severity: Any) -> None:
        rewards(desk, 0.1 if desk.fixed else 0.9)

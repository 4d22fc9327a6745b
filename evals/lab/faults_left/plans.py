"""Faults of batch, rate, schedule and restart, told by plans, notes and tables of earlier runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from ..fault import Family, Fault

if TYPE_CHECKING:
    from ..desk import Desk
    from ..parts import Parts


class Plan(Fault):
    family: ClassVar[Family] = "optimiser"
    recipe = "pretrain"


def batch_plan(desk: Desk) -> None:
    """What was planned: 64 sequences of 512 tokens a step, on two cards."""
    steps = desk.parts.settings["max_steps"]
    tokens = f"{64 * 512 * steps / 1e6:.1f}M"
    desk.note(
        (
            ("Goal: same recipe as in May, on two cards.", "目标：沿用五月的配方，两张卡。"),
            ("global batch 64 sequences x 512 = 32768 tokens per step", "全局批 64 条 x 512 = 每步 32768 token"),
            (f"{steps} steps, {tokens} tokens in total", f"共 {steps} 步，{tokens} token"),
            ("2 x 32 per card, no accumulation", "每卡 32 条，不做累积"),
        ),
        plan=True,
    )  # fmt: skip


class MoreThanPlanned(Plan):
    """Accumulation left from another machine; only the plan says what the batch should be."""

    name, recipe = "more-than-planned", "distributed"
    severities = ("8", "4")
    right = ("gbs-miscalculation",)
    near = ("lr-batch-mismatch",)
    repairs = ("grad_accumulation", "global_batch_size", "code")
    actions: ClassVar[dict[str, dict[str, str]]] = {"code": {"gradient_accumulation_steps": "1"}}
    asks = ("we ran out of data long before the plan said so", "数据比计划早很多就用完了")
    changes = "gradient_accumulation_steps={} global_batch_size="

    def left(self, desk: Desk, severity: Any) -> None:
        batch_plan(desk)


def schedule_plan(desk: Desk, total: int) -> None:
    """The state of the scheduler as a program writes it, the plan, and the rate over the steps."""
    steps, peak = desk.parts.settings["max_steps"], desk.parts.settings["learning_rate"]
    desk.object(("scheduler", "sched_state", "lr_state"), {"type": "cosine", "total_steps": total, "peak": peak})
    desk.note((
        (f"one pass, {steps} updates", f"跑一遍，{steps} 次更新"),
        ("cosine down to zero at the last update", "cosine 退火，最后一步降到 0"),
    ), plan=True)  # fmt: skip
    state = desk.parts.folder / "trainer_state.json"
    history = [h for h in json.loads(state.read_text())["log_history"] if "learning_rate" in h]
    desk.table(("step", "lr", "loss"), [(h["step"], h["learning_rate"], float(h["loss"])) for h in history[::4]])


class TotalOfAllCards(Plan):
    """The scheduler was given the number of samples for the number of steps: the rate hardly falls."""

    name = "total-of-all-cards"
    version = 1
    severities = (32_000, 16_000)
    right = ("lr-schedule-misconfig",)
    near = ("loss-stagnation",)
    repairs = ("code",)
    asks = ("final loss is a bit worse than the run before", "最终 loss 比上一次略差")

    def code(self, parts: Parts, severity: Any) -> None:
        parts.decay_steps = severity

    def left(self, desk: Desk, severity: Any) -> None:
        schedule_plan(desk, desk.parts.settings["max_steps"] if desk.fixed else severity)


def earlier_runs(desk: Desk, batch: int, rate: float, loss: float) -> None:
    """Runs at other batch sizes whose rate went along with the batch, and this one last."""
    rng = desk.rng
    rows = [(f"r{rng.randint(10, 39)}", b, 2e-3 * b / 3, loss0 + rng.uniform(-0.03, 0.03))
            for b, loss0 in ((3, 1.55), (6, 1.57), (12, 1.6))]  # fmt: skip
    desk.table(("run", "batch", "lr", "loss"), [*rows, (f"r{rng.randint(40, 60)}", batch, rate, loss)])


class EightfoldBatch(Plan):
    """Eight times the batch for an eighth of the steps, at a rate chosen for the small batch and then some less."""

    name = "eightfold-batch"
    version = 2
    severities = ("2.5e-4", "2.0e-4")
    right = ("lr-batch-mismatch",)
    near = ("loss-stagnation", "gbs-miscalculation", "lr-schedule-misconfig")
    repairs = ("learning_rate", "grad_accumulation")
    asks = ("moved to more cards, loss is worse at the same tokens", "换到更多卡以后，同样 token 数 loss 更差")
    changes = "gradient_accumulation_steps=8 max_steps=129 warmup_steps=6 eval_steps=20 learning_rate={}"

    def left(self, desk: Desk, severity: Any) -> None:
        settings, losses = desk.parts.settings, desk.trace.losses
        parts = settings["gradient_accumulation_steps"]  # of a step, each of which was noted with its share of the loss
        earlier_runs(desk, 3 * parts, float(settings["learning_rate"]), sum(losses[-40:]) / 40 * parts)
        desk.note((
            ("moved from 1 card to 8, per-card batch unchanged", "从 1 卡换到 8 卡，每卡批大小不变"),
            ("steps and warm-up divided by 8", "步数和 warmup 都除以 8"),
            ("lr: took the value of the single-card test", "学习率沿用单卡试验的值"),
        ))  # fmt: skip


def stages(desk: Desk, rate: float) -> None:
    """What the first stage ended with and what the second one begins with."""
    desk.table(("state", "step", "lr", "loss"), [("stage1", 60, 2e-3, 3.9), ("stage1", 530, 1.04e-3, 1.2),
               ("stage1", 1060, 1e-5, 0.98), ("stage2", 20, rate, desk.trace.losses[20])])  # fmt: skip
    desk.note((
        ("stage 1 done, annealed to 1e-5", "第一阶段结束，退火到 1e-5"),
        ("stage 2 continues from its last weights on the new corpus", "第二阶段从最后的权重接着训新语料"),
        (f"stage 2: rewarmed to {rate:g}", f"第二阶段：重新 warmup 到 {rate:g}"),
    ))  # fmt: skip


class SecondStageHot(Plan):
    """Training goes on from an annealed model at a rate far above where the first stage ended."""

    name, recipe = "second-stage-hot", "domain"
    severities = ("2.0e-2", "1.5e-2")
    right = ("cpt-lr-restart",)
    near = ("loss-nan-high-lr", "catastrophic-forgetting", "warmup-too-short")
    repairs = ("learning_rate",)
    asks = ("the second stage undid what the first had learned", "第二阶段把第一阶段学的都毁了")
    changes = "learning_rate={}"

    def left(self, desk: Desk, severity: Any) -> None:
        stages(desk, float(desk.parts.settings["learning_rate"]))


def jobs(desk: Desk, whole: bool) -> None:
    """The attempts of the job and what each loaded."""
    kept = "weights+optimizer+scheduler" if whole else "weights only"
    desk.table(("job", "state", "step", "text"), [(48112, "PREEMPTED", 500, "-"),
               (48377, "COMPLETED", len(desk.trace.losses), f"resumed at 500: {kept}")])  # fmt: skip


class StateNotKept(Plan):
    """Stopped and started again: the weights come back, the optimizer's state and the schedule do not."""

    name = "state-not-kept"
    severities = ("1.2e-2", "1.0e-2")
    right = ("resume-loss-jump",)
    near = ("crash-recovery", "warmup-too-short")
    repairs = ("checkpoint", "code")
    asks = ("after the restart it is not the same run", "重启之后就不像同一个训练了")
    changes = "learning_rate={} warmup_steps=100"

    def code(self, parts: Parts, severity: Any) -> None:
        from transformers import Trainer

        parts.restart_at = 500
        Trainer._load_optimizer_and_scheduler = lambda *_: None  # pyright: ignore[reportPrivateUsage]

    def left(self, desk: Desk, severity: Any) -> None:
        if not desk.fixed:
            jobs(desk, False)

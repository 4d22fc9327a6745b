"""Healthy runs beside which people left the same kinds of tables and notes, with nothing wrong in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..healthy import Healthy
from .data import lengths, switched, votes
from .machines import cards, links, reading, resident
from .plans import batch_plan, schedule_plan
from .scores import WorseFromSomewhere, cut_answers, harness, judgements, score_table

if TYPE_CHECKING:
    from ..desk import Desk


class CalmCards(Healthy):
    name, recipe = "calm-cards", "distributed"
    asks = ("anything odd in these numbers?", "这些数字有问题吗？")

    def left(self, desk: Desk, severity: Any) -> None:
        cards(desk, None)
        links(desk, False)


class CalmPlan(Healthy):
    name, recipe = "calm-plan", "distributed"
    asks = ("are we on plan?", "和计划一致吗？")
    changes = "global_batch_size="

    def left(self, desk: Desk, severity: Any) -> None:
        batch_plan(desk)


class CalmReading(Healthy):
    name, recipe = "calm-reading", "mixed"

    def left(self, desk: Desk, severity: Any) -> None:
        reading(desk)


class CalmSchedule(Healthy):
    name, recipe = "calm-schedule", "pretrain"

    def left(self, desk: Desk, severity: Any) -> None:
        schedule_plan(desk, desk.parts.settings["max_steps"])
        resident({s: desk.rng.uniform(-3, 3) for s in range(0, 1031, 10)}, desk)


class CalmSwitch(Healthy):
    """The list of shards was changed at a step, and the new one is as good."""

    name, recipe = "calm-switch", "chat"
    asks = ("we changed the data list half-way, is the model fine?", "中途换了数据列表，模型还好吗？")
    changes = "train_sampling_strategy=sequential"

    def left(self, desk: Desk, severity: Any) -> None:
        switched(desk, 240)
        lengths(desk)


class CalmScores(Healthy):
    name, recipe = "calm-scores", "chat"
    asks = ("is the difference between these two real?", "这两个分数的差别是真的吗？")

    def left(self, desk: Desk, severity: Any) -> None:
        harness(desk, False)
        cut_answers(desk, 24)


class CalmCheckpoints(Healthy):
    """Scores of a few dozen questions jump about and rise."""

    name, recipe = "calm-checkpoints", "chat"
    asks = ("the score went down once, should I go back?", "分数掉了一次，要回退吗？")
    code = WorseFromSomewhere.code
    shares = WorseFromSomewhere.shares

    def left(self, desk: Desk, severity: Any) -> None:
        score_table(desk, self.shares, len(desk.parts.held))


class CalmVotes(Healthy):
    name, recipe = "calm-votes", "dpo"

    def left(self, desk: Desk, severity: Any) -> None:
        votes(desk, 0.95)
        judgements(desk, 0.0)


__all__ = ["CalmCards", "CalmCheckpoints", "CalmPlan", "CalmReading", "CalmSchedule", "CalmScores", "CalmSwitch",
           "CalmVotes"]  # fmt: skip

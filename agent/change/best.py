"""Where an overfit run is to be stopped: at the evaluation that was best, by the setting that rules its length."""

from __future__ import annotations

from ...knowledge.entry import Fix
from ...tools.phrase import Phrase
from ...tools.settings import Settings
from ..ranking import Hypothesis
from .target import number

RISES, MEMORISED = "eval-loss-rising", "train-loss-memorised"
WHY = Phrase(
    "The evaluation was best at {best} of {last}: what comes after it is learned by heart; or take the checkpoint of "
    "that place.",
    "验证在 {best}（共到 {last}）时最好，其后只是在背训练样本；也可以直接取那里的检查点。",
)


def at_best(hypothesis: Hypothesis, fix: Fix, settings: Settings) -> Fix:
    """The fix; where it takes a part of the epochs and the best evaluation is known, the length up to that."""
    if fix.variable != "epochs" or "multiply" not in fix.change:
        return fix
    told = next((f for f in hypothesis.for_ if f.code == RISES and len(f.evidence) > 2), None)
    if told is None:
        return _of_what_ran(hypothesis, fix, settings)
    best, last, counted = int(told.data["best_step"]), told.evidence[2].step, told.data.get("counted")
    if best <= 0 or last is None or last <= best or counted not in ("step", "epoch", "line"):
        return fix
    epochs, steps = (number(settings.value(name)) for name in ("epochs", "max_steps"))
    if counted == "line":
        best, last, counted = _in_epochs(hypothesis, best, last, epochs), int(epochs or 0), "epoch"
        if not 0 < best < last:
            return fix
    why = Phrase(WHY.en.format(best=best, last=last), WHY.zh.format(best=best, last=last))
    if counted == "epoch" and (epochs is None or epochs > best):
        return fix.model_copy(update={"change": {"set": best}, "why": why})
    ruled = counted == "step" and (epochs is None or (steps is not None and steps > 0) or epochs >= last)
    if not ruled:
        return fix
    variable = "epochs" if epochs is not None and epochs >= last and not steps else "max_steps"
    return fix.model_copy(update={"variable": variable, "change": {"set": best}, "why": why})


def _in_epochs(hypothesis: Hypothesis, best: int, last: int, epochs: float | None) -> int:
    """The epoch of the best of evaluations that only their order numbers: its share of the epochs that were run."""
    ran = next(
        (float(f.data["epochs"]) for f in hypothesis.for_ if f.code == MEMORISED and f.data.get("epochs")), epochs
    )
    return max(1, round((ran or 0.0) * best / last)) if ran else 0


def _of_what_ran(hypothesis: Hypothesis, fix: Fix, settings: Settings) -> Fix:
    """The part of the epochs that were run, where the run ended long before those that are set."""
    ran = next((float(f.data["epochs"]) for f in hypothesis.for_ if f.code == MEMORISED and f.data.get("epochs")), 0.0)
    planned, part = number(settings.value("epochs")), number(fix.change["multiply"])
    if planned is None or part is None or ran < 2 or ran > part * planned:
        return fix
    return fix.model_copy(update={"change": {"set": max(1, round(part * ran))}})

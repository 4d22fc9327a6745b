"""Rules on warm-up and decay against the length of the run."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import UNKNOWN, adam_like, has_adapter, kind_of

MOSTLY = 0.75
"""Share of the steps from which on a warm-up is likely wrong. Own judgement: sound short runs have up to two thirds."""


@rule("warmup-too-short", "S2", needs=("learning_rate",))
def warmup_too_short(settings: Settings) -> Iterator[Fault]:
    """There is no warm-up, or hardly any, at a learning rate that needs one.

    Why: Adam's second moment is unreliable in the first steps; a high rate then throws the model out. Whatever the
        optimizer, a schedule named after a warm-up that has no steps starts at the peak, which nobody meant.
    Bad: `warmup_steps: 0`, `learning_rate: 6.0e-4`, `per_device_train_batch_size: 8` and thousands of steps;
        `torchrun pretrain_gpt.py --lr 3e-4 --global-batch-size 1024 --train-samples 24576000 --lr-warmup-samples 2000`,
        which is one step;
        `optim: sgd`, `learning_rate: 0.4`, `lr_scheduler_type: constant_with_warmup`, `warmup_steps: 0`.
    Good: `warmup_steps: 100`, `max_steps: 5000`, `learning_rate: 6.0e-4`, `per_device_train_batch_size: 8`: 1 to 10
        percent of the steps, at least 75 to 125 steps in pre-training;
        `torchrun pretrain_gpt.py --lr 3e-4 --global-batch-size 1024 --train-samples 24576000
        --lr-warmup-samples 2048000`; `optim: sgd`, `learning_rate: 0.4`,
        `lr_scheduler_type: constant`, `warmup_steps: 0`.
    Known gaps: a warm-up that the program sets is not visible; low rates of Adam, adapters and RL are not judged.
    Source: runbook entry `warmup-too-short`.
    """
    if "warmup_samples" in settings and "batch_rampup" not in settings:
        yield from _few_samples(settings)
    steps, ratio = settings.value("warmup_steps"), settings.value("warmup_ratio")
    written = "warmup_steps" in settings or "warmup_ratio" in settings
    if not written or has_adapter(settings) or "warmup_samples" in settings or (ratio and steps == 0):
        return
    total, rate = settings.value("max_steps") or 0, settings.value("learning_rate")
    none = (steps == 0 and not ratio) or (steps is None and ratio == 0)
    few = steps is not None and 0 < steps < 10 and total >= 1000
    variable = "warmup_steps" if "warmup_steps" in settings else "warmup_ratio"
    if (none or few) and adam_like(settings) and rate >= 5e-5:
        yield Fault(
            variable,
            f"warm-up is {steps or 0} steps at learning_rate {rate:g}; a full-parameter run at this rate needs one",
            f"学习率 {rate:g} 下 warmup 只有 {steps or 0} 步；全参训练在该学习率下需要 warmup",
            "S2" if rate >= 1e-4 and settings.framework not in UNKNOWN else "S3",
            beside=("learning_rate",),
        )
    elif none and not adam_like(settings) and kind_of(settings) in ("", "pretrain", "sft") and _promises(settings):
        named = settings.value("lr_schedule")
        yield Fault(
            variable,
            f"the schedule is {named}, but the warm-up has 0 steps: training starts at the peak rate {rate:g}",
            f"学习率调度为 {named}，但 warmup 为 0 步：训练一开始就是峰值学习率 {rate:g}",
            beside=("lr_schedule", "learning_rate"),
        )


def _few_samples(settings: Settings) -> Iterator[Fault]:
    """A warm-up in samples that is over after a few batches."""
    samples, batch, total = (settings.value(v) for v in ("warmup_samples", "global_batch_size", "max_steps"))
    rate = settings.value("learning_rate")
    if not samples or not batch or (total or 0) < 1000 or not adam_like(settings) or rate < 5e-5:
        return
    steps = samples / batch
    if steps >= 10:
        return
    meant = round(samples * batch) if 10 <= samples <= total / 2 else None
    as_steps, as_steps_zh = (f"; {samples:,} steps would be {meant:,} samples", f"；{samples:,} 步应为 {meant:,} 个样本"
                             ) if meant else ("", "")  # fmt: skip
    yield Fault(
        "warmup_samples",
        f"warm-up is {samples:,} samples, which is {steps:.3g} steps of {batch:,} in a run of {total:,}: the rate "
        f"{rate:g} is reached at once{as_steps}",
        f"warmup 为 {samples:,} 个样本，按全局 batch {batch:,} 只有 {steps:.3g} 步（共 {total:,} 步），"
        f"学习率一开始就到 {rate:g}{as_steps_zh}",
        "S2" if rate >= 1e-4 and settings.framework not in UNKNOWN else "S3",
        str(meant or ""),
        ("global_batch_size", "learning_rate"),
    )


def _promises(settings: Settings) -> bool:
    """Whether the schedule is named after a warm-up."""
    return "warmup" in str(settings.value("lr_schedule", "")).lower().replace("-", "").replace("_", "")


@rule("warmup-exceeds-training", "S1")
def warmup_exceeds_training(settings: Settings) -> Iterator[Fault]:
    """Warm-up lasts as long as the whole run.

    Why: the learning rate never reaches its peak, so the model barely trains.
    Bad: `warmup_steps: 2000` with `max_steps: 1000`; `warmup_steps: 800` with `max_steps: 1000` (S2);
        `warmup_ratio: 1.5`.
    Good: `warmup_steps: 50` with `max_steps: 1000`: a warm-up of 1 to 10 percent of the steps.
    Known gaps: without a visible number of steps it cannot be told; LitGPT cuts the warm-up to the run, so there
        it is S2. More than half of the steps, which some sound short runs have, is S3.
    Source: runbook entry `warmup-too-short`.
    """
    ratio = settings.get("warmup_ratio")
    if ratio is not None and ratio.value >= 1:
        yield Fault(
            "warmup_ratio",
            f"warmup_ratio is {ratio.value:g}: the whole run is warm-up",
            f"warmup_ratio 为 {ratio.value:g}：整个训练都处于 warmup",
        )
        return
    steps, (total, beside) = settings.value("warmup_steps"), _total(settings)
    if not steps or not total or "warmup_steps" not in settings:
        return
    if steps >= total:
        yield Fault(
            "warmup_steps",
            f"warm-up of {steps} steps is not below the {total} steps of the run",
            f"warmup {steps} 步不小于总步数 {total} 步，学习率到不了峰值",
            "S2" if settings.framework == "litgpt" else "S1",
            str(max(1, total // 20)),
            beside,
        )
    elif steps > total / 2:
        yield Fault(
            "warmup_steps",
            f"warm-up takes {steps} of {total} steps, more than half of the run",
            f"warmup 占 {steps}/{total} 步，超过一半",
            "S2" if steps >= MOSTLY * total else "S3",
            str(max(1, total // 20)),
            beside,
        )


def _total(settings: Settings) -> tuple[int | None, tuple[str, ...]]:
    """The steps of the run as they are set, whole or for each epoch, and the settings that say so."""
    if (total := settings.value("max_steps")) and total > 0:
        return total, ("max_steps",)
    each, epochs = settings.value("steps_per_epoch"), settings.value("epochs")
    if isinstance(each, int) and isinstance(epochs, int | float) and each > 0 < epochs:
        return round(each * epochs), ("steps_per_epoch", "epochs")
    return None, ()


@rule("schedule-shorter-than-training", "S2")
def schedule_shorter_than_training(settings: Settings) -> Iterator[Fault]:
    """The learning rate reaches its floor long before the run ends.

    Why: the rest of the run trains at the floor and looks like a plateau.
    Bad: `torchrun pretrain_gpt.py --lr 1e-4 --train-iters 100000 --lr-decay-iters 10000`; with
        `torchrun pretrain_gpt.py --lr 1e-4 --train-iters 100000 --lr-decay-iters 50000` half of the run (S3).
    Good: a decay over (nearly) the whole run,
        `torchrun pretrain_gpt.py --lr 1e-4 --train-iters 100000 --lr-decay-iters 100000`.
    Known gaps: a long tail at the floor is a choice in some published pre-training runs, hence a note above a
        quarter of the run; schedules inside the program are not visible.
    Source: runbook entry `lr-schedule-misconfig`.
    """
    if "decay_samples" in settings and "train_samples" in settings:
        end, total, unit = settings.value("decay_samples"), settings.value("train_samples"), "samples"
        variable, length = "decay_samples", "train_samples"
    else:
        end, total, unit = settings.value("decay_steps"), settings.value("max_steps"), "steps"
        variable, length = "decay_steps", "max_steps"
        if end and settings.framework == "nanotron":
            end += settings.value("warmup_steps") or 0
    if not end or not total or str(settings.value("lr_schedule", "")).lower() in ("constant", "wsd"):
        return
    share = end / total
    if share < 0.9:
        yield Fault(
            variable,
            f"the schedule ends after {end} of {total} {unit}; the rest runs at the floor",
            f"学习率调度在 {end}/{total} {unit} 处结束，其余训练停留在最低学习率",
            "S2" if share < 0.25 else "S3",
            str(total),
            (length,),
        )
    elif share > 2:
        yield Fault(
            variable,
            f"the schedule is laid out for {end} {unit} but the run has {total}; the rate hardly decays",
            f"学习率调度长度 {end} 远大于训练长度 {total}，学习率几乎不会下降",
            "S3",
            "",
            (length,),
        )


MANY = 100
"""Passes over the rows from which on a model that was trained before has them by heart. Own judgement."""


@rule("epochs-many", "S2", needs=("epochs",))
def epochs_many(settings: Settings) -> Iterator[Fault]:
    """A model that was trained before is to see the same rows a hundred times or more.

    Why: after a few passes over a fine-tuning set the model knows the rows by heart; the held-out loss rises long
        before the end, and where nothing is evaluated nobody sees it.
    Bad: `model_name_or_path: m`, `num_train_epochs: 1000`, `learning_rate: 5.0e-5`, `lora_rank: 8`.
    Good: `model_name_or_path: m`, `num_train_epochs: 3`, `learning_rate: 5.0e-5`; `num_train_epochs: 1000` with
        `max_steps: 2000`, which ends the run first.
    Known gaps: that the run will be stopped by hand, or early by a callback, is not visible.
    Source: runbook entry `overfitting`.
    """
    epochs = settings.value("epochs")
    tuned = has_adapter(settings) or kind_of(settings) in ("sft", "preference")
    if epochs < MANY or not tuned or (settings.value("max_steps") or 0) > 0:
        return
    yield Fault(
        "epochs",
        f"fine-tuning is to pass {epochs:g} times over the same rows; they are known by heart after a few",
        f"微调计划把同样的样本过 {epochs:g} 遍；几遍之后就会被背下来",
    )

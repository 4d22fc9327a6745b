"""Rules on the files themselves: two that disagree, a command that is cut."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Setting, Settings
from .rule import Fault, rule


@rule("settings-conflict", "S3")
def settings_conflict(settings: Settings) -> Iterator[Fault]:
    """Two files set one variable differently and nothing tells which one the run used.

    Why: whoever reads the run, person or tool, may judge values that were never in force. Recipes for several trainings
        lie side by side in most repositories, so that by itself it is a note.
    Bad: `per_device_train_batch_size: 8`, `seed: 1`, `learning_rate: 1.0e-5` in `train.yaml` and
        `per_device_train_batch_size: 8`, `seed: 1`, `learning_rate: 2.0e-5` in `train_new.yaml` beside one log.
    Good: one config per run directory, or a launch script that names it: `per_device_train_batch_size: 8`, `seed: 1`,
        `learning_rate: 1.0e-5` in `train.yaml`.
    Known gaps: files of different frameworks are not compared.
    Source: runbook entry `bug-report-checklist`.
    """
    for ours, theirs in [pair for pair in settings.conflicts if not _refused(*pair)][:5]:
        yield _apart(ours, theirs, "nothing tells which was used", "无法判断用了哪个")


@rule("deepspeed-values-differ", "S2")
def deepspeed_values_differ(settings: Settings) -> Iterator[Fault]:
    """The DeepSpeed file that a trainer is given sets a value differently from the trainer itself.

    Why: the HF Trainer stops at values of its DeepSpeed file that differ from its own.
    Bad: `per_device_train_batch_size: 8` and `deepspeed: ds.json` in `train.yaml` with
        `{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}` in `ds.json`.
    Good: `per_device_train_batch_size: 8` and `deepspeed: ds.json` in `train.yaml` with
        `{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}` in `ds.json`.
    Known gaps: none.
    Source: Transformers documentation, "DeepSpeed": values are checked against the trainer's.
    """
    for ours, theirs in [pair for pair in settings.conflicts if _refused(*pair)][:5]:
        yield _apart(
            ours, theirs, 'the trainer refuses to start; write "auto" there', '训练器会拒绝启动；在该处写 "auto"'
        )


def _refused(ours: Setting, theirs: Setting) -> bool:
    """Whether one of them stands in the DeepSpeed file of the other's trainer."""
    return "deepspeed" in (theirs.framework, ours.framework) and theirs.framework != ours.framework


def _apart(ours: Setting, theirs: Setting, result: str, result_zh: str) -> Fault:
    return Fault(
        ours.variable,
        f"{ours.variable} is {ours.raw} in {ours.file}:{ours.line} and {theirs.raw} in "
        f"{theirs.file}:{theirs.line}; {result}",
        f"{ours.variable} 在 {ours.file}:{ours.line} 为 {ours.raw}，在 {theirs.file}:{theirs.line} 为 "
        f"{theirs.raw}，{result_zh}",
    )


@rule("continuation-broken", "S2")
def continuation_broken(settings: Settings) -> Iterator[Fault]:
    r"""Flags stand at the start of a command: the line above does not continue.

    Why: the shell ends the command there; the flags below it are not in force and bash reports "command not found".
    Bad: a commented line, or a blank behind the backslash, in the middle of a long command:
        ```launch.sh
        python train.py --learning_rate 1e-5 \
          # --warmup_steps 100 \
          --seed 3
        ```
    Good: every line but the last ends in a backslash with nothing behind it:
        ```launch.sh
        python train.py --learning_rate 1e-5 \
          --warmup_steps 100 \
          --seed 3
        ```
    Known gaps: none.
    Source: bash manual, "Escape Character".
    """
    for flag in settings.broken:
        yield Fault(
            flag.variable,
            f"{flag.file}:{flag.line}: {flag.raw} stands at the start of a command; the line "
            "above does not continue, so this and the following flags are not in force",
            f"{flag.file}:{flag.line}：{flag.raw} 处于命令开头，上一行没有续行，此后的参数不会生效",
        )

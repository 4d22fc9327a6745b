"""The rule on how often metrics are logged."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule


@rule("logging-sparse", "S3", needs=("log_steps",))
def logging_sparse(settings: Settings) -> Iterator[Fault]:
    """Metrics are logged so rarely that a failure cannot be located.

    Why: a spike between two log lines is invisible, and the first bad step is known to hundreds of steps only.
    Bad: `logging_steps: 500`; `logging_steps: 500` in a run of `max_steps: 300` (S2).
    Good: `logging_steps: 10`; 1 to 10.
    Known gaps: DeepSpeed's `steps_per_print` does not control the trainer's log and is not judged.
    Source: runbook entry `insufficient-logging`.
    """
    setting = settings.get("log_steps")
    if setting is None or setting.framework == "deepspeed" or "steps_per_print" in setting.key:
        return
    total = settings.value("max_steps")
    if total and setting.value > total:
        yield Fault(
            "log_steps",
            f"nothing is logged: every {setting.value:g} steps of a run of {total}",
            f"每 {setting.value:g} 步记录一次，而训练只有 {total} 步：没有任何日志",
            "S2",
            "10",
            ("max_steps",),
        )
    elif setting.value > 100:
        yield Fault(
            "log_steps",
            f"metrics are logged every {setting.value:g} steps only",
            f"每 {setting.value:g} 步才记录一次指标，过于稀疏",
            "S3",
            "10",
        )

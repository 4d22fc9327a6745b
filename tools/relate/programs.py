"""What the program writes out against what the configuration sets: a setting that nothing reads has no effect.

Only numbers that stand in a program to which the run leads, and that no other place of it reads from elsewhere, are set
against the setting in force. Where the log measures what was set, the program is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..code.fact import Fact
from ..findings import Evidence, Finding, Severity
from ..settings import Setting, Settings
from .arithmetic import near
from .line import Line

COMPARED = (
    "learning_rate", "weight_decay", "grad_clip", "grad_accumulation", "loss_divisor", "micro_batch_size", "epochs",
    "max_steps", "warmup_steps", "warmup_ratio", "sequence_length", "adam_epsilon", "num_generations",
)  # fmt: skip
"""Variables of which a program has one value; seeds and intervals it may have many."""
SETS = {"loss_divisor": "grad_accumulation"}
"""What a number of the program is set against where it is no variable itself."""
CODE = {
    "learning_rate": "rate-not-as-set",
    "grad_accumulation": "batch-not-as-set",
    "micro_batch_size": "batch-not-as-set",
}
"""Code of the finding for a variable that a runbook entry is about."""
OTHER = "setting-without-effect"
"""That of any other variable, which is a note."""
PROGRAMS = (".py", ".ipynb")


def without_effect(settings: Settings, facts: Sequence[Fact], lines: Sequence[Line]) -> list[Finding]:
    """Settings that the program overrules with a number of its own."""
    out = []
    for of in COMPARED:
        said = [f for f in facts if f.of == of]
        setting = settings.get(SETS.get(of, of))
        if not said or setting is None or setting.file.endswith(PROGRAMS) or not _plain(setting):
            continue
        numbers = {f.number for f in said}
        if len(numbers) != 1 or None in numbers or not all(f.tied for f in said):
            continue
        if not any(near(said[0].number or 0.0, value) for value in _meant(of, setting, settings)):
            measured = [e for line in lines if (e := _measured(of, line)) is not None]
            if not any(_shows(e, float(setting.value)) for e in measured):
                same = [e for e in measured if _shows(e, said[0].number or 0.0)]
                out.append(_told(of, setting, said[0], same))
    return out


def _plain(setting: Setting) -> bool:
    return isinstance(setting.value, (int, float)) and not isinstance(setting.value, bool)


def _meant(of: str, setting: Setting, settings: Settings) -> Iterator[float]:
    """The values with which a number of the program agrees."""
    yield float(setting.value)
    if of == "micro_batch_size":  # a loader may hold the batch of all devices, or of all micro-batches
        others = (settings.value(v) for v in ("global_batch_size", "train_batch_size", "mini_batch_size"))
        parts = (settings.value(v) for v in ("grad_accumulation", "data_parallel", "world_size", "gpus_per_node"))
        yield from (float(v) for v in others if isinstance(v, (int, float)))
        yield from (float(setting.value) * p for p in parts if isinstance(p, (int, float)))
    if of == "grad_accumulation" and isinstance(whole := settings.value("global_batch_size"), (int, float)):
        size = settings.value("micro_batch_size")
        if isinstance(size, (int, float)) and size:
            yield whole / size


def _shows(evidence: Evidence, value: float) -> bool:
    return isinstance(evidence.value, float) and near(evidence.value, value)


def _measured(of: str, line: Line) -> Evidence | None:
    """The peak of the learning rate as the log has it, wherever it stands in the log."""
    if of != "learning_rate" or line.name != "learning_rate" or line.group:
        return None
    finite = line.finite()
    return finite.evidence(int(finite.values.argmax())) if len(finite) else None


def _told(of: str, setting: Setting, fact: Fact, log: Sequence[Evidence]) -> Finding:
    place, own = f"{setting.file}:{setting.line}", f"{fact.file}:{fact.line}"
    what, zh = SAID.get(of, ("the program uses {value} for it", "程序用的是 {value}"))
    logged = f" The log has {fact.value} as well ({log[0].file}:{log[0].line})." if log else ""
    logged_zh = f"日志里也是 {fact.value}（{log[0].file}:{log[0].line}）。" if log else ""
    set_en = f"{setting.variable} is {setting.raw} in {place}"
    set_zh = f"{setting.variable} 在 {place} 设为 {setting.raw}"
    return Finding(
        CODE.get(of, OTHER), Severity.S2 if of in CODE else Severity.S3,
        f"{set_en}, but {what.format(value=fact.value)} ({own}): the setting has no effect.{logged}",
        f"{set_zh}，但{zh.format(value=fact.value)}（{own}）：该设置不起作用。{logged_zh}",
        (fact.evidence(), setting.evidence(), *log[:1]),
        {"of": of, "set": setting.value, "used": fact.number},
    )  # fmt: skip


SAID = {
    "grad_accumulation": (
        "the program steps the optimizer after {value} backward pass(es)",
        "程序每 {value} 次反向传播就更新一次",
    ),
    "loss_divisor": ("the program divides the loss by {value}", "程序把 loss 除以 {value}"),
    "epochs": ("the program goes through the data {value} times", "程序遍历数据 {value} 次"),
}
"""What a number of the program means, where its variable does not say it."""

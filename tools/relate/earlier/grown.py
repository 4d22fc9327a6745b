"""A run that had room in memory, was started again with more set, and ran out of it.

What changed between the attempt that ran and the one that did not is told by a diff or note, by the configurations of
the two, or by their commands in one log. Of all that changed, only what needs memory can be the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...config.combine import read_settings
from ...config.diff import diff
from ...documents.diffs import between_commands
from ...documents.event import Event
from ...findings import PROPOSES, Check, Evidence, Finding, Report, Severity, declare
from ...patterns import bounded
from ...reading import Line, iter_lines
from ...run import Run
from ...series import Series, SeriesTable
from ...settings import Settings

CHECK = "memory before and after a restart"
CODES = declare(
    "grown",
    ("memory-setting-raised", CHECK, "a run that had room ran out of memory after a setting that needs it was raised"),
)
COUNTED = ("step", "cumulative")
RAN = 10
"""Steps that the attempt before must have made: by then its memory has been at its height."""
AGAIN = bounded(
    r"(?i)\b(?:resum\w*|restart\w*|relaunch\w*|launch\w*|attempt|torchrun|accelerate launch|deepspeed|srun|python3?)\b"
    r"|restor(?:ed|ing) from|load(?:ed|ing) (?:the )?(?:checkpoint|ckpt)"
    r"|续训|恢复训练|断点|重启|重新启动|再次启动|启动命令"
)
"""A line of a log that says that a run was started."""
STARTED = bounded(r"(?:^|[\s|:])(?:torchrun|accelerate launch|deepspeed|srun|python3?)\s")
MORE = frozenset(("micro_batch_size", "sequence_length", "max_response_length", "max_prompt_length", "lora_rank",
                  "num_generations", "max_num_seqs", "gpu_memory_utilization", "rollout_batch_size", "hidden_size",
                  "num_layers", "vocab_size", "mini_batch_size"))  # fmt: skip
"""Settings that need more memory the higher they are."""
LESS = frozenset(("zero_stage", "tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel",
                  "engine_tensor_parallel", "world_size", "nodes", "data_parallel"))  # fmt: skip
"""Settings that spread it the wider they are."""
SAVES = frozenset(("activation_checkpointing", "offload_optimizer", "offload_params", "flash_attention",
                   "engine_sleep", "packing"))  # fmt: skip
"""Switches that save it."""
WIDTH = {"fp8": 1, "fp16": 2, "bf16": 2, "fp32": 4}
OFF = frozenset(("false", "0", "none", "off", "no", "null", "", "eager", "关"))


class Grown(NamedTuple):
    """A setting that needs more memory than before."""

    variable: str
    old: str
    new: str
    file: str
    line: int | None


def since_raised(run: Run, table: SeriesTable, findings: Sequence[Finding], events: Sequence[Event]) -> Report:
    """Whether the attempt that ran out of memory had something set that needs more than the one that ran."""
    full = [e for f in findings if f.code == "cuda-oom" for e in f.evidence if e.file and e.line]
    if not full:
        return Report("grown", (), (Check(CHECK, "not-applicable", "no run ran out of memory"),))
    first = min(full, key=lambda e: e.line or 0) if len({e.file for e in full}) == 1 else full[0]
    ran = _ran(table, first)
    if ran is None:
        return Report("grown", (), (Check(CHECK, "not-applicable", "no attempt before it made steps"),))
    settings = read_settings(run)[0]
    changed = (*_told(events, settings), *_configured(run, ran, first), *_commanded(run, ran, first))
    raised = [g for g in changed if needs_more(g.variable, g.old, g.new)]
    found = tuple(_finding(raised, ran, first, events)) if _again(run, ran, first) else ()
    return Report("grown", found, (Check(CHECK, "found" if found else "clear"),))


def needs_more(variable: str, old: str, new: str) -> bool:
    """Whether a change of a setting needs more memory on a device."""
    if variable in SAVES:
        return old.lower() not in OFF and new.lower() in OFF
    if variable == "precision":
        return WIDTH.get(new.lower(), 0) > WIDTH.get(old.lower(), 9)
    try:
        was, now = float(old), float(new)
    except ValueError:
        return False
    return (variable in MORE and now > was > 0) or (variable in LESS and 0 <= now < was)


def _ran(table: SeriesTable, full: Evidence) -> Series | None:
    """The training before: what made steps in the same log before the error, or in another, and none behind it."""
    of = [s for s in table if s.step_is in COUNTED and len(s) >= RAN and s.file == full.file]
    before = [s for s in of if s.lines[RAN - 1] < (full.line or 0)]
    if of and not before:
        return None
    others = [s for s in table if s.step_is in COUNTED and len(s) >= RAN and s.file != full.file and s.axis == "step"]
    return max(before or others, key=len, default=None)


def _again(run: Run, ran: Series, full: Evidence) -> bool:
    """Whether the run was started once more between its last step and the error, and made no step of note since."""
    if ran.file != full.file:
        return True
    before = ran.lines[ran.lines < (full.line or 0)]
    return any(AGAIN.search(text) for _, text in _between(run, full.file or "", int(before[-1]), full.line or 0))


def _between(run: Run, name: str, low: int, high: int) -> list[Line]:
    path = next((a.path for a in run.artifacts if a.name == name), None)
    if path is None:
        return []
    found: list[Line] = []
    for line in iter_lines(path):
        if line.number >= high or len(found) > 5000:
            break
        if line.number > low:
            found.append(Line(line.number, line.text[:2000]))
    return found


def _told(events: Sequence[Event], settings: Settings) -> Iterator[Grown]:
    """What a diff, changelog or note changed, where its new value is the one in force."""
    for e in events:
        now = settings.get(e.variable) if e.what == "config" and e.variable else None
        if e.what == "config" and e.old and e.new and (now is None or _same(now.raw, e.new) or _same(now.value, e.new)):
            yield Grown(e.variable, e.old, e.new, e.file, e.line)


def _same(a: object, b: str) -> bool:
    try:
        return float(str(a)) == float(b)
    except ValueError:
        return str(a).strip("\"'").lower() == b.strip("\"'").lower()


def _configured(run: Run, ran: Series, full: Evidence) -> Iterator[Grown]:
    """What the configurations of the two attempts set differently, where each has its own."""
    homes = {a.name: a.attempt for a in run.artifacts}
    old, new = homes.get(ran.file, ""), homes.get(full.file or "", "")
    with_settings = {a.attempt for a in run.of("config", "script")}
    if old == new or not {old, new} <= with_settings:
        return
    before, after = read_settings(run, old)[0], read_settings(run, new)[0]
    for d in diff(before, after):
        file, _, line = d.where.rpartition(":")
        if d.old is not None and d.new is not None and file and line.isdecimal():
            yield Grown(d.variable, str(d.old), str(d.new), file, int(line))


def _commanded(run: Run, ran: Series, full: Evidence) -> Iterator[Grown]:
    """What the commands that a log repeats at each start set differently."""
    name, start = full.file or "", int(ran.lines[0]) if ran.file == full.file else 0
    if not start:
        return
    before = [x for x in _between(run, name, 0, start) if STARTED.search(x.text)]
    after = [x for x in _between(run, name, int(ran.lines[-1]), full.line or 0) if STARTED.search(x.text)]
    if before and after:
        for e in between_commands(before[-1], after[-1], name):
            yield Grown(e.variable, e.old, e.new, e.file, e.line)


def _finding(raised: Sequence[Grown], ran: Series, full: Evidence, events: Sequence[Event]) -> Iterator[Finding]:
    """One finding over all that needs more; where it is one setting, its old value is what to try."""
    by: Mapping[str, Grown] = {g.variable: g for g in reversed(raised)}
    if not by:
        return
    steps = int((ran.lines < (full.line or 0)).sum()) if ran.file == full.file else len(ran)
    said = ", ".join(f"{g.variable} {g.old} -> {g.new} ({g.file}:{g.line})" for g in by.values())
    one = next(iter(by.values())) if len(by) == 1 else None
    pair = next((e for e in events if e.variable == "grad_accumulation" and e.old and e.new), None)
    beside = beside_zh = ""
    if one is not None and one.variable == "micro_batch_size" and pair is not None:
        beside = f" Put grad_accumulation back with it ({pair.new} -> {pair.old}): the global batch stays."
        beside_zh = f" 同时把 grad_accumulation 改回 {pair.old}：全局 batch 不变。"
    yield Finding(
        "memory-setting-raised", Severity.S2,
        f"{steps} logged steps had room in memory; the start after them ran out of it ({full.file}:{full.line}), and "
        f"what was changed and needs memory is {said}.{beside}",
        f"此前 {steps} 个有记录的步显存都够；之后的启动才溢出（{full.file}:{full.line}），"
        f"改动过且占显存的设置：{said}。"
        f"{beside_zh}",
        (*(Evidence(g.file, g.line, text=f"{g.variable} {g.old} -> {g.new}") for g in by.values()), full,
         ran.at(min(len(ran) - 1, max(steps - 1, 0)))),
        {"changed": {g.variable: [g.old, g.new] for g in by.values()}, "steps": steps,
         **({PROPOSES: {"variable": one.variable, "new": _typed(one.old)}} if one is not None else {})},
    )  # fmt: skip


def _typed(value: str) -> object:
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number

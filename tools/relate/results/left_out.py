"""A score that falls where a planned mixture of data leaves a source out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...documents.event import Event
from ...documents.phases import BEGINS, dropped
from ...findings import Evidence, Finding, Severity, declare
from ..moves import Move
from ..onset import surrounded

CHECK = "scores in tables"
CODES = declare(
    "left out",
    ("source-dropped-at-fall", CHECK, "a score falls at the checkpoints between which a source of data was left out"),
)
FALLS = "score-falls-at-checkpoint"
LAG = 1.0
"""Distances of checkpoints by which the fall may come behind the change: what was learned is not lost at once."""


def around(found: Iterable[Finding], moved: Sequence[Move], events: Sequence[Event]) -> Iterator[Finding]:
    """Findings of scores with the events and changes that lie in their intervals, and the source that was left out."""
    for finding in found:
        yield surrounded(finding, moved, events)
        if finding.code == FALLS:
            yield from _left_out(finding, events)


def _left_out(fall: Finding, events: Sequence[Event]) -> Iterator[Finding]:
    good, bad = (float(x) for x in fall.data["interval"])
    near = [e for e in events if dropped(e) and e.step is not None and good - LAG * (bad - good) <= e.step <= bad]
    others = [e for e in events if e.step is not None and good < e.step <= bad and e.what in ("config", "code")]
    if not near or others:
        return
    event = max(near, key=lambda e: e.step or 0)
    there = f"{event.old} -> {event.new.split()[-1]} from step {event.step} ({event.file}:{event.line})"
    d, pairs = fall.data, event.text.removeprefix(BEGINS)
    yield Finding(
        "source-dropped-at-fall", Severity.S1,
        f"{d['score']} falls from {d['before']:.1f} to {d['after']:.1f} behind checkpoint {good:.10g} and not after "
        f"{bad:.10g}, and the plan of the data leaves a source out there: {pairs} ({event.file}:{event.line}). The "
        f"last good checkpoint is that of step {good:.10g}.",
        f"{d['score']} 在检查点 {good:.10g} 之后、不晚于 {bad:.10g} 从 {d['before']:.1f} 降到 {d['after']:.1f}，而数据"
        f"计划正在此处去掉了一个数据源：{pairs}（{event.file}:{event.line}）。"
        f"最后一个好的检查点是第 {good:.10g} 步的。",
        (Evidence(event.file, event.line, event.step, text=event.text), *fall.evidence[:2]),
        {"score": d["score"], "interval": [good, bad], "names": there,
         "good": good},
    )  # fmt: skip

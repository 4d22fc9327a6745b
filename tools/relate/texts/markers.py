"""Outputs in which the marks of a turn stand as plain text: the template, the stop or both do not fit the model."""

from __future__ import annotations

from collections.abc import Iterator

from ...data.statistics import wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import shown, texts
from .loops import LEAST, WRITES, outputs

MARKS = bounded(
    r"<\|(?:im_start|start_header_id|user|assistant|eot_id|im_end)\|>|\[/?INST\]|<start_of_turn>|<｜(?:User|Assistant)｜>"
    r"|###\s?(?:Human|Assistant|Instruction|Response|User)\b"
)
SHARE = 0.05
"""Share of the outputs from which on it is told. Own judgement."""


def marked(table: Table) -> Iterator[Finding]:
    """A share of the outputs holds marks of a turn."""
    column = outputs(table)
    if column is None or len(table) < LEAST or not WRITES.search(table.file):
        return
    found = [MARKS.search(t) for t in texts(column).tolist()]
    rows = [i for i, m in enumerate(found) if m]
    low, high = wilson(len(rows), len(table))
    if low < SHARE:
        return
    mark = found[rows[0]][0]  # type: ignore[index]
    yield Finding(
        "turn-marks-in-outputs", Severity.S2,
        f"{len(rows)} of {len(table)} outputs in {column.name} ({len(rows) / len(table):.0%}, 95%: {low:.0%} to "
        f"{high:.0%}) hold marks of a turn as text, such as {mark!r}.",
        f"{column.name} 的 {len(table)} 条输出中有 {len(rows)} 条（{len(rows) / len(table):.0%}，95% 区间 {low:.0%} 到 "
        f"{high:.0%}）含有字面的轮次标记，例如 {mark!r}。",
        shown(table, rows[:3], column.name), {"outputs": len(table), "marked": len(rows), "mark": mark},
    )  # fmt: skip

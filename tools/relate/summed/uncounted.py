"""Results that hardly rest on anything: parts that do not make up their total, and parts that could not be evaluated.

An evaluation that cannot read an answer leaves it out of every count, and its score is that of the few that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Table

RESULTS = bounded(r"(?i)result|eval|metric|score|bench|summary|test")
TOTAL = bounded(r"^(?:total|n_total|num_total|total_(?:samples|examples|questions|items)|n_samples|num_samples|n)$")
FAULT = bounded(
    r"(?i)err|fail|time|skip|inval|miss|drop|refus|bad|wrong|step|epoch|token|id$|seed|batch|size|per_|retr"
)
"""Counts that are small where all is well, and numbers that count no answers."""
ERROR = bounded(r"(?i)^(?:error|exception|failure|error_message)$")
SAID = bounded(r"(?i)fail|error|exception|not found|could not|cannot|unable|no such|missing|denied|timed? ?out")
LEAST_TOTAL, PARTS, HARDLY = 100, 3, 0.1
"""Answers in all; parts of one name that should make them up; their share of the total that is hardly any. Ours."""
MOST_ROWS = 64
"""Rows of a summary; where there are more, they are single answers."""


def uncounted(tables: Sequence[Table]) -> list[Finding]:
    """Totals of which hardly any was counted, and parts of an evaluation that hold an error."""
    parts = [p for t in tables if RESULTS.search(t.file) for p in _parts(t)]
    hardly, failed = ([f for p in parts for f in look(p)] for look in (_hardly, _failed))
    return [*_once(hardly), *_once(failed)]


def _once(found: Sequence[Finding]) -> list[Finding]:
    """The first of what several files say alike."""
    return list({str(f.data): f for f in reversed(found)}.values())[::-1][:2]


@dataclass(frozen=True)
class Part:
    """What a result says of one of its parts, or of the whole."""

    file: str
    line: int | None
    name: str
    values: Mapping[str, object]


def _parts(table: Table) -> Iterator[Part]:
    """The parts of a summary: its rows by their key, and in each what stands under one name."""
    key = next((c for c in table.columns if c.name == "$key"), None)
    if (key is None and len(table) > 1) or len(table) > MOST_ROWS:
        return
    for i in range(len(table)):
        found: dict[str, dict[str, object]] = {}
        for c in table.columns:
            parent, _, name = c.name.rpartition(".")
            if c is not key:
                found.setdefault(parent, {})[name] = c.values[i]
        row = str(key.values[i]) if key is not None else ""
        for parent, values in found.items():
            yield Part(table.file, int(table.lines[i]) or None, ".".join(filter(None, (row, parent))), values)


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, float) and value >= 0 and float(value).is_integer() else None


def _hardly(part: Part) -> Iterator[Finding]:
    counts = {n: k for n, v in part.values.items() if (k := _count(v)) is not None}
    total = next((k for n, k in counts.items() if TOTAL.search(n)), 0)
    groups: dict[str, dict[str, int]] = {}
    for name, k in counts.items():
        if "_" in name and not TOTAL.search(name) and not FAULT.search(name):
            groups.setdefault(name.rpartition("_")[2], {})[name] = k
    for parts in groups.values():
        if len(parts) >= PARTS and total >= LEAST_TOTAL and sum(parts.values()) < HARDLY * total:
            yield _told(part, parts, total)


def _told(part: Part, parts: Mapping[str, int], total: int) -> Finding:
    said = ", ".join(f"{n} {k}" for n, k in list(parts.items())[:4])
    where, whole = f"{part.file}{f' ({part.name})' if part.name else ''}", sum(parts.values())
    return Finding(
        "answers-hardly-counted", Severity.S2,
        f"Of {total} answers in {where} {whole} were counted ({said}): nearly all could not be read or scored, so the "
        "scores made of them say nothing of the model.",
        f"{where} 的 {total} 条回答只有 {whole} 条被计入（{said}）：几乎都无法读取或打分，由此得到的分数说明不了模型。",
        (Evidence(part.file, part.line, metric=next(iter(parts)), value=whole, text=clean(said, 120)),),
        {"total": total, "counted": whole, "parts": dict(parts)},
    )  # fmt: skip


def _failed(part: Part) -> Iterator[Finding]:
    for name, value in part.values.items():
        if part.name and ERROR.search(name) and isinstance(value, str) and SAID.search(value):
            yield Finding(
                "part-not-evaluated", Severity.S2,
                f"{part.file} has no result for {part.name}: {clean(value, 120)}",
                f"{part.file} 中 {part.name} 没有结果：{clean(value, 120)}",
                (Evidence(part.file, part.line, metric=name, text=clean(value, 120)),), {"part": part.name},
            )  # fmt: skip

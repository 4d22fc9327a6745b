"""Peak memories that go by the order in which models were measured, and not by what the models need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table

LEAST, MOST = 3, 60
"""Models of one table."""
GROWS, LIKE, ABOVE = 1.8, 1.3, 1.25
"""Times the first peak that the last one is at least, times the first model that the last is at most, and times two
bytes a parameter that the last peak is above. Own judgement."""
SIZE = bounded(r"(?i)(?:^|[^a-z\d.])(\d{1,4}(?:\.\d{1,3})?)\s?b(?:$|[^a-z\d])")
"""Parameters in 1e9 in the name of a model: `Qwen2.5-7B-Instruct`."""
WIDE = bounded(r"(?i)(?:fp|float|f)32|full.?precision")
BITS = bounded(r"(?i)(?:^|[^\d])(?:(\d{1,2})[ -]?bit|(?:int|nf|fp|w|q)(\d{1,2})(?:$|[^\d]))")
BYTES = {"kb": 1e3, "mb": 1e6, "mib": 2**20, "gb": 1e9, "gib": 2**30, "b": 1.0, "bytes": 1.0}


def by_order(tables: Sequence[Table]) -> Iterator[Finding]:
    """Peaks that only rise from model to model in the order of the rows, far above what the last model takes.

    The last model is no larger than the first, or their names would explain it; so would a precision that rises.
    """
    for table in tables:
        memory = next((c for c in table.of("measure") if c.of == "gpu_memory"), None)
        named = (c for c in table.of("group", "text", "identifier") if c.values.dtype.kind == "O")
        for names in named if memory is not None else ():
            found = _judged(table, names, memory)  # type: ignore[arg-type]
            if found is not None:
                yield found
                break


def _judged(table: Table, names: Column, memory: Column) -> Finding | None:
    labels = list(dict.fromkeys(str(v) for v in names.values))
    sizes = [float(m[1]) if (m := SIZE.search(label)) else 0.0 for label in labels]
    if not LEAST <= len(labels) <= MOST or min(sizes) <= 0 or WIDE.search(labels[-1]):
        return None
    rows = [np.flatnonzero([str(v) == label for v in names.values]) for label in labels]
    if any(len(r) != r[-1] - r[0] + 1 for r in rows):
        return None  # the models come again and again
    peaks = [float(np.nanmax(memory.values[r])) if np.isfinite(memory.values[r]).any() else np.nan for r in rows]
    unit = _unit(memory, peaks)
    if not np.isfinite(peaks).all() or not (np.diff(peaks) > 0).all() or not unit:
        return None
    needs = sizes[-1] * 2 * ABOVE * 1e9
    bits = [float(m[1] or m[2]) for label in labels if (m := BITS.search(label))]
    explained = len(bits) == len(labels) and (np.diff(bits) >= 0).all() and bits[-1] > bits[0]
    if peaks[-1] < GROWS * peaks[0] or sizes[-1] > LIKE * sizes[0] or peaks[-1] * unit < needs or explained:
        return None
    shown = tuple(
        Evidence(table.file, int(table.lines[r[0]]) or None, metric="gpu_memory", value=p, text=label)
        for label, r, p in [*zip(labels, rows, peaks, strict=True)][:: max(1, len(labels) // 4)]
    )
    times = peaks[-1] * unit / (sizes[-1] * 2e9)
    said = " -> ".join(f"{p:.3g}" for p in peaks[:8])
    return Finding(
        "peak-by-order", Severity.S2,
        f"{memory.name} only rises in the order of the models ({said}), and {labels[-1]} ({sizes[-1]:g}B parameters) "
        f"shows {peaks[-1]:.4g}, {times:.1f} times its weights in 16 bits: what was loaded before is "
        "still there, or the peak was not set back.",
        f"{memory.name} 只按模型的先后顺序上升（{said}），{labels[-1]}（{sizes[-1]:g}B 参数）为 "
        f"{peaks[-1]:.4g}，是其 16 位权重的 {times:.1f} 倍：前面加载的模型没有释放，或峰值没有重置。",
        shown, {"first": peaks[0], "last": peaks[-1], "models": len(labels)},
    )  # fmt: skip


def _unit(memory: Column, peaks: Sequence[float]) -> float:
    """Bytes of one unit of the column; where none is said, by what cards have."""
    said = BYTES.get(memory.unit.lower(), 0.0)
    top = max((p for p in peaks if np.isfinite(p)), default=0.0)
    return said or (1e9 if 1 <= top < 1000 else 1e6 if 1000 <= top < 1e6 else 0.0)

"""Measured extremes beyond what a number format that the run names can hold, 448 of FP8 E4M3, 65504 of FP16; and
extremes that outgrow the range that their own scale leaves, as the table beside them says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from .names import demand

EXTREME = bounded(r"abs_?max|amax|max_abs|(?:^|_)peak_(?:act|value)|最大绝对值")
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "fp16": 65504.0, "float16": 65504.0}
"""Part of a format's name -> its largest number."""
HOLDS = bounded(r"max_?repr|repr\w*_?max|representable|(?:fp8|fmt|format|dtype|range)_?(?:max|limit|bound)"
                r"|(?:^|_)qmax(?:_|$)|clip_?(?:max|limit|bound)|可表示|量程")  # fmt: skip
"""What the largest number is called that a scale lets through."""
AT = 0.99
"""Share of the largest number from which on an extreme has reached it: a format that saturates never passes it."""
LEAST, FAR = 8, 1.5
"""Rows of a part, and times its range that its last fifth is, from which on it has outgrown it. Own judgement."""
FORMAT = bounded(r"e4m3|e5m2|(?<!b)fp16|(?<!b)float16")


def beyond(tables: Sequence[Table], said: Sequence[Stated]) -> list[Finding]:
    """Extremes that a format of the run cannot hold without a scale."""
    named = _named(tables, said)
    found = []
    for table in tables:
        for column in table.of("measure") if named else ():
            if column.values.dtype.kind != "f" or not (
                means(EXTREME, column.name) or EXTREME.search(table.file.lower())
            ):
                continue
            name, where = min(named.items(), key=lambda one: LARGEST[one[0]])
            over = np.flatnonzero(column.values >= AT * LARGEST[name])
            if len(over) and len(over) < len(table):
                found.append(_told(table, column.name, column.values, over, name, where))
    return found[:3]


def _named(tables: Sequence[Table], said: Sequence[Stated]) -> dict[str, Evidence]:
    """The formats that the run names, and where."""
    out: dict[str, Evidence] = {}
    for one in said:
        for name in FORMAT.findall(one.value.lower()):
            out.setdefault(name, one.evidence())
    for table in tables:
        for column in table.of("group", "text"):
            for value in sorted(set(texts(column)[:200].tolist())):
                for name in FORMAT.findall(value.lower()):
                    out.setdefault(
                        name, Evidence(table.file, int(table.lines[0]) or None, text=f"{column.name} {value}")
                    )
    return out


def _told(table: Table, name: str, values: np.ndarray, over: np.ndarray, of: str, where: Evidence) -> Finding:
    top = int(over[values[over].argmax()])
    largest = LARGEST[of]
    return Finding(
        "values-beyond-format", Severity.S3,
        f"{name} is at or above {largest:g}, the largest number of {of} ({where.file}:{where.line}), in {len(over)} of "
        f"{len(values)} rows of {table.file}, at most {values[top]:.5g}: unscaled they are cut off.",
        f"{table.file} 的 {len(values)} 行中有 {len(over)} 行 {name} 达到或超过 {of} 的最大值 {largest:g}（"
        f"{where.file}:{where.line}），最大 {values[top]:.5g}：不缩放就会被截断。",
        (Evidence(table.file, int(table.lines[top]) or None, metric=name, value=float(values[top])), where),
        {"metric": plain(name), "rows": len(over), "largest": largest, "kinds": ["format"],
         "names": f"{name} {values[top]:.5g} > {largest:g} ({of}), {where.file}:{where.line}",
         "asks": [demand(f"{plain(name)}_scaled", "at-most", largest, f"{values[top]:.5g} unscaled",
                         f"未缩放时 {values[top]:.5g}")]},
    )  # fmt: skip


def outgrown(tables: Sequence[Table]) -> list[Finding]:
    """Extremes that grow beyond the range that a column beside them leaves, and stay beyond it to the end."""
    found = []
    for table in tables:
        way = next((c for c in table.of("axis") if c.of in ("step", "epoch", "time")), None)
        top = next((c for c in table.columns if c.values.dtype.kind == "f" and means(EXTREME, c.name)), None)
        most = next((c for c in table.columns if c.values.dtype.kind == "f" and means(HOLDS, c.name)), None)
        if way is not None and top is not None and most is not None and top is not most and (most.values > 0).all():
            found += _grown(table, way, top, most)
    return found[:3]


def _grown(table: Table, way: Column, top: Column, most: Column) -> Iterator[Finding]:
    """The parts of a table that were inside their range at first, and are far outside at last."""
    labels = [texts(c) for c in table.of("group") if len(set(texts(c).tolist())) > 1]
    who = np.array([" ".join(v) for v in zip(*labels, strict=True)] if labels else [""] * len(table))
    over = top.values / most.values
    odd: list[tuple[float, str, int, int]] = []
    names = list(dict.fromkeys(who.tolist()))
    for name in names:
        rows = np.flatnonzero(who == name)
        rows = rows[np.argsort(way.values[rows], kind="stable")]
        part = max(2, len(rows) // 5)
        if len(rows) >= LEAST and over[rows[:part]].max() <= 1 and over[rows[-part:]].min() >= FAR:
            first = next(i for i in range(len(rows)) if (over[rows[i:]] > 1).all())
            odd.append((float(over[rows[-1]]), name, int(rows[first]), int(rows[-1])))
    if not odd:
        return
    worst, _, begun, end = max(odd)
    by = ", ".join(c.name for c in table.of("group") if len(set(texts(c).tolist())) > 1)
    which = f" of {by} {', '.join(name for _, name, *_ in odd[:8])}" if by else ""
    which_zh = f"{by} {'、'.join(name for _, name, *_ in odd[:8])} 的" if by else ""
    rest = f", the other {len(names) - len(odd)} stay inside" if len(names) > len(odd) else ""
    rest_zh = f"，其余 {len(names) - len(odd)} 组没有超出" if len(names) > len(odd) else ""
    yield Finding(
        "range-outgrown", Severity.S2,
        f"{top.name}{which} outgrows {most.name}: inside it at first, at last up to {worst:.3g} times it "
        f"({top.values[end]:.5g} of {most.values[end]:.5g}), from {way.name} {way.values[begun]:.6g} on for good"
        f"{rest}: what lies above is cut off.",
        f"{which_zh} {top.name} 超出了 {most.name}：起初在范围内，最后达到其 {worst:.3g} 倍（{top.values[end]:.5g} 对 "
        f"{most.values[end]:.5g}），自 {way.name} {way.values[begun]:.6g} 起一直超出{rest_zh}：超出的部分被截断。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=top.name, value=float(top.values[i]))
              for i in (end, begun)),
        {"metric": plain(top.name), "of": plain(most.name), "times": worst, "parts": len(odd), "kinds": ["format"],
         "asks": [demand(f"{plain(top.name)}_share", "at-most", 1.0, f"{worst:.3g} times", f"{worst:.3g} 倍")]},
    )  # fmt: skip

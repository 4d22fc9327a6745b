"""One of several alike parts of a configuration lacks a key that all others have: what the program takes instead, and
what the files say of that part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...documents.stated import Stated, word
from ...findings import Evidence, Finding, Severity
from ...tables.table import Table
from ..distributions import texts
from ..line import plain
from .names import demand, kinds, kinds_of

MOST = 4


def left_out(tables: Sequence[Table], said: Sequence[Stated]) -> list[Finding]:
    """Keys that one part lacks, where something says what it ought to be or what is taken for it."""
    found = []
    for one in said:
        if one.how != "lacks":
            continue
        default = next((s for s in said if s.how == "default" and s.key == one.key), None)
        actual = _actual(one, tables, said)
        if default is not None or actual is not None:
            found.append(_told(one, default, actual))
    return sorted(found, key=lambda f: f.severity)[:MOST]


def _actual(one: Stated, tables: Sequence[Table], said: Sequence[Stated]) -> tuple[float, Evidence] | None:
    """What another file says of this part under a name of the same kind."""
    asked = kinds_of(one.key)
    for table in tables:
        labels = [c for c in table.columns if c.values.dtype.kind == "O"]
        for column in table.columns:
            alike = plain(column.name) == plain(one.key) or bool(asked & kinds_of(column.name))
            if column.values.dtype.kind != "f" or not alike:
                continue
            for i in np.flatnonzero(np.isfinite(column.values[:2000])).tolist():
                if table.file != one.file and any(word(str(texts(c)[i]), one.part) for c in labels):
                    line = int(table.lines[i]) or None
                    value = float(column.values[i])
                    return value, Evidence(table.file, line, metric=column.name, value=value, text=one.part)
    for s in said:
        alike = plain(s.key) == plain(one.key) or bool(asked & kinds_of(s.key))
        if alike and s.file != one.file and s.how == "said" and s.number is not None and word(s.text, one.part):
            return s.number, s.evidence()
    return None


def _told(one: Stated, default: Stated | None, actual: tuple[float, Evidence] | None) -> Finding:
    en = [f"{one.part} has no {one.key} in {one.file}:{one.line}, all parts beside it have one"]
    zh = [f"{one.file}:{one.line} 中 {one.part} 没有写 {one.key}，旁边各项都有"]
    places, wrong = [one.evidence()], False
    if default is not None:
        en.append(f"{default.file}:{default.line} then takes {default.value}")
        zh.append(f"{default.file}:{default.line} 于是取默认值 {default.value}")
        places.append(default.evidence())
    if actual is not None:
        value, where = actual
        en.append(f"{where.file}:{where.line} says {value:g}")
        zh.append(f"{where.file}:{where.line} 为 {value:g}")
        places.append(where)
        wrong = default is not None and default.number is not None and abs(default.number - value) > 0.01 * abs(value)
    data: dict[str, object] = {"key": plain(one.key), "of": one.part, "kinds": kinds(one.key)}
    if actual is not None:
        said = f"{one.key} of {one.part} as {actual[1].file}:{actual[1].line} has it"
        data["names"] = f"{one.part}: {one.key} {actual[0]:g} ({one.file}:{one.line})"
        data["asks"] = [demand(plain(one.key), "at-least", actual[0], said, said)]
    return Finding("setting-left-out", Severity.S2 if wrong else Severity.S3, "; ".join(en) + ".",
                   "；".join(zh) + "。", tuple(places), data)  # fmt: skip


def thrown_away(said: Sequence[Stated]) -> list[Finding]:
    """Lines of a launch that throw away what its program writes when it fails."""
    lines = [s for s in said if s.how == "discards"][:MOST]
    if not lines:
        return _one_stream([s for s in said if s.how == "one-stream"][:MOST])
    each = "; ".join(f"{s.file}:{s.line} {s.text[:120]}" for s in lines)
    return [Finding(
        "output-thrown-away", Severity.S3,
        f"What the program writes to standard error goes to /dev/null ({each}): no traceback of any rank can be read.",
        f"程序写到标准错误的内容被丢到 /dev/null（{each}）：任何 rank 的 traceback 都看不到。",
        tuple(s.evidence() for s in lines),
        {"kinds": ["log"], "places": len(lines), "names": f"{lines[0].file}:{lines[0].line} /dev/null",
         "asks": [demand("ranks_with_stderr_log", "at-least", 1, "what goes to /dev/null", "写到 /dev/null 的内容")]},
    )]  # fmt: skip


def _one_stream(lines: Sequence[Stated]) -> list[Finding]:
    """Launches in the background that keep only what is printed."""
    each = "; ".join(f"{s.file}:{s.line} {s.text[:120]}" for s in lines)
    return [Finding(
        "errors-not-kept", Severity.S3,
        f"Only standard output is kept ({each}): a traceback goes to standard error, which is not.",
        f"只保存了标准输出（{each}）：traceback 写到标准错误，没有保存。",
        tuple(s.evidence() for s in lines), {"kinds": ["log"], "places": len(lines)},
    )] if lines else []  # fmt: skip

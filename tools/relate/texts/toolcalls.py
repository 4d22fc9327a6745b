"""Calls of tools that stand as text in the answers of a server, in the field beside the one that they belong in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts

CALL = bounded(
    r"^\s{0,9}(?:\[TOOL_CALLS?\]|<\|?tool[_▁]calls?|<｜tool▁calls?|<function[=_]|<\|python_tag\|>|functools\[|```tool_c"
    r"|(?:<\w{1,20}>\s{0,9})?\{\s{0,9}\"(?:name|function)\"\s{0,9}:\s{0,9}\"[\w.-]{1,80}\",\s{0,9}\"(?:arguments|parameters)\")"
)
"""How models begin to call a tool, each in the format of its own."""
CALLS, SAYS = (
    bounded(r"(?:^|[._])(?:tool_?calls?|function_?calls?)$"),
    bounded(r"(?:^|[._])(?:content|text|message|response|output)$"),
)
NONE = bounded(r"^\s{0,9}(?:\[\s{0,9}\]|null|none|nan)?\s{0,9}$")
LEAST, SHARE = 3, 0.05
"""Answers, and share of them, from which on it is told. Own judgement."""


def left_in_text(table: Table) -> Iterator[Finding]:
    """Answers that hold a call as text, where the field for calls is empty."""
    calls = _named(table, CALLS)
    said = _named(table, SAYS)
    if calls is None or said is None:
        return
    pairs = zip(texts(said).tolist(), texts(calls).tolist(), strict=True)
    rows = [i for i, (text, call) in enumerate(pairs) if NONE.match(call[:40].lower()) and CALL.match(text[:200])]
    if len(rows) < LEAST or len(rows) < SHARE * len(table):
        return
    mark = clean(texts(said)[rows[0]].strip(), 24)
    yield Finding(
        "tool-calls-left-in-text", Severity.S1,
        f"{len(rows)} of {len(table)} answers in {table.file} hold a call as text in {said.name} ({mark!r}) while "
        f"{calls.name} is empty: the parser of the server does not know the format in which the model calls.",
        f"{table.file} 的 {len(table)} 条回答中有 {len(rows)} 条把工具调用写在 {said.name} 的正文里（{mark!r}），而 "
        f"{calls.name} 为空：服务端的解析器不认识模型的调用格式。",
        shown(table, rows[:2], said.name), {"answers": len(table), "calls": len(rows), "mark": mark},
    )  # fmt: skip


def _named(table: Table, pattern: re.Pattern[str]) -> Column | None:
    return next((c for c in table.columns if c.values.dtype.kind == "O" and pattern.search(c.name.lower())), None)

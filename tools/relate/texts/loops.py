"""Outputs that end in a loop: the same stretch of text again and again until they are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...data.statistics import wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import means
from .same import of_another, trained

LEAST, SHARE, MOSTLY = 20, 0.05, 0.25
"""Outputs, share of them that loop from which on it is told, and from which on it is most of what comes out."""
REPEATS, LONGEST, LEAST_LOOP, LETTERS = 3, 160, 24, 0.3
"""Times that the stretch stands there, its most characters, the least of the whole loop, and share of letters in it."""
OUTPUT = bounded(
    r"^(?:model_)?(?:outputs?|completions?|responses?|generations?|generated|text|answers?|predictions?|reply)"
    r"(?:_text)?$|^(?:模型)?(?:输出|回答|回复|生成|生成结果|答案|答|答复)(?:文本|内容)?$"
)
WRITES = bounded(r"(?i)gen|output|out[_./]|sample|respon|complet|answer|predict|rollout|infer|输出|回答|生成|回复|采样")
"""What in the name of a file or column says that a model wrote it, where a column is called `text`."""


def outputs(table: Table) -> Column | None:
    """The column of what a model wrote."""
    named = (c for c in table.columns if c.values.dtype.kind == "O" and means(OUTPUT, c.name))
    return next((c for c in named if c.name != "text" or WRITES.search(table.file)), None)


def looping(table: Table, tables: Sequence[Table] = ()) -> Iterator[Finding]:
    """A share of the outputs that end in a loop; those of a base, which learned no end, are left out beside those of
    what was trained from it."""
    column = outputs(table)
    if column is None or len(table) < LEAST or of_another(table, tables):
        return
    own = trained(table)
    stretches = [loop(t) if kept else "" for t, kept in zip(texts(column).tolist(), own.tolist(), strict=True)]
    rows = [i for i, s in enumerate(stretches) if s]
    k, n = len(rows), int(own.sum())
    low, high = wilson(k, n)
    if n < LEAST or low < SHARE:
        return
    said = stretches[rows[0]].strip()[:60]
    yield Finding(
        "answers-mostly-loop" if low >= MOSTLY else "repetition-loop", Severity.S2,
        f"{k} of {n} outputs in {column.name} ({k / n:.0%}, 95%: {low:.0%} to {high:.0%}) end in a loop, such as "
        f"{said!r} again and again.",
        f"{column.name} 的 {n} 条输出中有 {k} 条（{k / n:.0%}，95% 区间 {low:.0%} 到 {high:.0%}）以循环结尾，例"
        "如反复出现"
        f"“{said}”。",
        shown(table, rows[:3], column.name), {"outputs": n, "looping": k, "share": k / n},
    )  # fmt: skip


def loop(text: str) -> str:
    """The stretch that a text repeats at its end, empty where it does not.

    >>> loop("Well. " + "and so on, " * 5), loop("a table\\n" + "-" * 80)
    ('and so on, ', '')
    """
    text = text.rstrip("…. \n")
    for size in range(1, min(LONGEST, len(text) // REPEATS) + 1):
        whole = max(size * REPEATS, LEAST_LOOP)
        tail = text[-whole:]
        if len(tail) == whole and tail[size:] == tail[:-size]:
            letters = sum(ch.isalpha() for ch in tail) / whole
            start = len(text) - whole
            while start >= size and text[start - 1] == text[start - 1 + size]:
                start -= 1
            return text[start : start + size] if letters >= LETTERS else ""
    return ""

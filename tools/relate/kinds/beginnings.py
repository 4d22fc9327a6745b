"""How far the texts of a table begin alike, in each group of a column: prompts of one release share their instructions
word by word, those of the next begin with a time or an id of their own, and nothing of them can be kept between two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain
from .names import demand

LONG, LEAST, GROUPS, ROWS = 200, 4, 6, 5000
"""Letters of a text; rows of a group, groups of a column, and rows of a table that are looked at."""
SHARED, LESS = 0.3, 0.25
"""Share of a text that a group has in common at least, and of that what the other group has at most. Own judgement."""


SENT = bounded(
    r"prompt|instruct|request|(?:^|_)(?:input|query|messages?|system|context|payload)(?:_|$)"
    r"|提示|指令|请求|输入|消息"
)
"""Names of what is sent to a model: of other texts no prefix is kept."""


def beginning_otherwise(table: Table) -> Iterator[Finding]:
    """The clearest group whose texts no longer begin alike."""
    if not 2 * LEAST <= len(table) <= ROWS:
        return
    columns = [c for c in table.columns if c.values.dtype.kind == "O"]
    long = [c for c in columns if np.median([len(t) for t in texts(c).tolist()]) >= LONG]
    for text in long:
        for by in (c for c in columns if c not in long):
            said = texts(by).astype(str)
            groups = sorted(set(said.tolist()))
            if "" in groups or not SENT.search(plain(text.name)):
                continue
            if 2 <= len(groups) <= GROUPS and all((said == g).sum() >= LEAST for g in groups):
                alike = {g: _alike(texts(text)[said == g].tolist()) for g in groups}
                most, least = max(alike, key=lambda g: alike[g]), min(alike, key=lambda g: alike[g])
                whole = float(np.median([len(t) for t in texts(text).tolist()]))
                if alike[most] >= SHARED * whole and alike[least] <= LESS * alike[most]:
                    yield _told(table, text, by, (most, alike[most]), (least, alike[least]))
                    return


def _alike(some: list[str]) -> float:
    """Letters that neighbours have in common at their beginning."""
    return float(np.median([_shared(a, b) for a, b in pairwise(some)]))


def _shared(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _told(table: Table, text: Column, by: Column, most: tuple[str, float], least: tuple[str, float]) -> Finding:
    said = texts(by).astype(str)
    rows = [int(np.flatnonzero(said == g)[0]) for g, _ in (least, most)]
    start = int(least[1])
    shown = [clean(str(texts(text)[i])[max(0, start - 40) : start + 60], 100) for i in rows]
    odd, usual = f"{by.name} {least[0]}", f"{by.name} {most[0]}"
    return Finding(
        "texts-begin-otherwise", Severity.S3,
        f"{text.name} of {table.file} begin alike for {most[1]:.0f} letters with {usual}, and for {least[1]:.0f} with "
        f"{odd}, where each goes on by itself (`{shown[0]}`): no prefix of them is the same for two requests.",
        f"{table.file} 的 {text.name} 在 {usual} 时开头有 {most[1]:.0f} 个字符相同，在 {odd} 时只有 {least[1]:.0f} 个，"
        f"之后各不相同（`{shown[0]}`）：请求之间没有可共用的前缀。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=text.name, text=words)
              for i, words in zip(rows, shown, strict=True)),
        {"metric": plain(text.name), "by": plain(by.name), "groups": [least[0]], "alike": least[1], "others": most[1],
         "kinds": ["prefix"], "names": f"{odd}: the prefix ends at `{shown[0][:60]}`",
         "asks": [demand("prefix_cache_shared", "at-least", 0.9 * most[1], f"{least[1]:.0f} letters with {odd}, "
                         f"{most[1]:.0f} with {usual}", f"{odd} 为 {least[1]:.0f} 个字符，{usual} 为 {most[1]:.0f}")]},
    )  # fmt: skip

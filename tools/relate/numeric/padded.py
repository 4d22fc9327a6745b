"""Rows that are not finite exactly where there is padding, and where one implementation of attention was used.

The same rows finite alone or under another implementation take the data, the rate and the number format out. Where
only a metric is no number and the loss beside it is finite, the padding broke the metric and not the model.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..joined.shared import drawn
from ..line import means, plain
from .outcome import outcomes

LEAST, MOST_ROWS, SIDE, CHANCE = 6, 100_000, 2, 0.02
"""Rows of a table, rows on either side, and most that chance may do where the names tell a mechanism."""
MOST_VARIANTS = 60
PADDING = bounded(r"(?:^|_)n?_?(?:l|r|left|right)?_?pad|padd|(?:^|_)fill|blank|first_(?:true|real|tok\w*|valid|key|kept?)"
                  r"|(?:^|_)lead(?:ing)?_|empty_?(?:pos|tok|row)|masked_?(?:pos|tok|row|quer)|填充|补齐|空位|左补|屏蔽")  # fmt: skip
"""Counts of padding, 0 where there is none."""
REAL = bounded(r"^(?:is_)?(?:real|valid|keep|kept|token|is_tok\w*|attn_mask|attention_mask|mask|非填充|有效)$")
"""Marks of single positions, 1 where no padding is."""
KEYS = bounded(r"(?:visible|allowed|valid|attend\w*|unmasked|n)_?keys?|keys?_(?:visible|allowed|left|seen)|可见")
"""Counts of what a row may attend to: nothing where 0."""
WIDTH = bounded(
    r"^(?:t|width|padded_?(?:len|to|length)|batch_?(?:len|max|width)|max_?(?:len|t|tok\w*)|longest|填充后\w*|批长)$"
)
LENGTH = bounded(
    r"^(?:n_?tok\w*|len|length|tokens?|real_?(?:len|tok\w*)|valid_?(?:len|tok\w*)|prompt_?(?:len|tok\w*)|seq_?len|长度)$"
)
KERNEL = bounded(r"attn|attention|(?:^|_)(?:impl|kernel|backend)|注意力|内核|实现")
FORMAT = bounded(r"dtype|precision|format|精度")
WORDS = bounded(r"sdpa|flash\w{0,20}|fa[23]\b|fused\w{0,12}|mem\w{0,8}_?eff\w{0,12}|xformers|triton|cudnn|flex\w{0,12}|eager"
                r"|math|plain|naive|manual|reference|vanilla|朴素|融合")  # fmt: skip
"""What implementations of attention are called."""
NAMES_IT = bounded(r"\b(?:attn|attention|impl\w*|kernel|backend|with|using|via|用|改用|注意力|内核)\b")
PLACE = bounded(
    r"(?:^|_)(?:step|iter|it|upd\w*|batch|row|sample|id|item|case|probe|micro|mb|prompt|idx)(?:_|$)|序|批|样本|步"
)
METRIC = bounded(r"(?:^|_)(?:kl|k[123]|drift|entropy|ratio|logp\w*|log_?prob\w*|lp|ppl|perplexity|clip_?frac|diverg\w*)"
                 r"(?:_|$)|approx_kl|散度|熵|漂移|对数概率")  # fmt: skip
TRAINS = bounded(r"loss|grad|(?:^|_)gn(?:_|$)|(?:^|_)g_?norm|obj|损失|梯度")


@dataclass(frozen=True)
class Padded:
    """How a table tells padding."""

    said: str
    column: Column
    rows: np.ndarray
    """(n,) bool, rows with padding."""


def padded(tables: Sequence[Table]) -> Iterator[Finding]:
    """What goes with padding, and with one implementation of attention."""
    seen: set[str] = set()
    for table in tables:
        if 2 <= len(table) <= MOST_ROWS and (broken := list(outcomes(table))):
            for finding in (*_with_padding(table, broken), *_in_one_kernel(table, broken), *_beside(table, broken)):
                if finding.code not in seen:
                    seen.add(finding.code)
                    yield finding


def _paddings(table: Table) -> Iterator[Padded]:
    numeric = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    for column in numeric:
        name, values = plain(column.name), column.values
        if PADDING.search(name) and (values >= 0).all():
            yield Padded(f"{column.name} > 0", column, values > 0)
        elif (REAL.search(name) and np.isin(values, (0.0, 1.0)).all()) or (KEYS.search(name) and (values >= 0).all()):
            yield Padded(f"{column.name} = 0", column, values == 0)
    for column in table.columns:
        if column.values.dtype.kind == "O" and PADDING.search(plain(column.name)):
            said = np.array([v.strip().lower() for v in texts(column)])
            if set(said.tolist()) <= {
                "yes",
                "no",
                "y",
                "n",
                "true",
                "false",
                "left",
                "right",
                "none",
                "是",
                "否",
                "无",
            }:
                yield Padded(f"{column.name} set", column, ~np.isin(said, ("no", "n", "false", "none", "否", "无")))
    wide = next((c for c in numeric if WIDTH.search(plain(c.name))), None)
    own = next((c for c in numeric if LENGTH.search(plain(c.name)) and c is not wide), None)
    if wide is not None and own is not None and (wide.values >= own.values).all():
        yield Padded(f"{own.name} < {wide.name}", own, own.values < wide.values)


def _kernels(table: Table) -> tuple[Column, np.ndarray] | None:
    """The column of implementations and its values, where it has more than one of these."""
    for column in table.columns:
        if column.values.dtype.kind == "O" and means(KERNEL, column.name):
            said = np.array([v.strip() for v in texts(column)])
            if 2 <= len(set(said.tolist())) <= 8:
                return column, said
    return None


def _with_padding(table: Table, broken: Sequence[tuple[Column, np.ndarray]]) -> Iterator[Finding]:
    if len(table) < LEAST:
        return
    paddings = [p for p in _paddings(table) if p.rows.any() and not p.rows.all()]
    kernels = _kernels(table) if paddings else None
    for column, bad in broken if paddings else ():
        kept, which = np.ones(len(table), bool), ""
        if kernels is not None:
            ill = set(kernels[1][bad].tolist())
            kept = np.isin(kernels[1], list(ill))
            which = f" ({kernels[0].name} {', '.join(sorted(ill))})"
        for p in paddings:
            if p.column is not column and _agree(bad[kept], p.rows[kept]):
                yield from _padding_told(table, column, bad, kept, which, p, broken)
                return


def _agree(bad: np.ndarray, pad: np.ndarray) -> bool:
    """Whether all bad rows are padded, nearly all padded ones are bad, and chance would hardly do that."""
    k, held = int(bad.sum()), int(pad.sum())
    clear = bool((pad | ~bad).all()) and k >= SIDE and len(bad) - held >= SIDE and k >= 0.9 * held
    return clear and len(bad) >= LEAST and drawn(len(bad), held, k) <= CHANCE


def _padding_told(
    table: Table, column: Column, bad: np.ndarray, kept: np.ndarray, which: str, p: Padded,
    broken: Sequence[tuple[Column, np.ndarray]],
) -> Iterator[Finding]:  # fmt: skip
    k, held, clean = int(bad[kept].sum()), int(p.rows[kept].sum()), int((~p.rows[kept]).sum())
    places = _places(table, column, (*np.flatnonzero(bad)[:2].tolist(), *np.flatnonzero(kept & ~p.rows)[:1].tolist()))
    en = (f"{column.name} is not finite in {k} of the {held} rows of {table.file} with {p.said}{which}, and in none of "
          f"the {clean} without")  # fmt: skip
    zh = (f"{table.file} 中 {p.said} 的 {held} 行{which}里有 {k} 行 {column.name} 不是有限值，其余 {clean} 行"
          f"全部有限")  # fmt: skip
    data = {"column": column.name, "padding": p.said, "rows": k, "of": held, "without": clean}
    ill = {id(c) for c, _ in broken}
    sound = next((c for c in table.of("measure") if means(TRAINS, c.name) and id(c) not in ill
                  and np.isfinite(c.values[bad]).all()), None)  # fmt: skip
    positions = REAL.search(plain(p.column.name)) is not None
    only_metrics = all(means(METRIC, c.name) for c, _ in broken)
    if only_metrics and (sound is not None or positions):
        beside = f": {sound.name} of the same rows is finite" if sound is not None else ": the padding itself is so"
        beside_zh = f"；同样这些行的 {sound.name} 是有限值" if sound is not None else "；非有限的正是填充位置"
        yield Finding("metric-nan-with-padding", Severity.S2, f"{en}{beside}.", f"{zh}{beside_zh}。", places, data)
    elif sound is None or not means(METRIC, column.name):
        yield Finding("nan-with-padding", Severity.S2, f"{en}.", f"{zh}。", places, data)


def _in_one_kernel(table: Table, broken: Sequence[tuple[Column, np.ndarray]]) -> Iterator[Finding]:
    kernels = _kernels(table)
    if kernels is None:
        yield from _of_variants(table, broken)
        return
    by, said = kernels
    keys = [c for c in table.columns if c is not by and (PLACE.search(plain(c.name)) or means(FORMAT, c.name))]
    keys = [c for c in keys if not any(c is b for b, _ in broken)]
    formats = next((texts(c) for c in keys if means(FORMAT, c.name) and c.values.dtype.kind == "O"), None)
    who = [tuple(str(c.values[i]) for c in keys) for i in range(len(table))]
    if not any(PLACE.search(plain(c.name)) for c in keys):
        return
    for column, bad in broken:
        for ill, well in permutations(sorted(set(said.tolist())), 2):
            a, b = bad & (said == ill), said == well
            if a.sum() < SIDE or b.sum() < SIDE or (bad & b).any():
                continue
            both = {who[i] for i in np.flatnonzero(a)} & {who[i] for i in np.flatnonzero(b)}
            if len(both) >= SIDE and (formats is None or set(formats[a].tolist()) & set(formats[b].tolist())):
                yield _kernel_told(table, column, (ill, int(a.sum()), np.flatnonzero(a)),
                                   (well, int(b.sum()), np.flatnonzero(b)), len(both))  # fmt: skip
                return


def _of_variants(table: Table, broken: Sequence[tuple[Column, np.ndarray]]) -> Iterator[Finding]:
    """Rows that name what was tried in words, two of which differ in nothing but the implementation."""
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and c.role != "axis"), None)
    if label is None or len(table) > MOST_VARIANTS:
        return
    rows = [v.strip().lower() for v in texts(label).tolist()]
    found = [WORDS.findall(v) for v in rows]
    bare = [frozenset(bounded(r"\w+").findall(NAMES_IT.sub(" ", WORDS.sub(" ", v)))) for v in rows]
    for column, bad in broken:
        for i in np.flatnonzero(bad).tolist():
            for j in np.flatnonzero(~bad).tolist():
                one = len(found[i]) == 1 and len(found[j]) == 1 and found[i] != found[j] and bare[i] == bare[j]
                again = any(bad[k] and found[k] == found[j] for k in range(len(rows)))
                if one and not again and _finite(column, j):
                    yield _kernel_told(
                        table, column, (found[i][0], 1, np.array([i])), (found[j][0], 1, np.array([j])), 1
                    )
                    return


def _finite(column: Column, i: int) -> bool:
    return column.values.dtype.kind != "f" or bool(np.isfinite(column.values[i]))


def _beside(table: Table, broken: Sequence[tuple[Column, np.ndarray]]) -> Iterator[Finding]:
    """Columns that differ in nothing but the implementation that they name, of which one alone is not finite."""
    named = {}
    for column in table.columns:
        if len(words := WORDS.findall(plain(column.name))) == 1:
            named[column.name] = (words[0], WORDS.sub("*", plain(column.name)), column)
    for column, bad in broken:
        own = named.get(column.name)
        for word, bare, other in named.values() if own is not None and bad.sum() >= SIDE else ():
            well = next((ill for c, ill in broken if c is other), np.zeros(len(table), bool))
            whole = other.values.dtype.kind == "O" or bool(np.isfinite(other.values[bad]).all())
            if own is not None and word != own[0] and bare == own[1] and not well.any() and whole:
                rows = np.flatnonzero(bad)
                yield _kernel_told(table, column, (own[0], len(rows), rows), (word, len(rows), rows), len(rows))
                return


def _kernel_told(
    table: Table, column: Column, ill: tuple[str, int, np.ndarray], well: tuple[str, int, np.ndarray], both: int
) -> Finding:
    places = _places(table, column, (*ill[2][:2].tolist(), *well[2][:1].tolist()))
    return Finding(
        "nan-in-one-kernel", Severity.S2,
        f"{column.name} of {table.file} is not finite in {ill[1]} rows with {ill[0]}, and finite in all {well[1]} with "
        f"{well[0]}, {both} of them the same cases: the implementation does it, not the data or the weights.",
        f"{table.file} 中 {ill[0]} 有 {ill[1]} 行 {column.name} 不是有限值，而 {well[0]} 的 {well[1]} 行全部有限，其中 "
        f"{both} 个是同样的情形：问题在实现，不在数据或权重。",
        places, {"column": column.name, "ill": ill[0], "well": well[0], "rows": ill[1], "same": both},
    )  # fmt: skip


def _places(table: Table, column: Column, rows: Sequence[int]) -> tuple[Evidence, ...]:
    return tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, text=str(column.values[i])[:80])
                 for i in rows)  # fmt: skip

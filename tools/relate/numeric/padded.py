"""Rows that are not finite exactly where there is padding, and where one implementation of attention was used.

The same rows finite alone or under another implementation take the data, the rate and the number format out. Where
only a metric is no number and the loss beside it is finite, the padding broke the metric and not the model.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import NO_ROWS, Column, Table
from ..distributions import texts
from ..joined.shared import drawn
from ..line import Line, means, plain
from .outcome import outcomes

LEAST, MOST_ROWS, SIDE, CHANCE = 6, 100_000, 2, 0.02
"""Rows of a table, rows on either side, and most that chance may do where the names tell a mechanism."""
FAR = 1e-4
"""Most that chance may do where the padding stands in another table."""
MOST_VARIANTS = 60
PADDING = bounded(r"(?:^|_)n?_?(?:l|r|left|right)?_?pad|padd|(?:^|_)fill|blank|first_(?:true|real|tok\w*|valid|key|kept?)"
                  r"|ragged|uneven|(?:^|_)len\w{0,8}_(?:std|range|spread|diff)(?:_|$)|(?:^|_)std_len|长度(?:差|方差|标准差)|参差"
                  r"|(?:^|_)lead(?:ing)?_|empty_?(?:pos|tok|row)|masked_?(?:pos|tok|row|quer)|填充|补齐|空位|左补|屏蔽")  # fmt: skip
"""Counts of padding, 0 where there is none."""
REAL = bounded(r"^(?:is_)?(?:real|valid|keep|kept|token|is_tok\w*|attn_mask|attention_mask|mask|非填充|有效)$")
"""Marks of single positions, 1 where no padding is."""
KEYS = bounded(r"(?:visible|allowed|valid|attend\w*|unmasked|n)_?keys?|keys?_(?:visible|allowed|left|seen)|可见")
"""Counts of what a row may attend to: nothing where 0."""
FULL = bounded(r"(?:^|_)(?:fill\w*|density|occupancy|(?:pack\w*|pad\w*|token|batch|fill)_?eff\w*|(?:real|valid|used|nonpad)_"
               r"(?:frac\w*|share|ratio|rate)|\w{0,9}_?mask_(?:mean|frac\w*|ratio|share|density))(?:_|$)|有效(?:率|占比|比例)|填满率")  # fmt: skip
"""Shares of real positions, 1 where there is no padding."""
WIDTH = bounded(
    r"^(?:t|width|padded|padded_?(?:len|to|length|tok\w*)|batch_?(?:len|max|width)|max_?(?:len\w*|t|tok\w*|resp\w*|new\w*)|longest\w*"
    r"|(?:len|length|resp\w*)_?max|tok\w*_(?:total|padded|all|incl\w*|slots)|total_tok\w*|slots|positions|numel|填充后\w*|批长"
    r"|最长\w*|最大长度|总\w{0,3}(?:token|词元|位置)\w*)$"
)
LENGTH = bounded(
    r"^(?:n_?tok\w*|len|length|tokens?|real|valid|real_?(?:len|tok\w*)|valid_?(?:len|tok\w*)|prompt_?(?:len|tok\w*)|seq_?len|shortest\w*"
    r"|min_?(?:len\w*|t|tok\w*|resp\w*|new\w*)|(?:len|length|resp\w*)_?min|tok\w*_(?:real|valid|used|kept|nonpad\w*)|non_?pad\w*|长度"
    r"|最短\w*|最小长度|(?:有效|真实)\w{0,3}(?:token|词元|位置|长度)\w*)$"
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


def padded(tables: Sequence[Table], lines: Sequence[Line] = ()) -> Iterator[Finding]:
    """What goes with padding, in one table or in two along one way, and with one implementation of attention."""
    seen: set[str] = set()
    sheets = [t for t in (*tables, *_sheets(tables, lines)) if 2 <= len(t) <= MOST_ROWS]
    for table in sheets:
        if broken := list(outcomes(table)):
            with_it = [*_with_padding(table, broken)] or [*_along(table, broken, sheets)]
            for finding in (*with_it, *_in_one_kernel(table, broken), *_beside(table, broken)):
                if finding.code not in seen:
                    seen.add(finding.code)
                    yield finding


def _sheets(tables: Sequence[Table], lines: Sequence[Line]) -> Iterator[Table]:
    """The measures of a log over its steps as a table."""
    known = {t.file for t in tables}
    whole = [x for x in lines if x.file not in known and not x.group and x.axis == "step" and len(x) >= LEAST]
    wanted = (WIDTH, LENGTH, PADDING, FULL)
    told = [x for x in whole if not np.isfinite(x.values).all() or any(p.search(plain(x.key)) for p in wanted)]
    for file in dict.fromkeys((x.file, x.attempt, len(x)) for x in told):
        own = [x for x in whole if (x.file, x.attempt, len(x)) == file]
        same = [x for x in own if np.array_equal(x.x, own[0].x)]
        columns = (Column(x.key, "measure", x.name, "", x.values, np.flatnonzero(np.isnan(x.values))) for x in same)
        yield Table(file[0], "", (Column("step", "axis", "step", "", own[0].x), *columns), own[0].at)


def _along(table: Table, broken: Sequence[tuple[Column, np.ndarray]], sheets: Sequence[Table]) -> Iterator[Finding]:
    """What goes with the padding that another table has at the same steps."""
    key = _key(table)
    if key is None or len(np.unique(key.values)) < len(table):
        return
    for other in sheets:
        way = _key(other) if other is not table else None
        if way is None or ((way.of, plain(way.name)) != (key.of, plain(key.name)) and way.of != "step"):
            continue
        places, at = np.unique(way.values, return_inverse=True)
        here = np.isin(key.values, places)
        columns = tuple(_of_places(other, way, at, len(places))) if here.sum() >= LEAST else ()
        if not columns:
            continue
        rows = np.searchsorted(places, key.values[here])
        part = table.only(here)
        joined = replace(part, columns=(*part.columns, *(replace(c, values=c.values[rows]) for c in columns)))
        ill = [(c, b) for c, b in outcomes(joined) if any(c.name == o.name for o, _ in broken)]
        if ill and (found := [*_with_padding(joined, ill, FAR, other)]):
            yield from found
            return


def _key(table: Table) -> Column | None:
    axes = (c for c in table.of("axis") if c.of == "step" and c.values.dtype.kind == "f")
    return next((c for c in axes if np.isfinite(c.values).all()), None)


def _of_places(table: Table, way: Column, at: np.ndarray, n: int) -> Iterator[Column]:
    """The columns that tell padding, one value a place: of several rows the most, and how far their lengths part."""
    for column in table.columns:
        name, values = plain(column.name), column.values
        if column is way or values.dtype.kind != "f" or not np.isfinite(values).all():
            continue
        top, low = np.full(n, -np.inf), np.full(n, np.inf)
        np.maximum.at(top, at, values)
        np.minimum.at(low, at, values)
        if (len(values) == n and any(p.search(name) for p in (PADDING, REAL, KEYS, FULL, WIDTH, LENGTH))) or (
            PADDING.search(name) and len(values) > n
        ):
            yield replace(column, values=top, nans=NO_ROWS)
        elif LENGTH.search(name) and len(values) >= 2 * n:
            yield replace(column, name=f"pad({column.name})", values=top - low, nans=NO_ROWS)


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
    for column in numeric:
        values = column.values
        if FULL.search(plain(column.name)) and (values > 0).all() and (values <= 1).all():
            yield Padded(f"{column.name} < 1", column, values < 1)
    wide = [c for c in numeric if WIDTH.search(plain(c.name))]
    for own in (c for c in numeric if LENGTH.search(plain(c.name))):
        for other in wide:
            if other is not own and (other.values >= own.values).all():
                yield Padded(f"{own.name} < {other.name}", own, own.values < other.values)


def _kernels(table: Table) -> tuple[Column, np.ndarray] | None:
    """The column of implementations and its values, where it has more than one of these."""
    for column in table.columns:
        if column.values.dtype.kind == "O" and means(KERNEL, column.name):
            said = np.array([v.strip() for v in texts(column)])
            if 2 <= len(set(said.tolist())) <= 8:
                return column, said
    return None


def _with_padding(
    table: Table, broken: Sequence[tuple[Column, np.ndarray]], chance: float = CHANCE, other: Table | None = None
) -> Iterator[Finding]:
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
            if p.column is not column and _agree(bad[kept], p.rows[kept], chance):
                yield from _padding_told(table, column, bad, kept, which, p, broken, other)
                return


def _agree(bad: np.ndarray, pad: np.ndarray, chance: float) -> bool:
    """Whether all bad rows are padded, nearly all padded ones are bad, and chance would hardly do that."""
    k, held = int(bad.sum()), int(pad.sum())
    clear = bool((pad | ~bad).all()) and k >= SIDE and len(bad) - held >= SIDE and k >= 0.9 * held
    return clear and len(bad) >= LEAST and drawn(len(bad), held, k) <= chance


def _padding_told(
    table: Table, column: Column, bad: np.ndarray, kept: np.ndarray, which: str, p: Padded,
    broken: Sequence[tuple[Column, np.ndarray]], other: Table | None,
) -> Iterator[Finding]:  # fmt: skip
    k, held, clean = int(bad[kept].sum()), int(p.rows[kept].sum()), int((~p.rows[kept]).sum())
    places = _places(table, column, (*np.flatnonzero(bad)[:2].tolist(), *np.flatnonzero(kept & ~p.rows)[:1].tolist()))
    en = (f"{column.name} is not finite in {k} of the {held} rows of {table.file} with {p.said}{which}, and in none of "
          f"the {clean} without")  # fmt: skip
    zh = (f"{table.file} 中 {p.said} 的 {held} 行{which}里有 {k} 行 {column.name} 不是有限值，其余 {clean} 行"
          f"全部有限")  # fmt: skip
    if other is not None:
        en, zh = f"{en} (padding by {other.file}, at the same steps)", f"{zh}（填充见 {other.file} 的同一步）"
        places = (*places, Evidence(other.file, int(other.lines[0]) or None, metric=p.column.name))
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

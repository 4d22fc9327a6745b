"""Shares of the tokens over the experts of a mixture, in columns or in rows, that were even and come to lie on a few;
and a balancing term that is logged and is no part of the loss.

Shares are told by their numbers: columns of one name and running numbers whose rows add up to one and the same sum.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..joined.tail import EXPERT, LAYER, LOAD
from ..kinds.names import demand
from ..line import Line, means, plain

LEAST, MOST, LEAST_ROWS, MOST_CELLS = 4, 512, 6, 4_000_000
EVEN_SUM = 0.05
"""Share by which the sums of the rows may differ: shares are rounded, batches nearly of one size."""
TOP, PARTED, IDLE, IDLE_SHARE, ALONE = 2.5, 1.6, 0.3, 0.15, 4.0
"""Times the fair share of the busiest at the end, times what it was, share of the fair one below which one is idle,
share of idle ones, and times from which on the busiest tells it alone. Own judgement."""
MIXTURE = bounded(
    r"expert|(?:^|[^a-z])moe(?:[^a-z]|$)|router|routing|(?:^|[^a-z])gat(?:e|ing)(?:[^a-z]|$)|branch|专家|路由|门控"
)
"""Words of a run that has experts."""
OTHER = bounded(r"loss|ppl|grad|lr|mem|gib|gpu|rank|host|temp|code|level|q\d|lang|src|source|domain|task|data|shard")
"""Families of columns that are about anything else."""
BALANCE = bounded(r"^(?:lb|lbl|bal|balance|balancing|aux|moe_?aux\w*|load_?bal\w*|router_?(?:aux|lb|bal)\w*|l_?(?:aux|bal|lb)|均衡\w*)"
                  r"(?:_?(?:loss|term))?$")  # fmt: skip
TOTAL = bounded(r"^(?:loss|total|total_?loss|loss_?total|train_?loss|sum|all|总损失|总loss)$")
MAIN = bounded(r"^(?:lm|ce|nll|xent|xe|main|task|(?:lm|ce|nll|main|task)_?loss|loss_?(?:lm|ce|main)|语言模型损失)$")
OFF = bounded(r"(?:aux|bal|lb|balanc\w*|router_?aux\w*|load_?bal\w*)_?(?:loss)?_?(?:coef\w*|coeff\w*|weight|alpha|w|lambda|factor)$"
              r"|bias_?(?:update\w*|rate|lr|speed)|均衡\w*系数")  # fmt: skip
BIAS = bounded(r"bias|偏置")
WEAK = 1e-4
"""Coefficient of a balancing loss up to which it moves no router: those in use are 1e-3 to 1e-2 (Switch Transformers,
arXiv:2101.03961; Megatron and Hugging Face). Own judgement."""
_NUMBERED = re.compile(r"^(.{0,40}?)[_.\[ ]?(\d{1,3})\]?$")


@dataclass(frozen=True)
class Shares:
    """The load of all experts, row by row along the way."""

    file: str
    names: list[str]
    way: str
    at: np.ndarray
    """(n,) place of each row."""
    load: np.ndarray
    """(n, experts) shares that add up to 1."""
    lines: np.ndarray


def parted(tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Finding]:
    """The first table of shares that come to lie on a few experts."""
    mixture: bool | None = None
    for table in tables:
        for shares in _shares(table):
            own = MIXTURE.search(f"{table.file} {' '.join(c.name for c in table.columns[:12])}".lower())
            if not own and mixture is None:
                mixture = any(MIXTURE.search(f"{s.key} {s.part} {s.text}".lower()) for s in stated)
            if (own or mixture) and (found := _parted(shares, stated)) is not None:
                yield found
                return


def _shares(table: Table) -> Iterator[Shares]:
    if len(table) < LEAST_ROWS or len(table) * len(table.columns) > MOST_CELLS:
        return
    families: dict[str, list[Column]] = {}
    for column in table.columns:
        match = _NUMBERED.match(plain(column.name)) if column.values.dtype.kind == "f" else None
        if match and not OTHER.search(match[1]):
            families.setdefault(match[1], []).append(column)
    for columns in families.values():
        if LEAST <= len(columns) <= MOST and (way := _way(table, columns)) is not None:
            shares = _made(np.column_stack([c.values for c in columns]))
            if shares is not None:
                yield Shares(table.file, [c.name for c in columns], way.name, way.values, shares, table.lines)
    yield from _long(table)


def _way(table: Table, but: Sequence[Column]) -> Column | None:
    """What the rows go along: an axis, or the first number that never falls."""
    mine = {id(c) for c in but}
    some = [
        c for c in table.columns if c.values.dtype.kind == "f" and id(c) not in mine and np.isfinite(c.values).all()
    ]
    rising = [c for c in some if (np.diff(c.values) >= 0).all() and c.values[-1] > c.values[0]]
    return next((c for c in rising if c.role == "axis"), rising[0] if rising else None)


def _made(load: np.ndarray) -> np.ndarray | None:
    """The rows as shares, where they all add up to one sum."""
    if not np.isfinite(load).all() or (load < 0).any():
        return None
    sums = load.sum(axis=1)
    if sums.min() <= 0 or sums.max() - sums.min() > EVEN_SUM * sums.mean():
        return None
    return load / sums[:, None]


def _long(table: Table) -> Iterator[Shares]:
    """Where each expert has a row of its own at each place."""
    label = next((c for c in table.columns if means(EXPERT, c.name) and c.role != "axis"), None)
    way = _way(table, [label]) if label is not None else None
    if label is None or way is None:
        return
    layer = next((c for c in table.columns if means(LAYER, c.name) and c is not label and c is not way), None)
    for column in table.columns:
        if (
            column in (label, way, layer)
            or column.values.dtype.kind != "f"
            or not (LOAD.search(plain(column.name)) or plain(column.name) == "value")
        ):
            continue
        keys = list(
            zip(way.values.tolist(), map(str, layer.values) if layer is not None else [""] * len(table), strict=True)
        )
        rows: dict[tuple[float, str], dict[str, int]] = {}
        for i, (key, name) in enumerate(zip(keys, map(str, label.values), strict=True)):
            rows.setdefault(key, {})[name] = i
        names = list(next(iter(rows.values())))
        if LEAST <= len(names) <= MOST and all(list(r) == names for r in rows.values()) and len(rows) >= 2:
            at = np.array([[r[n] for n in names] for r in rows.values()])
            if (shares := _made(column.values[at])) is not None:
                yield Shares(table.file, names, way.name, way.values[at[:, 0]], shares, table.lines[at[:, 0]])
                return


def _parted(s: Shares, stated: Sequence[Stated]) -> Finding | None:
    places = np.unique(s.at)
    if len(places) < 2:
        return None
    some = max(1, len(places) // 10)
    first, last = s.at <= places[some - 1], s.at >= places[-some]
    n = s.load.shape[1]
    was, now = (float(np.median(s.load[rows].max(axis=1) * n)) for rows in (first, last))
    idle = float(np.median((s.load[last] * n < IDLE).mean(axis=1)))
    if now < min(TOP, n / 2) or now < PARTED * was or not (now >= ALONE or idle >= IDLE_SHARE):
        return None
    rows = np.flatnonzero(last)
    worst = int(rows[s.load[rows].max(axis=1).argmax()])
    order = np.argsort(-s.load[worst])[:2]
    busy, busy_zh = (sep.join(f"{s.names[k]} {s.load[worst, k]:.1%}" for k in order) for sep in (" and ", "、"))
    off = [x for x in stated if OFF.search(plain(x.key)) and _weak(x)][:2]
    also = f"; {', '.join(f'{x.key} is {x.value}' for x in off)}: nothing balances" if off else ""
    also_zh = f"；{'、'.join(f'{x.key} 为 {x.value}' for x in off)}：没有起作用的均衡" if off else ""
    return Finding(
        "experts-part", Severity.S2,
        f"The load of {n} experts in {s.file} parts: the busiest has {was:.2g} times its fair share at {s.way} "
        f"{places[0]:.10g} and {now:.2g} times at {places[-1]:.10g} ({busy}, of {1 / n:.1%} each), {idle:.0%} have less "
        f"than {IDLE:g} of it{also}.",
        f"{s.file} 中 {n} 个专家的负载分化：最忙的在 {s.way} {places[0]:.10g} 为平均份额的 {was:.2g} 倍，到 {places[-1]:.10g} "
        f"为 {now:.2g} 倍（{busy_zh}，平均应各 {1 / n:.1%}），{idle:.0%} 的专家不到平均份额的 {IDLE:g}{also_zh}。",
        (Evidence(s.file, int(s.lines[worst]) or None, metric=s.names[order[0]], value=float(s.load[worst, order[0]])),
         Evidence(s.file, int(s.lines[int(np.flatnonzero(first)[0])]) or None), *(x.evidence() for x in off)),
        {"was": was, "now": now, "idle": idle, "of": n, "busy": [s.names[k] for k in order],
         **({"names": f"{off[0].key} = {off[0].value}"} if off else {}),
         "asks": [demand("moe_load_imbalance", "at-most", was + (now - was) / 10,
                         f"largest over mean was {was:.2g} at first and is {now:.2g}",
                         f"最大/平均开始时为 {was:.2g}，现在为 {now:.2g}")]},
    )  # fmt: skip


def _weak(said: Stated) -> bool:
    """Whether a balancing term is off, or has a coefficient far below any that balances; the rate of a bias is small by
    nature."""
    try:
        value = float(said.value)
    except ValueError:
        return said.value.lower() in ("false", "none", "null", "off")
    return value == 0 or (0 < value <= WEAK and not BIAS.search(plain(said.key)))


def not_added(lines: Sequence[Line]) -> Iterator[Finding]:
    """A balancing term beside the loss that the loss does not hold, though it grows or was once a part of it."""
    by: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        if len(line) >= LEAST_ROWS:
            by.setdefault((line.file, line.attempt, line.group), []).append(line)
    for same in by.values():
        term = next((x for x in same if BALANCE.search(plain(x.key))), None)
        total = next((x for x in same if TOTAL.search(plain(x.key))), None)
        main = next((x for x in same if MAIN.search(plain(x.key)) and x is not total), None)
        if term is None or total is None or main is None or not len(term) == len(total) == len(main):
            continue
        extra, third = np.abs(total.values - main.values), len(term) // 3
        near = 1e-4 * np.maximum(1.0, np.abs(main.values))
        without = extra <= near
        first, last = (float(np.median(part)) for part in (term.values[: max(1, third)], term.values[-max(1, third) :]))
        if not without[-max(1, third) :].all() or not last > 1.2 * max(first, 1e-9):
            continue
        i = len(term) - 1
        begun = int(np.flatnonzero(~without)[-1]) + 1 if not without.all() else 0
        since = f"from {total.where(begun)} on" if begun else "all along"
        since_zh = f"自{total.where(begun)}起" if begun else "始终"
        yield Finding(
            "balance-not-added", Severity.S2,
            f"{total.key} equals {main.key} {since}, so that {term.key} is logged and is no part of it; {term.key} goes "
            f"from {first:.3g} to {last:.3g}.",
            f"{total.key} {since_zh}等于 {main.key}，{term.key} 只是记录而没有加进损失；{term.key} 从 {first:.3g} 升到 "
            f"{last:.3g}。",
            (total.evidence(begun), main.evidence(begun), term.evidence(i)),
            {"term": term.key, "from": first, "to": last, "since": float(total.x[begun])},
        )  # fmt: skip
        return

"""One port, card, host or pair whose link is below that of all the others, by a table of links.

The others have to be level, so that a fabric that is slow as a whole, or a machine that has slow links by its making,
is not told; ports that are down, of another network or at rest are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..kinds.names import back, kinds_of
from ..line import means, plain

CAPACITY = bounded(
    r"bus_?bw|alg_?bw|bandwidth|(?:^|_)bw(?:_|$)|gb_?p?_?s(?:ec)?(?:_|$)|gbit|gbps|gib_s|mb_s(?:_|$)|(?:^|_)gt_s"
    r"|width|(?:^|_)lanes?(?:_|$)|(?:^|_)(?:min_)?rail(?:_min)?$|min_rail|^(?:link_?|port_?|active_?|data_?)?(?:rate|speed)(?:_|$)"
    r"|带宽|速率|位宽|宽度|测速|链路速度"
)
"""Names of what a link can carry."""
OTHER = bounded(
    r"(?:^|_)(?:rx|tx|recv|rcv|xmit|traffic|sent|max|cap|capable|gen|seq|disk|fs|nas|hbm|dram|util\w*|hit|error|err)(?:_|$)"
    r"|(?:^|_)(?:read|write)_(?:gb|mb)|token|sample|流量|显存带宽|内存带宽|磁盘|最大|上限"
)
"""Names of what was carried, of what could be, and of what is no link."""
LINK = bounded(r"nccl|sendrecv|all_?reduce_?perf|ib_?(?:write|read|send)|perftest|ibstat\w*|p2p|peer|h2d|d2h"
               r"|(?:^|_)(?:hca|nic|mlx)|copy|memcpy|拷贝|iperf|fabric|互联|互连|网络")  # fmt: skip
"""Words of a table of links, beside those of the kind `link`."""
MEMBER = bounded(
    r"^(?:node|host|hostname|machine|server|box|worker|blade|gpu|card|device|dev|ca|hca|nic|rail|port|link|interface|if|iface"
    r"|adapter|switch|lid|guid|bus|bdf|pci\w*|slot|rank|a|b|from|to|src|dst|source|dest\w*|peer|left|right|pair|pairs|path|edge"
    r"|sender|receiver|first|second)(?:_?(?:id|idx|index|name|a|b|1|2|no|addr|bus_?id))?$|^(?:base|port)_(?:lid|guid)$"
    r"|节点|机器|主机|卡|网卡|网口|端口|链路|设备|源|目的|对端|配对|两台"
)
"""Columns that say which link a row is about."""
SORT = bounded(r"type|layer|model|kind|purpose|net(?:work)?$|用途|类型|型号")
DOWN = bounded(r"(?i)\b(?:down|disabled|polling|init\w*|inactive|unplugged|idle)\b|空闲|未连接|断开")
AWAY = bounded(r"(?i)mgmt|manage|bond|\beth\d|\beno|\bbmc|storage|ipmi|管理|存储")
LOAD = bounded(r"(?:^|_)util\w*|busy|利用率")
PAIR = bounded(r"^\s*([\w.:]{1,60}?)\s?(?:<-*>|-*>|[-~,/|]|↔|→|\bto\b|\bvs\.?)\s?([\w.:]{1,60})\s*$")
VALUE = bounded(
    r"(?i)^\s*(?:x|×|gen)?\s?(\d{1,6}(?:\.\d{1,4})?)\s?(?:x|×|lanes?|gt/s|g[bt]/?s(?:ec)?|gbps|gib/s|gb/sec|mb/s|通道)?"
    r"(?:\s?\((?:ok|downgraded|\d{0,2}x ?[a-z]*|降级)\))?\s*$"
)
"""A number with its unit, as tools for links write it."""
SIZE = bounded(r"(?:^|_)(?:size|bytes?|msg|message\w*|payload)(?:_|$)|大小|字节")
DIGITS = re.compile(r"\d+")
NO_HOST = bounded(
    r"(?i)^\W*(?:runs?|steps?|epochs?|iter\w*|tests?|trials?|rounds?|attempts?|v|n|np|tp|dp|pp|ep|sizes?|days?|weeks?|parts?"
    r"|tables?|sections?|pass|exp\w*|cases?|world\w*|batch|bs|nodes|gpus|hosts|cards|before|after|第)?[\W\d_]*$"
    r"|^\W*\d{1,6}[\s_x-]*(?:nodes?|gpus?|hosts?|cards?|ranks?|个|次|卡|机|轮)"
)
"""Headings that number something other than machines, cards or links."""
LEAST, MOST_ROWS, LOWER, LEVEL = 4, 20_000, 0.7, 0.12
"""Rows, share of the others' level below which a link is slow, and share within which the others are level."""
MOST_SHARE, LEAST_AFTER, AT_WORK = 0.5, 3, 0.3


class Who(NamedTuple):
    """What the slow rows, and no others, have."""

    name: str
    rows: np.ndarray


def slow_links(tables: Sequence[Table]) -> Iterator[Finding]:
    """The link that is below all others, one for each table."""
    told: set[str] = set()
    for table in (*tables, *_joined(tables)):
        if (
            table.file not in told
            and LEAST <= len(table) <= MOST_ROWS
            and (found := _slow(_counted(table))) is not None
        ):
            told.add(table.file)
            yield found


def _counted(table: Table) -> Table:
    """The table with `x16`, `400 Gb/sec (4X NDR)` and the like as numbers, in columns of what a link can carry."""
    columns = list(table.columns)
    for i, c in enumerate(columns):
        if c.values.dtype.kind == "f" or not means(CAPACITY, c.name) or means(OTHER, c.name):
            continue
        said = [VALUE.match(str(v)) for v in c.values]
        if all(said) and len(said) >= LEAST:
            columns[i] = replace(c, role="measure", values=np.array([float(m[1]) for m in said if m is not None]))
    return replace(table, columns=tuple(columns))


def _joined(tables: Sequence[Table]) -> Iterator[Table]:
    """One table of the parts of a file that are headed by machines or cards, with a column that names them."""
    parts: dict[tuple[str, tuple[str, ...]], list[Table]] = {}
    for t in tables:
        if 0 < len(t) <= 200 and any(means(CAPACITY, c.name) for c in t.columns):
            parts.setdefault((t.file if t.part else "", tuple(c.name for c in t.columns)), []).append(t)
    for (_, names), some in parts.items():
        heads = [t.part or PurePosixPath(t.file).stem for t in some]
        alike = {DIGITS.sub("#", head) for head in heads}
        if not 3 <= len(some) <= 512 or len(set(heads)) < len(heads) or len(alike) > 1 or NO_HOST.match(heads[0]):
            continue
        if any(c.values.dtype != some[0].columns[i].values.dtype for t in some for i, c in enumerate(t.columns)):
            continue
        columns = [replace(some[0].columns[i], values=np.concatenate([t.columns[i].values for t in some]))
                   for i in range(len(names))]  # fmt: skip
        who = np.concatenate([np.full(len(t), head, dtype=object) for t, head in zip(some, heads, strict=True)])
        host = Column("host", "group", "host", "", who)
        yield Table(some[0].file, "", (host, *columns), np.concatenate([t.lines for t in some]))


def _slow(table: Table) -> Finding | None:
    about = " ".join((plain(table.file), plain(table.part)))
    near = any("link" in kinds_of(name) or means(LINK, name) for name in (about, *(c.name for c in table.columns)))
    if not near:
        return None
    members = [c for c in table.columns if _tells(c)]
    for column in table.columns:
        name = f"{column.name} {column.unit}"
        if column.values.dtype.kind != "f" or column in members or not means(CAPACITY, name) or means(OTHER, name):
            continue
        for values in _levels(table, column, members):
            low, level = _low(values)
            who = _who(table, low, members) if low is not None else None
            if who is not None and _counts(table, who.rows, column):
                return _told(table, column, who, values, level)
    return None


def _tells(column: Column) -> bool:
    """Whether a column names a link: by its name, its role, or as words that name two ends."""
    if column.role == "axis" or (column.role == "measure" and means(CAPACITY, column.name)):
        return False
    return bool(means(MEMBER, column.name)) or column.role == "identifier" or column.of in ("host", "gpu", "rank")


def _said(column: Column) -> np.ndarray:
    if column.values.dtype.kind == "f":
        return np.array([f"{v:g}" for v in column.values], dtype=object)
    return texts(column)


def _levels(table: Table, column: Column, members: Sequence[Column]) -> Iterator[np.ndarray]:
    """The values as they stand, and against the upper middle of the rows of one kind (direction, size)."""
    yield column.values
    for other in table.columns:
        along = other.role == "axis" and not means(SIZE, other.name)
        said = _said(other) if other is not column and other not in members and not along else np.array([])
        if len(said) and 1 < len(kinds := set(said.tolist())) <= max(2, len(said) // LEAST):
            out = np.full(len(said), np.nan)
            for kind in kinds:
                own = said == kind
                top = float(np.nanpercentile(column.values[own], 75)) if np.isfinite(column.values[own]).any() else 0.0
                out[own] = column.values[own] / top if top > 0 else np.nan
            yield out


def _low(values: np.ndarray) -> tuple[np.ndarray | None, float]:
    """The rows far below the others, which are level; None where there are none."""
    finite = np.isfinite(values)
    if finite.sum() < LEAST or (values[finite] < 0).any():
        return None, 0.0
    level = float(np.percentile(values[finite], 75))
    low = finite & (values < LOWER * level)
    rest = finite & ~low
    if not low.any() or level <= 0 or low.sum() > MOST_SHARE * finite.sum() or rest.sum() < LEAST - 1:
        return None, level
    middle = float(np.median(values[rest]))
    near = np.abs(values[rest] - middle) <= LEVEL * middle
    return (low, middle) if near.mean() >= 0.97 else (None, middle)


def _who(table: Table, low: np.ndarray, members: Sequence[Column]) -> Who | None:
    """The one end, or the one or two values, that all slow rows have and no other row, or none before."""
    has: dict[tuple[str, str], np.ndarray] = {}
    ends: dict[str, np.ndarray] = {}
    odd = np.flatnonzero(low)
    for column in members:
        said = _said(column)
        if not 1 < len(set(said.tolist())) <= 4096:
            continue
        value = str(said[odd[0]])
        has[column.name, value] = said == value
        pairs = [m.groups() if (m := PAIR.search(str(v))) else None for v in said]
        if all(pairs):
            for end in pairs[odd[0]] or ():
                ends[end] = np.array([end in (p or ()) for p in pairs])
    words = [_said(c) for c in members if c.values.dtype.kind == "O" and len(set(_said(c).tolist())) > 1]
    for a, b in combinations(words, 2):
        if set(a.tolist()) & set(b.tolist()):
            for end in (str(a[odd[0]]), str(b[odd[0]])):
                ends[end] = (a == end) | (b == end)
    for name, rows in ends.items():
        if (rows == low).all():
            return Who(str(name), rows)
    for size in (1, 2):
        for keys in combinations(has, size):
            rows = np.logical_and.reduce([has[key] for key in keys])
            if rows.sum() < len(rows) and (rows == low).all():
                if size == 1 and keys[0][1].isdecimal() and len(odd) > 1 and _mixed(table, has, keys[0], low):
                    continue
                return Who(", ".join(f"{name} {value}" for name, value in keys), low)
            if not (low & ~rows).any() and _from_then_on(table, rows, low):
                return Who(", ".join(f"{name} {value}" for name, value in keys), low)
    if len(odd) == 1 and has:
        return Who(", ".join(f"{name} {value}" for name, value in list(has)[:3]), low)
    return None


def _mixed(table: Table, has: dict[tuple[str, str], np.ndarray], key: tuple[str, str], low: np.ndarray) -> bool:
    """Whether a bare number is that of many machines: the same slot of all of them is of their making."""
    others = [c for c in table.columns if c.name != key[0] and c.of == "host"]
    return any(len(set(_said(c)[low].tolist())) > 1 for c in others)


def _from_then_on(table: Table, rows: np.ndarray, low: np.ndarray) -> bool:
    """Whether a member is slow from some time on, and was not before."""
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    own = np.flatnonzero(rows)
    if axis is None or low.sum() < LEAST_AFTER or len(own) >= len(rows):
        return False
    order = own[np.argsort(axis.values[own], kind="stable")]
    return bool(low[order][-int(low.sum()) :].all())


def _counts(table: Table, low: np.ndarray, measure: Column) -> bool:
    """Whether the slow rows are of the same sort as the others, up and at work."""
    for column in table.columns:
        if column is measure:
            continue
        if column.values.dtype.kind == "f":
            if means(LOAD, column.name):
                whole = 1.0 if column.unit == "1" or np.nanmax(column.values, initial=0.0) <= 1 else 100.0
                if np.nanmedian(column.values[low]) < AT_WORK * whole:
                    return False
            continue
        said = _said(column)
        own, rest = set(said[low].tolist()), set(said[~low].tolist())
        if means(SORT, column.name) and not own <= rest:
            return False
        if any(p.search(str(v)) for p in (DOWN, AWAY) for v in own) and not own & rest:
            return False
    return True


def _told(table: Table, column: Column, who: Who, values: np.ndarray, level: float) -> Finding:
    rows, rest = np.flatnonzero(who.rows), ~who.rows
    value, others = float(np.median(column.values[rows])), float(np.nanmedian(column.values[rest]))
    part, n = float(np.median(values[rows])) / level, int(np.isfinite(values).sum())
    places = [*rows[:3].tolist(), *np.flatnonzero(rest)[:1].tolist()]
    return Finding(
        "link-below-others", Severity.S2,
        f"{column.name} of {who.name} is {value:.4g} in {len(rows)} of {n} rows of {table.file}, {part:.0%} of what "
        f"all others have ({others:.4g}, and they are level): this one link, card or host is slow.",
        f"{table.file} 的 {n} 行中有 {len(rows)} 行（{who.name}）的 {column.name} 为 {value:.4g}，只有其余的 {part:.0%}"
        f"（{others:.4g}，且彼此一致）：慢的就是这一条链路、这张卡或这台机器。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]),
                       text=who.name if i in rows else "of the others") for i in places),
        {"metric": plain(column.name), "value": value, "others": others, "rows": len(rows), "who": who.name,
         "names": f"{who.name}: {column.name} {value:.4g}, others {others:.4g}",
         "asks": [back(plain(column.name), value, others, who.name)]},
    )  # fmt: skip

"""Speculative decoding against plain decoding of one server at the same loads: what it gains alone it may cost later.

A draft's rejected tokens take a pass of the target that other requests need once a batch fills the card. The two are
held against each other load by load, as rows of one table, as columns, or in a file each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ...relate.distributions import texts
from ...relate.line import Line, means, plain
from ...tables.table import Column, Table
from .loads import AT_ONCE

CODES = declare(
    "drafted",
    ("speculation-slower-at-load", "requests of a server", "speculative decoding is slower than plain at high load"),
)
SPECULATES = bounded(r"(?i)(?:^|[^a-z])(?:spec(?:ulat\w+|_?dec\w*)?|draft\w*|eagle\d?|medusa|mtp|ngram"
                     r"|lookahead)(?:[^a-z]|$)|投机|草稿|推测解码")  # fmt: skip
WITHOUT = bounded(r"(?i)(?:^|[^a-z])(?:no|non|without|wo|plain|base(?:line)?|vanilla|off|disabled?|none|ar"
                  r"|autoregressive)(?:[^a-z]|$)|无|不开|普通|关闭")  # fmt: skip
LOAD = bounded(r"(?:^|_)(?:concurrenc\w*|parallel\w*|batch(?:_size)?|users|clients|qps|rps|request_rate|rate|load"
               r"|bs)(?:_|$)|并发|批大小|请求速率")  # fmt: skip
SPEED = bounded(r"tok\w*_?(?:per_?)?s(?:ec\w*)?(?:_|$)|tokens_per_second|throughput|tput|(?:^|_)tps(?:_|$)|吞吐")
LATENCY = bounded(r"tpot|(?:^|_)itl|inter_token|per_(?:output_)?token|e2e|latency|延迟|时延|耗时")
ACCEPTED = bounded(r"accept\w*(?:_rate|_ratio|ance)|draft_acceptance|接受率")
LOADS, SLOWER = 2, 0.85
"""Loads that both were measured at, and the part of the plain speed up to which the other is slower. Own judgement."""


class Point(NamedTuple):
    """One variant at one load."""

    speculates: bool
    name: str
    load: float
    value: float
    place: Evidence


def drafted(tables: Sequence[Table], lines: Sequence[Line]) -> Iterator[Finding]:
    """The measure by which speculation loses most at the highest load, a speed before a latency."""
    best: tuple[float, list[tuple[Point, Point]], str, bool] | None = None
    for measure, faster, points in _measured(tables):
        pairs = _pairs(points)
        if len(pairs) < LOADS:
            continue
        share = _share(pairs[-1], faster)
        if share <= SLOWER and (best is None or (faster, -share) > (best[3], -best[0])):
            best = (share, pairs, measure, faster)
    if best is not None:
        yield _told(*best, _accepted(lines))


def _measured(tables: Sequence[Table]) -> Iterator[tuple[str, bool, list[Point]]]:
    """(measure, whether more is better, points) of each measure, of one table or of all that have a variant in their
    file's name."""
    apart: dict[str, list[Point]] = {}
    for table in tables:
        load = next((c for c in table.columns if c.values.dtype.kind == "f" and _is_load(c)), None)
        if load is None or len(table) > 400:
            continue
        label = next((c for c in table.columns if c.values.dtype.kind == "O" and _tells(map(str, texts(c)))), None)
        for column in table.columns:
            own = plain(column.name)
            if column is load or column.values.dtype.kind != "f" or not (SPEED.search(own) or LATENCY.search(own)):
                continue
            rows = np.flatnonzero(np.isfinite(column.values) & np.isfinite(load.values)).tolist()
            if label is not None:
                said = texts(label)
                yield own, bool(SPEED.search(own)), [_point(str(said[i]), table, i, load, column) for i in rows]
            else:
                points = [_point(f"{column.name} {table.file}", table, i, load, column) for i in rows]
                apart.setdefault(_stem(own), []).extend(points)
    for measure, points in apart.items():
        if _tells({p.name for p in points}):
            yield measure, bool(SPEED.search(measure)), points


def _is_load(column: Column) -> bool:
    return column.of == "load" or bool(means(LOAD, column.name) or means(AT_ONCE, column.name))


def _tells(names: object) -> bool:
    """Whether some of the names speculate and others do not."""
    found = {_speculates(n) for n in names}  # type: ignore[attr-defined]
    return found == {True, False}


def _speculates(name: str) -> bool:
    return bool(SPECULATES.search(name)) and not WITHOUT.search(name)


def _stem(own: str) -> str:
    """A measure's name without the words that say its variant."""
    return "_".join(w for w in own.split("_") if not (SPECULATES.search(w) or WITHOUT.search(w)))


def _point(name: str, table: Table, i: int, load: Column, column: Column) -> Point:
    value = float(column.values[i])
    place = Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=value)
    return Point(_speculates(name), name, float(load.values[i]), value, place)


def _pairs(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """(without, with) at each load that both have, lowest first; of several of a side the fastest is not chosen."""
    sides: list[dict[float, Point]] = [{}, {}]
    for p in points:
        sides[p.speculates].setdefault(p.load, p)
    return [(sides[0][x], sides[1][x]) for x in sorted(sides[0].keys() & sides[1].keys())]


def _share(pair: tuple[Point, Point], faster: bool) -> float:
    """The speed with speculation as a part of that without."""
    without, with_ = pair
    high, low = (with_.value, without.value) if faster else (without.value, with_.value)
    return high / low if low > 0 else np.inf


def _accepted(lines: Sequence[Line]) -> tuple[str, float, str] | None:
    """(name, median, file) of a share of accepted tokens."""
    for line in lines:
        values = line.values[np.isfinite(line.values)]
        if len(values) and means(ACCEPTED, line.key) and values.min() >= 0 and values.max() <= 1:
            return line.key, float(np.median(values)), line.file
    return None


def _told(
    share: float, pairs: list[tuple[Point, Point]], measure: str, faster: bool, accepted: tuple[str, float, str] | None
) -> Finding:
    (first, first_), (last, last_) = pairs[0], pairs[-1]
    slower = [p for p in pairs if _share(p, faster) <= SLOWER]
    since = slower[0][0].load
    more = (
        f"; {clean(accepted[0], 40)} is {accepted[1]:.0%} in the middle ({clean(accepted[2], 60)})" if accepted else ""
    )
    more_zh = f"；{clean(accepted[0], 40)} 中位数为 {accepted[1]:.0%}（{clean(accepted[2], 60)}）" if accepted else ""
    return Finding(
        "speculation-slower-at-load", Severity.S2,
        f"At load {last.load:g} {measure} is {last_.value:.4g} with speculative decoding and {last.value:.4g} without "
        f"({share:.2g} of the speed), at load {first.load:g} {first_.value:.4g} and {first.value:.4g}; it is slower "
        f"from load {since:g} on{more}.",
        f"负载 {last.load:g} 时，开投机解码 {measure} 为 {last_.value:.4g}，不开为 {last.value:.4g}（速度只有 "
        f"{share:.2g} 倍）；负载 {first.load:g} 时为 {first_.value:.4g} 和 {first.value:.4g}；"
        f"从负载 {since:g} 起更慢{more_zh}。",
        (last_.place, last.place, first_.place, first.place),
        {"share": share, "since": since, "accepted": accepted[1] if accepted else None},
    )  # fmt: skip

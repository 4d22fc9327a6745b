"""Load tests and speed tests that are sound: the reassurance where a run is nothing but these.

Sound is what was measured enough, fails nowhere and agrees with itself: quantiles in their order, tokens that fit the
time, a throughput that holds under the largest load, or the same test run again with the same result. The reassurance
speaks of a run without curves and without scores only: of a model's answers a speed says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...logs.answered import READING
from ...patterns import bounded
from ...relate.line import Line, means, plain
from ...relate.summed.words import named_score
from ...tables.table import Table
from ...vocabulary import VOCABULARY
from .counted import SPEED, Counted, column, counted
from .loads import TIME, Load
from .worsening import of_time

TOKENS = bounded(
    r"^(?:tokens_generated|generated_tokens|output_tokens|completion_tokens|eval_count|n_tokens|num_tokens)$"
)
TOOK = bounded(
    r"^(?:eval_duration|generation_time|gen_time|decode_time|duration|elapsed|time_taken)"
    r"(?:_(?:ns|us|ms|s|sec|seconds))?$"
)
SCALE = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
MOST = bounded(r"^(?:max_tokens|max_new_tokens|output_len|max_output_tokens)$")
QUANTILE = re.compile(r"(?:^|_)p(\d{2})(?:_|$)")
ROWS, REQUESTS, RUNS = 3, 50, 5
"""Loads of a sweep, requests of it in all, and runs of one test from which on they say something. Own judgement."""
HOLDS, SPREAD, FITS = 0.9, 0.1, 0.05
"""Part of its peak that the throughput keeps, spread of repeated runs, and how near two tellings of one speed lie."""
MANY, TAIL = 500, 8.0
"""Requests of a test from which on it tells of its slowest, and times the usual one that these take. Own judgement."""
MOST_LOST = 1e-3
"""Share of the requests that a sound test may lose, as while a server starts. Own judgement."""
LONG, LOADS, SLOWER = 40, 8, 1.2
"""Rows of a test along time from which on its halves are compared, parts of its load in which they are, and how much
slower the later may be. Own judgement."""
MADE_UP = bounded(r"(?:^|_)(?:synthetic|mock(?:ed)?|simulat\w{0,4}|fake|dummy|placeholder)(?:_|$)|合成|模拟|伪造")
"""What says that figures were made and not measured."""
OF_MODELS = ("loss", "eval_loss", "reward", "accuracy", "eval_accuracy", "perplexity", "eval_perplexity", "grad_norm")


def sound(
    tables: Sequence[Table], lines: Sequence[Line], groups: Sequence[Sequence[Load]], kept: int
) -> Iterator[Finding]:
    """One reassurance where all load and speed tests of a run are sound, and it holds nothing about a model.

    Args:
        tables: those of the run.
        lines: its curves.
        groups: the loads of each test that was made at several.
        kept: measures that were within what a file of the run promises.
    """
    if any(line.name in OF_MODELS for line in lines) or any(_scores(t) for t in tables):
        return
    counts = [c for t in tables if (c := counted(t)) is not None]
    again = [t for t in tables if len(t) >= RUNS and _repeated(t) is not None]
    if counts:
        yield from _passed(counts, groups, kept)
    elif again:
        yield from _told_again(max(again, key=len))


def _scores(table: Table) -> bool:
    return any(c.of in VOCABULARY and c.of in OF_MODELS for c in table.columns) or any(
        c.role == "measure" and named_score(c.name) and not means(SPEED, c.name) for c in table.columns
    )


def _passed(counts: Sequence[Counted], groups: Sequence[Sequence[Load]], kept: int) -> Iterator[Finding]:
    """All that was sent was answered, no figure contradicts another, and something says that it was fast enough."""
    sent, lost = (int(sum(getattr(c, of).sum() for c in counts)) for of in ("sent", "lost"))
    if any(not c.agrees or _made_up(c.table) for c in counts) or sent < REQUESTS or lost > MOST_LOST * sent:
        return
    tables = [c.table for c in counts]
    ordered = [o for t in tables if (o := _ordered(t)) is not None]
    if not all(ordered) or not all(_possible(c) for c in counts):
        return
    held = [h for loads in groups if (h := _holds(loads)) is not None]
    steady = [s for c in counts if (s := _steady(c)) is not None]
    if not all(held) or not all(steady) or not ordered:
        return
    why = next((
        key for key, there in (("kept", kept), ("held", held), ("steady", steady),
                               ("near", sent >= MANY and all(map(_near, tables)))) if there), None)  # fmt: skip
    if why is not None:
        yield _told(max(counts, key=lambda c: float(c.sent.sum())), sent, lost, why, kept)


def _made_up(table: Table) -> bool:
    texts = (str(c.values[0]) for c in table.columns if c.values.dtype.kind == "O" and len(table))
    return any(MADE_UP.search(plain(text)) for text in (table.file, table.part, *texts))


def _quantiles(table: Table) -> list[list[tuple[int, np.ndarray]]]:
    """The quantiles of each time of a table: (part in hundredths, its values), the lowest first."""
    kinds: dict[str, list[tuple[int, np.ndarray]]] = {}
    for c in table.columns:
        name = plain(c.name).replace("median", "p50")
        if c.values.dtype.kind == "f" and (m := QUANTILE.search(name)):
            kinds.setdefault(QUANTILE.sub("_", name), []).append((int(m[1]), c.values))
    return [sorted(some, key=lambda one: one[0]) for some in kinds.values()]


def _ordered(table: Table) -> bool | None:
    """Whether the quantiles of each measure rise with their part; None where there are no two of one."""
    rises = [bool(((b[1] >= a[1]) | np.isnan(a[1] + b[1])).all()) and not bool((a[1] <= 0).any())
             for some in _quantiles(table) for a, b in pairwise(some)]  # fmt: skip
    return all(rises) if rises else None


def _near(table: Table) -> bool:
    """Whether the slowest took no many times as long as the usual ones, whatever was timed."""
    ends = [(some[0][1], some[-1][1]) for some in _quantiles(table) if len(some) > 1]
    return bool(ends) and all(bool((high <= TAIL * low).all()) for low, high in ends)


def _possible(c: Counted) -> bool:
    """Whether no more tokens came than the requests may have asked for, and no slower than people read."""
    speed, time, most = (column(c.table, what) for what in (SPEED, TIME, MOST))
    if speed is None:
        return True
    if (speed.values < READING).any():
        return False
    return time is None or most is None or bool((speed.values * time.values <= c.sent * most.values * (1 + FITS)).all())


def _holds(loads: Sequence[Load]) -> bool | None:
    """Whether the throughput under the largest load is near its peak; None where too few loads say it."""
    speeds = {load.load: speed for load in loads if (speed := _speed(load)) is not None}
    if len(speeds) < ROWS:
        return None
    return speeds[max(speeds)] >= HOLDS * max(speeds.values())


def _speed(load: Load) -> float | None:
    """What was answered in a second."""
    if load.done is not None:
        return load.done
    found = column(load.table, SPEED)
    return float(found.values[load.row]) if found is not None else None


def _steady(c: Counted) -> bool | None:
    """Whether each time is in the second half of a long test as it was in the first at as much load; None where the
    test is short, or the load never the same in both."""
    n = len(c.table)
    if n < LONG:
        return None
    edges = np.unique(np.quantile(c.sent, np.linspace(0, 1, LOADS + 1)))
    place = np.searchsorted(edges[1:-1], c.sent, side="right")
    early = np.arange(n) < n // 2
    pairs = [(early & (place == k), ~early & (place == k)) for k in range(LOADS)]
    pairs = [pair for pair in pairs if min(part.sum() for part in pair) >= ROWS]
    times = [x.values for x in c.table.columns if x.values.dtype.kind == "f" and of_time(x.name)]
    if not pairs or not times:
        return None
    slower = [np.median([np.nanmedian(v[last]) / np.nanmedian(v[first]) for first, last in pairs]) for v in times]
    return max(slower) <= SLOWER


def _repeated(table: Table) -> tuple[np.ndarray, float] | None:
    """(speeds, their relative spread) of one test that was run again and again, where tokens and time give the same."""
    speed, tokens = column(table, SPEED), column(table, TOKENS)
    took = next((c for c in table.columns if c.values.dtype.kind == "f" and TOOK.search(plain(c.name))), None)
    same = [c for c in table.columns if c.values.dtype.kind == "O" and len({*map(str, c.values.tolist())}) == 1]
    if speed is None or tokens is None or took is None or not same or (speed.values < READING).any():
        return None
    told = tokens.values / np.maximum(took.values * SCALE.get(plain(took.name).rpartition("_")[2], 1.0), 1e-9)
    spread = float(speed.values.std() / speed.values.mean())
    fits = bool((np.abs(told / speed.values - 1) <= FITS).all())
    return (speed.values, spread) if fits and spread <= SPREAD else None


WHY = {
    "kept": ("{n} measures are within what the run's own files promise", "{n} 项指标达到本次运行文件写明的目标"),
    "held": ("the throughput holds under the largest load", "最大负载下吞吐没有下降"),
    "steady": ("at equal load it is as fast at the end as at the beginning", "同等负载下末尾与开头一样快"),
    "near": ("the slowest took no more than a few times the usual time", "最慢的请求也只是通常的数倍"),
}


def _told(c: Counted, sent: int, lost: int, why: str, kept: int) -> Finding:
    en, zh = (text.format(n=kept) for text in WHY[why])
    last = int(c.sent.argmax())
    were = f"{sent - lost} of {sent} requests were answered" if c.seen else (
        f"of {sent} requests as many got tokens at once as were let in, by the speed and the time of each token"
    )  # fmt: skip
    were_zh = f"{sent} 个请求中 {sent - lost} 个成功" if c.seen else (
        f"{sent} 个请求：按速度和单 token 时延推算，同时得到输出的请求数与并发一致"
    )  # fmt: skip
    return Finding(
        "run-healthy", Severity.S3,
        f"Nothing wrong in a load test: {were} ({c.table.file}); quantiles and counts agree, and {en}.",
        f"压测没有问题：{were_zh}（{c.table.file}）；分位数和计数相互一致，{zh}。",
        (Evidence(c.table.file, int(c.table.lines[last]) or None, metric=c.of, value=float(c.sent[last])),),
        {"points": sent, "why": why, "whole": True},
    )  # fmt: skip


def _told_again(table: Table) -> Iterator[Finding]:
    found = _repeated(table)
    if found is None:
        return
    speeds, spread = found
    yield Finding(
        "run-healthy", Severity.S3,
        f"Nothing wrong in {len(speeds)} runs of one test in {table.file}: {speeds.mean():.4g} tokens/s on the mean, "
        f"{spread:.1%} spread, and tokens over time give the same.",
        f"{table.file} 中同一测试的 {len(speeds)} 次运行没有问题：平均每秒 {speeds.mean():.4g} 个 token，"
        f"波动 {spread:.1%}，token 数除以用时与之一致。",
        (Evidence(table.file, int(table.lines[0]) or None, metric="tokens_per_second", value=float(speeds.mean())),),
        {"points": len(speeds), "whole": True},
    )  # fmt: skip

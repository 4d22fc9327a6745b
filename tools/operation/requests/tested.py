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
from ...tables.table import Column, Table
from ...vocabulary import VOCABULARY
from .loads import ALL, AT_ONCE, GOOD, LOST, TIME

SPEED = bounded(
    r"^(?:(?:avg|mean|output|gen\w*|decode|total)_)?(?:tokens?_?(?:per|/)_?s(?:ec(?:ond)?)?|tps|tok_s|toks_per_s)(?:ec)?$"
    r"|(?:output|token|generation)_throughput|每秒token"
)
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
OF_MODELS = ("loss", "eval_loss", "reward", "accuracy", "eval_accuracy", "perplexity", "eval_perplexity", "grad_norm")


def sound(tables: Sequence[Table], lines: Sequence[Line]) -> Iterator[Finding]:
    """One reassurance where all load and speed tests of a run are sound, and it holds nothing about a model."""
    if any(line.name in OF_MODELS for line in lines) or any(_scores(t) for t in tables):
        return
    swept = [t for t in tables if len(t) >= ROWS and _column(t, ALL) is not None and _answered(t) is not None]
    again = [t for t in tables if t not in swept and len(t) >= RUNS and _repeated(t) is not None]
    if swept and all(_sweep(t) for t in swept):
        yield from _told_sweep(max(swept, key=len))
    elif again and not swept:
        yield from _told_again(max(again, key=len))


def _scores(table: Table) -> bool:
    return any(c.of in VOCABULARY and c.of in OF_MODELS for c in table.columns) or any(
        c.role == "measure" and named_score(c.name) and not means(SPEED, c.name) for c in table.columns
    )


def _column(table: Table, what: re.Pattern[str]) -> Column | None:
    """The first column of numbers of that name, none of them missing."""
    found = (c for c in table.columns if c.values.dtype.kind == "f" and means(what, c.name))
    return next((c for c in found if np.isfinite(c.values).all()), None)


def _answered(table: Table) -> np.ndarray | None:
    """(n,) requests of each row that were answered."""
    sent, good, lost = (_column(table, what) for what in (ALL, GOOD, LOST))
    if sent is None or (good is None and lost is None):
        return None
    by_loss = sent.values - lost.values if lost is not None else None
    by_good = good.values if good is not None else by_loss
    if by_loss is None or by_good is None:
        return by_good
    return by_good if np.array_equal(by_good, by_loss) else np.zeros(len(table))


def _sweep(table: Table) -> bool:
    """Whether every request of a load test was answered, and its figures agree with one another."""
    sent, answered = _column(table, ALL), _answered(table)
    if sent is None or answered is None or sent.values.sum() < REQUESTS or (answered < sent.values).any():
        return False
    return _ordered(table) and _possible(table, sent.values) and _holds(table)


def _ordered(table: Table) -> bool:
    """Whether the quantiles of each measure rise with their part; there must be some."""
    kinds: dict[str, list[tuple[int, np.ndarray]]] = {}
    for c in table.columns:
        if c.values.dtype.kind == "f" and (m := QUANTILE.search(plain(c.name))):
            kinds.setdefault(QUANTILE.sub("_", plain(c.name)), []).append((int(m[1]), c.values))
    families = [sorted(some, key=lambda one: one[0]) for some in kinds.values()]
    rises = [bool((b[1] >= a[1]).all()) and bool((a[1] > 0).all())
             for some in families for a, b in pairwise(some)]  # fmt: skip
    return bool(rises) and all(rises)


def _possible(table: Table, sent: np.ndarray) -> bool:
    """Whether no more tokens came than the requests may have asked for."""
    speed, time, most = (_column(table, what) for what in (SPEED, TIME, MOST))
    if speed is None or (speed.values < READING).any():
        return False
    return time is None or most is None or bool((speed.values * time.values <= sent * most.values * (1 + FITS)).all())


def _holds(table: Table) -> bool:
    """Whether the throughput under the largest load is near its peak."""
    speed, load = _column(table, SPEED), _column(table, AT_ONCE)
    if speed is None or load is None or len(np.unique(load.values)) < ROWS:
        return False
    return float(speed.values[load.values.argmax()]) >= HOLDS * float(speed.values.max())


def _repeated(table: Table) -> tuple[np.ndarray, float] | None:
    """(speeds, their relative spread) of one test that was run again and again, where tokens and time give the same."""
    speed, tokens = _column(table, SPEED), _column(table, TOKENS)
    took = next((c for c in table.columns if c.values.dtype.kind == "f" and TOOK.search(plain(c.name))), None)
    same = [c for c in table.columns if c.values.dtype.kind == "O" and len({*map(str, c.values.tolist())}) == 1]
    if speed is None or tokens is None or took is None or not same or (speed.values < READING).any():
        return None
    told = tokens.values / np.maximum(took.values * SCALE.get(plain(took.name).rpartition("_")[2], 1.0), 1e-9)
    spread = float(speed.values.std() / speed.values.mean())
    fits = bool((np.abs(told / speed.values - 1) <= FITS).all())
    return (speed.values, spread) if fits and spread <= SPREAD else None


def _told_sweep(table: Table) -> Iterator[Finding]:
    sent, speed, load = (_column(table, what) for what in (ALL, SPEED, AT_ONCE))
    if sent is None or speed is None or load is None:
        return
    n, last = int(sent.values.sum()), int(load.values.argmax())
    first = int(load.values.argmin())
    yield Finding(
        "run-healthy", Severity.S3,
        f"Nothing wrong in a load test of {table.file}: all {n} requests were answered, {speed.values[first]:.4g} "
        f"tokens/s at {load.values[first]:g} at once, {speed.values[last]:.4g} at {load.values[last]:g}; they agree.",
        f"{table.file} 的压测没有问题：{n} 个请求全部成功，并发 {load.values[first]:g} 时每秒 "
        f"{speed.values[first]:.4g} 个 token，并发 {load.values[last]:g} 时 {speed.values[last]:.4g}；数字相互一致。",
        (Evidence(table.file, int(table.lines[last]) or None, metric=speed.name, value=float(speed.values[last])),),
        {"points": n},
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
        {"points": len(speeds)},
    )  # fmt: skip

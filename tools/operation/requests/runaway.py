"""Answers that a server goes on writing until the context is full, from the lines in which it counts its work.

No line tells how long one answer is. But while nothing new is read, the same requests are being written, and what is
written in that time, shared among them, is the least that one of them has by now. An answer that is long by nature
ends anywhere; answers that never end pile up below the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ...findings import Finding, Severity
from ...relate.line import Line, plain
from ...settings import Settings

INTERVAL = 10.0
"""Seconds between two such lines of vLLM."""
READ, WRITTEN, RUNS = "avg_prompt_throughput", "tokens_per_second", "running"
QUIET = 0.05
"""Tokens per second up to which no prompt is read."""
PART = 0.5
"""Share of the context from which on what one request has written is an answer that ran on: the rest is its prompt."""
LEAST, TIME = 5, 0.25
"""Such stretches, and their share of the time in which something runs, from which on they hold up the rest. Ours."""


def run_on(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """Requests that are written to the end of the context, and how much of the server's time they take."""
    limit = settings.value("max_model_len")
    if not isinstance(limit, (int, float)) or isinstance(limit, bool) or limit <= 0:
        return
    for file in dict.fromkeys(line.file for line in lines):
        own = {plain(line.key): line for line in lines if line.file == file and not line.group}
        own |= {plain(line.name): line for line in lines if line.file == file and not line.group}
        if all(name in own for name in (READ, WRITTEN, RUNS)):
            yield from _of(own, float(limit), settings)


def _of(own: dict[str, Line], limit: float, settings: Settings) -> Iterator[Finding]:
    read, written, runs = (own[name] for name in (READ, WRITTEN, RUNS))
    if not (np.array_equal(read.at, written.at) and np.array_equal(read.at, runs.at)):
        return
    busy = runs.values > 0
    alone = busy & (read.values <= QUIET) & (written.values > 0)
    edges = np.flatnonzero(np.r_[True, (alone[1:] != alone[:-1]) | (runs.values[1:] != runs.values[:-1]), True])
    spans = [(a, b) for a, b in pairwise(edges.tolist()) if alone[a]]
    wrote = {(a, b): INTERVAL * float(written.values[a:b].sum() / runs.values[a]) for a, b in spans}
    long = {span: n for span, n in wrote.items() if n >= PART * limit}
    share = sum(b - a for a, b in long) / max(int(busy.sum()), 1)
    if len(long) < LEAST or share < TIME:
        return
    (a, b), most = max(long.items(), key=lambda item: item[1])
    few, where = float(np.median(runs.values[busy])), f"{runs.file}:{int(runs.at[a])}"
    yield Finding(
        "answers-run-to-context", Severity.S1,
        f"{len(long)} times a request is written on and on until it fills much of the context of {limit:g} tokens "
        f"(at least {most:.0f} tokens, {where} on) while no prompt is read: {share:.0%} of the time in which anything "
        f"runs goes into such answers, at a median of {few:g} requests at once.",
        f"有 {len(long)} 次，请求一直写到占满 {limit:g} token 上下文的大部分（至少 {most:.0f} 个，自 {where} 起），"
        f"期间没有读入任何提示词：有请求运行的时间里 {share:.0%} 花在这种回答上，同时运行的请求中位数为 {few:g}。",
        (runs.evidence(a), read.evidence(a), written.evidence(b - 1), *settings.sources("max_model_len")[:1]),
        {"stretches": len(long), "most": most, "share": share, "limit": limit, "running": few},
    )  # fmt: skip

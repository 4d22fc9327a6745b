"""Over what the ranks of a run talk, as its collectives' library says at the start: a fast network, or plain sockets.

A run over sockets is told where a script asks for cards that the library did not find, and where a run beside it that
found them was clearly faster. A cluster that has nothing but sockets is as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ...patterns import bounded
from ...reading import head
from ...run import Run
from ...series import SeriesTable
from ...vocabulary import VOCABULARY
from .attempts import FIRST, LEAST, SPEEDS

CHECK = "network that the ranks talk over"
CODES = declare(
    "transport",
    ("slower-over-sockets", CHECK, "a run over sockets is clearly slower than one beside it over a fast network"),
    ("fast-network-not-found", CHECK, "a script asks for cards of a fast network, and the ranks talk over sockets"),
)
BYTES, LOGS, SCRIPTS, SCRIPT_BYTES = 512 << 10, 12, 40, 64 << 10
"""Bytes of the beginning of a log, logs and scripts of a run, and bytes of each script."""
SLOWER, CLEAR = 1.3, 5.0
"""Times as slow, and standard errors, from which on it is told. Own judgement."""
FAST = bounded(
    r"Using network (?:IB|RoCE|AWS Libfabric|Libfabric|OFI|UCX|EFA|GPUDirect\S{0,12}|FasTrak|Ethernet RDMA)\b"
    r"|NET/IB ?: ?Using \[\d|via NET/(?:IB|AWS Libfabric|OFI|UCX)\b|HCCL.{0,60}\bRDMA\b|\brdma enabled\b"
)
SLOW = bounded(
    r"Using network Socket\b|via NET/Socket\b|NET/Socket ?: ?Using \[\d"
    r"|(?i:fall(?:s|ing)? back to (?:tcp|sockets?)|回退到? ?(?:tcp|socket))"
)
NONE = bounded(
    r"NET/IB ?: ?No device found|(?i:no (?:infiniband|rdma|ib) devices? (?:was |were )?found)"
    r"|未找到.{0,8}(?:IB|RDMA).{0,4}设备"
)
ASKS = bounded(r"\b(NCCL_IB_(?:HCA|GID_INDEX|TC|SL)|NCCL_NET|UCX_NET_DEVICES)\s?[=:]\s?[\"']?([\w:.,^=-]{1,80})")
OFF = bounded(r"\bNCCL_IB_DISABLE\s?[=:]\s?[\"']?1\b")


Speeds = tuple[str, float, float, float]
"""Its name in the log, the own level, the other's, and how many times as slow the own one is."""
Pair = tuple[Evidence, Evidence | None]


class Way(NamedTuple):
    """What the logs of a run say of its network: the first line of each kind."""

    fast: Evidence | None
    slow: Evidence | None
    none: Evidence | None


def transported(run: Run, table: SeriesTable, beside: Sequence[tuple[str, Run, SeriesTable]]) -> Report:
    """A run over sockets that asks for cards, or beside which a run over the fast network was faster.

    Args:
        run: the run to judge.
        table: its series.
        beside: name, files and series of the other trainings under the same path.
    """
    own = _way(run)
    if own == Way(None, None, None):
        return Report("transport", (), (Check(CHECK, "not-applicable", "no log says what the ranks talk over"),))
    found = _judged(run, table, own, beside)
    return Report("transport", tuple(found), (Check(CHECK, "found" if found else "clear"),))


def _judged(run: Run, table: SeriesTable, own: Way, beside: Sequence[tuple[str, Run, SeriesTable]]) -> list[Finding]:
    if own.slow is None or own.fast is not None:
        return []
    for name, other, theirs in beside:
        way = _way(other)
        if way.fast is not None and way.slow is None and (speeds := _slower(table, theirs)) is not None:
            return [_beside(own.slow, own, way.fast, name, speeds, [*_apart(run, other)])]
    asked = next(_asked(run), None) if own.none is not None and not _off(run) else None
    return [_not_found(own.none, own.slow, asked)] if asked is not None and own.none is not None else []


def _way(run: Run) -> Way:
    found: dict[str, Evidence] = {}
    for artifact in islice(run.of("log"), LOGS):
        try:
            text = head(artifact.path, BYTES).decode("utf-8", "replace")
        except (TriageError, OSError):
            continue
        if not (SLOW.search(text) or FAST.search(text)):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for kind, pattern in (("fast", FAST), ("slow", SLOW), ("none", NONE)):
                if kind not in found and pattern.search(line[:600]):
                    found[kind] = Evidence(artifact.name, number, text=clean(line.strip(), 200))
    return Way(found.get("fast"), found.get("slow"), found.get("none"))


def _lines(run: Run) -> Iterator[tuple[str, int, str]]:
    for artifact in islice(run.of("script", "config", "code"), SCRIPTS):
        try:
            text = head(artifact.path, SCRIPT_BYTES).decode("utf-8", "replace") if artifact.path.is_file() else ""
        except (TriageError, OSError):
            continue
        yield from ((artifact.name, i, line[:600]) for i, line in enumerate(text.splitlines(), 1))


def _asked(run: Run) -> Iterator[Evidence]:
    """Where scripts ask for cards of the fast network."""
    for file, number, line in _lines(run):
        if not line.lstrip().startswith("#") and (match := ASKS.search(line)) and match[2].lower() != "socket":
            yield Evidence(file, number, metric=match[1], value=match[2], text=clean(line.strip(), 200))


def _off(run: Run) -> bool:
    return any(OFF.search(line) and not line.lstrip().startswith("#") for _, _, line in _lines(run))


def _apart(run: Run, other: Run) -> Iterator[Pair]:
    """What the run asks of its network otherwise than the other: its own line, and the other's."""
    theirs = {e.metric: e for e in _asked(other)}
    for one in _asked(run):
        known = theirs.get(one.metric)
        if known is None or known.value != one.value:
            yield one, known


def _slower(table: SeriesTable, other: SeriesTable) -> Speeds | None:
    """By the first measure of speed that both have."""
    for metric in SPEEDS:
        mine, theirs = (max((s for s in t if s.metric == metric), key=len, default=None) for t in (table, other))
        if mine is None or theirs is None:
            continue
        a, b = (s.values[FIRST:][np.isfinite(s.values[FIRST:])] for s in (mine, theirs))
        if min(len(a), len(b)) < LEAST:
            continue
        own, better = float(np.median(a)), float(np.median(b))
        if min(own, better) <= 0:
            return None
        times = better / own if VOCABULARY[metric].better > 0 else own / better
        error = float(np.hypot(a.std() / np.sqrt(len(a)), b.std() / np.sqrt(len(b))))
        return (mine.key, own, better, times) if times >= SLOWER and abs(own - better) >= CLEAR * error else None
    return None


def _beside(slow: Evidence, own: Way, fast: Evidence, name: str, speeds: Speeds, apart: Sequence[Pair]) -> Finding:
    key, mine, better, times = speeds
    set_, zh = "", ""
    if apart:
        one, known = apart[0]
        was = known.value if known is not None else None
        set_ = f"; {one.metric} is {one.value} here ({one.file}:{one.line}) and {was or 'not set'} there"
        zh = f"；{one.metric} 这里为 {one.value}（{one.file}:{one.line}），那边{f'为 {was}' if was else '未设置'}"
    return Finding(
        "slower-over-sockets", Severity.S1,
        f"{key} is {mine:.4g} here and {better:.4g} in {name}, {times:.2g} times as slow; here the ranks talk over "
        f"sockets ({slow.file}:{slow.line}), there over the fast network ({fast.file}:{fast.line})"
        f"{set_}.",
        f"{key} 这里为 {mine:.4g}，{name} 为 {better:.4g}，慢 {times:.2g} 倍；这里各 rank 走 socket"
        f"（{slow.file}:{slow.line}），那边走高速网络（{fast.file}:{fast.line}）{zh}。",
        tuple(e for e in (own.none, slow, fast, *(e for pair in apart[:1] for e in pair)) if e is not None),
        {"value": mine, "other": better, "ratio": times, "sibling": name},
    )  # fmt: skip


def _not_found(none: Evidence, slow: Evidence, asked: Evidence) -> Finding:
    return Finding(
        "fast-network-not-found", Severity.S2,
        f"{asked.file}:{asked.line} asks for {asked.metric} {asked.value}, and the library finds no such device "
        f"({none.file}:{none.line}): the ranks talk over sockets.",
        f"{asked.file}:{asked.line} 要求 {asked.metric} {asked.value}，而通信库没有找到这样的设备"
        f"（{none.file}:{none.line}）：各 rank 走 socket。",
        (none, slow, asked), {"asked": asked.value},
    )  # fmt: skip

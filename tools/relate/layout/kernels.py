"""Profiles by the names of what ran: kernels of another precision than the one that is set, copies beside kernels, and
a program that waits in its loader or for the other cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means

NAME = bounded(r"^(?:name|kernel(?:_?name)?|op(?:erator|eration)?|function|key|event)$")
SPENT = bounded(
    r"^(?:total|self|gpu|cuda|cpu|sum)?_?(?:cuda|cpu|gpu|device)?_?(?:time_?)?(?:total)?(?:_time)?(?:_\(?(?:ns|us|ms|s)\)?)?$|^dur(?:ation)?"
)
KERNEL = bounded(r"gemm|flash|elementwise|softmax|layer_?norm|cutlass|triton_|nccl|conv|reduce_kernel")
FULL = bounded(r"(?:^|_)sgemm|gemm_?(?:f32f32|fp32)|tf32|s1688gemm")
HALF = bounded(r"bf16|fp16|f16|hgemm|s16816|half")
COPY = bounded(r"memcpy.{0,6}(?:htod|host.?to.?device)|host.?to.?device.{0,8}cop")
MOVES = bounded(r"memcpy|memset")
LOADER = bounded(r"dataloader|data_?loader|__next__")
COLLECTIVE = bounded(r"nccl\w{0,20}kernel|rccl|hccl|c10d::|all_?(?:reduce|gather|to_?all)|reduce_?scatter")
FULL_SHARE, COPY_SHARE, LOADER_SHARE, COLLECTIVE_SHARE = 0.3, 0.15, 0.3, 0.5
"""Share of the profiled time from which on each is told. Own judgement."""
HALVES = ("bf16", "fp16")


def looked(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """What the profiles among the tables say."""
    profiles = [(table, *read) for table in tables if (read := _profile(table))]
    for table, name, spent in profiles:
        names, took = texts(name), np.nan_to_num(spent.values)
        yield from _precision(table, spent, names, took, settings)
        yield from _copies(table, spent, names, took, profiles)
        yield from _loader(table, spent, names, took)
        yield from _collectives(table, spent, names, took)


def _profile(table: Table) -> tuple[Column, Column] | None:
    """(names, times) of a table of what ran."""
    name = next((c for c in table.columns if means(NAME, c.name) and c.values.dtype.kind == "O"), None)
    spent = next(
        (c for c in table.columns if c.values.dtype.kind == "f" and means(SPENT, c.name) and c.unit != "%"), None
    )
    if name is None or spent is None or len(table) < 2 or np.nansum(spent.values) <= 0:
        return None
    return name, spent


def _precision(
    table: Table, spent: Column, names: np.ndarray, took: np.ndarray, settings: Settings
) -> Iterator[Finding]:
    """Products in 32 bits under a setting of 16."""
    if str(settings.value("precision", "")).lower() not in HALVES:
        return
    full = np.array([bool(FULL.search(n.lower())) and not HALF.search(n.lower()) for n in names])
    share = float(took[full].sum() / took.sum())
    if share < FULL_SHARE:
        return
    setting = settings.get("precision")
    own = f" ({setting.file}:{setting.line})" if setting else ""
    yield _told(
        "kernels-contradict-precision", table, spent, names, took, full, share,
        f"of the profiled time are products in 32 bits, and {settings.value('precision')} is set{own}",
        f"的时间在做 32 位矩阵乘，而设置的是 {settings.value('precision')}{own}",
    )  # fmt: skip


def _copies(
    table: Table, spent: Column, names: np.ndarray, took: np.ndarray, profiles: Sequence[tuple[Table, Column, Column]]
) -> Iterator[Finding]:
    """Copies from host to device beside the kernels, which another table of the same folder may have."""
    copies = np.array([bool(COPY.search(n.lower())) for n in names])
    if not copies.any() or not all(MOVES.search(n.lower()) for n in names):
        return
    folder = table.file.rpartition("/")[0]
    beside = [float(np.nansum(s.values)) for t, n, s in profiles
              if t is not table and t.file.rpartition("/")[0] == folder and s.unit == spent.unit
              and any(KERNEL.search(x.lower()) for x in texts(n))]  # fmt: skip
    if not beside:
        return
    share = float(took[copies].sum() / (took.sum() + max(beside)))
    if share >= COPY_SHARE:
        yield _told(
            "copies-fill-time", table, spent, names, took, copies, share,
            "of the time of kernels and copies together are copies from host to device",
            "的时间（内核与拷贝合计）是主机到显卡的拷贝",
        )  # fmt: skip


def _loader(table: Table, spent: Column, names: np.ndarray, took: np.ndarray) -> Iterator[Finding]:
    """The program waits for its loader."""
    waits = np.array([bool(LOADER.search(n.lower())) for n in names])
    share = float(took[waits].sum() / took.sum())
    if share >= LOADER_SHARE:
        yield _told(
            "loader-fills-profile", table, spent, names, took, waits, share,
            "of the profiled time is spent in the loader", "的时间花在数据加载器里",
        )  # fmt: skip


def _collectives(table: Table, spent: Column, names: np.ndarray, took: np.ndarray) -> Iterator[Finding]:
    """Cards that talk, or wait for each other while they would, most of the time."""
    talks = np.array([bool(COLLECTIVE.search(n.lower())) for n in names])
    share = float(took[talks].sum() / took.sum())
    if share >= COLLECTIVE_SHARE and not talks.all():
        yield _told(
            "collectives-fill-profile", table, spent, names, took, talks, share,
            "of the profiled time are collectives between cards, waiting for other ranks included",
            "的时间在做卡间集合通信（包括等待其他 rank）",
        )  # fmt: skip


def _told(
    code: str, table: Table, spent: Column, names: np.ndarray, took: np.ndarray, rows: np.ndarray, share: float,
    en: str, zh: str,
) -> Finding:  # fmt: skip
    most = sorted(np.flatnonzero(rows).tolist(), key=lambda i: -took[i])[:3]
    said = ", ".join(names[i][:60] for i in most)
    return Finding(
        code, Severity.S2, f"{table.file}: {share:.0%} {en}: {said}.", f"{table.file}：{share:.0%} {zh}：{said}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=spent.name, value=float(took[i]),
                       text=names[i][:80]) for i in most),
        {"share": share},
    )  # fmt: skip

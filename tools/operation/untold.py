"""A run that stopped without a word: what its launch does not keep, where its log ends, and what other records say of
its last minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..documents.stated import Stated
from ..findings import Evidence, Finding, Severity
from ..relate.kinds.names import demand
from ..relate.line import Line, lines_of, place
from ..tables.table import Table

LEAST, ROWS = 20, 4
"""Points of a log, and places of a record in time."""
LAST, MOVED, SPREADS = 3, 0.1, 4.0
"""Places at the end of a record, share of the middle value and spreads by which a measure has moved there."""
MOST = 2


def untold(said: Sequence[Stated], lines: Sequence[Line], tables: Sequence[Table]) -> Iterator[Finding]:
    """Where the log ends whose errors were not kept, with what the records beside it do until their end."""
    lost = [s for s in said if s.how in ("discards", "one-stream")]
    logs = [x for x in lines if x.axis == "step" and len(x) >= LEAST and x.known and not x.group and x.at[-1] > 0]
    if not lost or not logs:
        return
    last = max(logs, key=lambda x: (x.name == "loss", len(x)))
    steady = [one for t in tables if t.file != last.file and (one := _steady(t)) is not None][:MOST]
    en = "".join(f"; in {t} nothing has moved up to its last row ({when})" for t, when, _ in steady)
    zh = "".join(f"；{t} 直到最后一行（{when}）都没有异动" for t, when, _ in steady)
    where = lost[0]
    yield Finding(
        "nothing-tells-the-end", Severity.S3,
        f"{last.file} ends at {last.where(-1)} with a line like those before it, and what the program writes when it "
        f"fails was not kept ({where.file}:{where.line}): if it stopped there, nothing tells why{en}.",
        f"{last.file} 停在 {last.where(-1)}，最后一行与之前无异，而程序出错时的输出没有保存"
        f"（{where.file}:{where.line}）：如果停在这里，没有任何记录能说明原因{zh}。",
        (last.evidence(-1), where.evidence(), *(e for *_, e in steady)),
        {"step": float(last.x[-1]), "asks": [demand("ranks_with_stderr_log", "at-least", 1, "standard error of each "
         "rank, its exit code, dmesg and the job's account", "每个 rank 的标准错误、退出码、dmesg 与作业记录")]},
    )  # fmt: skip


def _steady(table: Table) -> tuple[str, str, Evidence] | None:
    """(file, last time, place) of a record in time of which no measure has moved at its end."""
    own = [x.finite() for x in lines_of((), [table]) if x.axis == "time"]
    own = [x for x in own if len(x) >= ROWS]
    if not own or any(_moves(x.values) for x in own):
        return None
    end = max(own, key=lambda x: x.x[-1])
    return table.file, place("time", float(end.x[-1])), end.evidence(-1)


def _moves(values: np.ndarray) -> bool:
    """Whether the last values lie off the middle of those before."""
    before, last = values[:-LAST] if len(values) > 2 * LAST else values[:-1], values[-LAST:]
    middle = float(np.median(before))
    spread = 1.4826 * float(np.median(np.abs(before - middle)))
    return abs(float(np.median(last)) - middle) > max(MOVED * abs(middle), SPREADS * spread)

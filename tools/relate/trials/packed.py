"""One training with and without packing, otherwise alike: where all measures are worse with it, samples see each other.

Packing alone changes how rows are cut, and nothing that is learned of one of them; a model that is clearly worse for it
at the same step and after the same rows attends across the joints, or counts positions on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import sqrt

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import means, plain
from ..results.read import count_of, is_score

PACKING = bounded(
    r"^(?:\w{1,20}_)?(?:packing|packed|pack|concat(?:enated)?|打包|拼接)(?:_\w{1,12})?$|是否(?:打包|拼接)"
)
YES = frozenset(("true", "yes", "on", "1", "1.0", "packed", "是", "开"))
NO = frozenset(("false", "no", "off", "0", "0.0", "none", "padded", "padding", "否", "关"))
BAD = bounded(
    r"loss|nll|ppl|perplex|(?:^|_)(?:ce|xent)(?:_|$)|off_?topic|wander|hallu|error|leak|contamin|串题|跑题|损失|困惑|错误"
)
"""Measures of which less is better."""
COST = bounded(r"per_s|throughput|speed|time|second|hour|mem|util|mfu|grad|norm|耗时|显存|速度|吞吐")
"""Measures of what a training costs or how it goes, which packing changes by itself."""
CLEAR, POINTS, SHARE, MOST_ROWS, LEAST = 3.0, 3.0, 0.03, 60, 2
"""Standard errors, and points where no number of items is known, by which a score is worse; share of a loss; rows of a
table; measures that must all be worse. Own judgement."""


def worse_packed(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first pair of rows that differ in packing alone, of which the packed one is worse by everything."""
    for table in (t for t in tables if 2 <= len(t) <= MOST_ROWS):
        column = next((c for c in table.columns if means(PACKING, c.name)), None)
        said = [v.strip().lower() for v in texts(column).tolist()] if column is not None else []
        if column is None or not {*said} & YES or not {*said} & NO or not {*said} <= YES | NO:
            continue
        for i, j in permutations(range(len(table)), 2):
            if said[i] in YES and said[j] in NO and _alike(table, column, i, j):
                worse = _worse(table, i, j)
                if worse is not None:
                    yield _told(table, (i, j), worse)
                    return


def _alike(table: Table, packing: Column, i: int, j: int) -> bool:
    """Whether all else that is set or counted is the same; a name that every row has for itself counts as none."""
    for c in table.columns:
        own = len({*map(str, c.values.tolist())}) == len(table)
        number = c.values.dtype.kind == "f"
        name_ = plain(c.name)
        found = number and c.role != "axis" and bool(is_score(c.name) or BAD.search(name_) or COST.search(name_))
        name = own and not number
        if c is not packing and not found and not name and str(c.values[i]) != str(c.values[j]):
            return False
    return True


def _worse(table: Table, i: int, j: int) -> list[tuple[str, float, float]] | None:
    """(measure, packed, not packed) of all measures whose good way is known, the clearest first; None where one is not
    worse, or none is clear."""
    found: list[tuple[float, str, float, float]] = []
    numbers = [c for c in table.of("measure") if c.values.dtype.kind == "f"]
    values = {c.name: (float(c.values[i]), float(c.values[j])) for c in numbers}
    count = count_of({k: v[0] for k, v in values.items()})
    n = values[count][0] if count else 0.0
    for name, (packed, apart) in values.items():
        less = BAD.search(plain(name)) is not None
        if name == count or not (less or is_score(name)):
            continue
        gap = packed - apart if less else apart - packed
        if not gap > 0:
            return None
        found.append((_clear(gap, packed, apart, n, less), name, packed, apart))
    found.sort(reverse=True)
    return [one[1:] for one in found] if len(found) >= LEAST and found[0][0] >= 1 else None


def _clear(gap: float, packed: float, apart: float, n: float, less: bool) -> float:
    """How clear a difference is, 1 being clear: of a share by its items, else by its points or its share."""
    top = max(packed, apart)
    if less and not 0 < top < 1:
        return gap / (SHARE * abs(apart)) if apart else 0.0
    scale = 1.0 if top <= 1 else 100.0
    if n < 1:
        return gap / scale * 100 / POINTS
    error = sqrt(sum(max(p * (1 - p), 1e-4) / n for p in (min(packed / scale, 1.0), min(apart / scale, 1.0))))
    return gap / scale / error / CLEAR


def _told(table: Table, rows: tuple[int, int], worse: Sequence[tuple[str, float, float]]) -> Finding:
    en = ", ".join(f"{name} {a:.4g} against {b:.4g}" for name, a, b in worse[:4])
    zh = "，".join(f"{name} {a:.4g} 对 {b:.4g}" for name, a, b in worse[:4])
    name, packed, apart = worse[0]
    return Finding(
        "worse-when-packed", Severity.S2,
        f"Two trainings of {table.file} that differ in packing alone: the packed one is worse by all {len(worse)} "
        f"measures ({en}). Rows that were packed see each other, or their positions go on.",
        f"{table.file} 中两次训练只差是否打包：打包的那次 {len(worse)} 项指标都更差（{zh}）：被拼在一起的样本互相可见，"
        "或位置没有重置。",
        shown(table, rows, name),
        {"score": name, "packed": packed, "apart": apart, "measures": len(worse)},
    )  # fmt: skip

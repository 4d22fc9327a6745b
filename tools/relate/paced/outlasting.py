"""Work that all ranks wait for, as a save or an evaluation, and that takes longer each time, up to their timeout.

The waiting ranks report a collective that timed out, as if one of them hung: what grew is the work behind the barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ..line import Line, means

WORK = bounded(
    r"(?:^|_)(?:sav(?:e|es|ed|ing)|ckpt|checkpoint(?:ing|ed)?|snapshot|done|took|wrote|writ(?:e|ten|ing)|flush(?:ed)?"
    r"|upload(?:ed)?|gather(?:ed)?|eval(?:uation)?|validat(?:e|ion)|serializ\w{1,5}|consolidat\w{1,4})(?:_|$)"
    r"|保存|存盘|存档|写入|写盘|检查点|评测|评估|验证"
)
"""Work that one rank does, or all do together, while the training stands."""
NO_TIME = bounded(
    r"loss|acc(?:uracy)?(?:_|$)|score|reward|perplexity|ppl|step(?:s|_time)?(?:_|$)|size|bytes|free|used|(?:_|^)[gmt]i?b(?:_|$)"
    r"|count|num(?:_|$)|speed|per_s|rate|tokens|损失|准确|大小|剩余|空间|速度"
)
UNITS = (
    (bounded(r"(?:_|^)(?:ms|millis\w{0,10})(?:_|$)|毫秒"), 1e-3),
    (bounded(r"(?:_|^)min(?:ute)?s?(?:_|$)|分钟"), 60.0),
)
"""Other units than seconds, as a name says them."""
USUAL = 600.0
"""Seconds after which PyTorch ends a collective over NCCL, where nothing sets another time."""
LEAST, GREW, NEAR, BEYOND = 4, 2.0, 0.6, 1.2
"""Times that it was done, factor by which it took longer at the end, shares of the timeout that it took then."""
RISES = 0.85
"""Share of the pairs of times of which the later one took longer. Own judgement."""


def outlasting(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """The work that came nearest to the timeout."""
    setting = settings.get("nccl_timeout")
    value = settings.value("nccl_timeout")
    limit = float(value) if isinstance(value, (int, float)) and value > 0 else USUAL
    found = [(x, took) for x in lines if (took := _took(x)) is not None and NEAR * limit <= took[-1] <= BEYOND * limit]
    if not found:
        return
    line, took = max(found, key=lambda pair: pair[1][-1])
    last, first = len(line) - 1, float(np.median(took[: max(1, len(took) // 4)]))
    where: tuple[Evidence, ...] = (setting.evidence(),) if setting is not None else ()
    asks = {"metric": line.name, "is": "at-most", "bound": GREW * float(line.values[0]),
            "en": f"it took {took[0]:.4g} s at first, {took[-1]:.4g} s at the end",
            "zh": f"最初为 {took[0]:.4g} 秒，最后为 {took[-1]:.4g} 秒"}  # fmt: skip
    said = (f"{setting.key} {setting.raw}", f"{setting.key} {setting.raw}") if setting else ("the usual", "默认值")
    yield Finding(
        "work-nears-timeout", Severity.S2,
        f"{line.key} took {took[0]:.4g} s at first and {took[-1]:.4g} s the last time ({len(took)} times, longer "
        f"nearly each time): the ranks that wait for it give up after {limit:.6g} s ({said[0]}).",
        f"{line.key} 第一次用了 {took[0]:.4g} 秒，最后一次用了 {took[-1]:.4g} 秒（共 {len(took)} 次，几乎一次比"
        f"一次久）：等待它的 rank 在 {limit:.6g} 秒后放弃（{said[1]}）。",
        (line.evidence(last), line.evidence(0), *where),
        {"first": first, "last": float(took[-1]), "timeout": limit, "times": len(took), "asks": [asks]},
    )  # fmt: skip


def _took(line: Line) -> np.ndarray | None:
    """The seconds of each time, None where the line is of no such work or does not take longer and longer."""
    if not means(WORK, line.key) or means(NO_TIME, line.key):
        return None
    line = line.finite()
    if len(line) < LEAST or not (line.values > 0).all():
        return None
    took = line.values * next((factor for unit, factor in UNITS if means(unit, line.key)), 1.0)
    grew = took[-1] >= GREW * float(np.median(took[: max(1, len(took) // 4)]))
    later = (took[None, :] > took[:, None])[np.triu_indices(len(took), 1)]
    return took if grew and float(later.mean()) >= RISES else None

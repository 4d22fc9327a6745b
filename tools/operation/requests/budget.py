"""Requests that wait for the token budget of a batch: answered as fast as ever once they run, queued before it, on a
card that has time and memory to spare.

Engines that reserve the longest answer for each request run as many at once as that fits into their budget. The time in
the queue is a measure beside the time of the answer itself, whatever a log or a table calls the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity, declare
from ...patterns import bounded
from ...relate.line import Line, plain
from ...settings import Setting, Settings

CODES = declare(
    "budget",
    ("requests-wait-at-budget", "requests of a server", "requests wait for a batch's token budget, the card has room"),
)
BUDGETS: Mapping[str, tuple[str, ...]] = {
    "max_batch_total_tokens": ("max_total_tokens", "max_model_len"),
    "max_total_tokens": ("context_length", "max_model_len"),
    "max_tokens_in_paged_kv_cache": ("max_seq_len", "max_model_len"),
    "max_num_tokens": ("max_seq_len", "max_model_len"),
    "session_len_total": ("session_len", "max_model_len"),
}
"""Settings that bound the tokens of all requests that run at once -> those of one, of TGI, SGLang, TensorRT-LLM."""
QUEUED = bounded(r"(?:^|_)(?:queue|queued|queuing|wait|waiting)_?(?:time|duration|latency|s|ms|sec|seconds)"
                 r"|time_in_queue|排队(?:时间|耗时|时长)|等待(?:时间|耗时|时长)")  # fmt: skip
ANSWERED = bounded(r"(?:^|_)(?:inference|generation|generate|decode|decoding|run|running|execution|exec|compute"
                   r"|service|model)_?(?:time|duration|latency|s|ms)|推理(?:时间|耗时)|生成(?:时间|耗时)")  # fmt: skip
BUSY = bounded(r"(?:^|_)(?:gpu_?)?util\w*|(?:^|_)sm_?(?:active|util)|利用率")
USED, WHOLE = (
    bounded(r"(?:mem\w*|vram|fb)_?used|used_?mem\w*|显存已用"),
    bounded(r"(?:mem\w*|vram|fb)_?total|total_?mem\w*"),
)
LEAST, SAME, ROOM, FEW = 50, 1.25, 0.65, 16
"""Requests of a log; times as long as before that an answer takes at most; share of a card that is used or busy at
most; requests that a budget holds at once at most, to be what holds others back."""
TIMES = 4
"""Times that a budget is raised by in one step."""


class Waits(NamedTuple):
    """The time in the queue and that of the answer, over the later half of a log."""

    queued: Line
    answered: Line
    wait: float
    takes: float
    before: float
    """What an answer took while hardly any waited; NaN where they always did."""


def at_budget(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """Requests wait, and a budget that is set holds only a few of them at once."""
    waits, budget = _waits(lines), _budget(settings)
    if waits is None or budget is None:
        return
    of_all, of_one = budget
    at_once = _number(of_all) // _number(of_one) if _number(of_one) else 0
    room = [r for r in (_busy(lines), _memory(lines)) if r is not None]
    slower = np.isfinite(waits.before) and waits.takes > SAME * waits.before
    if 1 <= at_once <= FEW and not slower and room and all(share <= ROOM for share, *_ in room):
        yield _told(waits, of_all, of_one, int(at_once), room)


def _waits(lines: Sequence[Line]) -> Waits | None:
    """A queue that takes longer than the answers themselves through the later half."""
    for queued in lines:
        if not QUEUED.search(plain(queued.key)) or len(queued) < LEAST:
            continue
        beside = (x for x in lines if x.file == queued.file and ANSWERED.search(plain(x.key)) and len(x) == len(queued))
        answered = next(beside, None)
        if answered is None:
            continue
        half = len(queued) // 2
        wait, takes = (float(np.nanmedian(x.values[half:])) for x in (queued, answered))
        free = queued.values < 0.1 * answered.values
        before = float(np.nanmedian(answered.values[free])) if free.sum() >= LEAST // 5 else np.nan
        if takes > 0 and wait >= takes:
            return Waits(queued, answered, wait, takes, before)
    return None


def _budget(settings: Settings) -> tuple[Setting, Setting] | None:
    """(what bounds the tokens of all that run, what bounds those of one) as the run sets them."""
    by = {plain(s.key).removeprefix("_"): s for s in (*settings.others.values(), *settings.values.values())}
    by |= {name: s for name, s in settings.values.items() if name not in by}
    for of_all, of_one in BUDGETS.items():
        one = next((by[n] for n in of_one if n in by and n != of_all), None)
        if of_all in by and one is not None and _number(by[of_all]) >= _number(one) > 0:
            return by[of_all], one
    return None


def _number(setting: Setting) -> float:
    try:
        return float(setting.value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return 0.0


def _busy(lines: Sequence[Line]) -> tuple[float, str, str, Evidence] | None:
    """(share, in words, evidence) of the time that the card computes."""
    for line in lines:
        if BUSY.search(plain(line.key)) and "mem" not in plain(line.key) and len(values := line.finite().values) >= 5:
            share = float(np.median(values[len(values) // 2 :])) / (100 if values.max() > 1 else 1)
            if 0 <= share <= 1:
                said = f"the GPU is busy {share:.0%} of the time", f"GPU 利用率 {share:.0%}"
                return share, *said, line.evidence(len(line) - 1)
    return None


def _memory(lines: Sequence[Line]) -> tuple[float, str, str, Evidence] | None:
    """(share, in words, evidence) of the memory that is used."""
    for used in (x for x in lines if (USED.search(plain(x.key)) or x.name == "gpu_memory") and len(x) >= 5):
        whole = next((x for x in lines if x.file == used.file and WHOLE.search(plain(x.key))), None)
        if whole is not None:
            a, b = float(np.nanmedian(used.values)), float(np.nanmedian(whole.values))
            if 0 < a <= b:
                said = f"{a:.6g} of {b:.6g} of its memory is used", f"显存 {b:.6g} 中用了 {a:.6g}"
                return a / b, *said, used.evidence(len(used) - 1)
    return None


def _told(
    waits: Waits, of_all: Setting, of_one: Setting, at_once: int, room: Sequence[tuple[float, str, str, Evidence]]
) -> Finding:
    new = int(_number(of_all)) * TIMES
    as_before = f" ({waits.before:.3g} while none waited)" if np.isfinite(waits.before) else ""
    as_before_zh = f"（没有排队时为 {waits.before:.3g}）" if np.isfinite(waits.before) else ""
    place = {"file": of_all.file, "line": of_all.line, "key": of_all.key, "old": of_all.raw}
    return Finding(
        "requests-wait-at-budget", Severity.S1,
        f"{of_all.key} {of_all.raw} holds {at_once} requests of {of_one.key} {of_one.raw} at once: {waits.queued.key} "
        f"is {waits.wait:.4g}, {waits.answered.key} {waits.takes:.3g}{as_before}, and {', '.join(r[1] for r in room)}. "
        "The budget holds them back, not the card.",
        f"{of_all.key} {of_all.raw} 同时只容得下 {at_once} 个 {of_one.key} 为 {of_one.raw} 的请求："
        f"{waits.queued.key} 为 {waits.wait:.4g}，{waits.answered.key} 为 {waits.takes:.3g}{as_before_zh}，"
        f"{'，'.join(r[2] for r in room)}。限制来自该预算，不是显卡。",
        (Evidence(of_all.file, of_all.line, metric=of_all.key, value=_number(of_all)),
         waits.queued.evidence(len(waits.queued) - 1), *(r[3] for r in room)),
        {"at_once": at_once, "wait": waits.wait, PROPOSES: {"variable": of_all.variable, "new": new, **place}},
    )  # fmt: skip

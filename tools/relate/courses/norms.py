"""Norms of parameters that shrink to a part of what they were while the loss stands: what only decay does to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.event import Event
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...run import Run
from ..line import Line, plain
from .read import LEAST, Course
from .told import DECAY, changed, handed_on, kinds, numbers

WEIGHTS = bounded(
    r"(?:param\w*|weights?|wts?|w|theta|embed\w*|model|(?:^|_)p)_?(?:\w{0,12}_)?(?:norm|l2|fro|rms|magnitude)(?:_|$)|^fro(?:_|$)"
    r"|(?:norm|l2|rms)_(?:of_)?(?:all_|the_)?(?:param\w*|weights?|w|p|theta)(?:_|$)|(?:^|_)(?:abs|mean_abs)_?(?:w|weights?|params?)(?:_|$)|(?:参数|权重)\S{0,3}范数"
)
NO_WEIGHTS = bounded(r"grad|update|ratio|梯度|更新|ln|rmsnorm|layernorm|act|logit|delta|adapter|lora")
ANY_NORM = bounded(r"^(?:norm|l2|l2_norm|fro|rms|范数|value)$")
ABOUT = bounded(r"weight|param|fro|权重|参数|wnorm")
WHOLE = bounded(r"(?:^|[_ ])(?:all|total|global|whole|sum)(?:[_ ]|$)|总|全部")
SHRUNK, WITH_REASON, STANDS = 0.45, 0.65, 0.025
"""Share of the norm that is left at most, alone and where files say that the decay is large or another; and the share
of the loss that its later half gains at most."""
LARGE, TIMES = 0.45, 3.0


def shrunk(run: Run, found: Sequence[Course], events: Sequence[Event]) -> Iterator[Finding]:
    """The parameters that shrink while the loss stands."""
    for course in found:
        lines = [x for x in course.lines if x.axis == "step" and _weights(x) and x.values[0] > 0]
        left = [(float(np.median(x.values[-3:]) / np.median(x.values[:3])), x) for x in lines]
        fell = [(share, x) for share, x in left if share <= WITH_REASON and _falls(x)]
        whole = [(share, x) for share, x in fell if WHOLE.search(f"{plain(x.key)} {x.group.lower()}")]
        if not fell or not (whole or 2 * len(fell) >= len(left)):
            continue
        share, line = min(whole or fell, key=lambda pair: pair[0])
        loss = _standing(course, line, found)
        if loss is None:
            continue
        said = list(_reasons(run, events))
        if share <= SHRUNK or said:
            kept = next((x for part, x in left if part >= 0.8), None)
            yield _told(line, share, loss, said, kept)
            return


def _weights(line: Line) -> bool:
    key = plain(line.key)
    if line.name == "weight_norm":
        return True
    if NO_WEIGHTS.search(key):
        return False
    return bool(WEIGHTS.search(key) or (line.group and ANY_NORM.search(key) and ABOUT.search(plain(line.file))))


def _falls(line: Line) -> bool:
    half = len(line) // 2
    return len(line) >= LEAST and float(line.values[half:].max()) <= 0.8 * float(line.values[0])


def _standing(course: Course, norm: Line, found: Sequence[Course]) -> Line | None:
    """The loss of this run over the same steps, where it does not fall any more."""
    others = [course] if course.loss is not None else found
    for other in others:
        loss = other.loss
        if loss is None or loss.axis != "step" or len(loss) < 2 * LEAST:
            continue
        both = min(loss.x[-1], norm.x[-1]) - max(loss.x[0], norm.x[0])
        if both < 0.5 * (norm.x[-1] - norm.x[0]):
            continue
        n = max(len(loss) // 10, 3)
        middle, end = float(np.median(loss.values[len(loss) // 2 :][:n])), float(np.median(loss.values[-n:]))
        if middle - end <= STANDS * abs(middle):
            return loss
    return None


def _reasons(run: Run, events: Sequence[Event]) -> Iterator[Evidence]:
    """Where files say that the decay was raised, is large, or goes through the gradient."""
    for _, _, place in changed(events, DECAY, TIMES):
        yield place
    given = [*numbers(run, DECAY, ("decay", "wd", "reg", "l2", "lambda", "衰减", "正则")), *handed_on(run)]
    if given and LARGE <= (top := max(given, key=lambda pair: pair[0]))[0] <= 50:
        yield top[1]
    yield from list(kinds(run))[:1]


def _told(line: Line, share: float, loss: Line, said: Sequence[Evidence], kept: Line | None) -> Finding:
    begin, end = float(np.median(line.values[:3])), float(np.median(line.values[-3:]))
    middle, last = float(loss.values[len(loss) // 2]), float(loss.values[-1])
    why = f"; {said[0].file}:{said[0].line}: {said[0].text}" if said else ""
    zh = f"；{said[0].file}:{said[0].line}：{said[0].text}" if said else ""
    rest = f"; {kept.said} stays ({kept.values[0]:.4g} to {kept.values[-1]:.4g})" if kept is not None else ""
    rest_zh = f"；{kept.said} 基本不变（{kept.values[0]:.4g} 到 {kept.values[-1]:.4g}）" if kept is not None else ""
    return Finding(
        "weights-shrink-under-decay" if said else "weights-shrink-loss-stands", Severity.S2,
        f"{line.said} falls from {begin:.4g} to {end:.4g} ({share:.0%} is left) while {loss.key} stands ({middle:.4g} "
        f"in the middle, {last:.4g} at the end){rest}{why}.",
        f"{line.said} 从 {begin:.4g} 降到 {end:.4g}（只剩 {share:.0%}），而 {loss.key} 停住（中段 {middle:.4g}，末尾 "
        f"{last:.4g}）{rest_zh}{zh}。",
        (line.evidence(-1), line.evidence(0), loss.evidence(-1), *said[:2]),
        {"from": begin, "to": end, "share": share, "loss": last, "file": line.file},
    )  # fmt: skip

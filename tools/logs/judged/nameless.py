"""Measures without a known name that turn NaN at one point of a training and stay so.

Who writes a loop calls the loss what they like, and a log that several trainings wrote one after the other changes its
names on the way. That several measures of one line, or one that is called a loss, are numbers first and none from some
line on is a failure whatever they are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...findings import Finding, Severity, declare
from ...metrics import held_out
from ...patterns import bounded
from ...series import Series, SeriesTable
from ...vocabulary import VOCABULARY
from ..company import LOSSES
from ..detectors.detect import noted
from ..detectors.detector import finding, where, where_zh
from ..detectors.nonfinite import BadSpan, bad_span
from ..signatures.signature import CHECK

CODES = declare(
    "scan",
    ("measures-turn-nan", CHECK, "several measures of a training are numbers first, and NaN from one line on"),
)
BEFORE, AFTER = 5, 3
"""Numbers that stood there before, and values that are none since, from which on it is no gap. Own judgement."""
ALWAYS = 0.9
"""Share of the earlier records in which a measure is a number that is measured all the time. Own judgement."""
TOGETHER = 1
"""Lines apart at which two measures break at once."""
NEAR_END = 100
"""Lines from which on two measures end apart."""
_MEAN = bounded(r"(?i)^(?:avg|average|mean|running|smooth(?:ed)?|ema|epoch|平均)[ _]?")
_LOSS = bounded(r"(?i)(?:loss|损失)$")
_RARE = bounded(r"(?i)(?:^|[ _/])(?:val|valid|validation|eval|test|dev)(?:[ _/]|$)|验证|测试")
"""In the name of what is measured now and then."""


def nameless(table: SeriesTable) -> Iterator[Finding]:
    """One finding for each file whose last such measures turned NaN to the end of their training."""
    files: dict[str, list[Series]] = {}
    for one in table:
        files.setdefault(one.file, []).append(one)
    for series in files.values():
        broken = [(one, span) for one in series if (span := _broken(one)) is not None]
        if broken:
            yield from _of_file(broken, series)


def after_earlier(found: Sequence[Finding], broken: Sequence[Finding]) -> list[Finding]:
    """The findings of the curves; of the trainings that a file holds before the one that broke they are notes."""
    begins = {f.evidence[0].file: int(f.data["begins"]) for f in broken if f.severity < Severity.S2}

    def before(f: Finding) -> bool:
        place = f.evidence[0] if f.evidence else None
        return place is not None and 0 < (place.line or 0) < begins.get(place.file, 0)

    return [*(noted(f) if f.severity < Severity.S3 and before(f) else f for f in found), *broken]


def _broken(series: Series) -> BadSpan | None:
    """How a measure of no known name, logged all the time, turns NaN to its end; None where it does not."""
    if series.metric in VOCABULARY or held_out(series.key) or _RARE.search(series.key):
        return None
    span = bad_span(series)
    if span is None or span.kind != "persistent" or span.last_finite is None:
        return None
    finite = np.isfinite(series.values[: span.first])
    enough = finite.sum() >= BEFORE and len(series) - span.first >= AFTER and finite.mean() >= ALWAYS
    return span if enough and not np.isfinite(series.values[span.first :]).any() else None


def _of_file(broken: Sequence[tuple[Series, BadSpan]], series: Sequence[Series]) -> Iterator[Finding]:
    """The last break of a file, where a loss by its name broke or several measures did at once, and no loss that is
    known goes on in numbers."""
    longest = max(broken, key=lambda b: (int(b[0].lines[-1]) // NEAR_END, len(b[0])))[0]
    own = [b for b in broken if _line(b) >= longest.lines[0]]
    line = min(map(_line, own))
    at_once = [b for b in own if _line(b) - line <= TOGETHER]
    losses = [b for b in at_once if _is_loss(b[0].key)]
    if not line or any(_goes_on(one, line) for one in series) or not (losses or len(at_once) > 1):
        return
    one, span = max(losses or at_once, key=lambda b: len(b[0]))
    again = any(o.key == one.key and len(o) >= BEFORE and o.lines[0] > one.lines[-1] for o in series)
    yield _told(one, span, [b[0].key for b in at_once if b[0] is not one], bool(losses), again)


def _line(broken: tuple[Series, BadSpan]) -> int:
    return int(broken[0].lines[broken[1].first])


def _is_loss(key: str) -> bool:
    name = _MEAN.sub("", key.strip()).lower()
    return name in LOSSES or _LOSS.search(name) is not None


def _goes_on(one: Series, line: int) -> bool:
    """Whether a known loss is logged behind a line, which its own detector judges, or a known one of held-out data is a
    number there: then nothing of the training broke."""
    later = one.values[one.lines >= line]
    if one.metric == "loss":
        return bool(len(later))
    return one.metric in ("eval_loss", "perplexity") and bool(len(later)) and bool(np.isfinite(later[-AFTER:]).all())


def _told(one: Series, span: BadSpan, others: Sequence[str], loss: bool, again: bool) -> Finding:
    i, good = span.first, span.last_finite or 0
    grade = Severity.S3 if again else Severity.S1 if loss else Severity.S2
    code = "loss-nonfinite" if loss else "measures-turn-nan"
    more, more_zh = (
        (f", and so are {', '.join(others[:4])}", f"，{'、'.join(others[:4])} 也一样") if others else ("", "")
    )
    en = f"{one.key} is {one.values[i]} from {where(one, i)} of the log ({one.values[good]:.4g} before) to the end of "
    en += f"its training, {len(one) - i} points{more}."
    zh = f"{one.key} 自{where_zh(one, i)}起为 {one.values[i]}（此前为 {one.values[good]:.4g}），直到这次训练结束，"
    zh += f"共 {len(one) - i} 个点{more_zh}。"
    found = finding(code, grade, [(one, i), (one, good)], en, zh, kind="persistent", points=len(one), others=[*others])
    grade = max(found.severity, grade) if not others else grade  # one name of a guess proves nothing alone
    data = {**found.data, "metric": "loss" if loss else one.metric, "begins": int(one.lines[0])}
    return replace(found, severity=grade, data=data)

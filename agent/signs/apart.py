"""Parts of a run that differ, and which of that is as it should be: a model before and after its training, parts that
need not be alike, and a device that is warmer than the others and no slower."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...tools.findings import Finding
from ...tools.patterns import bounded
from ...tools.relate.line import plain
from ...tools.series import Series
from ...tools.vocabulary import VOCABULARY

APART = ("group-differs", "rates-differ", "outcome-follows-column")
"""Findings that parts of a run differ: where nobody says why, no curve beside them makes it healthy."""
WIDE = 3.0
"""Times what the groups otherwise differ by, from which on parts of a run that need not be alike are told apart."""
TESTS = bounded(
    r"(?i)(?:^|[_\W])(?:(?:eval|test|bench|data)_?)?(?:sets?|benchmarks?|bench|suites?|tasks?|datasets?|subjects?|domains?"
    r"|categor(?:y|ies))(?:[_\W]|$)|测试集|评测集|数据集|任务|科目|领域|类别"
)
"""What names parts of an evaluation, which are as hard as they are."""
VERDICT = bounded(r"(?:^|_)(?:outcome|verdict|exact|correct(?:ness)?|solved|success|passed|right)(?:_|$)|结果|判定")
"""What says of an answer whether it is right: that scores and lengths go with it is no matter of parts."""
BEFORE = bounded(
    r"(?i)(?:^|[/_.\s-])(?:base(?:line|_?model)?|before|pre_?trained|original)(?:[/_.\s-]|$)|底座|基座|原始|(?:训练|微调)前"
)
"""What the model before a training is called."""
STATE = bounded(r"(?i)(?:^|_)(?:temp(?:erature)?s?|power|pwr|watts?|fan)(?:_|$)|温度|功耗|风扇")
"""What is measured of the state a device is in, and says nothing of what it does."""
DEGREES = bounded(r"(?i)(?:^|_)temp|温度")
HOT = 85.0
"""Degrees Celsius from which on devices slow down to cool."""
PACE = bounded(r"(?i)(?:^|_)(?:clocks?|sm_?clk|pclk|util(?:i[sz]ation)?|throughput)(?:_|$)|频率|利用率|吞吐")
"""What is measured of the work of a device, more being better."""
SLOWER = 0.02
"""Share by which a device that is slower lies below the others. Own judgement."""


def explained(f: Finding, series: Sequence[Series]) -> bool:
    """Whether parts of a run that differ need no word of anybody."""
    return _gained(f) or _by_nature(f) or _unfelt(f, series)


def _gained(f: Finding) -> bool:
    """Whether the two parts are the model before the training and after it, and more is right after it."""
    shares = f.data.get("shares") or {}
    before = [name for name in shares if BEFORE.search(name)]
    alone = len(shares) == 2 and len(before) == 1 and f.data.get("what") == "right"
    return alone and shares[before[0]] == min(shares.values())


def _by_nature(f: Finding) -> bool:
    """Whether the parts need not be alike and differ by little, or are parts of an evaluation, right and wrong ones."""
    by, gap = str(f.data.get("by", "")), f.data.get("gap")
    if VERDICT.search(by.lower()):
        return True
    little = f.data.get("alike") is False and gap is not None and gap < WIDE
    return not f.data.get("alike") and (little or TESTS.search(by) is not None)


def _unfelt(f: Finding, series: Sequence[Series]) -> bool:
    """Whether single devices are in another state, below what slows them down, and work as fast as the others: their
    clocks, use or rates were written beside it."""
    key, groups = plain(str(f.data.get("key", ""))), {str(g) for g in f.data.get("groups", ())}
    if not STATE.search(key) or (DEGREES.search(key) and not float(f.data["value"]) < HOT):
        return False
    files = {e.file for e in f.evidence}
    beside = [s for s in series if s.group and s.file in files and _better(s)]
    paces = {s.key for s in beside}
    return bool(paces) and all(_as_fast([s for s in beside if s.key == key], groups) for key in paces)


def _better(s: Series) -> int:
    """Which way a measure of pace is good; 0 for any other measure."""
    if PACE.search(plain(s.key)):
        return 1
    return VOCABULARY[s.metric].better if s.metric in ("step_time", "tokens_per_second", "compute_time") else 0


def _as_fast(series: Sequence[Series], groups: set[str]) -> bool:
    """Whether the named devices are no slower than the slowest of the others."""
    own = [s for s in series if s.group.rpartition("=")[2] in groups]
    levels = {id(s): _better(s) * float(np.nanmedian(s.values)) for s in series}
    others = [levels[id(s)] for s in series if s not in own]
    if not own or not others:
        return False
    least = min(others)
    return all(levels[id(s)] >= least - SLOWER * abs(least) for s in own)

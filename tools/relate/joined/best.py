"""A measure beside its own running best: which way is good, and how far it has fallen behind.

Nobody needs to know the measure: the best so far, logged beside it, says whether more or less of it is better. Told
where the last values all lie far below the best and do not come back; a dip is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, means

NAMED = bounded(r"(?:^|_)(?:best|top|max|maximum|min|minimum|highest|lowest)(?:_|$)|最[优佳好高低大小]|so_far")
"""Names of a running best."""
LEAST, LAST = 5, 2
"""Different values of the measure, and of them those at the end that lie behind. Own judgement."""
BEHIND = 0.3
"""Share of all that was gained, that is lost again. Own judgement."""


def behind(lines: Sequence[Line]) -> Iterator[Finding]:
    """Measures that end far behind a best that is logged beside them; what is itself a largest or least is none."""
    told: set[tuple[str, str]] = set()
    for best in lines:
        if not means(NAMED, best.key):
            continue
        for line in lines:
            same = (line.file, line.attempt, line.group, line.axis) == (best.file, best.attempt, best.group, best.axis)
            if line is not best and same and not means(NAMED, line.key) and (line.file, line.key) not in told:
                for found in _lost(line, best):
                    told.add((line.file, line.key))
                    yield found


def _lost(line: Line, best: Line) -> Iterator[Finding]:
    shared, mine, theirs = np.intersect1d(line.x, best.x, return_indices=True)
    values, tops = line.values[mine], best.values[theirs]
    if len(shared) < LEAST or not (np.isfinite(values).all() and np.isfinite(tops).all()):
        return
    for sign, run in ((1, np.maximum.accumulate(values)), (-1, np.minimum.accumulate(values))):
        if not np.allclose(run, tops, rtol=1e-3, atol=0.0) or np.allclose(run, values):
            continue
        fresh = mine[np.concatenate(([True], np.diff(values) != 0))]  # one evaluation may be printed several times
        each = sign * line.values[fresh]
        top = int(np.argmax(each))
        lost, gained = each[top] - each[top + 1 :], each[top] - each[0]
        if len(fresh) < LEAST or len(lost) < LAST or gained <= 0 or (lost[-LAST:] < BEHIND * gained).any():
            return
        at, last = int(fresh[top]), len(line) - 1
        old, new = float(line.values[at]), float(line.values[last])
        first = float(line.values[int(fresh[0])])
        en = (
            f"{line.said} was best at {line.where(at)} ({old:.4g}, from {first:.4g} at the beginning) and ends at "
            f"{new:.4g}: the last {len(lost)} evaluations all lie behind {best.key}."
        )
        zh = (
            f"{line.said} 在{line.where(at)}达到最好（{old:.4g}，开始时为 {first:.4g}），最后为 {new:.4g}：之后的 "
            f"{len(lost)} 次评测都不如 {best.key}。"
        )
        evidence = (line.evidence(last), line.evidence(at))
        data = {"metric": line.name, "key": line.key, "best": old, "last": new, "first": first}
        yield Finding("score-behind-best", Severity.S2, en, zh, evidence, data)
        return

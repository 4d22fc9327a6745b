"""A run that goes on after a restart with something set otherwise, and is slower from there on.

What was learned cannot be compared, the steps are others; the time of a step and the throughput can.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...config.combine import read_settings
from ...config.diff import Difference, diff
from ...findings import PROPOSES, Check, Evidence, Finding, Report, Severity, declare
from ...run import Run
from ...series import Series, SeriesTable
from ...settings import Settings
from ...vocabulary import VOCABULARY

CHECK = "speed before and after a restart"
CODES = declare(
    "restarts", ("slower-since-restart", CHECK, "from a restart on, with few things set otherwise, steps take longer")
)
SPEEDS = ("step_time", "tokens_per_second", "samples_per_second", "tflops", "mfu")
"""What attempts are compared by, the first that both have."""
FIRST, LEAST = 3, 10
"""Points after a start that are warming up, and points that an attempt must have behind them."""
SLOWER, CLEAR = 1.2, 5.0
"""Times as slow, and standard errors, from which on it is told."""
MOST_DIFFERENT = 3


def since_restart(run: Run, table: SeriesTable) -> Report:
    """The last attempt of a run against the one before it."""
    ends: dict[str, int] = {}
    for s in table:
        if len(s) and s.step_is == "step" and s.attempt:
            home = s.attempt.partition("#")[0]
            ends[home] = max(ends.get(home, 0), int(s.steps[-1]))
    if len(ends) < 2 or not {a.attempt for a in run.of("config", "script")} >= set(ends):
        return Report("restarts", (), (Check(CHECK, "not-applicable", "no attempts with a configuration each"),))
    before, after = sorted(ends, key=lambda home: ends[home])[-2:]
    found = _slower(table, (before, after), [read_settings(run, home)[0] for home in (before, after)])
    return Report("restarts", (found,) if found else (), (Check(CHECK, "found" if found else "clear"),))


def _slower(table: SeriesTable, homes: tuple[str, str], settings: Sequence[Settings]) -> Finding | None:
    old, new = settings
    changed = [d for d in diff(old, new) if d.counts] if old.values and new.values else []
    for metric in SPEEDS:
        pair = [_longest(table, metric, home) for home in homes]
        if pair[0] is None or pair[1] is None:
            continue
        then, now = (s.values[FIRST:][np.isfinite(s.values[FIRST:])] for s in pair if s is not None)
        if min(len(then), len(now)) < LEAST:
            continue
        a, b = float(np.median(then)), float(np.median(now))
        ratio = (a / b if VOCABULARY[metric].better > 0 else b / a) if a > 0 and b > 0 else 0.0
        error = float(np.hypot(then.std() / np.sqrt(len(then)), now.std() / np.sqrt(len(now))))
        if ratio < SLOWER or abs(a - b) < CLEAR * error or not 0 < len(changed) <= MOST_DIFFERENT:
            return None
        return _told(pair[0], pair[1], (a, b, ratio), changed, old)
    return None


def _longest(table: SeriesTable, metric: str, home: str) -> Series | None:
    found = (s for s in table if s.metric == metric and s.attempt.partition("#")[0] == home)
    return max(found, key=len, default=None)


def _told(
    then: Series, now: Series, levels: tuple[float, float, float], changed: Sequence[Difference], old: Settings
) -> Finding:
    a, b, ratio = levels
    said, zh, places = [], [], []
    for d in changed:
        was = old.get(d.variable)
        at = f"{was.file}:{was.line}" if was is not None else "not set"
        said.append(f"{d.variable} {d.old} before ({at}), {d.new} since ({d.where})")
        zh.append(f"{d.variable} 此前为 {d.old}（{at}），之后为 {d.new}（{d.where}）")
        file, _, line = d.where.rpartition(":")
        if file and line.isdecimal():
            places.append(Evidence(file, int(line), text=f"{d.variable} {d.new}"))
        if was is not None:
            places.append(Evidence(was.file, was.line, text=f"{d.variable} {d.old}"))
    step = int(now.steps[0])
    return Finding(
        "slower-since-restart", Severity.S2,
        f"{now.key} is {b:.4g} since the restart at step {step} and was {a:.4g} before, {ratio:.2g} times as slow; set "
        f"differently: {'; '.join(said)}.",
        f"自第 {step} 步重启后 {now.key} 为 {b:.4g}，此前为 {a:.4g}，慢了 {ratio:.2g} 倍；设置不同：{'；'.join(zh)}。",
        (now.at(min(FIRST, len(now) - 1)), then.at(len(then) - 1), *places),
        {"metric": now.metric, "before": a, "after": b, "ratio": ratio,
         "changed": {d.variable: [d.old, d.new] for d in changed},
         **({PROPOSES: {"variable": changed[0].variable, "new": changed[0].old}}
            if len(changed) == 1 and changed[0].old is not None else {})},
    )  # fmt: skip

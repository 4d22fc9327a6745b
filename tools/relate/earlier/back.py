"""Where a training whose data were bad from some step on can go back to: the last whole state from before, by any list
of what was kept.

A list is told by its lines: names of one form with a step in them, and numbers (files, bytes) that most of them share.
One of which such a number is smaller is not whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity
from ...heads import beginning
from ...patterns import bounded
from ...run import Run
from ...tables.table import Table
from ..courses.read import Course
from .marked import marked

BYTES, MOST_FILES, LEAST, MOST = 65_536, 60, 3, 400
"""Of a file, of a run, and of the states that a list names."""
STATE = bounded(
    r"(?i)(?<![a-z])((?:global_?step|step|iter(?:ation)?|it|ckpt|checkpoint|state|snap(?:shot)?|save)s?[_\-=]{0,2}0{0,9}(\d{2,9})"
    r"(?:\.[a-z]\w{0,12})?)(?![\w.])"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?=[kKMGT]?i?B?(?![\w.]))")
NOT_WHOLE = bounded(r"(?i)incomplete|partial|\.tmp|corrupt|interrupted|broken|truncated|不完整|损坏|未写完|残缺|中断")
ALIKE, SMALLER = 0.6, 0.97
"""Share of the states that have one number, and part of it below which a state lacks something."""


@dataclass(frozen=True)
class State:
    """One state of a list, and what it lacks."""

    name: str
    step: int
    place: Evidence
    lacks: str


def gone_back(run: Run, tables: Sequence[Table], found: Sequence[Course]) -> Iterator[Finding]:
    """The parts that were bad, and the last whole state from before the first of them was read."""
    for bad in marked(tables):
        yield bad
        step = float(bad.data["step"])
        states = next(_lists(run, {c.file for c in found if c.loss is not None}), [])
        before = [s for s in states if s.step <= step]
        whole = [s for s in before if not s.lacks]
        if whole and len(before) < len(states):
            yield _told(whole[-1], [s for s in before if s.step > whole[-1].step], bad, step, found)


def _lists(run: Run, logs: set[str]) -> Iterator[list[State]]:
    """Every list of states in small files, by step, and the states that lie in the run itself."""
    for artifact in [a for a in run.artifacts if a.name not in logs and a.kind != "code"][:MOST_FILES]:
        if not artifact.path.is_file():
            continue
        forms: dict[str, dict[int, tuple[str, Evidence]]] = defaultdict(dict)
        for n, line in enumerate(beginning(artifact.path, BYTES).splitlines(), 1):
            if len(line) <= 400 and len(names := STATE.findall(line)) == 1:
                name, step = names[0]
                form = re.sub(r"\d+", "#", name)
                forms[form].setdefault(int(step), (name, Evidence(artifact.name, n, text=line.strip()[:200])))
        for states in forms.values():
            if LEAST <= len(states) <= MOST:
                yield _judged(states)
    named = {int(m[2]): (m[1], Evidence(a.name)) for a in run.of("checkpoint") if (m := STATE.search(a.name))}
    if len(named) >= LEAST:
        yield _judged(named)


def _judged(states: dict[int, tuple[str, Evidence]]) -> list[State]:
    """The states of a list in their order, with what each lacks of what most have."""
    rows = {s: [float(x) for x in NUMBER.findall(STATE.sub(" ", e.text or ""))] for s, (_, e) in states.items()}
    size = int(np.median([len(r) for r in rows.values()]))
    usual: list[float | None] = []
    for k in range(size):
        column = np.array([r[k] for r in rows.values() if len(r) == size])
        middle = float(np.median(column)) if len(column) else 0.0
        close = np.abs(column - middle) <= (1 - SMALLER) * middle
        usual.append(middle if len(column) and middle > 0 and close.mean() >= ALIKE else None)
    out = []
    for step, (name, place) in sorted(states.items()):
        row, word = rows[step], NOT_WHOLE.search(place.text or "")
        less = [(v, u) for v, u in zip(row, usual, strict=False) if u and v < SMALLER * u and len(row) == size]
        lacks = f"{less[0][0]:.10g} of {less[0][1]:.10g}" if less else word[0] if word else ""
        out.append(State(name, step, place, lacks))
    return out


def _told(last: State, skipped: Sequence[State], bad: Finding, step: float, found: Sequence[Course]) -> Finding:
    parts = "".join(f"; {s.name} from between is not whole ({s.lacks})" for s in skipped)
    parts_zh = "".join(f"；其后的 {s.name} 不完整（{s.lacks}）" for s in skipped)
    price, price_zh = _price(last.step, found)
    name = bad.data["parts"][0]
    return Finding(
        "last-state-before-bad-data", Severity.S2,
        f"{last.name} is the last whole state from before step {step:.10g}, at which data that are marked as bad were "
        f"first read ({name} and others){parts}; every later one has learnt from them{price}. The marked parts have to "
        "be left out of what is read next.",
        f"{last.name} 是第 {step:.10g} 步首次读到被标记数据（{name} 等）之前最后一个完整的状态{parts_zh}；"
        f"之后的都已学过这些数据{price_zh}。续训前须把被标记的部分从读取中排除。",
        (last.place, *(s.place for s in skipped[:2]), *bad.evidence),
        {"state": last.name, "step": last.step, "first_bad": step,
         PROPOSES: {"variable": "checkpoint", "do": {
             "en": f"Leave the marked parts ({name} and others) out of what is read, and resume from {last.name}, in a "
                   "new directory.",
             "zh": f"从读取中排除被标记的部分（{name} 等），再从 {last.name} 续训，写入新目录。"}}},
    )  # fmt: skip


def _price(step: int, found: Sequence[Course]) -> tuple[str, str]:
    """The steps that are trained once more, and their time where the steps are timed."""
    losses = [c for c in found if c.loss is not None and c.loss.axis == "step" and c.loss.x[-1] > step]
    if not losses:
        return "", ""
    again = float(losses[0].loss.x[-1]) - step  # type: ignore[union-attr]
    times = next((x for x in losses[0].lines if x.name == "step_time"), None)
    hours = again * float(np.median(times.values)) / 3600 if times is not None else 0.0
    en, zh = (f", about {hours:.3g} h", f"，约 {hours:.3g} 小时") if hours else ("", "")
    return f"; going back costs {again:,.0f} steps{en}", f"；回退代价为 {again:,.0f} 步{zh}"

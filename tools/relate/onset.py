"""When the trouble began, and what else changed there: the symptom, its company, what stayed as it was, the events.

The symptom is the known measure that gets worst for good. Measures that nobody knows only accompany it; where there is
no known one, several that change at one place are told as a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..documents.event import Event
from ..findings import Evidence, Finding, Severity, declare
from ..operation.requests.serving import part_of
from ..patterns import bounded
from .changes import Change
from .clock import Clock
from .joined.experiment import ALL_ONE, Experiments
from .line import Line, means, place
from .moves import NEAR, Move, described, facts, shown

ONSET = "onset and its company"
CODES = declare(
    "onset",
    ("onset", ONSET, "where the worst symptom began, what changed with it, and what stayed flat"),
    ("changes-together", ONSET, "several changes came into force where the symptom began: which did it is not told"),
    ("data-changed-at-onset", ONSET, "the data were changed where the symptom began, and nothing else was"),
    ("rate-long-steady", ONSET, "the learning rate had long been at its level when the symptom began"),
)
SURE = 12.0
"""Log likelihood from which on a change of a known measure is a symptom."""
WORSE = 0.03
"""Share of its level by which a symptom gets worse at least. Own judgement."""
LEFT = 0.005
"""Share of where a loss began by which it gets worse at least. Own judgement."""
OUTCOMES = frozenset(("loss", "eval_loss", "reward", "eval_reward", "accuracy", "eval_accuracy", "tokens_per_second",
                      "samples_per_second", "mfu", "tflops", "perplexity", "eval_perplexity", "eval_bpb",
                      "reward_accuracy", "reward_margin"))  # fmt: skip
"""Measures that people run for: before others that get as bad, they are the symptom."""
SPEED = frozenset(("tokens_per_second", "samples_per_second", "mfu", "tflops"))
"""Of these what the data teach says nothing."""
MUCH = 0.2
"""Share by which a step takes longer for a symptom that is more than a note: it follows what is in the step."""
LEAD = 0.05
"""Share of the run before and behind the onset that is told as before and after it."""
TURNED = frozenset(("learning_rate", "batch_size", "sequence_length"))
"""Measures whose change at the onset would be another reason than the data."""
AS_FAST = 0.95
"""Share of a throughput that is still the same. Own judgement."""
FEWER = 0.8
"""Share of the requests that ran before, up to which a server has less to do. Own judgement."""
DEMAND = bounded(
    r"(?:^|_)(?:offered|arrivals?|arriving|incoming|demand|users?|clients?|concurrency|in_?flight)(?:_|$)|到达|并发|在线"
)
"""What is asked of a server, whatever it does: no rate of answers."""
AT_PEAK, STEADY, STEADIER = 0.95, 500, 4
"""Part of the peak at which the rate is at it, steps there, and times the steps up to it, from which on it is long."""
AT_ONCE = 3
"""Changes at the onset from which on no one of them is the first suspect."""
TOGETHER = 3
"""Unknown measures that change at one place to be told without a symptom."""
MOST_TOLD = 6
"""Measures and events named in the sentence; all are in the data."""
ALONG, READ = 0.7, 0.8
"""Rank correlation with the symptom from which on a measure is not called flat, and share of the symptom's lines in
which one without steps must have been read to be. Own judgement."""
CHOSEN = frozenset(("load", "length", "depth"))
"""Ways that nobody went: sizes that a measurement was made at."""
When = Literal["with", "before", "after"]


@dataclass(frozen=True)
class Onset:
    """A symptom and what surrounds it."""

    move: Move
    change: Change
    low: float
    high: float
    """The interval of the onset on the way."""
    company: tuple[tuple[When, Move, Change], ...]
    still: tuple[Move, ...]
    events: tuple[Event, ...]


def onset(found: Sequence[Move], events: Sequence[Event], clock: Clock, of: Experiments = ALL_ONE) -> Onset | None:
    """The onset of the worst symptom; None where nothing known gets worse, and less than a few others change."""
    symptom = max(((_weight(m, c), m, c) for m in found for c in m.lasting
                   if _symptom(m, c) and not (_less_asked(m, c, found) or _more_done(m, c, found))),
                  key=lambda found: found[0], default=None)  # fmt: skip
    if symptom is not None:
        return _around(symptom[1], symptom[2], found, events, clock, of)
    unknown = sorted(((c.strength, i, c) for i, m in enumerate(found) for c in m.lasting if not m.line.known
                      and c.strength >= SURE), key=lambda found: -found[0])  # fmt: skip
    for _, i, change in unknown[:MOST_TOLD]:
        whole = _around(found[i], change, found, events, clock, of)
        if sum(when == "with" for when, *_ in whole.company) >= TOGETHER - 1:
            return whole
    return None


def _symptom(move: Move, change: Change) -> bool:
    """Whether a known measure gets worse there for good."""
    line = move.line
    worse = line.better and change.up == (line.better < 0)
    enough = change.strength >= SURE and move.share(change) >= WORSE and not _with_more(line) and _of_size(line, change)
    return bool(worse and enough and abs(change.after - change.before) >= 1.5 * change.sigma and _lasts(move, change))


def _of_size(line: Line, change: Change) -> bool:
    """Whether a loss gets worse by a part of where it began: one that is all but gone may be many times as much again,
    and one that goes below zero pushes a policy and is no measure of how well it does."""
    values = line.values[np.isfinite(line.values)]
    if line.name != "loss" or not len(values):
        return True
    return values.min() >= 0 and abs(change.after - change.before) >= LEFT * float(values[:TOGETHER].max())


def _with_more(line: Line) -> bool:
    """Whether a time grows no faster than the size that somebody chose for each row: more work takes longer."""
    if line.axis not in CHOSEN or line.better >= 0 or len(line) < 2:
        return False
    order = np.argsort(line.x)
    (least, most), (first, last) = line.x[order[[0, -1]]], line.values[order[[0, -1]]]
    return bool(least > 0 and first > 0 and last / first <= most / least)


def _less_asked(move: Move, change: Change, found: Sequence[Move]) -> bool:
    """Whether a server's rate follows how much is asked of it: what is offered falls there as much, or
    fewer requests run at once, and none waits."""
    if move.line.name not in SPEED or not change.before:
        return False
    near = [m for m in found if (m.line.file, m.line.axis) == (move.line.file, move.line.axis)]
    parts = {part: m for m in near if (part := part_of(m.line.key))}
    idle = "waiting" in parts and _sides(parts["waiting"].line, move.line.x[change.i])[1] == 0
    asked = [m for m in near if means(DEMAND, m.line.key) or (idle and m is parts.get("running"))]
    return any(_fell(m, move, change) for m in asked)


def _fell(load: Move, move: Move, change: Change) -> bool:
    """Whether a load falls where a rate does, by most of its part."""
    low, high = move.span(change)
    beside = (c for c in load.lasting if _when(load, c, low, high, 0.0) == "with")
    part = change.after / change.before
    return any(c.before > 0 and c.after <= FEWER * c.before and c.after / c.before <= part / FEWER for c in beside)


def _more_done(move: Move, change: Change, found: Sequence[Move]) -> bool:
    """Whether a step takes longer and as much is done in each second as before: there is more in the step."""
    if move.line.name != "step_time":
        return False
    near = (
        m.line
        for m in found
        if m.line.name in SPEED and (m.line.file, m.line.group) == (move.line.file, move.line.group)
    )
    return any(0 < AS_FAST * before <= after for before, after in (_sides(x, move.line.x[change.i]) for x in near))


def _sides(line: Line, at: float) -> tuple[float, float]:
    """The levels before and after a place."""
    before, after = line.values[line.x < at], line.values[line.x >= at]
    return (
        float(np.mean(before[-NEAR:])) if len(before) else 0.0,
        float(np.median(after[:NEAR])) if len(after) else 0.0,
    )


def _lasts(move: Move, change: Change) -> bool:
    """Whether it does not come back: its last tenth is not as good as before."""
    back = (change.after - move.ends[1]) / ((change.after - change.before) or 1.0)
    return back < 0.75 or move.line.better * (move.ends[1] - change.before) < 0


def _weight(move: Move, change: Change) -> tuple[bool, float]:
    """How bad a symptom is: what people run for first, then by its size."""
    return move.line.name in OUTCOMES, min(move.share(change), 2.0)


def _around(
    move: Move, change: Change, found: Sequence[Move], events: Sequence[Event], clock: Clock, of: Experiments
) -> Onset:
    low, high = move.span(change)
    here = [m for m in found if m.line.axis == move.line.axis and m is not move]
    here = [m for m in here if m.line.attempt in ("", move.line.attempt) or not move.line.attempt]
    here = [m for m in here if not of.apart((m.line.file,), (move.line.file,))]
    reach = LEAD * float(np.ptp(move.line.x))
    company = _company(here, low, high, reach, move.line.name)
    told = {m.line.said for _, m, _ in company} | {move.line.said}
    still = [m for m in here if not m.lasting and m.line.said not in told and m.still(low, high)]
    still = [m for m in {m.line.said: m for m in still}.values() if not _goes_with(m.line, move.line)]
    at = _events(events, low, high, reach, clock) if move.line.axis in ("step", "time") else ()
    return Onset(move, change, low, high, tuple(company), tuple(still), at)


def _goes_with(line: Line, symptom: Line) -> bool:
    """Whether a measure goes up and down with the symptom, point by point, and is no more flat than that; so may one
    that has no steps and was read in few of the symptom's lines: they stand elsewhere on its way."""
    same = line.file == symptom.file and line.at.all() and symptom.at.all()
    if line.axis == "line" and (not same or len(line) < READ * len(symptom)):
        return True
    _, i, j = np.intersect1d(*((line.at, symptom.at) if same else (line.x, symptom.x)), return_indices=True)
    a, b = line.values[i], symptom.values[j]
    keep = np.isfinite(a) & np.isfinite(b)
    if keep.sum() < TOGETHER * AT_ONCE or np.ptp(a[keep]) == 0 or np.ptp(b[keep]) == 0:
        return False
    mine, other = (v[keep].argsort(kind="stable").argsort() for v in (a, b))
    return abs(float(np.corrcoef(mine, other)[0, 1])) >= ALONG


def _company(here: Iterable[Move], low: float, high: float, reach: float, name: str) -> list[tuple[When, Move, Change]]:
    """Changes in the window, before and after it; of ranks that do the same, and of the symptom's own, the "
    "clearest."""
    best: dict[str, tuple[When, Move, Change]] = {}
    for move in here:
        for change in move.lasting:
            when = _when(move, change, low, high, reach)
            known = best.get(move.line.name)
            if when and move.line.name != name and (known is None or (when == "with", change.strength)
                                                    > (known[0] == "with", known[2].strength)):  # fmt: skip
                best[move.line.name] = (when, move, change)
    return sorted(best.values(), key=lambda found: (found[0] != "with", -found[2].strength))


def _when(move: Move, change: Change, low: float, high: float, reach: float) -> When | None:
    """Where a change lies beside the onset; one that may lie in the same interval is with it."""
    first, last = move.span(change)
    slack = _spacing(move, change)
    if first - slack <= high and last + slack >= low:
        return "with"
    if last < low:
        return "before" if low - last <= reach else None
    return "after" if first - high <= reach else None


def _spacing(move: Move, change: Change) -> float:
    """The distance of its points there: one that is logged rarely changes somewhere between two of them."""
    x = move.line.x[max(0, change.i - 1) : change.i + 2]
    return float(np.diff(x).max()) if len(x) > 1 else 0.0


def _events(events: Sequence[Event], low: float, high: float, reach: float, clock: Clock) -> tuple[Event, ...]:
    """Events inside the window, mere notes last, the nearest before the onset first."""
    near: list[tuple[bool, float, int, Event]] = []
    for i, event in enumerate(events):
        at = float(event.step) if event.step is not None else clock.step(event.at) if event.at is not None else None
        if at is not None and low - reach <= at <= high + reach / 5:
            near.append((event.what == "note", abs(at - low) + (reach if at > high else 0.0), i, event))
    return tuple(event for *_, event in sorted(near, key=lambda found: found[:3]))


def surrounded(finding: Finding, found: Sequence[Move], events: Sequence[Event]) -> Finding:
    """A finding with an interval of steps, with the events and changes that lie in it."""
    low, high = finding.data.get("interval", (0.0, 0.0)) if "at" in finding.data else (0.0, 0.0)
    if high <= low:
        return finding
    there = [e for e in events if e.step is not None and low < e.step <= high]
    there = sorted(there, key=lambda e: e.what == "note")[:3]
    with_ = [(m, c) for m in found if m.line.axis == "step" for c in m.lasting
             if low < m.span(c)[0] <= high and m.span(c)[1] <= high]  # fmt: skip
    if not (there or with_):
        return finding
    en = "; ".join(
        [*(_event(e) for e in there), *(described(m, c)[0] + f" at {m.line.where(c.i)}" for m, c in with_[:3])]
    )
    zh = "；".join([*(_event(e) for e in there), *(described(m, c)[1] for m, c in with_[:3])])
    evidence = (
        *(Evidence(e.file, e.line, e.step, text=e.text) for e in there),
        *(shown(m, c)[0] for m, c in with_[:3]),
    )
    data = {**finding.data, "events": [_as_data(e) for e in there], "with": [facts(m, c) for m, c in with_]}
    return replace(finding, message=f"{finding.message} In between: {en}.", zh=f"{finding.zh}其间：{zh}。",
                   evidence=(*finding.evidence, *evidence), data=data)  # fmt: skip


def told(found: Onset) -> Finding:
    """The onset as one finding."""
    move, change = found.move, found.change
    at, within = move.line.where(change.i), ""
    if found.high > found.low:
        within = f", between {place(move.line.axis, found.low)} and {found.high:.10g}"
    share = (change.after - change.before) / abs(change.before) if change.before else float("nan")
    percent = f" ({share:+.0%})" if np.isfinite(share) and abs(share) < 20 else ""
    en, zh = described(move, change)
    parts = [f"{en}{percent} at {at}{within}."]
    parts_zh = [f"{zh}{percent}，起点 {at}{within.replace(', between', '，区间').replace(' and ', ' - ')}。"]
    for when, (say, say_zh) in _SAID.items():
        company = [described(m, c) for w, m, c in found.company if w == when][:MOST_TOLD]
        if company:
            parts.append(f"{say}: {'; '.join(c[0] for c in company)}.")
            parts_zh.append(f"{say_zh}：{'；'.join(c[1] for c in company)}。")
    if found.still:
        names = ", ".join(m.line.said for m in found.still[:MOST_TOLD])
        parts.append(f"Flat: {names}.")
        parts_zh.append(f"保持平稳：{names}。")
    if found.events:
        parts.append(f"There: {'; '.join(_event(e) for e in found.events[:3])}.")
        parts_zh.append(f"该处事件：{'；'.join(_event(e) for e in found.events[:3])}。")
    grave = move.line.name in OUTCOMES or (move.line.name == "step_time" and move.share(change) >= MUCH)
    severity = Severity.S2 if grave else Severity.S3
    return Finding("onset", severity, " ".join(parts), "".join(parts_zh), _evidence(found), _data(found))


def together(found: Onset) -> Finding | None:
    """Several changes of different kinds that came into force at once: the run does not tell which of them did it."""
    done = [e for e in found.events if e.what not in ("note", "restart")]
    if len(done) < AT_ONCE or len({e.what for e in done}) < 2:
        return None
    said = "; ".join(_event(e) for e in done[:MOST_TOLD])
    return Finding(
        "changes-together", Severity.S3,
        f"{len(done)} changes came into force where {found.move.line.said} got worse, and the run does not tell which "
        f"of them did it: {said}.",
        f"{found.move.line.said} 变差处同时生效了 {len(done)} 项改动，运行记录分不出是哪一项：{said}。",
        tuple(Evidence(e.file, e.line, e.step, text=e.text) for e in done[:MOST_TOLD]),
        {"events": [_as_data(e) for e in done]},
    )  # fmt: skip


def data_alone(found: Onset) -> Finding | None:
    """That the data were changed at the very place where what the run is for got worse, and nothing else was."""
    line = found.move.line
    done = [e for e in found.events if e.what != "note"]
    slack = _spacing(found.move, found.change)
    at = [e for e in done if e.what == "data" and e.step is not None
          and found.low - 2 * slack <= e.step <= found.high + slack]  # fmt: skip
    other = any(when == "with" and m.line.name in TURNED for when, m, _ in found.company)
    if len(at) != len(done) or not at or other or line.axis != "step" or line.name not in OUTCOMES - SPEED:
        return None
    said, (en, zh) = "; ".join(_event(e) for e in at[:3]), described(found.move, found.change)
    where = line.where(found.change.i)
    return Finding(
        "data-changed-at-onset", Severity.S2,
        f"{en} at {where} and stays there, where the data were changed and nothing else is told: {said}.",
        f"{zh}（{where}）且没有回来，此处换了数据，没有记录其他改动：{said}。",
        (*shown(found.move, found.change), *(Evidence(e.file, e.line, e.step, text=e.text) for e in at[:3])),
        {"metric": line.name, "at": float(line.x[found.change.i]), "events": [_as_data(e) for e in at]},
    )  # fmt: skip


def steady_rate(found: Onset) -> Finding | None:
    """That the learning rate had long been at its level when what the run is for got worse."""
    line = found.move.line
    rate = next((m.line for m in found.still if m.line.name == "learning_rate"), None)
    if rate is None or line.axis != "step" or line.name not in OUTCOMES - SPEED:
        return None
    peak = float(np.nanmax(rate.values))
    first = float(rate.x[int(np.argmax(rate.values >= AT_PEAK * peak))])
    steady = found.low - first
    held = float(np.nanmin(rate.values[rate.x >= first])) >= 0.5 * peak
    if peak <= 0 or not held or steady < max(STEADY, STEADIER * first):
        return None
    return Finding(
        "rate-long-steady", Severity.S3,
        f"{rate.said} had been at {peak:.3g} for {steady:.0f} steps when {line.said} began to get worse: a "
        "warm-up that is too short shows early.",
        f"{line.said} 开始变差时，{rate.said} 已在 {peak:.3g} 保持了 {steady:.0f} 步：warmup 太短会在早期就显出来。",
        (rate.evidence(int(np.argmax(rate.x >= first))), line.evidence(found.change.i)),
        {"steps": steady, "peak": peak},
    )  # fmt: skip


LOOKS = (told, data_alone, together, steady_rate)
_SAID: dict[When, tuple[str, str]] = {
    "with": ("In the same window", "同一窗口内"),
    "before": ("Before it", "在此之前"),
    "after": ("After it", "在此之后"),
}


def _event(event: Event) -> str:
    return f"{event.file}:{event.line} {event.text[:120]}"


def _evidence(found: Onset) -> tuple[Evidence, ...]:
    company = tuple(shown(m, c)[0] for w, m, c in found.company if w == "with")[:MOST_TOLD]
    events = tuple(Evidence(e.file, e.line, e.step, text=e.text) for e in found.events[:3])
    return (*shown(found.move, found.change), *company, *events)


def _data(found: Onset) -> dict[str, object]:
    company = {when: [facts(m, c) for w, m, c in found.company if w == when] for when in _SAID}
    return {
        **facts(found.move, found.change), "interval": [found.low, found.high],
        **company, "flat": [m.line.name for m in found.still],
        "events": [_as_data(e) for e in found.events],
    }  # fmt: skip


def _as_data(e: Event) -> dict[str, object]:
    return {"what": e.what, "file": e.file, "line": e.line, "step": e.step, "variable": e.variable, "old": e.old,
            "new": e.new, "text": e.text[:200]}  # fmt: skip

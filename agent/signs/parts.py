"""What each part of a sign asks, and the ways in which it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ...knowledge.sign import Part
from ...tools.config.values import number
from ...tools.documents.event import Event
from ...tools.findings import PROPOSES, Evidence, Severity
from ...tools.operation.steady import follows_load, less_asked
from ...tools.patterns import bounded
from ...tools.relate.changes import LEAST_POINTS, Change
from ...tools.relate.contrast import one_kind
from ...tools.relate.kinds.names import about, back
from ...tools.relate.line import plain
from ...tools.relate.moves import Move, described
from ...tools.tables.usual import usual
from .held import Asked, Held, Span, anything, grade
from .standing import SET, kind_of

NEAR = FAR = 0.05
"""Share within which two numbers are the same, and from which on a measure has moved."""
LITTLE = 0.01
"""What a share of one has fallen at least: hits of a cache from 0.1% to none are no loss. Own judgement."""
_SHARES = bounded(r"(?i)(?<!learning)[ _/](?:rate|ratio|share|fraction)$")
NOISE = 3.0
"""Deviations of a point by which the ends of a row that stays where it was may lie apart."""
AGAINST = ("behind-sibling", "slower-since-restart")
"""Findings of one run against another, with what is set otherwise."""
JUDGED = {"loss": "loss-spike", "grad_norm": "grad-norm-spike"}
"""Measure -> the check that has judged its spikes."""
SCORES = ("eval_accuracy", "eval_reward")
"""Held-out scores, of which a run may have several tests."""
SOUND = "run-healthy"
"""The reassurance of a curve that these checks have read whole."""


def _moving(part: Part, asked: Asked, up: bool) -> Iterator[Held]:
    """Changes that way, the clearest first, then the way over the whole run."""
    least = max((float(share) for share in part.names[1:]), default=FAR)
    for move in asked.of(part.names[0]):
        if (follows_load if up else less_asked)(move.line, asked.lines):
            continue
        little = LITTLE if not up and _SHARES.search(move.line.key) and move.scale <= 1 else 0
        far = [c for c in move.lasting if c.up == up and move.share(c) >= least and abs(c.after - c.before) >= little]
        for change in sorted(far, key=lambda c: -c.strength):
            yield _changed(move, change)
        moved = abs(move.ends[1] - move.ends[0]) >= max(little, least * move.scale)
        if moved and move.way == ("rises" if up else "falls") and not any(c.up == up for c in move.lasting):
            first, last = move.ends
            verb, zh = ("rises", "上升") if up else ("falls", "下降")
            x = move.line.x
            yield Held(f"{move.line.said} {verb} from {first:.4g} to {last:.4g}",
                       f"{move.line.said} 从 {first:.4g} {zh}到 {last:.4g}",
                       (move.line.evidence(0), move.line.evidence(len(move.line) - 1)),
                       (float(x[0]), float(x[-1])), move)  # fmt: skip


def _changed(move: Move, change: Change) -> Held:
    en, zh = described(move, change)
    where = move.line.where(change.i)
    return Held(f"{en} at {where}", f"{zh}（{where}）", (move.line.evidence(change.i),), move.span(change), move)


def _flat(part: Part, asked: Asked) -> Iterator[Held]:
    """Of a held-out score, all tests together: one that gains nothing beside others that do says nothing."""
    moves = asked.of(part.names[0])
    gained = {m.line.file for m in moves if part.names[0] in SCORES and _far(m, m.ends[1] - m.ends[0])}
    for move in (m for m in moves if m.line.file not in gained):
        small = all(move.share(c) < FAR for c in move.lasting)
        first, last = move.ends
        near = move.way == "flat" or not _far(move, abs(last - first))
        if len(move.line) >= LEAST_POINTS and small and near and move.way in ("flat", "unclear"):
            level = float(move.ends[1])
            yield Held(f"{move.line.said} stays at {level:.4g}", f"{move.line.said} 保持在 {level:.4g}",
                       (move.line.evidence(len(move.line) - 1),), None, move)  # fmt: skip


def _far(move: Move, by: float) -> bool:
    return by > max(FAR * move.scale, NOISE * move.sigma)


def _spikes(part: Part, asked: Asked) -> Iterator[Held]:
    judged = asked.findings.get(JUDGED.get(part.names[0], ""))
    # single ones, back at once, or what the check of a curve that looks well does not call one
    note = judged.severity == Severity.S3 if judged is not None else part.names[0] in JUDGED and SOUND in asked.findings
    for move in asked.of(part.names[0]):
        for change in move.changes:
            if change.kind == "needle" and move.line.better * (change.after - change.before) <= 0:
                where = move.line.where(change.i)
                yield Held(f"{move.line.said} spikes to {change.after:.4g} at {where}",
                           f"{move.line.said} 在 {where} 突刺到 {change.after:.4g}",
                           (move.line.evidence(change.i),), move.span(change), move, note=note)  # fmt: skip


def _nonfinite(part: Part, asked: Asked) -> Iterator[Held]:
    for move in asked.of(part.names[0]):
        if (first := move.nonfinite) is not None:
            at = float(first.step or 0)
            yield Held(f"{move.line.said} is no number at step {at:.0f}", f"{move.line.said} 在第 {at:.0f} 步不是数",
                       (first,), (at, at), move)  # fmt: skip


def _compared(part: Part, asked: Asked) -> Iterator[Held]:
    one, other = (asked.value(name) for name in part.names)
    if one is None or other is None:
        return
    mine, theirs = ({e.file for e in found[2] if e.file} for found in (one, other))
    if asked.related.experiments.apart(mine, theirs):
        return
    a, b = one[0], other[0]
    close = abs(a - b) <= NEAR * max(abs(a), abs(b))
    if {"above": a > b, "below": a < b, "near": close}[part.asks]:
        sign = {"above": ">", "below": "<", "near": "~"}[part.asks]
        said = f"{one[1]} {sign} {other[1]}"
        yield Held(said, said, (*one[2], *other[2]))


def _differs(part: Part, asked: Asked) -> Iterator[Held]:
    for c in asked.related.contrasts:
        # texts differ in how hard they are, of whatever variant: no loss of a training by its sources
        texts = part.names[0] == "loss" and c.variants and not c.alike
        if not texts and of_group(part, c.metric, c.key, c.by):
            groups = ", ".join(c.different[:4])
            yield Held(f"{c.key} differs by {c.by}: {c.theirs:.4g} on {groups}, {c.others:.4g} elsewhere",
                       f"{c.key} 随 {c.by} 不同：{groups} 为 {c.theirs:.4g}", c.evidence,
                       data={"names": f"{groups}: {c.key} {c.theirs:.4g}, elsewhere {c.others:.4g}",
                             "asks": [back(plain(c.key), c.theirs, c.others, groups)]})  # fmt: skip


def of_group(part: Part, metric: str, key: str, by: str) -> bool:
    named = part.names[0] == "any" or any(
        re.fullmatch(anything(part.names[0]), name) for k in (metric, key) for name in (plain(k), usual(plain(k)))
    )
    return named and (
        part.by == "any" or plain(part.by) in plain(by) or plain(part.by) in usual(plain(by)) or one_kind(part.by, by)
    )


def _parts(part: Part, asked: Asked) -> Iterator[Held]:
    for finding in asked.related.findings:
        metric = str(finding.data.get("metric", ""))
        if finding.code in ("group-parts", "group-worsens") and part.names[0] in ("any", metric):
            yield Held(finding.message.rstrip("."), finding.zh.rstrip("。"), finding.evidence)


def _event(part: Part, asked: Asked) -> Iterator[Held]:
    kind, *said = part.names
    for event in asked.related.events:
        if event.what == kind and all(word.lower() in event.text.lower() for word in said):
            at = _when(event)
            place = f"{event.file}:{event.line} {event.text[:120]}"
            yield Held(place, place, (Evidence(event.file, event.line, event.step, text=event.text),), at)


def _when(event: Event) -> Span | None:
    """The step of an event, else its time."""
    place = event.step if event.step is not None else event.at
    return None if place is None else (float(place), float(place))


def _set(part: Part, asked: Asked) -> Iterator[Held]:
    setting = asked.related.settings.get(part.names[0])
    if setting is None:
        return
    wanted = part.names[1].lower() if len(part.names) > 1 else None
    value = str(setting.value).lower()
    same = wanted is None or value == wanted or number(value) == number(wanted) is not None
    if same:
        said = f"{setting.file}:{setting.line} {setting.key} {setting.raw}"
        yield Held(said, said, (setting.evidence(),), standing=SET)


def _changed_setting(part: Part, asked: Asked) -> Iterator[Held]:
    for behind in (asked.findings[code] for code in AGAINST if code in asked.findings):
        if part.names[0] in behind.data["changed"]:
            yield Held(behind.message.rstrip("."), behind.zh.rstrip("。"), behind.evidence)
    for event in asked.related.events:
        if event.variable == part.names[0] and event.old and event.new:
            at = None if event.step is None else (float(event.step), float(event.step))
            said = f"{event.file}:{event.line} {event.variable} {event.old} -> {event.new}"
            yield Held(said, said, (Evidence(event.file, event.line, event.step, text=event.text),), at)


def _alone(part: Part, asked: Asked) -> Iterator[Held]:
    behind = asked.findings.get("behind-sibling")
    changed = dict(behind.data["changed"]) if behind is not None else {}
    if behind is None or [*changed] != [part.names[0]]:
        return
    if part.names[0] == "dataset" and behind.data["metric"] in ("loss", "reward"):
        return  # of other data, neither says which is the better run
    theirs, own = (number(str(value)) for value in changed[part.names[0]])
    way = "" if theirs is None or own is None else "higher" if own > theirs else "lower"
    if len(part.names) == 1 or way == part.names[1]:
        yield Held(behind.message.rstrip("."), behind.zh.rstrip("。"), behind.evidence)


def _absent(part: Part, asked: Asked) -> Iterator[Held]:
    if asked.related.moves and not asked.of(part.names[0]):
        yield Held(f"nothing measures {part.names[0]}", f"没有任何文件记录 {part.names[0]}")


def _found(part: Part, asked: Asked) -> Iterator[Held]:
    told = [asked.findings[name] for name in part.names if name in asked.findings]
    finding = min((f for f in told if f.severity != "S3" or "survived" not in f.data), key=grade, default=None)
    if finding is not None:
        step = next((e.step for e in finding.evidence if e.step is not None), None)
        at = None if step is None else (float(step), float(step))
        en, zh, note = finding.message.rstrip("."), finding.zh.rstrip("。"), finding.severity == Severity.S3
        data = {key: finding.data[key] for key in ("follows",) if key in finding.data}
        yield Held(en, zh, finding.evidence[:2], at, None, kind_of(finding), note, data)


def _shows(part: Part, asked: Asked) -> Iterator[Held]:
    code, *wanted = part.names
    for f in asked.related.findings:
        if f.code == code and {*wanted} <= about(f):
            told = {key: f.data[key] for key in ("names", "asks", PROPOSES) if key in f.data}
            yield Held(f.message.rstrip("."), f.zh.rstrip("。"), f.evidence, note="beside" in f.data, data=told)


ASKS: dict[str, Callable[[Part, Asked], Iterator[Held]]] = {
    "rises": lambda part, asked: _moving(part, asked, True),
    "falls": lambda part, asked: _moving(part, asked, False),
    "flat": _flat, "spikes": _spikes, "nonfinite": _nonfinite,
    "above": _compared, "below": _compared, "near": _compared, "differs": _differs, "parts": _parts,
    "event": _event, "set": _set, "changed": _changed_setting, "alone": _alone, "absent": _absent, "found": _found,
    "shows": _shows,
}  # fmt: skip

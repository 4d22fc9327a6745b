"""A loss that stands still far above that of a run like it, and what differs between the two.

The level itself says little (data and tokens decide it); beside a run of the same measure that goes on falling far
below it does. What differs are flags of the two commands, and measures that both log and that lie ten times apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import PurePosixPath

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...heads import beginning
from ...patterns import bounded
from ...run import Run
from ..kinds.names import demand
from ..line import Line, plain
from .clipped import is_rl
from .read import Course
from .told import BYTES

LEAST, ABOVE = 40, 1.25
"""Points of a loss, and times the other's level at the same step."""
NEAR, EARLY, FALLS = 0.03, 0.3, 0.1
"""Share of its end within which the loss lies from where it stands on, share of the common way before which that is (a
small model that learns comes so near its end late), and share that the other's loss falls from there on at least."""
APART, LATER = 10.0, 0.5
"""Times that a measure of both lies apart, over the later part of the common way."""
MOST_DIFFERENT = 4
KINDS = ("script", "document", "config", "log", "code")
FLAG = bounded(r"(?:^|\s)(--?[A-Za-z][\w.-]{1,40})(?:[= ]([^\s\\]{1,120}))?")
COMMAND = bounded(r"\b(?:python3?|torchrun|accelerate|deepspeed|srun|mpirun|bash|sh)\b|\.py\b")
TO_LOG = bounded(r"(?:\btee(?:\s-a)?|[^2]>{1,2})\s{0,3}([\w./-]{1,120})")
_RUN = bounded(r"[a-z]{1,24}\d{1,8}|\d{1,8}")
"""What tells one run from another in the names of its files."""
LEFT_OUT = bounded(
    r"(?i)^-{1,2}(?:out\w*|output\w*|save\w*|log\w*|name|run\w*|exp\w*|tag|seed|port|master\w*|rdzv\w*|node\w*|wandb\w*|project"
    r"|resume\w*|ckpt\w*|job\w*)$"
)
"""Flags that make no difference to what is learned."""
OF_DATA = bounded(r"(?i)^-{1,2}(?:\w+[-_])?(?:data|dataset|corpus|train)(?:[-_]\w+)?$")


@dataclass(frozen=True)
class Command:
    """What started a run: its flags, each with its value and line."""

    flags: dict[str, tuple[str, Evidence]]
    logs: str


def stands(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """The first course that stands far above another."""
    some = [c for c in found if c.loss is not None and c.loss.axis == "step" and len(c.loss) >= LEAST and not is_rl(c)]
    for one, other in permutations(some, 2):
        gap = _gap(one, other)
        if gap is not None:
            yield _told(one, other, gap, _flags(run, one, other), _measures(one, other))
            return


def _gap(one: Course, other: Course) -> tuple[int, float, float] | None:
    """(step, own level, level of the other) where the first stands and the second does not."""
    a, b = one.loss, other.loss
    if a is None or b is None or one.file == other.file or plain(a.key) != plain(b.key):
        return None
    end, begin = min(a.x[-1], b.x[-1]), max(a.x[0], b.x[0])
    mine, theirs = (x.values[(x.x >= end - 0.2 * (end - begin)) & (x.x <= end)] for x in (a, b))
    if end - begin < 0.3 * (a.x[-1] - a.x[0]) or min(len(mine), len(theirs)) < 3:
        return None
    level, better = float(np.median(mine)), float(np.median(theirs))
    if better <= 0 or level < ABOVE * better:
        return None
    since = _since(a)
    if since > begin + EARLY * (end - begin):
        return None
    before = float(np.interp(since, b.x, _middle(b)))
    return (int(end), level, better) if before - better >= FALLS * before else None


def _middle(line: Line) -> np.ndarray:
    """Running median, as long as the line."""
    width = max(5, len(line) // 50) | 1
    padded = np.pad(line.values, width // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def _since(line: Line) -> float:
    """The step from which on the loss lies as near its end as it ever comes, by its middle."""
    middle = _middle(line)
    last = float(np.median(line.values[-max(len(line) // 10, 3) :]))
    far = np.flatnonzero(np.abs(middle - last) > NEAR * abs(last))
    return float(line.x[min(int(far[-1]) + 1, len(line) - 1)]) if len(far) else float(line.x[0])


def _measures(one: Course, other: Course) -> list[tuple[Line, Line, float]]:
    """Measures of one name that lie far apart over the later part of the common way."""
    theirs = {plain(x.key): x for x in other.lines}
    out = []
    for line in one.lines:
        twin = theirs.get(plain(line.key))
        if twin is None or line in (one.loss, one.rate) or line.axis != twin.axis:
            continue
        begin, end = max(line.x[0], twin.x[0]), min(line.x[-1], twin.x[-1])
        begin = end - LATER * (end - begin)
        a, b = (x.values[(x.x >= begin) & (x.x <= end)] for x in (line, twin))
        own, low = (float(np.median(v)) if len(v) >= 5 else 0.0 for v in (a, b))
        if min(own, low) > 0 and not 1 / APART < own / low < APART:
            out.append((line, twin, own / low))
    return sorted(out, key=lambda m: -abs(np.log(m[2])))[:2]


def _flags(run: Run, one: Course, other: Course) -> list[tuple[str, str, str, Evidence]]:
    """(flag, own value, the other's value, place) of what the two commands set otherwise, data last."""
    commands = list(_commands(run))
    mine, theirs = (_of(c, commands) for c in (one, other))
    if mine is None or theirs is None or len(mine.flags.keys() & theirs.flags.keys()) < 2:
        return []
    out = []
    for flag in dict.fromkeys((*mine.flags, *theirs.flags)):
        (a, here), (b, there) = (c.flags.get(flag, ("", None)) for c in (mine, theirs))
        place = here or there
        if a != b and place is not None and not LEFT_OUT.search(flag):
            out.append((flag, a, b, place))
    out.sort(key=lambda d: bool(OF_DATA.search(d[0])))
    return out if len(out) <= MOST_DIFFERENT else []


def _commands(run: Run) -> Iterator[Command]:
    """The commands with flags that the small files and the beginnings of logs hold."""
    for artifact in [a for a in run.artifacts if a.kind in KINDS][:60]:
        lines = beginning(artifact.path, 4096 if artifact.kind == "log" else BYTES).splitlines()
        flags, whole = dict[str, tuple[str, Evidence]](), ""
        for n, line in enumerate(lines[:400], 1):
            if len(line) > 2000:
                continue
            if whole or (COMMAND.search(line) and " -" in line):
                whole += line
                place = Evidence(artifact.name, n, text=line.strip()[:300])
                flags |= {m[1]: (m[2] or "on", place) for m in FLAG.finditer(line)}
            if whole and not line.rstrip().endswith("\\"):
                to = TO_LOG.search(whole)
                logs = to[1] if to else ""
                if len(flags) >= 3:
                    yield Command(flags, logs or artifact.name)
                flags, whole = {}, ""


def _of(course: Course, commands: Sequence[Command]) -> Command | None:
    """The command that wrote this log: whose output it is, or that stands in it or in a file named like it alone."""
    name = PurePosixPath(course.file)
    own = [c for c in commands if PurePosixPath(c.logs).name == name.name or c.logs == course.file]
    if not own:
        words = set(_RUN.findall(name.stem.lower()))
        own = [c for c in commands if words & set(_RUN.findall(PurePosixPath(c.logs).stem.lower()))]
    return own[0] if own and all(c.flags.keys() == own[0].flags.keys() for c in own) else None


def _said(value: str) -> str:
    return value or "not set"


def _told(one: Course, other: Course, gap: tuple[int, float, float], flags: Sequence[tuple[str, str, str, Evidence]],
          measures: Sequence[tuple[Line, Line, float]]) -> Finding:  # fmt: skip
    step, level, better = gap
    a, b = one.loss, other.loss
    en = "".join(f"; {x.key} is {r:.3g} times that of the other" for x, _, r in measures)
    zh = "".join(f"；{x.key} 是另一次的 {r:.3g} 倍" for x, _, r in measures)
    names = ", ".join(f"{f} {_said(v)} (there: {_said(w)})" for f, v, w, _ in flags)
    en += f"; the commands differ in {names}" if flags else ""
    zh += f"；两条命令的差别：{names}" if flags else ""
    sure = any(not OF_DATA.search(f) for f, *_ in flags)
    since = int(_since(a)) if a is not None else 0
    places = [a.evidence(-1), a.evidence(int(np.searchsorted(a.x, since))), b.evidence(-1)] if a and b else []
    return Finding(
        "loss-stands-with-setting" if sure else "loss-stands-above-other", Severity.S2,
        f"The loss of {one.file} stands at {level:.4g} since step {since}, where that of {other.file} is {better:.4g} "
        f"at the same step {step}{en}.",
        f"{one.file} 的 loss 从第 {since} 步起停在 {level:.4g}，"
        f"而同一步（第 {step} 步）{other.file} 为 {better:.4g}{zh}。",
        (*places, *(e for *_, e in flags), *(x.evidence(-1) for m in measures for x in m[:2])),
        {"value": level, "other": better, "step": step, "names": names,
         "asks": [demand("loss", "at-most", (level + better) / 2, f"{better:.4g} of {other.file} at step {step}",
                         f"{other.file} 第 {step} 步为 {better:.4g}")]},
    )  # fmt: skip

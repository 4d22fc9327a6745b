"""Passes over the data that a log counts from zero again each time: one run, not a run for each.

A progress bar that starts anew with every epoch gives a series for each of them. Where all are as long as each other
and each goes on where the one before ended, they are put one after the other; restarts and sweeps are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...series import Series
from .detector import Track
from .robust import head_tail, noise

LEAST = 3
"""Passes that make a habit."""
ALIKE = 0.05
"""Share by which the lengths of the passes differ at most. Own judgement."""


def joined(tracks: Sequence[Track]) -> list[Track]:
    """The tracks, those of the passes of one run made into one."""
    groups: dict[tuple[str, str, int | None], list[Track]] = {}
    for track in tracks:
        groups.setdefault((track.file, track.attempt.partition("#")[0].strip(), track.rank), []).append(track)
    return [t for group in groups.values() for t in ([_one(group)] if _are_passes(group) else group)]


def _are_passes(group: Sequence[Track]) -> bool:
    losses = [t.points("loss", 10) for t in group]
    told = [s for s in losses if s is not None and s.step_is == "step"]
    if len(told) < max(LEAST, len(group) - 1):
        return False
    ends = np.array([int(s.steps[-1]) for s in told])
    usual = float(np.median(ends))
    whole, last = ends[:-1], ends[-1]
    if usual < 10 or (np.abs(whole - usual) > ALIKE * usual).any() or last > (1 + ALIKE) * usual:
        return False
    return all(s.steps[0] <= ALIKE * usual for s in told) and all(_goes_on(told))


def _goes_on(losses: Sequence[Series]) -> Iterator[bool]:
    """For each pass after the first, whether it begins nearer to the end of the last than to where the run began."""
    begun = head_tail(losses[0].values)[0]
    for before, after in pairwise(losses):
        start, end = head_tail(after.values)[0], head_tail(before.values)[1]
        yield abs(start - end) <= max(abs(start - begun), noise(before.values))


def _one(group: Sequence[Track]) -> Track:
    """One track of all passes; what is numbered by epochs is kept as it is."""
    parts: dict[tuple[str, str, str], list[Series]] = {}
    offset = 0
    for track in group:
        counted = [s for s in track.series if s.step_is == "step"]
        for s in track.series:
            moved = replace(s, steps=s.steps + offset, step_is="cumulative") if s in counted else s
            parts.setdefault((s.metric, s.key, s.step_is), []).append(moved)
        offset += max((int(s.steps[-1]) for s in counted), default=0) + 1
    return replace(group[0], series=tuple(_chain(found) for found in parts.values()))


def _chain(parts: Sequence[Series]) -> Series:
    steps, values, lines = (np.concatenate([getattr(s, name) for s in parts]) for name in ("steps", "values", "lines"))
    return replace(parts[0], steps=steps, values=values, lines=lines)

"""What of a path is one training: copies of it, its restarts, and other runs beside it.

Told by the measures themselves: the same values at the same steps are one training printed twice, steps that go on are
its next attempt, other values at the same steps are another run. A folder without a series of its own (a server's log,
an evaluation) belongs to what lies beside it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..run import Artifact, Run, Skipped, natural
from ..series import Series, SeriesTable
from ..vocabulary import COUNTS, VOCABULARY
from .side_by_side import side_by_side

TRAINING = ("loss", "policy_loss", "reward", "grad_norm", "learning_rate", "train_loss_mean")
"""Metrics by which trainings are compared, the one to prefer first."""
POINTS = 5
"""Shared steps from which on two series can be compared."""
SAME = 0.95
"""Share of them that must agree for one training; logs round."""
LONGER = 1.1
"""How many times as long a copy must be to be used instead of the first."""
ROUNDING = 5e-3
"""Relative difference that rounding makes: HF prints four digits, Megatron seven."""
REFERENCE = frozenset(
    (
        "old",
        "new",
        "before",
        "after",
        "good",
        "bad",
        "base",
        "baseline",
        "ref",
        "reference",
        "prev",
        "previous",
        "last",
        "first",
    )
)
"""Words by which people tell runs apart in a sentence about either; they name none of them."""
_NUMBERED = re.compile(
    r"^(?:.*[-_.])?(?:attempts?|restart|resumed?|retry|tries|try|part|continued?)[-_.]?\d*$", re.IGNORECASE
)
"""Names of folders that are attempts of one run, whatever is in them."""


def trainings(run: Run, table: SeriesTable) -> list[Run]:
    """The run as one run for each training in it: copies left out, attempts together.

    Args:
        run: what was discovered under one path or several.
        table: its series.
    """
    run = side_by_side(run, table)
    placed = {a.name: a.attempt for a in run.artifacts}
    table = SeriesTable(tuple(replace(s, attempt=_at(s, placed)) for s in table))
    homes = sorted({a.attempt for a in run.artifacts}, key=natural)
    owned_by = {home: [s for s in table if s.attempt.partition("#")[0] == home] for home in homes}
    measured = {home: found for home, series in owned_by.items() if (found := _measures(series))}
    copies, groups = _whole_of(measured), list[list[str]]()
    for home in (home for home in measured if home not in copies):
        group = next((g for g in groups if any(_next(h, home, measured) for h in g)), None)
        groups.append([home]) if group is None else group.append(home)
    if len(groups) < 2:
        return [_without_copies(run, copies)]
    owned = {home for group in groups for home in group} | set(copies)
    return [_part(_without_copies(run, copies), group, owned) for group in groups]


def _at(series: Series, placed: Mapping[str, str]) -> str:
    """The attempt of a series by the file it stands in."""
    home, sign, nth = series.attempt.partition("#")
    return placed.get(series.file, home) + sign + nth


def _whole_of(measured: Mapping[str, Mapping[str, list[Series]]]) -> dict[str, str]:
    """Copy -> what it is a copy of: the first, or one that goes on for longer."""
    alike: list[list[str]] = []
    for home, found in measured.items():
        beside = next((c for c in alike if any(_copies(measured[h], found) for h in c)), None)
        alike.append([home]) if beside is None else beside.append(home)
    length = {home: max(len(s) for series in found.values() for s in series) for home, found in measured.items()}
    out: dict[str, str] = {}
    for first, *rest in alike:
        longest = max((first, *rest), key=lambda h: length[h])
        whole = longest if length[longest] > LONGER * length[first] else first
        out |= {home: whole for home in (first, *rest) if home != whole}
    return out


def same(a: SeriesTable, b: SeriesTable) -> bool:
    """Whether two tables hold one training, wherever they were read."""
    return _copies(_measures(a), _measures(b))


def joined(table: SeriesTable, more: Iterable[Series]) -> SeriesTable:
    """The table with what tables and trackers hold of known metrics; of a measure written twice the longer is used.

    A curve for each source, task or layer is none of the training as a whole.
    """
    kept = list(table)
    known = dict[tuple[str, str], list[Series]]()
    for s in kept:
        known.setdefault((s.metric, s.attempt.partition("#")[0]), []).append(s)
    for s in map(_ordered, more):
        if s.metric not in VOCABULARY or s.metric in COUNTS or not len(s) or (s.group and s.rank is None):
            continue
        beside = known.setdefault((s.metric, s.attempt.partition("#")[0]), [])
        twice = [t for t in beside if (t.rank is None or s.rank is None or t.rank == s.rank) and _twice(t, s)]
        if not any(len(t) >= len(s) for t in twice):
            beside[:] = [t for t in beside if all(t is not u for u in twice)] + [s]
            kept = [t for t in kept if all(t is not u for u in twice)] + [s]
    return SeriesTable(tuple(kept))


def _ordered(s: Series) -> Series:
    if len(s) < 2 or (np.diff(s.steps) >= 0).all():
        return s
    order = np.argsort(s.steps, kind="stable")
    return replace(s, steps=s.steps[order], values=s.values[order], lines=s.lines[order])


def _twice(a: Series, b: Series) -> bool:
    """Whether two files hold one measure: the same values at the same steps, or one after the other where a log does
    not number its steps."""
    if "line" in (a.step_is, b.step_is) and len(a) == len(b) > 1:
        return bool(_near(a.values, b.values).mean() >= SAME)
    shared, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    least = min(len(a), len(b))
    if not least or len(shared) < 0.5 * least or (least > 1 and len(shared) < 2):
        return False
    return bool(_near(a.values[i], b.values[j]).mean() >= SAME)


def _near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.isclose(x, y, rtol=ROUNDING, atol=1e-4, equal_nan=True)


def _measures(table: Iterable[Series]) -> Mapping[str, list[Series]]:
    """Metric -> its series that are long enough to be compared."""
    out: dict[str, list[Series]] = {}
    for s in table:
        if s.metric in TRAINING and len(s) >= POINTS:
            out.setdefault(s.metric, []).append(s)
    return out


def _copies(a: Mapping[str, list[Series]], b: Mapping[str, list[Series]]) -> bool:
    """Whether two folders hold one training: the same values at the same steps."""
    return any(
        _agree(x, y) for metric in TRAINING[:4] if metric in a and metric in b for x in a[metric] for y in b[metric]
    )


def _agree(a: Series, b: Series) -> bool:
    steps, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    if len(steps) < POINTS or len(steps) < 0.5 * min(len(a), len(b)):
        return False
    x, y = a.values[i], b.values[j]
    return bool(_near(x, y).mean() >= SAME and (len(np.unique(x)) > 2 or np.isnan(x).all()))


def _next(a: str, b: str, measured: Mapping[str, Mapping[str, list[Series]]]) -> bool:
    """Whether the second folder is another attempt at the first one's run: by its name, or because its steps go on."""
    parents = {name.rpartition("/")[0] for name in (a, b)}
    if len(parents) == 1 and all(_NUMBERED.match(name.rpartition("/")[2]) or not name for name in (a, b)):
        return True
    common = next((m for m in TRAINING if m in measured[a] and m in measured[b]), None)
    if common is None:
        return True
    first, second = _span(measured[a][common]), _span(measured[b][common])
    (low, high), (begin, end) = min(first, second), max(first, second)
    return begin > low + 0.1 * (high - low) and end > high


def _span(series: list[Series]) -> tuple[int, int]:
    return min(int(s.steps.min()) for s in series), max(int(s.steps.max()) for s in series)


def _without_copies(run: Run, copies: Mapping[str, str]) -> Run:
    """A copy's measures are read once; its other files stay."""

    def again(a: Artifact) -> bool:
        return a.attempt in copies and a.kind in ("log", "metrics", "tracker")

    told = tuple(
        Skipped(a.name, f"the same training as {copies[a.attempt] or 'the folder above it'}: counted once", False)
        for a in run.artifacts
        if again(a) and _repeats(a, run, copies)
    )
    kept = (a for a in run.artifacts if a.name not in {s.name for s in told})
    placed = tuple(replace(a, attempt=copies.get(a.attempt, a.attempt)) for a in kept)
    return replace(run, artifacts=placed, unknown=(*run.unknown, *told))


def _repeats(a: Artifact, run: Run, copies: Mapping[str, str]) -> bool:
    """Whether the original has a file of this kind too; where it has not, this one is its other half."""
    return any(b.kind == a.kind and b.attempt == copies[a.attempt] for b in run.artifacts)


def _part(run: Run, group: list[str], owned: set[str]) -> Run:
    """One training of several, with what belongs to no other."""
    kept = tuple(a for a in run.artifacts if a.attempt in group or _shared(a, owned))
    return replace(run, artifacts=kept, home=min(group, key=natural))


def _shared(a: Artifact, owned: set[str]) -> bool:
    return a.attempt not in owned


def name_of(run: Run) -> str:
    """What tells a training from the others under the same path."""
    homes = sorted({a.attempt for a in run.of("log", "metrics", "tracker")}, key=natural)
    return run.home if run.home in homes else homes[0] if homes else ""


def named_in(words: str, runs: list[Run]) -> Iterator[Run]:
    """The runs whose folder the words name, however they part its words, in the order in which they are named; where
    they name none whole, the one run of whose folder they say all that tells it from the others: CNN of `cnn_model`."""
    said = words.lower()
    spots: list[tuple[int, Run]] = []
    last = [(run, name_of(run).rpartition("/")[2].lower()) for run in runs]
    for run, name in last:
        if len(name) > 2 and name not in REFERENCE:
            parts = r"[\s_.-]?".join(map(re.escape, re.split(r"[\s_.-]+", name)))
            spots += [(m.start(), run) for m in re.finditer(rf"(?<![\w-]){parts}(?![\w-])", said)][:1]
    if not spots:
        parted = [(run, {*re.findall(r"[a-z0-9]+", name)}) for run, name in last]
        common = Counter(part for _, parts in parted for part in parts)
        own = [(run, {p for p in parts if common[p] == 1}) for run, parts in parted]
        spoken = {*re.findall(r"[a-z0-9]+", said)}
        told = [run for run, parts in own if parts <= spoken - REFERENCE and max(map(len, parts), default=0) > 2]
        spots = [(0, run) for run in told[:1] if len(told) == 1]
    yield from (run for _, run in sorted(spots, key=lambda spot: spot[0]))

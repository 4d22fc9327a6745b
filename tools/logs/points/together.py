"""Speed: metric lines of one shape are read together, a column at a time, where each would give the same record.

The first line of a shape is read by `parse`; what of it is the step, and what each value, holds for all its lines if
they differ in nothing else. What does not fit is read line by line. The points are the same either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...patterns import bounded
from ...reading import split_prefix, unwrapped
from .cells import cells_of
from .format import Format, Record
from .formats import FORMATS
from .grammar import Span, number, scale_of
from .parse import parse, progress, wrapped
from .points import Store
from .shapes import BAR, NOISE, TOKEN, Group, Seen
from .stream import Keyed, Stream

LONGEST_CELL = 24
"""Most letters of a number that is read together with others."""
EXACT = float(1 << 53)
"""Whole numbers below it are exact."""
FEW = 8
"""Lines between two others up to which they cost less one by one than as columns."""
_FORMS = {form.name: form for form in FORMATS}
ONLY_BAR = bounded(
    r"\s*(?:train\w*:?\s*)?\d{1,3}%\|[^|\n]{0,400}\|\s*\d{1,15}/\d{1,15}\s*"
    r"\[[\d:]+<[\d:?]+,\s*[\d.?]+(?:s/it|it/s)\]\s*"
)
"""A bar without a postfix."""
_SPEED = bounded(r"%\|\|\s*\d{1,15}/\d{1,15}\s*\[[\d:]+<[\d:?]+,\s*[\d.?]+(?:s/it|it/s)")
"""What a bar says of itself; it is no part of a key."""
_DIGIT = re.compile(rb"\d")
_APART = re.compile(r"[^A-Za-z_]|\Z")


@dataclass(frozen=True)
class Plan:
    """What the numbers of a shape are."""

    record: Record
    """Of its first line."""
    values: tuple[tuple[str, int, float], ...]
    """Key, which number (those of `fixed` stand behind the others), unit."""
    step: int | None
    epoch: int | None
    rank: int | None
    """Which number each is; None for what is not said, or is the same in every line."""
    same: tuple[tuple[int, bytes], ...]
    """Cells that must be as in the first line: digits inside words, and what is no number."""
    fixed: tuple[float, ...] = ()
    """Values without digits (`'nan'`) that are no number of the shape: they are the same in all its lines."""
    bar: int | None = None
    """Of lines that are a progress bar of the training, too: which number is the count, its total behind it."""


@dataclass(frozen=True)
class Rows:
    """The lines of one plan in one chunk."""

    plan: Plan
    at: np.ndarray
    lines: np.ndarray
    columns: list[np.ndarray]

    def part(self, low: int, high: int) -> Rows | None:
        """Those between two lines of the chunk."""
        a, b = self.at.searchsorted((low, high)).tolist()
        return Rows(self.plan, self.at[a:b], self.lines[a:b], [c[a:b] for c in self.columns]) if b > a else None


@dataclass(frozen=True)
class Bars:
    """Lines of a chunk that are the progress bar of the training, whatever else they say."""

    at: np.ndarray
    done: np.ndarray

    def part(self, low: int, high: int) -> Bars:
        """Those between two lines of the chunk."""
        a, b = self.at.searchsorted((low, high)).tolist()
        return Bars(self.at[a:b], self.done[a:b])


class Together:
    """What is known of the shapes of one file."""

    def __init__(self) -> None:
        self.plans: dict[bytes, Plan | None] = {}
        self.counts: dict[bytes, int | None] = {}
        """Of shapes that are bars and nothing else: which number is the count."""

    def bars(self, seen: Seen, rows: Sequence[Rows]) -> Bars:
        """The bars of a chunk, those in lines that say more among them."""
        found = [(one.at, one.columns[one.plan.bar]) for one in rows if one.plan.bar is not None]
        for key, group in seen.groups.items() if rows else ():
            if b"%|" not in key:
                continue
            if key not in self.counts:
                self.counts[key] = _count(seen.lines[group.at[0]], group)
            j = self.counts[key]
            if j is not None and _is_bar(group, j):
                found.append((group.at, group.columns[j]))
        where = np.concatenate([np.empty(0, np.int64), *(at for at, _ in found)])
        done = np.concatenate([np.empty(0), *(done for _, done in found)]).astype(np.int64)
        order = np.argsort(where)
        return Bars(where[order], done[order])

    def rows(self, seen: Seen) -> list[Rows]:
        """The lines of a chunk that can be read together."""
        found: list[Rows] = []
        for key, group in seen.groups.items():
            if key not in self.plans:
                tried = (_plan(seen.lines[group.at[i]], group) for i in (0, len(group.at) // 2, -1))
                self.plans[key] = next(filter(None, tried), None)
            plan = self.plans[key]
            if plan is not None and _fits(plan, group):
                columns = [*group.columns, *(np.full(len(group.at), value) for value in plan.fixed)]
                found.append(Rows(plan, group.at, seen.numbers[group.at], columns))
        return found


def _fits(plan: Plan, group: Group) -> bool:
    """Whether the lines of a group differ from the first in nothing but their numbers."""
    if not all(part.always(cell, text) for part in group.cells for cell, text in plan.same):
        return False
    read = {group.shape.cells[j] for _, j, _ in plan.values if j < len(group.columns)}
    if any(part.longest(cell) > LONGEST_CELL for part in group.cells for cell in read):
        return False
    for j in (j for j in (plan.step, plan.rank) if j is not None):
        dotted = any(part.dotted(group.shape.cells[j]) for part in group.cells)
        if dotted or not (np.abs(group.columns[j]) < EXACT).all():
            return False
    if plan.bar is not None and not _is_bar(group, plan.bar):
        return False
    if plan.epoch is not None and not np.isfinite(group.columns[plan.epoch]).all():
        return False
    return plan.rank is None or bool((group.columns[plan.rank] < 1e5).all())


def _is_bar(group: Group, j: int) -> bool:
    """Whether a number and the one behind it are count and total of a bar in all lines of a group."""
    whole = not any(part.dotted(group.shape.cells[i]) for part in group.cells for i in (j, j + 1))
    return whole and bool((group.columns[j + 1] > 1).all() and (group.columns[j] < EXACT).all())


def _plan(line: bytes, group: Group) -> Plan | None:
    """What the lines of a shape say; None where that is not told by their numbers alone."""
    try:
        drawn = line.decode("utf-8")
    except UnicodeDecodeError:
        return None
    line = BAR.sub(b"%||", line) if b"%|" in line else line
    text = line.decode("utf-8")
    prefix_rank, rest = split_prefix(text)
    if unwrapped(text) != [text] or wrapped(rest) or not (record := parse(rest)):
        return None
    bar = _bar_of(group) if progress(rest) else None
    if text != drawn and (_said(split_prefix(drawn)[1]) != _said(rest) or (progress(rest) and bar is None)):
        return None
    form = _FORMS[record.format]
    if form.step_from == "last" or not record.places or (record.step is not None and record.at is None):
        return None
    cut = len(text) - len(rest)
    places = _places(text)
    if [*places.values()] != [*range(len(group.shape.spans))]:
        return None
    fixed: list[float] = []
    values = [*_values(record, cut, places, text, fixed)]
    step = _found(record.at, cut, places)
    epoch = None if record.epoch is None or record.epoch_at is None else _found(record.epoch_at, cut, places)
    rank_at = (
        _rank_at(text[:cut], prefix_rank) if prefix_rank is not None else record.rank_at and _moved(record.rank_at, cut)
    )
    rank = places.get(rank_at) if rank_at else None
    missing = (record.at and step is None) or (record.epoch is not None and epoch is None)
    if missing or len(values) != len(record.values) or ((prefix_rank, record.rank) != (None, None) and rank is None):
        return None
    used = {j for _, j, _ in values} | {j for j in (step, epoch, rank) if j is not None}
    same = _same(line, group, {j for j in used if j < len(places)}, form, cut)
    return Plan(record, tuple(values), step, epoch, rank, tuple(same), tuple(fixed), bar)


def _count(line: bytes, group: Group) -> int | None:
    """Which number of a bar is the count, the total behind it; None for a line that says more, or of another bar."""
    text = line.decode("utf-8", "replace")
    if split_prefix(text)[1] != text or wrapped(text) or parse(text) or not progress(text):
        return None
    return _bar_of(group) if ONLY_BAR.fullmatch(text) else None


def _bar_of(group: Group) -> int | None:
    """Which number of a shape is the count behind its bar."""
    j = next((j for j, (a, _) in enumerate(group.shape.spans) if group.shape.text[:a].endswith("%|| ")), None)
    return j if j is not None and j + 1 < len(group.columns) else None


def _said(text: str) -> tuple[str, tuple[int, int] | None]:
    """What a line says, wherever it stands in it."""
    record = parse(text)
    return repr(record and replace(record, at=None, places=(), epoch_at=None, rank_at=None)), progress(text)


def _places(text: str) -> dict[Span, int]:
    """Which number of the shape stands where."""
    return {m.span(): i for i, m in enumerate(m for m in TOKEN.finditer(text) if not NOISE.match(m[0]))}


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _found(span: Span | None, cut: int, places: dict[Span, int]) -> int | None:
    return None if span is None else places.get(_moved(span, cut))


def _values(
    record: Record, cut: int, places: dict[Span, int], text: str, fixed: list[float]
) -> Iterator[tuple[str, int, float]]:
    """Key, number and unit of each value that is a number of the shape, and whose unit shows; `fixed` takes the others
    that can never be another."""
    for (key, value), span in zip(record.values, record.places, strict=True):
        at = _moved(span, cut)
        j, scale = places.get(at), scale_of(number(text[at[0] : at[1]]), value, text[at[1] :])
        if j is None and not np.isfinite(value):
            j, scale = len(places) + len(fixed), 1.0
            fixed.append(value)
        if j is None or scale is None:
            return
        yield key, j, scale


def _rank_at(prefix: str, rank: int) -> Span | None:
    """Where the rank stands in a prefix, if nothing else in it looks the same."""
    found = [m.span() for m in re.finditer(r"\d+", prefix) if int(m[0]) == rank]
    return found[0] if len(found) == 1 else None


def _same(line: bytes, group: Group, used: set[int], form: Format, cut: int) -> Iterator[tuple[int, bytes]]:
    """The cells that may not change: digits of words, and of keys where those are kept whatever they are."""
    text = line.decode("utf-8")
    apart = (m for m in TOKEN.finditer(text) if _APART.match(text, m.end()))
    spans = [m.span() for m in apart if m.start() < cut or not form.keeps_unknown]
    spans += [m.span() for m in _SPEED.finditer(text)]
    free = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in spans]
    wanted = {group.shape.cells[j] for j in used}
    for i, match in enumerate(cells_of(line, group.shape.words)):
        inside = any(a <= match.start() and match.end() <= b for a, b in free)
        if i not in wanted and not (inside and _DIGIT.search(match[0])):
            yield i, match[0]


_Last = tuple[tuple[int, str] | None, int | None]


def keep(store: Store, rows: Sequence[Rows], bars: Bars, bar: int | None) -> _Last:
    """Put lines into the store, in their order.

    Args:
        store: where to.
        rows: the lines of each plan.
        bars: the progress bars between them.
        bar: what a progress bar said before them, if it moved.

    Returns:
        The last step and what counted it, None where none was said; what a bar said since the last record.
    """
    if len(bars.at) + sum(len(one.at) for one in rows) <= FEW:
        return _by_line(store, rows, bars, bar)
    last: tuple[int, int, str] | None = None  # where, step, counter
    streams: dict[tuple[str, int | None], _Parts] = {}
    for one in rows:
        name = f"{one.plan.record.format}:{one.plan.record.counter}"
        ranks = one.columns[one.plan.rank].astype(np.int64) if one.plan.rank is not None else None
        for rank in [None] if ranks is None else np.unique(ranks).tolist():
            chosen = np.arange(len(one.at)) if ranks is None else np.flatnonzero(ranks == rank)
            streams.setdefault((name, rank), []).append((one, chosen))
    in_order = sorted(streams.items(), key=lambda item: min(int(one.at[chosen[0]]) for one, chosen in item[1]))
    counted: list[tuple[str, int | None, _Parts]] = []
    for (name, rank), parts in in_order:
        parts.sort(key=lambda part: int(part[0].at[part[1][0]]))
        record = parts[0][0].plan.record
        if record.step is None:
            store.stepless(name, rank)
            counted.append((name, rank, parts))
            continue
        stream = store.stream(name, rank)
        if record.counter == "epoch":
            stream.step_is = "epoch"
        at = _numbered(store, stream, parts)
        if stream.last_step is not None and (last is None or at > last[0]):
            last = at, stream.last_step, record.counter
    return last and last[1:], _unnumbered(store, counted, bars, bar)


_Parts = list[tuple[Rows, np.ndarray]]


def _numbered(store: Store, stream: Stream, parts: _Parts) -> int:
    """Lines with steps; which of the chunk is the last."""
    lines, order = _in_order(parts)
    steps = np.concatenate([one.columns[one.plan.step or 0][chosen] for one, chosen in parts]).astype(np.int64)
    epochs = np.concatenate([_epochs(one, chosen) for one, chosen in parts])[order]
    keyed: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    rank_of = np.empty(len(order), dtype=np.int64)
    rank_of[order] = np.arange(len(order))
    begin = 0
    for one, chosen in parts:
        where = rank_of[begin : begin + len(chosen)]
        begin += len(chosen)
        for key, j, scale in one.plan.values:
            keyed.setdefault(key, []).append((where, one.columns[j][chosen] * scale))
    store.records(stream, steps[order], lines, epochs, [_keyed(key, found) for key, found in keyed.items()])
    return max(int(one.at[chosen[-1]]) for one, chosen in parts)


def _in_order(parts: _Parts) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of lines as they stand in the chunk, and which of the parts one behind the other each is."""
    order = np.argsort(np.concatenate([one.at[chosen] for one, chosen in parts]), kind="stable")
    return np.concatenate([one.lines[chosen] for one, chosen in parts])[order], order


def _epochs(one: Rows, chosen: np.ndarray) -> np.ndarray:
    """The epochs by which a step that falls is counted on, nan where there is none."""
    return one.columns[one.plan.epoch or 0][chosen] if _goes_on(one.plan) else np.full(len(chosen), np.nan)


def _goes_on(plan: Plan) -> bool:
    """Whether a step that falls is counted on by the epoch."""
    return plan.epoch is not None and not plan.record.counts_alone and plan.record.counter != "epoch"


def _keyed(key: str, found: list[tuple[np.ndarray, np.ndarray]]) -> Keyed:
    where = np.concatenate([w for w, _ in found])
    values = np.concatenate([v for _, v in found])
    order = np.argsort(where, kind="stable")
    return Keyed(key, where[order], values[order])


def _unnumbered(store: Store, streams: list[tuple[str, int | None, _Parts]], bars: Bars, bar: int | None) -> int | None:
    """Lines without steps, in their order, and the bars between them: together where all have the same keys."""
    if not streams and len(bars.done):
        store.bar_after(int(bars.done[0]))
        return int(bars.done[-1])
    keys = {tuple(key for key, *_ in one.plan.values) for *_, parts in streams for one, _ in parts}
    if len(streams) != 1 or len(keys) != 1:
        stepless = [*{id(one): one for *_, parts in streams for one, _ in parts}.values()]
        return _by_line(store, stepless, bars, bar)[1]
    name, rank, parts = streams[0]
    lines, order = _in_order(parts)
    values = [
        np.concatenate([one.columns[one.plan.values[i][1]][chosen] * one.plan.values[i][2] for one, chosen in parts])
        for i in range(len(parts[0][0].plan.values))
    ]
    where = np.concatenate([one.at[chosen] for one, chosen in parts])[order]
    at = np.concatenate(([0], np.searchsorted(bars.at, where, side="right"), [len(bars.at)]))
    some = at[1:] > at[:-1]
    done = np.append(bars.done, -1)
    before = np.where(some[:-1], done[at[1:-1] - 1], -1)
    after = np.where(some[1:], done[np.minimum(at[1:-1], len(done) - 1)], -1)
    if some[0]:
        store.bar_after(int(bars.done[0]))
    elif bar is not None:
        before[0] = bar
    columns = [(key, v[order]) for (key, *_), v in zip(parts[0][0].plan.values, values, strict=True)]
    store.unnumbered_many(name, rank, columns, lines, before, after)
    return int(bars.done[-1]) if some[-1] else None


def _by_line(store: Store, rows: Sequence[Rows], bars: Bars, bar: int | None) -> _Last:
    """As `keep`, one line after the other; a bar stands before what its line says besides."""
    drawn = ((at, done, None) for at, done in zip(bars.at.tolist(), bars.done.tolist(), strict=True))
    events = [*drawn, *((at, i, one) for one in rows for i, at in enumerate(one.at.tolist()))]
    last = None
    for _, i, one in sorted(events, key=lambda event: event[0]):
        if one is None:
            store.bar_after(bar := i)
            continue
        plan, record, line = one.plan, one.plan.record, int(one.lines[i])
        name = f"{record.format}:{record.counter}"
        rank = None if plan.rank is None else int(one.columns[plan.rank][i])
        values = [(key, float(one.columns[j][i]) * scale, line) for key, j, scale in plan.values]
        if record.step is None:
            store.unnumbered(name, rank, values, bar)
            bar = None
            continue
        stream = store.stream(name, rank)
        if record.counter == "epoch":
            stream.step_is = "epoch"
        epoch = float(one.columns[plan.epoch or 0][i]) if _goes_on(plan) else None
        store.record(stream, int(one.columns[plan.step or 0][i]), values, epoch)
        last = stream.last_step or 0, record.counter
    return last, bar

"""What each column of a table is for, from its name, its values, and the columns beside it.

Names are `tools.tables.vocabulary` (over the one vocabulary of metrics), values `cells` and `values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics import canonical
from ..patterns import bounded
from ..vocabulary import UNITS, VOCABULARY
from . import vocabulary as words
from .cells import SIZES, Cells, Marks, marks, understand
from .raw import Raw, words_of
from .records import KEY
from .table import Column, Role, Table
from .times import EPOCH, times
from .values import AXIS_KINDS, identifying, kind_of, numbered, status_words

RISING = 0.8
"""Part of the differences that may not be negative on the way of a run; restarts and ranks go back now and then."""
LABEL = 60
"""Characters of a label; what is longer is text."""
_OF_TOTAL = bounded(r"^\D{0,14}(\d{1,12})(?:\s?/\s?\d{1,12})?$")
_ELAPSED = frozenset(("elapsed", "duration", "runtime", "took", "耗时", "用时"))
_TRAINING = frozenset(("step", "epoch", "tokens", "samples"))
_VAGUE = words_of(
    "score return time seconds duration memory mem norm dt throughput reward rewards scores results "
    "max_length mean_length"
)
"""Names that are a metric of training only beside a step."""


@dataclass
class _Draft:
    """A column on its way."""

    name: str
    cells: Cells
    unit: str
    role: Role = "text"
    of: str = ""
    values: np.ndarray | None = None

    @property
    def numeric(self) -> bool:
        return self.cells.numbers is not None and self.cells.what != "empty"

    @property
    def numbers(self) -> np.ndarray:
        found = self.cells.numbers
        return found if found is not None else np.empty(0)

    def be(self, role: Role, of: str = "", values: np.ndarray | None = None) -> None:
        self.role, self.of, self.values = role, of, values


def with_roles(raw: Raw, file: str) -> Table:
    """The table with what each of its columns is for."""
    how = marks(raw.columns[:200])
    drafts = [_draft(raw, i, how) for i in range(len(raw.names))]
    headless = all(name.isdecimal() for name in raw.names)
    for draft in drafts:
        _by_name(draft, raw, headless)
    _by_neighbours(drafts, headless)
    _metrics(drafts)
    columns = tuple(_column(d, raw.columns[i]) for i, d in enumerate(drafts))
    return Table(file, raw.part, columns, np.asarray(raw.lines, np.int64), raw.cut)


def _draft(raw: Raw, i: int, how: Marks) -> _Draft:
    cells = understand(raw.columns[i], how)
    under = raw.units[i] if i < len(raw.units) else ""
    return _Draft(raw.names[i], cells, cells.unit or words.name_of(raw.names[i]).unit or under)


def _by_name(draft: _Draft, raw: Raw, headless: bool) -> None:
    """A first role, from the name and its own values."""
    name = draft.name
    if name == KEY:
        name = raw.part.rsplit(".", 1)[-1].removesuffix("s")
    what = draft.cells.what
    if what == "time" or (what == "number" and not words.measured(name) and _since_epoch(draft, headless)):
        draft.be("axis", "time", draft.values)
    elif what == "empty":
        draft.be("measure" if words.metric_of(name) else "text", words.group_of(name) or name)
    elif what in ("clock", "span"):
        _of_spans(draft, name)
    elif what == "number":
        _of_numbers(draft, name, headless)
    else:
        _of_texts(draft, name, what == "flag")


def _of_spans(draft: _Draft, name: str) -> None:
    """Clocks go on; spans are measured, but for those since the start."""
    lasting = words.MEASURED.isdisjoint(words.name_of(name).words) and words.axis_of(name) == "time"
    if words.listed(name, words.TEXTS):
        draft.be("text", name)
        draft.cells = Cells("text", None, None)
    elif draft.cells.what == "clock" and rising(draft.numbers) and not _ELAPSED.intersection(words.name_of(name).words):
        draft.be("axis", "time")
    else:
        draft.be("measure", "time" if lasting else name)


def _since_epoch(draft: _Draft, headless: bool) -> bool:
    """Whether numbers are seconds (or their parts) since 1970; they are made seconds."""
    numbers = draft.numbers[np.isfinite(draft.numbers)]
    timed = words.axis_of(draft.name) == "time"
    if not len(numbers) or not (timed or (headless and rising(numbers))):
        return False
    for _, low, high, scale in EPOCH:
        if low <= numbers.min() and numbers.max() <= high and (timed or numbers.min() > low * 10):
            draft.values, draft.unit = draft.numbers * scale, "s"
            if scale == 1.0 and timed and numbers.max() < 2.1e7:
                break
            return True
    days = (
        times([str(int(n)) for n in numbers[:1000]])
        if timed and 1.9e7 < numbers.min() <= numbers.max() < 2.1e7
        else None
    )
    if days is not None and len(days) == len(draft.numbers):
        draft.values = days
        return True
    draft.values = None
    return False


def _of_numbers(draft: _Draft, name: str, headless: bool) -> None:
    axis, group, numbers = words.axis_of(name), words.group_of(name), draft.numbers
    hit = words.metric_of(name)
    whole = is_whole(numbers)
    if hit and axis not in _TRAINING and not (axis in ("length", "load") or (group and whole)):
        draft.be("measure", "time" if axis == "time" else name)
    elif _identifies(name, group) and whole:
        draft.be("identifier", name)
    elif axis in ("step", "epoch", "checkpoint") and (whole or axis == "epoch") and not _is_count(name):
        draft.be("axis", axis)
    elif axis:
        draft.be("measure", axis)  # until the columns beside it are known
    elif group and whole and (few(numbers) or group in ("rank", "gpu", "expert", "shard", "host", "variant")):
        draft.be("group", group)
    elif words.listed(name, words.TEXTS) and whole and not words.measured(name):
        draft.be("text", name)
    else:
        draft.be("measure", name)


def _identifies(name: str, group: str) -> bool:
    """Whether the name is one of an identifier, and not of a group that is numbered (`expert_id`)."""
    return words.name_of(name).plain in words.IDENTIFIERS or (not group and words.listed(name, words.IDENTIFIERS))


def _addresses(name: str, filled: Sequence[str]) -> bool:
    """Whether values of their own each, numbered, stand under a name that may also be one of a group."""
    return (
        words.name_of(name).plain in words.ADDRESSES
        and sum(any(map(str.isdigit, t)) for t in filled) * 10 >= len(filled) * 7
    )


def _is_count(name: str) -> bool:
    """`num_epochs`, `max_steps`, `total_iters`: how many there are, and not where a row stands."""
    plain, parts = words.name_of(name).plain, words.name_of(name).words
    limits = ("max", "min", "num", "total", "n", "warmup", "save", "eval", "logging")
    return len(parts) > 1 and parts[0] in limits and words.step_key(plain) is None and plain not in words.AXES["step"]


def _of_texts(draft: _Draft, name: str, flag: bool) -> None:
    texts = [str(t) for t in (draft.cells.texts if draft.cells.texts is not None else ())]
    filled = [t for t in texts if t]
    distinct = len(set(filled))
    axis, group = words.axis_of(name), words.group_of(name)
    labels = numbered(filled[:1000]) if filled else None
    if axis in ("step", "epoch", "checkpoint") and (found := _of_total(texts)) is not None:
        draft.be("axis", axis, found)
    elif labels and labels[0] in AXIS_KINDS and not (group and group != "variant"):
        whole = numbered(texts)
        draft.be("axis", labels[0], np.asarray(whole[1], np.float64) if whole else None)
    elif flag or distinct <= 1 or _is_long(filled):
        draft.be("text", group or name)
    elif axis == "checkpoint":
        draft.be("axis", "checkpoint")
    elif labels:
        draft.be("group", labels[0])
    elif _identifies(name, group) or (distinct == len(filled) and _addresses(name, filled)):
        draft.be("identifier", name)
    elif ((group and group not in ("variant",)) or not words.listed(name, words.TEXTS)) and group:
        draft.be("group", group)
    elif words.listed(name, words.TEXTS) or status_words(filled):
        draft.be("text", name)
    elif kind := kind_of(filled):
        draft.be("group", kind)
    elif identifying(filled):
        draft.be("identifier", name)
    else:
        draft.be("group" if name == "" or distinct * 2 <= len(filled) else "text", name)


def _of_total(texts: Sequence[str]) -> np.ndarray | None:
    """Numbers of `12/500` or `step 12`."""
    matches = [_OF_TOTAL.match(t) if t else None for t in texts]
    if not any(matches) or any(t and not m for t, m in zip(texts, matches, strict=True)):
        return None
    return np.array([float(m[1]) if m else np.nan for m in matches])


def _is_long(texts: Sequence[str]) -> bool:
    return sum(len(t) > LABEL for t in texts) * 2 > len(texts) or sum(t.count(" ") > 5 for t in texts) * 2 > len(texts)


def _by_neighbours(drafts: list[_Draft], headless: bool) -> None:
    """What only the other columns decide: which numbers are the way, which labels are rows."""
    _nameless(drafts, headless)
    on_the_way = any(d.role == "axis" and d.of in ("step", "epoch") for d in drafts)
    named = any(d.role in ("identifier", "group") and _distinct(d) for d in drafts)
    for draft in drafts:
        kind = words.axis_of(draft.name)
        if draft.role == "measure" and draft.of == kind and kind:
            on_the_way |= _settle(draft, kind, on_the_way or (named and kind != "index"), drafts) and kind in _TRAINING
    for draft in drafts:
        kind = words.axis_of(draft.name)
        if draft.role == "measure" and draft.of == kind:
            draft.of = draft.name
        elif draft.of == "layer" and draft.numeric and _distinct(draft) and rising(draft.numbers) and len(drafts) > 1:
            draft.be("axis", "depth")
    _label(drafts)


def _settle(draft: _Draft, kind: str, on_the_way: bool, drafts: list[_Draft]) -> bool:
    """Whether the column of this kind is an axis; it is one where its values go on, or are a few that come again."""
    numbers = draft.numbers
    other = any(d is not draft and d.role == "axis" for d in drafts)
    if kind in ("tokens", "samples", "time"):
        still = kind == "time" and (other or on_the_way) and _flat_rate(numbers)
        axis = rising(numbers) and len(numbers) > 1 and not still
    elif kind == "index":
        return _index(draft, other, drafts)
    else:
        axis = not on_the_way and is_sweep(numbers) and not (other and kind not in ("length", "depth"))
    if kind == "depth" and not axis and is_whole(numbers) and few(numbers):
        draft.be("group", draft.name)
    elif axis:
        draft.be("axis", kind)
    return axis


def _distinct(draft: _Draft) -> bool:
    """Whether every row has its own value."""
    texts = draft.cells.texts if draft.cells.texts is not None else draft.numbers
    return len(texts) > 1 and len({str(t) for t in texts}) == len(texts)


def _flat_rate(numbers: np.ndarray) -> bool:
    """Whether values hardly move: the time of one step, not the time since the start."""
    finite = numbers[np.isfinite(numbers)]
    return bool(len(finite)) and finite.max() < 2 * max(finite.min(), 1e-9)


def _index(draft: _Draft, other: bool, drafts: list[_Draft]) -> bool:
    numbers = draft.numbers[np.isfinite(draft.numbers)]
    gpus = any("gpu" in words.name_of(d.name).words for d in drafts)
    if is_whole(numbers) and gpus and len(set(numbers.tolist())) <= 128:
        draft.be("group", "gpu")
    elif is_whole(numbers) and few(numbers) and len(set(numbers.tolist())) < len(numbers):
        draft.be("group", draft.name)
    elif is_whole(numbers) and len(numbers) and bool((np.diff(numbers) == 1).all()):
        draft.be("identifier" if other else "axis", "index")
        return not other
    return False


def _nameless(drafts: list[_Draft], headless: bool) -> None:
    """Without names, or under a name that nobody knows, whole numbers that go up are the way."""
    taken = ("axis",) if headless else ("axis", "group", "identifier")
    if any(d.role in taken or (not headless and words.axis_of(d.name)) for d in drafts):
        return
    if len(drafts) < 2 or len(drafts[0].numbers) < 3:
        return
    for draft in drafts[:3] if headless else drafts[:1]:
        if not headless and words.known(draft.name):
            return
        numbers = draft.numbers
        if draft.role == "measure" and is_whole(numbers) and rising(numbers, strictly=not headless):
            steps = np.diff(numbers[np.isfinite(numbers)])
            index = bool(len(steps)) and bool((steps == 1).all()) and numbers[0] in (0, 1)
            draft.be("axis", "index" if index else "step")
            return


def _label(drafts: list[_Draft]) -> None:
    """The first column of short texts, no two alike, labels the rows where nothing else does."""
    if any(d.role == "axis" or d.role == "group" for d in drafts) or not any(d.role == "measure" for d in drafts):
        return
    for draft in drafts:
        texts = [t for t in (draft.cells.texts if draft.cells.texts is not None else ()) if t]
        if draft.role == "text" and len(set(texts)) > 1 and not _is_long(texts) and draft.cells.what == "text":
            if status_words(texts) or words.listed(draft.name, words.TEXTS):
                continue
            draft.be("group", words.group_of(draft.name) or draft.name)
            return


def _metrics(drafts: list[_Draft]) -> None:
    """Known metrics with their canonical names; of two columns of one metric the preferred one has it."""
    training = any(d.role == "axis" and d.of in _TRAINING for d in drafts)
    best: dict[str, tuple[int, _Draft, float]] = {}
    for draft in drafts:
        if draft.role != "measure":
            continue
        hit = words.metric_of(draft.name)
        plain = words.name_of(draft.name).plain
        if not hit or (plain in _VAGUE and not training):
            continue
        known = canonical(draft.name) or canonical(plain) or (hit[0], hit[1], 10_000)
        if hit[0] not in best or known[2] < best[hit[0]][0]:
            best[hit[0]] = (known[2], draft, hit[1])
    for metric, (_, draft, scale) in best.items():
        _canonical(draft, metric, scale)


def _canonical(draft: _Draft, metric: str, scale: float) -> None:
    """The values in the metric's own unit."""
    unit = VOCABULARY[metric].unit
    draft.of = metric
    if draft.unit in ("%", "pct", "percent") and unit == "1":
        scale = 0.01
    elif draft.cells.unit and draft.cells.unit.lower() in UNITS:
        scale = UNITS[draft.cells.unit.lower()].scale
    elif (
        scale == 1.0
        and unit
        and (found := SIZES.get(draft.unit.lower()))
        and (own := SIZES.get(unit.lower()))
        and found[0] == own[0]
    ):
        scale = found[1] / own[1]
    if scale == 1.0 and unit == "1" and np.nanmax(np.abs(draft.numbers), initial=0.0) > 2:
        draft.unit = draft.unit or "%"
        return
    draft.values = draft.numbers * scale if scale != 1.0 and draft.numeric else draft.values
    draft.unit = unit or draft.unit


def _column(draft: _Draft, cells: Sequence[Any]) -> Column:
    values = draft.values
    if values is None and draft.role in ("measure", "axis") and draft.cells.numbers is not None:
        values = draft.numbers
    if values is None:
        values = draft.cells.texts if draft.cells.texts is not None else _as_text(cells)
    unit = draft.unit if draft.role in ("measure", "axis") else ""
    unit = "s" if draft.role == "axis" and draft.of == "time" and draft.cells.what == "time" else unit
    return Column(draft.name, draft.role, draft.of or draft.name, unit, values, draft.cells.nans)


def _as_text(cells: Sequence[Any]) -> np.ndarray:
    """Cells as they stand; whole numbers without a point."""
    found = np.empty(len(cells), object)
    found[:] = [
        "" if c is None else str(int(c)) if isinstance(c, float) and c.is_integer() else str(c).strip() for c in cells
    ]
    return found


def rising(numbers: np.ndarray, strictly: bool = False) -> bool:
    """Whether values go on as on the way of a run."""
    finite = numbers[np.isfinite(numbers)]
    if len(finite) < 2 or finite.max() == finite.min():
        return len(finite) == 1
    steps = np.diff(finite)
    return bool((steps > 0 if strictly else steps >= 0).mean() >= (RISING if not strictly or len(finite) > 5 else 1.0))


def is_whole(numbers: np.ndarray) -> bool:
    finite = numbers[np.isfinite(numbers)]
    return bool(len(finite)) and bool((finite == np.floor(finite)).all())


def few(numbers: np.ndarray) -> bool:
    """Whether a few values come again and again, or there are but a few."""
    finite = numbers[np.isfinite(numbers)]
    distinct = len(np.unique(finite))
    return distinct <= 64 or distinct * 2 <= len(finite)


def is_sweep(numbers: np.ndarray) -> bool:
    """Whether values were chosen and not measured: going up or down, or a few of them in every combination."""
    finite = numbers[np.isfinite(numbers)]
    if len(finite) < 2 or finite.max() == finite.min():
        return False
    distinct = len(np.unique(finite))
    return rising(finite) or rising(-finite) or distinct * 2 <= len(finite)

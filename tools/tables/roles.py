"""What each column of a table is for, from its name, its values, and the columns beside it.

Names are `tools.tables.vocabulary` (over the one vocabulary of metrics), values `cells` and `values`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ..heads import column_key, goes_back, row_counter
from ..metrics import TRAINED, canonical, of_split, split_named, tag_of
from ..series import may_be_loss
from ..vocabulary import UNITS, VOCABULARY
from . import vocabulary as words
from .cells import SIZES, Marks, marks, understand
from .draft import TRAINING, Draft, by_name, is_long
from .raw import Raw, words_of
from .table import Column, Table
from .values import few, is_sweep, is_whole, multiplied, rising, status_words, steady

_LEVELS = {"quantile": "percentile", "le": "percentile"}
"""Labels of parts of one distribution."""
_SWEEPS = frozenset(("length", "depth", "load"))
"""Axes that somebody chose the values of; the time beside them was measured."""
_VAGUE = words_of(
    "score return time seconds duration memory mem norm dt throughput reward rewards scores results "
    "max_length mean_length"
)
"""Names that are a metric of training only beside a step."""


def with_roles(raw: Raw, file: str) -> Table:
    """The table with what each of its columns is for."""
    how = marks(raw.columns[:200], raw.comma)
    drafts = [_draft(raw, i, how, file) for i in range(len(raw.names))]
    headless = all(name.isdecimal() for name in raw.names)
    for i, draft in enumerate(drafts):
        by_name(draft, raw, headless)
        if raw.names[i] in raw.labels:
            draft.be(
                "group", words.group_of(draft.name) or _LEVELS.get(draft.name, draft.name), _as_text(raw.columns[i])
            )
    _by_neighbours(drafts, headless)
    _metrics(drafts)
    columns = tuple(_column(d, raw.names[i] or str(i), raw.columns[i]) for i, d in enumerate(drafts))
    return Table(file, raw.part, columns, np.asarray(raw.lines, np.int64), raw.cut)


def _meaning(raw: Raw, i: int, file: str) -> str:
    """The name by which a column is understood: the file's for a download of one metric; without a tracker's run."""
    name = raw.names[i]
    if [n.lower().replace("_", " ") for n in raw.names] == ["wall time", "step", "value"] and i == 2:
        return tag_of(PurePosixPath(file).stem)
    if name in ("", "0") and i == 0 and not all(n.isdecimal() for n in raw.names[1:]):
        return "index"
    split = next(filter(None, map(split_named, re.split(r"[./]", raw.part))), "")
    own = column_key(name) or str(i)
    return of_split(own, split) if canonical(of_split(own, split)) else own


def _draft(raw: Raw, i: int, how: Marks, file: str) -> Draft:
    cells = understand(raw.columns[i], how)
    under = raw.units[i] if i < len(raw.units) else ""
    unit = cells.unit or words.name_of(raw.names[i]).unit or under
    return Draft(_meaning(raw, i, file), cells, words.UNIT_NAMES.get(unit.lower(), unit))


def _by_neighbours(drafts: list[Draft], headless: bool) -> None:
    """What only the other columns decide: which numbers are the way, which labels are rows."""
    _nameless(drafts, headless)
    _lengths(drafts)
    on_the_way = any(d.role == "axis" and d.of in ("step", "epoch") for d in drafts)
    named = any(d.role in ("identifier", "group") and _distinct(d) for d in drafts)
    for draft in drafts:
        kind = words.axis_of(draft.name)
        if draft.role == "measure" and draft.of == kind and kind:
            on_the_way |= _settle(draft, kind, on_the_way or (named and kind != "index"), drafts) and kind in TRAINING
    for draft in drafts:
        kind = words.axis_of(draft.name)
        if draft.role == "measure" and draft.of == kind:
            draft.of = draft.name
        elif draft.of == "layer" and draft.numeric and _distinct(draft) and rising(draft.numbers) and len(drafts) > 1:
            draft.be("axis", "depth")
    _label(drafts)
    _join_clock(drafts)


def _lengths(drafts: list[Draft]) -> None:
    """Steps that say how long each row lasted are measured; what counts the rows is the way."""
    steps = [d for d in drafts if d.of == "step" and d.role == "axis" and goes_back(d.numbers.tolist())]
    counter = row_counter({d.name: d.numbers.tolist() for d in drafts if d.numeric}) if steps else ""
    for draft in steps if counter else ():
        draft.be("measure", f"{draft.name}_of_row")
    if counter and not any(d.role == "axis" and d.of in TRAINING for d in drafts):
        next(d for d in drafts if d.name == counter).be("axis", "step")


def _join_clock(drafts: list[Draft]) -> None:
    """A clock beside a column of days is told in seconds since the epoch, as the two together are."""
    times = [d for d in drafts if d.role == "axis" and d.of == "time"]
    days = next((found for d in times if (found := _days(d)) is not None), None)
    clock = next((d for d in times if d.cells.what == "clock"), None)
    if days is not None and clock:
        clock.values, clock.unit = clock.numbers % 86400.0 + days, "s"


def _days(draft: Draft) -> np.ndarray | None:
    """Seconds since the epoch of whole days."""
    values = draft.numbers if draft.values is None else draft.values
    finite = values[np.isfinite(values)]
    return values if len(finite) and finite.min() > 86400 * 366 and not (finite % 86400).any() else None


def _settle(draft: Draft, kind: str, on_the_way: bool, drafts: list[Draft]) -> bool:
    """Whether the column of this kind is an axis; it is one where its values go on, or are a few that come again."""
    numbers = draft.numbers
    axes = {d.of for d in drafts if d is not draft and d.role == "axis"}
    other = bool(axes)
    if kind in ("tokens", "samples", "time"):
        still = kind == "time" and (bool(axes & _SWEEPS) or ((other or on_the_way) and steady(numbers)))
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


def _distinct(draft: Draft) -> bool:
    """Whether every row has its own value."""
    texts = draft.cells.texts if draft.cells.texts is not None else draft.numbers
    return len(texts) > 1 and len({str(t) for t in texts}) == len(texts)


def _index(draft: Draft, other: bool, drafts: list[Draft]) -> bool:
    numbers = draft.numbers[np.isfinite(draft.numbers)]
    gpus = any("gpu" in words.name_of(d.name).words for d in drafts)
    distinct = len(set(numbers.tolist()))
    if not is_whole(numbers) or len(numbers) < 2:
        return False
    if draft.name.strip().lower() in ("index", "idx") and gpus and distinct <= 128:
        draft.be("group", "gpu")
    elif bool((np.diff(numbers) == 1).all()):
        draft.be("identifier" if other else "axis", "index")
        return not other
    return False


def _nameless(drafts: list[Draft], headless: bool) -> None:
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
        if (
            draft.role == "measure"
            and not headless
            and SIZES.get(draft.unit, ("",))[0] == "seconds"
            and rising(numbers, strictly=True)
        ):
            draft.be("axis", "time")
            return
        if draft.role == "measure" and is_whole(numbers) and rising(numbers, strictly=not headless):
            steps = np.diff(numbers[np.isfinite(numbers)])
            index = bool(len(steps)) and bool((steps == 1).all()) and numbers[0] in (0, 1)
            draft.be("axis", "index" if index else "load" if multiplied(numbers) else "step")
            return


def _label(drafts: list[Draft]) -> None:
    """The first column of short texts, no two alike, labels the rows where nothing else does."""
    if any(d.role == "axis" or d.role == "group" for d in drafts) or not any(d.role == "measure" for d in drafts):
        return
    for draft in drafts:
        texts = [t for t in (draft.cells.texts if draft.cells.texts is not None else ()) if t]
        if draft.role == "text" and len(set(texts)) > 1 and not is_long(texts) and draft.cells.what == "text":
            if status_words(texts) or words.listed(draft.name, words.TEXTS):
                continue
            draft.be("group", words.group_of(draft.name) or draft.name)
            return


def _metrics(drafts: list[Draft]) -> None:
    """Known metrics with their canonical names; of two columns of one metric the preferred one has it."""
    training = any(d.role == "axis" and d.of in TRAINING for d in drafts)
    best: dict[str, tuple[int, Draft, float]] = {}
    for draft in drafts:
        if draft.role != "measure":
            continue
        hit = words.metric_of(draft.name)
        plain = words.name_of(draft.name).plain
        if not hit or (plain in _VAGUE and not training) or _timed(draft, hit[0]):
            continue
        known = canonical(draft.name) or canonical(plain) or (hit[0], hit[1], 10_000)
        if hit[0] not in best or known[2] < best[hit[0]][0]:
            best[hit[0]] = (known[2], draft, hit[1])
    for metric, (_, draft, scale) in best.items():
        _canonical(draft, metric, scale)
    if training and not best:
        _by_custom(drafts)
    summary = any(d.name == "train_runtime" for d in drafts)
    for draft in drafts:
        if summary and draft.name == "train_loss":  # the last line of the Hugging Face Trainer
            draft.of = "train_loss_mean"


def _timed(draft: Draft, metric: str) -> bool:
    """Whether a column is in seconds and the metric that its name says is no time: `score_s` is no score."""
    return SIZES.get(draft.unit.lower(), ("",))[0] == "seconds" and VOCABULARY[metric].unit in ("", "1")


def _by_custom(drafts: Sequence[Draft]) -> None:
    """Columns that are called `Train` and `Val` and nothing else are the losses where the first one falls."""
    held = [d for d in drafts if d.role == "measure" and split_named(d.name)]
    trained = [d for d in drafts if d.role == "measure" and TRAINED.match(d.name)]
    if len(held) != 1 or len(trained) != 1:
        return
    values = trained[0].numbers[np.isfinite(trained[0].numbers)]
    if len(values) > 2 and may_be_loss(values) and values[-1] < values[0]:
        trained[0].of, held[0].of = "loss", "eval_loss"


def _canonical(draft: Draft, metric: str, scale: float) -> None:
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


def _column(draft: Draft, name: str, cells: Sequence[Any]) -> Column:
    values = draft.values
    if values is None and draft.role in ("measure", "axis") and draft.cells.numbers is not None:
        values = draft.numbers
    if values is None:
        values = draft.cells.texts if draft.cells.texts is not None else _as_text(cells)
    unit = draft.unit if draft.role in ("measure", "axis") else ""
    unit = "s" if draft.role == "axis" and draft.of == "time" and draft.cells.what == "time" else unit
    return Column(name, draft.role, draft.of or draft.name, unit, values, draft.cells.nans)


def _as_text(cells: Sequence[Any]) -> np.ndarray:
    """Cells as they stand; whole numbers without a point."""
    found = np.empty(len(cells), object)
    found[:] = [
        "" if c is None else str(int(c)) if isinstance(c, float) and c.is_integer() else str(c).strip() for c in cells
    ]
    return found

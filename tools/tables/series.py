"""The measures of a table along its way, one curve for each of its groups: what the detectors of curves can judge.

A table without an axis goes along its rows where they are nothing but metrics of a training. Which metric a column is
has been decided in `roles`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from ..heads import unordered
from ..metrics import TRAINED, of_split, split_named
from ..patterns import bounded
from ..series import Series
from ..vocabulary import VOCABULARY
from .table import Column, Table
from .vocabulary import metric_of

WAYS = ("step", "epoch", "tokens", "samples", "time", "checkpoint", "index")
"""Axes along which a run goes, the one to be preferred first."""
CURVES = 512
"""Curves of one table; a column of so many labels groups nothing."""
NUMBERED = ("step", "index", "samples")
"""Axes that number items as well as steps."""
POINTS = 2
"""Points of a curve."""
CURVED = frozenset(("loss", "eval_loss", "perplexity", "reward", "kl", "entropy", "grad_norm", "learning_rate"))
"""Metrics that only a training has, whose values stand in its order."""
SEVERAL = 5
"""Rows a place of a table from which on they are items that were measured there, each by itself."""
PLACES = ("step", "epoch", "tokens", "samples", "checkpoint")
"""Ways that a training goes."""
LETTERS = 24
"""Letters from which on a cell is a text that somebody wrote."""
COUNTING = ("samples", "index")
"""Ways that count rows."""
GRADES = 4
"""Values that the outcome of one sample takes, as 0 and 1 do."""
AS_OFTEN = 0.6
"""Share of the changes that chance would make, from which on outcomes stand in no order. Own judgement."""
MOST_BEGUN = 8
"""Runs appended to one table; in more of them each stretch is of something else."""
ROWS = 8
"""Rows of a table without an axis that are a curve; fewer may be anything."""
EPOCHS = 4
"""The same where the loss of a training stands beside the held-out one, which is a row for each epoch."""
BOTH = frozenset(("loss", "eval_loss"))
KEY = "$key"
"""Column of the names under which rows stand in a mapping."""
TAKEN = ("tokens", "samples", "index")
"""Ways that are counted as well where requests were served: how much each level of load asked for."""
SERVED = bounded(
    r"(?:^|_)(?:ttft|tpot|itl|inter_token_latency|e2e_latency|time_to_first_token|num_requests|concurrency|qps|rps"
    r"|request_rate|num_prompts|max_concurrency)(?:_|$)|首(?:个)?(?:token|词)|并发|请求数",
    re.IGNORECASE,
)
"""Columns of a benchmark of served requests."""
FACTORS, LEVELS = 2, 2
"""Columns that make a grid, and values that each of them has at least."""


def series_of(table: Table) -> tuple[Series, ...]:
    """Every measure of the table as a series, split where groups go the same way each."""
    way = _way(table)
    if way is None:
        return ()
    found: list[Series] = []
    for curve in _curves(table, way):
        if apart(table, way, curve.rows):
            continue
        begun = begun_again(way.values[curve.rows])
        for i, rows in enumerate(np.split(curve.rows, begun)):
            for column in table.of("measure"):
                one = None if of_samples(way, column) else _one(table, way, column, curve._replace(rows=rows))
                if one is not None:
                    found.append(replace(one, attempt=f"#{i + 1}") if i else one)
    return tuple(found)


def begun_again(way: np.ndarray) -> list[int]:
    """The rows at which another run was appended: the way is back where it began, and only rises in between."""
    if len(way) < 2 or not np.isfinite(way).all():
        return []
    falls = np.flatnonzero(np.diff(way) <= 0) + 1
    return falls.tolist() if len(falls) <= MOST_BEGUN and (way[falls] == way[0]).all() else []


def apart(table: Table, way: Column, rows: np.ndarray | None = None) -> bool:
    """Whether each row is of something of its own, as experiments with their best epochs, and no place of one way."""
    some = np.arange(len(table)) if rows is None else rows
    some = some[np.isfinite(way.values[some])]
    if way.of not in PLACES:
        return False
    labels = [c.values for c in table.of("group", "identifier") if c.values.dtype.kind == "O"]
    names = [" ".join(str(v[i]) for v in labels) for i in some.tolist()]
    return unordered(names, way.values[some].tolist())


class _Curve(NamedTuple):
    """The rows of one curve."""

    rows: np.ndarray
    label: str = ""
    rank: int | None = None
    metric: str = ""
    """In a table in long form the name that stands beside the value."""
    split: str = ""
    """The held-out data that a group's label says its rows are of."""


def _way(table: Table) -> Column | None:
    """The axis to draw the table over."""
    axes = [c for c in table.of("axis") if c.values.dtype.kind == "f" and np.isfinite(c.values).sum() >= POINTS]
    axes = [c for c in axes if c.of in WAYS and _moves(c.values) and not (c.of in NUMBERED and _of_items(table))]
    axes = [c for c in axes if c.of not in TAKEN or not (_served(table) or _of_grid(table, c))]
    return min(axes, key=lambda c: WAYS.index(c.of), default=_rows(table))


def _of_items(table: Table) -> bool:
    """Whether the rows are items with a verdict on each and a name of their own: what counts them is no step."""
    judged = ({str(v).lower() for v in c.values.tolist()} for c in table.of("text") if c.values.dtype.kind == "O")
    return bool(table.of("identifier")) and any(cells and cells <= {"true", "false"} for cells in judged)


def of_samples(way: Column, column: Column) -> bool:
    """Whether each value of a training's measure is the outcome of one sample, and its rows are only counted: a few
    grades, that go from one to another as often as chance has it."""
    counted = column.of in CURVED and way.of in COUNTING and column.values.dtype.kind == "f"
    return counted and outcomes(column.values)


def outcomes(values: np.ndarray) -> bool:
    """Whether values are a few grades that go from one to another as often as chance has it."""
    values = values[np.isfinite(values)]
    grades, counts = np.unique(values, return_counts=True)
    if not 1 < len(grades) <= GRADES or len(values) < ROWS:
        return False
    share = counts / len(values)
    changes, chance = float((np.diff(values) != 0).mean()), float(1 - (share**2).sum())
    return changes >= AS_OFTEN * chance


def _served(table: Table) -> bool:
    """Whether the rows are loads under which requests were served."""
    return any(SERVED.search(re.sub(r"[\W_]+", "_", c.name)) for c in table.columns)


def _of_grid(table: Table, way: Column | None = None) -> bool:
    """Whether the rows are every combination of the values of other columns, once each: what counts beside that came
    out of it and is no way."""
    numbers = [c.values for c in table.columns if c is not way and c.values.dtype.kind == "f"]
    sizes = {v.tobytes(): (len(np.unique(v)), v) for v in numbers if np.isfinite(v).all()}
    some = [(n, v) for n, v in sizes.values() if LEVELS <= n < len(table)]
    factors = sorted((one for one in some if len(table) % one[0] == 0), key=lambda one: one[0])
    for count in range(FACTORS, min(len(factors), 4) + 1):
        made = factors[:count]
        if prod(n for n, _ in made) == len(table) == len({*zip(*(v.tolist() for _, v in made), strict=True)}):
            return True
    return False


def _swept(table: Table) -> bool:
    """Whether what stands first in each row is a value that was tried, from large to small or the other way round and
    not in equal steps: the rows are no places that a training came by."""
    first = next((c for c in table.columns if c.name == KEY), table.columns[0])
    values = first.values
    if values.dtype.kind != "f" or first.of in VOCABULARY or not np.isfinite(values).all() or len(values) < POINTS + 1:
        return False
    moves = np.diff(values)
    one_way = bool((moves > 0).all() or (moves < 0).all())
    return one_way and not np.allclose(moves, moves[0], rtol=0.2)


def _rows(table: Table) -> Column | None:
    """The rows themselves as the way: of a table of nothing but numbers, a curve of training among them."""
    measured = [c for c in table.columns if c.values.dtype.kind == "f"]
    told = table.of("group", "identifier")
    least = EPOCHS if {c.of for c in measured} >= BOTH else ROWS
    curves = [c for c in measured if c.of in CURVED and len(np.unique(c.values[np.isfinite(c.values)])) > least // 2]
    if (
        len(table) < least
        or told
        or _swept(table)
        or _of_grid(table)
        or _of_texts(table)
        or len(measured) * 2 < len(table.columns)
        or not curves
    ):
        return None
    return Column("row", "axis", "index", "", np.arange(1.0, len(table) + 1))


def _of_texts(table: Table) -> bool:
    """Whether the rows are items: each with a text of its own, as a prompt or an answer is."""
    for column in table.of("text"):
        cells = [str(v) for v in column.values.tolist() if v is not None]
        if len({*cells}) > len(table) // 2 and sum(len(c) >= LETTERS for c in cells) > len(table) // 2:
            return True
    return False


def _curves(table: Table, way: Column) -> Iterator[_Curve]:
    """Groups split a table only where one of them has several rows."""
    groups = [c for c in table.of("group") if 1 < len(set(map(str, c.values))) <= CURVES]
    splits = {c.name for c in groups if all(split_named(v) or TRAINED.match(str(v)) for v in set(c.values))}
    groups = [c for c in groups if c.of == "metric" or c.name in splits or not _told_by(c, groups)]
    rows = np.arange(len(table))
    keys = [tuple(str(c.values[i]) for c in groups) for i in rows]
    members: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(keys):
        members.setdefault(key, []).append(i)
    separate = [key for key, found in members.items() if len(found) >= POINTS and _moves(way.values[found])]
    if not groups or not separate or len(members) > CURVES:
        yield _Curve(rows)
        return
    alone = _alone(table) if len(table.of("measure")) == 1 else None
    for key in separate:
        of = {c.of: v for c, v in zip(groups, key, strict=True)}
        rank, metric = of.get("rank", ""), of.get("metric", alone) if alone is not None else ""
        split = next((split_named(v) for c, v in zip(groups, key, strict=True) if c.name in splits), "")
        said = ((c, v) for c, v in zip(groups, key, strict=True) if c.name not in splits)
        label = ", ".join(f"{c.name}={v}" for c, v in said if not (metric and c.of == "metric"))
        number = int(rank) if rank.isdecimal() and len(rank) < 7 else None
        yield _Curve(np.asarray(members[key]), label, number, metric, split)


def _told_by(column: Column, groups: Sequence[Column]) -> bool:
    """Whether the metric of a row already says what a group's label is: its unit."""
    metric = next((c for c in groups if c.of == "metric"), None)
    if metric is None or column is metric:
        return False
    pairs = set(zip(map(str, metric.values), map(str, column.values), strict=True))
    return len(pairs) == len({name for name, _ in pairs})


def _alone(table: Table) -> str:
    """The metric that every row of a table in long form is of, empty where they differ or none is said."""
    if table.of("measure")[0].of in VOCABULARY:
        return ""
    words = {
        str(c.values[0]) for c in table.columns if c.values.dtype.kind == "O" and len(set(map(str, c.values))) == 1
    }
    return next((word for word in sorted(words) if metric_of(word)), "")


def _moves(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) >= POINTS and finite.max() > finite.min()


def _one(table: Table, way: Column, column: Column, curve: _Curve) -> Series | None:
    rows = curve.rows
    at, values = way.values[rows], column.values[rows]
    if values.dtype.kind != "f":
        return None
    kept = np.isfinite(at) & (np.abs(at) < 2.0**62) & ~(np.isnan(values) & ~np.isin(rows, column.nans))
    if kept.sum() < POINTS:
        return None
    steps, how = _steps(at[kept], way.of)
    values, lines = values[kept], table.lines[rows][kept]
    if of_items(table, way.values):
        steps, first, values = by_place(steps, values)
        lines = lines[first]
    key = of_split(curve.metric or column.name, curve.split)
    named = metric_of(key) if curve.metric or curve.split else None
    metric = named[0] if named else column.of if key == column.name else key
    return Series(
        metric, key, steps, values * (named[1] if named and curve.metric else 1.0),
        lines, table.file, rank=curve.rank, step_is=how, axis=way.of, group=curve.label,
    )  # fmt: skip


def of_items(table: Table, way: np.ndarray) -> bool:
    """Whether several rows stand at each place of the way, items that were measured there, each by itself."""
    return bool(table.of("identifier")) and SEVERAL * len(np.unique(way[np.isfinite(way)])) <= len(table)


def by_place(way: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(places, first row of each, mean of the finite values of each)."""
    places, first, place = np.unique(way, return_index=True, return_inverse=True)
    known = np.isfinite(values)
    counts = np.bincount(place[known], minlength=len(places))
    sums = np.bincount(place[known], values[known], len(places))
    return places, first, np.divide(sums, counts, out=np.full(len(places), np.nan), where=counts > 0)


def _steps(at: np.ndarray, of: str) -> tuple[np.ndarray, str]:
    """The way as whole numbers; parts of an epoch are counted as rows."""
    whole = np.floor(at)
    if of == "epoch" and len(np.unique(whole)) < len(np.unique(at)):
        return np.arange(1, len(at) + 1), "line"
    return whole.astype(np.int64), "epoch" if of == "epoch" else "step" if of in ("step", "checkpoint") else "line"

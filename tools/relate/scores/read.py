"""Scores of tables as rows: value and error in points, of which model and task, how it was measured, where on the way.

What is written once in a file holds for all of its rows. What the scores say is judged beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from ...findings import Evidence
from ...patterns import bounded
from ...scores import NOT_A_SCORE
from ...tables.table import Column, Table
from ..line import metric_of, plain
from ..summed.words import named_score

VERSIONS = bounded(r"versions?")
COUNTED = bounded(r"(?:^|_)(?:calls?|count|errors?|failures?|successful|succeeded|failed|retries)(?:_|$)|次数")
"""What was counted on the way is no way of measuring."""
SETUP = bounded(
    r"(?:^|_)(?:num_?|n_?)?(?:few_?shots?|shots?)(?:_|$)|template|(?:^|_)(?:judge|grader|evaluator)|评审|评委|裁判|模板|harness|normali[sz]"
    r"|(?:^|_)prompt_(?:style|version|format|type)"
    r"|(?:^|_)(?:task|eval|dataset|benchmark|lm_eval|library)_?version|^versions?$"
    r"|(?:^|_)git_?(?:hash|commit)|(?:^|_)commit$|(?:^|_)(?:lm_)?eval_?(?:kit|suite|build|image|framework)|评测版本|样例数"
    r"|(?:^|_)(?:metric_)?filter$|^(?:temperature|decoding|max_(?:gen|new)_\w*tokens|limit|backend|dtype)$"
)
"""Columns that say how a score was measured."""
SHOWN = bounded(r"(?:^|_)(?:num|n)_?(?:few_?)?shots?(?:_|$)|样例数")
"""Columns that count the examples a benchmark is shown, and are no score of the benchmark that they name."""
MEASURED = bounded(r"(?:^|_)(?:rate|acc\w*|f1|precision|recall|ratio|share|score|match|mean|avg)$|[率分]$")
"""Of a number: that it was measured, whatever its name says of how (`normalized_exact_rate`)."""
MODEL = bounded(r"(?:^|_)(?:model|ckpt|checkpoint|weights?|run|candidate|system|revision)(?:_|$)|^模型(?:名称?)?$")
NAMED = bounded(r"(?:^|_)(?:model_args|pretrained|model_name(?:_or_path)?|model_path|checkpoint_path)$")
"""Columns that name the model where another one may only say what loads it (`hf`, `vllm`)."""
WEIGHTS = bounded(r"^(?!.{0,60}(?:template|tokenizer|prompt|data|config|code|git|harness)).{0,60}"
                  r"(?:^|_)(?:hash|sha\d*|md5|checksum|digest|weights)(?:_|$)")  # fmt: skip
TASK = bounded(r"(?:^|_)(?:task|benchmark|bench|subset|split|domain|language|lang|dataset|category)(?:_|$)")
WAY = bounded(
    r"^(?:global_?|train_?)?(?:step|iteration|iter|ckpt|checkpoint)s?(?:_?(?:k|step|num|number|idx))?$|^epoch$"
)
"""Columns that count checkpoints along the training; `ckpt_k` in thousands."""
ITEM = bounded(r"(?:^|_)(?:item|question|example|sample|doc|pair|prompt)_?id$|^id$|^item$")
SIZE = bounded(
    r"^(?:样本数|题数|题目数|条数|n|num_?samples|n_?samples|samples|total|count|n_?items|items|num_?examples|questions|n_questions|size)$"
)
ERROR = bounded(r"std_?err|(?:^|_)se$|sem$|standard_?error|标准误|±")
KEY = "$key"
"""The column of what records of a mapping stand under."""
HOLDERS = ("results", "result", "metrics", "scores", "eval", "evaluation", "summary", "data", "test", "val", "all")
"""Parts of a score's path that name no task."""
MOST_ROWS = 100_000
LABEL = 60
"""Letters up to which a cell is a label, and no text."""
MOST_ROW = 200
"""Places on the way of a table's scores, above which they are a series and not a row of checkpoints."""
MEAN_ROWS, MEAN_PARTS, ROUNDED = 4, 3, 0.06
"""Rows and parts from which on a column may be told as the mean of the others, and points that rounding takes."""
TWO_UNITS = 20.0
"""How far a standard error lies from that of its number of items at least, where it is in the other unit."""


@dataclass(frozen=True)
class Scored:
    """One score of one row."""

    metric: str
    value: float
    """In points, 0..100, where it is a share."""
    error: float | None
    task: str
    model: str
    weights: str
    item: str
    step: float | None
    setup: tuple[tuple[str, str], ...]
    evidence: Evidence
    n: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """What else tells rows of its table apart: which part of the items it is of."""


def scored_rows(tables: Sequence[Table]) -> list[Scored]:
    """Every score of every table; what is written once in a file holds for all of its rows."""
    by_file: dict[str, list[Table]] = {}
    for table in tables:
        by_file.setdefault(table.file, []).append(table)
    return [row for some in by_file.values() for row in _of_file(some)]


def _of_file(tables: Sequence[Table]) -> Iterator[Scored]:
    """Scores with what their file says once; a part with rows or scores of its own speaks of those alone."""
    once = [(t, _own(t, tables), {plain(c.name): _cell(c, 0) for c in t.columns}) for t in tables if len(t) == 1]
    for table in tables:
        around: dict[str, str] = {}
        for said, own, values in once:
            if not own or _holds(said, table):
                around.update(values)
        yield from _rows(table, around)


def _holds(outer: Table, inner: Table) -> bool:
    return not outer.part or f"{inner.part}.".startswith(f"{outer.part}.")


def _own(said: Table, tables: Sequence[Table]) -> bool:
    """Whether the part of a file in which something is said once holds what that is said of."""
    return any(map(_is_score, said.of("measure"))) or any(len(t) > 1 and _holds(said, t) for t in tables)


def _rows(table: Table, around: Mapping[str, str]) -> Iterator[Scored]:
    scores = [
        c
        for c in table.of("measure")
        if _is_score(c) or (table.part == "scores" and c.of == "score" and table.get("weights"))
    ]
    if not scores or len(table) > MOST_ROWS:
        return
    scores = [*_means(table, scores), *scores]
    beside = {plain(c.name) or c.name: c for c in table.columns if c not in scores}
    way = next((c for name, c in beside.items() if _on_the_way(name, c)), None)
    said: dict[str, Where] = {name: _found(beside, around, pattern) for name, pattern in _SAYS.items()}
    said["model"] = _found(beside, around, NAMED) or said["model"]
    if way is not None and len(table) > MOST_ROW and not isinstance(said["item"], Column):
        return  # measured all along the training: a series, not a row of checkpoints
    told_of: dict[str, Where] = {**around, **beside}
    named = [(name, where) for name, where in told_of.items() if SETUP.search(name) and not _no_setup(name, where)
             and not _verdict(where, scores)]  # fmt: skip
    taken = [*said.values(), *(where for _, where in named)]
    parts = [c for c in beside.values() if not any(c is t for t in taken) and _parts(c)]
    keys: Where = next((c for c in table.columns if c.name == KEY), "")
    for column in scores:
        path = _on_the_path(column)
        finite = column.values[np.isfinite(column.values)]
        scale = 100.0 if len(finite) and np.abs(finite).max() <= 1.0 else 1.0
        for i in np.flatnonzero(np.isfinite(column.values)).tolist():
            setup = tuple(sorted((name, _cell(where, i)) for name, where in named))
            told = {name: _cell(where, i) for name, where in said.items()}
            told["task"] = told["task"] or _cell(keys, i) or path
            labels = tuple((plain(c.name), _cell(c, i)) for c in parts)
            yield replace(_row(table, i, column, scale, told, setup, _step(way, i)), labels=labels)


def _parts(column: Column) -> bool:
    """Whether a column of words names parts that several rows are of, and is no name of each row."""
    values = [str(v) for v in column.values] if column.values.dtype.kind == "O" else []
    return 1 < len({*values}) < len(values) and max(map(len, values)) <= LABEL


def _means(table: Table, scores: Sequence[Column]) -> list[Column]:
    """The column, whatever it is called, that is the mean of all other measures of a row, known scores among them."""
    parts = [c for c in table.of("measure") if c.values.dtype.kind == "f" and np.isfinite(c.values).all()
             and not SIZE.search(plain(c.name)) and not ERROR.search(plain(c.name))]  # fmt: skip
    if len(table) < MEAN_ROWS or not MEAN_PARTS < len(parts) <= MOST_ROW:
        return []
    every = np.array([c.values for c in parts])
    scale = 100.0 if np.abs(every).max() <= 1 else 1.0
    off = np.abs(every - (every.sum(axis=0) - every) / (len(parts) - 1)).max(axis=1) * scale
    i = int(off.argmin())
    return [parts[i]] if off[i] <= ROUNDED and parts[i] not in scores and 0 <= every.min() <= every.max() <= 100 else []


def harness_rows(tables: Sequence[Table]) -> Iterator[Scored]:
    """The scores of a harness's results, each with its own metric, also where no digest of the weights is noted."""
    for table in tables:
        value = next((c for c in table.columns if c.of == "score"), None) if table.part == "scores" else None
        metric = table.get("metric")
        if value is None or metric is None or table.get("weights") or len(table) > MOST_ROWS:
            continue
        said = {"error": table.get("stderr") or "", **{k: table.get(k) or "" for k in ("task", "model", "n")}}
        named = [(plain(c.name), c) for c in table.columns if SETUP.search(plain(c.name))]
        for i in np.flatnonzero(np.isfinite(value.values)).tolist():
            own = float(value.values[i])
            told = {"weights": "", "item": "", **{k: _cell(c, i) for k, c in said.items()}}
            setup = tuple(sorted((name, _cell(c, i)) for name, c in named))
            scale = 100.0 if 0 <= own <= 1 else 1.0
            row = _row(table, i, value, scale, told, setup, None)
            yield replace(row, metric=str(metric.values[i]))


def _no_setup(name: str, where: Column | str) -> bool:
    """Whether a column counts something, or is the version by which each row is called: that of what was scored."""
    values = [] if isinstance(where, str) else [str(v) for v in where.values]
    return (
        bool(COUNTED.search(name))
        or (bool(MEASURED.search(name)) and _number(_cell(where, 0)) is not None)
        or (VERSIONS.fullmatch(name) is not None and len(values) > 2 and len(set(values)) == len(values))
    )


def _verdict(where: Column | str, scores: Sequence[Column]) -> bool:
    """Whether a column is what a judge said, and no setting: it stands in the record in which the judge's score stands,
    and only that record is called after the judge (`judgement.passed` beside `judgement.score`)."""
    record, dot, own = where.name.rpartition(".") if isinstance(where, Column) else ("", "", "")
    held = dot and any(c.name.rpartition(".")[0] == record for c in scores)
    return bool(held and not SETUP.search(plain(own)) and not MODEL.search(plain(own)))


Where = Column | str
_SAYS = {"task": TASK, "model": MODEL, "weights": WEIGHTS, "item": ITEM, "n": SIZE, "error": ERROR}


def _on_the_path(column: Column) -> str:
    """The task that a score's path names before its last part: `results.zh_qa.score`."""
    parts = [p for p in re.split(r"[./]", column.name)[:-1] if p.lower() not in HOLDERS]
    return parts[-1] if parts else ""


def _on_the_way(name: str, column: Column) -> bool:
    """Whether a column counts the checkpoints of a training, by its name or as the axis of its table."""
    counts = WAY.search(name) or (column.role == "axis" and column.of in ("step", "epoch", "checkpoint"))
    return bool(counts) and column.values.dtype.kind == "f"


def _found(columns: Mapping[str, Column], around: Mapping[str, str], pattern: re.Pattern[str]) -> Where:
    """The column of that kind, or what the file says once; empty where neither does."""
    column = next((c for name, c in columns.items() if pattern.search(name) and c.of != "step"), None)
    return column or next((value for name, value in around.items() if pattern.search(name)), "")


def _cell(where: Where, i: int) -> str:
    value = where if isinstance(where, str) else where.values[i]
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _step(way: Column | None, i: int) -> float | None:
    if way is None or not np.isfinite(way.values[i]):
        return None
    return float(way.values[i]) * (1000 if plain(way.name).endswith("_k") else 1)


def _row(table: Table, i: int, column: Column, scale: float, told: Mapping[str, str],
         setup: tuple[tuple[str, str], ...], step: float | None) -> Scored:  # fmt: skip
    value, n, error = float(column.values[i]) * scale, _number(told["n"]), _number(told["error"])
    p = min(max(value / 100, 0.0), 1.0)
    noise = 100 * sqrt(max(p * (1 - p), 1e-4) / n) if n and n >= 1 else None
    if error is not None:
        noise = _in_points(error, scale, noise)
    where = Evidence(table.file, int(table.lines[i]) or None, metric="eval", value=float(column.values[i]))
    return Scored(metric_of(column), value, noise, told["task"], told["model"], told["weights"], told["item"], step,
                  setup, where, int(n) if n else None)  # fmt: skip


def _in_points(error: float, scale: float, drawn: float | None) -> float:
    """A standard error in points; of score and error one may be a share and the other in percent.

    That of `n` draws tells where they are: the two units lie a hundredfold apart.
    """
    known = error * scale
    if drawn is None or 1 / TWO_UNITS < known / drawn < TWO_UNITS:
        return known
    other = error * (1.0 if scale > 1 else 100.0)
    return other if 1 / TWO_UNITS < other / drawn < TWO_UNITS else known


def _is_score(column: Column) -> bool:
    name = plain(column.name)
    quality = named_score(column.name) or metric_of(column) in ("accuracy", "eval_accuracy")
    no_score = NOT_A_SCORE.search(name) or SIZE.search(name) or SHOWN.search(name)
    return bool(quality and not no_score and column.values.dtype.kind == "f")


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) and number > 0 else None

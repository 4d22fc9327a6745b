"""One model in several number formats: what its perplexity or score loses against the unreduced weights.

The formats stand in the cells of a row's labels (`fp16`, `q4_0`, `int4-awq`) or in the names of the columns
(`fp16_ppl`, `w4a16_ppl`). A sweep in which most formats lose nothing is no loss, however bad its last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import WHOLE, apart, counted_of, is_count, named_score, shares_of
from .read import Scored, scored_rows

MOST_ROWS = 64
LOST, TYPICAL, KEPT = 0.05, 0.03, 0.02
"""Share by which the worst perplexity and the middle one are higher where quality is lost, and up to which it is kept.
Own judgement."""
CLEAR, UNKNOWN_SIZE = 3.0, 200.0
"""Standard errors by which a score is lower, and the items of one that does not say how many."""
NOT_REDUCED = r"(?:no|non|not|un|without)[\s_-]?quanti[sz]\w{0,6}|未量化|不量化|无量化"
FULL = bounded(
    rf"(?i)(?<![a-z0-9])(?:(?:bf|fp|f|float|bfloat)_?(?:16|32)|half|full[\s_-]?precision|unquanti[sz]ed)(?![a-z0-9])"
    rf"|{NOT_REDUCED}|全精度|半精度"
)
REDUCED = bounded(
    r"(?i)(?<![a-z0-9])(?:i?q[1-8](?:_[0-9a-z]{1,3}){0,2}|(?:u?int_?|i)[2-8]|[2-8][\s_-]?bits?|nf4|(?:mx|nv)?fp_?[48](?:_\w{4})?"
    r"|w[1-8](?:a|g)\d{1,3}|awq|gptq|hqq|aqlm|bnb[\s_-]?[48]\w{0,3}|smooth_?quant|quanti[sz]ed)(?![a-z0-9])|量化|[四八48]比特"
)
SERVED = bounded(
    r"(?i)(?<![a-z])(?:prod(?:uction)?|served|serving|deployed|live|online|in[\s_-]use|current(?:ly)?)(?![a-z])"
    r"|线上|在线|上线|生产环境|已部署|在用"
)
"""What says of a row that it is the one in use."""
PERPLEXITY = bounded(r"(?:^|_)(?:ppl|perplexity)(?:_|$)|困惑度")
VARIANT = bounded(
    r"^(?:run|exp(?:eriment)?|variant|config(?:uration)?|method|scheme|setting|strategy|label|id)(?:_name)?$"
)
"""Names of columns that tell how a row was made, and not of which model."""
TRIED = bounded(
    r"^(?:lr|learning_rate|epochs?|batch_?size|steps?|seed|beta|rank|r|lora_r|temperature|context(?:_length)?)$"
)
"""Names of columns with which two rows are of more than another format."""
SIZES = re.compile(r"(?i)(?<![a-z0-9.])\d{1,4}(?:\.\d{1,3})?[bm](?![a-z])")


@dataclass(frozen=True)
class Rated:
    """What one format of a model is worth."""

    name: str
    reduced: bool
    value: float
    of: float
    """Number of items that the value rests on."""
    place: Evidence


def in_formats(tables: Sequence[Table]) -> Iterator[Finding]:
    """The perplexity and the score that lose the most, else the first that loses nothing."""
    judged = [f for table in tables if 1 <= len(table) <= MOST_ROWS for f in _of_table(table)]
    judged = judged or [*across(tables)]
    lost = [f for f in judged if f.code == "quality-lost-in-format"]
    lost.sort(key=lambda f: -f.data["typical"])
    yield from {f.data.get("kind", "score"): f for f in reversed(lost)}.values() or judged[:1]


def across(tables: Sequence[Table]) -> Iterator[Finding]:
    """Scores of one model in two formats, task by task, in whatever files they stand: tasks that one of them loses."""
    models: dict[str, dict[str, list[Scored]]] = {}
    for row in scored_rows([t for t in tables if len(t) <= MOST_ROWS]):
        said = FULL.search(row.model) or REDUCED.search(row.model)
        if said and row.task and not row.item and row.step is None:
            stem = plain(row.model.replace(said[0], " ")).strip("_ ")
            models.setdefault(stem, {}).setdefault(row.model, []).append(row)
    for by_model in models.values():
        whole = [m for m in by_model if not REDUCED.search(m)]
        found = [(lost, m) for m in by_model if m not in whole and (lost := _tasks_lost(by_model, whole, m))]
        if found:
            lost, name = max(found, key=lambda f: len(f[0]))
            yield _of_tasks(name, lost, len({r.task for r in by_model[name]}))
            return


Pair = tuple[Scored, Scored]


def _tasks_lost(by_model: dict[str, list[Scored]], whole: Sequence[str], name: str) -> list[Pair]:
    """(unreduced, reduced) scores of the tasks that every unreduced row of them does clearly better."""
    lost: list[Pair] = []
    for row in by_model[name]:
        alike = [
            r for m in whole for r in by_model[m] if (r.task, r.metric, r.setup) == (row.task, row.metric, row.setup)
        ]
        if alike and all(_clearly(r, row) for r in alike):
            lost.append((min(alike, key=lambda r: r.value), row))
    return sorted(lost, key=lambda pair: pair[1].value - pair[0].value)


def _clearly(base: Scored, row: Scored) -> bool:
    n = [float(r.n or UNKNOWN_SIZE) for r in (base, row)]
    if base.value - row.value < 100 * LOST:
        return False
    return apart(base.value / 100 * n[0], n[0], row.value / 100 * n[1], n[1]) >= CLEAR


def _of_tasks(name: str, lost: Sequence[Pair], tasks: int) -> Finding:
    base, worst = lost[0]
    said = ", ".join(f"{r.task} {b.value:.1f} -> {r.value:.1f}" for b, r in lost[:4])
    return Finding(
        "quality-lost-in-format", Severity.S2,
        f"{name} scores clearly lower than {base.model} in {len(lost)} of {tasks} tasks measured alike ({said}): the "
        "smaller number format costs quality there.",
        f"{name} 在 {tasks} 个同样测量的任务中有 {len(lost)} 个明显低于 {base.model}（{said}）："
        "更小的数值格式在这些任务上损失了质量。",
        (base.evidence, worst.evidence),
        {"score": worst.metric, "before": base.value, "after": worst.value, "tasks": [r.task for _, r in lost],
         "lost": (base.value - worst.value) / 100, "typical": (base.value - worst.value) / 100},
    )  # fmt: skip


def _of_table(table: Table) -> Iterator[Finding]:
    by_name: dict[str, list[tuple[str, Column]]] = {}
    for column in table.columns:
        if column.role == "measure" and column.values.dtype.kind == "f" and np.isfinite(column.values).all():
            if said := (means(FULL, column.name) or means(REDUCED, column.name)):
                rest = plain(plain(column.name).replace(said[0], " ")).strip("_ ")
                by_name.setdefault(rest, []).append((said[0], column))
            elif kind := _kind(column.name, column):
                yield from _judged(table, column.name, kind, _rows(table, column, kind))
    for name, some in by_name.items():
        some += _unnamed(table, name, some)
        if len(some) > 1 and (kind := _kind(name, some[0][1])):
            for row in range(len(table)):
                rated = [
                    Rated(said, not FULL.search(said) and said != c.name, float(c.values[row]), UNKNOWN_SIZE,
                          _place(table, c, row)) for said, c in some
                ]  # fmt: skip
                yield from _judged(table, name, kind, rated)


def _unnamed(table: Table, name: str, some: Sequence[tuple[str, Column]]) -> list[tuple[str, Column]]:
    """The column of the weights as they were, where it is called as those of a smaller format without the format."""
    if not name or any(FULL.search(said) for said, _ in some):
        return []
    return [(c.name, c) for c in table.of("measure") if plain(c.name) == name and np.isfinite(c.values).all()]


def _kind(name: str, column: Column) -> str:
    """Whether less is better of it (`ppl`) or more (`score`); empty where it is no quality."""
    if means(PERPLEXITY, name):
        return "ppl" if (column.values > 1).all() else ""
    good = named_score(name) or counted_of(column) == "right"
    return "score" if good and (column.values >= 0).all() and (column.values <= 100).all() else ""


def _rows(table: Table, column: Column, kind: str) -> list[Rated]:
    """The rows by the format that their labels say; none where another label tells them apart too."""
    labels = [texts(c) for c in table.columns if c.values.dtype.kind == "O"]
    formats = [said for said in labels if any(FULL.search(v) or REDUCED.search(v) for v in said)]
    others = [texts(c) for c in table.columns if c.values.dtype.kind == "O" and not means(VARIANT, c.name)]
    if not formats or any(len(set(said)) > 1 and not any((said == f).all() for f in formats) for said in others):
        return []
    own = formats[0]
    crossed = [texts(c) for c in table.columns if c.values.dtype.kind == "O" and means(VARIANT, c.name)]
    if any(len({*said[own == one].tolist()}) > 1 for said in crossed for one in set(own.tolist())):
        return []  # each format was tried in several ways
    if any(means(TRIED, c.name) and len({*texts(c).tolist()}) > 1 for c in table.columns):
        return []
    cells = [" ".join(str(said[i]) for said in formats) for i in range(len(table))]
    if len({frozenset(s.lower() for s in SIZES.findall(cell)) for cell in cells}) > 1:
        return []
    whole = next((c for c in table.columns if means(WHOLE, c.name) and is_count(c)), None)
    shares = shares_of(column) if kind == "score" else column.values
    values = column.values if shares is None else shares
    return [
        Rated(str(formats[0][i])[:60], not full, float(values[i]),
              float(whole.values[i]) if whole is not None and whole.values[i] >= 1 else UNKNOWN_SIZE,
              _place(table, column, i))
        for i, cell in enumerate(cells)
        if (full := bool(FULL.search(cell)) and not REDUCED.search(re.sub(f"(?i){NOT_REDUCED}", " ", cell)))
        or REDUCED.search(cell)
    ]  # fmt: skip


def _place(table: Table, column: Column, row: int) -> Evidence:
    return Evidence(table.file, int(table.lines[row]) or None, metric=column.name, value=float(column.values[row]))


def _judged(table: Table, name: str, kind: str, rated: Sequence[Rated]) -> Iterator[Finding]:
    """What is lost against the best of the unreduced rows; half of the reduced ones must lose it, or the one that is
    said to be served."""
    full = [r for r in rated if not r.reduced]
    less = [r for r in rated if r.reduced]
    if not full or not less:
        return
    scale = 1.0 if kind == "ppl" or max(r.value for r in rated) <= 1 else 100.0
    served = [r for r in less if SERVED.search(r.name)]
    of_it = [r for r in full if served and _stem(r.name) and plain(served[0].name).startswith(_stem(r.name))]
    base = min(of_it or full, key=lambda r: r.value if kind == "ppl" else -r.value)
    loss = {id(r): _lost(kind, base, r, scale) for r in less}
    typical = median(loss[id(r)] for r in served or less)
    worst, best = max(served or less, key=lambda r: loss[id(r)]), min(less, key=lambda r: loss[id(r)])
    much = loss[id(worst)] >= LOST and typical >= TYPICAL
    if much and (kind == "ppl" or _clear(base, worst, scale)):
        yield _finding(name, kind, base, worst, best, loss[id(worst)], loss[id(best)], typical)
    elif kind == "ppl" and loss[id(worst)] <= KEPT:
        yield Finding(
            "formats-score-alike", Severity.S3,
            f"{name} is {base.value:.4g} for {base.name} and at most {worst.value:.4g} in a smaller number format "
            f"({worst.name}).",
            f"{base.name} 的 {name} 为 {base.value:.4g}，更小的数值格式中最高 {worst.value:.4g}（{worst.name}）。",
            (base.place, worst.place), {"score": name},
        )  # fmt: skip


def _stem(name: str) -> str:
    """A model's name without the unreduced format."""
    return plain(FULL.sub(" ", name)).strip("_ ")


def _lost(kind: str, base: Rated, other: Rated, scale: float) -> float:
    """Share by which a perplexity is higher, or points by which a score is lower."""
    return other.value / base.value - 1 if kind == "ppl" else (base.value - other.value) / scale


def _clear(base: Rated, other: Rated, scale: float) -> bool:
    a, b = base.value / scale, other.value / scale
    return apart(a * base.of, base.of, b * other.of, other.of) >= CLEAR


def _finding(
    name: str, kind: str, base: Rated, worst: Rated, best: Rated, most: float, least: float, typical: float
) -> Finding:
    def said(share: float) -> str:
        return f"{share:+.1%}" if kind == "ppl" else f"{-100 * share:+.1f} points"

    more = f"; the least is lost in {best.name}: {best.value:.4g} ({said(least)})" if best is not worst else ""
    more_zh = f"；损失最小的是 {best.name}：{best.value:.4g}（{said(least)}）" if best is not worst else ""
    return Finding(
        "quality-lost-in-format", Severity.S2,
        f"{name} is {base.value:.4g} for {base.name} and {worst.value:.4g} for {worst.name} ({said(most)}): the "
        f"smaller number format costs quality{more}.",
        f"{base.name} 的 {name} 为 {base.value:.4g}，{worst.name} 为 {worst.value:.4g}（{said(most)}）：数值格式变小"
        f"损失了质量{more_zh}。",
        (base.place, worst.place, *((best.place,) if best is not worst else ())),
        {"score": name, "kind": kind, "before": base.value, "after": worst.value, "lost": most, "least": least,
         "typical": typical, **({"names": f"{best.name}: {best.value:.4g}"} if least < KEPT else {})},
    )  # fmt: skip

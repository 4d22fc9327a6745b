"""Tables with a measure in each row and what was measured in each column, `Metric | Base | Tuned`, turned: a row for
each of those, with its measures as columns.

Columns of differences stay as they are, in a table beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...patterns import bounded
from ..cells import MISSING, number
from ..raw import UNDER, Raw, words_of
from ..vocabulary import axis_of, is_result

ROWS, COLUMNS = 60, 12
"""Rows and columns of such a table at most."""
HEADS = words_of("metric metrics measure measures 指标 指标名 指标名称 度量 метрика показатель métrica métrique metrik "
                 "kennzahl メトリクス 評価指標 지표")  # fmt: skip
"""What stands above measures."""
VALUES = words_of("value values score scores result results figure 值 数值 得分 分数 结果 значение valor valeur wert "
                  "値 값")  # fmt: skip
"""What stands above values that are of no thing in particular."""
APART = bounded(
    r"\bvs\.?(?:\s|$)|Δ|∆|delta|diff|improve|change|gain|reduction|increase|decrease|lift|提升|变化|差|改进|изменение|разница",
    re.IGNORECASE,
)
"""Heads of columns that hold a difference of others."""
ASIDE = words_of("description notes note comment status target threshold goal unit meaning 说明 备注 单位 目标")
SHARE = 0.6


def measured(raw: Raw) -> Iterator[Raw]:
    """The table turned, and what of it stays; the table itself where its rows are no measures."""
    if not _is_one(raw):
        yield raw
        return
    labels = [str(c).strip() for c in raw.columns[0]]
    heads = [n.strip() for n in raw.names]
    apart = [i for i in range(1, len(heads)) if APART.search(heads[i]) or heads[i].lower() in ASIDE]
    things = [i for i in range(1, len(heads)) if i not in apart and _numbers(raw.columns[i])]
    if not things or sum(map(len, heads)) > 2000:
        yield raw
        return
    single = len(things) == 1 and heads[things[0]].lower().rstrip("s") + "s" in {v.rstrip("s") + "s" for v in VALUES}
    names = labels if single else [UNDER, *labels]
    rows = [raw.columns[i] if single else [heads[i], *raw.columns[i]] for i in things]
    made = Raw.of_rows(raw.part, names, [*map(list, rows)], [raw.lines[0]] * len(rows))
    made.comma, made.cut, made.loose = raw.comma, raw.cut, raw.loose
    made.labels = frozenset() if single else frozenset((UNDER,))
    yield made
    if rest := [i for i in range(1, len(heads)) if i not in things and i in apart]:
        kept = [0, *rest]
        yield Raw(raw.part, [raw.names[i] for i in kept], [raw.columns[i] for i in kept], raw.lines, cut=raw.cut)


def _is_one(raw: Raw) -> bool:
    if raw.labels or not 2 <= len(raw) <= ROWS or not 2 <= len(raw.names) <= COLUMNS or raw.units:
        return False
    labels = ["" if c is None else str(c).strip() for c in raw.columns[0]]
    if not all(labels) or len({*labels}) < len(labels) or any(len(x) > 60 or number(x) for x in labels):
        return False
    head, others = raw.names[0].strip().lower(), raw.names[1:]
    results = sum(is_result(re.split(r"\s?[@(]", x)[0] or x) for x in labels)
    named = head in HEADS or (head in ("", "0", "name", "item", "名称", "项目") and results >= SHARE * len(labels))
    plain = [n.strip().lower() for n in others]
    kept = [n for n in plain if not (APART.search(n) or n in ASIDE)]
    return named and results > 0 and not any(axis_of(n) or (is_result(n) and n not in VALUES) for n in kept)


def _numbers(cells: Sequence[object]) -> bool:
    """Whether a column holds what was measured: `< 800 ms` is what was asked for."""
    said = [str(c).strip() for c in cells if c is not None and str(c).strip().lower() not in MISSING]
    read = sum(number(t) is not None and t[0] not in "<>≤≥" for t in said)
    return bool(said) and read * 2 >= len(said)

"""What tables measure of versions of one model, however they are laid out: a column for each version
(`v7_error_rate`, `v8_error_rate`), or a row for each with the version in a column (`ckpt`, `model_version`).

Versions are told by their names (numbers behind one word, old and new, before and after), seeds and repeats by the
name of their column. Sizes, lengths and ranks of numbers are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...findings import Evidence
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..results.read import BASE, TRAINED, is_score
from ..results.read import LOWER as WORSE
from ..scores.read import SIZE

MOST_ROWS, MOST_VERSIONS, MOST_SLICES = 2000, 12, 60
TOKEN = bounded(r"(?:v|ver|version|rc)_?\d{1,4}(?:_\d{1,3})?|(?:ckpt|checkpoint|step|iter|epoch)_?\d{1,8}"
                r"|old|new|prev(?:ious)?|cur(?:rent)?|now|旧版?|新版?|之前|之后")  # fmt: skip
"""Words of a column's name that say a version."""
EARLIER = bounded(r"old|prev(?:ious)?|旧版?|之前")
NAMED = bounded(r"^(?:model_?)?(?:version|ver|release|revision|ckpt|checkpoint|iter|step|snapshot)"
                r"(?:_?(?:id|name|no|k|step))?$|^(?:global_?)?step$|^model(?:_?(?:name|id))?$"
                r"|^(?:版本|检查点|模型)$")  # fmt: skip
"""Columns that say which version a row is of."""
SEED = bounded(
    r"(?:^|_)(?:seed|run|repeat|trial|rep|replicate|attempt|sample_?run)(?:_?(?:id|no|idx))?$|种子|重复|次序"
)
HARMFUL = bounded(r"harm|unsafe|jailbreak|attack|red_?team|malicious|toxic|adversarial|weapon|illegal|violat"
                  r"|有害|攻击|违规|越狱|危险")  # fmt: skip
"""Slices in which refusing is right."""
REFUSES = bounded(r"refus|reject|declin|拒")
ALSO_WORSE = bounded(r"refus|fail|error|halluc|invalid|violat|wrong|reject|declin|拒答|拒绝|错误|失败|幻觉")
JUDGED = bounded(r"quality|rating|helpful|satisf|resolved|评分|质量|满意|有用")
"""Measures of which more is better, beside scores."""


@dataclass
class Cell:
    """What one version measures of one slice."""

    values: list[float] = field(default_factory=list)
    """One for each seed or repeat."""
    n: float = 0.0
    """Items of one of them; 0 where that is not said."""
    places: list[Evidence] = field(default_factory=list)


@dataclass
class Measured:
    """One measure of several versions: version -> slice -> cell, in the order of the versions."""

    table: Table
    measure: str
    by: str
    """What sets the slices apart; empty where there is a single one."""
    seeds: str
    cells: dict[str, dict[str, Cell]]
    placed: bool = False
    """Whether the versions are checkpoints of one training, by their steps."""

    @property
    def way(self) -> int:
        """1 where more is better, -1 where it is worse, 0 where the name does not say."""
        name = plain(self.measure)
        if means(ALSO_WORSE, self.measure):
            return -1
        if is_score(name) or means(JUDGED, self.measure):
            return 1
        return -1 if WORSE.search(name) and not re.search(r"time|cost|diff|delta|std|stderr", name) else 0

    @property
    def share(self) -> float:
        """What a whole is in the unit of the measure, 1 or 100; 0 where it is no share."""
        values = [v for of in self.cells.values() for c in of.values() for v in c.values]
        low, high = min(values, default=0.0), max(values, default=0.0)
        return 1.0 if low >= 0 and high <= 1 else 100.0 if low >= 0 and high <= 100 and self._is_share() else 0.0

    def _is_share(self) -> bool:
        return bool(
            re.search(r"rate|acc|pass|share|pct|percent|ratio|f1|(?:^|_)em(?:_|$)|率|占比|%", plain(self.measure))
        )


def measured(tables: Sequence[Table]) -> Iterator[Measured]:
    """Everything that tables measure of two versions or more."""
    for table in tables:
        if 1 <= len(table) <= MOST_ROWS:
            yield from _wide(table)
            yield from _long(table)


def _wide(table: Table) -> Iterator[Measured]:
    """A column for each version, a row for each slice."""
    label = next(
        (c for c in table.columns if c.values.dtype.kind == "O" and len({*texts(c).tolist()}) == len(table)), None
    )
    if label is None or not 2 <= len(table) <= MOST_SLICES:
        return
    stems: dict[str, dict[str, Column]] = {}
    for column in table.columns:
        if column.values.dtype.kind == "f" and (found := _token(column.name)) is not None:
            stems.setdefault(found[1], {})[found[0]] = column
    size = next((c for c in table.columns if SIZE.search(plain(c.name)) and c.values.dtype.kind == "f"), None)
    for stem, of in stems.items():
        if not 2 <= len(of) <= MOST_VERSIONS or SIZE.search(stem):
            continue
        cells: dict[str, dict[str, Cell]] = {}
        for version in _in_order(list(of)):
            for i, name in enumerate(texts(label).tolist()):
                value = float(of[version].values[i])
                if np.isfinite(value):
                    n = float(size.values[i]) if size is not None and np.isfinite(size.values[i]) else 0.0
                    where = _place(table, i, of[version])
                    cells.setdefault(version, {})[str(name)] = Cell([value], n, [where])
        if len(cells) > 1:
            yield Measured(table, stem, label.name, "", cells)


def _token(name: str) -> tuple[str, str] | None:
    """(version, measure) of a column's name; None where it says no version."""
    parts = [p for p in plain(name).split("_") if p]
    for size in (2, 1):
        for at in (0, len(parts) - size):
            word = "_".join(parts[at : at + size]) if len(parts) > size and at >= 0 else ""
            if word and (TOKEN.fullmatch(word) or (size == 1 and (BASE.fullmatch(word) or TRAINED.fullmatch(word)))):
                return word, "_".join(parts[:at] + parts[at + size :])
    return None


def _long(table: Table) -> Iterator[Measured]:
    """A row for each version and slice or seed."""
    version = next(
        (
            c
            for c in table.columns
            if NAMED.search(plain(c.name)) and c.role in ("axis", "group", "measure", "identifier")
        ),
        None,
    )
    if version is None:
        return
    names = [_said(version, i) for i in range(len(table))]
    if not 2 <= len({*names}) <= MOST_VERSIONS or len({*names}) == len(names):
        return
    seed = next((c for c in table.columns if means(SEED, c.name) and c is not version), None)
    labels = [c for c in table.columns if c.values.dtype.kind == "O" and c not in (version, seed)]
    labels = [c for c in labels if 1 < len({*texts(c).tolist()}) <= MOST_SLICES]
    size = next((c for c in table.columns if SIZE.search(plain(c.name)) and c.values.dtype.kind == "f"), None)
    for column in table.of("measure"):
        if column in (version, seed, size) or column.values.dtype.kind != "f" or SIZE.search(plain(column.name)):
            continue
        found: dict[str, dict[str, Cell]] = {}
        slices = [" ".join(said) for said in zip(*(texts(c) for c in labels), strict=True)] or [""] * len(table)
        for i in np.flatnonzero(np.isfinite(column.values)).tolist():
            cell = found.setdefault(names[i], {}).setdefault(slices[i], Cell())
            cell.values.append(float(column.values[i]))
            cell.places.append(_place(table, i, column))
            cell.n = float(size.values[i]) if size is not None and np.isfinite(size.values[i]) else 0.0
        repeated = any(len(c.values) > 1 for of in found.values() for c in of.values())
        if len(found) > 1 and (labels or repeated) and (seed is not None or labels):
            cells = {v: found[v] for v in _in_order(list(found))}
            by = labels[0].name if labels else ""
            yield Measured(table, column.name, by, seed.name if seed else "", cells, version.values.dtype.kind == "f")


def _said(column: Column, i: int) -> str:
    value = column.values[i]
    return f"{value:.10g}" if isinstance(value, float) else str(value).strip()


def _in_order(names: list[str]) -> list[str]:
    """The earlier versions first: by their numbers, or as old and new; else as the file has them."""
    numbers = [re.findall(r"\d+(?:\.\d+)?", n) for n in names]
    if all(numbers) and len({re.sub(r"[\d._]+", "", n) for n in names}) == 1:
        return [n for _, n in sorted(zip(([float(x) for x in some] for some in numbers), names, strict=True))]
    return sorted(names, key=lambda n: not _before(n))


def _before(name: str) -> bool:
    return any(EARLIER.fullmatch(w) or BASE.fullmatch(w) for w in re.split(r"[\W_]+", name.lower()) if w)


def ordered(a: str, b: str) -> bool:
    """Whether one version surely stands before the other."""
    numbers = [[float(x) for x in re.findall(r"\d+(?:\.\d+)?", n)] for n in (a, b)]
    alike = re.sub(r"[\d._]+", "", a) == re.sub(r"[\d._]+", "", b)
    return (all(numbers) and alike and numbers[0] < numbers[1]) or (_before(a) and not _before(b))


def _place(table: Table, row: int, column: Column) -> Evidence:
    return Evidence(table.file, int(table.lines[row]) or None, metric=column.name, value=float(column.values[row]))

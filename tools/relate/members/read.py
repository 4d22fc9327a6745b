"""Families of columns: one measure of several parts, each in a column of its own (`ppl_zh`, `ppl_en`).

Put as a table with rows for each member, so that whatever compares groups compares them too.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...metrics import canonical
from ...patterns import bounded
from ...tables.table import Column, Table
from ...vocabulary import SPLITS
from ..line import plain
from ..summed.words import SPOKEN

LEAST, MOST = 3, 32
"""Members of a family."""
LEAST_ROWS, MOST_CELLS = 6, 200_000
_TOKEN = re.compile(r"[a-z]+|\d+|[一-鿿]+")
_SAME = frozenset((
    *(word.rstrip("*") for word in SPLITS), "train", "training", "min", "max", "mean", "avg", "std", "median", "p50", "p90",
    "p95", "p99", "total", "sum", "all", "chosen", "rejected", "ref", "policy", "best", "last", "final", "new", "old",
    "before", "after", "训练", "验证", "测试", "平均", "最大", "最小", "总", "总体",
))  # fmt: skip
"""Words that tell statistics or sides of one measure apart, and no parts of what is measured."""
CODEC = bounded(r"^(?:cb|codebook|code|q|quantizer|level|rvq|vq|lvl)")
STEMS = {"h": "codebook_entropy", "entropy": "codebook_entropy", "usage": "codebook_usage", "util": "codebook_usage",
         "perplexity": "codebook_perplexity", "ppl": "codebook_perplexity", "nll": "loss", "xe": "loss"}  # fmt: skip
"""What a measure of the levels of a codec is called -> the quantity that it is."""


def families(tables: Sequence[Table]) -> list[Table]:
    """A table of rows for each family of columns."""
    return [made for table in tables if len(table) >= LEAST_ROWS for made in _of(table)]


def _of(table: Table) -> Iterator[Table]:
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    if axis is None or len(set(axis.values.tolist())) < len(table):
        return
    seen: set[str] = set()
    for stem, members in _grouped(table).items():
        some = {label: c for label, c in members.items() if c.name not in seen}
        if LEAST <= len(some) <= MOST and len(table) * len(some) <= MOST_CELLS and not _SAME & some.keys():
            seen |= {c.name for c in some.values()}
            yield _long(table, axis, stem, some)


def _grouped(table: Table) -> dict[str, dict[str, Column]]:
    """(what is measured -> member -> its column) for columns whose names differ in one place only."""
    found: dict[tuple[tuple[str, ...], int], dict[str, Column]] = {}
    for column in table.of("measure"):
        words = _TOKEN.findall(plain(column.name)) if column.values.dtype.kind == "f" else []
        for i in range(len(words) if len(words) > 1 else 0):
            found.setdefault((tuple([*words[:i], "*", *words[i + 1 :]]), i), {})[words[i]] = column
    several = sorted(((len(m), key) for key, m in found.items() if len(m) >= LEAST), reverse=True)
    return {" ".join(w for w in key[0] if w != "*"): found[key] for _, key in several}


def _long(table: Table, axis: Column, stem: str, members: dict[str, Column]) -> Table:
    n, labels = len(table), list(members)
    said = np.empty(n * len(labels), object)
    said[:] = [label for label in labels for _ in range(n)]
    values = np.concatenate([c.values for c in members.values()])
    codes = all(CODEC.search(plain(c.name)) or re.search(r"(?:^|_)q\d", plain(c.name)) for c in members.values())
    kind = "level" if codes and all(label.isdecimal() for label in labels) else (
        "language" if sum(label in SPOKEN for label in labels) * 2 >= len(labels) else "source")  # fmt: skip
    name = stem.replace(" ", "_")
    bare = re.sub(r"(?:^|_)(?:cb|codebook|code|q|quantizer|level|rvq|vq|lvl)(?:_|$)", "_", name).strip("_")
    of = STEMS.get(bare, "") if kind == "level" else ""
    of = of or next((hit[0] for one in (name, bare) if one and (hit := canonical(one))), name)
    columns = (
        Column(axis.name, "axis", axis.of, axis.unit, np.tile(axis.values, len(labels))),
        Column(kind, "group", kind, "", said),
        Column(name, "measure", of, "", values),
    )
    return Table(table.file, f"{table.part} {name} by {kind}".strip(), columns, np.tile(table.lines, len(labels)))

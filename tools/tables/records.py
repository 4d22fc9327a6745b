"""Tables inside nested values of JSON or YAML: lists of records, columns, labels over records, scalars beside them.

Keys of nested records are joined with `.`; a key that labels a row stands in the column `$key`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from ..metrics import TRAINED, of_split, split_named
from ..patterns import bounded
from .raw import TABLES, Raw, Records, short

DEPTH = 12
"""Levels of nesting that are followed."""
KEY = "$key"
VISITS = 2_000_000
"""Values looked at in one file: aliases of YAML make a small file endless."""
_VALUED = frozenset(("values", "value", "y"))
"""Columns that say nothing of what was measured."""
_NUMERIC = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$")

Lines = Callable[[Any], int]
"""The line where a value begins, 0 where it is not known."""


class Walk:
    """The way through one parsed file."""

    def __init__(self, line_of: Lines = lambda value: 0, single: bool = True) -> None:
        self.line_of = line_of
        self.single = single
        """Whether the scalars of one record are a table of one row."""
        self.left = VISITS

    def tables(self, value: Any, path: str = "", depth: int = DEPTH) -> Iterator[Raw]:
        """Every table in a value, the outer ones first."""
        self.left -= 1
        if depth <= 0 or self.left <= 0:
            return
        if isinstance(value, list):
            yield from self._of_list(value, path, depth)
        elif isinstance(value, dict) and value:
            yield from self._of_dict(value, path, depth)

    def _of_dict(self, value: dict[Any, Any], path: str, depth: int) -> Iterator[Raw]:
        for form in (self._split_frame, self._columns, self._labelled, self._numbered, self._stacked):
            found = form(value, path)
            if found is not None:
                yield found
                rest = {k: v for k, v in value.items() if isinstance(v, (dict, list)) and k not in self._used}
                if form == self._columns:
                    yield from self._record(value, path, self._used)
                    for key, inner in rest.items():
                        yield from self.tables(inner, _join(path, key), depth - 1)
                elif form == self._labelled:
                    for key, inner in value.items():
                        if isinstance(inner, dict):
                            yield from self._inner(inner, _join(path, key), depth - 1)
                return
        yield from self._record(value, path, frozenset())
        for key, inner in value.items():
            if isinstance(inner, (dict, list)):
                yield from self.tables_below(inner, _join(path, key), depth - 1)

    def tables_below(self, inner: Any, path: str, depth: int) -> Iterator[Raw]:
        """Tables of a value whose scalars are already told by the record above it."""
        single, self.single = self.single, False
        yield from self.tables(inner, path, depth)
        self.single = single

    def _inner(self, record: dict[Any, Any], path: str, depth: int) -> Iterator[Raw]:
        """Lists of records within a row."""
        for key, value in record.items():
            if isinstance(value, list) and len(value) > 1 and any(isinstance(v, dict) for v in value[:3]):
                yield from self.tables_below(value, _join(path, key), depth - 1)

    _used: frozenset[Any] = frozenset()

    def _split_frame(self, value: dict[Any, Any], path: str) -> Raw | None:
        """`{"columns": [...], "data": [[...], ...]}`, as pandas and others write it."""
        names = next((value[k] for k in ("columns", "header", "headers", "fields") if k in value), None)
        rows = next((value[k] for k in ("data", "rows", "values") if isinstance(value.get(k), list)), None)
        if not isinstance(names, list) or not rows or not all(isinstance(r, list) for r in rows):
            return None
        if not all(isinstance(n, (str, int)) for n in names) or not names:
            return None
        return Raw.of_rows(
            path, [str(n) for n in names], [[_scalar(c) for c in r] for r in rows], map(self.line_of, rows)
        )

    def _columns(self, value: dict[Any, Any], path: str) -> Raw | None:
        """Lists of scalars that are equally long, under their names; or dictionaries by row number."""
        if all(isinstance(v, dict) and v and all(str(k).isdecimal() for k in v) for v in value.values()):
            rows = {str(k) for v in value.values() for k in v}
            wordy = not all(_NUMERIC.match(str(k)) for k in value)
            first = next(iter(value.values()))
            if wordy and len(rows) > 1 and "0" in rows and not any(isinstance(x, (dict, list)) for x in first.values()):
                order = sorted(rows, key=int)
                columns = [[_scalar({str(k): x for k, x in v.items()}.get(i)) for i in order] for v in value.values()]
                self._used = frozenset(value)
                return Raw(path, [str(k) for k in value], columns, [0] * len(order))
        lists = {k: v for k, v in value.items() if isinstance(v, list) and len(v) > 1 and _flat(v)}
        lengths: dict[int, int] = {}
        for found in lists.values():
            lengths[len(found)] = lengths.get(len(found), 0) + 1
        size = max(lengths, key=lambda n: (lengths[n], n), default=0)
        chosen = {k: v for k, v in lists.items() if len(v) == size}
        numeric = any(isinstance(x, (int, float)) for v in chosen.values() for x in v[:5])
        if not numeric or (len(chosen) < 2 and len(value) > 1 and size < 5):
            return None
        self._used = frozenset(chosen)
        names = _measured(map(str, chosen), value, path)
        return Raw(path, names, [list(map(short, v)) for v in chosen.values()], [0] * size)

    def _labelled(self, value: dict[Any, Any], path: str) -> Raw | None:
        """Records under labels: one row for each, where they share their keys."""
        rows = {k: v for k, v in value.items() if isinstance(v, dict)}
        if any(isinstance(v.get(key), list) for v in rows.values() for key in _VALUED.intersection(v)):
            return None
        if not rows or len(rows) * 2 < len(value) or not _alike(list(rows.values()), _join(path, "").strip(".")):
            return None
        table = Records(path)
        for key, record in rows.items():
            if not table.add({KEY: str(key), **flat(record)}, self.line_of(record)):
                break
        return table.raw

    def _stacked(self, value: dict[Any, Any], path: str) -> Raw | None:
        """Lists of alike records under labels, `{"base": [{...}, ...], "tuned": [{...}, ...]}`: one row for each."""
        lists = [v for v in value.values() if isinstance(v, list) and len(v) > 1]
        heads = [v[0] for v in lists if isinstance(v[0], dict)]
        if len(heads) < max(2, len(value)) or len({_keys(head) for head in heads}) > 1:
            return None
        table = Records(path)
        for key, records in value.items():
            for record in records:
                if isinstance(record, dict):
                    row = {k: v for k, v in flat(record).items() if not _nested(v)}
                    if not table.add({KEY: str(key), **row}, self.line_of(record)):
                        return table.raw
        return table.raw

    def _numbered(self, value: dict[Any, Any], path: str) -> Raw | None:
        """Scalars under numbers or dates: `{"100": 2.3, "200": 2.1}`."""
        if len(value) < 3 or any(isinstance(v, (dict, list)) for v in value.values()):
            return None
        if not all(
            _NUMERIC.match(str(k)) or re.match(r"(?:checkpoint|step|epoch|ckpt)?[-_ ]?\d[\d:T. -]*$", str(k))
            for k in value
        ):
            return None
        table = Records(path)
        for key, inner in value.items():
            table.add({KEY: str(key), "value": short(inner)}, 0)
        return table.raw

    def _record(self, value: dict[Any, Any], path: str, used: frozenset[Any]) -> Iterator[Raw]:
        """The scalars of one record, and of records within it that are no tables themselves, as one row."""
        row = flat({k: v for k, v in value.items() if k not in used and not self._is_table(v, _join(path, k))})
        row = {k: v for k, v in row.items() if not isinstance(v, (list, dict)) and v is not None}
        if self.single and sum(isinstance(v, (int, float)) and not isinstance(v, bool) for v in row.values()):
            table = Records(path)
            table.add(row, self.line_of(value))
            table.raw.loose = True
            yield table.raw

    def _is_table(self, value: Any, path: str) -> bool:
        if isinstance(value, list):
            return True
        if not isinstance(value, dict) or not value:
            return False
        inner = [v for v in value.values() if isinstance(v, dict)]
        return (bool(inner) and len(inner) * 2 >= len(value) and _alike(inner, path)) or any(
            isinstance(v, list) and len(v) > 1 and _flat(v) for v in value.values()
        )  # fmt: skip

    def _of_list(self, value: list[Any], path: str, depth: int) -> Iterator[Raw]:
        if not value:
            return
        if all(isinstance(v, dict) for v in value[:50]):
            yield from self._of_records(value, path, depth)
        elif all(isinstance(v, list) for v in value[:50]):
            yield from self._of_lists(value, path, depth)
        elif len(value) > 2 and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value[:1000]):
            yield Raw(path, [path.rsplit(".", 1)[-1] or "0"], [list(value)], [0] * len(value))
        else:
            for i, inner in enumerate(islice(value, 50)):
                yield from self.tables(inner, _join(path, i), depth - 1)

    def _of_records(self, value: list[Any], path: str, depth: int) -> Iterator[Raw]:
        table, inner = Records(path), {}
        for record in value:
            if not isinstance(record, dict):
                continue
            if _VALUED.intersection(record) and (curve := self._columns(record, path)) and len(curve.names) > 1:
                yield curve
                continue
            row = flat(record)
            for key, cell in row.items():
                if isinstance(cell, list) and cell and isinstance(cell[0], (dict, list)):
                    inner[key] = None
            if not table.add({k: v for k, v in row.items() if not _nested(v)}, self.line_of(record)):
                break
        table.raw.loose = len(table.raw) == 1
        if table.raw.names and (len(table.raw) > 1 or self.single or not path or len(table.raw.names) > 1):
            yield table.raw
        for key in inner:
            yield from self._exploded(value, path, key)

    def _exploded(self, value: list[Any], path: str, key: str) -> Iterator[Raw]:
        """The records of a list within records, each with the scalars above it."""
        table = Records(_join(path, key))
        for record in value:
            row = flat(record) if isinstance(record, dict) else {}
            cells = row.get(key)
            above = {k: v for k, v in row.items() if not isinstance(v, list)}
            for one in cells if isinstance(cells, list) else ():
                below = (
                    flat(one) if isinstance(one, dict) else dict(enumerate(one)) if isinstance(one, list) else {"": one}
                )
                row_ = {**above, **{_join(key, k): v for k, v in below.items() if not _nested(v)}}
                if not table.add(row_, self.line_of(one)):
                    break
        if len(table.raw):
            yield table.raw

    def _of_lists(self, value: list[Any], path: str, depth: int) -> Iterator[Raw]:
        rows = [v for v in value if isinstance(v, list)]
        if not any(rows) or any(isinstance(c, (list, dict)) for r in rows[:20] for c in r):
            return
        head = all(isinstance(c, str) and not _NUMERIC.match(c) for c in rows[0]) and len(rows) > 1
        head = head and any(isinstance(c, (int, float)) for c in rows[1])
        names = [str(c) for c in rows[0]] if head else SCALARS if not path and _scalars(rows) else _paired(rows, path)
        if not head and (max(map(len, rows)) > 2000 or len(set(map(len, rows))) > 1):
            return  # a matrix, or lists of their own
        yield Raw.of_rows(path, names, [[_scalar(c) for c in r] for r in rows[head:]], map(self.line_of, rows[head:]))


def _measured(names: Iterable[str], value: Mapping[Any, Any], path: str) -> list[str]:
    """The names of columns, of which one that is called values, beside a counter, is what the record or its key names:
    `{"name": "loss", "context": {"subset": "val"}, "iters": [...], "values": [...]}`, `{"loss": {"x": ..., "y": ...}}`.
    """
    names = list(names)
    told = [v for v in flat(value).values() if isinstance(v, str)]
    own = next((str(value[k]) for k in ("name", "tag", "metric", "key") if isinstance(value.get(k), str)), "")
    above = [own, *reversed(path.split("."))] if own else [*reversed(path.split("."))]
    own = next((name for name in above if name and not (split_named(name) or TRAINED.match(name))), "")
    if len(names) < 2 or not own:
        return names
    own = of_split(own, next(filter(None, map(split_named, (*told, *re.split(r"[./: ]", path)))), ""))
    return [own if name in _VALUED else "step" if name == "x" and "y" in names else name for name in names]


ALONE = ("choices", "candidates")
"""Lists of the answers of a server, of which most requests ask for one."""
_OF_COURSE = bounded(r"[_.-](?:history|curve|log|per_epoch|by_(?:epoch|step)|points|trace|values)$", re.IGNORECASE)
"""What a key says besides the name of a measure: that it is told along the way."""
SCALARS = ["Wall time", "Step", "Value"]
"""How TensorBoard calls the three of a download, which its JSON leaves out."""


def _paired(rows: Sequence[Sequence[Any]], path: str) -> list[str]:
    """The names of `"ndcg_history": [[1, 0.2], [2, 0.5]]`: a count that rises evenly, and what the key says."""
    key = _OF_COURSE.sub("", path.rsplit(".", 1)[-1])
    if not key or len(rows) < 3 or any(len(r) != 2 or not isinstance(r[0], int) for r in rows):
        return []
    strides = {b[0] - a[0] for a, b in pairwise(rows)}
    return ["step", key] if len(strides) == 1 and strides.pop() > 0 else []


def _scalars(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether each row is a time since 1970, a step and a value."""
    return all(
        len(r) == 3 and isinstance(r[0], (int, float)) and r[0] > 1e9 and isinstance(r[1], int) for r in rows[:50]
    )


def flat(record: Mapping[Any, Any], above: str = "", depth: int = DEPTH) -> dict[str, Any]:
    """A record without records in it; lists stay."""
    row: dict[str, Any] = {}
    for key, value in record.items():
        name = _join(above, key)
        if key in ALONE and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        if isinstance(value, dict) and depth and len(row) < 20_000:
            row.update(flat(value, name, depth - 1))
        else:
            row[name] = short(value)
    return row


def _join(path: str, key: Any) -> str:
    return f"{path}.{key}" if path and str(key) else path or str(key)


def _scalar(cell: Any) -> Any:
    return short(cell if cell is None or isinstance(cell, (str, int, float, bool)) else str(cell))


def _nested(cell: Any) -> bool:
    return isinstance(cell, (list, dict))


def _flat(value: Sequence[Any]) -> bool:
    return not any(isinstance(v, (list, dict)) for v in value[:1000])


_CONTAINERS = frozenset(("results", "scores", "tasks", "metrics", "groups", "evals", "benchmarks", "models", "ranks",
                         "gpus", "hosts", "nodes", "checkpoints", "all_results", "experts", "layers"))  # fmt: skip


def _alike(records: list[dict[Any, Any]], path: str) -> bool:
    """Whether records share their keys, so that they are rows and not parts of one record."""
    keys = [_keys(r) for r in records[:200]]
    keys = [k for k in keys if k]
    if not keys:
        return False
    if len(keys) == 1:
        return path.rsplit(".", 1)[-1].lower() in _CONTAINERS
    every = frozenset().union(*keys)
    shared = sum(any(k & other for j, other in enumerate(keys) if j != i) for i, k in enumerate(keys[:50]))
    filled = sum(map(len, keys)) / (len(every) * len(keys))
    return shared * 2 > min(len(keys), 50) and filled > 0.3


def _keys(record: dict[Any, Any]) -> frozenset[Any]:
    """The keys of a record's own scalars, or where it has none of those within it."""
    own = frozenset(k for k, v in record.items() if not isinstance(v, (list, dict)))
    return own or frozenset(k for k, v in flat(record).items() if not isinstance(v, list))


def limited(tables: Iterator[Raw]) -> Iterator[Raw]:
    return islice(tables, TABLES)

"""The store of a run: everything that was read, as tables of a database that can be asked in SQL.

DuckDB, because its engine is the fastest on columns of this size, works out of core and needs no server; it is
imported only here and in the process that answers a query (`tools.store.answering`). The database is a temporary file;
nothing is written beside the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..findings import TriageError, clean
from .answering import GRACE, Limits
from .contents import Part, Repeated

if TYPE_CHECKING:
    import numpy as np

PACKAGE = __package__ or ""
ARROW = {"VARCHAR": "string", "DOUBLE": "float64", "BIGINT": "int64"}


@dataclass(frozen=True)
class Answer:
    """What a query gave."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """JSON-ready, texts cleaned."""
    cut: str = ""
    """Why there are not all rows; empty where there are."""


@dataclass(frozen=True)
class Described:
    """One table of the store, as `triage tables` shows it."""

    name: str
    file: str
    rows: int
    columns: tuple[tuple[str, str, str, str], ...]
    """(name, type, role, range) of each."""
    cut: str = ""


@dataclass(frozen=True)
class Store:
    """A database file of one run."""

    file: Path
    parts: tuple[Part, ...]

    def ask(self, sql: str, limits: Limits | None = None) -> Answer:
        """The rows that one SELECT gives; read only, in a process of its own that ends at its limits.

        Raises:
            TriageError: the query is no single SELECT, wants something outside the store, is wrong, or came to a limit.
        """
        limits = limits or Limits()
        wish = json.dumps({"file": str(self.file), "sql": sql, "limits": limits.__dict__})
        try:
            done = subprocess.run(
                [sys.executable, "-m", f"{PACKAGE}.answering"],
                input=wish.encode("utf-8", "replace"),
                capture_output=True,
                timeout=limits.seconds + GRACE,
            )
        except subprocess.TimeoutExpired:
            raise TriageError(f"the query was stopped: over the limit of {limits.seconds:g} s") from None
        try:
            told = json.loads(done.stdout)
        except ValueError:
            raise TriageError(f"the query was stopped: over the limit of {limits.megabytes} MB of memory") from None
        if "error" in told:
            raise TriageError(clean(told["error"], 1000))
        names = tuple(clean(name, 200) for name in told["columns"])
        return Answer(names, tuple(tuple(map(_shown, row)) for row in told["rows"]), told["cut"])

    def describe(self) -> tuple[Described, ...]:
        """Every table with its columns, their roles and ranges."""
        return tuple(
            Described(
                p.name,
                p.file,
                len(p),
                tuple((n, t, p.roles.get(n, ""), _range(t, v)) for n, (t, v) in p.columns.items()),
                p.cut,
            )
            for p in self.parts
        )


def _shown(value: Any) -> Any:
    return clean(value, 2000) if isinstance(value, str) else value


def _range(type_: str, values: Any) -> str:
    """The least and the greatest value, or how many different texts."""
    if type_ == "VARCHAR":
        different = dict.fromkeys(v for v in values if v)
        some = ", ".join(clean(v, 24) for v in list(different)[:3])
        return f"{len(different)} different: {some}" if len(different) > 3 else some
    import numpy as np

    numbers = _numbers(values)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return ""
    if type_ == "TIMESTAMP":
        low, high = (np.datetime64(int(x), "s") for x in (finite.min(), finite.max()))
        return f"{low} .. {high}"
    return f"{finite.min():.6g} .. {finite.max():.6g}"


@contextmanager
def stored(parts: Iterable[Part]) -> Iterator[Store]:
    """The store of these tables, gone with the block.

    Raises:
        TriageError: there is no room for it.
    """
    import duckdb

    parts = tuple(parts)
    with tempfile.TemporaryDirectory(prefix="triage-store-") as folder:
        file = Path(folder) / "run.duckdb"
        try:
            with duckdb.connect(str(file), config={"python_enable_replacements": "false"}) as made:
                for part in parts:
                    _write(made, part)
        except (duckdb.Error, OSError) as error:
            raise TriageError(f"the store cannot be built: {clean(str(error))}; free some disk or memory") from error
        yield Store(file, parts)


def _write(made: Any, part: Part) -> None:
    import pyarrow as pa

    arrays = {name: _array(type_, values) for name, (type_, values) in part.columns.items()}
    made.register("_given", pa.table(arrays))
    made.execute(f"CREATE TABLE {quoted(part.name)} AS SELECT * FROM _given")
    made.unregister("_given")


def _array(type_: str, values: Any) -> Any:
    """An Arrow array; missing numbers of a table are null, as no sum should meet them."""
    import numpy as np
    import pyarrow as pa

    if type_ == "TIMESTAMP":
        seconds = _numbers(values)
        known = np.isfinite(seconds) & (np.abs(seconds) < 2.0**40)
        return pa.array((np.where(known, seconds, 0) * 1e6).astype(np.int64), mask=~known).cast(pa.timestamp("us"))
    if isinstance(values, Repeated):
        which = pa.array(np.repeat(np.arange(len(values.values), dtype=np.int32), values.times))
        return pa.DictionaryArray.from_arrays(which, pa.array(values.values, type=pa.string()))
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray) and values.dtype.kind in "fi":
        return pa.array(values)
    return pa.array(list(values), type=getattr(pa, ARROW[type_])())


def _numbers(values: Any) -> np.ndarray:
    """Numbers of a column, missing ones NaN."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.array([np.nan if v is None else float(v) for v in values])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

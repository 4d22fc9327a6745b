"""One query against a store, answered in a process of its own: what it may use is bounded from outside the engine too.

Read only, one SELECT, no file, network, extension, setting or system function. Run as
`python -m triage.tools.store.answering` with the wish as JSON on standard input.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GRACE = 3.0
"""Seconds after the limit in which a query may still end by itself."""
SQL_LIMIT = 50_000
"""Characters of a query."""
COLUMNS = 1_000
"""Columns of an answer."""
OUTPUT = 16 << 20
"""Characters of an answer."""
ROW_FUNCTIONS = frozenset(("unnest", "range", "generate_series"))
"""The functions that may stand for a table: none of them looks at anything but its arguments."""
_FORBIDDEN = re.compile(
    r"^(?:current_(?:setting|query)|getvariable|write_log|sleep_ms|nextval|currval|setseed|pg_\w+|read_\w+|glob|getenv"
    r"|json_execute_serialized_sql|duckdb_\w+|pragma_\w+|\w+_scan|query|query_table)$", re.IGNORECASE
)  # fmt: skip
"""Functions that tell of the engine or the machine, wait, or write."""
ENGINE: dict[str, str | bool | int | float | list[str]] = {
    "access_mode": "READ_ONLY",
    "enable_external_access": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_persistent_secrets": "false",
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
    "threads": "2",
}


@dataclass(frozen=True)
class Limits:
    """What a query may use."""

    seconds: float = 20.0
    megabytes: int = 600
    rows: int = 10_000


class Refused(Exception):
    """A query that is not answered, with the reason."""


def allowed(parser: Any, sql: str) -> None:
    """Look at a query without running it.

    Raises:
        Refused: it is not one SELECT, or uses a function that reaches out of the store.
    """
    if len(sql) > SQL_LIMIT:
        raise Refused(f"over the limit of {SQL_LIMIT} characters for a query")
    statements = parser.extract_statements(sql)
    kinds = [str(s.type).rpartition(".")[2] for s in statements]
    if kinds != ["SELECT"]:
        raise Refused(f"only one SELECT is answered, this is {' and '.join(kinds) or 'empty'}; the store is read only")
    [[tree]] = parser.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    told = json.loads(tree)
    if told.get("error"):
        raise Refused(f"only one SELECT is answered: {told.get('error_message', 'this is none')}")
    for name, rows in called(told):
        if (rows and name not in ROW_FUNCTIONS) or _FORBIDDEN.match(name):
            raise Refused(f"the function {name} is not allowed: it reaches out of the store")


def called(tree: Any) -> Iterator[tuple[str, bool]]:
    """The functions in a parsed query, and whether each stands for a table."""
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, dict):
            name = node.get("function_name")
            if isinstance(name, str) and name:
                yield name.lower(), rows
            table = node.get("type") == "TABLE_FUNCTION"
            waiting += [(one, table and key == "function") for key, one in node.items()]
        elif isinstance(node, list):
            waiting += [(one, False) for one in node]


def answer(file: str, sql: str, limits: Limits) -> dict[str, Any]:
    """Columns and rows, JSON-ready; the query is interrupted at its time."""
    import threading

    import duckdb

    memory: dict[str, str | bool | int | float | list[str]] = {"memory_limit": f"{limits.megabytes}MB"}
    try:
        with duckdb.connect(file, read_only=True, config=ENGINE | memory) as store:
            allowed(store, sql)
            store.execute("SET lock_configuration = true")
            timer = threading.Timer(limits.seconds, store.interrupt)
            timer.daemon = True
            timer.start()
            found = store.execute(sql)
            columns = [str(d[0]) for d in found.description or ()]
            if len(columns) > COLUMNS:
                raise Refused(f"over the limit of {COLUMNS} columns")
            return {"columns": columns} | _rows(found, limits.rows)
    except duckdb.InterruptException:
        raise Refused(f"the query was stopped: over the limit of {limits.seconds:g} s") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise Refused(f"the query was stopped: over the limit of {limits.megabytes} MB of memory") from None
    except duckdb.Error as error:
        raise Refused(str(error)) from None


def _rows(found: Any, most: int) -> dict[str, Any]:
    rows: list[list[Any]] = []
    size = 0
    while more := found.fetchmany(500):
        for row in more:
            if len(rows) >= most:
                return {"rows": rows, "cut": f"over the limit of {most} rows"}
            rows.append([_plain(value) for value in row])
            size += sum(len(v) for v in rows[-1] if isinstance(v, str))
            if size > OUTPUT:
                return {"rows": rows[:-1], "cut": f"over the limit of {OUTPUT} characters"}
    return {"rows": rows, "cut": ""}


def _plain(value: Any) -> Any:
    """A value as JSON has it: numbers and truth as they are, numbers that are not finite and all else as text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else str(value)
    return str(value)


def _bounded(limits: Limits) -> None:
    """Limits of the process itself, for what the engine does not count: memory, time, and not one byte written."""
    import resource

    room = (limits.megabytes + 400) << 20  # the interpreter and the engine need some themselves
    for what, most in (
        (resource.RLIMIT_DATA, room),
        (resource.RLIMIT_CPU, int(limits.seconds * 2 + GRACE)),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def main() -> None:
    wish = json.loads(sys.stdin.buffer.read())
    limits = Limits(**wish["limits"])
    _bounded(limits)
    try:
        told = answer(wish["file"], wish["sql"], limits)
    except Refused as refused:
        told = {"error": str(refused)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()

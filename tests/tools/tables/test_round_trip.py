"""A table written in any format reads back equal."""

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triage.tools.tables.read import read_tables

NAMES = ("loss", "grad_norm", "val", "temp", "kl", "显存", "队列长度", "free form")
HOSTS = ("node1", "node2", "gpu-07", "worker-3")
Rows = list[list[int | float | str]]


def rows_of(names: list[str], numbers: list[list[float]], hosts: list[str]) -> tuple[list[str], Rows]:
    pairs = enumerate(zip(numbers, hosts, strict=True), 1)
    return ["step", *names, "host"], [[10 * i, *row, host] for i, (row, host) in pairs]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], Rows]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    size = draw(st.integers(3, 12))
    number = st.integers(-99_999, 99_999).map(lambda n: n / 100 + 0.001)
    numbers = draw(st.lists(st.lists(number, min_size=len(names), max_size=len(names)), min_size=size, max_size=size))
    hosts = draw(st.lists(st.sampled_from(HOSTS), min_size=size, max_size=size))
    return rows_of(names, numbers, hosts)


def parted(separator: str, encoding: str = "utf-8", mark: str = ".", quoting=csv.QUOTE_MINIMAL):
    def write(path: Path, names: list[str], rows: Rows) -> None:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=separator, quoting=quoting)
        writer.writerow(names)
        writer.writerows([[str(c).replace(".", mark) for c in row] for row in rows])
        path.write_bytes(out.getvalue().encode(encoding))

    return write


def records(names: list[str], rows: Rows) -> list[dict]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def columns(names: list[str], rows: Rows) -> dict[str, list]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def as_text(make: Callable[[list[str], Rows], str]):
    return lambda path, names, rows: path.write_text(make(names, rows), "utf-8")


def markdown(names: list[str], rows: Rows) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "# Results\n\n" + "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n\nThe end.\n"


def box(names: list[str], rows: Rows) -> str:
    rule = "+" + "+".join("-" * 14 for _ in names) + "+"
    body = ["|" + "|".join(f" {c!s:<13}" for c in row) + "|" for row in [names, *rows]]
    return "\n".join([rule, body[0], rule, *body[1:], rule]) + "\n"


def aligned(names: list[str], rows: Rows) -> str:
    return "\n".join("  ".join(f"{c!s:>14}" for c in row) for row in [names, *rows]) + "\n"


def sqlite(path: Path, names: list[str], rows: Rows) -> None:
    base = sqlite3.connect(path)
    base.execute(f"CREATE TABLE t ({', '.join(json.dumps(n, ensure_ascii=False) for n in names)})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    base.commit()
    base.close()


def parquet(path: Path, names: list[str], rows: Rows) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns(names, rows)), path)


def feather(path: Path, names: list[str], rows: Rows) -> None:
    import pyarrow as pa
    from pyarrow import feather as file

    file.write_feather(pa.table(columns(names, rows)), str(path))


def npz(path: Path, names: list[str], rows: Rows) -> None:
    np.savez(path, **{n: np.array(c) for n, c in columns(names, rows).items()})


FORMATS = {
    "comma.csv": parted(","),
    "quoted.csv": parted(",", quoting=csv.QUOTE_ALL),
    "tab.tsv": parted("\t"),
    "bar.txt": parted("|"),
    "decimal-comma.csv": parted(";", mark=","),
    "bom.csv": parted(",", "utf-8-sig"),
    "wide.csv": parted("\t", "utf-16"),
    "chinese.csv": parted(",", "gb18030"),
    "array.json": as_text(lambda n, r: json.dumps(records(n, r), indent=1)),
    "lines.jsonl": as_text(lambda n, r: "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in records(n, r))),
    "columns.json": as_text(lambda n, r: json.dumps(columns(n, r))),
    "split.json": as_text(lambda n, r: json.dumps({"columns": n, "data": r})),
    "frame.json": as_text(lambda n, r: json.dumps({k: dict(enumerate(v)) for k, v in columns(n, r).items()})),
    "list.yaml": as_text(lambda n, r: yaml.safe_dump(records(n, r), allow_unicode=True)),
    "notes.md": as_text(markdown),
    "box.txt": as_text(box),
    "aligned.txt": as_text(aligned),
    "base.db": sqlite,
    "table.parquet": parquet,
    "table.feather": feather,
    "arrays.npz": npz,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_round_trip(tmp_path, name, table):
    names, rows = table
    path = tmp_path / name
    path.unlink(missing_ok=True)
    FORMATS[name](path, names, rows)
    (found,) = read_tables(path, name)
    assert sorted(c.name for c in found.columns) == sorted(names)
    for column in found.columns:
        values = [row[names.index(column.name)] for row in rows]
        if column.name == "host":
            assert list(column.values) == values
        else:
            assert np.allclose(column.values, np.array(values, float), rtol=1e-12), column.name
    assert found.columns[[c.name for c in found.columns].index("step")].role == "axis"
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]

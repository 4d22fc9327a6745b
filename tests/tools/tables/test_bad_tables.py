"""Files that are no good table: rows or a reason, in bounded memory, and nothing beside the file."""

import json
import os
import sqlite3

import numpy as np
import pytest

from triage.tools.findings import TriageError
from triage.tools.tables import raw
from triage.tools.tables.read import read_tables


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    tables = read_tables(path, name)
    assert os.listdir(tmp_path) == [name]
    return tables


def test_ragged_rows(tmp_path):
    (table,) = read(tmp_path, "a.csv", "step,loss,lr\n1,2.3\n2,2.2,1e-4,extra\n3\n4,2.1,1e-4\n")
    assert list(table.get("step").values) == [1, 2, 3, 4]
    assert np.allclose(table.get("loss").values, [2.3, 2.2, np.nan, 2.1], equal_nan=True)


def test_ten_thousand_columns(tmp_path):
    header = ",".join(f"c{i}" for i in range(10_000))
    (table,) = read(tmp_path, "a.csv", header + "\n" + "\n".join(",".join(["1.5"] * 10_000) for _ in range(3)))
    assert len(table.columns) == 10_000
    assert len(table) == 3


def test_mixed_types(tmp_path):
    """A word among a hundred numbers is a hole; as many words as numbers are text."""
    lines = [f"{i},{'failed' if i == 50 else i / 10},{'x' if i % 2 else i}" for i in range(100)]
    (table,) = read(tmp_path, "a.csv", "step,loss,odd\n" + "\n".join(lines))
    roles = {c.name: c.role for c in table.columns}
    assert roles["loss"] == "measure"
    assert roles["odd"] != "measure"
    assert np.flatnonzero(np.isnan(table.get("loss").values)).tolist() == [50]


def test_a_nan_that_was_written_is_no_hole(tmp_path):
    (table,) = read(tmp_path, "a.csv", "step,loss\n1,2.3\n2,nan\n3,\n4,NaN\n")
    assert table.get("loss").nans.tolist() == [1, 3]


def test_the_header_again(tmp_path):
    (table,) = read(tmp_path, "a.csv", "step,loss\n1,2.3\n2,2.2\nstep,loss\n1,2.4\n2,2.3\n")
    assert list(table.get("step").values) == [1, 2, 1, 2]
    assert table.lines.tolist() == [2, 3, 5, 6]


def test_two_tables_in_one_file(tmp_path):
    first, second = read(tmp_path, "a.csv", "step,loss\n1,2.3\n2,2.2\n\nhost,temp,power\nn1,60,300\nn2,61,310\n")
    assert [c.name for c in first.columns] == ["step", "loss"]
    assert [c.name for c in second.columns] == ["host", "temp", "power"]


def test_a_line_of_a_megabyte(tmp_path):
    (table,) = read(tmp_path, "a.md", "| a | b |\n|---|---|\n| 1 | " + "x" * 1_000_000 + " |\n| 2 | y |\n")
    assert list(table.columns[0].values) == [1, 2]
    assert all(len(v) <= raw.CELL for v in table.columns[1].values)


def test_an_unclosed_quote(tmp_path):
    (table,) = read(
        tmp_path, "a.csv", 'step,loss,text\n1,2.0,"open\n' + "".join(f"{i},1.9,ok\n" for i in range(2, 500))
    )
    assert len(table) == 499


def test_a_quoted_cell_of_several_lines(tmp_path):
    (table,) = read(tmp_path, "a.csv", 'step,text\n1,"one\ntwo"\n2,three\n3,four\n')
    assert table.lines.tolist() == [2, 4, 5]


def test_too_many_cells(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.tools.tables.delimited.CELLS", 3000)
    (table,) = read(tmp_path, "a.csv", "step,loss\n" + "".join(f"{i},2.0\n" for i in range(5000)))
    assert len(table) < 2000
    assert "over the limit of 3,000 cells" in table.cut


def test_json_that_breaks_off(tmp_path):
    whole = json.dumps({"log_history": [{"step": i, "loss": 2.0} for i in range(50)]})
    (table,) = read(tmp_path, "a.json", whole[:-40])
    assert 40 < len(table) < 50
    assert "breaks off" in table.cut


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", "[" * 100_000 + "]" * 100_000),
        ("a.json", "{'a': 1"),
        ("a.yaml", "a: [1, 2\nb: }"),
        ("a.db", b"SQLite format 3\0" + b"\x00\xff" * 5000),
        ("a.parquet", b"PAR1" + b"\0" * 100 + b"PAR1"),
        ("a.npz", b"PK\x03\x04 nonsense"),
        ("a.npy", b"\x93NUMPY\x01\x00" + b"\xff" * 50),
        ("a.ipynb", "{"),
    ],
)
def test_a_reason(tmp_path, name, data):
    with pytest.raises(TriageError):
        read(tmp_path, name, data)


def test_objects_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", steps=np.arange(3.0), bad=np.array([{"a": 1}, 2, 3], object))
    (table,) = read_tables(tmp_path / "a.npz", "a.npz")
    assert [c.name for c in table.columns] == ["steps"]


def test_aliases_of_yaml_end(tmp_path):
    levels = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
    read(tmp_path, "a.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\n" + levels)


def test_a_database_that_is_being_written(tmp_path):
    """What is in the journal beside it is read too, and both stay as they are."""
    base = sqlite3.connect(tmp_path / "a.db")
    base.execute("PRAGMA journal_mode = wal")
    base.execute("CREATE TABLE metrics (step INT, loss REAL)")
    base.executemany("INSERT INTO metrics VALUES (?, ?)", [(i, 2 - i / 100) for i in range(100)])
    base.commit()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != ".db-shm"}
    (table,) = read_tables(tmp_path / "a.db", "a.db")
    assert len(table) == 100
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != ".db-shm"} == before
    base.close()


def test_virtual_tables_and_views_are_left_alone(tmp_path):
    base = sqlite3.connect(tmp_path / "a.db")
    base.execute("CREATE TABLE t (step, loss)")
    base.execute("INSERT INTO t VALUES (1, 2.0)")
    base.execute("CREATE VIEW v AS SELECT randomblob(1000000000) AS x")
    base.execute("CREATE VIRTUAL TABLE f USING fts5(text)")
    base.commit()
    base.close()
    assert "t" in {t.part for t in read_tables(tmp_path / "a.db", "a.db")}


def test_long_texts_count():
    """Text is bounded as cells are: the first rows are kept, and the limit is named."""
    table = raw.Records(cells=2000)
    taken = sum(table.add({"step": i, "text": "word " * 200}) for i in range(1000))
    assert 50 < taken < 200
    assert "over the limit" in table.raw.cut

"""A query reads the store of its run and nothing else, and ends at its limits."""

import os
import resource

import numpy as np
import pytest

from triage.tools.findings import TriageError
from triage.tools.store import contents
from triage.tools.store.answering import Limits
from triage.tools.store.store import stored
from triage.tools.tables.table import Column, Table

SECRET = "hf_" + "A" * 34


@pytest.fixture(scope="module")
def store():
    numbers, words = np.arange(1000.0), np.array([f"row {i}" for i in range(999)] + [f"token {SECRET}"], dtype=object)
    table = Table(
        "gpu.csv",
        "",
        (
            Column("step", "axis", "step", "", numbers),
            Column("power\x1b[31m_w", "measure", "power", "W", np.where(numbers == 3, np.nan, numbers)),
            Column("note", "text", "note", "", words),
        ),
        np.arange(2, 1002),
    )
    with stored([contents.files_part([("gpu.csv", "table", "", 1000, 1000)]), *contents.table_parts([table])]) as made:
        yield made


WRITES = [
    "insert into gpu_csv values (1, 2, 'x', 3)",
    "insert into gpu_csv values (1, 2, 'x', 3) returning *",
    "update gpu_csv set step = 0",
    "delete from gpu_csv",
    "drop table gpu_csv",
    "create table more as select 1",
    "create temp table more as select 1",
    "create view more as select 1",
    "create macro more() as 1",
    "alter table gpu_csv add column x int",
    "merge into gpu_csv using files on true when matched then delete",
    "truncate gpu_csv",
    "begin; delete from gpu_csv; commit",
    "select 1; drop table gpu_csv",
]
OUTSIDE = [
    "attach '/tmp/other.db' as other",
    "copy gpu_csv to '/tmp/triage-stolen.csv'",
    "copy gpu_csv from '/etc/passwd'",
    "export database '/tmp/triage-stolen'",
    "import database '/tmp'",
    "install httpfs",
    "load httpfs",
    "select * from read_csv('/etc/passwd')",
    "select * from \"read_text\"('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from 'https://example.org/x.parquet'",
    "select * from read_parquet('s3://bucket/x')",
    "select * from glob('/etc/*')",
    "select (select content from read_blob('/etc/hostname'))",
    "select * from query('select * from read_text(''/etc/passwd'')')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from arrow_scan(1, 2, 3)",
    "select * from duckdb_settings()",
    "select current_setting('temp_directory')",
    "select * from json_execute_serialized_sql('{}')",
]
SETTINGS = [
    "set memory_limit = '64GB'",
    "reset memory_limit",
    "set enable_external_access = true",
    "pragma database_list",
    "pragma enable_profiling",
    "call pragma_version()",
    "checkpoint",
    "use memory",
    "prepare p as select 1",
    "explain analyze delete from gpu_csv",
]


@pytest.mark.parametrize("query", [*WRITES, *OUTSIDE, *SETTINGS, "", "no sql at all", "select " + "(" * 5000])
def test_nothing_but_one_select_over_the_store_is_answered(store, query):
    before = store.file.read_bytes()
    with pytest.raises(TriageError) as told:
        store.ask(query, Limits(seconds=5))
    assert "\n" not in str(told.value)
    assert "root:" not in str(told.value)
    assert store.file.read_bytes() == before
    assert not os.path.exists("/tmp/triage-stolen.csv")


ENDLESS = [
    "with recursive r as (select 1 a union all select a + 1 from r) select max(a) from r",
    "select count(*) from range(100000000000)",
    "select sum(a.step * b.step) from gpu_csv a, gpu_csv b, gpu_csv c, gpu_csv d",
    "select levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
    "select sleep_ms(100000)",
]
HUGE = [
    "select range(1000000000)",
    "select length(repeat('x', 3000000000))",
    "select list(a.step) from gpu_csv a, gpu_csv b, gpu_csv c",
    "select string_agg(repeat('x', 1000000), '') from gpu_csv",
    "select list_sort(range(300000000))",
]


@pytest.mark.parametrize("query", [*ENDLESS, *HUGE])
def test_an_endless_or_huge_query_ends_at_its_limits(store, query):
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # KiB, of whatever else the tests started
    with pytest.raises(TriageError):
        store.ask(query, Limits(seconds=2, megabytes=300))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(largest, 1 << 20)


def test_rows_beyond_the_limit_are_cut_and_said_to_be(store):
    found = store.ask("select * from range(1000000000)", Limits(rows=5))
    assert len(found.rows) == 5
    assert "over the limit of 5 rows" in found.cut


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("select count(*), max(step) from gpu_csv", ((1000, 999.0),)),
        ("with a as (select 1 x) select x from a", ((1,),)),
        ("from files select file, read_as", (("gpu.csv", "table"),)),
        ("values (1, 'a')", ((1, "a"),)),
        ("select unnest([1, 2])", ((1,), (2,))),
        ("select sum(range) from range(4)", ((6,),)),
        ("select 'nan'::double, 1e308 * 10", (("nan", "inf"),)),
        ("select count(*) from gpu_csv where power_w is null", ((1,),)),
        ("select name from (show tables) order by 1", (("files",), ("gpu_csv",))),
    ],
)
def test_what_is_asked_of_the_store_is_answered(store, query, rows):
    found = store.ask(query)
    assert (found.rows, found.cut) == (rows, "")


@pytest.mark.parametrize(
    "shape", ["note", "reverse(note)", "substr(note, 1, 12) || '|' || substr(note, 13)", "upper(note)"]
)
def test_a_secret_does_not_come_out_whole_or_in_parts(store, shape):
    [[said]] = store.ask(f"select {shape} from gpu_csv where step = 999").rows
    assert "AAAAAAAA" not in said.upper()


def test_names_and_values_come_out_without_control_characters(store):
    found = store.ask("select *, chr(27) || 'x' as dressed from gpu_csv limit 1")
    assert all(name.isprintable() for name in found.columns)
    assert str(found.rows[0][-1]).isprintable()


def test_the_store_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    with stored([contents.files_part([])]) as made:
        assert made.ask("select count(*) from files").rows == ((0,),)
        assert made.file.is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_are_described_with_roles_and_ranges(store):
    [files, gpu] = store.describe()
    assert (gpu.name, gpu.file, gpu.rows) == ("gpu_csv", "gpu.csv", 1000)
    assert [c[2:] for c in gpu.columns][:2] == [("axis", "0 .. 999"), ("measure power (W)", "0 .. 999")]
    assert files.rows == 1

"""`triage tables` lists what was read, `triage sql` asks it, `triage scan` says what was not."""

import csv
import io
import json

import pytest
from making import fill
from typer.testing import CliRunner

from triage.ui.cli import app

LOG = "".join(f"step {i} loss {3 - i / 100:.3f} grad_norm 1.0\n" for i in range(40))


@pytest.fixture
def run(tmp_path):
    rows = "\n".join(f"{i},{400 + i}" for i in range(20))
    return fill(tmp_path, {"train.log": LOG, "gpu.csv": f"step,power_w\n{rows}\n", "run-1.wandb": b"broken"})


def told(*words, code=0):
    done = CliRunner().invoke(app, list(map(str, words)))
    assert (done.exit_code, done.exception if code == 0 else None) == (code, None), done.output
    return done.output


def test_tables_are_listed_with_rows_roles_and_ranges(run):
    text = told("tables", run)
    assert "gpu_csv: 20 rows, of gpu.csv" in text
    assert "400 .. 419" in text
    whole = json.loads(told("tables", run, "--json"))
    [gpu] = [t for t in whole["tables"] if t["file"] == "gpu.csv"]
    assert (whole["schema"], gpu["rows"], gpu["columns"][0]["role"]) == ("triage.tables/1", 20, "axis")


@pytest.mark.parametrize("query", ["select count(*) n, max(power_w) top from gpu_csv"])
def test_a_query_is_answered_as_text_csv_and_json(run, query):
    assert told("sql", run, query).split() == ["n", "top", "20", "419"]
    assert list(csv.reader(io.StringIO(told("sql", run, query, "--csv")))) == [["n", "top"], ["20", "419.0"]]
    assert json.loads(told("sql", run, query, "--json")) == {
        "schema": "triage.rows/1", "columns": ["n", "top"], "rows": [[20, 419.0]], "cut": None,
    }  # fmt: skip


def test_rows_are_limited_and_it_is_said(run):
    found = json.loads(told("sql", run, "select * from series", "--json", "--rows", "3"))
    assert (len(found["rows"]), found["cut"]) == (3, "over the limit of 3 rows")


def test_the_scan_says_what_was_read_and_what_was_not(run):
    done = CliRunner().invoke(app, ["scan", str(run)])
    assert "Files: 2 of 3 read; not read: run-1.wandb" in done.output
    account = json.loads(CliRunner().invoke(app, ["scan", str(run), "--json"]).output)["summary"]["coverage"]
    assert {c["file"]: c["read_as"] for c in account} == {"train.log": "log", "gpu.csv": "table", "run-1.wandb": None}

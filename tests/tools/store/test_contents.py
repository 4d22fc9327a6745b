"""What a run holds stands in its store as tables of plain columns, safe to show."""

from math import nan

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.agent.store import store_of
from triage.tools.documents.event import Claim, Event
from triage.tools.series import Series
from triage.tools.store import contents
from triage.tools.store.store import stored
from triage.tools.tables.table import Column, Table

LOG = "".join(f"step {i} loss {3 - i / 100:.3f} grad_norm 1.0\n" for i in range(40))


def table(name, part="", **columns):
    made = tuple(Column(k, "measure", k, "", np.array(v, dtype=float)) for k, v in columns.items())
    return Table(name, part, made, np.arange(2, 2 + len(next(iter(columns.values())))))


def test_series_keep_their_points_places_and_what_is_not_finite():
    found = [
        Series("loss", "lm_loss", np.array([1, 2]), np.array([2.5, nan]), np.array([7, 8]), "a.log", rank=3),
        Series("wobble", "wobble", np.array([5]), np.array([1.0]), np.array([2]), "b.csv", axis="time", group="gpu=1"),
        Series("empty", "empty", np.array([], int), np.array([]), np.array([], int), "c.csv"),
    ]
    with stored([contents.series_part(found)]) as store:
        rows = store.ask('select metric, key, unit, axis, "at", value, "group", file, line, rank from series').rows
    assert rows == (
        ("loss", "lm_loss", "", "step", 1, 2.5, "", "a.log", 7, 3),
        ("loss", "lm_loss", "", "step", 2, "nan", "", "a.log", 8, 3),
        ("wobble", "wobble", "", "time", 5, 1.0, "gpu=1", "b.csv", 2, None),
    )


def test_events_and_claims_stand_with_step_time_and_value():
    events = [Event("config", "lr 1 -> 2", "CHANGES.md", 3, 57000, 86400.0, "learning_rate", "1", "2")]
    claims = [Claim("global_batch_size", 16.8e6, "tokens", "GBS = 16.8M tokens", "plan.md", 6)]
    with stored([contents.events_part(events), contents.claims_part(claims)]) as store:
        assert store.ask('select what, step, "at", variable, new from events').rows == (
            ("config", 57000, "1970-01-02 00:00:00", "learning_rate", "2"),
        )
        assert store.ask("select value, unit, line from claims").rows == ((16.8e6, "tokens", 6),)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([("gpu.csv", "")], ["gpu_csv"]),
        ([("a/gpu.csv", ""), ("a-gpu.csv", "")], ["a_gpu_csv", "a_gpu_csv_2"]),
        ([("7.csv", ""), ("结果.csv", ""), ("!!", "")], ["t_7_csv", "csv", "t"]),
        ([("series", ""), ("run.db", "latency")], ["series_2", "run_db_latency"]),
    ],
)
def test_tables_have_names_that_need_no_quotes(given, names):
    assert [p.name for p in contents.table_parts(table(f, part, x=[1]) for f, part in given)] == names


def test_columns_of_one_name_and_of_odd_names_are_told_apart():
    columns = tuple(Column(n, "measure", n, "", np.array([1.0])) for n in ("A", "a", "line", 'x"; drop', "\x1b[1m"))
    with stored(contents.table_parts([Table("t.csv", "", columns, np.array([2]))])) as store:
        found = store.ask("select * from t_csv")
    assert len(set(map(str.lower, found.columns))) == len(found.columns) == 6
    assert found.rows[0][-1] == 2


def test_a_table_beyond_the_limit_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(contents, "ROWS", 3)
    [part] = contents.table_parts([table("t.csv", x=range(9))])
    assert (len(part), part.cut) == (3, "over the limit of 3 rows")
    assert contents.series_part([Series("loss", "loss", *[np.arange(9)] * 3, "a.log")]).cut


def test_a_run_is_asked_whole(tmp_path):
    (tmp_path / "train.log").write_text(LOG)
    (tmp_path / "gpu.csv").write_text("step,power_w\n1,400\n2,410\n")
    (tmp_path / "config.yaml").write_text("learning_rate: 1e-4\nmax_steps: 40\n")
    (tmp_path / "CHANGES.md").write_text("- step 20: two nodes replaced\n")
    (tmp_path / "eval_results.json").write_text('{"mmlu": {"acc": 0.61, "n": 100}}')
    with store_of(look([tmp_path])) as store:
        assert {"files", "series", "settings", "events", "claims", "scores", "findings", "gpu_csv"} <= {
            t.name for t in store.describe()
        }
        asked = {
            "select count(*) from series where metric = 'loss'": 40,
            "select value from settings where variable = 'learning_rate'": "0.0001",
            "select step from events": 20,
            "select value from scores": 61.0,
            "select max(power_w) from gpu_csv": 410.0,
            "select count(*) from files where read_as is not null": 5,
            "select count(*) from findings where code = 'run-healthy'": 2,
        }
        assert {sql: store.ask(sql).rows[0][0] for sql in asked} == asked

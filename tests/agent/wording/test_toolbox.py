# ruff: noqa: E501  (calls are read as a table)
"""Tools that look: what they show of real files, that they open nothing else, and that they end."""

import json
import re
import time
from contextlib import closing

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask, index
from triage.agent.wording.ledger import Ledger
from triage.agent.wording.toolbox import LONGEST, Toolbox
from triage.tools.findings import TriageError
from triage.tools.looking.calc import calc

SECRET = "hf_" + "aB3dE6gH" * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    base = tmp_path_factory.mktemp("looking")
    run = base / "run"
    (run / "a").mkdir(parents=True)
    (run / "b").mkdir()
    rows = [{"step": i, "loss": 5 - i / 100, "data_time": 0.04 if i < 200 else 0.8} for i in range(1, 400)]
    (run / "a" / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (run / "b" / "train.jsonl").write_text("\n".join(json.dumps(r | {"loss": 4.0}) for r in rows))
    (run / "train.py").write_text(f"import os\n# sync_weights(actor)\nTOKEN = '{SECRET}'\n" + "x = 1\n" * 200)
    (run / "one.cfg").write_text("lr = 1\nseed = 3\n")
    (run / "two.cfg").write_text("lr = 2\nseed = 3\n")
    (run / "blob.xyz").write_text("note: rank 3 reads the old list\n")
    (base / "outside.log").write_text("OUTSIDE loss nan\n" * 20)
    (run / "link.log").symlink_to(base / "outside.log")
    return run


@pytest.fixture(scope="module")
def box(run):
    box = Toolbox(look([run]), index)
    yield box
    box.close()


def test_the_columns_that_a_query_is_told_of_are_there(box):
    told = re.search(r"series\(([^;]*);", Toolbox.sql.__doc__)[1]
    assert '"at"' in told
    assert box.call("sql", {"query": f"select {told} from series limit 1"}).count("\n") == 1


def test_every_file_is_listed_and_read_by_its_listed_name(box):
    listed = box.call("files", {})
    assert "train.py" in listed
    assert "blob.xyz: NOT READ" in listed
    assert "blob.xyz:1: note: rank 3 reads the old list" in box.call("read", {"file": "blob.xyz"})
    assert "train.py:2: # sync_weights(actor)" in box.call("grep", {"pattern": r"sync_\w+"})


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside.log", "link.log", "a/../../outside.log", "", "a"])
def test_no_other_path_is_opened(box, run, name):
    for tool, args in (("read", {"file": name}), ("grep", {"pattern": ".", "file": name or "/"}),
                       ("compare", {"first": name, "second": "one.cfg"})):  # fmt: skip
        said = box.call(tool, args)
        assert "OUTSIDE" not in said
        assert "root:" not in said


def test_a_secret_is_masked_in_every_result(box):
    for tool, args in (("read", {"file": "train.py"}), ("grep", {"pattern": "TOKEN"})):
        assert SECRET not in box.call(tool, args)
        assert "TOKEN" in box.call(tool, args)


def test_results_are_bounded_and_say_so(box):
    said = box.call("read", {"file": "train.py", "first": 1, "last": 10_000})
    assert said.count("\n") < 80
    assert len(box.call("grep", {"pattern": "step", "file": "a/train.jsonl"})) <= LONGEST + 60
    assert "over the limit of 30 rows" in box.call("sql", {"query": "select * from series"})


def test_grep_counts_and_shows_the_first_and_the_last(box):
    said = box.call("grep", {"pattern": '"data_time": 0.8', "file": "a/train.jsonl"})
    assert "a/train.jsonl: 200 lines match" in said
    assert ":200:" in said
    assert ":399:" in said
    assert "no line matches" in box.call("grep", {"pattern": "nowhere to be found"})


def test_a_pattern_that_would_backtrack_takes_no_time_and_a_bad_one_is_refused(box):
    start = time.monotonic()
    box.call("grep", {"pattern": r"(x+x+)+y|(a|aa)+$"})
    assert time.monotonic() - start < 5
    assert "refused" in box.call("grep", {"pattern": "("})


def test_changes_and_two_files_are_told(box):
    assert "0.04 to 0.8 at step 200" in box.call("relate", {"metric": "data_time"})
    assert "no measure" in box.call("relate", {"metric": "nothing"})
    sides = box.call("compare", {"first": "a", "second": "b"})
    assert "loss: 399 points" in sides
    assert "against" in sides
    assert box.call("compare", {"first": "one.cfg", "second": "two.cfg"}).splitlines() == ["-lr = 1", "+lr = 2"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run with a nested program, long rows, a counter of many digits, a drift and a level in the hundred thousands."""
    run = tmp_path_factory.mktemp("written")
    (run / "loop.py").write_text(
        "class Loop:\n    def step(self):\n        if self.ready:\n\t\tself.push()\n        return 1\n"
    )
    (run / "job.yaml").write_text("sampling:\n  temperature: 0.7\ntop_k: 40\n")
    rows = [{"text": "word " * 120, "mark": f"end-{i}"} for i in range(2)]
    (run / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rows = [{"step": i, "samples": i * 1_048_583, "weight_norm": 7123.4561 + i / 1000, "gap": 0.002 * i + 0.01 * (i % 3),
             "rate": (512_000 if i < 150 else 128_000) + 700 * (i % 5), "flat": 3.0 + 0.1 * (i % 4)} for i in range(300)]  # fmt: skip
    (run / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    box = Toolbox(look([run]), index)
    yield box
    box.close()


def test_a_line_is_read_as_far_in_as_it_stands(written):
    said = written.call("read", {"file": "loop.py"}).splitlines()
    assert said[1:3] == ["loop.py:2:     def step(self):", "loop.py:3:         if self.ready:"]
    assert said[3] == "loop.py:4:         self.push()"
    assert "job.yaml:2:   temperature: 0.7" in written.call("read", {"file": "job.yaml"})
    assert "job.yaml:3: top_k: 40" in written.call("read", {"file": "job.yaml"})
    assert "  loop.py:5:         return 1" in written.call("grep", {"pattern": "return"})


def test_of_few_lines_more_of_each_is_read_and_a_result_stays_bounded(written, box):
    both = written.call("read", {"file": "answers.jsonl"})
    assert "end-0" in both
    assert "end-1" in both
    assert len(both) <= LONGEST
    assert max(map(len, box.call("read", {"file": "train.py"}).splitlines())) < 330


def test_a_query_shows_whole_numbers_whole_and_others_to_eight_digits(written):
    said = written.call("sql", {"query": "select samples, weight_norm from train_jsonl where step in (7, 9)"})
    assert said.splitlines()[1:] == ["7340081 | 7123.4631", "9437247 | 7123.4651"]
    assert "0.1" in written.call("sql", {"query": "select 0.1::float as x"}).splitlines()[1:]


def test_an_empty_query_lists_the_tables_with_their_columns_and_ranges(written, box):
    said = written.call("sql", {"query": " "})
    assert re.search(r"^train_jsonl \(train.jsonl, 300 rows\): step DOUBLE \(0 \.\. 299\), samples", said, re.M)
    assert "findings" not in said
    with closing(Toolbox(look([box.look.run.root / "one.cfg"]), index)) as bare:
        assert bare.call("sql", {"query": ""}) == "no file was read as a table"


@pytest.mark.parametrize(
    ("column", "names", "last"),
    [("device", ("d0", "d1", "d2", "d3"), 61.5), ("host", ("alpha", "beta", "gamma"), 70.25)],
)
def test_a_measure_of_many_groups_is_one_row_that_names_the_ones_at_the_ends(tmp_path, column, names, last):
    rows = [
        f"{60 * i},{n},{40 + j if n != names[1] or i < 9 else last}" for i in range(10) for j, n in enumerate(names)
    ]
    (tmp_path / "use.csv").write_text("\n".join([f"seconds,{column},used_gib", *rows]))
    [row] = [text for text in _measured(tmp_path) if "used_gib" in text]
    assert f"{10 * len(names)} points in {len(names)} groups ({column}={names[0]} to {column}={names[-1]})" in row
    assert (
        f"lowest 40, highest {last:g}, at the end from 40 ({column}={names[0]}) to {last:g} ({column}={names[1]})"
        in row
    )


def test_two_groups_and_a_measure_without_any_have_rows_of_their_own(tmp_path):
    rows = [f"{i},{n},{40 + i}" for i in range(10) for n in ("left", "right")]
    (tmp_path / "use.csv").write_text("\n".join(["step,side,used_gib", *rows]))
    (tmp_path / "train.jsonl").write_text(
        "\n".join(json.dumps({"step": i, "loss": 2.5, "pairs_seen": i * 1_048_583}) for i in range(1, 40))
    )
    told = _measured(tmp_path)
    assert sum("used_gib: 10 points" in text for text in told) == 2
    assert any(text.startswith("pairs_seen: 39 points, step 1 to 39, first 1048583, last 40894737") for text in told)
    assert not any("groups" in text for text in told)


def _measured(run):
    """The rows of the ledger on what a run measures."""
    return [row.text for row in Ledger.of(ask("what is wrong?", [run])).rows.values() if row.id[0] == "M"]


def test_a_drift_is_told_as_one_and_levels_in_plain_digits(written):
    assert re.search(
        r"gap: no lasting change, rises all along, 0\.0\d+ first, 0\.5\d+ last",
        written.call("relate", {"metric": "gap"}),
    )
    assert re.search(r"rate falls from 51\d{4} to 12\d{4} at step 150", written.call("relate", {"metric": "rate"}))
    flat = written.call("relate", {"metric": "flat"})
    assert flat.startswith("flat: no lasting change, 3.")
    assert "all along" not in flat


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [("shell", {"cmd": "id"}, "there is no tool"), ("read", {}, "bad arguments"), ("read", {"file": "one.cfg", "first": "x"}, "bad arg"),
     ("sql", {"query": "drop table files"}, "only one SELECT"), ("sql", {"query": "select * from read_csv('/etc/passwd')"}, "not allowed"),
     ("calc", {"expression": "__import__('os')"}, "not arithmetic"), ("read", {"file": "one.cfg", "first": 99}, "no line 99")],
)  # fmt: skip
def test_a_bad_call_is_told_why(box, name, args, says):
    assert says in box.call(name, args)


def test_without_a_run_there_is_the_runbook_and_arithmetic():
    box = Toolbox(None, index)
    assert "no run was given" in box.call("files", {})
    assert "loss-nan" in box.call("runbook", {"words": "loss is nan"})
    assert box.call("calc", {"expression": "2 * 3"}).endswith("= 6")


@pytest.mark.parametrize(
    ("expression", "result"),
    [("2048 * 512 tokens", "1048576 token"), ("80 GiB - 40 GB", "4.589934592e+10 B (42.75 GiB, 45.9 GB)"), ("3.2 h / 400", "28.8 s"),
     ("12 % * 50", "6"), ("sqrt(16) + 1", "5"), ("1e6 tokens / (2 s)", "500000 token/s"), ("-(2 ^ 10)", "-1024"), ("min(3 s, 2 s)", "2 s")],
)  # fmt: skip
def test_arithmetic_with_units(expression, result):
    assert calc(expression).said() == result


@pytest.mark.parametrize(
    "expression",
    ["1 s + 2 GiB", "9 ** 9 ** 9", "1 / 0", "a.b", "().__class__", "1 if 1 else 2", "[1][0]", "",
     "1" * 400, "'a' * 3", "lambda: 1", "2 ** (1 s)", "exp(10000)", "log(-1)", "f(1)"],
)  # fmt: skip
def test_what_is_not_arithmetic_is_refused(expression):
    with pytest.raises(TriageError):
        calc(expression)

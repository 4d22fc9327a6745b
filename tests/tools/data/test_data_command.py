# ruff: noqa: E501  (cases are rows of a table)
"""`triage data`: exit status, JSON, files written, and errors that name the next step."""

import json
import random

import pytest
from making import prose, write
from typer.testing import CliRunner

from triage.tools.findings import TriageError
from triage.ui.cli import app


def run(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


@pytest.fixture
def data(tmp_path):
    rng = random.Random(1)
    texts = [prose(rng, 50) for _ in range(100)]
    rows = [{"prompt": t[:60], "completion": t} for t in texts + texts[:10]]
    write(tmp_path / "train.jsonl", rows)
    (tmp_path / "eval.jsonl").write_text(
        "".join(
            json.dumps({"question": t}) + "\n" for t in texts[40:42] + ["Is an unseen question here at all today?"] * 1
        )
    )
    return tmp_path


def test_dedup_writes_the_contract_summary_pairs_and_a_clean_copy(data):
    done = run("dedup", data / "train.jsonl", "--against", data / "eval.jsonl", "--pairs", data / "p.jsonl",
               "--write", data / "c.jsonl", "--removed", data / "r.jsonl", "--sample", data / "s.jsonl", "--json")  # fmt: skip
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer["schema"] == "triage.findings/1"
    summary = answer["summary"]
    assert {k: summary[k] for k in ("exact_duplicates", "near_duplicates", "near_duplicate_rate", "leaked", "threshold")} == {
        "exact_duplicates": 10, "near_duplicates": 0, "near_duplicate_rate": 0.0, "leaked": 2, "threshold": 0.8}  # fmt: skip
    assert summary["leak_rate"] == pytest.approx(2 / 3)
    assert "records" in summary["unit"]
    pairs = [json.loads(line) for line in (data / "p.jsonl").read_text().splitlines()]
    assert sorted(p["kind"].split("-")[0] for p in pairs) == ["exact"] * 10 + ["leak"] * 2
    assert all({"file", "line"} <= p["a"].keys() & p["b"].keys() for p in pairs)
    assert len((data / "c.jsonl").read_text().splitlines()) == 98
    rules = [json.loads(line)["rule"] for line in (data / "r.jsonl").read_text().splitlines()]
    assert rules.count("exact-duplicate") == 10
    assert sum(r.startswith("eval-leakage") for r in rules) == 2


def test_a_labelled_sample_gives_the_false_positive_rate(data):
    run("dedup", data / "train.jsonl", "--sample", data / "s.jsonl")
    rows = [json.loads(line) for line in (data / "s.jsonl").read_text().splitlines()]
    assert [r["label"] for r in rows] == [""] * 10
    labelled = [r | {"label": "different" if i == 0 else "duplicate"} for i, r in enumerate(rows)]
    write(data / "s.jsonl", labelled)
    done = run("dedup", data / "train.jsonl", "--labels", data / "s.jsonl", "--json")
    assert json.loads(done.stdout)["summary"]["review"]["false_positive_rate"] == 0.1


@pytest.mark.parametrize("command", ["check", "dedup", "pii", "preference", "generations", "labels"])
def test_clean_data_exits_with_zero(data, command):
    path = data / "clean.jsonl"
    path.write_text("".join((data / "train.jsonl").read_text().splitlines(keepends=True)[:100]))
    done = run(command, path)
    assert done.exit_code == 0, done.stdout
    assert any(said in done.stdout for said in ("Nothing wrong found.", "Nothing was judged")), done.stdout


def test_the_report_draws_the_histogram(data):
    assert run("check", data / "train.jsonl", "--html", data / "h.html").exit_code == 0
    assert "records by estimated tokens" in (data / "h.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.jsonl"], "no such file"),
        (["dedup", "train.jsonl", "--unit", "byte"], "use auto, char or word"),
        (["dedup", "train.jsonl", "--write", "c.jsonl"], "go together"),
        (["dedup", "train.jsonl", "--write", "train.jsonl", "--removed", "r.jsonl"], "never edited in place"),
        (["check", "train.jsonl", "--engine", "spark"], "`local` or `ray`"),
        (["check", "train.jsonl", "--recipe", "han"], "han=0.5"),
        (["check", "train.jsonl", "--recipe", "klingon=1"], "known are"),
        (["preference", "train.jsonl", "--level", "high"], "nominal"),
        (["codebook", "train.jsonl"], "no codes"),
    ],
)
def test_bad_usage_names_the_next_step(data, monkeypatch, arguments, message):
    monkeypatch.chdir(data)
    with pytest.raises(TriageError, match=message):
        raise run(*arguments).exception

"""Files that hold what a program printed of its metrics, old result files, and items that are no steps."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.relate.scores.compared import related
from triage.tools.tables.read import read_tables
from triage.tools.tables.series import series_of


@pytest.mark.parametrize(
    "text",
    [
        "{'meteor': 0.31, 'em': 0.2}\n",
        "412:{'meteor': 0.31, 'em': np.float64(0.2)}\n",
        "dev: {'meteor': tensor(0.31), 'em': 0.2}\ntest: {'meteor': 0.30, 'em': nan}\n",
    ],
)
def test_measures_that_were_printed_as_a_mapping_are_a_table(tmp_path, text):
    (tmp_path / "scored").write_text(text)
    (table,) = read_tables(tmp_path / "scored", "scored")
    assert table.get("meteor").values[0] == pytest.approx(0.31)


@pytest.mark.parametrize(
    "text",
    [
        "The run of Monday\nwas started by hand\nwith {'lr': 1, 'bs': 2}\nand went well\n",
        "{'prompt': 'a text that is far longer than any label would be, and tells nothing', 'a': 1, 'b': 2}\n",
    ],
)
def test_prose_and_records_of_texts_are_none(tmp_path, text):
    (tmp_path / "note.txt").write_text(text)
    assert not [t for t in read_tables(tmp_path / "note.txt", "note.txt") if t.get("bs") or t.get("b")]


@pytest.mark.parametrize("config", [{"batch_size": 8, "model": "hf"}, {"seed": 3, "temperature": 0.1}])
def test_a_result_with_its_setup_behind_it_is_a_result(tmp_path, config):
    told = {"results": {"anli_r1": {"acc": 0.33, "acc_stderr": 0.01}}, "versions": {"anli_r1": 0}, "config": config}
    (tmp_path / "m7_anli.json").write_text(json.dumps(told, indent=2))
    (tmp_path / "settings.json").write_text(json.dumps({"results": {"dir": {"path": "x"}}, **config}))
    kinds = {a.name: a.kind for a in discover(tmp_path).artifacts}
    assert kinds["m7_anli.json"] == "eval"
    assert kinds.get("settings.json") != "eval"


def test_items_with_names_and_verdicts_are_no_steps_of_a_reward(tmp_path):
    rows = [{"window_id": 7 * i, "account": f"a{i}", "score": 20 + i % 3, "flagged": i % 4 == 0} for i in range(40)]
    (tmp_path / "alerts.json").write_text(json.dumps(rows))
    curve = [{"step": 7 * i, "score": 20 + i % 3} for i in range(40)]
    (tmp_path / "curve.json").write_text(json.dumps(curve))
    assert [s for t in read_tables(tmp_path / "alerts.json", "alerts.json") for s in series_of(t)] == []
    assert [s for t in read_tables(tmp_path / "curve.json", "curve.json") for s in series_of(t)]


def shots(folder, name, n, acc):
    told = {"results": {f"task{i}": {"acc": acc + 0.01 * i, "acc_stderr": 0.005} for i in range(6)},
            "config": {"model": "hf", "model_args": "pretrained=/m/small", "num_fewshot": n}}  # fmt: skip
    (folder / name).write_text(json.dumps(told, indent=1))
    return read_tables(folder / name, name)


def test_shots_that_the_names_of_the_files_say_were_meant_to_differ(tmp_path):
    meant = [*shots(tmp_path, "a_0-shot.json", 0, 0.3), *shots(tmp_path, "a_5shots.json", 5, 0.4)]
    assert not {f.code for f in related(meant)} & {"same-weights-scored-apart", "eval-settings-differ"}
    slipped = [*shots(tmp_path, "before.json", 0, 0.3), *shots(tmp_path, "after.json", 5, 0.4)]
    assert {f.code for f in related(slipped)} & {"same-weights-scored-apart", "eval-settings-differ"}

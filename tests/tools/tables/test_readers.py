"""What each family of formats is read as."""

import json

import numpy as np
import pytest

from triage.tools.tables.cells import Marks, marks, number, understand
from triage.tools.tables.read import read_tables

SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              66W / 400W |      4MiB / 81920MiB   |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0F:00.0 Off |                    0 |
| N/A   74C    P0             396W / 400W |  80000MiB / 81920MiB   |    100%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""


def read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return read_tables(tmp_path / name, name)


def roles(table):
    return {c.name: (c.role, c.of) for c in table.columns}


def test_the_box_of_nvidia_smi(tmp_path):
    (table,) = read(tmp_path, "smi.txt", SMI)
    assert roles(table)["GPU"] == ("group", "gpu")
    used = next(c for c in table.columns if c.name == "Memory-Usage")
    assert (list(used.values), used.unit) == ([4, 80000], "MiB")
    assert list(table.get("gpu_utilization").values) == [0, 1]
    assert table.lines.tolist() == [8, 12]


def test_a_notebook(tmp_path):
    html = "<table><tr><th></th><th>model</th><th>acc</th></tr><tr><th>0</th><td>a</td><td>0.5</td></tr></table>"
    outputs = [
        {"output_type": "execute_result", "data": {"text/html": [html], "text/plain": ["  model acc\n0 a 0.5"]}},
        {"output_type": "stream", "text": ["| step | loss |\n", "|---|---|\n", "| 1 | 2.3 |\n", "| 2 | 2.2 |\n"]},
        {"output_type": "stream", "text": ["Downloading: 100%|####| 3/3 [00:01<00:00]\n"]},
    ]
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "outputs": outputs}]})
    frame, printed = read(tmp_path, "a.ipynb", text)
    assert (frame.part, roles(frame)["acc"]) == ("cell 1", ("measure", "accuracy"))
    assert roles(printed)["step"] == ("axis", "step")


def test_records_within_records(tmp_path):
    runs = [{"tp": tp, "latency": {"p50": 10.0 * tp, "p99": 20.0 * tp}} for tp in (1, 2, 4)]
    (table,) = read(tmp_path, "a.json", json.dumps({"server": "x", "runs": runs}))
    assert roles(table)["latency.p50"][0] == "measure"
    assert table.part == "runs"


def test_lists_within_records_are_told_with_what_stands_above(tmp_path):
    runs = [{"name": n, "points": [{"step": i, "loss": 2.0 + i} for i in range(3)]} for n in ("a", "b")]
    tables = read(tmp_path, "a.json", json.dumps(runs))
    inner = next(t for t in tables if t.part == "points")
    assert roles(inner) == {
        "name": ("group", "name"),
        "points.step": ("axis", "step"),
        "points.loss": ("measure", "loss"),
    }


def test_alike_lists_under_labels_are_one_table(tmp_path):
    answers = {side: [{"prompt": f"q{i}", "rating": i % 5} for i in range(6)] for side in ("before", "after")}
    (table,) = read(tmp_path, "a.json", json.dumps(answers))
    assert (len(table), [c.name for c in table.columns]) == (12, ["$key", "prompt", "rating"])
    other = {"questions": [{"prompt": "q"}, {"prompt": "r"}], "ratings": [{"score": 1}, {"score": 2}]}
    assert all(len(t) == 2 for t in read(tmp_path, "b.json", json.dumps(other)))


def test_the_lines_of_a_document(tmp_path):
    rows = [{"step": i, "text": "a\n{b", "loss": 1.0} for i in range(3)]
    (table,) = read(tmp_path, "a.json", json.dumps({"log": rows}, indent=1))
    assert table.lines.tolist() == [3, 8, 13]


def test_a_configuration_is_no_result(tmp_path):
    assert read(tmp_path, "a.json", json.dumps({"hidden_size": 4096, "num_layers": 32, "norm_eps": 1e-5})) == ()


def test_a_result_in_one_record(tmp_path):
    (table,) = read(tmp_path, "a.json", json.dumps({"epoch": 2.0, "eval_loss": 1.5, "eval_runtime": 3.0}))
    assert list(table.get("eval_loss").values) == [1.5]


def test_the_header_of_a_tracker_with_the_run_before_it(tmp_path):
    (table,) = read(tmp_path, "a.csv", '"Step","run-a - train/loss"\n"10","2.3"\n"20","2.2"\n')
    assert roles(table)["run-a - train/loss"] == ("measure", "loss")


def test_a_download_of_one_metric(tmp_path):
    text = "Wall time,Step,Value\n1714564800.12,10,2.3\n1714564860.12,20,2.2\n1714564920.12,30,2.1\n"
    (table,) = read(tmp_path, "run-a-tag-train_loss.csv", text)
    assert [(c.role, c.of) for c in table.columns] == [("axis", "time"), ("axis", "step"), ("measure", "loss")]


@pytest.mark.parametrize("name", ["exp3_validation-tag-epoch_loss.csv", "run-exp3_validation-tag-loss.csv"])
def test_a_download_of_one_metric_of_a_split(tmp_path, name):
    (table,) = read(tmp_path, name, "Wall time,Step,Value\n1714564800.12,10,2.3\n1714564860.12,20,2.2\n")
    assert table.columns[2].of == "eval_loss"


def test_a_scrape(tmp_path):
    text = (
        '# TYPE running gauge\nrunning{model="a"} 3\nrunning{model="b"} 4\n# TYPE lat histogram\n'
        'lat_bucket{model="a",le="0.5"} 9\nlat_bucket{model="a",le="+Inf"} 12\nlat_sum{model="a"} 3.5\n'
    )
    plain, buckets = read(tmp_path, "metrics.txt", text)
    assert [c.name for c in plain.columns] == ["model", "running", "lat_sum"]
    assert next(c for c in buckets.columns if c.name == "le").role in ("axis", "group")


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12,345.6 MiB", 12345.6, "MiB"),
        ("1 234 567", 1234567, ""),
        ("1'234.5", 1234.5, ""),
        ("93 %", 93, "%"),
        ("66W / 400W", 66, "W"),
        ("0.51 ± 0.02", 0.51, ""),
        ("0.51±0.02", 0.51, ""),
        ("0.512 (0.01)", 0.512, ""),
        ("12.3k", 12300, ""),
        ("1.2万", 12000, ""),
        ("-1.5e-4", -1.5e-4, ""),
        ("−3", -3, ""),
        ("7.3*", 7.3, ""),
    ],
)
def test_numbers(text, value, unit):
    found = number(text)
    assert found is not None
    assert (pytest.approx(found[0]), found[1]) == (value, unit)


@pytest.mark.parametrize("text", ["3/4", "2024-05-01", "abc", "v1.2.3", "1.2.3", "10.0.0.1", ""])
def test_no_numbers(text):
    assert number(text) is None


def test_the_decimal_mark_is_decided_by_all_cells():
    assert marks([["1,5", "2,25"], ["1.234,5"]]) == Marks(comma=True)
    assert marks([["1,234", "2,345"], ["1,234.5"]]) == Marks(comma=False)
    assert marks([["1,234"]]) == Marks(comma=False)
    assert marks([["1,234"]], likely=True) == Marks(comma=True)


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-05-01T12:00:00Z", "2024-05-01T12:00:10Z"],
        ["2024-05-01 14:00:00+02:00", "2024-05-01 14:00:10+02:00"],
        ["2024/05/01 12:00:00.000", "2024/05/01 12:00:10.000"],
        ["2024-05-01 12:00:00,000", "2024-05-01 12:00:10,000"],
        ["01.05.2024 12:00:00", "01.05.2024 12:00:10"],
        ["05/01/2024 12:00:00 PM", "05/01/2024 12:00:10 PM"],
        ["Wed May  1 12:00:00 2024", "Wed May  1 12:00:10 2024"],
        ["01/May/2024:12:00:00 +0000", "01/May/2024:12:00:10 +0000"],
        ["20240501-120000", "20240501-120010"],
        ["2024年5月1日 12时00分00秒", "2024年5月1日 12时00分10秒"],
    ],
)
def test_points_of_time(texts):
    found = understand(texts, Marks())
    assert found.what == "time"
    assert found.numbers.tolist() == [1714564800, 1714564810]


def test_the_day_may_stand_first():
    assert understand(["13/05/2024", "14/05/2024"], Marks()).numbers.tolist() == [1715558400, 1715644800]


@pytest.mark.parametrize(
    ("text", "seconds"), [("1-02:03:04", 93784), ("00:12:33", 753), ("5m20s", 320), ("3d2h", 266400)]
)
def test_spans_of_time(text, seconds):
    found = understand([text, text], Marks())
    assert found.what == "span"
    assert found.numbers.tolist() == [seconds, seconds]


def test_milliseconds_since_the_epoch(tmp_path):
    (table,) = read(tmp_path, "a.csv", "timestamp,temp\n1714564800000,60\n1714564801000,61\n")
    assert np.allclose(table.get("time").values, [1714564800, 1714564801])


def test_units_go_to_the_metrics_own(tmp_path):
    (table,) = read(tmp_path, "a.csv", "step,step time (ms),mem(MiB),acc\n1,500,2048,61%\n2,600,4096,62%\n")
    assert [(c.of, c.unit, c.values[0]) for c in table.columns[1:]] == [
        ("step_time", "s", 0.5),
        ("gpu_memory", "GiB", 2),
        ("accuracy", "1", 0.61),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_clock_in_the_first_cell_does_not_cut_the_rows(tmp_path, separator):
    rows = [["zeit", "build", "call", "out", "why"]]
    rows += [[f"1{i % 4}:{i:02d}:0{i % 9}Z", f"b{i % 2}", f"{i * 7919:08x}", str(40 + i), "eos"] for i in range(30)]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(separator.join(r) for r in rows) + "\n")
    assert [[c.name for c in t.columns] for t in read_tables(path, path.name)] == [rows[0]]


def test_lines_that_only_colons_part_are_still_a_table(tmp_path):
    path = tmp_path / "users.csv"
    path.write_text("\n".join(["name:group:size", *(f"n{i}:g{i % 3}:{i * 11}" for i in range(12))]) + "\n")
    assert [[c.name for c in t.columns] for t in read_tables(path, path.name)] == [["name", "group", "size"]]


def test_words_of_sentences_in_quotes_are_no_cells(tmp_path):
    """Sentences of one build have as many blanks in every line as a table would."""
    rows = "".join(
        f'q{i}?,"The answer {i} has {i} parts, and each is told.","The answer {i} has {i} parts."\n' for i in range(8)
    )
    (tmp_path / "replies.csv").write_text("q,base,tuned\n" + rows)
    (table,) = read_tables(tmp_path / "replies.csv", "replies.csv")
    assert [c.name for c in table.columns] == ["q", "base", "tuned"]


@pytest.mark.parametrize(
    ("name", "text", "measures"),
    [
        ("base_eval_result", "812:{'rouge1': 0.21, 'rougeL': 0.18}\n", {"rouge1", "rougeL"}),
        ("report.txt", "{'bleu': 11.5, 'chrf': 40.1}\n{'bleu': np.float64(12.5), 'chrf': 41.0}\n", {"bleu", "chrf"}),
    ],
)
def test_results_as_python_shows_them(tmp_path, name, text, measures):
    (table,) = read(tmp_path, name, text)
    assert measures <= {c.name for c in table.columns}
    assert len(table) == text.count("{")


@pytest.mark.parametrize(
    "text",
    ["The scores are {'bleu': 11.5, 'chrf': 40.1} as you see.\nNothing more.\n", "{'name': 'a', 'kind': 'b'}\n",
     "{'bleu': 1.5, 'chrf': 2.5}\nand then we stopped\n"],
)  # fmt: skip
def test_a_dictionary_in_prose_is_no_table(tmp_path, text):
    assert "bleu" not in {c.name for table in read(tmp_path, "notes.txt", text) for c in table.columns}


def test_pairs_of_a_count_and_a_number_are_a_curve(tmp_path):
    text = json.dumps({"rank": 4, "ndcg_history": [[1, 0.2], [2, 0.41], [3, 0.5]], "box": [[3, 0.2], [1, 0.4], [9, 1]]})
    parts = {table.part: roles(table) for table in read(tmp_path, "info.json", text)}
    assert parts["ndcg_history"]["step"] == ("axis", "step")
    assert "ndcg" in parts["ndcg_history"]
    assert "step" not in parts.get("box", {})

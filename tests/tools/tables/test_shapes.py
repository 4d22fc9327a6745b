"""Tables of every shape, English and Chinese, with what their columns are for."""

import numpy as np
import pytest

from triage.tools.tables.read import read_tables

ROLES = ("axis", "group", "measure", "identifier", "text")
SHAPES = {
    "comma.csv": (
        "step,loss,lr,rank\n1,2.5,1e-4,0\n2,2.4,1e-4,0\n1,2.51,1e-4,1\n2,2.41,1e-4,1\n",
        {"axis": {"step": "step"}, "group": {"rank": "rank"}, "measure": {"loss": "loss", "lr": "learning_rate"}},
    ),
    "decimal-comma.csv": (
        "step;loss;temperature\n100;2,345;61,5\n200;2,210;62,0\n300;1.234,5;60,5\n",
        {"axis": {"step": "step"}, "measure": {"loss": "loss", "temperature": "temperature"}},
    ),
    "chinese.csv": (
        '步数,训练损失,吞吐(tok/s),节点\n100,2.3,"12,345",node1\n200,2.1,"12,300",node2\n300,2.0,"12,311",node1\n',
        {
            "axis": {"步数": "step"},
            "group": {"节点": "host"},
            "measure": {"训练损失": "loss", "吞吐(tok/s)": "tokens_per_second"},
        },
    ),
    "no-header.csv": (
        "100,2.3,0.1\n200,2.2,0.2\n300,2.1,0.2\n400,2.0,0.2\n",
        {"axis": {"0": "step"}, "measure": {"1": "1", "2": "2"}},
    ),
    "header-in-the-middle.csv": (
        "Report\nGenerated: 2024-05-01\n\nmodel,task,acc\nllama,mmlu,0.5\nllama,gsm8k,0.3\n"
        "qwen,mmlu,0.6\nqwen,gsm8k,0.4\n",
        {"group": {"model": "variant", "task": "task"}, "measure": {"acc": "accuracy"}},
    ),
    "header-as-comment.dat": (
        "# run 7\n# step loss grad_norm\n1 2.3 0.5\n2 2.2 0.6\n3 2.1 0.7\n",
        {"axis": {"step": "step"}, "measure": {"loss": "loss", "grad_norm": "grad_norm"}},
    ),
    "long.csv": (
        "step,metric,value\n1,loss,2.3\n1,acc,0.1\n2,loss,2.2\n2,acc,0.2\n",
        {"axis": {"step": "step"}, "group": {"metric": "metric"}, "measure": {"value": "value"}},
    ),
    "units.csv": (
        "timestamp, index, utilization.gpu [%], power.draw [W]\n2024/05/01 12:00:00.123, 0, 93 %, 300.12 W\n"
        "2024/05/01 12:00:00.125, 1, 13 %, 100.12 W\n2024/05/01 12:00:05.123, 0, 93 %, [N/A]\n",
        {"axis": {"timestamp": "time"}, "group": {"index": "gpu"}},
    ),
    "history.json": (
        '{"best": null,\n "log_history": [\n {"step":1,"loss":2.3,"epoch":0.1},\n {"step":2,"loss":2.2,"epoch":0.2}]}',
        {"axis": {"step": "step", "epoch": "epoch"}, "measure": {"loss": "loss"}},
    ),
    "columns.json": (
        '{"step":[1,2,3],"loss":[2.3,2.2,2.1],"name":"x"}',
        {"axis": {"step": "step"}, "measure": {"loss": "loss"}},
    ),
    "labelled.json": (
        '{"results":{"arc":{"acc":0.7,"n":100},"hellaswag":{"acc":0.5,"n":90}},"config":{"model":"hf"}}',
        {"group": {"$key": "task"}, "measure": {"acc": "accuracy", "n": "n"}},
    ),
    "lines.jsonl": (
        '{"step":1,"train":{"loss":2.3}}\n{"step":2,"train":{"loss":2.2}}\n',
        {"axis": {"step": "step"}, "measure": {"train.loss": "loss"}},
    ),
    "list.yaml": (
        "- step: 1\n  loss: 2.3\n- step: 2\n  loss: 2.1\n",
        {"axis": {"step": "step"}, "measure": {"loss": "loss"}},
    ),
    "notes.md": (
        "# Results\n\nSome text, with | bar.\n\n"
        "| Model | MMLU (%) |\n|---|---:|\n| a | 56.3 |\n| b | 57.1 |\n\nprose\n",
        {"group": {"Model": "variant"}, "measure": {"MMLU (%)": "MMLU (%)"}},
    ),
    "dmon.txt": (
        "# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n"
        "    0     43     35      0\n    1     42     31      0\n"
        "    0     44     35      1\n",
        {"group": {"gpu": "gpu"}, "measure": {"pwr": "pwr", "gtemp": "gtemp", "sm": "sm"}},
    ),
    "sacct.txt": (
        "JobID           JobName      State    Elapsed\n------------ ---------- ---------- ----------\n"
        "1234              train  COMPLETED   01:02:03\n1235              train     FAILED   00:02:03\n"
        "1235.batch        batch              00:02:03\n",
        {"identifier": {"JobID": "JobID"}, "measure": {"Elapsed": "Elapsed"}, "text": {"State": "State"}},
    ),
    "pods.txt": (
        "NAME           READY   STATUS             RESTARTS       AGE\n"
        "trainer-0      1/1     Running            0              3d2h\n"
        "trainer-1      0/1     CrashLoopBackOff   12 (5m ago)    3d2h\n",
        {"measure": {"RESTARTS": "RESTARTS", "AGE": "AGE"}, "text": {"STATUS": "STATUS", "READY": "READY"}},
    ),
    "box.txt": (
        "┌──────┬───────┐\n│ rank │ loss  │\n├──────┼───────┤\n│ 0    │ 2.31  │\n│ 1    │ 2.33  │\n└──────┴───────┘\n",
        {"group": {"rank": "rank"}, "measure": {"loss": "loss"}},
    ),
    "metrics.prom": (
        '# TYPE running gauge\nrunning{engine="0"} 3.0\nrunning{engine="1"} 4.0\n# TYPE waiting gauge\n'
        'waiting{engine="0"} 0\nwaiting{engine="1"} 7\n',
        {"group": {"engine": "variant"}, "measure": {"running": "running", "waiting": "waiting"}},
    ),
    "bench.txt": (
        "====== Serving Result ======\n"
        "Successful requests:     1000\nDuration (s):     57.81\nTotal tokens:   369103\n",
        {"measure": {"Successful requests": "Successful requests", "Duration (s)": "Duration (s)"}},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_roles(tmp_path, name):
    text, expected = SHAPES[name]
    (tmp_path / name).write_text(text)
    tables = read_tables(tmp_path / name, name)
    said = [{role: {c.name: c.of for c in t.of(role)} for role in ROLES} for t in tables]
    assert any(all(table[r].items() >= names.items() for r, names in expected.items()) for table in said), said


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gbk"])
def test_encodings(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("步数,损失\n1,2.3\n2,2.1\n3,2.0\n".encode(encoding))
    (table,) = read_tables(tmp_path / "a.csv", "a.csv")
    assert [(c.role, c.of) for c in table.columns] == [("axis", "step"), ("measure", "loss")]
    assert np.array_equal(table.lines, [2, 3, 4])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "prose.txt",
            "This is a note, which has commas, and more.\nThe run was fine, we think.\nAnother line, here.\n",
        ),
        ("conf.yaml", "model: x\nlr: 1e-4\ntrain:\n  steps: 3\n"),
        ("empty.csv", ""),
        ("program.py", "a, b = 1, 2\nc, d = 3, 4\n"),
        ("words.md", "# Title\n\n- one\n- two\n"),
    ],
)
def test_no_table(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_tables(tmp_path / name, name) == ()

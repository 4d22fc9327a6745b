"""The field that an error misses, looked up in the records of the run's own data."""

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.logs.named import look_up


def looked(tmp_path, error, files):
    said = Finding("data-schema-mismatch", Severity.S0, "", "", (Evidence("train.log", 9, text=error),))
    run = discover(fill(tmp_path / "run", {"train.log": error + "\n", **files}))
    return next((f for f in look_up(run, [said]).findings if f.code == "field-not-in-records"), None)


def jsonl(**record):
    return (json.dumps(record) + "\n") * 5


CHAT = jsonl(messages=[{"role": "user", "content": "hi"}])
PAIRS = jsonl(question="a", answer="b")
GOOD, BAD = "it 10 ctc 3.1", "it 11 ctc nan"


def sample(tmp_path, said, loss="ctc"):
    lines = [GOOD.replace("ctc", loss)] * 20 + [said, BAD.replace("ctc", loss)]
    bad = Finding("loss-nonfinite", Severity.S0, "", "", (Evidence("train.log", 22),))
    run = discover(fill(tmp_path / "run", {"train.log": "\n".join(lines) + "\n"}))
    return [f.code for f in look_up(run, [bad]).findings]


@pytest.mark.parametrize(
    "said",
    ["WARNING clip_77: frames=12 labels=40", "sample a/b.flac enc_len: 31, target_len: 44",
     "样本 u9 帧数：7 标签数：19", "lens min frames=9 labels=4; worst utt_3 frames=9 labels=31"],
)  # fmt: skip
def test_a_sample_shorter_than_its_labels_beside_the_first_bad_step(tmp_path, said):
    assert sample(tmp_path, said) == ["sample-shorter-than-labels"]


@pytest.mark.parametrize(
    ("said", "loss"),
    [("clip_77: frames=52 labels=40", "ctc"), ("clip_77: frames=8 labels=512", "loss"), ("step=9 tokens=4096", "ctc"),
     ("T=1 labels=40", "ctc")],
)  # fmt: skip
def test_a_sample_that_is_long_enough_or_not_aligned_is_not_told(tmp_path, said, loss):
    assert sample(tmp_path, said, loss) == []


COLUMN = "ValueError: Column name ['text'] not in the dataset. Current columns in the dataset: ['q', 'a']"
DEEP = '{"a": ' * 5000 + "1" + "}" * 5000


@pytest.mark.parametrize(
    ("error", "files"),
    [
        ("KeyError: 'instruction'", {"data/sft.jsonl": PAIRS}),
        (COLUMN, {"data/train.csv": "q,a\n" + "x,y\n" * 9}),
        ('KeyError: "conversations"', {"a.jsonl": CHAT, "b.jsonl": PAIRS}),
        ("KeyError: 'prompt'", {"train.tsv": "q\ta\n" + "x\ty\n" * 9}),
    ],
)
def test_a_field_that_no_record_has(tmp_path, error, files):
    found = looked(tmp_path, error, files)
    assert found is not None
    assert found.data["field"] in error
    assert found.data["field"] not in found.data["there"]
    assert found.evidence[0].file in files


@pytest.mark.parametrize(
    ("error", "files"),
    [
        ("KeyError: 'question'", {"data/sft.jsonl": PAIRS}),
        ("KeyError: 'role'", {"data/sft.jsonl": CHAT}),
        ("KeyError: 'question'", {"a.jsonl": CHAT, "b.jsonl": PAIRS}),
        ("KeyError: 'input_ids'", {"data/sft.jsonl": PAIRS}),
        ("KeyError: 'instruction'", {"data/sft.jsonl": '{"question": 1}\n'}),
        ("KeyError: 'instruction'", {"data/sft.jsonl": "no json\n" * 9}),
        ("KeyError: 'instruction'", {"data/sft.jsonl": f"{DEEP}\n" * 4}),
        ("KeyError: 'instruction'", {}),
        ("KeyError: 7", {"data/sft.jsonl": PAIRS}),
    ],
    ids=["there", "inside a record", "in another file", "a tokenizer makes it", "one record", "no records", "deep",
         "no data", "no name"],
)  # fmt: skip
def test_nothing_is_said_where_it_is_there_or_cannot_be_told(tmp_path, error, files):
    assert looked(tmp_path, error, files) is None

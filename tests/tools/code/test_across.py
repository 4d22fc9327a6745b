"""Rows that one program multiplies and another splits."""

import pytest

from triage.tools.code.rules.judging.across import split_elsewhere

GROWN = """import json
rows = []
for one in json.load(open("raw.json")):
    rows.append({"q": one["q"], "answer": one["answer"]})
    rows.append({"q": reword(one["q"]), "answer": one["answer"]})
json.dump(rows, open("data/wide.json", "w"))
"""
FRAME = """import pandas as pd
rows = []
for _, r in pd.read_csv("raw.csv").iterrows():
    for _ in range(5):
        rows.append((noisy(r.text), r.label))
TO = "out/wide.csv"
pd.DataFrame(rows).to_csv(TO, index=False)
"""
PLAIN = GROWN.replace('    rows.append({"q": reword(one["q"]), "answer": one["answer"]})\n', "")
SPLIT = """import json
from sklearn.model_selection import train_test_split
items = json.load(open("data/wide.json"))
train, test = train_test_split(items, test_size=0.2)
"""
FROM_FRAME = """import pandas as pd
from datasets import Dataset
frame = pd.read_csv("wide.csv")
data = Dataset.from_pandas(frame)
data = data.train_test_split(test_size=0.1)
"""


def told(folder, writer, reader):
    (folder / "make.py").write_text(writer)
    (folder / "fit.py").write_text(reader)
    return split_elsewhere((folder / name, name) for name in ("make.py", "fit.py"))


@pytest.mark.parametrize(("writer", "reader"), [(GROWN, SPLIT), (FRAME, FROM_FRAME)])
def test_a_file_of_variants_that_another_program_splits_is_told_with_both_places(tmp_path, writer, reader):
    (found,) = told(tmp_path, writer, reader)
    assert found.code == "split-after-duplication"
    assert [e.file for e in found.evidence] == ["fit.py", "make.py"]


def test_another_file_single_rows_and_a_split_by_groups_are_left_alone(tmp_path):
    assert not told(tmp_path, PLAIN, SPLIT)
    assert not told(tmp_path, GROWN, SPLIT.replace("wide.json", "raw.json"))
    assert not told(tmp_path, GROWN, SPLIT.replace("test_size=0.2", "test_size=0.2, stratify=None, groups=ids"))
    assert not told(tmp_path, GROWN.replace("rows, open", "rows[:1], open").replace("wide", "other"), SPLIT)

"""Trained items that are known at the end of a training, and others that are not."""

import pytest

from triage.tools.relate.courses.remembered import remembered
from triage.tools.tables.read import read_tables

MEMORISED = {"train": [210, 330, 470, 560], "unseen": [205, 214, 209, 216], "renumbered": [208, 219, 226, 230]}
LEARNED = {"train": [210, 330, 470, 560], "unseen": [205, 300, 420, 505]}
ZH = {"训练集抽样": MEMORISED["train"], "新出的题": MEMORISED["unseen"]}


def told(folder, sets, header="step,set,n,correct", row="{s},{name},600,{right}"):
    rows = [row.format(s=100 * i, name=name, right=right, share=right / 600)
            for i in range(4) for name, found in sets.items() for right in found[i : i + 1]]  # fmt: skip
    (folder / "by_step.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return [f for t in read_tables(folder / "by_step.csv", "by_step.csv") for f in remembered(t)]


@pytest.mark.parametrize(
    ("sets", "form"),
    [
        (MEMORISED, {}),
        (ZH, {"header": "ckpt,集合,题数,答对", "row": "{s},{name},600,{right}"}),
        (MEMORISED, {"header": "step,split,accuracy", "row": "{s},{name},{share:.4f}"}),
    ],
)
def test_items_learned_by_heart(tmp_path, sets, form):
    (one,) = told(tmp_path, sets, **form)
    assert one.code == "trained-items-learned-alone"
    assert one.data["gained"] == pytest.approx(350 / 600, abs=1e-3)


@pytest.mark.parametrize(
    "sets",
    [
        LEARNED,
        {"train": [210, 215, 220, 224], "unseen": [205, 206, 209, 211]},  # nothing was learned
        {"train": [400, 450, 500, 560], "unseen": [150, 152, 155, 158]},  # harder from the beginning
        {"math": MEMORISED["train"], "code": MEMORISED["unseen"]},  # two subjects
    ],
)
def test_what_carries_over_or_began_apart_says_nothing(tmp_path, sets):
    assert told(tmp_path, sets) == []

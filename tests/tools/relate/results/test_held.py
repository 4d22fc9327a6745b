"""Reports of classical models: scores apart, predictions against what came, features that moved."""

import json

import pytest

from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def found(folder, **files):
    tables = []
    for key, content in files.items():
        path = folder / key.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        tables += read_tables(path, path.name)
    return {f.code: f for f in of_results(tables, (), Settings())}


SETS = {"train": 9000, "valid": 2100, "oot_q3": 2000}


def report(*scores, name="auc", sets=tuple(SETS)):
    return {key: {"n": SETS.get(key, 1500), name: score} for key, score in zip(sets, scores, strict=True)}


def bins(*pairs, head="band,n,mean_pred,observed"):
    rows = [f"{i},400,{p},{y}" for i, (p, y) in enumerate(pairs, 1)]
    total = f"all,{400 * len(pairs)},{sum(p for p, _ in pairs) / len(pairs)},{sum(y for _, y in pairs) / len(pairs)}"
    return "\n".join((head, *rows, total)) + "\n"


AS_CAME = [(0.01, 0.0125), (0.02, 0.02), (0.04, 0.035), (0.07, 0.075), (0.12, 0.1175), (0.2, 0.21)]
OFF = [(p, min(1, 1.9 * y)) for p, y in AS_CAME]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"m__json": report(0.992, 0.71, 0.66)}, "held-out-far-below-train"),
        ({"m__csv": "set,n,准确率,accuracy\n训练集,800,1,0.99\n测试集,200,1,0.52\n"}, "held-out-far-below-train"),
        ({"m__json": report(0.81, 0.80, 0.79)}, "splits-alike"),
        ({"m__json": report(0.62, 0.6, name="r2", sets=("train", "holdout"))}, "splits-alike"),
        ({"c__csv": bins(*OFF)}, "predictions-off-what-came"),
        ({"c__csv": bins(*OFF, head="分箱,样本数,预测均值,实际坏账率")}, "predictions-off-what-came"),
        ({"c__csv": bins(*AS_CAME)}, "predictions-as-came"),
        ({"p__csv": "feature,psi\nage,0.01\nincome,0.31\ncity,0.02\n"}, "feature-shifted"),
        ({"p__csv": "特征,psi_2025\n年龄,0.01\n收入,0.03\n"}, "features-stable"),
    ],
)
def test_what_a_report_says(tmp_path, files, code):
    assert code in found(tmp_path, **files)


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"m__json": report(1.0, 0.86, 0.85)}, {"held-out-far-below-train", "splits-alike"}),
        ({"m__json": {"base": {"auc": 0.9}, "tuned": {"auc": 0.5}}}, {"held-out-far-below-train", "splits-alike"}),
        ({"m__json": report(0.81, 0.80, 0.79)}, {"held-out-far-below-train", "answers-short-of-items"}),
        ({"c__csv": bins(*AS_CAME)}, {"predictions-off-what-came", "answers-short-of-items", "rows-stand-out"}),
        ({"c__csv": bins(*AS_CAME[:3])}, {"predictions-as-came", "predictions-off-what-came"}),
    ],
    ids=["trees that fit all rows", "no splits", "near", "sum row", "few bins"],
)
def test_what_a_report_does_not_say(tmp_path, files, codes):
    assert not codes & {*found(tmp_path, **files)}

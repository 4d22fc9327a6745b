"""Rows of checkpoints and of models with their scores, as people head them."""

import json

import pytest

from triage.tools.relate.scores.compared import related
from triage.tools.tables.read import read_tables

CLIMBS = (26.0, 28.9, 33.9, 41.5, 45.5, 47.6, 52.5, 54.4, 57.1, 58.0, 59.2, 59.9, 60.4, 60.2, 61.0)
FALLS = (*CLIMBS[:9], 43.6, 44.3, 48.3, 51.2, 53.7, 54.0)
ONCE = (*CLIMBS[:9], 51.5, *CLIMBS[10:])
HEADS = [
    "it,f1,stderr,n",
    "步数,得分(%),标准误(%),样本数",
    "global_step,score (%),se,items",
    "ckpt,acc,± (%),n_samples",
]


def codes(folder, head, rows, name="sheet1.csv"):
    (folder / name).write_text("\n".join([head, *rows]))
    return {f.code: f for f in related(read_tables(folder / name, name))}


def checkpoints(head, values):
    """A row a checkpoint: scores as shares or in percent as the head says, errors in either."""
    score, error = (100 if "%" in name else 1 for name in head.split(",")[1:3])
    return [f"{30 * i},{v / 100 * score:.5g},{0.024 * error:.5g},96" for i, v in enumerate(values, 1)]


@pytest.mark.parametrize("head", HEADS)
def test_a_fall_within_a_row_that_climbs_is_told_under_any_head(tmp_path, head):
    found = codes(tmp_path, head, checkpoints(head, FALLS))
    assert found["score-falls-at-checkpoint"].data["interval"] == [270, 300]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("values", [CLIMBS, ONCE], ids=["climbs", "one low value"])
def test_a_row_that_climbs_is_not_and_one_low_value_in_it_neither(tmp_path, head, values):
    assert "score-falls-at-checkpoint" not in codes(tmp_path, head, checkpoints(head, values))


def averaged(mean, off=0.0, names="hs arc_easy piqa wino", scale=1.0):
    """Four tasks of 14 checkpoints that lose five points behind the eighth, and a column of their mean."""
    rows = [",".join(["ckpt", mean, *names.split(), "n_items"])]
    for i in range(14):
        parts = [40.0 + 5 * k + (i * (3 + k) % 5) * 0.3 - 5 * (i > 7) for k in range(4)]
        values = [sum(parts) / 4 + off * (i % 3), *parts]
        rows.append(",".join([str(1000 * i + 1000), *(f"{v / scale:.4f}" for v in values), "3000"]))
    return rows[0], rows[1:]


@pytest.mark.parametrize(("mean", "scale"), [("core", 1.0), ("综合", 1.0), ("suite_v3", 100.0)])
def test_a_column_that_is_the_mean_of_the_others_is_a_score_and_leads(tmp_path, mean, scale):
    (tmp_path / "night.csv").write_text("\n".join(((of := averaged(mean, scale=scale))[0], *of[1])))
    found = [f for f in related(read_tables(tmp_path / "night.csv", "night.csv")) if "falls" in f.code]
    assert (found[0].code, found[0].data["score"]) == ("score-falls-at-checkpoint", mean)
    assert found[0].data["names"].endswith(" 8000")


@pytest.mark.parametrize("off", [0.4, -2.0])
def test_a_column_that_is_no_mean_of_the_others_is_no_score(tmp_path, off):
    (tmp_path / "night.csv").write_text("\n".join(((of := averaged("core", off))[0], *of[1])))
    found = [f for f in related(read_tables(tmp_path / "night.csv", "night.csv")) if "falls" in f.code]
    assert "core" not in {f.data["score"] for f in found}


def test_a_fall_that_the_number_of_items_allows_is_noise(tmp_path):
    rows = [row.replace(",0.024,96", ",0.08,12") for row in checkpoints(HEADS[0], FALLS)]
    assert "score-falls-at-checkpoint" not in codes(tmp_path, HEADS[0], rows)


@pytest.mark.parametrize("judge", ["judge", "grader", "评审模型"])
def test_scores_by_different_judges_are_not_compared(tmp_path, judge):
    rows = ["a,v1,400,0.52", "b,{},400,0.66"]
    head = f"model,{judge},n,score"
    assert "eval-settings-differ" in codes(tmp_path, head, [r.format("x-large") for r in rows])
    assert "eval-settings-differ" not in codes(tmp_path, head, [r.format("v1") for r in rows])


RUNS = [("claw", 41.0), ("rake", 43.5), ("rake", 68.0)]


@pytest.mark.parametrize("model", ["in each row", "of another part", "above all"])
def test_what_differs_measured_alike_is_not_laid_to_the_measurement(tmp_path, model):
    named = {"model": "Osprey-9B"}
    runs = [{"name": f"{h} {i}", "harness": h, "score": s} for i, (h, s) in enumerate(RUNS)]
    series = {"repeats": 3, "harness": "rake", **named, "with": [66.0, 71.0, 69.0], "without": [67.0, 64.0, 70.0]}
    text = {
        "in each row": {"runs": [r | named for r in runs]},
        "of another part": {"runs": runs[:1] + runs[2:], "series": series},
        "above all": {**named, "runs": runs},
    }[model]
    (tmp_path / "v.json").write_text(json.dumps(text, indent=1))
    assert "same-weights-scored-apart" not in {f.code for f in related(read_tables(tmp_path / "v.json", "v.json"))}


@pytest.mark.parametrize("said", ["config", "", "run.setup"])
def test_one_model_that_two_harnesses_score_apart_is_told(tmp_path, said):
    rows = [{"name": f"{h} {i}", "harness": h, "score": s} for i, (h, s) in enumerate([("claw", 41.0), ("rake", 68.0)])]
    text = (
        {"results": rows, said: {"model": "Osprey-9B", "seed": 3, "gpus": 8}}
        if said
        else {"results": rows, "model": "Osprey-9B", "seed": 3, "gpus": 8}
    )
    (tmp_path / "v.json").write_text(json.dumps(text, indent=1))
    assert "same-weights-scored-apart" in {f.code for f in related(read_tables(tmp_path / "v.json", "v.json"))}


PARTS = [("model,part,n,macro_f1", "short", "long"), ("模型,切片,样本数,准确率", "短", "长")]


@pytest.mark.parametrize(("head", "short", "long"), PARTS)
@pytest.mark.parametrize(("far", "told"), [(0.0, False), (0.2, True)])
def test_two_models_are_compared_on_the_same_part_alone(tmp_path, head, short, long, far, told):
    rows = [f"{m},{part},{n},{score:.3f}" for m, more in (("ant", 0.0), ("bee", far))
            for part, n, score in ((short, 1100, 0.31 + more), (long, 1180, 0.72 + more))]  # fmt: skip
    assert ("score-differs" in codes(tmp_path, head, rows)) is told


def judged(where):
    """Answers of two models, with what a judge said of them or how the judge was set, in the record of the score."""
    rows = [{"model": m, "task": "rules", "verdict": {"score": 20.0 + 60 * (m == "b"), **where(m)}} for m in "ab"]
    return [json.dumps({"model": r["model"], "task": r["task"], "judgement": r["verdict"]}) for r in rows]


def test_what_a_judge_said_is_no_way_of_measuring(tmp_path):
    said = judged(lambda m: {"passed": m == "b", "why": f"rule {m} was kept"})
    assert "eval-settings-differ" not in codes(tmp_path, *said[:1], said[1:], "said.jsonl")
    was_set = judged(lambda m: {"judge_version": f"v{ord(m)}"})
    assert "eval-settings-differ" in codes(tmp_path, *was_set[:1], was_set[1:], "set.jsonl")

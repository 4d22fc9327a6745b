"""Groups of answers with one reward: since when, in which form, to which prompts."""

import json
import random

import pytest

from triage.tools.relate.preferred.groups import groups_equal
from triage.tools.tables.read import read_tables

FORMS = ("list", "wide", "rows", "spaced")


def rows(form, share_late, share_early=0.3, seed=2):
    rng = random.Random(seed)
    for step in (10, 20, 30, 40):
        for k in range(24):
            kind = ("easy", "stiff")[k % 2]
            equal = rng.random() < (share_late if step > 20 else share_early)
            one = float(kind == "easy")
            r = [one] * 4 if equal else [1.0, 0.0, one, 0.0]
            yield step, f"{kind}-{k:03d}", r


def write(folder, form, *shares):
    name = "out.csv" if form in ("wide", "rows") else "out.jsonl"
    lines = {"wide": ["step,prompt_id,reward_0,reward_1,reward_2,reward_3"], "rows": ["step,题号,奖励"]}.get(form, [])
    for step, prompt, r in rows(form, *shares):
        if form == "list":
            lines.append(json.dumps({"step": step, "prompt": prompt, "rewards": r, "lens": [9, 9, 9, 9]}))
        elif form == "spaced":
            lines.append(json.dumps({"step": step, "prompt": prompt, "score": " ".join(map(str, r))}))
        elif form == "wide":
            lines.append(f"{step},{prompt},{','.join(map(str, r))}")
        else:
            lines += [f"{step},{prompt},{x}" for x in r]
    (folder / name).write_text("\n".join(lines))
    return list(groups_equal(list(read_tables(folder / name, name))))


@pytest.mark.parametrize("form", FORMS)
def test_most_groups_are_equal_since_some_place(tmp_path, form):
    (found,) = write(tmp_path, form, 0.95)
    assert (found.code, found.data["step"], found.data["groups"]) == ("groups-without-signal", 30, 48)
    assert all(kind in found.message for kind in ("easy", "stiff"))


@pytest.mark.parametrize("form", FORMS)
def test_from_the_beginning_and_not_at_all(tmp_path, form):
    assert [f.data["groups"] for f in write(tmp_path, form, 0.95, 0.95)] == [96]
    assert write(tmp_path, form, 0.35) == []
    assert write(tmp_path, form, 0.2, 0.6) == []


@pytest.mark.parametrize("name", ["correct", "judges", "scores"])
def test_an_evaluation_drawn_several_times_has_no_groups(tmp_path, name):
    lines = [json.dumps({"prompt": f"p{i}", name: [1, 1, 1]}) for i in range(60)]
    (tmp_path / "dev.jsonl").write_text("\n".join(lines))
    assert list(groups_equal(list(read_tables(tmp_path / "dev.jsonl", "dev.jsonl")))) == []

"""What people or another model think of the checkpoints, beside a reward that goes on rising."""

import json
import math

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

AT = range(0, 801, 100)
FALLS = (3.1, 3.4, 3.6, 3.5, 3.3, 3.1, 2.9, 2.75, 2.6)
HOLDS = (3.1, 3.4, 3.6, 3.55, 3.7, 3.62, 3.75, 3.72, 3.7)
LATE = (3.1, 3.2, 3.3, 3.35, 3.4, 3.5, 3.55, 3.6, 3.1)


def log(head: str, rises: float = 2.2) -> str:
    reward = (0.4 + rises * (1 - math.exp(-i / 300)) + 0.03 * math.sin(7 * i) for i in range(1, 801))
    rows = (f"{i},{r:.4f},{1 + 0.03 * i:.3f},{310 + i % 5}" for i, r in enumerate(reward, 1))
    return "\n".join([head, *rows])


def people(values):
    rows = (f"{s},{v},0.05,300" for s, v in zip(AT, values, strict=True))
    return {"m.csv": log("step,reward_mean,kl_sum,response_length"),
            "human_ratings.csv": "\n".join(["step,helpfulness_mean,stderr,n", *rows])}  # fmt: skip


def other(values):
    rows = (
        json.dumps({"checkpoint": f"step-{s}", "score": v / 5, "sem": 0.01}) for s, v in zip(AT, values, strict=True)
    )
    return {"m.csv": log("step,reward,kl_per_response,len"), "gold_rm.jsonl": "\n".join(rows)}


def blind(values):
    rows = (f"{s},{v},0.05" for s, v in zip(AT, values, strict=True))
    return {
        "训练.csv": log("步数,奖励均值,KL(整条求和),平均长度"),
        "盲测.csv": "\n".join(["检查点步数,人工满意度,标准误", *rows]),
    }


def seen(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return {f.code: f for f in look([folder]).findings}


FORMS = pytest.mark.parametrize("form", [people, other, blind])


@FORMS
def test_another_judge_that_falls_behind_its_best_while_the_reward_goes_on(tmp_path, form):
    found = seen(tmp_path, form(FALLS))
    assert found["reward-up-quality-down"].data["at"] == 200
    assert "kl-above-range" not in found
    answer = ask("the reward climbs nicely, 2000 more updates?", [tmp_path]).diagnosis
    assert (answer.state, answer.top.entry.id) == ("diagnosed", "reward-hacking")


@FORMS
@pytest.mark.parametrize("values", [HOLDS, LATE, tuple(reversed(FALLS))], ids=["holds", "last", "rises"])
def test_a_judge_that_holds_or_falls_once_is_silent(tmp_path, form, values):
    assert "reward-up-quality-down" not in seen(tmp_path, form(values))


@pytest.mark.parametrize(
    ("files", "head"),
    [(people(FALLS), ""), ({"bench.csv": people(FALLS)["human_ratings.csv"].replace("helpfulness_mean", "mmlu")}, "")],
    ids=["no reward", "a benchmark"],
)
def test_without_a_reward_that_rises_or_another_judge_nothing_is_told(tmp_path, files, head):
    files = files | {"m.csv": log("step,reward,kl,len", 0.0 if "human_ratings.csv" in files else 2.2)}
    assert "reward-up-quality-down" not in seen(tmp_path, files)


@pytest.mark.parametrize(
    ("name", "told"), [("kl_sum", False), ("KL(序列和)", False), ("kl", True), ("kl_per_token", True)]
)
def test_a_kl_that_is_added_up_over_an_answer_has_no_range(tmp_path, name, told):
    found = seen(tmp_path, {"m.csv": log(f"step,reward,{name},len")})
    assert ("kl-above-range" in found, "kl-of-completions" in found) == (told, not told)

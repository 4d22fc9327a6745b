"""A policy that the KL penalty holds, beside one that learned."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

RNG = np.random.default_rng(11)


def rows(n, gain, kl, start=0.41):
    at = np.linspace(0, 1, n)
    reward = start + gain * at + 0.004 * RNG.normal(size=n)
    return [(i + 1, r, k) for i, (r, k) in enumerate(zip(reward, kl * at + 1e-6, strict=True))]


def lines(made):
    return "".join(f"step: {i} reward: {r:.4f} kl: {k:.3e} entropy: 0.61\n" for i, r, k in made)


def table(made, head="update,rew,kl_ref,len"):
    return head + "\n" + "".join(f"{i},{r:.4f},{k:.3e},402\n" for i, r, k in made)


def write(path, files):
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return [f for f in look([path]).findings if f.code == "policy-held-by-penalty"]


STILL, LEARNED = rows(400, 0.001, 4e-4), rows(200, 0.12, 2e-2)


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        ({"wide/train.log": lines(STILL), "wide/run.yaml": "kl_loss_coef: 0.2\nlearning_rate: 1e-6\n",
          "small/train.log": lines(LEARNED), "small/run.yaml": "kl_loss_coef: 0.002\n"}, (0.2, 0.002)),
        ({"logs/wide_0304.csv": table(STILL), "wide_0304.toml": "[algo]\nbeta = 0.5\n",
          "logs/narrow_0301.csv": table(LEARNED), "narrow_0301.toml": "[algo]\nbeta = 0.04\n"}, (0.5, 0.04)),
        ({"甲/metrics.csv": table(STILL, "step,奖励,KL散度,长度"), "甲/c.yaml": "KL系数: 0.3\n",
          "乙/metrics.csv": table(LEARNED, "step,奖励,KL散度,长度"), "乙/c.yaml": "KL系数: 0.003\n"}, (0.3, 0.003)),
    ],
)  # fmt: skip
def test_a_policy_that_a_far_heavier_penalty_holds_is_told(tmp_path, files, weights):
    [found] = write(tmp_path, files)
    assert (found.data["weight"], found.data["other_weight"]) == weights
    assert found.data["proposes"]["new"] == weights[1]


def test_the_weight_of_the_run_that_learned_is_the_one_change(tmp_path):
    write(tmp_path, {"wide/train.log": lines(STILL), "wide/run.yaml": "kl_coef: 0.2\nlearning_rate: 1e-6\n",
                     "small/train.log": lines(LEARNED), "small/run.yaml": "kl_coef: 0.002\n"})  # fmt: skip
    answer = ask("the reward of wide does not move at all", [tmp_path])
    assert (answer.proposal.variable, answer.proposal.new) == ("kl_coef", "0.002")
    assert {"learning_rate", "num_generations"} <= set(answer.proposal.stays)


@pytest.mark.parametrize(
    ("mine", "theirs", "weights"),
    [
        (STILL, LEARNED, ("0.002", "0.002")),
        (STILL, LEARNED, ("0.004", "0.002")),
        (rows(400, 0.1, 4e-4), LEARNED, ("0.2", "0.002")),
        (rows(400, 0.001, 3e-2), LEARNED, ("0.2", "0.002")),
        (STILL, rows(200, 0.0, 2e-2), ("0.2", "0.002")),
        (rows(60, 0.001, 4e-4), LEARNED, ("0.2", "0.002")),
    ],
)
def test_without_all_of_it_nothing_is_said(tmp_path, mine, theirs, weights):
    files = {"a1/train.log": lines(mine), "a2/train.log": lines(theirs)}
    assert write(tmp_path, files | {f"a{i}/run.yaml": f"kl_coef: {w}\n" for i, w in enumerate(weights, 1)}) == []

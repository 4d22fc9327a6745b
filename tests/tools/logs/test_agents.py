"""Rewards of an agent in an environment, and those of a policy gradient or of a model that writes."""

import json

import numpy as np
import pytest

from triage.agent.session import ask

FLAT = np.random.default_rng(4).normal(0.5, 0.2, 120)


def said(tmp_path, row, name="log.json"):
    rows = [{"episode": i, "reward": round(float(v), 4), **row(i)} for i, v in enumerate(FLAT)]
    if name.endswith(".log"):
        text = "".join(f"Episode {r['episode']}: reward {r['reward']}\n" for r in rows)
    else:
        text = json.dumps(rows)
    (tmp_path / name).write_text(text)
    answer = ask("is this run ok?", [tmp_path], home=tmp_path / "home")
    codes = {f.code for f in answer.diagnosis.findings}
    assert "reward-flat" in codes
    return "learns-without-advantages" in codes, answer


@pytest.mark.parametrize(
    ("row", "name"),
    [(lambda i: {"epsilon": 0.99**i}, "log.json"), (lambda i: {"replay_buffer": 50 * i}, "log.json"),
     (lambda i: {}, "play.log")],
)  # fmt: skip
def test_no_advantage_is_proposed_where_there_is_none(tmp_path, row, name):
    found, answer = said(tmp_path, row, name)
    assert found
    assert "advantage_normalization" not in answer.text


@pytest.mark.parametrize(
    "row",
    [lambda i: {"clip_fraction": 0.1, "entropy": 1.0 - i / 500}, lambda i: {"response_tokens": 300 + i % 7}],
    ids=["policy gradient", "a model that writes"],
)
def test_a_policy_gradient_has_advantages(tmp_path, row):
    assert not said(tmp_path, row)[0]

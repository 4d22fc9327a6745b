"""A planned mixture that leaves a source out where a score falls: told in any layout, silent where none fell."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.discover import discover
from triage.tools.documents.phases import phased

CODE = "source-dropped-at-fall"
ROWS = """schedule:
  - end_step: 900
    weights: {chat: 0.5, maths: 0.3, prose: 0.2}
  - end_step: 2000
    weights: {chat: 0.02, maths: 0.6, prose: 0.38}
"""
SOURCES = """curriculum:
  - {steps: [0, 900], datasets: [{name: chat, ratio: 40}, {name: maths, ratio: 60}]}
  - {steps: [900, 2000], datasets: [{name: chat, ratio: 0}, {name: maths, ratio: 100}, {name: prose, ratio: 0}]}
"""
KEYED = {"mix_schedule": {"0": {"chat": 0.4, "maths": 0.6}, "900": {"maths": 0.7, "prose": 0.3}}}
STAGES = """阶段1:
  步数: 900
  配比: {对话: 0.4, 数学: 0.6}
阶段2:
  步数: 1100
  配比: {对话: 0.0, 数学: 1.0}
"""
LAYOUTS = {"plan.yaml": ROWS, "data.yml": SOURCES, "mix.json": json.dumps(KEYED, indent=1), "配比.yaml": STAGES}
STEADY = ROWS.replace("chat: 0.02, maths: 0.6, prose: 0.38", "chat: 0.45, maths: 0.35, prose: 0.2")
LATER = ROWS.replace("900", "1650")


def scores(fall_at, seed=3):
    rng, steps = np.random.default_rng(seed), np.arange(200, 2001, 200)
    follow = np.where(steps > fall_at, 0.41, 0.58) + rng.normal(0, 0.006, len(steps))
    know = 0.5 + rng.normal(0, 0.004, len(steps))
    rows = [f"{s},{a:.4f},{b:.4f}" for s, a, b in zip(steps, follow, know, strict=True)]
    return "\n".join(["step,ifeval,mmlu", *rows]) + "\n"


def written(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", list(LAYOUTS))
def test_a_source_that_is_left_out_where_a_score_falls(tmp_path, name):
    found = look([written(tmp_path, {name: LAYOUTS[name], "scores.csv": scores(800)})])
    [finding] = [f for f in found.findings if f.code == CODE]
    assert finding.data["interval"] == [800, 1000]
    assert finding.data["names"].endswith(f"({name}:{finding.evidence[0].line})")


@pytest.mark.parametrize(
    ("plan", "fall"),
    [(STEADY, 800), (LATER, 800), (ROWS, 5000), (ROWS.partition("  - end_step: 2000")[0], 800)],
    ids=["hardly changed", "long behind it", "no fall", "one phase"],
)
def test_silent(tmp_path, plan, fall):
    found = look([written(tmp_path, {"plan.yaml": plan, "scores.csv": scores(fall)})])
    assert CODE not in {f.code for f in found.findings}


def test_rows_without_shares_or_places_are_no_phases(tmp_path):
    files = {"a.yaml": "steps:\n  - {name: build, timeout: 5}\n  - {name: test, timeout: 9}\n",
             "b.yaml": "phase_weights:\n  - {a: 1, b: 2}\n  - {a: 0, b: 3}\n",
             "c.json": '{"stages": {"stage1": {"lr": 0.1, "wd": 0.2}, "stage2": {"lr": 0.0, "wd": 0.2}}}'}  # fmt: skip
    assert phased(discover(written(tmp_path, files))) == []

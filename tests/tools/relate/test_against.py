"""The same items, answered as the reference does and another way: what scores less there, and what does not."""

import json
import random

import pytest

from triage.tools.relate.scores.against import behind_reference
from triage.tools.tables.read import read_tables

LIMITS = {"summary": 96, "facts": 48, "long": 200}


def rows(level: float, seed: int, runs_on: float = 0.0, prompt: str = "prompt", score: str = "score"):
    """120 items, each scored around a level of its own; a share of the answers ends at the limit of its task."""
    draw, own = random.Random(1), random.Random(seed)
    for i in range(120):
        task = list(LIMITS)[i % 3]
        hard = draw.random()
        value = min(1.0, max(0.0, level * (0.5 + hard) + own.gauss(0, 0.08)))
        size = LIMITS[task] if own.random() < runs_on else own.randint(5, LIMITS[task] - 4)
        yield {prompt: f"what is said of {i}?", "task": task, score: round(value, 4), "tokens_generated": size}


OTHERS = [r | {"prompt": f"and {r['prompt']}"} for r in rows(0.3, 3)]


def codes(folder, files):
    for name, made in files.items():
        text = json.dumps(made) if name.endswith(".json") else "\n".join(json.dumps(r) for r in made)
        (folder / name).write_text(text)
    return {f.code: f for f in behind_reference([t for n in files for t in read_tables(folder / n, n)])}


@pytest.mark.parametrize(
    ("reference", "other"), [("res_baseline.json", "res_pruned.json"), ("eval-fp16.jsonl", "eval-kv4.jsonl"),
                             ("基准.jsonl", "新缓存.jsonl")]
)  # fmt: skip
@pytest.mark.parametrize(("prompt", "score"), [("prompt", "score"), ("question_id", "f1")])
def test_items_that_score_less_than_in_the_reference_and_run_into_the_limit(tmp_path, reference, other, prompt, score):
    files = {reference: [*rows(0.6, 2, 0.05, prompt, score)], other: [*rows(0.3, 3, 1.0, prompt, score)]}
    found = codes(tmp_path, files)
    assert found["score-behind-reference"].data["lost"] == pytest.approx(0.5, abs=0.1)
    assert str(found["score-behind-reference"].severity) == "S1"
    assert "generation-not-stopping" in found


@pytest.mark.parametrize(
    "files",
    [
        {"res_baseline.json": [*rows(0.6, 2)], "res_pruned.json": [*rows(0.59, 3)]},
        {"res_baseline.json": [*rows(0.3, 2)], "res_pruned.json": [*rows(0.6, 3)]},
        {"run_a.json": [*rows(0.6, 2)], "run_b.json": [*rows(0.3, 3)]},
        {"res_baseline.json": [*rows(0.6, 2)], "res_other.json": OTHERS},
    ],
    ids=["alike", "better", "no reference", "other items"],
)  # fmt: skip
def test_what_is_as_good_or_no_reference_is_left_alone(tmp_path, files):
    assert codes(tmp_path, files) == {}


def test_answers_that_end_at_the_limit_in_both_are_no_matter_of_one(tmp_path):
    files = {"a_baseline.json": [*rows(0.6, 2, 1.0)], "a_new.json": [*rows(0.3, 3, 1.0)]}
    assert [*codes(tmp_path, files)] == ["score-behind-reference"]

# ruff: noqa: E501  (cases are rows of a table)
"""Generated answers and codebooks: what fires, and what must stay silent."""

import random

import numpy as np
import pytest
from making import codes, prose, write

from triage.tools.data.codebook import codebook
from triage.tools.data.generations import distinct, generations, loop_period
from triage.tools.findings import TriageError


def rollouts(count=150, each=4, seed=1):
    rng = random.Random(seed)
    return [{"prompt": f"p{i}", "responses": [prose(rng, rng.randint(30, 90)) for _ in range(each)],
             "rewards": [rng.choice([0.0, 1.0]) for _ in range(each)], "finish_reasons": ["stop"] * (each - 1) + (["length"] if i % 12 == 0 else ["stop"])}
            for i in range(count)]  # fmt: skip


def test_healthy_answers_have_no_finding(tmp_path):
    report = generations([write(tmp_path / "a.jsonl", rollouts())])
    assert codes(report) == {}
    assert report.summary["distinct_2"] > 0.9
    assert report.summary["distinct_unit"] == "words"


def edited(edit, share=1.0):
    rng, rows = random.Random(9), rollouts()
    return [edit(r, i) if rng.random() < share else r for i, r in enumerate(rows)]


def loop(row, i):
    return row | {"responses": [f"{t} so the answer is again " + "and we add one more " * 12 for t in row["responses"]]}


def empty_paid(row, i):
    return row | {"responses": ["", *row["responses"][1:]], "rewards": [1.0, *row["rewards"][1:]]}


def hollow(row, i):
    return row | {"responses": ["<think> </think><answer> </answer>"] * 4, "rewards": [1.0] * 4}


@pytest.mark.parametrize(
    ("edit", "share", "code"),
    [
        (loop, 0.3, "repetition-loop"),
        (lambda r, i: r | {"finish_reasons": ["length"] * 4}, 0.5, "generation-not-stopping"),
        (empty_paid, 0.2, "empty-answer-rewarded"),
        (hollow, 0.2, "format-reward-gaming"),
        (lambda r, i: r | {"responses": r["responses"][:1] * 4}, 0.6, "group-identical"),
        (lambda r, i: r | {"responses": [" ".join(["yes of course my friend"] * 12) + f" {i}"] * 3}, 1.0, "low-diversity"),
    ],
)  # fmt: skip
def test_each_defect_is_found(tmp_path, edit, share, code):
    assert code in codes(generations([write(tmp_path / "a.jsonl", edited(edit, share))]))


def test_the_models_own_answer_is_judged_and_not_the_reference_beside_it(tmp_path):
    rng = random.Random(4)
    loops = ["和你说了，" * 40 if i < 8 else prose(rng) for i in range(100)]
    rows = [{"prompt": f"p{i}", "label": prose(rng), "predict": text} for i, text in enumerate(loops)]
    assert codes(generations([write(tmp_path / "a.jsonl", rows)])) == {"repetition-loop": "S2"}
    rows = [{"question": f"p{i}", "answer": prose(rng), "prediction": text} for i, text in enumerate(loops)]
    assert "repetition-loop" in codes(generations([write(tmp_path / "b.jsonl", rows)]))


@pytest.mark.parametrize(
    ("loops", "piece", "others", "grade"),
    [
        (14, "呵呵你说呢？" * 80, 20, "S2"),
        (20, "and on and on it goes " * 30, 60, "S2"),
        (14, "and on and on it goes " * 30, 1500, "S3"),
        (3, "好的再见，" * 400, 20, None),
    ],
)
def test_few_loops_are_serious_where_they_are_much_of_what_was_written(tmp_path, loops, piece, others, grade):
    rng = random.Random(6)
    texts = [
        piece if i % 20 == 1 and i < 20 * loops else " ".join(prose(rng) for _ in range(others // 100 + 1))[:others]
        for i in range(400)
    ]
    rows = [{"prompt": f"p{i}", "label": "x", "predict": text} for i, text in enumerate(texts)]
    assert codes(generations([write(tmp_path / "a.jsonl", rows)])).get("repetition-loop") == grade


def test_rows_that_an_evaluation_set_holds_twice_are_no_groups(tmp_path):
    rng = random.Random(3)
    texts = {f"p{i}": prose(rng) for i in range(120)}
    asked = [p for i, p in enumerate(texts) for _ in range(3 if i < 40 else 1)]
    rows = [{"prompt": p, "label": "x", "predict": texts[p]} for p in asked]
    assert codes(generations([write(tmp_path / "a.jsonl", rows)])) == {}


def test_empty_answers_that_get_nothing_are_fine(tmp_path):
    rows = edited(lambda r, i: r | {"responses": ["", *r["responses"][1:]], "rewards": [0.0, *r["rewards"][1:]]}, 0.3)
    assert codes(generations([write(tmp_path / "a.jsonl", rows)])) == {}


@pytest.mark.parametrize(
    ("text", "looping"),
    [
        ("The answer is 4. " + "Let me check again. " * 9, True),
        ("好的。" + "我再想一想，" * 20, True),
        ("x " + "ab" * 40, True),
        ("a table\n" + "-" * 200, False),
        ("|  a  |  b  |\n" * 3, False),
        ("haha" * 3, False),
        ("好" * 512, True),
        ("so" + "o" * 90, False),
        (" ".join(f"line {i} of many" for i in range(40)), False),
        ("1, 2, 3, " * 2, False),
        ("0.0, " * 60, False),
        ("", False),
    ],
)
def test_loops(text, looping):
    assert bool(loop_period(text)) == looping


def test_distinct_needs_its_sample_and_knows_its_unit():
    rng = random.Random(2)
    assert distinct([prose(rng)], 2)[0] is None
    value, tokens, unit = distinct([prose(rng, 200) for _ in range(200)], 2)
    assert value
    assert (value > 0.9, tokens >= 20_000, unit) == (True, True, "words")
    value, _, unit = distinct(["你好世界" * 50 for _ in range(200)], 2)
    assert value is not None
    assert (value < 0.01, unit) == (True, "characters")


@pytest.mark.parametrize(
    ("factor", "code"), [(1, None), (2, "response-length-growth"), (0.4, "response-length-collapse")]
)
def test_growth_is_measured_on_the_same_prompts(tmp_path, factor, code):
    before = [write(tmp_path / "before.jsonl", rollouts())]
    rows = [
        r | {"responses": [prose(random.Random(i), int(len(t.split()) * factor)) for t in r["responses"]]}
        for i, r in enumerate(rollouts())
    ]
    report = generations([write(tmp_path / "after.jsonl", rows)], before=before)
    assert set(codes(report)) == ({code} if code else set())


def codes_dump(rng, shares, time=400, count=60):
    """Levels x time; a level draws from a share of 256 codes."""
    return [{"codes": [rng.integers(0, max(1, int(256 * s)), time).tolist() for s in shares]} for _ in range(count)]


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ((1, 1, 1, 1), set()),
        ((1, 0.7, 0.5, 0.4), set()),
        ((0.02, 1, 1, 1), {"codebook-collapse"}),
        ((1, 1, 0.012, 0.012), {"codebook-collapse", "codebook-level-imbalance"}),
    ],
)
def test_codebook_levels(tmp_path, shares, found):
    rng = np.random.default_rng(1)
    report = codebook([write(tmp_path / "c.jsonl", codes_dump(rng, shares))], size=256)
    assert set(codes(report)) == found
    assert [lv["codes"] for lv in report.summary["levels"]] == [256] * 4
    assert report.summary["levels"][1]["entropy_nats"] == pytest.approx(np.log(max(1, int(256 * shares[1]))), abs=0.1)


def test_a_small_dump_concludes_nothing_and_numpy_dumps_are_read(tmp_path):
    rng = np.random.default_rng(2)
    report = codebook([write(tmp_path / "c.jsonl", codes_dump(rng, (0.02,), time=40, count=3))], size=256)
    assert [c.result for c in report.checks] == ["not-applicable"]
    np.save(tmp_path / "x.npy", rng.integers(0, 1024, (8, 500, 4)))
    np.savez(tmp_path / "x.npz", a=rng.integers(0, 1024, (4, 3000)))
    for name in ("x.npy", "x.npz"):
        assert len(codebook([tmp_path / name]).summary["levels"]) == 4


def test_a_pickled_array_and_text_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TriageError, match="numpy"):
        codebook([tmp_path / "x.npy"])
    with pytest.raises(TriageError, match="no codes"):
        codebook([write(tmp_path / "a.jsonl", [{"text": "a"}])])


def test_a_fall_against_an_earlier_dump_is_found(tmp_path):
    rng = np.random.default_rng(3)
    now, then = ([write(tmp_path / f"{n}.jsonl", codes_dump(rng, (s, 1)))] for n, s in (("now", 0.3), ("then", 1)))
    assert set(codes(codebook(now, size=256, before=then))) == {"codebook-collapse"}
    assert codes(codebook(now, size=256)) == {}


@pytest.mark.parametrize(
    ("said", "told"),
    [({}, True), ({"temperature": 0.8}, True), ({"temperature": 0}, False), ({"do_sample": False}, False)],
)
def test_answers_that_were_not_drawn_are_the_same_by_nature(tmp_path, said, told):
    rows = edited(lambda r, i: r | {"responses": r["responses"][:1] * 4} | said, 0.8)
    assert ("group-identical" in codes(generations([write(tmp_path / "a.jsonl", rows)]))) is told

"""Scores that go by length: pairs with a person's choice, answers with a grade, answers that were only lengthened."""

import json
import random

import pytest

from triage.tools.relate.preferred.lengths import LOOKS
from triage.tools.tables.read import read_tables


def told(folder, name, head, rows):
    (folder / name).write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]) + "\n")
    return [f.code for t in read_tables(folder / name, name) for look in LOOKS for f in look(t)]


def pair_rows(bias, quality, first, second, n=400, seed=1):
    rng, rows = random.Random(seed), []
    for i in range(n):
        x, y, q = rng.randint(40, 800), rng.randint(40, 800), rng.gauss(0, 1)
        gap = bias * (x - y) / 300 + quality * q + rng.gauss(0, 0.4)
        base = rng.gauss(0, 1)
        rows.append((f"k{i}", x, y, first if q > 0 else second, f"{base + gap / 2:.3f}", f"{base - gap / 2:.3f}"))
    return rows


FORMS = [
    ("pid,len_a,len_b,human_pref,rm_a,rm_b", "A", "B"),
    ("题,左_字数,右_字数,人工选择,左_分,右_分", "左", "右"),
    ("case,tokens_1,tokens_2,annotator_choice,reward_1,reward_2", "answer 1", "answer 2"),
    ("id,resp1Chars,resp2Chars,expert_label,resp1Score,resp2Score", "1", "2"),
]


@pytest.mark.parametrize(("head", "first", "second"), FORMS)
@pytest.mark.parametrize(
    ("bias", "quality", "found"), [(1.5, 0.2, True), (0.05, 1, False), (0.3, 1.2, False), (0, 0, False)]
)
def test_pairs_with_a_choice(tmp_path, head, first, second, bias, quality, found):
    rows = pair_rows(bias, quality, first, second)
    assert told(tmp_path, "dev.csv", head, rows) == ["score-follows-length"] * found


def test_too_few_pairs_and_a_choice_that_is_the_scores_own(tmp_path):
    head, first, second = FORMS[0]
    assert told(tmp_path, "few.csv", head, pair_rows(1.5, 0.2, first, second, n=30)) == []
    own = [(i, x, y, "A" if float(a) > float(b) else "B", a, b) for i, x, y, _, a, b in pair_rows(1.5, 0, "A", "B")]
    assert told(tmp_path, "own.csv", head, own) == []


def test_chosen_and_rejected_by_other_names(tmp_path):
    rows = []
    for i, x, y, who, a, b in pair_rows(1.5, 0.2, 0, 1):
        rows.append((i, x, y, a, b) if who == 0 else (i, y, x, b, a))
    assert told(tmp_path, "v.csv", "编号,胜_字数,负_字数,胜_得分,负_得分", rows) == ["score-follows-length"]


@pytest.mark.parametrize(("by_length", "by_grade", "found"), [(1, 0, True), (1, 1, False), (0.1, 1, False)])
@pytest.mark.parametrize(
    "head", ["prompt_id,tokens,rm_score,expert_grade", "题号,字数,奖励分,人工评分", "q,n_chars,reward,human"]
)
def test_answers_with_a_grade(tmp_path, head, by_length, by_grade, found):
    rng, rows = random.Random(2), []
    for i in range(300):
        n, g = rng.randint(60, 900), rng.randint(1, 5)
        rows.append((f"x{i // 4}", n, f"{by_length * n / 250 + by_grade * g + rng.gauss(0, 0.3):.3f}", g))
    assert told(tmp_path, "scored.csv", head, rows) == ["score-follows-length"] * found


def test_a_grade_that_goes_with_length_itself_is_no_bias(tmp_path):
    rng, rows = random.Random(3), []
    for i in range(300):
        n = rng.randint(60, 900)
        rows.append((i // 4, n, f"{n / 250 + rng.gauss(0, 0.3):.3f}", min(5, 1 + n // 180)))
    assert told(tmp_path, "scored.csv", "prompt_id,tokens,rm_score,expert_grade", rows) == []


@pytest.mark.parametrize(("paid", "found"), [(0.9, True), (0.0, False), (-0.5, False)])
@pytest.mark.parametrize(
    ("head", "kinds"),
    [("item,edit,len_before,len_after,score_before,score_after", ("add filler", "change key number")),
     ("编号,改法,字数前,字数后,分前,分后", ("末尾加客套话", "改错关键数字"))],
)  # fmt: skip
def test_answers_that_were_lengthened(tmp_path, head, kinds, paid, found):
    rng, rows = random.Random(4), []
    for i in range(80):
        n, s = rng.randint(100, 400), rng.gauss(0, 0.6)
        more = i % 2 == 0
        by = paid + rng.gauss(0, 0.15) if more else rng.gauss(0, 0.1)
        rows.append((f"P{i}", kinds[i % 2], n, n * 2 if more else n, f"{s:.3f}", f"{s + by:.3f}"))
    assert told(tmp_path, "probe.csv", head, rows) == ["score-follows-length"] * found


@pytest.mark.parametrize(("paid", "found"), [(0.9, True), (0.0, False)])
def test_lengthened_answers_in_rows_under_each_other(tmp_path, paid, found):
    rng, lines = random.Random(5), []
    for i in range(60):
        n, s = rng.randint(100, 400), rng.gauss(0, 0.6)
        for kind, size, by in (("original", n, 0), ("repeated twice", 2 * n, paid), ("wrong", n, -0.1)):
            lines.append(
                json.dumps({"query": f"q{i}", "variant": kind, "tokens": size, "rm": s + by + rng.gauss(0, 0.1)})
            )
    (tmp_path / "probe.jsonl").write_text("\n".join(lines))
    codes = [f.code for t in read_tables(tmp_path / "probe.jsonl", "probe.jsonl") for look in LOOKS for f in look(t)]
    assert codes == ["score-follows-length"] * found

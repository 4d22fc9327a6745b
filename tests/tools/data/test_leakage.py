# ruff: noqa: E501  (cases are rows of a table)
"""Evaluation items in training data: what is found, what is not, and what must not be called a leak."""

import json
import random

import pytest
from making import prose, write

from triage.tools.data.similar.leakage import find_leaks
from triage.tools.data.similar.leaked import leak_report, leak_rows

PROBLEM = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May if each of 3 shops returned 7 of them?"
)
CHINESE = (
    "小明在图书馆借了二十本书，第一周读完了其中的四分之一，第二周又读了剩下的三分之一，请问他还有多少本书没有读完？"
)


@pytest.fixture
def items(tmp_path):
    rng = random.Random(1)
    rows = [{"question": PROBLEM, "answer": "72"}, {"question": CHINESE, "answer": "10"}]
    return write(tmp_path / "eval.jsonl", rows + [{"question": prose(rng, 30), "answer": "1"} for _ in range(100)])


def leaks(tmp_path, items, rows, **options):
    rng = random.Random(2)
    noise = [{"instruction": prose(rng), "output": prose(rng)} for _ in range(150)]
    return find_leaks([write(tmp_path / "train.jsonl", noise + rows)], [items], **options)


def kinds(found):
    return {item: leak.kind for item, leak in found.items().items()}


SURROUNDINGS = prose(random.Random(3), 300)
CASES = {
    "verbatim": ({"prompt": PROBLEM, "completion": "72"}, "verbatim"),
    "case and punctuation": ({"text": PROBLEM.upper().replace(",", " --")}, "normalised"),
    "embedded": ({"text": f"{SURROUNDINGS} {PROBLEM} {SURROUNDINGS}"}, "embedded"),
    "numbers": (
        {"text": PROBLEM.replace("48", "56").replace("3 shops", "5 shops").replace("7 of", "9 of")},
        "numbers-changed",
    ),
    "one word changed": ({"text": PROBLEM.replace("clips in May", "pins in May")}, "partial"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_leak_is_found_and_named(tmp_path, items, name):
    row, kind = CASES[name]
    assert kinds(leaks(tmp_path, items, [row])) == {0: kind}


@pytest.mark.parametrize(
    "text",
    [
        CHINESE,
        f"题目：{CHINESE}答案：十本。" + "以下是其他无关内容" * 40,
        CHINESE.replace("，", " "),
        CHINESE.replace("二十", "三十六"),
    ],
)
def test_chinese_items_are_found_in_chinese_text(tmp_path, items, text):
    assert set(kinds(leaks(tmp_path, items, [{"text": text}]))) == {1}


def test_an_unrelated_set_has_no_leak_and_says_so(tmp_path, items):
    report = leak_report(leaks(tmp_path, items, []))
    assert report.findings == ()
    assert (report.summary["leaked"], report.summary["leak_rate"]) == (0, 0.0)
    assert [c.result for c in report.checks] == ["clear"]


def test_free_paraphrase_and_translation_are_not_found_and_the_check_says_so(tmp_path, items):
    rows = [{"text": "Forty-eight people bought a clip from Natalia during spring; afterwards sales fell by half."}]
    found = leaks(tmp_path, items, rows)
    assert found.items() == {}
    assert "translations" in leak_report(found).checks[0].why


def test_items_of_one_template_are_not_taken_for_each_other(tmp_path):
    rng = random.Random(4)
    frame = "Answer the following multiple choice question by giving only the letter of the correct option below. Question: {} Options: A yes B no C maybe"
    items = write(tmp_path / "eval.jsonl", [{"prompt": frame.format(prose(rng, 12))} for _ in range(200)])
    train = [{"prompt": frame.format(prose(rng, 12)), "response": "A"} for _ in range(200)]
    assert leaks(tmp_path, items, train).items() == {}
    leaked = json.loads(items.read_text().splitlines()[7])["prompt"]
    assert set(leaks(tmp_path, items, [*train, {"prompt": leaked, "response": "B"}]).items()) == {7}


def test_a_licence_and_a_public_passage_without_its_question_are_listed_apart(tmp_path):
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated files"
    passage = prose(random.Random(5), 80)
    items = write(
        tmp_path / "eval.jsonl",
        [
            {"prompt": licence},
            {"prompt": f"{passage}\nWhich of the four writers named here was the first to leave the city?"},
        ],
    )
    found = leaks(
        tmp_path, items, [{"text": f"# {licence} to deal in it"}, {"text": f"{passage} {prose(random.Random(6))}"}]
    )
    assert {leak.benign for _, _, leak in found.rows} == {"boilerplate", "quotation"}
    report = leak_report(found)
    assert report.findings == ()
    assert report.summary["benign_overlap"] == {"boilerplate": 1, "quotation": 1}


def test_short_items_are_matched_whole_only(tmp_path):
    items = write(tmp_path / "eval.jsonl", [{"question": "Who wrote Hamlet?"}, {"question": "What is 2 + 2?"}])
    found = leaks(
        tmp_path,
        items,
        [{"question": "who wrote  hamlet?", "answer": "Shakespeare"}, {"text": "Who wrote what is unclear."}],
    )
    assert set(found.items()) == {0}
    assert leak_report(found).summary["eval_items_matched_whole_only"] == 2


def test_the_matched_text_and_both_places_are_shown_with_personal_data_masked(tmp_path, items):
    found = leaks(tmp_path, items, [{"text": f"mail 13812345678 {PROBLEM}"}])
    (row,) = leak_rows(found)
    assert row["a"] == {"file": "eval.jsonl", "line": 1}
    assert (row["b"]["file"], row["b"]["line"]) == ("train.jsonl", 151)
    assert "Natalia sold clips" in row["text"]
    finding = leak_report(found).findings[0]
    assert (finding.code, finding.severity, finding.data["leaked"]) == ("eval-leakage", "S1", 1)
    assert "13812345678" not in json.dumps(leak_report(found).as_json())


def test_a_broken_evaluation_file_is_not_a_clean_one(tmp_path, items):
    items.write_text(items.read_text() + "{broken\n")
    assert "failed" in {c.result for c in leak_report(leaks(tmp_path, items, [])).checks}


ASKED = "{}, please recommend a remedy. Requirements: 1. Consider all of the symptoms. 2. Write down the whole chain of your reasoning, which may touch on symptoms, syndromes, treatment and prescriptions."
ILLS = [
    "hiccups",
    "a sore throat",
    "cold hands",
    "an aching back",
    "no appetite at all",
    "a dry cough",
    "restless sleep",
    "a stiff neck",
]


def asked(ills):
    return [{"prompt": ASKED.format(ill), "completion": prose(random.Random(i), 20)} for i, ill in enumerate(ills)]


def test_the_wording_that_training_records_share_is_no_leak(tmp_path):
    other = [{"question": prose(random.Random(50 + i), 30), "answer": "1"} for i in range(20)]
    items = write(tmp_path / "eval.jsonl", [*asked(["blurred vision"]), *other])
    assert not kinds(leaks(tmp_path, items, asked(ILLS)))
    assert kinds(leaks(tmp_path, items, asked([*ILLS, *["blurred vision"] * 5])))


def test_an_item_that_stands_in_the_data_again_and_again_is_one(tmp_path, items):
    changed = {"text": PROBLEM.replace("clips in May", "pins in May")}
    assert kinds(leaks(tmp_path, items, [changed] * 30)) == {0: "partial"}


ZOO = ("parrot", "tortoise", "otter", "lemur")
SOLD = "{} keeps {} of the {} birds in {} cages and sells {} of them at {} euros each. What does {} earn with the {} birds?"
CHINESE_SHOP = "{}的水果店上午卖出{}箱{}，下午又卖出{}箱，每箱{}{}元，请问{}这一天卖{}一共收入多少元？"


def sold(rng, count):
    """Items of one template, that differ in names and numbers."""
    for _ in range(count):
        who, what, n = rng.choice(("Ruth", "Emil", "Paula")), rng.choice(ZOO), [rng.randrange(2, 900) for _ in range(4)]
        yield {"question": SOLD.format(who, n[0], what, n[1], n[2], n[3], who, what), "answer": str(n[2] * n[3])}


def shop(rng, count):
    for _ in range(count):
        who, what = rng.choice(("小陈", "老周", "阿梅")), rng.choice(("苹果", "雪梨", "葡萄"))
        n = [rng.randrange(2, 900) for _ in range(3)]
        yield {"question": CHINESE_SHOP.format(who, n[0], what, n[1], what, n[2], who, what), "answer": str(sum(n))}


@pytest.mark.parametrize("made", [sold, shop])
class TestItemsOfATemplate:
    def test_with_other_numbers_are_no_leak_and_the_check_says_how_many(self, tmp_path, made):
        items = write(tmp_path / "eval.jsonl", made(random.Random(1), 40))
        report = leak_report(find_leaks([write(tmp_path / "train.jsonl", made(random.Random(2), 400))], [items]))
        assert report.findings == ()
        assert "40 items are of a template" in report.checks[0].why

    def test_that_stand_there_word_for_word_are_counted_all_and_alone(self, tmp_path, made):
        rows = list(made(random.Random(1), 60))
        train = [*made(random.Random(2), 1500), *rows[:50]]
        report = leak_report(
            find_leaks([write(tmp_path / "train.jsonl", train)], [write(tmp_path / "eval.jsonl", rows)])
        )
        assert report.findings[0].data["by_kind"] == {"verbatim": 50}
        assert (report.findings[0].code, report.findings[0].severity) == ("eval-leakage", "S1")


def test_items_that_are_there_with_other_numbers_alone_are_a_weaker_finding(tmp_path, items):
    text = PROBLEM.replace("48", "56").replace("3 shops", "5 shops").replace("7 of", "9 of")
    [finding] = leak_report(leaks(tmp_path, items, [{"text": text}])).findings
    assert (finding.code, finding.severity) == ("eval-items-renumbered", "S2")
    both = leak_report(leaks(tmp_path, items, [{"text": text}, {"prompt": CHINESE, "completion": "10"}])).findings[0]
    assert both.code == "eval-leakage"
    assert both.message.index("verbatim 1") < both.message.index("numbers-changed 1")


def test_the_clearest_match_of_an_item_is_kept_whatever_came_before(tmp_path, items, monkeypatch):
    monkeypatch.setattr("triage.tools.data.similar.leakage.HITS_KEPT", 3)
    changed = {"text": PROBLEM.replace("clips in May", "pins in May")}
    found = leaks(tmp_path, items, [changed] * 6 + [{"prompt": PROBLEM, "completion": "72"}])
    assert kinds(found) == {0: "verbatim"}

"""Questions of an evaluation in a sample of a corpus: word for word, and what rewording does."""

import json

import pytest

from triage.tools.data.between.items import check_items
from triage.tools.discover import discover

ASKED = [f"A tank holds {n} litres and drains at {n + 3} litres a minute. When is it empty?" for n in range(40)]
ZH = [f"甲乙两地相距{n}公里，汽车每小时行{n + 3}公里，几小时到达？" for n in range(40)]


def items(questions, key="question", answer="target", **more):
    return [{"id": i, key: q, answer: i, **{k: int(i % v[1] < v[0]) for k, v in more.items()}}
            for i, q in enumerate(questions)]  # fmt: skip


def corpus(texts, key="text"):
    return [{"doc": i, key: f"user{i} asked: {t}  Thanks! reply: 7"} for i, t in enumerate(texts)]


OTHER = [f"Sand the bracket number {n} after the first frost and keep the valve dry at noon." for n in range(60)]


@pytest.mark.parametrize(
    ("asked", "read", "found"),
    [
        (items(ASKED), corpus([*OTHER, *ASKED[:12]]), ["eval-leakage"]),
        (items(ZH, "题目", "答案"), corpus([*OTHER, *ZH[5:20]], "正文"), ["eval-leakage"]),
        (items(ASKED, "problem", right=(9, 10), right_reworded=(4, 10)), corpus(ASKED[:20], "content"),
         ["eval-leakage", "changed-items-fail"]),
        (items(ASKED), corpus(OTHER), []),
        (items(ASKED), corpus([*OTHER, *ASKED[:3]]), []),  # too few
        (items(["Hi?", "Why?", "Who?"] * 9), corpus([*OTHER, *["Hi? Why? Who?"] * 9]), []),  # too short to tell
        (items(ASKED, right=(9, 10), right_reworded=(4, 10)), corpus(OTHER), []),
        ([{"question": q} for q in ASKED], corpus(ASKED), []),  # prompts without an answer are no benchmark
        (items(ASKED), items(ASKED, "prompt"), []),
    ],
)  # fmt: skip
def test_items_in_a_corpus(tmp_path, asked, read, found):
    for name, rows in (("items.jsonl", asked), ("pull.jsonl", read)):
        (tmp_path / name).write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    assert [f.code for f in check_items(discover(tmp_path)).findings] == found

"""Two trainings that one log holds, one behind the other, are no course of one."""

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan


def epochs(first, last, batches, scores, head="Epoch {e}/20 begins", row="  it {i}/{n} cost {v:.3f}", end=" acc@1 {a}"):
    lines = []
    for e in range(first, last + 1):
        lines += [head.format(e=e)] if e or not head else []
        lines += [row.format(i=i, n=batches, v=3 / (e + i / batches)) for i in range(10, batches + 1, 10)]
        lines.append(end.format(a=scores[e - first]))
    return lines


GOOD = [round(0.2 + 0.03 * e, 3) for e in range(20)]
ZH = {"head": "轮次 {e}/20 开始", "row": "批次 {i}/{n} 损失 {v:.3f}", "end": "验证 准确率: {a}"}


def told(tmp_path, lines):
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {f.code for f in scan(discover(tmp_path)).findings} & {"eval-regression"}


@pytest.mark.parametrize("words", [{}, ZH], ids=["en", "zh"])
def test_the_scores_of_a_training_that_begins_behind_another_are_no_regression(tmp_path, words):
    end = {"end": " val results: accuracy: {a}"} if not words else {}
    form = {**words, **end}
    again = epochs(1, 3, 60, [0.11, 0.14, 0.16], **form)
    assert told(tmp_path, epochs(1, 20, 40, GOOD, **form) + again) == set()
    assert told(tmp_path, epochs(1, 20, 40, GOOD, **form) + again[1:]) == set(), "its first heading is lost"


@pytest.mark.parametrize("words", [{"end": " val results: accuracy: {a}"}, ZH], ids=["en", "zh"])
def test_one_training_that_loses_what_it_knew_still_does(tmp_path, words):
    assert told(tmp_path, epochs(1, 20, 40, [*GOOD[:16], 0.1, 0.12, 0.09, 0.1], **words)) == {"eval-regression"}

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.markdown import LONGEST, pieces

TABLE = """# 排查手册

## 一、训练

| 现象 | 根因 | 修复 |
|------|:----:|------|
| loss 变 `NaN` | 学习率过大<br>坏数据 | 降低学习率 |
| 卡死 | a \\| b, `x|y` | |

后记。
"""


def test_a_table_gives_one_passage_a_row_with_its_headers_headings_and_line():
    rows = [p for p in pieces(TABLE) if "现象" in p.text]
    assert [(p.line, p.headings) for p in rows] == [(7, ("排查手册", "一、训练")), (8, ("排查手册", "一、训练"))]
    assert rows[0].text == "现象: loss 变 `NaN`\n根因: 学习率过大\n坏数据\n修复: 降低学习率"
    assert rows[1].text == "现象: 卡死\n根因: a | b, `x|y`"


def test_headings_nest_and_close():
    text = (
        "# A\n\none\n\n## B\n\ntwo\n\n### C ##\n\nthree\n\n## [D](x) **bold**\n\nfour\n\nE\n==\n\nfive\n\nF\n---\n\n6"
    )
    assert [(p.headings, p.text) for p in pieces(text)] == [
        (("A",), "one"),
        (("A", "B"), "two"),
        (("A", "B", "C"), "three"),
        (("A", "D bold"), "four"),
        (("E",), "five"),
        (("E", "F"), "6"),
    ]


def test_code_and_diagrams_stay_whole_and_their_marks_are_no_headings():
    text = "# A\n\n```bash\n# not a heading\n| a | b |\n|---|---|\n```\n\n~~~mermaid\ngraph TB\nA --> B\n~~~\n"
    (piece,) = pieces(text)
    assert piece.headings == ("A",)
    assert piece.text == text.removeprefix("# A\n\n").rstrip()


def test_an_unclosed_fence_does_not_swallow_the_sections_after_it():
    assert [p.headings for p in pieces("# A\n\n```\nx\n\n# B\n\ny")] == [("A",), ("B",)]


def test_front_matter_is_left_out_and_crlf_keeps_line_numbers():
    assert [(p.line, p.text) for p in pieces("---\r\nid: x\r\n---\r\n\r\nhello\r\n")] == [(5, "hello")]


def test_a_long_section_is_split_at_its_blocks():
    text = "# A\n\n" + "\n\n".join(f"{i} " + "word " * 100 for i in range(20))
    found = list(pieces(text))
    assert len(found) > 5
    assert max(len(p.text) for p in found) <= LONGEST
    assert [p.text.split()[0] for p in found] == sorted((p.text.split()[0] for p in found), key=int)


@given(st.text(alphabet="#|-`~= \n\r\\a中:<br>*[]()", max_size=400))
def test_any_text_is_read_without_loss_of_words(text):
    found = list(pieces(text))
    assert all(p.line <= text.count("\n") + text.count("\r") + 1 for p in found)
    assert all(len(p.text) <= LONGEST for p in found)


@pytest.mark.parametrize(
    "hostile",
    ["|" * 1_000_000, "# " + " " * 1_000_000 + "x", "`|" * 500_000 + "\n|---|", "a|b\n" + "-" * 1_000_000 + "|"],
    ids=["pipes", "spaces", "code", "rule"],
)
def test_hostile_lines_take_linear_time(hostile):
    start = time.perf_counter()
    list(pieces(hostile))
    assert time.perf_counter() - start < 5

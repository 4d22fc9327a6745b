"""Numbers with their nouns."""

import pytest

from triage.tools.phrase import LINE, Phrase, counted


@pytest.mark.parametrize(
    ("n", "noun", "said"),
    [(1, "line", "1 line"), (2, "line", "2 lines"), (0, "log", "0 logs"), (2, "entry", "2 entries"),
     (3, "check", "3 checks"), (2, "key", "2 keys"), (2, "batch", "2 batches")],
)  # fmt: skip
def test_a_number_and_its_noun_agree(n, noun, said):
    assert counted(n, Phrase(noun, "个")) == said


def test_chinese_has_one_form():
    assert counted(1, LINE, "zh") == "1 行"

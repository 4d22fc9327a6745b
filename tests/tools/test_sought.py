"""Patterns that are compiled when a text holds one of their words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.tools.patterns import Sought, bounded, words_of


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("learning|lr", ("learning", "lr")),
        (r"(?:lora[- _]?)?alpha", ("alpha",)),
        (r"(?:num[_ ])?(?:train|test)_steps", ("_steps",)),
        (r"(?:tensor|pipeline)-?", ("tensor", "pipeline")),
        (r"(?<!no )(?:warm up|warmup)(?! ?step)", ("warm up", "warmup")),
        (r"(?:梯度|激活)检查点|重算", ("检查点", "重算")),
        (r"\(loss\)", ("(loss)",)),
        ("x|loss", ()),
        ("(?:loss)?", ()),
        ("[ab]c*", ()),
        (r"(?:kl|\d+)", ()),
    ],
)
def test_the_words_of_which_every_match_holds_one(pattern, words):
    assert words_of(pattern) == words


piece = st.sampled_from(["ab", "cde", "(?:ab|cd)", "(?:xyz)?", "[a-c]", "z*", "y+", r"\d", "(?=ab)", "(fgh|ij){2}"])


@given(
    st.lists(st.lists(piece, min_size=1, max_size=4), min_size=1, max_size=3), st.text("abcdefghijxyz12", max_size=30)
)
def test_it_finds_what_the_pattern_finds(parts, text):
    pattern = "|".join("".join(alternative) for alternative in parts)
    found = [m.span() for m in Sought(pattern, re.IGNORECASE).finditer(text.upper())]
    assert found == [m.span() for m in bounded(pattern, re.IGNORECASE).finditer(text.upper())]


def test_it_is_not_compiled_for_a_text_without_its_words():
    sought = Sought("gradient|norm")
    assert sought.search("the loss") is None
    assert "compiled" not in vars(sought)
    assert sought.search("the norm")


@pytest.mark.parametrize("typed", ["PLEASE", "plea\u017fe", "m\u0131nd", "M\u0130ND"])
def test_letters_that_are_taken_for_others_are_found_as_the_pattern_finds_them(typed):
    pattern = "please|mind"
    assert re.search(pattern, typed, re.IGNORECASE)
    assert Sought(pattern, re.IGNORECASE).search(typed)

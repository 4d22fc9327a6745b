"""Sources by name: only numbers that are sources, in sentences of the runbook."""

import re

import pytest

from triage.agent.narrate.entry import page
from triage.agent.narrate.sources import BOOKS, cite, named
from triage.knowledge.runbook import load


def test_a_citation_has_the_books_name_and_the_place_in_it():
    assert cite("002 §1 1a", "en") == "the diagnosis handbook §1 1a"
    assert cite("001 C.2-4", "zh") == "《大模型排障 Runbook》 C.2-4"
    assert cite("org/project#12", "en") == "org/project#12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Source 004 adds offload", "The MiniOneRec guide adds offload"),
        ("runbook 001: the data first", "the large-model runbook: the data first"),
        ("bound the space (003: 1000)", "bound the space (the LightRFT guide: 1000)"),
        ("32,000 tokens, lr 0.001, step 1003, model-00001-of-00002, :000", None),
    ],
)
def test_what_is_a_source_in_a_sentence_is_named_and_no_other_number(text, said):
    assert named(text, "en") == (said or text)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_page_of_the_runbook_speaks_of_a_source_by_number_or_of_a_contradiction_by_code(lang):
    for entry in load():
        shown = page(entry, lang)
        assert not re.search(rf"(?<![\d.,:-])(?:{'|'.join(BOOKS)})(?![\d.,])|\b[XIU]-\d\d\b", shown), entry.id

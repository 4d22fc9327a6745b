"""The tables of sentences: both languages say the same things."""

import string

import pytest

from triage.agent.narrate import explain, glossary, words
from triage.agent.wording import turn
from triage.tools.phrase import Phrase
from triage.ui import listing, output, pages
from triage.ui.plots import series
from triage.ui.slack import words as slack
from triage.ui.web import words as web

TABLES = {
    f"{module.__name__}.{name}": table
    for module in (words, explain, glossary, turn, listing, output, pages, series, slack, web)
    for name, table in vars(module).items()
    if isinstance(table, dict) and any(isinstance(value, Phrase) for value in table.values())
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_both_languages_fill_in_the_same_values(table):
    for key, phrase in table.items():
        fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (phrase.en, phrase.zh)]
        assert fields[0] == fields[1], key

import pytest

from triage.tools.phrase import Phrase, phrases
from triage.tools.registry import modules, table


def test_a_table_keeps_the_order_of_its_entries():
    assert list(table("letters", [("b", 1), ("a", 2)])) == ["b", "a"]


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([("a", 1), ("a", 2)], "letters: 'a' is declared twice"),
        ([("", 1)], "letters: '' is empty"),
        ([("a", "")], "letters: 'a' is empty"),
        ([("a", ())], "letters: 'a' is empty"),
    ],
)
def test_what_is_said_twice_or_not_at_all_fails_with_its_own_name(entries, says):
    with pytest.raises(ValueError, match=says):
        table("letters", entries)


def test_the_modules_of_a_package_are_found_by_being_there():
    assert {m.__name__.rpartition(".")[2] for m in modules("triage.knowledge")} > {"entry", "runbook"}


def test_a_phrase_speaks_both_languages_and_fills_in_its_names():
    phrase = Phrase("{n} steps", "{n} 步")
    assert (phrase.say("en", n=3), phrase.say("zh", n=3)) == ("3 steps", "3 步")
    assert Phrase("steps {x}", "步 {x}").say("en") == "steps {x}"


def test_a_phrase_has_both_languages():
    with pytest.raises(ValueError, match="needs both languages"):
        Phrase("steps", "")


@pytest.mark.parametrize("row", [("a", "one", ""), ("a", "", "一"), ("b", "two", "二")])
def test_a_table_of_phrases_names_what_is_said_twice_or_in_one_language_only(row):
    with pytest.raises(ValueError, match=f"letters: '{row[0]}' is"):
        phrases("letters", ("b", "B", "乙"), row)

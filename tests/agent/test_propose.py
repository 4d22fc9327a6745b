import pytest

from triage.agent.propose import change, spell
from triage.knowledge.entry import Fix


def fix(**how):
    t = {"en": "x", "zh": "x"}
    return Fix.model_validate({"variable": "learning_rate", "change": how, "why": t, "expect": t})


@pytest.mark.parametrize(
    ("number", "like", "spelled"),
    [
        (1.5e-4, "3e-4", "1.5e-4"),
        (1.5e-4, "0.0003", "0.00015"),
        (5e-6, "1.0e-5", "5.0e-6"),
        (0.15, "0.3", "0.15"),
        (2.0, "4.0", "2"),
    ],
)
def test_numbers_are_spelled_as_the_file_spells_them(number, like, spelled):
    assert spell(number, like) == spelled
    assert float(spelled) == pytest.approx(number)


@pytest.mark.parametrize(
    ("value", "raw", "how", "new"),
    [
        (3e-4, "3e-4", {"multiply": 0.5}, "1.5e-4"),
        (0.0, "0.0", {"set": 1.0}, "1.0"),
        (1.0, "1.0", {"set": 1.0}, None),
        (1.0, "1", {"set": 1.0}, None),
        (0.0, "0", {"multiply": 0.5}, None),
        (8, "8", {"multiply": 0.5}, "4"),
        (1, "1", {"multiply": 0.5}, None),
        ("auto", "auto", {"multiply": 0.5}, None),
        (False, "false", {"set": True}, "true"),
        ("fp16", "fp16", {"set": "bf16"}, "bf16"),
    ],
)
def test_a_change_that_would_change_nothing_is_none(value, raw, how, new):
    assert change(value, raw, fix(**how)) == new


@pytest.mark.parametrize("how", [{}, {"multiply": 0.5, "add": 1}, {"do": {"en": "a", "zh": "b"}}])
def test_a_fix_changes_exactly_one_thing(how):
    with pytest.raises(ValueError, match="Fix"):
        fix(**how)

"""Every rule on programs does what its page says."""

import pytest

from triage.tools.code.check import RULES, judged
from triage.tools.code.source import parse

CASES = [(code, side, i) for code, rule in sorted(RULES.items()) for side in ("bad", "good")
         for i in range(len(getattr(rule, side)))]  # fmt: skip


@pytest.mark.parametrize(("code", "side", "i"), CASES)
def test_the_examples_of_a_rule_do_what_it_says(code, side, i):
    text = getattr(RULES[code], side)[i]
    found, broken = judged(parse(text, "train.py"), RULES.values())
    assert not broken
    assert [(f.code, str(f.severity)) for f in found if f.code == code] == [(code, RULES[code].severity)] * (
        side == "bad"
    ), found
    assert {f.code for f in found if f.severity in ("S0", "S1")} <= {code}, found

"""The lab's own programs: each fault is a line that a rule names and its edit takes back; sound ones are left alone."""

import pytest

from triage.evals.lab.fault import Case, faults
from triage.evals.lab.loop import patched
from triage.evals.lab.recording import first, healthy_of
from triage.tools.code.check import RULES, judged
from triage.tools.code.source import parse
from triage.tools.findings import TriageError

LINES = [name for name, fault in faults().items() if fault.family == "code"]


def program(spec):
    return spec.files["train.py"]


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_a_fault_is_named_and_its_edit_leaves_nothing_of_it(name):
    case = Case((name,), 1)
    text, sound = program(first(case)), program(healthy_of(case))
    codes = set(case.fault.shows)
    found = [f for f in judged(parse(text, "train.py"), RULES.values())[0] if f.code in codes]
    assert found
    mended = patched(text, found[0].data["fix"]["patch"])
    for right in (mended, sound):
        assert not [f for f in judged(parse(right, "train.py"), RULES.values())[0] if f.code in codes]


def test_sound_programs_of_the_lab_have_no_grave_finding():
    for recipe in {faults()[name].recipe for name in LINES}:
        text = program(first(Case((f"healthy-{recipe}",), 1)))
        assert not [f for f in judged(parse(text, "train.py"), RULES.values())[0] if f.severity in ("S0", "S1")]


def test_a_patch_of_another_text_is_refused():
    patch = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n"
    assert patched("a = 1\nb = 2\n", patch) == "a = 1\nb = 3\n"
    with pytest.raises(TriageError):
        patched("a = 1\nc = 2\n", patch)

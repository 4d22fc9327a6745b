"""The planted defects: every rule has one, nearly all are found where they are, and sound programs are left alone."""

from __future__ import annotations

from triage.evals.mutations.scoring import measure
from triage.tools.code.check import RULES


def test_planted_defects_are_found_on_their_line_and_sound_programs_are_left_alone():
    scores, missed, alarms = measure()
    assert scores.keys() == RULES.keys()
    planted, found, on_line = (sum(getattr(s, n) for s in scores.values()) for n in ("planted", "found", "on_line"))
    assert found / planted >= 0.97, missed
    assert on_line / found >= 0.98, missed
    assert [a for a in alarms if not a.startswith("S3")] == []

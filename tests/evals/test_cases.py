import json

import pytest

from triage.evals.suites.cases import RIGHT, score
from triage.knowledge.runbook import load

RIGHT_ENTRIES = json.loads(RIGHT.read_text(encoding="utf-8"))


def case(failure_class, question, log="", **artifacts):
    return {"id": "c1", "failure_class": failure_class, "question": question, "log": log, "artifacts": artifacts}


def test_the_right_entries_exist():
    named = {id for ids in RIGHT_ENTRIES.values() for id in ids if not id.startswith("@")}
    assert named <= load().entries.keys()


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        (case("disk-full-on-save", "died while saving", "OSError: [Errno 28] No space left on device\n"), "first"),
        (case("double-bos", "died while saving", "OSError: [Errno 28] No space left on device\n"), "wrong"),
        (case("overfitting", "how do I boil an egg"), "not covered"),
        (case("no-such-class", "loss is nan"), "unmapped"),
        (case("expected-behaviour", "dpo loss starts at 0.693, is that normal"), "first"),
    ],
)
def test_an_answer_is_placed(asked, outcome):
    assert score(asked, RIGHT_ENTRIES).outcome == outcome


def test_artifacts_become_files_of_a_run_and_stay_in_their_folder():
    asked = case("disk-full-on-save", "why", **{"../../x.log": "OSError: [Errno 28] No space left on device\n"})
    assert "disk-full" in score(asked, RIGHT_ENTRIES).codes

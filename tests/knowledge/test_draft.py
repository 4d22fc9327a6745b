import re

import pytest
import yaml

from triage.knowledge.draft import REVIEW, draft
from triage.knowledge.entry import EntryError, RunbookError, parse

CASE = {"id": "c7f3", "question": "loss is nan\n---\n# en: at step 4000", "status": "fixed",
        "events": [{"kind": "answer",
                    "content": {"lang": "en",
                                "hypotheses": [{"entry": "loss-nan-high-lr", "severity": "S0",
                                                "check_first": "look at grad_norm"}],
                                "findings": [{"code": "loss-nonfinite", "severity": "S0",
                                              "message": "loss is nan\n## Fix\nfrom step 4000"},
                                             {"code": "run-healthy", "severity": "S3", "message": "..."}],
                                "proposal": {"variable": "learning_rate", "new": 1.5e-4, "why": "half the peak",
                                             "expect": "a finite loss",
                                             "acceptance": [{"metric": "loss", "is": "finite", "low": None,
                                                             "value": None, "unit": ""},
                                                            {"metric": "grad_norm", "is": "between", "low": 0.0,
                                                             "high": 5.0}]}}},
                   {"kind": "verdict",
                    "content": {"verdict": "fixed",
                                "changed": [{"variable": "learning_rate", "old": 3e-4, "new": 1.5e-4}],
                                "criteria": [{"metric": "loss", "result": "pass"},
                                             {"metric": "grad_norm", "result": "pass"}]}}]}  # fmt: skip


def test_a_draft_carries_what_the_case_established():
    front = yaml.safe_load(draft(CASE).split("\n---\n")[0])
    assert front["id"] == "case-c7f3"
    assert front["findings"]["for"] == {"loss-nonfinite": "moderate"}
    assert front["fix"]["variable"] == "learning_rate"
    assert front["fix"]["change"] == {"set": 1.5e-4}
    assert [(c["metric"], c.get("low"), c.get("high")) for c in front["acceptance"]] == [
        ("loss", None, None),
        ("grad_norm", 0.0, 5.0),
    ]
    assert front["rivals"] == ["loss-nan-high-lr"]


def test_text_of_the_case_opens_no_heading_and_no_key():
    text = draft(CASE)
    assert len(re.findall(r"^---$", text, re.MULTILINE)) == 2
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 10
    assert re.findall(r"^# .*", text, re.MULTILINE) == ["# en", "# zh"]


def test_a_draft_is_a_valid_entry_once_reviewed_and_says_where():
    text = draft(CASE)
    assert text.count(REVIEW) > 10
    entry = parse(text.replace(REVIEW, ""), "case-c7f3.md")
    assert entry.fix.variable == "learning_rate"


def test_a_change_that_is_no_setting_is_described():
    case = {
        **CASE,
        "events": [
            CASE["events"][0],
            {
                "kind": "verdict",
                "content": {"changed": [{"variable": "dataset", "old": "", "new": "dropped rows 3 and 4"}]},
            },
        ],
    }
    entry = parse(draft(case).replace(REVIEW, ""), "case-c7f3.md")
    assert entry.fix.change["do"]["en"] == "dropped rows 3 and 4"


@pytest.mark.parametrize("change", [{"status": "open"}, {"events": []}])
def test_only_a_resolved_case_gives_a_draft(change):
    with pytest.raises(RunbookError, match="c7f3"):
        draft({**CASE, **change})


def test_parse_still_refuses_what_is_no_entry():
    with pytest.raises(EntryError):
        parse("# just a note", "x.md")

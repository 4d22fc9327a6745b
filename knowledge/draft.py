"""A draft entry from a resolved case, for a person to review.

It copies what the case established (question, findings, the one change, the criteria that passed) and marks what only
a person can write with `REVIEW:`. `triage runbook add` refuses a file that still has such a mark, so a draft never
becomes live unread. Text from the case is data: it is put in quotes and cannot open a heading or a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .entry import NOT_A_SETTING, SECTIONS, RunbookError

REVIEW = "REVIEW:"
"""Stands where a person must write something."""


def draft(case: Mapping[str, Any]) -> str:
    """The draft as the text of an entry file.

    Args:
        case: `{"id", "question", "status", "events": [{"kind", "content"}]}` with contents as the public contracts
            `triage.answer/1` and `triage.verdict/1`.

    Raises:
        RunbookError: the case is not resolved, or has no answer.
    """
    if case["status"] != "fixed":
        raise RunbookError(
            f"case {case['id']} is {case['status']}, not fixed; `triage verify --case {case['id']}` decides that"
        )
    answers = [event["content"] for event in case["events"] if event["kind"] == "answer"]
    verdicts = [event["content"] for event in case["events"] if event["kind"] == "verdict"]
    if not answers:
        raise RunbookError(f"case {case['id']} has no answer to make an entry of")
    answer = next((a for a in reversed(answers) if a.get("proposal")), answers[-1])
    verdict = verdicts[-1] if verdicts else {}
    return "\n".join(["---", *_front(case, answer, verdict), "---", *_body(case, answer, verdict)]) + "\n"


def _front(case: Mapping[str, Any], answer: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterable[str]:
    lang = answer.get("lang", "en")
    top = next(iter(answer.get("hypotheses", ())), {})
    codes = {f["code"]: "moderate" for f in answer.get("findings", ()) if f["severity"] != "S3"}
    question = _one_line(case["question"])
    front: dict[str, Any] = {
        "id": f"case-{case['id']}",
        "title": _both("name the failure", lang, f"like {top['entry']}" if top else ""),
        "severity": top.get("severity", "S2"),
        "stages": [f"{REVIEW} pretrain, sft, dpo, rl, inference, ..."],
        "findings": {"for": codes, "against": {}},
        "check_first": _both("the cheapest read-only check", lang, top.get("check_first", "")),
        "fix": _fix(answer.get("proposal"), verdict, lang),
        "acceptance": _acceptance(answer.get("proposal") or {}, verdict, lang),
        "sources": [f"case {case['id']}"],
        "rivals": [h["entry"] for h in answer.get("hypotheses", ())[:3]],
        "says": {
            which: ([question] if which == lang else []) + [f"{REVIEW} another way to say it {n}" for n in (1, 2, 3)]
            for which in ("en", "zh")
        },
    }
    return (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items())


def _fix(proposal: Mapping[str, Any] | None, verdict: Mapping[str, Any], lang: str) -> dict[str, Any] | None:
    """The change that the verdict saw, else the one proposed."""
    changed = next(iter(verdict.get("changed", ())), None)
    if not changed and not proposal:
        return None
    variable = str((changed or proposal or {})["variable"])
    new = (changed or proposal or {}).get("new")
    do = variable in NOT_A_SETTING or isinstance(new, (dict, list)) or new is None
    return {
        "variable": variable if not do or variable in NOT_A_SETTING else "code",
        "change": {"do": _both("what to do", lang, _one_line(new))} if do else {"set": new},
        "why": _both("why it helps", lang, (proposal or {}).get("why", "")),
        "expect": _both("what the next run shows", lang, (proposal or {}).get("expect", "")),
    }


def _acceptance(proposal: Mapping[str, Any], verdict: Mapping[str, Any], lang: str) -> list[dict[str, Any]]:
    """The proposed criteria that the verdict found passed."""
    passed = {c["metric"] for c in verdict.get("criteria", ()) if c.get("result") == "pass"}
    kept = [
        {key: c[key] for key in ("metric", "is", "low", "high", "value", "unit") if c.get(key) not in (None, "")}
        for c in proposal.get("acceptance", ())
        if c["metric"] in passed
    ]
    return [c | {"basis": "proposed", "definition": _both("unit and window", lang, "")} for c in kept]


def _body(case: Mapping[str, Any], answer: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterable[str]:
    findings = [f"`{f['code']}`: {_one_line(f['message'])}" for f in answer.get("findings", ())]
    changed = [f"{c['variable']}: {_one_line(c['old'])} -> {_one_line(c['new'])}" for c in verdict.get("changed", ())]
    passed = [_one_line(c["metric"]) for c in verdict.get("criteria", ()) if c.get("result") == "pass"]
    known = ([_one_line(case["question"])], findings, [], changed, passed)
    for lang, headings in SECTIONS.items():
        yield from ("", f"# {lang}")
        for heading, facts in zip(headings, known, strict=True):
            yield from ("", f"## {heading}", f"{REVIEW} write this section from:" if facts else f"{REVIEW} write this")
            yield from (f"> {fact}" for fact in facts)


def _both(what: str, lang: str, text: str) -> dict[str, str]:
    """The text in its own language, a mark in the other, or in both when there is none."""
    text = _one_line(text)
    return {which: text if text and which == lang else f"{REVIEW} {what}" for which in ("en", "zh")}


def _one_line(value: Any) -> str:
    return " ".join(str(value).split())[:500]

"""The lab's results as JSON, as a table and as a Markdown report with plots drawn in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .scoring import Score, summary

ROWS = (
    ("detected", "fault detected", "share"),
    ("rank1", "right entry first", "share"),
    ("rank1_or_near", "right entry or a near miss first", "share"),
    ("macro_rank1", "right entry first, mean over faults", "share"),
    ("top3", "right entry in the top 3", "share"),
    ("step", "evidence at the right step", "share"),
    ("one_variable", "exactly one variable changed", "share"),
    ("repaired_1", "repaired at the first attempt", "share"),
    ("repaired_2", "repaired within two", "share"),
    ("repaired_3", "repaired within three", "share"),
    ("really_cured", "cured by a proposal, whatever verify says", "share"),
    ("false_alarms", "healthy runs with an S0/S1 finding", "share"),
    ("healthy_called_healthy", "healthy runs called healthy or normal", "share"),
    ("abstention", "abstains when its detectors are removed", "share"),
    ("ece", "expected calibration error", "number"),
    ("seconds", "seconds per case", "number"),
)


def results(scores: Sequence[Score]) -> dict[str, Any]:
    """`triage.lab/1`: the figures of every advisor on the test part and on all cases, and every case."""
    advisors = list(dict.fromkeys(s.advisor for s in scores))
    parts = {"test": [s for s in scores if s.split == "test"], "all": list(scores)}
    return {
        "schema": "triage.lab/1",
        "summary": {
            part: {a: summary([s for s in chosen if s.advisor == a]) for a in advisors}
            for part, chosen in parts.items()
            if chosen
        },
        "cases": [s.as_json() for s in sorted(scores, key=lambda s: (s.advisor != "triage", s.advisor, s.case))],
    }


def _cell(value: Any, kind: str) -> str:
    if value is None:
        return "–"
    return f"{value:.0%}" if kind == "share" else f"{value:.3f}"


def table(figures: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Rows of text: a header, then one row a figure, one column an advisor."""
    advisors = list(figures)
    rows = [["", *advisors]]
    for key, label, kind in ROWS:
        rows.append([label, *(_cell(figures[a][key], kind) for a in advisors)])
    return rows


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)])


def report(out: Mapping[str, Any], command: str) -> str:
    """The Markdown report of `results`."""
    part = "test" if "test" in out["summary"] else "all"
    figures = out["summary"][part]
    mine = [c for c in out["cases"] if c["advisor"] == "triage" and (part == "all" or c["split"] == part)]
    count, healthy = figures["triage"]["cases"], figures["triage"]["healthy_cases"]
    pieces = [
        "# Fault lab",
        f"`{command}` · {part} part: {count} faulty runs, {healthy} healthy runs.",
        _markdown(table(figures)),
        "## Calibration",
        _reliability(figures["triage"]["reliability"]),
        "## By family",
        _families([c for c in mine if c["family"] != "healthy"]),
        "## Every case of triage",
        _markdown([_CASE_HEAD, *map(_case_row, mine)]),
    ]
    return "\n\n".join(pieces) + "\n"


def _reliability(rows: Sequence[Mapping[str, float]]) -> str:
    """A bar per bin: how often the first hypothesis was right, with the stated probability as a mark."""
    lines = ["```text", "stated   right  cases"]
    for row in rows:
        bar = ["█" if i < round(40 * row["right"]) else "·" for i in range(41)]
        bar[round(40 * row["stated"])] = "|"
        lines.append(f"{row['stated']:6.2f}  {row['right']:6.2f}  {row['cases']:5.0f}  {''.join(bar)}")
    return "\n".join([*lines, "```"])


def _families(cases: Sequence[Mapping[str, Any]]) -> str:
    """Two bars for each family: the right entry first, and repaired among the repairable."""
    lines = ["```text"]
    for family in dict.fromkeys(c["family"] for c in cases):
        mine = [c for c in cases if c["family"] == family]
        tried = [c for c in mine if c["repairable"]]
        for label, group, key in ((family, mine, "rank1"), ("  repaired", tried, "repaired")):
            good = sum(bool(c[key]) for c in group)
            bar = "█" * round(40 * good / max(len(group), 1))
            lines.append(f"{label:12} {good:3}/{len(group):<3} {bar}")
    return "\n".join([*lines, "```"])


_CASE_HEAD = ["case", "state", "first", "p", "seen", "rank 1", "top 3", "step", "repaired", "attempts"]


def _case_row(case: Mapping[str, Any]) -> list[str]:
    mark = {True: "yes", False: "**no**", None: "–"}
    tried = "; ".join(f"{a['variable']}: {a['verdict'] or a['why']}" for a in case["attempts"])
    healthy = case["family"] == "healthy"
    return [
        case["case"],
        case["state"],
        (case["ranked"] or ["–"])[0],
        f"{case['probability']:.2f}",
        ", ".join(case["alarms"]) or "none" if healthy else mark[case["detected"]],
        "–" if healthy else mark[case["rank1"]],
        "–" if healthy else mark[case["top3"]],
        mark[case["step"]],
        str(case["repaired"] or "–"),
        (tried or case["why_not"] or "–").replace("|", "/"),
    ]

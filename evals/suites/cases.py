"""Real cases through `ask`: is a right entry in the top three, or does the answer say the runbook does not cover it?

`python -m triage.evals.suites.cases FILE.jsonl [--wrong]` prints one row a case and the totals. A case has `id`,
`failure_class`, `question`, `log` (text, may be empty) and `artifacts` (file name -> text or JSON). Which entries are
right for a class stands in `data/case-entries.json` (`@benign`: any entry of that kind); a class that is not there is
listed and not counted. It scores, it does not judge the advice.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agent.answer import Answer
from ...agent.session import ask
from ...knowledge.entry import Entry

RIGHT = Path(__file__).parent.parent / "data" / "case-entries.json"
OUTCOMES = ("first", "top-3", "not covered", "missed", "wrong", "unmapped")
"""`wrong`: diagnosed as something else, the right entry not in the top three; `missed`: undecided and without it."""


@dataclass(frozen=True)
class Scored:
    """The result for one case."""

    id: str
    failure_class: str
    outcome: str
    """One of `OUTCOMES`."""
    state: str
    stated: bool
    """Whether the answer names one entry as the diagnosis."""
    entries: tuple[tuple[str, float], ...]
    """The first three hypotheses and their probabilities."""
    codes: tuple[str, ...]
    """Findings of the log and the files."""


def ask_case(case: Mapping[str, Any]) -> Answer:
    """Write what the case has to files, and ask its question about them (words only when there are none)."""
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        for name, content in case["artifacts"].items():
            text = content if isinstance(content, str) else json.dumps(content)
            Path(folder, Path(name).name).write_text(text, encoding="utf-8")
        if case["log"]:
            Path(folder, "console.log").write_text(case["log"], encoding="utf-8")
        return ask(case["question"], [Path(folder)] if any(Path(folder).iterdir()) else [])


def score(case: Mapping[str, Any], right: Mapping[str, Sequence[str]]) -> Scored:
    """Ask one case and place the answer in `OUTCOMES`."""
    d = ask_case(case).diagnosis
    first = d.hypotheses[:3]
    wanted = right.get(case["failure_class"])
    hits = [_is_right(h.entry, wanted or ()) for h in first]
    if wanted is None:
        outcome = "unmapped"
    elif any(hits):
        outcome = "first" if hits[0] else "top-3"
    elif d.state == "out-of-scope" or not first:
        outcome = "not covered"
    else:
        outcome = "wrong" if d.state == "diagnosed" else "missed"
    entries = tuple((h.entry.id, round(h.probability, 2)) for h in first)
    codes = tuple(dict.fromkeys(f.code for f in d.findings))
    return Scored(case["id"], case["failure_class"], outcome, d.state, d.state == "diagnosed", entries, codes)


def _is_right(entry: Entry, wanted: Sequence[str]) -> bool:
    return entry.id in wanted or f"@{entry.kind}" in wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--wrong", action="store_true", help="only the cases whose first entry is not a right one")
    options = parser.parse_args()
    right = json.loads(RIGHT.read_text(encoding="utf-8"))
    lines = options.file.read_text(encoding="utf-8").splitlines()
    results = [score(json.loads(line), right) for line in lines if line.strip()]
    print(f"{'case':10} {'class':28} {'outcome':12} {'state':13} entries; findings")
    for r in results:
        if not options.wrong or r.outcome != "first":
            named = ", ".join(f"{id} {p:.2f}" for id, p in r.entries) or "-"
            print(f"{r.id:10} {r.failure_class:28} {r.outcome:12} {r.state:13} {named}; {' '.join(r.codes) or '-'}")
    counted = [r for r in results if r.outcome != "unmapped"]
    counts = Counter(r.outcome for r in results)
    print(", ".join(f"{name} {counts[name]}" for name in OUTCOMES), f"of {len(results)}")
    good = sum(counts[name] for name in OUTCOMES[:3])
    confident = [r for r in counted if r.stated]
    rest = sum(r.outcome == "first" for r in confident)
    print(f"right in the top 3, or said to be not covered: {good} of {len(counted)}")
    print(f"stated as the diagnosis: {len(confident)}, of them with a right entry first: {rest}")


if __name__ == "__main__":
    main()

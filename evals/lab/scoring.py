"""From cases to figures: what one case scored, and what all of them say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...agent.diagnose import Diagnosis
from ...tools.findings import Finding
from .loop import Advice, Attempt, expected_step
from .recording import Recording

BINS = 5
"""Bins of the reliability table; with about fifty cases more bins hold too few."""


@dataclass(frozen=True)
class Score:
    """One advisor on one case."""

    advisor: str
    case: str
    fault: str
    family: str
    split: str
    state: str
    ranked: tuple[str, ...]
    probability: float
    """Of the first hypothesis; 0 when there is none."""
    detected: bool
    """Something is said to be wrong, by a finding of this fault where the advisor has findings."""
    rank1: bool
    top3: bool
    near: bool
    """The first hypothesis is a near miss."""
    step: bool | None
    """Evidence within tolerance of the true onset; None when there is no onset to find, or no evidence is claimed."""
    alarms: tuple[str, ...]
    """S0 and S1 findings of a healthy run."""
    abstains: bool | None
    """Without the findings of this fault's detectors, nothing wrong is asserted; None where it was not tried."""
    one_variable: bool | None
    """Every proposal changed exactly one variable; None when nothing was proposed."""
    repairable: bool
    repaired: int
    """Attempts until `verify` said fixed and the run really was; 0 when never."""
    attempts: tuple[dict[str, Any], ...]
    why_not: str
    seconds: float
    codes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def score(
    advisor: str,
    made: Recording,
    advice: Advice,
    attempts: Sequence[Attempt],
    without: Diagnosis | None,
    followed: bool = True,
) -> Score:
    """What the advice on one recorded run is worth.

    Args:
        advisor: who gave it.
        made: the run.
        advice: diagnosis and proposal.
        attempts: what came of the proposals.
        without: the diagnosis again without this fault's detectors, if it was made.
        followed: whether proposals were tried at all.
    """
    case, d = made.spec.case, advice.diagnosis
    fault = case.fault
    ranked = tuple(h.entry.id for h in d.hypotheses)
    right = {entry for f in case.all() for entry in f.right}
    if fault.healthy:  # to say that it is normal is the right answer
        right = {h.entry.id for h in d.hypotheses if h.entry.kind == "benign"}
    serious = tuple(f.code for f in d.findings if f.severity in ("S0", "S1"))
    seen = d.state not in ("healthy", "out-of-scope")
    shows = {code for f in case.all() for code in f.shows}
    fixed = [i for i, a in enumerate(attempts, 1) if a.verdict == "fixed" and a.cured]
    return Score(
        advisor,
        case.id,
        "+".join(case.faults),
        "double" if len(case.faults) > 1 else fault.family,
        case.split,
        d.state,
        ranked,
        d.hypotheses[0].probability if d.hypotheses else 0.0,
        seen and (any(f.code in shows for f in d.findings) if shows and (d.findings or d.checks) else True),
        d.state == "diagnosed" and bool(ranked) and ranked[0] in right,
        bool(right & set(ranked[:3])),
        bool(ranked) and ranked[0] in {entry for f in case.all() for entry in f.near},
        _step_found(made, d.findings),
        serious if fault.healthy else (),
        None if without is None else abstained(without, right),
        _one_variable(attempts),
        followed and bool(fault.repairs),
        fixed[0] if fixed else 0,
        tuple(asdict(a) for a in attempts),
        advice.why_not,
        advice.seconds,
        tuple(dict.fromkeys(f.code for f in d.findings)),
    )


def _step_found(made: Recording, findings: Iterable[Finding]) -> bool | None:
    expected = expected_step(made)
    findings = list(findings)
    if expected is None or not findings:
        return None
    low, high = expected
    steps = []
    for f in findings:
        if f.code in made.spec.case.fault.shows:
            steps += [f.data.get("failure_step"), f.data.get("first_step"), *(e.step for e in f.evidence[:1])]
    return any(low <= s <= high for s in steps if isinstance(s, int))


def _one_variable(attempts: Sequence[Attempt]) -> bool | None:
    """A setting changes one variable and an action none; a change that could not be made is not counted."""
    made = [a for a in attempts if a.verdict]
    return all(len(a.differs) <= 1 for a in made) if made else None


def abstained(d: Diagnosis, right: set[str]) -> bool:
    """Nothing wrong is asserted: no diagnosis, or one that happens to be right by the words and what is left."""
    return d.state != "diagnosed" or (d.top is not None and d.top.entry.id in right)


def share(scores: Iterable[Score], of: Callable[[Score], bool | None]) -> float | None:
    """Mean of a yes/no over the scores where it applies; None where it never does."""
    values = [bool(v) for s in scores if (v := of(s)) is not None]
    return sum(values) / len(values) if values else None


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """The figures of one advisor over its cases."""
    faulty = [s for s in scores if s.family != "healthy"]
    healthy = [s for s in scores if s.family == "healthy"]
    tried = [s for s in faulty if s.repairable]
    by_fault: dict[str, list[Score]] = {}
    for s in faulty:
        by_fault.setdefault(s.fault, []).append(s)
    means = [sum(s.rank1 for s in group) / len(group) for group in by_fault.values()]
    return {
        "cases": len(faulty),
        "healthy_cases": len(healthy),
        "detected": share(faulty, lambda s: s.detected),
        "rank1": share(faulty, lambda s: s.rank1),
        "rank1_or_near": share(faulty, lambda s: s.rank1 or s.near),
        "macro_rank1": sum(means) / len(means) if means else None,
        "top3": share(faulty, lambda s: s.top3),
        "step": share(faulty, lambda s: s.step),
        "one_variable": share(faulty, lambda s: s.one_variable),
        **{f"repaired_{k}": share(tried, lambda s, k=k: 0 < s.repaired <= k) for k in (1, 2, 3)},
        "really_cured": share(tried, lambda s: any(a["cured"] for a in s.attempts)),
        "false_alarms": share(healthy, lambda s: bool(s.alarms) if s.codes else None),
        "healthy_called_healthy": share(healthy, lambda s: s.state in ("healthy", "inconclusive") or s.rank1),
        "abstention": share(faulty, lambda s: s.abstains),
        "ece": calibration_error(scores),
        "reliability": reliability(scores),
        "seconds": sum(s.seconds for s in scores) / len(scores) if scores else None,
    }


def _asserted(scores: Iterable[Score]) -> list[tuple[float, bool]]:
    return [(s.probability, s.rank1) for s in scores if s.state == "diagnosed" and s.ranked]


def reliability(scores: Iterable[Score]) -> list[dict[str, float]]:
    """Stated probability of the first hypothesis against how often it was right, by bin."""
    pairs, out = _asserted(scores), []
    for i in range(BINS):
        inside = [(p, ok) for p, ok in pairs if i / BINS <= p < (i + 1) / BINS or (i == BINS - 1 and p == 1.0)]
        if inside:
            stated = sum(p for p, _ in inside) / len(inside)
            right = sum(ok for _, ok in inside) / len(inside)
            out.append({"from": i / BINS, "cases": len(inside), "stated": stated, "right": right})
    return out


def calibration_error(scores: Iterable[Score]) -> float | None:
    """Expected calibration error: mean distance of stated and true, weighted by the cases of a bin."""
    rows = reliability(scores)
    total = sum(r["cases"] for r in rows)
    return sum(r["cases"] * abs(r["stated"] - r["right"]) for r in rows) / total if total else None

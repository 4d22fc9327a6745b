"""One criterion judged on the next run, and the criteria that the failure itself gives: what showed it must be gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...knowledge.entry import Criterion, Entry
from ...tools.catalogue import checks
from ..evidence import Look
from ..ranking import SHOWN
from ..signs.standing import is_hazard, is_set
from .absence import observe_absence, observe_sign
from .needs import needs
from .subject import Observation, Subject

Result = Literal["pass", "fail", "no-observation"]

_OF = re.compile(r"\((\w+)[,)]")
"""The measure of a sign, as the runbook writes it."""
NOISE = 2.0
"""Standard errors that a neighbour must fall beside its tolerance, before it counts as worse."""


@dataclass(frozen=True)
class Judged:
    """One criterion with what was measured."""

    criterion: Criterion
    result: Result
    observation: Observation

    @property
    def near(self) -> bool:
        """Whether the value lies within two standard errors of a threshold, so that chance may have decided."""
        value, noise = self.observation.value, self.observation.noise
        limits = [t for t in (self.criterion.low, self.criterion.high) if t is not None]
        if noise is None or not isinstance(value, (int, float)):
            return False
        return any(abs(value - limit) < NOISE * noise for limit in limits)

    @property
    def blocks(self) -> bool:
        """Whether the verdict must wait for this criterion: a run could answer it, and this one does not."""
        return self.result == "no-observation" and self.observation.applies and not needs(self.criterion)


def judged(criterion: Criterion, observation: Observation) -> Judged:
    result: Result = "no-observation" if observation.ok is None else "pass" if observation.ok else "fail"
    return Judged(criterion, result, observation)


def symptoms(subject: Subject, before: Look, after: Look, entry: Entry) -> Iterator[Judged]:
    """One criterion for each finding or sign that spoke strongly for the entry in the baseline: it must be gone; and
    for what spoke for it at all and is found again, as bad as it was, in what ran.

    One that is no more than a note in the candidate (a rate now within reason, a NaN that was survived) is left to the
    entry's own criteria.
    """
    weights, now, signs = entry.speaks.for_, _worst(after), signs_of(before)
    ran = {f.code for f in after.findings if not (is_set(f) or is_hazard(f))}
    for code, grade in _worst(before).items():
        if grade not in SHOWN or code not in weights or now.get(code) == "S3":
            continue
        if weights[code] not in ("decisive", "strong") and not (code in ran and now[code] <= grade):
            continue
        name = {"metric": code.replace("-", "_"), "is": "false", "basis": "proposed"}
        criterion = Criterion.model_validate(name)
        if code in signs:
            yield judged(criterion, observe_sign(after, criterion, signs[code]))
        elif checks(code):
            yield judged(criterion, observe_absence(subject, criterion, code))


def outranked(sign: Judged, own: Sequence[Judged], signs: Mapping[str, str]) -> bool:
    """Whether a sign that holds is of measures whose thresholds all hold: one that rises from 2% to 5% still does."""
    held = {j.criterion.metric for j in own if j.result == "pass" and {j.criterion.low, j.criterion.high} != {None}}
    said = next((s for code, s in signs.items() if code.replace("-", "_") == sign.criterion.metric), "")
    of = set(_OF.findall(said))
    return sign.result == "fail" and bool(of) and of <= held


def signs_of(look: Look) -> dict[str, str]:
    """Code -> how the runbook writes the sign."""
    return {f.code: f.data["sign"] for f in look.findings if f.code.startswith("sign-") and "sign" in f.data}


def _worst(look: Look) -> dict[str, str]:
    """Code -> its worst grade; findings come worst first."""
    out: dict[str, str] = {}
    for finding in look.findings:
        out.setdefault(finding.code, finding.severity)
    return out

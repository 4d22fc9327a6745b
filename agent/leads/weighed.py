"""The causes that a run's own files lead to, where no finding decides: possible at little odds, never believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...knowledge.runbook import Runbook
from ...tools.findings import Finding
from ..ranking import BELIEVED, NONE_OF_THESE, SHOWN, Hypothesis, standing_of

LEAD = 3.0
"""Likelihood ratio of leads whose scores sum to one: that of a moderate finding, and never a status above possible."""
MOST_LEADS = 2.0
"""Sum of scores above which further leads say nothing more."""
SUBJECT, ABOUT = "lead-subject", 0.12
"""The note that the run's files are about a cause, and its score from which on the cause stands before its symptom."""
MERE = (SUBJECT, "lead-writes", "lead-many")
"""Leads of words alone: what files are about, what people wrote in them, and that many settings differ."""
IS_CAUSE = 0.6
"""How often it is the cause then: in 5 of 8 folders of strangers that led with a symptom."""
Leads = Mapping[str, tuple[tuple[float, Finding], ...]]
"""Entries that statements of the run's files lead to, each with the scores and notes of its leads."""


def with_leads(ranked: Sequence[Hypothesis], runbook: Runbook, leads: Leads) -> list[Hypothesis]:
    """The ranked causes, none of which is believed, and those that weak leads point to, as possible at little odds:
    never before one that a finding supports."""
    known = {h.entry.id: h for h in ranked}
    most = max((h.probability for h in ranked if h.status in BELIEVED), default=1.0)
    weighed = {
        id: math.exp(math.log(LEAD) * min(sum(score for score, _ in some), MOST_LEADS)) for id, some in leads.items()
    }
    total = math.exp(NONE_OF_THESE) + sum(weighed.values())
    for id, odds in weighed.items():
        if (entry := runbook.get(id)) is not None:
            h = known.get(id) or Hypothesis(entry, None, "possible", 0.0)
            found = (*h.for_, *(finding for _, finding in leads[id]))
            known[id] = replace(h, probability=max(h.probability, min(odds / total, most)), for_=found)
    return standing_of(list(known.values()))


def caused(ranked: Sequence[Hypothesis], runbook: Runbook, leads: Leads) -> list[Hypothesis]:
    """A symptom that nothing measured explains: the cause of it that the run's files are about stands before it.

    Both are only possible then. Empty where the files are about none of its causes, or as much about the symptom.
    """
    top, *rest = ranked
    weight = {id: sum(score for score, f in some if f.code == SUBJECT) for id, some in leads.items()}
    best = max((id for id in weight if id != top.entry.id), key=weight.__getitem__, default="")
    if not best or weight[best] < max(ABOUT, weight.get(top.entry.id, 0.0)):
        return []
    known = next((h for h in rest if h.entry.id == best), Hypothesis(runbook.entries[best], None, "possible", 0.0))
    told = (*known.for_, *(f for _, f in leads[best]))
    told = (*(f for f in top.for_ if f.severity in SHOWN and f not in told), *told)
    first = replace(known, status="possible", probability=IS_CAUSE * top.probability, for_=told)
    seen = replace(top, status="possible", probability=(1 - IS_CAUSE) * top.probability)
    return standing_of([first, seen, *(h for h in rest if h is not known)])

"""Which function answers a criterion: the acceptance metric of its name, else its series, else its finding's absence.

A canonical series is reduced by the criterion's own comparison; a finding code in underscores is a criterion on that
finding. `no-observation` is never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ...knowledge.entry import Criterion
from ...tools.catalogue import checks
from ...tools.findings import TriageError, clean
from ...tools.registry import modules
from ...tools.vocabulary import VOCABULARY
from .absence import observe_absence
from .needs import WANTED, needs
from .series import observe_series
from .subject import CRITERIA, Metric, Observation, Subject, missing


@cache
def families() -> Mapping[str, Metric]:
    """Every acceptance metric: importing a module of this folder registers those in it."""
    list(modules(__package__ or "triage.agent.acceptance"))
    return CRITERIA


def observe(subject: Subject, criterion: Criterion) -> Observation:
    """Compute the criterion's metric on the subject."""
    if function := families().get(criterion.metric):
        try:
            return function(subject, criterion)
        except (TriageError, OSError) as error:
            return missing(f"an artifact cannot be read: {error}")
        except Exception as error:  # the boundary: one broken metric must not cost the verdict of the others
            why = f"the metric broke ({type(error).__name__}: {clean(str(error), 80)}); this is a defect of triage"
            return missing(f"{why}, not of the run")
    if series := subject.table.get(criterion.metric):
        return observe_series(series, subject, criterion)
    if criterion.metric in VOCABULARY:
        return missing(f"{criterion.metric} is not logged in this run")
    code = criterion.metric.replace("_", "-")
    if criterion.is_ in ("true", "false") and checks(code):
        return observe_absence(subject, criterion, code)
    if wanted := WANTED.get(criterion.metric):
        return missing(f"needs {needs(criterion)}: {wanted}")
    if criterion.needs:
        what = criterion.definition.en if criterion.definition else "see the runbook entry"
        return missing(f"needs {criterion.needs}: {what}")
    return missing(f"unknown metric {criterion.metric!r}: no function, series or finding code of this name")


def known(criterion: Criterion) -> bool:
    """Whether `observe` can do more with the criterion than call it unknown."""
    by_code = criterion.is_ in ("true", "false") and bool(checks(criterion.metric.replace("_", "-")))
    return criterion.metric in families() or criterion.metric in VOCABULARY or by_code or bool(needs(criterion))

"""What `triage lint` says of a run's settings beyond its rules: the arithmetic of an answer, on the settings alone and,
where a length is set in epochs, on what the logs count of them. The rules are those of the answer.
"""

from __future__ import annotations

from ..tools.config.combine import read_settings
from ..tools.findings import Check, Finding, Report
from ..tools.run import Run
from ..tools.settings import Settings

CHECK = "arithmetic of the settings"
COUNTED = ("warmup_steps", "epochs")
"""Settings of a warm-up whose training is as long as only a log tells."""


def arithmetic_of(run: Run) -> Report:
    """Contradictions between what is set; nothing where nothing is set."""
    settings, _ = read_settings(run)
    if not settings.values:
        return Report("arithmetic")
    try:
        found = (*_of_settings(settings), *_of_logs(run, settings))
    except (ArithmeticError, ValueError, IndexError, TypeError, KeyError) as error:
        why = f"{type(error).__name__}: {error}"
        return Report("arithmetic", (), (Check(CHECK, "failed", f"it broke: {why}", f"计算出错：{why}"),))
    return Report("arithmetic", found, (Check(CHECK, "found" if found else "clear"),))


def _of_settings(settings: Settings) -> tuple[Finding, ...]:
    from ..tools.relate import arithmetic, capacity

    made = arithmetic.quantities(settings, (), ()) | capacity.capacity(settings, (), ())
    return (*arithmetic.contradictions(settings, (), (), made), *capacity.limits(settings, made))


def _of_logs(run: Run, settings: Settings) -> tuple[Finding, ...]:
    """A warm-up that is longer than all epochs, by the steps that the log of the one training counts."""
    if any(name not in settings for name in COUNTED) or settings.get("max_steps"):
        return ()
    from ..agent.evidence import read_measures
    from ..tools.logs.attempts import trainings
    from ..tools.logs.warming import never_warm
    from ..tools.relate.schedule import warming

    read, _ = read_measures(run)
    if len(trainings(run, read.table)) > 1:
        return ()
    found = (*never_warm(run, settings, read.table), *warming(settings, read.table))
    return found[:1]

"""What the tests of acceptance share: a run as verification sees it, and a criterion."""

from pathlib import Path

from triage.agent.evidence import Look, read_logs
from triage.knowledge.entry import Criterion
from triage.tools.config.combine import read_settings
from triage.tools.discover import discover
from triage.tools.logs.scan import scan
from triage.tools.run import Run


def look_at(folder: Path) -> Look:
    """What verification reads of a run, without the slower tools."""
    run = discover(folder) if any(folder.iterdir()) else Run(folder)
    read = read_logs(run)
    report = scan(run, None, read)
    return Look(run, read.table, read_settings(run)[0], report, (report,))


def criterion(metric: str, is_: str = "true", **more) -> Criterion:
    return Criterion.model_validate({"metric": metric, "is": is_, **more})

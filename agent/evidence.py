"""Everything the deterministic tools see in a run, gathered once: what diagnosis, proposal and verification read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..tools.discover import discover
from ..tools.findings import Check, Finding, Report, TriageError
from ..tools.run import Artifact, Run
from ..tools.series import SeriesTable
from ..tools.settings import Settings

if TYPE_CHECKING:
    from ..tools.logs.scan import Read


@dataclass(frozen=True)
class Look:
    """One run as the tools see it."""

    run: Run
    table: SeriesTable
    settings: Settings
    scan: Report
    """What the log scan alone found: the part that verification compares."""
    reports: tuple[Report, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Worst first; within one grade, in the order of the tools. Reassurance falls when another tool found harm."""
        found = [f for report in self.reports for f in report.findings]
        if any(f.severity in ("S0", "S1") for f in found):
            found = [f for f in found if f.code != "run-healthy"]
        return tuple(sorted(found, key=lambda f: f.severity))

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(dict.fromkeys(c for report in self.reports for c in report.checks))


def look(paths: Sequence[Path], pasted: str = "", told: Callable[[str], object] = lambda tool: None) -> Look:
    """Run every deterministic tool over the paths and the pasted text.

    `told` hears the name of each tool before it runs. One that breaks becomes a `failed` check: the others still speak.

    Raises:
        TriageError: a path does not exist or nothing in it can be read.
    """
    from ..tools.checkpoints import check_run_checkpoints
    from ..tools.config.combine import read_settings
    from ..tools.config.lint import lint
    from ..tools.data import check_run_data
    from ..tools.logs.scan import Read, read_run, scan
    from ..tools.scores import check_run_evals

    with gather(paths, pasted) as run:
        told("scan")
        settings, setting_checks = read_settings(run)
        clip, planned = (_number(settings.value(name)) for name in ("grad_clip", "max_steps"))
        read = Read()

        def scanned() -> Report:
            nonlocal read
            read = read_run(run, lambda: settings.value("log_steps"))
            return scan(run, clip, read, planned)

        log = _try("scan", scanned)
        reports = [log]
        tools = {
            "lint": partial(lint, read=(settings, setting_checks)),
            "data": check_run_data,
            "checkpoints": check_run_checkpoints,
            "evals": check_run_evals,
        }
        for name, tool in tools.items():
            told(name)
            reports.append(_try(name, lambda tool=tool: tool(run)))
        return Look(run, read.table, settings, log, tuple(reports))


def read_logs(run: Run) -> Read:
    """The run's logs alone, their lines without a step counted as its settings say."""
    from ..tools.logs.scan import read_run

    def every() -> object:
        from ..tools.config.combine import read_settings  # 60 small files, which most logs do not need

        return read_settings(run)[0].value("log_steps")

    return read_run(run, every)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _try(name: str, tool: Callable[[], Report]) -> Report:
    """The boundary where a tool's exception becomes a `failed` check."""
    try:
        return tool()
    except TriageError as error:
        return Report(name, (), (Check(name, "failed", str(error)),))
    except Exception as error:
        why = f"the tool broke ({type(error).__name__}); this is a defect of triage, not of the run"
        return Report(name, (), (Check(name, "failed", why),))


@contextmanager
def gather(paths: Sequence[Path], pasted: str = "") -> Iterator[Run]:
    """One run out of several paths and pasted log text (read as a log named `<question>`)."""
    runs = [discover(path) for path in paths]
    run = runs[0] if runs else Run(Path())
    for other in runs[1:]:
        prefix = f"{other.root.name}/"
        run = replace(
            run,
            artifacts=(*run.artifacts, *(replace(a, name=prefix + a.name) for a in other.artifacts)),
            skipped=(*run.skipped, *(replace(s, name=prefix + s.name) for s in other.skipped)),
        )
    if not pasted:
        yield run
        return
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        file = Path(folder) / "question.log"
        file.write_text(pasted, encoding="utf-8", errors="replace")
        yield replace(run, artifacts=(*run.artifacts, Artifact("log", file, "<question>", "pasted into the question")))

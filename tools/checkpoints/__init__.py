"""Checkpoints: finding them, reading them without running anything, health, comparison and bisection."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Report
    from ..run import Run


def check_run_checkpoints(run: Run) -> Report:
    """The checkpoints of a run, within a budget; see `health`."""
    from .health import check_run_checkpoints as check

    return check(run)

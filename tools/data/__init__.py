"""Training data: records of every common shape, and what is wrong with them.

The tools load on first use, so that a command that needs none of them starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Report
    from ..run import Run


def check_run_data(run: Run) -> Report:
    """The cheap data checks of a run, on a bounded sample; see `rundata`."""
    from .rundata import check_run_data as check

    return check(run)

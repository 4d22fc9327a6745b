"""What a running job, its servers and its machines say of themselves; the tools load on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Report
    from ..run import Run
    from ..settings import Settings


def check_engines(run: Run) -> Report:
    """Engines that were asked to work in their sleep; see `engines`."""
    from .engines import check_engines as check

    return check(run)


def check_machines(run: Run, settings: Settings) -> Report:
    """What a run asks of its machine against what it is; see `machines`."""
    from .machines import check_machines as check

    return check(run, settings)


def check_places(run: Run) -> Report:
    """Training, export and serving against each other; see `places`."""
    from .places import check_places as check

    return check(run)

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


def check_eval_rows(run: Run) -> Report:
    """Whether the rows that results count, and their scores, can be right; see `evalrows`."""
    from .evalrows import check_eval_rows as check

    return check(run)


def check_gathered(run: Run) -> Report:
    """Files of one evaluation against each other, an index against its data; see `gathered`."""
    from .gathered import check_gathered as check

    return check(run)


def check_splits(run: Run) -> Report:
    """Rows of a test file in the training file; see `splits`."""
    from .splits import check_splits as check

    return check(run)


def check_cached(run: Run) -> Report:
    """Caches of data against what they were made of; see `cached`."""
    from .cached import check_cached as check

    return check(run)

"""Whether groups of rewards still teach anything."""

from __future__ import annotations

import numpy as np

from ...series import Series
from .robust import start_end

NEARLY_ALL, GONE = 0.9, 0.02
"""Share of groups without spread, and what is left of the gradient norm, where a run does nothing. Own judgement."""


def idle(share: Series | None, norm: Series | None) -> bool:
    """Whether nearly all groups of the later half are without spread, and next to nothing is left of the gradient."""
    if share is None or norm is None or np.quantile(share.values[len(share) // 2 :], 0.1) < NEARLY_ALL:
        return False
    first, last = start_end(norm.values)
    return last < GONE * first

"""Stand-in until the reader of tables is merged."""

from __future__ import annotations

import numpy as np

from ..series import Series
from .table import Table


def series_of(table: Table) -> tuple[Series, ...]:
    axis = next(iter(table.of("axis")), None)
    if axis is None:
        return ()
    steps = axis.values.astype(np.int64)
    return tuple(Series(c.of, c.name, steps, c.values, table.lines, table.file) for c in table.of("measure"))

"""What tables and notes of earlier runs and stages say of this one: their findings, and the codes that they have."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.event import Event
from ...findings import Finding, declare
from ...settings import Settings
from ...tables.table import Table
from ..line import Line
from . import batches, begun, rounds, runs, stages

MOST_TABLES = 200
EARLIER = "earlier runs and stages in tables"
CODES = declare(
    "earlier",
    (
        "rate-off-earlier-runs",
        EARLIER,
        "for its batch the learning rate is far off those of earlier runs, and the loss worse",
    ),
    ("rate-above-earlier-stage", EARLIER, "the learning rate goes far above the peak of the stage that was annealed"),
    ("norm-climbs-from-start", EARLIER, "the rate is at its peak at once, and the gradient norm climbs and stays high"),
    ("worse-with-made-data", EARLIER, "over the rounds of a table, what comes out is worse the more data a model made"),
    ("behind-sibling", EARLIER, "another run is better at the same step, with few things set otherwise"),
)


def earlier(
    tables: Sequence[Table], lines: Sequence[Line], settings: Settings, events: Sequence[Event]
) -> list[Finding]:
    """What the tables of earlier runs and stages say of this run."""
    some = tables[:MOST_TABLES]
    return [
        *batches.off_scale(some, settings),
        *stages.hotter(some, settings),
        *runs.behind(some, lines, events),
        *begun.climbed(lines, settings),
        *(list(rounds.worse_with_made(some)) or rounds.worse_unless_left_out(some)),
    ]

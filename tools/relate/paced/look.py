"""What ought to keep pace and does not: samples behind their policy, answers short of their items, tokens "
"beyond plan."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.event import Claim
from ...documents.stated import Stated
from ...findings import Finding, declare
from ...series import SeriesTable
from ...settings import Settings
from ...tables.table import Table
from ..line import Line
from . import lag, mixed, ordered, outlasting, parted, planned, short, stuck
from .frames import frames_of

PACED = "what ought to keep pace"
CODES = declare(
    "paced",
    ("samples-too-old", PACED, "samples get many updates old, clipping or the ratio's tail rises, the reward turns"),
    ("sampler-weights-stand-still", PACED, "the weights that sample stop at one version while training goes on"),
    ("samples-older", PACED, "samples get many updates old, and clipping or the ratio's tail rises with that"),
    (
        "steps-off-by-batch-part",
        PACED,
        "the steps that are set would train the planned tokens times a part of the batch",
    ),
    ("shares-leave-plan", PACED, "a part of the data is fed as the configuration sets at first, and far less later on"),
    ("peak-by-order", PACED, "peak memories rise in the order of the models alone, far above what the last one takes"),
    ("source-learned-by-heart", PACED, "a source's held-out loss rises as its training loss falls, others' do not"),
    ("work-nears-timeout", PACED, "work that ranks wait for takes longer each time, up to the timeout of collectives"),
    ("source-rises-alone", PACED, "the held-out loss of one source rises, those of all others do not"),
    ("answers-short-of-items", PACED, "fewer answers than items came into a score that is over all items"),
)


def paced(
    series: SeriesTable,
    tables: Sequence[Table],
    lines: Sequence[Line],
    stated: Sequence[Stated],
    claims: Sequence[Claim] = (),
    settings: Settings | None = None,
) -> list[Finding]:
    """Everything that these relations find."""
    frames = frames_of(series, tables)
    return [
        *lag.lagging(frames),
        *stuck.standing(frames),
        *short.fewer(tables, stated),
        *short.summing(tables, stated),
        *ordered.by_order(tables),
        *mixed.leaving_plan(frames, tables, stated),
        *parted.by_heart(lines, tables),
        *planned.beyond_plan(lines, stated, claims),
        *outlasting.outlasting(lines, settings or Settings()),
    ]

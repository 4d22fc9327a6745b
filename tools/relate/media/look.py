"""What tables of sound, pictures and their codes say: their findings, and the codes that they have."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, declare
from ...tables.table import Table
from . import beyond, clocks, levels, rates

MEDIA = "sound and pictures in tables"
CODES = declare(
    "media",
    ("clocks-drift", MEDIA, "two times of one thing run at different speeds"),
    ("clocks-shifted", MEDIA, "two times of one thing lie apart by a constant in a part of the rows"),
    ("segments-beyond-media", MEDIA, "segments end after the media that they are cut from"),
    ("sampling-rates-mixed", MEDIA, "rows of a list of sound have another sampling rate than features are made for"),
    ("levels-add-nothing", MEDIA, "reconstructions hardly get better beyond the first levels of a codec"),
)


def heard(tables: Sequence[Table], stated: Sequence[Stated] = ()) -> list[Finding]:
    """Everything that these relations find."""
    looks = (clocks.apart, beyond.beyond, levels.add_nothing)
    return [*rates.otherwise(tables, stated), *(f for table in tables for look in looks for f in look(table))]

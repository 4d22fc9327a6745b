"""What is preferred by its length or its place, and what nothing is preferred by: findings of all tables, and the codes
that they have."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings import Finding, declare
from ...tables.table import Table
from . import lengths
from .buckets import buckets
from .correlated import correlated
from .gaps import gaps
from .groups import groups_equal
from .picks import picked
from .positions import positions
from .reasons import unfollowed
from .reversed import turned_round

PREFERRED = "what scorers and judges prefer"
MOST_TABLES, MOST_ROWS = 300, 50_000
CODES = declare(
    "preferred",
    ("groups-without-signal", PREFERRED, "most groups of answers have one and the same reward"),
    ("preference-gap-small", PREFERRED, "the scores of a table's pairs lie too near each other"),
    ("score-follows-length", PREFERRED, "a scorer is right on longer chosen answers and below chance on shorter ones"),
    ("tuned-loses-to-base", PREFERRED, "a judge finds a tuned model clearly worse than the one that it was made from"),
    ("verdicts-follow-order", PREFERRED, "the same place wins whichever of two models stands there"),
    (
        "people-prefer-otherwise",
        PREFERRED,
        "a model that a judge prefers in one fixed order is not preferred by people",
    ),
    (
        "pairs-turned-round",
        PREFERRED,
        "pairs of one group are ranked against their labels as often as others with them",
    ),
    (
        "judge-score-constant",
        PREFERRED,
        "a judge praises and condemns in its reasons, and its score is always the same",
    ),
    ("picks-longer-not-better", PREFERRED, "what a scorer picks among candidates is far longer and liked no better"),
)
LOOKS = (*lengths.LOOKS, buckets, correlated, picked, turned_round)


def preferred(tables: Sequence[Table]) -> list[Finding]:
    """What scorers and judges of a run go by."""
    some = [t for t in tables[:MOST_TABLES] if 0 < len(t) <= MOST_ROWS]
    return [*(f for t in some for look in LOOKS for f in look(t)), *positions(some), *unfollowed(some),
            *gaps(some), *groups_equal(some)]  # fmt: skip

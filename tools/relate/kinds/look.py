"""Relations that entries ask for by the kind of quantity they are about: their findings, and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.counted import Counted
from ...documents.event import Event
from ...documents.stated import Stated
from ...findings import Finding, declare
from ...tables.table import Table
from ..clock import Clock
from ..moves import Move
from . import (
    agreeing,
    beginnings,
    behind,
    beyond,
    capped,
    follows,
    inventory,
    named_again,
    otherwise,
    proportion,
    stand_out,
    stopped,
    study,
    uneven,
    unset,
    versions,
)
from .parts import not_all_there

KINDS_OF_QUANTITY = "quantities of one kind against each other"
MOST_TABLES = 300
CODES = declare(
    "kinds",
    ("rows-stand-out", KINDS_OF_QUANTITY, "a few rows lie far from all others, and share what no other row has"),
    ("counter-falls-behind", KINDS_OF_QUANTITY, "one of two counters that ought to keep pace falls behind the other"),
    ("counter-stands-still", KINDS_OF_QUANTITY, "one of several counters stands still while those beside it grow on"),
    ("rows-at-limit", KINDS_OF_QUANTITY, "a share of the outputs ends at a limit"),
    ("answers-lost-at-limit", KINDS_OF_QUANTITY, "a share of the outputs ends at a limit and loses its score by it"),
    ("values-beyond-format", KINDS_OF_QUANTITY, "extremes are beyond what a number format of the run can hold"),
    ("range-outgrown", KINDS_OF_QUANTITY, "extremes grow beyond the range that their own scale leaves, and stay there"),
    ("setting-left-out", KINDS_OF_QUANTITY, "one of several alike parts of a configuration lacks a key of all others"),
    ("columns-in-proportion", KINDS_OF_QUANTITY, "two measures of one thing lie in one constant proportion"),
    ("adapter-scaled-otherwise", KINDS_OF_QUANTITY, "a program scales an adapter otherwise than its settings ask"),
    ("columns-part-in-group", KINDS_OF_QUANTITY, "two columns that agree in all groups part in one of them"),
    ("folder-lacks-files", KINDS_OF_QUANTITY, "later folders of a series lack a kind of file that the earlier have"),
    ("texts-begin-otherwise", KINDS_OF_QUANTITY, "texts of one group begin alike, those of another each by itself"),
    ("output-thrown-away", KINDS_OF_QUANTITY, "a launch throws away what its program writes to standard error"),
    ("errors-not-kept", KINDS_OF_QUANTITY, "a launch in the background keeps standard output and no errors"),
    ("moved-at-change", KINDS_OF_QUANTITY, "measures part from what they were behind a change that is written down"),
    ("named-elsewhere", KINDS_OF_QUANTITY, "other files tell something of the thing that stands out"),
    ("set-otherwise", KINDS_OF_QUANTITY, "two configurations or commands of one thing differ in a few settings"),
    ("fewer-than-whole", KINDS_OF_QUANTITY, "a line counts fewer parts than the whole has"),
    ("parts-of-another-whole", KINDS_OF_QUANTITY, "files are numbered of another whole than the run's world"),
    ("versions-apart", KINDS_OF_QUANTITY, "two things that must match have different versions"),
    ("share-uneven", KINDS_OF_QUANTITY, "a count makes nearly all of some groups and hardly any of the others"),
    ("outcome-follows-column", KINDS_OF_QUANTITY, "an outcome of single cases goes with a column of few values"),
)  # fmt: skip


def related_by_kind(
    tables: Sequence[Table],
    said: Sequence[Stated],
    moves: Sequence[Move] = (),
    events: Sequence[Event] = (),
    clock: Clock | None = None,
    others: Sequence[Finding] = (),
    cases: Sequence[Table] = (),
    parts: Sequence[Counted] = (),
) -> list[Finding]:
    """Everything that these relations find.

    Args:
        tables: everything that was read as rows.
        said: what the small files of the run say.
        moves: of its measures.
        events: what happened.
        clock: times of steps.
        others: what other relations found, which may name a thing too.
        cases: rows of single cases in files of metrics.
        parts: what lines count.
    """
    some = [t for t in tables if not t.cumulative][:MOST_TABLES]
    looks = (
        stand_out.standing_out,
        behind.falling_behind,
        uneven.uneven,
        follows.following,
        beginnings.beginning_otherwise,
        stopped.standing_still,
    )
    found = [
        *(f for look in looks for table in some for f in look(table)),
        *capped.capped(some, said, [m.line for m in moves]),
        *beyond.beyond(some, said),
        *beyond.outgrown(some),
        *unset.left_out(some, said),
        *unset.thrown_away(said),
        *agreeing.parted(some, said),
        *proportion.in_proportion(some, said),
        *proportion.scaled_by_program(said),
        *otherwise.set_otherwise(said),
        *(f for table in cases for f in follows.following(table)),
        *not_all_there(parts, said, some),
        *inventory.no_longer_there(some, events),
        *versions.apart(said),
        *study.moved_at(moves, events, clock or Clock(())),
    ]
    return [*found, *named_again.named_again([*found, *others], some, events)]

"""Everything that reports say of themselves, in one pass: findings and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, declare
from ...tables.table import Table
from ..line import Line
from ..scores.exports import exported
from . import audits, counts, limits, replays, sides, turns
from .read import objects, reported

REPORTED = "statistics that reports give"
CODES = declare(
    "reported",
    ("annotator-disagreement", REPORTED, "a report gives an agreement of annotators below the limit"),
    ("length-reward-correlation", REPORTED, "a report gives a correlation of score and length above the limit"),
    ("eval-leakage", REPORTED, "a report counts evaluation items that stand in the training data"),
    ("pii-found", REPORTED, "a scan of the data counts personal data"),
    ("ineffective-dedup-features", REPORTED, "a report of a deduplication has about one feature per document"),
    ("near-duplicates", REPORTED, "a report gives a share of near duplicates that are left"),
    ("eos-not-trained", REPORTED, "a report counts hardly any sample whose end token is trained"),
    ("repetition-loop", REPORTED, "a report gives a large repetition within outputs"),
    ("verdicts-change-between-passes", REPORTED, "a report gives a large share of verdicts that a swap turns round"),
    ("answers-longer", REPORTED, "a report gives answers that grew beyond the limit"),
    ("score-follows-length", REPORTED, "a scorer is right on longer chosen answers and below chance on shorter ones"),
    ("labels-on-prompt", REPORTED, "of the person's tokens that are counted many are trained on"),
    ("nothing-was-kept", REPORTED, "a stage read rows of a part of the data and kept none of them"),
    ("generation-not-stopping", REPORTED, "counts of why outputs ended: most end at the limit"),
    ("cut-at-every-limit", REPORTED, "as many outputs end at the limit whatever the limit is"),
    ("same-batch-nonfinite-again", REPORTED, "attempts that differ fail at one place with the same samples"),
    (
        "plan-turns-at-failure",
        REPORTED,
        "the plan begins something else at the step where the loss stops being a number",
    ),
    ("audit-found-faults", REPORTED, "by a check of the data many of its samples have a fault"),
    ("quality-lost-in-format", REPORTED, "a result of the same weights in a smaller number format is clearly lower"),
    ("score-follows-format", REPORTED, "the same, and a further result shows that it is no matter of the engine"),
    ("target-missed", REPORTED, "a measured latency or rate is worse than the target that a file of the run states"),
)


def of_reports(tables: Sequence[Table], stated: Sequence[Stated], lines: Sequence[Line] = ()) -> list[Finding]:
    """What the reports and plans of a run say."""
    said = reported(tables, stated)
    found = [*limits.beyond_limits(said), *sides.longer_and_shorter(said), *sides.targets(said)]
    lists = {t.file for t in tables} - {t.file for t in tables if len(t) == 1}
    beside = objects([s for s in stated if s.file in lists], set())
    found += [*exported(stated), *turns.turned(lines, stated), *audits.audited([*said, *beside], stated, bool(lines))]
    return [*found, *(f for table in tables for look in (*counts.LOOKS, replays.again) for f in look(table))]

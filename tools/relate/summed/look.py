"""Everything that summary tables say, in one pass: findings, and contrasts for the signs of the runbook."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings import Finding, declare
from ...tables.table import Table
from ..contrast import Contrast
from ..scores import twins, verdicts
from . import (
    alike,
    answered,
    audited,
    equal,
    factors,
    holding,
    items,
    lengths,
    mixtures,
    rates,
    records,
    tallied,
    thoughts,
)

MOST_TABLES = 2000
MOST_NOTES = 8
"""Notes about groups that differ by nature that are told of one run."""
SUMMARIES = "summary tables"
CODES = declare(
    "summaries",
    ("worse-beyond-length", SUMMARIES, "a measure by length is good up to a length and much worse beyond"),
    ("worse-beyond-on-one-side", SUMMARIES, "a measure breaks down beyond a length in one way of running it only"),
    ("worse-beyond-in-one-file", SUMMARIES, "a measure breaks down beyond a length in one file and not in another"),
    ("rates-differ", SUMMARIES, "a counted share differs between groups that differ by nature"),
    (
        "removed-by-language",
        SUMMARIES,
        "of languages without spaces hardly anything is removed, of others a usual share",
    ),
    ("score-follows-corpus", SUMMARIES, "the score is higher on items that stand in the corpus"),
    ("score-follows-overlap", SUMMARIES, "the score is higher on items that overlap the training data"),
    ("further-answers-bring-less", SUMMARIES, "of several answers ever fewer solve what the first does not"),
    ("share-falls-from-peak", SUMMARIES, "a counted share of something good falls from its peak to the end of the row"),
    ("chosen-mostly-longer", SUMMARIES, "the chosen answers of most pairs are the longer ones, by their lengths"),
    ("work-unequal", SUMMARIES, "ranks or shards that ought to have the same amount of work do not"),
    ("results-missing", SUMMARIES, "a summary counts fewer results than there were items"),
    ("source-untouched", SUMMARIES, "of one source nothing was trained"),
    ("score-follows-template", SUMMARIES, "between variants the score goes with the chat template and nothing else"),
    ("score-follows-format", SUMMARIES, "between variants the score goes with the number format and nothing else"),
    ("score-follows-engine", SUMMARIES, "between variants the score goes with the engine and nothing else"),
    ("score-follows-padding", SUMMARIES, "between variants the score goes with the padding and nothing else"),
    ("score-follows-kernel", SUMMARIES, "between variants the score goes with the attention kernel and nothing else"),
    ("score-follows-tokenizer", SUMMARIES, "between variants the score goes with the tokenizer and nothing else"),
    (
        "score-follows-adapter",
        SUMMARIES,
        "between variants the score goes with how the adapter is used and nothing else",
    ),
    ("score-follows-batch", SUMMARIES, "between variants the score goes with the batch size and nothing else"),
    ("score-follows-measurement", SUMMARIES, "the score changes with the way of measuring and nothing else"),
    ("score-follows-factor", SUMMARIES, "between variants the score goes with one thing and nothing else"),
    ("scores-hold", SUMMARIES, "answers of later checkpoints are preferred, and no other score falls"),
    ("scorer-confirmed", SUMMARIES, "a program's verdicts on items are those that people give"),
    ("scorer-contradicted", SUMMARIES, "a program's verdicts on many items are not those that people give"),
    ("formats-score-alike", SUMMARIES, "variants in different number formats score the same"),
    ("verdicts-follow-order", SUMMARIES, "two passes over the same items in another order give other winners"),
    ("verdicts-change-between-passes", SUMMARIES, "two passes over the same items give other winners, one way"),
    ("tasks-score-alike", SUMMARIES, "two models score the same on every task, within the noise of its size"),
    ("thoughts-shrunk", SUMMARIES, "the thoughts in a policy's outputs shrink to a few words while their markers stay"),
    ("errors-alike", SUMMARIES, "numerical errors of the same operations are the same on every card or engine"),
    ("mixture-moved", SUMMARIES, "the composition of the data moves for good"),
    ("composition-moved", SUMMARIES, "parts that sum to a whole move for good"),
    ("variants-come-out-equal", SUMMARIES, "two variants have the same figures to the last digit, the others do not"),
    ("mixture-off-plan", SUMMARIES, "the measured shares of the data are not the planned ones"),
)


def summed(tables: Sequence[Table]) -> tuple[list[Finding], list[Contrast]]:
    """What the summary tables of a run say."""
    found: list[Finding] = []
    apart: list[Contrast] = []
    for table in tables[:MOST_TABLES]:
        for r in rates.rated(table):
            if (contrast := rates.contrast_of(r)) is not None:
                apart.append(contrast)
                found.append(rates.judged(r, contrast))
        for finding, contrast in (*factors.carried(table), *tallied.tallied(table)):
            found.append(finding)
            apart.append(contrast)
        looks = (
            *items.LOOKS,
            *equal.LOOKS,
            answered.forms,
            alike.errors_alike,
            verdicts.tasks_alike,
            audited.audited,
            holding.holding,
            rates.fallen,
            lengths.worse_beyond,
            factors.formats_alike,
            factors.moved_with,
            mixtures.moved,
            twins.come_out_equal,
        )
        found += [finding for look in looks for finding in look(table)]
    if not any(f.code == "worse-beyond-on-one-side" for f in found):  # one table tells it better than two files
        found += lengths.one_side(tables[:MOST_TABLES])
    found += [*verdicts.passes(tables[:MOST_TABLES]), *thoughts.shrunk(tables[:MOST_TABLES])]
    found += records.paired(tables[:MOST_TABLES])
    found += items.scanned(tables[:MOST_TABLES])
    found += mixtures.off_plan(tables[:MOST_TABLES])
    found = [f for f in found if not equal.told_elsewhere(f, tables)]
    notes = [f for f in found if f.code == "rates-differ"][MOST_NOTES:]
    return [f for f in found if f not in notes], apart

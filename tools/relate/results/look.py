"""All that the results of evaluations and benchmarks say of themselves, in one pass: findings and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings import Finding, declare
from ...settings import Settings
from ...tables.table import Table
from ..line import Line
from .alike import come_out_alike, same_in_files
from .below import below_base
from .beyond import beyond_all
from .blank import blank, unscored
from .cells import never_measured, silent_cells, timed_nothing
from .checkpointed import judged_worse, sought_stays
from .counts.counted import of_how_many, scored_nothing, summed_to_nothing
from .counts.twice import counted_twice
from .counts.zeros import zeros
from .detected import detected
from .errors import beyond_reference
from .formats import by_format
from .held import held
from .preferring import preferring
from .ranks import ranks
from .read import is_trivial, results
from .sided import one_sided
from .still import goal_stays, never_raised, never_scored
from .sunk import sunk
from .unseen import unseen

RESULTS = "results of evaluations against each other"
CODES = declare(
    "results",
    ("benchmark-drop", RESULTS, "results of a trained model lie below those of the model before it, in any file"),
    ("fault-rate-rises", RESULTS, "a trained model errs, fails or violates more often than the model before it"),
    ("score-exactly-zero", RESULTS, "a score is exactly 0, or no number, for some tasks or methods beside fine others"),
    ("answers-blank", RESULTS, "answers of a results file are empty"),
    ("score-cells-empty", RESULTS, "a score is missing for many items of a table for which others were computed"),
    (
        "held-out-far-below-train",
        RESULTS,
        "a report's score on rows kept apart is far below that on the rows trained on",
    ),
    ("splits-alike", RESULTS, "a report's scores on rows kept apart are near that on the rows trained on"),
    ("predictions-off-what-came", RESULTS, "what a model predicts for bins of rows is far from what came, in all"),
    ("predictions-as-came", RESULTS, "what a model predicts for bins of rows is what came"),
    ("feature-shifted", RESULTS, "the distribution of a feature is another one than at the training (PSI)"),
    ("features-stable", RESULTS, "the features are distributed as at the training (PSI)"),
    ("requests-failed", RESULTS, "rows of a benchmark have no throughput because their requests failed"),
    ("speed-never-measured", RESULTS, "a benchmark's speed is 0 in every row, or its time in one of untold speed"),
    ("context-length-exceeded", RESULTS, "rows of a benchmark say that the prompts do not fit"),
    ("load-not-served", RESULTS, "rows of a benchmark say that the time was over before the answers came"),
    ("goal-stays-while-reward-rises", RESULTS, "the reward rises, and the share that reaches the goal does not"),
    ("positives-never-found", RESULTS, "confusion counts without a single true positive"),
    ("threshold-never-reached", RESULTS, "a threshold above every score that it is held against"),
    ("score-at-chance", RESULTS, "positives are flagged as often as negatives"),
    ("pairs-never-told-apart", RESULTS, "a preference training ranks its own pairs as guessing does to its end"),
    ("pairs-told-apart-at-once", RESULTS, "the loss of a preference training is next to nothing long before its end"),
    ("starts-off-its-reference", RESULTS, "a DPO begins with a loss far above that of a policy that is its reference"),
    ("variants-come-out-equal", RESULTS, "several rows have the same figures to the last digit, the others do not"),
    ("scores-of-the-base", RESULTS, "all figures of a trained model are those of its base, in any file"),
    ("answers-short-of-items", RESULTS, "one row of a table is over far fewer items than the others beside it"),
    ("items-counted-twice", RESULTS, "a file of results has every item several times, and one beside it once"),
    ("scored-nothing", RESULTS, "results count items, and none of them as scored"),
    ("one-class-predicted", RESULTS, "a classifier answers one class, or flags every item or none, by its own rates"),
    ("share-above-one", RESULTS, "a recall or another share is above 1 beside measures that are shares up to 1"),
    ("error-rate-above-one", RESULTS, "a rate of wrong words or letters is above 1 beside others that are low"),
    ("quantised-as-large-as-whole", RESULTS, "a row of weights in fewer bits has the size of the whole model"),
    ("quantised-behind-its-format", RESULTS, "one of two rows of as many bits lost far more than the other"),
    ("unseen-as-before-training", RESULTS, "a result on rows kept apart is as bad as the first evaluation was"),
    ("widths-come-out-equal", RESULTS, "a recall among the first 1 and among the first 5 is the same number"),
    ("reward-up-quality-down", RESULTS, "another judge's scores of the checkpoints fall while the reward goes on"),
    ("goal-never-reached", RESULTS, "every evaluation of a policy scores 0 while its training's rewards move"),
    ("reward-flat", RESULTS, "none of several short runs of reinforcement learning raises its reward"),
)


def of_results(tables: Sequence[Table], lines: Sequence[Line], settings: Settings) -> list[Finding]:
    """What the rows of results and the short runs of a training say."""
    tables = [t for t in tables if not t.cumulative]
    rows = results(tables)
    meant = [r for r in rows if not is_trivial(r)]
    return [
        *(below_base(rows) or sunk(rows)),
        *zeros(meant),
        *(blank(tables) or unscored(tables)),
        *silent_cells(tables),
        *(never_measured(tables) or timed_nothing(tables)),
        *detected(rows, tables),
        *held(rows, tables),
        *one_sided(meant),
        *beyond_all(rows),
        *beyond_reference(rows),
        *by_format(rows),
        *(come_out_alike(rows) or same_in_files(rows)),
        *of_how_many(rows),
        *(scored_nothing(rows) or summed_to_nothing(tables)),
        *unseen(rows, lines),
        *ranks(rows),
        *counted_twice(tables),
        *never_raised(lines),
        *never_scored(tables, lines),
        *(judged_worse(tables, lines) or goal_stays(lines) or sought_stays(tables, lines)),
        *preferring(lines, settings),
    ]

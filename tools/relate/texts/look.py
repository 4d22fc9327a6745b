"""What the texts of tables say, in one pass: findings and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, declare
from ...settings import Settings
from ...tables.table import Table
from ..line import Line
from . import (
    ends,
    groups,
    loops,
    markers,
    masked,
    overlap,
    phrases,
    same,
    scorers,
    tokenised,
    tokens,
    toolcalls,
    trained,
    troubled,
)

TEXTS = "texts in tables"
MOST_TABLES, MOST_ROWS = 200, 20_000
CODES = declare(
    "texts",
    ("repetition-loop", TEXTS, "outputs of a table end in a loop that repeats itself"),
    ("answers-mostly-loop", TEXTS, "a large share of the outputs of a table ends in a loop that repeats itself"),
    ("groups-answer-alike", TEXTS, "the answers drawn to one prompt differed early in the training and hardly do late"),
    ("eval-leakage", TEXTS, "texts of the evaluation stand nearly whole in a text of the training"),
    ("turn-marks-in-outputs", TEXTS, "outputs of a table hold the marks of a chat template as text"),
    ("tool-calls-left-in-text", TEXTS, "answers hold calls of tools as text, and their field for calls is empty"),
    ("eos-not-trained", TEXTS, "the mark behind every answer of a dump of tokens is no label"),
    ("answers-of-the-base", TEXTS, "a trained model's answers are those of its base, word for word"),
    ("rows-carry-errors", TEXTS, "a good part of the rows of a table carries an error of the program"),
    ("phrase-paid", TEXTS, "a reward goes with one phrase at the end or the beginning of the answers"),
    ("length-reward-correlation", TEXTS, "among the answers to one prompt the score goes with their length"),
    ("prompts-over-limit", TEXTS, "prompts of what is trained on are longer than the length limit"),
    ("labels-on-prompt", TEXTS, "of a dump of tokens, those of the person are trained on"),
    ("labels-beside-answers", TEXTS, "of a dump of tokens, labels begin or end in the middle of the answers"),
    ("loss-over-all-tokens", TEXTS, "nearly all tokens are in the loss, where a part of them was or should be"),
    ("embedding-rows-unmoved", TEXTS, "rows of special tokens are tiny and the same before and after training"),
    ("texts-tokenised-otherwise", TEXTS, "two places have other token ids, or other counts of them, of the same text"),
    ("score-follows-padding", TEXTS, "items of a table fail the more they are padded in their batch"),
    ("score-follows-length", TEXTS, "the same answer is scored higher once something neutral was added to it"),
)
LOOKS = (
    markers.marked,
    groups.answering_alike,
    phrases.paid_for,
    scorers.follows_within,
    scorers.pays_for_more,
    toolcalls.left_in_text,
    troubled.failed_rows,
    ends.end_left_out,
    same.of_the_base,
    masked.misplaced,
    tokenised.two_lists,
    tokens.unmoved,
    tokens.padded_fail,
)


def of_texts(
    tables: Sequence[Table],
    cases: Sequence[Table] = (),
    settings: Settings | None = None,
    stated: Sequence[Stated] = (),
    lines: Sequence[Line] = (),
) -> list[Finding]:
    """What the texts of a run's tables say; of the rows in files of metrics, which of them failed."""
    some = [t for t in tables[:MOST_TABLES] if len(t) <= MOST_ROWS]
    known = {t.file for t in some}
    beside = (f for t in cases if t.file not in known and len(t) <= MOST_ROWS for f in troubled.failed_rows(t))
    return [
        *(f for t in some if not trained.trained_on(t, settings) for f in loops.looping(t, some)),
        *(f for t in some for look in LOOKS for f in look(t)),
        *beside,
        *overlap.overlapping(some),
        *same.across(some),
        *tokenised.counted_otherwise(some),
        *groups.alike_across(some),
        *trained.over_limit(some, settings, stated),
        *masked.nearly_all(lines, stated),
    ]

"""Numbers that break or begin wrong, and loads that part: their findings, and the codes that they have."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, declare
from ...settings import Settings
from ...tables.table import Table
from ..line import Line
from . import engine, experts, halves, padded, returning, scaler, started, untaught

NUMERIC = "numbers that break, and where"
MOST_TABLES = 300
CODES = declare(
    "numeric",
    ("nan-with-padding", NUMERIC, "rows are not finite exactly where there is padding"),
    ("nan-in-one-kernel", NUMERIC, "the same cases are not finite with one implementation of attention and are with another"),
    ("metric-nan-with-padding", NUMERIC, "a metric is no number exactly where there is padding, the loss beside it is"),
    ("maxima-end-at-half", NUMERIC, "maxima grow to the largest number of half precision and are infinite from there on"),
    ("inf-held-by-wider", NUMERIC, "what is infinite in one pass is finite and above 65504 in a wider format"),
    ("square-lost-in-half", NUMERIC, "where numbers stop being finite, a mean square is below half precision"),
    ("scale-at-floor", NUMERIC, "a multiplier of powers of two is halved to its floor and stays there"),
    ("scale-comes-back", NUMERIC, "a dynamic loss scale is halved now and then and comes back each time"),
    ("starts-above-guessing", NUMERIC, "the first loss is far above that of guessing, before a rate can have done it"),
    ("logits-large-at-start", NUMERIC, "the logits of the untrained model are far too large"),
    ("experts-part", NUMERIC, "shares of the experts that were even come to lie on a few"),
    ("engine-gap-from-start", NUMERIC, "engine and trainer give other probabilities from the first step on, at one level"),
    ("engine-gap-explained", NUMERIC, "the same at equal weight versions, or with a narrow number format in the engine"),
    ("right-tokens-stay", NUMERIC, "the loss falls by a quarter or more, and the share of tokens that are right stays low"),
    ("weights-cannot-move", NUMERIC, "the learning rates of all steps add up to so little that no weight can have moved"),
    ("balance-not-added", NUMERIC, "a balancing term is logged and is no part of the loss"),
)  # fmt: skip


def numeric(
    tables: Sequence[Table], lines: Sequence[Line], settings: Settings, stated: Sequence[Stated]
) -> list[Finding]:
    """What breaks, begins wrong or parts."""
    some = tables[:MOST_TABLES]
    return [
        *padded.padded(some, lines),
        *halves.halves(some),
        *scaler.floored(lines),
        *returning.returning(lines),
        *started.started(lines, some, settings, stated),
        *experts.parted(some, stated),
        *experts.not_added(lines),
        *untaught.untaught(lines),
        *untaught.unmoved(lines, settings),
        *engine.apart_from_start(some, lines, stated),
    ]

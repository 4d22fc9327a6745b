"""Reports of classification as scikit-learn prints them: a row for each class, and rows over all classes.

The head names the measures, the label has no head, and blank lines stand between the parts. A row of one number and the
support holds what it is called by itself: `accuracy`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records

BLANKS = 2
"""Blank lines in a row that a report may have between its parts."""
HEAD = bounded(r"^\W{0,40}precision\s{1,8}recall\s{1,8}f1[-_ ]?score\s{1,8}support\s{0,8}$", re.IGNORECASE)
ROW = bounded(
    r"^\s{0,80}(?P<label>\S.{0,80}?)\s{2,80}(?P<numbers>(?:(?:\d{1,12}(?:\.\d{1,8})?|nan)(?:\s{1,80}|$)){2,4})$",
    re.IGNORECASE,
)
NAMES = ("precision", "recall", "f1-score", "support")


def is_report(text: str) -> bool:
    """Whether a line is the head of one."""
    return HEAD.match(text) is not None


def is_row(text: str) -> bool:
    return ROW.match(text.rstrip()) is not None


def report(lines: Sequence[Line]) -> Raw | None:
    """The classes of a report as rows; None where none follow its head."""
    table = Records()
    for line in lines[1:]:
        match = ROW.match(line.text.rstrip())
        if match is None:
            continue
        label, numbers = match["label"].strip(), match["numbers"].split()
        if len(numbers) == 4:
            row = dict(zip(NAMES, numbers, strict=True))
        elif len(numbers) == 2 and "avg" not in label:
            row = {label: numbers[0], "support": numbers[1]}
            label = "all"
        else:
            continue
        table.add({"class": label, **row}, line.number)
    table.raw.labels = frozenset(("class",))
    return table.raw if len(table.raw) > 1 else None

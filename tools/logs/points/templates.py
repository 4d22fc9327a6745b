"""Speed for long logs: the shape of a parsed line is remembered, the next line of that shape is read by one match.

A template is the line with its numbers replaced by groups. It gives the same record as `parse.parse` or does not
match at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from .format import Record
from .grammar import number, scale_of
from .parse import parse

KEPT = 4
"""Shapes remembered at a time, the latest first: a run prints few kinds of lines."""
_NUMBER = r"[-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:nan|inf(?:inity)?)(?![\w.]))"
_DIGITS = r"[-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
_TOKEN = re.compile(rf"(?<![\w.]){_DIGITS}")
LEARN_LIMIT = 64
"""Most shapes learnt in one file: text that never repeats must not cost a compilation a line."""


@dataclass(frozen=True)
class _Template:
    pattern: re.Pattern[str]
    record: Record
    scales: tuple[float, ...]
    """Unit of each value."""

    def read(self, text: str) -> Record | None:
        match = self.pattern.fullmatch(text)
        if not match:
            return None
        step, *values = match.groups()
        if not step.isdecimal() or len(step) > 17:
            return None
        old = self.record
        read = tuple(
            (key, number(v) * scale) for (key, _), v, scale in zip(old.values, values, self.scales, strict=True)
        )
        return Record(old.format, read, int(step), old.counter)


class Templates:
    """`parse` with a memory; one for each file."""

    def __init__(self) -> None:
        self.known: list[_Template] = []
        self.learnt = 0

    def parse(self, text: str) -> Record | None:
        for template in self.known:
            record = template.read(text)
            if record:
                return record
        record = parse(text)
        plain = record and record.at and not record.counts_alone and record.epoch is None and record.rank is None
        if record and plain and self.learnt < LEARN_LIMIT:
            self.learnt += 1
            template = _template(text, record)
            if template:
                self.known = [template, *self.known[: KEPT - 1]]
        return record


def _template(text: str, record: Record) -> _Template | None:
    """The template of a line, None if its numbers do not stand apart from each other in the order of the keys."""
    spans = (record.at or (0, 0), *record.places)
    if len(text) > 2_000 or any(a[1] > b[0] for a, b in pairwise(spans)):
        return None
    parts, end = [], 0
    others = [m.span() for m in _TOKEN.finditer(text)]
    wanted = set(spans)
    free = [o for o in others if not any(o[0] < s[1] and s[0] < o[1] for s in spans)]
    for span in sorted([*spans, *free]):
        parts.append(_literal(text[end : span[0]]))
        parts.append(f"({_NUMBER})" if span in wanted else _DIGITS)
        end = span[1]
    parts.append(_literal(text[end:]))
    scales = []
    for (_, value), (start, stop) in zip(record.values, spans[1:], strict=True):
        scale = scale_of(number(text[start:stop]), value, text[stop:])
        if scale is None:
            return None
        scales.append(scale)
    template = _Template(re.compile("".join(parts)), record, tuple(scales))
    return template if template.read(text) else None


def _literal(text: str) -> str:
    """The text between numbers; the width of a gap may change."""
    return r"\s+".join(re.escape(piece) for piece in re.split(r"\s+", text))

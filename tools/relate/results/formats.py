"""Rows of one model in several number formats: one that is as large as the whole model, and one that lost far more than
another of as many bits.

A size follows from the bits, whatever the method: weights of 4 bits that take as much room as those of 32 are the same
weights. And what one method keeps in a format, another can keep in it: the format is not what was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ..line import plain
from .read import Row

WHOLE = bounded(
    r"(?i)(?:^|[^a-z0-9])(?:fp32|fp16|bf16|float(?:16|32)|full(?:[ -]precision)?|unquanti[sz]ed)(?:[^a-z0-9]|$)"
    r"|未量化|全精度"
)
FEWER = bounded(
    r"(?i)(?:^|[^a-z0-9])(?:int|nf|uint|fp|mxfp|nvfp|w|q)([2-8])(?:[^0-9.]|$)|(?:^|[^0-9.])([2-8])[ _-]?bits?"
)
"""Labels of weights in full, and of those in fewer bits."""
SIZE = bounded(
    r"(?:^|_)(?:size|disk|file|weights?|checkpoint|model)(?:_\w{1,12})?_(?:[kmgt]i?b|bytes)(?:_|$)|^(?:model_)?size$|大小|体积"
)
LOSS = bounded(r"(?:^|_)(?:ppl|perplexity|nll|(?:eval|val|test)_loss|wer|cer)(?:_|$)|困惑度")
EQUAL, LOST, KEPT = 0.01, 1.2, 1.05
"""Share by which sizes that are the same differ, and times a perplexity that was lost and that was kept. Ours."""


class Format(NamedTuple):
    """One row: its label, the bits of its weights, its size and its perplexity or error, where they are said."""

    row: Row
    label: str
    bits: int
    size: str
    loss: str

    def of(self, measure: str) -> float:
        return self.row.values[measure]


def by_format(rows: Sequence[Row]) -> list[Finding]:
    """What the rows of each table say, one finding of each kind."""
    groups: dict[tuple[str, str], list[Format]] = {}
    for row in rows:
        if (one := _format(row)) is not None:
            groups.setdefault((row.file, row.part), []).append(one)
    found = [f for some in groups.values() for f in (*_as_large(some), *_behind(some))]
    return list({f.code: f for f in reversed(found)}.values())


def _format(row: Row) -> Format | None:
    label = " ".join(row.names)
    fewer = FEWER.search(label)
    bits = int(fewer[1] or fewer[2]) if fewer else 16 if WHOLE.search(label) else 0
    told = {plain(k): k for k, v in row.values.items() if isfinite(v) and v > 0}
    size, loss = (next((k for said, k in told.items() if p.search(said)), "") for p in (SIZE, LOSS))
    return Format(row, label, bits, size, loss) if bits else None


def _as_large(some: Sequence[Format]) -> Iterator[Finding]:
    """The row of fewest bits that is as large as the whole model, with the same perplexity where both say it."""
    whole = [f for f in some if f.bits == 16 and f.size]
    for full in whole:
        for few in sorted((f for f in some if f.bits < 16 and f.size == full.size), key=lambda f: f.bits):
            same = abs(few.of(few.size) / full.of(full.size) - 1) <= EQUAL
            if not same or (few.loss and few.loss == full.loss and few.of(few.loss) != full.of(full.loss)):
                continue
            also = f" and {few.loss} {few.of(few.loss):.6g}" if few.loss else ""
            yield Finding(
                "quantised-as-large-as-whole", Severity.S2,
                f"{clean(few.label, 60)} is as large as {clean(full.label, 60)} ({few.size} {few.of(few.size):.4g}"
                f"{also} in both): its weights were not brought to {few.bits} bits, and its row says nothing of that "
                "format.",
                f"{clean(few.label, 60)} 与 {clean(full.label, 60)} 一样大（{few.size} {few.of(few.size):.4g}"
                f"{also.replace(' and ', '，')}）：权重并没有变成 {few.bits} 位，这一行说明不了该格式。",
                (few.row.evidence(few.size), full.row.evidence(full.size)),
                {"label": few.label, "bits": few.bits, "size": few.of(few.size)},
            )  # fmt: skip
            return


def _behind(some: Sequence[Format]) -> Iterator[Finding]:
    """A row that lost far more than another of as many bits, which lost next to nothing."""
    full = next((f for f in some if f.bits == 16 and f.loss), None)
    if full is None:
        return
    times = [(f.of(f.loss) / full.of(full.loss), f) for f in some if f.bits < 16 and f.loss == full.loss]
    for far, bad in sorted(times, key=lambda one: -one[0]):
        fine = next((f for t, f in times if f.bits == bad.bits and t <= KEPT), None)
        if far >= LOST and fine is not None and _words(bad.label) != _words(fine.label):
            yield Finding(
                "quantised-behind-its-format", Severity.S2,
                f"{bad.loss} is {bad.of(bad.loss):.4g} for {clean(bad.label, 60)} and {fine.of(fine.loss):.4g} for "
                f"{clean(fine.label, 60)}, which has as many bits ({full.of(full.loss):.4g} for "
                f"{clean(full.label, 60)}): the format keeps it, so what differs between the two lost it (how it was "
                "trained or calibrated, which weights are loaded).",
                f"{clean(bad.label, 60)} 的 {bad.loss} 为 {bad.of(bad.loss):.4g}，而位数相同的 {clean(fine.label, 60)} "
                f"为 {fine.of(fine.loss):.4g}（{clean(full.label, 60)} 为 {full.of(full.loss):.4g}）：格式本身保得住，"
                "问题在两者的差别（训练、校准或加载的权重）。",
                (bad.row.evidence(bad.loss), fine.row.evidence(fine.loss), full.row.evidence(full.loss)),
                {"label": bad.label, "times": far, "bits": bad.bits},
            )  # fmt: skip
            return


def _words(label: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{2,}", label.lower()))

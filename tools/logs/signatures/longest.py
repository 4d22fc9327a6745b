"""The length of the batch at which the memory ran out, where the log says it just above the error.

One sample that is several times as long as the others sets the peak of all: a batch is padded to it. The length is held
against a mean on the same line, or against the lengths that the same line gave for the batches before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from ...findings import Evidence, Finding, clean, declare
from ...patterns import bounded
from ...reading import split_prefix
from .match import Hit
from .signature import CHECK

_NUMBER = r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d{1,9})(?!\w|[.,]\d)"
_NAMES = (
    r"(?:\b(?:max(?:imum)?|longest|padded|batch|cur(?:rent)?|sequence|seq|input|this|sample|num)[ _.-]?"
    r"(?:\w+[ _.-]){0,2}(?:len(?:gth)?s?|seqlen|tokens?)|\bseq_?lens?|\blengths?|\blongest(?: sample| sequence)?"
    r"|\bpadded to"
    r"|最长(?:样本|序列)?|(?:序列|样本|本批|批次|填充)(?:后)?(?:最大)?长度)"
)
LENGTHS = (
    bounded(rf"(?i){_NAMES}[\"']?\s?(?:\([^)]{{0,12}}\)\s?)?(?:[:=]|is|of|为|是)?\s{{0,3}}{_NUMBER}"),
    bounded(rf"(?i)\b(?:shape|size|input_ids)\b[^\d\n]{{0,24}}[\[(]\s?\d{{1,5}}\s?[,x]\s?{_NUMBER}"),
)
"""A length of a batch by its name, or as the second number of its shape."""
USUAL = bounded(
    r"(?i)(?<![a-z])(?:mean|avg|average|median|usual(?:ly)?|typical(?:ly)?|normal(?:ly)?|p50)(?![a-z])[\w ]{0,20}"
    rf"[\"']?\s?[:=]?\s{{0,3}}~?{_NUMBER}|(?:均值|平均|中位数?|通常|一般)\S{{0,6}}?\s?[:=：为约]{{0,2}}\s?{_NUMBER}"
)
"""What such a length usually is, on the same line."""
NEAR, OTHERS = 12, 4
"""Lines above the error, without those of its traceback, in which its batch may be told, and lines of earlier
batches that must be there."""
TIMES, LEAST = 4.0, 1024
"""Factor by which a batch is longer than usual, and tokens from which on a length costs memory. Own judgement."""
_DIGITS = re.compile(r"\d[\d,.]*")
CODES = declare(
    "longest", ("oom-at-long-batch", CHECK, "the GPU ran out of memory at a batch far longer than the others")
)


def longest(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The first of the errors above which a batch is told that is several times as long as usual."""
    for hit in hits:
        lines = [split_prefix(raw.rstrip("\r")) for raw in hit.above.rstrip("\n").split("\n")]
        own = [(i, text) for i, (rank, text) in enumerate(lines) if None in (rank, hit.rank) or rank == hit.rank]
        said = [i for i, text in own if text[:1].strip() and not text.startswith("Traceback")]
        for i in reversed(said[-NEAR:]):
            text = lines[i][1]
            length = _length(text)
            usual = length and (_told(text) or _before(text, [t for k, t in own if k < i]))
            if length and usual and length >= max(LEAST, TIMES * usual):
                yield _finding(file, hit, hit.line - len(lines) + i, text, (length, usual), of)
                return


def _length(text: str) -> float:
    """The longest length that a line gives; 0 where it gives none."""
    return max((_number(m[1]) for shape in LENGTHS for m in shape.finditer(text)), default=0.0)


def _told(text: str) -> float:
    found = USUAL.search(text)
    return _number(found[1] or found[2]) if found else 0.0


def _before(text: str, above: Sequence[str]) -> float:
    """The median of the lengths in the lines above that differ in their numbers alone; 0 where they are few."""
    words = _DIGITS.sub("#", text)
    found = [n for t in above if _DIGITS.sub("#", t) == words and (n := _length(t))]
    return float(median(found)) if len(found) >= OTHERS else 0.0


def _number(digits: str) -> float:
    return float(digits.replace(",", ""))


def _finding(file: str, hit: Hit, line: int, text: str, lengths: tuple[float, float], of: Finding) -> Finding:
    length, usual = lengths
    return Finding(
        "oom-at-long-batch",
        of.severity,
        f"{file}:{line}: the batch at which the memory ran out (line {hit.line}) has a length of {length:g}, "
        f"{length / usual:.0f} times the usual {usual:g}: one long sample sets the peak.",
        f"{file}:{line}：显存耗尽的那个 batch（第 {hit.line} 行）长度为 {length:g}，是通常 {usual:g} 的 "
        f"{length / usual:.0f} 倍：峰值由个别超长样本决定。",
        (Evidence(file, line, rank=hit.rank, value=length, text=clean(text)),),
        {key: of.data[key] for key in ("survived", "follows") if key in of.data} | {"length": length, "usual": usual},
    )

"""The box that `nvidia-smi` prints: two lines for each GPU, several values in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..patterns import bounded
from ..reading import Line
from .raw import Raw

_FIRST = bounded(
    r"^[|│]\s+(?P<gpu>\d+)\s+(?P<name>[A-Za-z].{0,40}?)\s{2,60}.{0,80}[|│]\s{1,60}(?P<bus>[0-9A-F]+:[0-9A-F:.]+)\s.{0,40}[|│]\s{0,60}(?P<ecc>\S+)\s{0,60}[|│]$",
    2,
)
_SECOND = bounded(
    r"^[|│]\s*(?P<fan>N/A|\d+%|ERR!)\s+(?P<temp>\d+C|N/A|ERR!)\s+(?P<perf>P\d+|N/A)\s{1,60}(?P<power>[\d.]+W|N/A|ERR!)\s*/\s*(?P<cap>[\d.]+W|N/A|ERR!)\s*"
    r"[|│]\s{0,60}(?P<used>\d+MiB|N/A)\s*/\s*(?P<total>\d+MiB|N/A)\s{0,60}[|│]\s{0,60}(?P<util>\d+%|N/A)\s{1,60}(?P<mode>\S.{0,20}?)\s*[|│]$"
)
NAMES = ("GPU", "Name", "Bus-Id", "Volatile Uncorr. ECC", "Fan", "Temp", "Perf", "Pwr:Usage", "Pwr:Cap", "Memory-Usage",
         "Memory-Total", "GPU-Util", "Compute M.")  # fmt: skip
_PARTS = ("gpu", "name", "bus", "ecc", "fan", "temp", "perf", "power", "cap", "used", "total", "util", "mode")


def read_smi(lines: Sequence[Line]) -> tuple[list[Raw], list[Line]]:
    """The table of GPUs, if it is there, and the lines that are no part of such a box."""
    rows, at = [], []
    for line, below in pairwise(lines):
        first = _FIRST.match(line.text) if line.text[:1] in "|│" else None
        second = _SECOND.match(below.text) if first else None
        if first and second:
            found = {**first.groupdict(), **second.groupdict()}
            rows.append([found[name] for name in _PARTS])
            at.append(line.number)
    if not rows:
        return [], list(lines)
    rest = [line for line in lines if line.text[:1] not in "|│+"]
    return [Raw.of_rows("GPUs", NAMES, rows, at)], rest

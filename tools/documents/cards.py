"""Which cards a run's files name: what a card cannot do forbids a change that would need it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from ..findings import Evidence, TriageError
from ..patterns import bounded
from ..reading import head
from ..run import Run

FILES, BYTES = 60, 1 << 16
"""Files that are looked at, and bytes of each: what a card is stands in the first lines."""
NO_BF16 = bounded(r"(?i)(?<![a-z0-9])(?:tesla[ -])?(V100S?|P100|P40|T4|K80|M40|GTX[ -]?1\d{3}(?:\s?Ti)?"
                  r"|RTX[ -]?20\d\d(?:\s?Ti)?|TITAN[ -](?:V|Xp|RTX))(?![a-z0-9])")  # fmt: skip
"""Cards of compute capability below 8.0, which have no bf16 units."""
BF16 = bounded(r"(?i)(?<![a-z0-9.])(A100|A800|A10G?|A30|A40|A6000|H100|H200|H800|H20|B200|B100|GB200|GH200|L4|L40S?"
               r"|RTX[ -]?[345]0\d\d|[345]090|MI2[05]0X?|MI300X?|910B)(?![a-z0-9])")  # fmt: skip
KINDS = ("log", "script", "document", "table", "config")


def without_bf16(run: Run) -> tuple[str, Evidence] | None:
    """(card, where) of a run all of whose cards cannot compute in bf16; None where that is not told."""
    old: tuple[str, Evidence] | None = None
    for name, number, line in _lines(run):
        if BF16.search(line):
            return None
        if old is None and (found := NO_BF16.search(line)):
            old = found[1], Evidence(name, number, text=line.strip()[:200])
    return old


def _lines(run: Run) -> Iterator[tuple[str, int, str]]:
    for artifact in islice(run.of(*KINDS), FILES):
        with suppress(OSError, TriageError):
            text = head(artifact.path, BYTES).decode("utf-8", "replace")
            for number, line in enumerate(text.splitlines(), 1):
                yield artifact.name, number, line[:1000]

"""What lists of files say: the same content under two names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Finding, Severity
from ..patterns import bounded
from ..tables.table import Table
from .distributions import named, shown, texts

DIGEST = bounded(r"(?:^|_)(?:sha\d{0,3}|md5|hash|checksum|digest|etag|crc32)(?:_|$)")
FILE = bounded(r"(?:^|_)(?:file|path|shard|name|part|url|filename)(?:_|$)")
LEAST = 5
LENGTH = 8
"""Letters of a digest, below which equal ones may be chance."""


def listed(tables: Sequence[Table]) -> list[Finding]:
    """What the lists of files say."""
    return [f for table in tables for f in _repeated(table)]


def _repeated(table: Table) -> Iterator[Finding]:
    """Files of different names with one digest."""
    digest, file = named(table, DIGEST, "O"), named(table, FILE, "O")
    if digest is None or file is None or len(table) < LEAST:
        return
    said, names = texts(digest), texts(file)
    by: dict[str, set[str]] = {}
    for value, name in zip(said.tolist(), names.tolist(), strict=True):
        if len(value) >= LENGTH:
            by.setdefault(value, set()).add(name)
    again = {value: some for value, some in by.items() if len(some) > 1}
    if not again or len(set(names.tolist())) < len(table):
        return
    count = sum(len(some) for some in again.values())
    first = Counter(said.tolist()).most_common(1)[0][0]
    rows = np.flatnonzero(said == first)[:4].tolist()
    yield Finding(
        "files-repeated", Severity.S2,
        f"{count} of {len(table)} files in {table.file} have a digest that another one has too "
        f"({', '.join(sorted(again[first])[:4])} "
        "are one content): they are read more than once.",
        f"{table.file} 的 {len(table)} 个文件中有 {count} 个与别的文件内容相同（"
        f"{'、'.join(sorted(again[first])[:4])} 内容一样），会被重复读取。",
        shown(table, rows, digest.name), {"repeated": count, "files": len(table)},
    )  # fmt: skip

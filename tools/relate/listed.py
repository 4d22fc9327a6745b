"""What lists of files say: the same content under two names, and other content under the name that must be the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ..findings import Finding, Severity
from ..patterns import bounded
from ..tables.table import Column, Table
from .distributions import named, shown, texts
from .line import means

DIGEST = bounded(r"(?:^|_)(?:sha\d{0,3}|md5|hash|checksum|digest|etag|crc32)(?:_|$)")
FILE = bounded(r"(?:^|_)(?:file|path|shard|name|part|url|filename)(?:_|$)|^(?:文件|文件名|路径)$")
HEX = bounded(
    r"(?i)^(?:(?:sha-?\d{0,3}|md5|blake\w{0,4}|crc32|etag)\s{0,2}[:= ]\s{0,2})?"
    r"(?=[0-9a-f]{0,63}\d)[0-9a-f]{7,64}(?:\.{2,3}|…)?$"
)
"""A digest by its looks, whatever the column is called."""
TOKENIZER = bounded(
    r"(?i)(?:^|/)(?:tokenizer[\w.-]*|vocab\.(?:json|txt)|merges\.txt|spiece\.model|sentencepiece[\w.-]*|tiktoken[\w.-]*"
    r"|bpe[\w.-]*)$"
)
"""Files that turn a text into the numbers that the weights were trained on."""
KEPT_BESIDE = bounded(
    r"(?i)(?:^|/)(?:(?:tokenizer|vocab|merges|spiece|sentencepiece|special_tokens|added_tokens|config|generation_config"
    r"|model|adapter|pytorch_model|params)[\w.-]*|[\w.-]*\.(?:safetensors|bin|pt|pth|gguf|py|sh|ya?ml|toml))$"
)
"""Files that a folder of weights or a run has a copy of, and that nobody reads as data."""
WRITTEN = bounded(
    r"(?i)(?:^|/)(?:evidence|results?|outputs?|logs?|reports?|runs?|artifacts?)/"
    r"|(?:^|/)(?:events?|metrics|summary|report|stdout|stderr)[\w.-]*$"
)
"""Files that runs write, of which two may well say the same."""
FROM = bounded(
    r"(?i)(?:^|[^a-z])(?:base|baseline|parent|pre-?train\w*|init\w*|orig(?:inal)?|train(?:ed|ing)?|saved|checkpoint|ckpt"
    r"|upstream|old)(?:[^a-z]|$)|底座|基座|训练|原始|原版|初始"
)
"""Names of the side whose weights are gone on with or served."""
MOST_SIDES = 3
Side = tuple[str, str, int]
"""(whose, digest, row)."""
LEAST = 5
LENGTH = 8
"""Letters of a digest, below which equal ones may be chance."""


def listed(tables: Sequence[Table]) -> list[Finding]:
    """What the lists of files say."""
    return [f for table in tables for look in (_repeated, _other_tokenizer) for f in look(table)]


def _repeated(table: Table) -> Iterator[Finding]:
    """Files of different names with one digest."""
    digest, file = named(table, DIGEST, "O"), named(table, FILE, "O")
    if digest is None or file is None or len(table) < LEAST:
        return
    said, names = texts(digest), texts(file)
    by: dict[str, set[str]] = {}
    for value, name in zip(said.tolist(), names.tolist(), strict=True):
        if len(value) >= LENGTH and not (KEPT_BESIDE.search(name) or WRITTEN.search(name)):
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


def _other_tokenizer(table: Table) -> Iterator[Finding]:
    """A file of the tokenizer that is another one where the weights come from and where they are used."""
    file = next((c for c in table.columns if means(FILE, c.name) and _any(c, TOKENIZER)), None)
    sums = [c for c in table.columns if c is not file and digests(c)]
    if file is None or not 1 <= len(table) <= 200:
        return
    paths = [v.strip() for v in texts(file).tolist()]
    leaves = np.asarray([v.rpartition("/")[2] for v in paths], object)
    for name in dict.fromkeys(leaf for leaf, v in zip(leaves.tolist(), paths, strict=True) if TOKENIZER.search(v)):
        rows = np.flatnonzero(leaves == name).tolist()
        sides = _sides(table, rows, sums) or _folders(paths, rows, sums)
        for (one, a, i), (other, b, j) in combinations(sides, 2):
            if a != b and len(sides) <= MOST_SIDES and bool(FROM.search(one)) != bool(FROM.search(other)):
                yield _tokenizers(table, name, (one, a, i), (other, b, j))
                return


def _any(column: Column, pattern: re.Pattern[str]) -> bool:
    return column.values.dtype.kind == "O" and any(pattern.search(v.strip()) for v in texts(column).tolist())


def digests(column: Column) -> bool:
    """Whether every cell of a column looks like a digest."""
    return column.values.dtype.kind == "O" and all(HEX.search(v.strip()) for v in texts(column).tolist())


def _sides(table: Table, rows: Sequence[int], sums: Sequence[Column]) -> list[Side]:
    """What each side has: a row each, or a column each."""
    if len(sums) > 1 and len(rows) == 1:
        return [(c.name, _bare(c, rows[0]), rows[0]) for c in sums]
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and c not in sums
                  and len({texts(c)[i] for i in rows}) == len(rows) > 1), None)  # fmt: skip
    return [(texts(label)[i], _bare(sums[0], i), i) for i in rows] if sums and label is not None else []


def _folders(paths: Sequence[str], rows: Sequence[int], sums: Sequence[Column]) -> list[Side]:
    """What each folder has, where the paths alone tell the rows apart."""
    return [(paths[i].rpartition("/")[0], _bare(sums[0], i), i) for i in rows] if len(sums) == 1 else []


def _bare(column: Column, i: int) -> str:
    return texts(column)[i].strip().lower()


def _tokenizers(table: Table, name: str, one: Side, other: Side) -> Finding:
    return Finding(
        "tokenizer-files-differ", Severity.S2,
        f"{name} is not the same file for {one[0]} ({one[1][:20]}) and {other[0]} ({other[1][:20]}): where the weights "
        "of one go on with the pieces of the other, a text becomes numbers that they were not trained on.",
        f"{name} 在 {one[0]}（{one[1][:20]}）与 {other[0]}（{other[1][:20]}）之间不是同一个文件：若一方的权重配另一方的"
        "分词器，文本会变成权重没有训练过的 id。",
        shown(table, sorted({one[2], other[2]}), name),
        {"file": name, "sides": [one[0], other[0]], "digests": [one[1], other[1]]},
    )  # fmt: skip

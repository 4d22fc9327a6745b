"""What a record of a prepared data set, or a log that loads one, says of its source: made before it, or with more rows.

A preparation that is kept is found again by its name; a source that was written later is then not what is trained on.
The record says so itself (`cached` against `file_written`, `loaded_rows` against `rows`); nothing is opened or counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..looking.kept import NOT_KEPT, Kept
from ..patterns import bounded
from ..run import Artifact, Run
from .between.reused import judged, told_in
from .records.plain import load_json

CHECK = "prepared data against its source"
CODES = declare(
    "cached",
    ("cache-older-than-source", CHECK, "the prepared copy that is read was made before its source was written"),
    ("cache-has-fewer-rows", CHECK, "the prepared copy that is read has fewer rows than its source"),
)
FILES, BYTES, KEYS = 200, 64 << 10, 400
"""Small JSON files that are looked at, bytes of each, and keys of a record."""
APART = 3600.0
"""Seconds by which the source is younger at least: one pipeline writes both within less."""
LEAST = 0.02
"""Share of the rows that are missing, from which on it is told: what a filter usually drops stays below."""
_CACHE = (
    r"(?:cach(?:ed?|ing)|tokeni[sz]ed|processed|prepared|preprocessed|packed|encoded|arrow|memmap|缓存|预处理|分词后)"
)
_SOURCE = r"(?:source|raw|file|original|input|jsonl|src|dataset|data|upstream|源文件|原始|源数据|数据)"
_MADE = (
    r"(?:at|on|time|date|mtime|ts|timestamp|created|built|made|written|modified|updated|generated"
    r"|修改|更新|生成|写入|创建|时间|日期)"
)
_ROWS = (
    r"(?:(?:num|n|total)_?)?(?:rows|records|examples|samples|docs|documents|lines|size|count|len(?:gth)?"
    r"|行数|条数|样本数)"
)
MADE = bounded(rf"^{_CACHE}(?:_?(?:file|set|data|dataset|copy|dir))?(?:_?{_MADE}){{0,2}}$")
WRITTEN = bounded(
    rf"^(?:source|raw|file|original|input|jsonl|src|upstream|源文件|原始|源数据)(?:_?(?:file|set|data|dataset))?"
    rf"(?:_?{_MADE}){{1,2}}$"
)
READ = bounded(
    rf"^(?:loaded|used|read|in_use|seen|{_CACHE})_(?:num_|n_)?{_ROWS}$|^(?:num_|n_)?{_ROWS}_(?:loaded|used|read|cached"
    rf"|in_(?:cache|use)|{_CACHE})$|^(?:已?加载|载入|读入|缓存)(?:的)?{_ROWS}$"
)
WHOLE = bounded(rf"^(?:{_SOURCE}_)?{_ROWS}$|^{_ROWS}_(?:in_)?{_SOURCE}$|^(?:源文件|原始|源数据|数据)(?:的)?{_ROWS}$")
COPY = bounded(rf"(?:^|_){_CACHE}(?:_|$)|缓存|预处理")
"""Keys that say that a copy is read; of a plain count of what was used nothing follows."""
LEFT_OUT = bounded(r"filter|drop|skip|removed|max_samples|subset|sampled|limit|过滤|丢弃|抽样")
"""Keys that say why fewer rows were taken than there are."""


def check_cached(run: Run, logs: Kept = NOT_KEPT) -> Report:
    """What the records of prepared data in a run say of their sources.

    Args:
        run: whose records and logs say it.
        logs: what was kept of its logs.
    """
    small = [a for a in run.artifacts if a.name.endswith(".json")][:FILES]
    records = [(a, r) for a in small for r in _records(a) if _tells(r)]
    printed = [(a, said) for a in [*run.of("log")][:FILES] if (said := told_in(a, logs.get(a.name, ())))]
    if not records and not printed:
        why = "no record tells a prepared copy and its source"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "没有同时记录预处理副本与源文件的文件"),))
    found = [f for artifact, record in records for f in (*_older(artifact, record), *_fewer(artifact, record))]
    found += [f for artifact, said in printed for f in judged(artifact, said)]
    why = f"{len(records) + len(printed)} records"
    return Report("data", tuple(found), (Check(CHECK, "found" if found else "clear", why),))


def _records(artifact: Artifact) -> Iterator[Mapping[str, Any]]:
    """The record of a file, and those within it."""
    try:
        value = load_json(artifact.path) if artifact.path.stat().st_size <= BYTES else None
    except (TriageError, OSError, ValueError):
        return
    inner = value.values() if isinstance(value, dict) else value[:20] if isinstance(value, list) else ()
    yield from (v for v in (value, *inner) if isinstance(v, dict) and len(v) <= KEYS)


def _plain(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+", "_", key[:80]).lower()


def _of(record: Mapping[str, Any], pattern: re.Pattern[str]) -> tuple[str, Any] | None:
    return next(((k, v) for k, v in record.items() if isinstance(k, str) and pattern.search(_plain(k))), None)


def _tells(record: Mapping[str, Any]) -> bool:
    pairs = ((MADE, WRITTEN), (READ, WHOLE))
    return any(all(_of(record, p) is not None for p in pair) for pair in pairs)


def _time(value: Any) -> float | None:
    """Seconds since the epoch of a time as records write it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if 1e8 < value < 1e10 else float(value) / 1000 if 1e11 < value < 1e13 else None
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _older(artifact: Artifact, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The copy was made before the source that it is a copy of was written."""
    made, written = _of(record, MADE), _of(record, WRITTEN)
    if made is None or written is None:
        return
    first, last = _time(made[1]), _time(written[1])
    if first is None or last is None or last - first < APART:
        return
    yield Finding(
        "cache-older-than-source", Severity.S2,
        f"{artifact.name}: {made[0]} {made[1]} is before {written[0]} {written[1]}: the copy that is read was prepared "
        "before the file was last written.",
        f"{artifact.name}：{made[0]} {made[1]} 早于 {written[0]} {written[1]}：读到的副本生成于源文件最后写入之前。",
        tuple(Evidence(artifact.name, text=f"{key}: {value}") for key, value in (made, written)),
        {"made": first, "written": last},
    )  # fmt: skip


def _fewer(artifact: Artifact, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The copy has fewer rows than its source, and nothing there says that some were left out."""
    read, whole = _of(record, READ), _of(record, WHOLE)
    if read is None or whole is None or _of(record, COPY) is None or _of(record, LEFT_OUT) is not None:
        return
    n, of = read[1], whole[1]
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in (n, of)) or not 0 < n < (1 - LEAST) * of:
        return
    yield Finding(
        "cache-has-fewer-rows", Severity.S2,
        f"{artifact.name}: {read[0]} {n:,} of {whole[0]} {of:,}: {1 - n / of:.0%} of the source is not in what is "
        "read, and nothing there says that it was left out.",
        f"{artifact.name}：{whole[0]} 为 {of:,}，而 {read[0]} 只有 {n:,}：源数据有 {1 - n / of:.0%} 没有被读到，"
        "其中也没有说明做过过滤。",
        (Evidence(artifact.name, value=float(n), text=f"{read[0]}: {n}"),
         Evidence(artifact.name, value=float(of), text=f"{whole[0]}: {of}")),
        {"read": n, "whole": of},
    )  # fmt: skip

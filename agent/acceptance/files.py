"""Criteria on files: evaluation parts, generated indices, checkpoints. Files are listed and parsed, never executed.

What is in an evaluation score or a data record is judged in `scores` and `data`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...knowledge.entry import Criterion
from ...tools.data.records.plain import JSON_BYTES, load_json
from ...tools.findings import TriageError
from ...tools.patterns import bounded
from ...tools.reading import head
from ...tools.tables.delimited import cut
from .artifacts import files, search
from .subject import MIN_POINTS, Observation, Subject, metric, missing, seen


@metric("sid_index_and_item_files_exist")
def sid_index_and_item_files_exist(subject: Subject, criterion: Criterion) -> Observation:
    """Both `*.index.json` and `*.item.json` exist, parse, are not empty, and cover the same items."""
    found = {kind: files(subject, rf"\.{kind}\.json$") for kind in ("index", "item")}
    if not any(found.values()):
        if not subject.run.artifacts:
            return missing("the folder in which the index is generated is needed")
        return seen(False, criterion, "no .index.json and no .item.json below the run's folder", 0)
    if lacking := [k for k, paths in found.items() if not paths]:
        return seen(False, criterion, f"no .{lacking[0]}.json below the run's folder", 1)
    index, item = (load_json(paths[0]) for paths in found.values())
    window = ", ".join(p[0].name for p in found.values())
    if not isinstance(index, (dict, list)) or not isinstance(item, (dict, list)) or not index or not item:
        return seen(False, criterion, "one of the two files is empty or no JSON", 2, window)
    bare = len(item.keys() - index.keys()) if isinstance(index, dict) and isinstance(item, dict) else 0
    words = f"both parse; {bare} of {len(item)} items have no index (coverage is our addition)"
    return seen(not bare, criterion, words, len(item), window)


PART = bounded(
    r"^(?P<base>.*?)[_.-]?(?:rank|gpu|split|part|shard|proc|worker)?[_.-]?(?P<number>\d{1,3})\.(?P<end>jsonl?|csv)$",
    re.I,
)


@metric("per_gpu_outputs_equal_splits")
def per_gpu_outputs_equal_splits(subject: Subject, criterion: Criterion) -> Observation:
    """One result per split, none empty, and the records of the parts add up to the merged file or the splits."""
    groups: dict[tuple[Path, str], dict[int, int]] = {}
    for path in files(subject, r"\d\.(?:jsonl?|csv)$"):
        match = PART.match(path.name)
        if match:
            key = path.parent, match["base"].lower()
            groups.setdefault(key, {})[int(match["number"])] = _records(path)
    parts = {k: v for k, v in groups.items() if len(v) > 1}
    if not parts:
        return missing("the folder with one result file per GPU (`result_0.json`, `result_1.json`, ...) is needed")
    results = {k: v for k, v in parts.items() if not re.search(r"input|split|test|prompt|data", k[1])} or parts
    (folder, base), counts = max(results.items(), key=lambda kv: len(kv[1]))
    splits = next((v for k, v in parts.items() if k not in results), None)
    whole = files(subject, rf"(?i)^{re.escape(base)}(?:[_.-]?(?:merged|all|final))?\.(?:jsonl?|csv)$")
    merged = _records(whole[0]) if whole else None
    total, window = sum(counts.values()), f"{base}* in {folder.name}"
    gaps = sorted(set(range(min(counts), max(counts) + 1)) - counts.keys())
    empty = sorted(n for n, c in counts.items() if c <= 0)
    words = f"{len(counts)} parts with {total} records"
    if gaps or empty:
        return seen(
            False, criterion, f"{words}; missing parts {gaps}, empty or broken parts {empty}", len(counts), window
        )
    if splits is None and merged is None:
        return missing(f"{words}; the splits or the merged file are needed to compare with", len(counts), window)
    other = f"the splits hold {sum(splits.values())}" if splits else f"the merged file holds {merged}"
    same = counts == splits if splits else total == merged
    return seen(same, criterion, f"{words}; {other}", len(counts), window)


def _records(path: Path) -> int:
    """Records of a small result file, 0 where it is empty or broken."""
    if path.suffix == ".json":
        value = load_json(path)
        value = value if isinstance(value, (list, dict)) else ()
        return len(value)
    try:
        lines = head(path, JSON_BYTES).decode("utf-8", "replace").splitlines(keepends=True)
    except TriageError:
        return 0
    if path.suffix == ".csv":  # a quoted cell may go over several lines
        return max(sum(any(row) for row in cut(lines, ",")) - 1, 0)
    return sum(bool(line.strip()) for line in lines)


@metric("metrics_present")
def metrics_present(subject: Subject, criterion: Criterion) -> Observation:
    """The evaluation result parses and all of its numbers are finite."""
    results = list(subject.run.of("eval"))
    if not results:
        return missing("an evaluation result file is needed (`results.json`)")
    bad, numbers = [], 0
    for artifact in results:
        value = load_json(artifact.path)
        found = list(_numbers(value))
        numbers += len(found)
        if not found or not all(math.isfinite(n) for n in found):
            bad.append(artifact.name)
    words = f"{numbers} numbers in {len(results)} files" + (f"; none or not finite in {', '.join(bad)}" if bad else "")
    return seen(not bad, criterion, words, numbers, ", ".join(a.name for a in results[:3]))


def _numbers(value: Any, depth: int = 0) -> Iterator[float]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, (Mapping, list)) and depth < 6:
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(child, depth + 1)


BROKEN = ("checkpoint-incomplete", "empty-tensors", "checkpoint-unreadable", "checkpoint-save-error", "disk-full")


@metric("checkpoint_complete")
def checkpoint_complete(subject: Subject, criterion: Criterion) -> Observation:
    """No incomplete or unreadable checkpoint, by the checkpoint tool; free space is not visible from here."""
    if bad := sorted({f.code for f in subject.found(*BROKEN)}):
        return seen(False, criterion, f"findings: {', '.join(bad)}", len(bad))
    if not list(subject.run.of("checkpoint")):
        return missing("a checkpoint is needed in the run's folder")
    if not any("checkpoint" in c.name and c.result in ("found", "clear") for c in subject.checks):
        return missing("the checkpoint tool came to no result; `triage checkpoint` says why")
    count = len(list(subject.run.of("checkpoint")))
    words = "no missing shard, broken header or failed save (room for one more save is not visible from here)"
    return seen(True, criterion, words, count)


@metric("checkpoint_loads")
def checkpoint_loads(subject: Subject, criterion: Criterion) -> Observation:
    """The log shows that a checkpoint was loaded, without key errors or a jump of the loss, and that steps follow."""
    codes = ("checkpoint-load-error", "checkpoint-unreadable", "loss-jump-on-resume", "shape-mismatch")
    if bad := sorted({f.code for f in subject.found(*codes)}):
        return seen(False, criterion, f"findings: {', '.join(bad)}", len(bad))
    keys = search(subject, r"(?i)\b(?:missing|unexpected) keys?\b[^\n]{0,40}\[[^\]\n]+\]")
    if keys:
        return seen(False, criterion, "the log names missing or unexpected keys", len(keys))
    loaded = search(subject, r"(?i)\b(?:resum(?:ed|ing)|load(?:ed|ing))\b[^\n]{0,60}\b(?:checkpoint|global_step|ckpt)")
    loss = subject.table.get("loss") or subject.table.get("reward")
    if not loaded or loss is None or len(loss) < MIN_POINTS:
        return missing("a log is needed that loads the checkpoint and goes on for at least five logged steps")
    words = "a checkpoint is loaded, no key error, no jump of the loss, and steps follow"
    return seen(True, criterion, words, len(loss), loaded[0].file)

"""Scores of a trained model that are those of its base to the last digit: what was scored is the base."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Table
from ..results.read import BASE as BEFORE
from ..results.read import TRAINED
from ..texts.same import BASE
from .read import Scored, harness_rows, scored_rows

LEAST, MOST = 3, 24
"""Tasks that both were scored on, and sources that are compared."""
ITEMS = 100
"""Items of all tasks together from which on equal scores are no chance."""
SURE = 1000
"""Items of each task from which on two tasks are enough."""
SHOWN = 3
SERVED = bounded(
    r"(?i)(?:^|[^a-z])(?:vllm|sglang|hf|trt\w{0,6}|onnx|flash|sdpa|eager|compiled?|cuda|upgrade|refactor|cached?|fp16|bf16"
    r"|fp32|batch\w{0,3}|engine|kernel|rerun|repeat|v\d+\.\d+\.\d+)(?:$|[^a-z])|升级|引擎|重跑|重复"
)
"""What two evaluations of one model may differ in, where they ought to come out the same."""


def of_the_base(tables: Sequence[Table]) -> Iterator[Finding]:
    """All scores of one model, or of one file whatever model it says that it asked, are those of a base."""
    rows = [*scored_rows(tables), *harness_rows(tables)]
    rows = [r for r in rows if not r.item and r.step is None and r.task and r.value <= 100]
    for name in (lambda r: r.evidence.file or "", lambda r: r.model):
        sources: dict[str, dict[tuple[str, str], Scored]] = {}
        for row in rows:
            if said := name(row):
                sources.setdefault(said, {})[row.task, row.metric] = row
        for base, other in permutations(list(sources)[:MOST], 2):
            if _of_base(base, other) and _equal(sources[base], sources[other]):
                yield _told(base, other, sources)
                return


def _of_base(one: str, other: str) -> bool:
    """Whether the one is called a base where the names of the two differ, and the other is not."""
    a, b = one.split("/"), other.split("/")
    kept = [x for x in a if x not in b], [x for x in b if x not in a]
    here, there = ("/".join(x) for x in kept)
    if {m[0].lower().strip("/._-") for m in SERVED.finditer(here)} != {
        m[0].lower().strip("/._-") for m in SERVED.finditer(there)
    }:
        return False
    if BASE.search(here) or (BASE.search(one) and "/" not in one + other):
        return not BASE.search(there)
    return _has(BEFORE, here) and not _has(BEFORE, there) and (_has(TRAINED, there) or bool(PLACE.search(there)))


PLACE = bounded(r"(?i)(?:checkpoint|ckpt|step|epoch|iter)[-_]?\d{1,7}")
"""A place on the way of a training."""


def _has(pattern: re.Pattern[str], text: str) -> bool:
    return any(pattern.fullmatch(w) for w in re.split(r"[^a-z0-9\u3400-\u9fff]+", text.lower()))


def _equal(a: dict[tuple[str, str], Scored], b: dict[tuple[str, str], Scored]) -> bool:
    """Whether nothing tells them apart, over enough items, and the scores are no round or floor values."""
    both = a.keys() & b.keys()
    tasks = {task for task, _ in both}
    pairs = [(a[k], b[k]) for k in both]
    sure = len(tasks) > 1 and all((x.n or 0) >= SURE for x, _ in pairs)
    if len(tasks) < (2 if sure else LEAST) or len(both) < 0.8 * max(len(a), len(b)):
        return False
    if any(x.value != y.value or x.n != y.n for x, y in pairs):
        return False
    values = {round(x.value, 9) for x, _ in pairs}
    items = sum(x.n or 0 for x, _ in pairs)
    fine = np.mean([abs(v * 10 - round(v * 10)) > 1e-6 for v in values]) >= 0.5
    return len(values) >= (2 if sure else LEAST) and (items >= ITEMS or (not items and bool(fine)))


def _told(base: str, other: str, sources: dict[str, dict[tuple[str, str], Scored]]) -> Finding:
    keys = sorted(sources[base].keys() & sources[other].keys())
    first = [sources[other][k] for k in keys[:SHOWN]]
    said = ", ".join(f"{r.task} {r.value:.4g}" for r in first)
    places: list[Evidence] = [x.evidence for r, k in zip(first, keys, strict=False) for x in (r, sources[base][k])]
    count = len({task for task, _ in keys})
    asked = {r.model for of in (base, other) for r in sources[of].values()}
    named = clean(next(iter(asked)), 90) if len(asked) == 1 and asked != {""} and other not in asked else ""
    both = f"; both say that they scored {named}" if named else ""
    both_zh = f"；两者写的被评测模型都是 {named}" if named else ""
    return Finding(
        "scores-of-the-base", Severity.S2,
        f"All {len(keys)} scores of {clean(other, 60)} on {count} tasks are those of {clean(base, 60)} to the last "
        f"digit ({said}){both}: what was scored is the base.",
        f"{clean(other, 60)} 在 {count} 个任务上的 {len(keys)} 个分数与 {clean(base, 60)} 完全相同（{said}）{both_zh}："
        "被评测的其实是底座模型。",
        tuple(places), {"scores": len(keys), "tasks": count, "base": base, "other": other},
    )  # fmt: skip

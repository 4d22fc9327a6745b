"""Prompts that are computed anew where a cache held their beginning: the share that is reused falls, and the first
token takes longer at prompts as long as before, while each further one hardly does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, declare
from ...patterns import bounded
from ...relate.distributions import texts
from ...relate.line import Line, means
from ...tables.table import Column, Table

CODES = declare(
    "prefix",
    ("prefix-cache-off", "requests of a server", "no prompt at all comes from the cache, which served some before"),
    (
        "prefix-cache-lost",
        "requests of a server",
        "prompts come no longer from the cache, the first token waits for it",
    ),
)
RATE = bounded(
    r"cache_?hit|hit_?(?:rate|ratio|pct|share)|(?:prefix|prompt|kv)_?(?:cache_)?(?:hits?|reuse)_?(?:rate|ratio|pct|share)"
    r"|reuse_?(?:rate|ratio|pct|share)|(?:cached|reused)_?(?:share|ratio|rate|pct|frac\w*)|命中率|复用率|缓存命中"
)
REUSED = bounded(r"cached|reused|re_?use|(?:^|_)hits?(?:_|$)|命中|复用")
MADE = bounded(r"computed|uncached|recomputed|(?:^|_)miss(?:es|ed)?(?:_|$)|prefilled|未命中|重算")
ALL = bounded(
    r"(?:^|_)(?:prompt|input|in|query|queries|prefill|total)_?(?:tok\w*|total|blocks?|queries|len\w*|mean|avg)?(?:_|$)|输入|提示"
)
TOKENS = bounded(r"tok|prefix|prompt|blocks?|cache|queries|词元|提示")
FIRST = bounded(r"ttft|first_?tok\w*|time_to_first|prefill_(?:time|latency|ms|s)(?:_|$)|首_?(?:token|字|词|包)")
EACH = bounded(
    r"tpot|(?:^|_)itl|inter_?tok\w*|tok\w*_?gap|per_(?:out\w*_)?tok\w*|between_tok\w*|(?:^|_)tbt(?:_|$)|每_?(?:token|字|词)"
)
PROMPT = bounded(r"(?:prompt|input|(?:^|_)in)_?(?:tok\w*|len\w*)|prompt_len|输入长度|提示长度|输入_?token")
WHEN = bounded(r"date|day|week|hour|(?:^|_)time|release|version|build|deploy|when|period|日期|时间|版本|发布|时段")
LEAST, EDGE, MOST_ROWS, FEW = 12, 4, 20_000, 5
"""Rows of a table, rows on either side of a change at least, rows that are read, and days of a summary."""
SHARED, KEPT, FALLS = 0.25, 0.5, 0.2
"""Share that was reused at least, share of it that may be kept, and by how much it falls."""
SLOWER, BEYOND, SAME = 1.6, 1.8, 0.15
"""Factor of the first token, factor by which it exceeds that of each further one, and change of a prompt's length."""


class Change(NamedTuple):
    """Levels of a measure before and after its largest change, and where that is."""

    before: float
    after: float
    evidence: Evidence

    @property
    def times(self) -> float:
        return self.after / self.before if self.before > 0 else 0.0


def prefix_lost(tables: Sequence[Table], lines: Sequence[Line]) -> Iterator[Finding]:
    """A cache of prompts that is no longer hit, with the first token that waits for it."""
    looks = (*_rates(tables), *_rates_of(lines), *_shares(tables), *_snapshots(tables))
    fell = next((f for f in looks if f), None)
    slow = (_slower(tables) or _slower_of(lines, {t.file for t in tables})) if fell is not None else None
    if fell is None:
        fell, slow = next(_summed_up(tables), (None, None))
    if fell is None or slow is None:
        return
    first, each = slow
    if any(
        means(RATE, x.key) and x.file == fell.evidence.file and len(x) >= LEAST and not x.values.any() for x in lines
    ):
        yield Finding(
            "prefix-cache-off", Severity.S2,
            f"{fell.evidence.file}: no line has a prompt that came from the cache: it is off there, and was on before.",
            f"{fell.evidence.file}：没有一行有提示词命中缓存：那里的前缀缓存是关的，而之前是开的。",
            (fell.evidence, first.evidence), {"metric": "prefix_cache_hit_rate", "before": fell.before, "after": 0.0},
        )  # fmt: skip
    per = f", each further one {each.before:.3g} then {each.after:.3g}" if each else ""
    per_zh = f"，之后每个 token {each.before:.3g} → {each.after:.3g}" if each else ""
    yield Finding(
        "prefix-cache-lost", Severity.S2,
        f"Of the prompts {fell.before:.0%} came from the cache, then {fell.after:.0%} ({fell.evidence.file}); "
        f"{first.evidence.metric} was {first.before:.4g}, then {first.after:.4g} ({first.evidence.file}){per}: the "
        "beginning of the prompts is computed anew for each request.",
        f"提示词由缓存命中的比例从 {fell.before:.0%} 降到 {fell.after:.0%}（{fell.evidence.file}）；"
        f"{first.evidence.metric} 从 {first.before:.4g} 升到 {first.after:.4g}（{first.evidence.file}）{per_zh}："
        "每个请求都在重新计算提示词的开头。",
        (fell.evidence, first.evidence, *((each.evidence,) if each else ())),
        {"metric": "prefix_cache_hit_rate", "before": fell.before, "after": fell.after,
         "first": [first.before, first.after], "kinds": ["prefix", "cache"],
         "names": f"reused share of prompts {fell.before:.0%} -> {fell.after:.0%}"},
    )  # fmt: skip


def _change(values: np.ndarray, file: str, at: np.ndarray, metric: str) -> Change | None:
    """The levels on either side of where two levels fit best."""
    keep = np.flatnonzero(np.isfinite(values))
    n = len(keep)
    if not LEAST <= n <= MOST_ROWS:
        return None
    v = values[keep]
    upto, square = np.cumsum(v), np.cumsum(v * v)
    k = np.arange(EDGE, n - EDGE + 1)
    error = square[-1] - upto[k - 1] ** 2 / k - (upto[-1] - upto[k - 1]) ** 2 / (n - k)
    cut = int(k[int(error.argmin())])
    before, after = float(np.median(v[:cut])), float(np.median(v[cut:]))
    return Change(before, after, Evidence(file, int(at[keep[cut]]) or None, metric=metric, value=float(v[cut])))


def _share(change: Change | None) -> Change | None:
    """A share of the prompts that falls far; None where it does not."""
    if change is None or min(change.before, change.after) < 0 or change.before > 100:
        return None
    scale = 100.0 if change.before > 1 else 1.0
    before, after = change.before / scale, change.after / scale
    falls = before >= SHARED and after <= KEPT * before and before - after >= FALLS
    return Change(before, after, change.evidence) if falls else None


def _rates(tables: Sequence[Table]) -> Iterator[Change | None]:
    for table in tables:
        for column in table.of("measure") if len(table) >= LEAST else ():
            if means(RATE, column.name):
                yield _share(_change(column.values, table.file, table.lines, column.name))


def _rates_of(lines: Sequence[Line]) -> Iterator[Change | None]:
    for line in lines:
        if means(RATE, line.key):
            yield _share(_change(line.values, line.file, line.at, line.key))
    yield from _of_two_logs(lines)


def _of_two_logs(lines: Sequence[Line]) -> Iterator[Change | None]:
    """The same rate in the logs of two deployments, one at a level above all that the other reaches."""
    rates = [x.finite() for x in lines if means(RATE, x.key)]
    rates = [x for x in rates if len(x) >= LEAST]
    for high, low in permutations(rates, 2):
        apart = high.key == low.key and high.file.rpartition("/")[2] == low.file.rpartition("/")[2]
        if high.file != low.file and apart and np.quantile(high.values, 0.1) > np.quantile(low.values, 0.9):
            level = float(np.median(low.values))
            at = Evidence(low.file, int(low.at[0]) or None, metric=low.key, value=level)
            yield _share(Change(float(np.median(high.values)), level, at))


def _shares(tables: Sequence[Table]) -> Iterator[Change | None]:
    """Tokens that were reused, beside all or beside those that were computed."""
    for table in tables:
        columns = [c for c in table.of("measure") if c.values.dtype.kind == "f" and means(TOKENS, c.name)]
        part = next((c for c in columns if means(REUSED, c.name) and not means(MADE, c.name)), None)
        made, whole = (next((c for c in columns if c is not part and means(p, c.name)), None) for p in (MADE, ALL))
        if part is None or (made is None and whole is None) or len(table) < LEAST:
            continue
        base = part.values + made.values if made is not None else whole.values  # pyright: ignore[reportOptionalMemberAccess]
        share = np.divide(part.values, base, out=np.full(len(base), np.nan), where=base > 0)
        if np.nanmax(share, initial=0.0) <= 1.0:
            yield _share(_change(share, table.file, table.lines, part.name))


def _snapshots(tables: Sequence[Table]) -> Iterator[Change | None]:
    """Counters of several snapshots: the share of what came between two of them."""
    seen: dict[str, tuple[float, float, Evidence]] = {}
    for table in tables:
        found = _counted(table) if 0 < len(table) < LEAST else None
        if found is not None:
            seen.setdefault(table.file, found)
    if len(seen) < 2 or len({name.rpartition("/")[0] for name in seen}) != 1:
        return
    rows = [seen[name] for name in sorted(seen)]
    reused, whole = (np.array([row[i] for row in rows]) for i in (0, 1))
    if len(rows) > 2 and (np.diff(reused) >= 0).all() and (np.diff(whole) > 0).all():
        reused, whole, rows = np.diff(reused), np.diff(whole), rows[1:]
    share = reused / whole
    yield _share(Change(float(share[0]), float(share[-1]), rows[-1][2]))


def _counted(table: Table) -> tuple[float, float, Evidence] | None:
    """(reused, all) of one snapshot, by names of columns or by the labels of its rows."""
    for label in table.of("group", "text", "identifier"):
        said = [str(v) for v in texts(label)]
        hit = [bool(means(REUSED, v)) and not means(MADE, v) for v in said]
        if sum(hit) == 1 and len(said) == 2 and means(MADE, said[1 - hit.index(True)]):
            for column in table.of("measure"):
                if means(TOKENS, column.name) and np.isfinite(column.values).all() and column.values.sum() > 0:
                    return _two(table, column, float(column.values[hit.index(True)]), float(column.values.sum()))
    columns = [c for c in table.of("measure") if means(TOKENS, c.name) and np.isfinite(c.values).all()]
    part = next((c for c in columns if means(REUSED, c.name) and not means(MADE, c.name)), None)
    made, whole = (next((c for c in columns if c is not part and means(p, c.name)), None) for p in (MADE, ALL))
    if part is None or (made is None and whole is None):
        return None
    reused = float(part.values.sum())
    total = reused + float(made.values.sum()) if made is not None else float(whole.values.sum())  # pyright: ignore[reportOptionalMemberAccess]
    return _two(table, part, reused, total) if 0 <= reused <= total and total > 0 else None


def _two(table: Table, column: Column, reused: float, whole: float) -> tuple[float, float, Evidence]:
    return reused, whole, Evidence(table.file, int(table.lines[0]) or None, metric=column.name, value=reused)


def _slower(tables: Sequence[Table]) -> tuple[Change, Change | None] | None:
    """The first token and each further one, in a table in which the first alone takes far longer."""
    for table in tables:
        if FEW <= len(table) < LEAST and (found := _of_few(table)) is not None:
            return found
        named = [
            [c for c in table.columns if c.values.dtype.kind == "f" and means(p, c.name)] for p in (FIRST, EACH, PROMPT)
        ]
        if not named[0] or len(table) < 2 * EDGE:
            continue
        first, each, prompt = (_change(c[0].values, table.file, table.lines, c[0].name) if c else None for c in named)
        if first is not None and _alone(first, each, prompt):
            return first, each
    return None


def _of_few(table: Table) -> tuple[Change, None] | None:
    """The first token of a few days, which jumps between two of them and stays above all that was before."""
    first = next((c for c in table.columns if c.values.dtype.kind == "f" and means(FIRST, c.name)), None)
    if first is None or not table.of("axis") or not np.isfinite(first.values).all():
        return None
    v = first.values
    jumps = [v[k:].min() / v[:k].max() if v[:k].max() > 0 else 0.0 for k in range(2, len(v) - 1)]
    k = 2 + int(np.argmax(jumps))
    at = Evidence(table.file, int(table.lines[k]) or None, metric=first.name, value=float(v[k]))
    change = Change(float(np.median(v[:k])), float(np.median(v[k:])), at)
    return (change, None) if max(jumps) > 1 and change.times >= SLOWER else None


def _slower_of(lines: Sequence[Line], read: Set[str]) -> tuple[Change, Change | None] | None:
    """The same of the lines of one log that is no table."""
    for line in (one for one in lines if one.file not in read):
        first = _change(line.values, line.file, line.at, line.key) if means(FIRST, line.key) else None
        if first is None or first.times < SLOWER:
            continue
        beside = [o for o in lines if o.file == line.file and len(o) == len(line)]
        own = [next((o for o in beside if means(p, o.key)), None) for p in (EACH, PROMPT)]
        each, prompt = (_change(o.values, o.file, o.at, o.key) if o else None for o in own)
        if _alone(first, each, prompt):
            return first, each
    return None


def _alone(first: Change, each: Change | None, prompt: Change | None) -> bool:
    """Whether the first token alone takes far longer, at prompts as long as before."""
    slower = first.times >= SLOWER and (prompt is None or abs(prompt.times - 1) <= SAME)
    return slower and (each is None or first.times >= BEYOND * each.times)


def _summed_up(tables: Sequence[Table]) -> Iterator[tuple[Change, tuple[Change, Change | None]]]:
    """A few rows, one for each day or release: of the first and the last of them."""
    for table in tables:
        if not 2 <= len(table) < LEAST or not (table.columns[0].role == "axis" or means(WHEN, table.columns[0].name)):
            continue
        numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values[[0, -1]]).all()]
        named = [next((c for c in numbers if means(p, c.name)), None) for p in (RATE, FIRST, EACH, PROMPT)]
        rate, first, each, prompt = (
            Change(float(c.values[0]), float(c.values[-1]),
                   Evidence(table.file, int(table.lines[-1]) or None, metric=c.name, value=float(c.values[-1])))
            if c is not None else None for c in named
        )  # fmt: skip
        fell = _share(rate)
        if fell is not None and first is not None and _alone(first, each, prompt):
            yield fell, (first, each)

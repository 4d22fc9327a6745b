"""A score that is exactly 0, or no number, for some tasks or methods beside others that are fine.

A model that is bad at something is right now and then; exactly nothing of many items says that no answer came back,
none could be read, or the measure was not computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from statistics import median

from ....findings import Finding, Severity, clean
from ....patterns import bounded
from ...line import plain
from ..read import BASE, LOWER, Row, is_score, place_words

SPOKEN = bounded(
    r"(?:^|_)(?:rouge\w{0,8}|s?bleu\w{0,8}|sacrebleu|meteor|chrf\w{0,4}|bertscore\w{0,8}|(?:token|word)_f1)$"
)
"""Scores of shared words or letters, which no text in the right language has at exactly 0."""
FINE, SOME, WELL, BEST = 0.2, 0.05, 0.4, 0.6
"""Share that others reach where they are fine; that the same task reaches elsewhere; and what the tasks of a model
reach in the middle and at best that has no reason to miss every answer of several. Own judgement."""
TASKS, ZEROS = 5, 2
"""Tasks of one measure, and how many of them lie at exactly 0."""
RARE = 0.001
"""Chance of no hit among n items below which it is none."""
LEAST = 5
TOOK = bounded(r"duration|latency|elapsed|(?:^|_)time|seconds|耗时|用时|延迟")
SPREAD = 1.3
"""The longest time over the shortest of requests that fail alike."""
SETS = frozenset(
    ("test", "holdout", "heldout", "val", "valid", "validation", "dev", "train", "ood", "验证", "测试", "训练")
)
"""Words of a path that say which items a result is of."""
WHOLE = 100.0
"""A score of which a row lies beyond it is no share, and its rows are of different measures or without a best."""
EVERY = 2
"""Rows that are all at nothing."""


def zeros(rows: Sequence[Row]) -> list[Finding]:
    """Of each measure the rows at nothing, told once for what is surest."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        for name in row.values:
            if is_score(name):
                by.setdefault(name, []).append(row)
    by = {name: some for name, some in by.items() if not any(r.values[name] > WHOLE for r in some)}
    looks = (_no_words, _again, _tasks, _methods, _no_number, _at_once, _everywhere)
    for look in looks:
        found = [f for name, some in by.items() if len(some) > 1 for f in look(name, some)]
        if found:
            return [max(found, key=lambda f: (len(f.evidence), f.data.get("zero", 0)))]
    return []


def _level(value: float) -> float:
    """A score as a share: in percent where it is above one."""
    return value / 100 if value > 1 else value


def _parted(name: str, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows at exactly 0, and those above."""
    return [r for r in rows if r.values[name] == 0], [
        r for r in rows if isfinite(r.values[name]) and r.values[name] > 0
    ]


def _no_words(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """No word in common with any reference, where another row shares many."""
    none, some = _parted(name, rows)
    none = [r for r in none if r.n is None or r.n >= LEAST]
    if SPOKEN.search(plain(name)) and none and some and max(_level(r.values[name]) for r in some) >= FINE:
        yield _told(name, none, some, "no prediction shares a word with its reference: the answers are empty, or were "
                    "not the ones that were read",
                    "没有一条预测与参考有共同的词：回答为空，或读的不是回答",
                    Severity.S1)  # fmt: skip


def _again(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """A task at exactly 0 that is above it, under the same names, when asked in another way or file."""
    none, some = _parted(name, rows)
    other = {(r.part, r.names): r for r in some if r.names and _level(r.values[name]) >= SOME}
    apart = [(r, other[r.part, r.names]) for r in none if (r.part, r.names) in other]
    apart = [
        (r, o) for r, o in apart if r.file != o.file and _no_chance(r, _level(o.values[name])) and not _other(r, o)
    ]
    if apart and len(rows) >= TASKS:
        beside = list({id(o): o for _, o in apart}.values())
        yield _told(name, [r for r, _ in apart], beside,
                    "the same task is above 0 in another file: how it was asked or read differs before the model does",
                    "同一任务在另一个文件里不为 0：先查提问或解析方式，再怀疑模型", Severity.S2)  # fmt: skip


def _other(row: Row, fine: Row) -> bool:
    """Whether the paths say that it is another model, the one before the training, or another part of the items."""
    said, other = place_words(row), place_words(fine)
    first = any(map(BASE.fullmatch, said)) and not any(map(BASE.fullmatch, other))
    return first or bool((said ^ other) & SETS and said & SETS and other & SETS)


def _no_chance(row: Row, share: float) -> bool:
    """Whether nobody of that share misses every one of the row's items; where nobody counts them, a file's own zero."""
    return row.n is None or (1 - min(share, 0.99)) ** row.n < RARE


def _tasks(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Several tasks at exactly 0 among others that a model is good at."""
    none, some = _parted(name, rows)
    tasks = {r.names[-1] for r in (*none, *some) if r.names}
    zero = {r.names[-1] for r in none if r.names}
    if len(tasks) < TASKS or len(zero) < ZEROS or len(zero) > 0.6 * len(tasks):
        return
    levels = [_level(r.values[name]) for r in some]
    if max(levels) >= BEST and median(levels) >= WELL and all(_no_chance(r, SOME) for r in none):
        yield _told(name, none, sorted(some, key=lambda r: -r.values[name]),
                    "no answer of these tasks was counted as right, not even by luck: what the model wrote was "
                    "cut off, not read, or compared with something else",
                    "这些任务连碰巧答对的都没有：输出被截断、没有被解析，或与别的东西比较", Severity.S2)  # fmt: skip


def _methods(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """One of several methods at exactly 0 on as many items as the others, which are fine."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.file, row.part), []).append(row)
    for group in groups.values():
        none, some = _parted(name, group)
        counted = [r for r in none if r.n is not None and r.n >= LEAST]
        if not counted or len(some) < 2 or len(some) < len(none):
            continue
        level = median(_level(r.values[name]) for r in some)
        if level >= FINE and all(_no_chance(r, level / 2) for r in counted):
            yield _told(name, counted, some, "not one of the items was counted as right", "没有一条被判为正确",
                        Severity.S2)  # fmt: skip


def _at_once(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Several rows at exactly 0 that all took the same short time, while those that are above took far longer."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.file, row.part), []).append(row)
    for group in groups.values():
        none, some = _parted(name, group)
        for took in (k for k in group[0].values if TOOK.search(plain(k))):
            long = [r.values[took] for r in some if r.values.get(took, 0) > 0]
            quick = [r for r in none if len(long) >= EVERY and 0 < r.values.get(took, 0) < median(long) / 2]
            short = [r.values[took] for r in quick]
            if len(short) > EVERY and len(short) * 2 > len(none) and max(short) <= SPREAD * min(short):
                span = f"{took} {min(short):.4g} – {max(short):.4g}"
                yield _told(name, quick, some, f"all of them took about the same short time ({span}, the others "
                            f"{median(long):.4g}): their requests failed, as it seems, and nothing was answered",
                            f"它们用时几乎相同且很短（{span}，其他 {median(long):.4g}）：看来是请求失败，"
                            "而不是模型不会", Severity.S2)  # fmt: skip
                return


def _everywhere(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Exactly 0 in every row of a table, where another score of the same rows is fine: it tells them not apart."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.file, row.part), []).append(row)
    for group in groups.values():
        levels = [_level(v) for r in group for k, v in r.values.items() if k != name and _is_fine(k, v)]
        if len(group) < EVERY or any(r.values[name] != 0 for r in group) or len(levels) < len(group):
            continue
        if median(levels) >= FINE and sum(r.n or LEAST for r in group) >= EVERY * LEAST:
            other = next(k for r in group for k, v in r.values.items() if k != name and _is_fine(k, v))
            yield _told(name, group, [r for r in group if r.values.get(other, 0) > 0],
                        "not one item of any row was counted as right: it says nothing of the rows, and first whether "
                        "the answers are read as they are written is open",
                        "任何一行都没有一条被判为正确：它区分不了各行，首先要查回答是否被正确解析",
                        Severity.S2, other)  # fmt: skip


def _is_fine(name: str, value: float) -> bool:
    """Whether something was reached there: a score above 0, or a share of any other name that is good to have."""
    return (is_score(name) and value > 0) or (0 < value < 1 and not LOWER.search(plain(name)))


def _no_number(name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """NaN in the place of a score, beside numbers."""
    none = [r for r in rows if isnan(r.values[name])]
    some = [r for r in rows if isfinite(r.values[name])]
    if none and some and len(none) <= len(some):
        yield _told(name, none, some, "nothing was counted there", "那里什么都没有计入", Severity.S2)


def _told(
    name: str, none: Sequence[Row], some: Sequence[Row], why: str, zh: str, severity: Severity, other: str = ""
) -> Finding:
    value = none[0].values[name]
    level = "NaN" if isnan(value) else "exactly 0"
    where = ", ".join(f"{clean(r.said, 80)}{f' (n = {r.n})' if r.n else ''}" for r in none[:3])
    fine = other or name
    beside = ", ".join(f"{clean(r.said, 80)} {f'{other} ' if other else ''}{r.values[fine]:.4g}" for r in some[:3])
    more = f" and {len(none) - 3} more" if len(none) > 3 else ""
    return Finding(
        "score-exactly-zero", severity,
        f"{name} is {level} in {where}{more}, while it is fine elsewhere ({beside}): {why}.",
        f"{name} 在 {where} 等 {len(none)} 处为 {level}，而其他处正常（{beside}）：{zh}。",
        (*(r.evidence(name) for r in none[:4]), *(r.evidence(fine) for r in some[:2])),
        {"score": name, "zero": len(none), "fine": len(some), "best": max(r.values[fine] for r in some)},
    )  # fmt: skip

# ruff: noqa: E501  (patterns are read as rows)
"""Numbers that follow by a formula that everybody knows, where the sentence names it: perplexity, standard error, mean,
complement, and a proportion of numbers of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from math import exp, isclose, log, sqrt

from ...tools.looking.amounts import Number
from ...tools.patterns import bounded

MOST = 9
"""Numbers that are put into a formula."""
_PERPLEXITY = bounded(r"(?i)perplexit|\bppl\b|\bexp\b|e to the|困惑度")
_ERROR = bounded(r"(?i)standard (?:error|deviation)|\bs\.?e\.?\b|sampling error|标准[误差]|抽样误差")
_INTERVAL = bounded(r"(?i)confidence|interval|95 ?% range|two sigma|margin|plus or minus|±|置信|区间|上下")
_MEAN = bounded(r"(?i)\b(?:averages?d?|averaging|mean|halfway|middle)\b|平均|均值|取中")
_SHARE = bounded(
    r"(?i)\b(?:rest|remain\w{0,4}|other|left|minus|without|not|isn't|aren't|instead)\b|其余|剩|另外|没有|不是|不到"
)
_HALVED = bounded(r"(?i)\b(?:each|half|halves|either side|evenly)\b|各|对半|一半|平分")
_DOUBLED = bounded(r"(?i)\b(?:halv(?:e[ds]?|ing)|doubl(?:e[ds]?|ing)|twice|half)\b|减半|翻倍|一半")
_ROOT = bounded(r"(?i)square root|sqrt|平方根|√")
_HALVINGS = bounded(r"(?i)halv(?:ed|ings?)|doublings?|powers? of two|减半|折半")
_FACTORS = bounded(r"(?i)\b(?:times|factor|fold)\b|倍")
_HOURLY = bounded(r"(?i)\b(?:per|an|each|every) hour\b|\w/h(?:our)?\b|每小时|/ ?小时|一小时")
_BETWEEN = bounded(r"(?i)(?:between\s)?(\d[\d.,]{0,12}) ?(?:and|to|or|-|–|到|至|~) ?(\d[\d.,]{0,12})")


def told(sentence: str, own: Sequence[Number], held: Sequence[Number]) -> Iterator[Number]:
    """What the formulas that a sentence names come to.

    Args:
        sentence: the words around the number.
        own: the other numbers of the statement.
        held: the numbers of the rows that it rests on.
    """
    values = list(dict.fromkeys(abs(n.value) for n in (*own[:MOST], *held) if n.value))[:40]
    if _PERPLEXITY.search(sentence):
        yield from (_of(exp(v)) for v in values if v < 20)
        yield from (_of(log(v)) for v in values if v > 1)
    if _ERROR.search(sentence) or _INTERVAL.search(sentence):
        yield from _errors(values, bool(_INTERVAL.search(sentence)))
    if _HOURLY.search(sentence):
        yield from (_of(3600 * r) for v in values for r in (v, 1 / v))
    if _MEAN.search(sentence):
        yield from (
            Number(0, 0, ((a.values[0] + b.values[0]) / 2, (a.value + b.value) / 2))
            for a, b in combinations(own[:MOST], 2)
        )
        yield from (_of((a + b) / 2) for a, b in combinations(values[:MOST], 2))
    if _HALVED.search(sentence):
        yield from (Number(0, 0, (m.values[0] / 2, m.value / 2)) for m in own[:MOST])
    if _FACTORS.search(sentence):
        yield from (Number(0, 0, (1 / abs(m.value),), times=True) for m in own[:MOST] if 0 < abs(m.value) < 1)
    if _DOUBLED.search(sentence):
        yield from (_of(v * by) for v in values if v >= 100 for by in (0.5, 2.0))
    if _ROOT.search(sentence):
        yield from (_of(sqrt(v)) for v in values if v < 1e9)
        yield from (_of(sqrt(a / b)) for a, b in permutations(values[:MOST], 2))
    if _HALVINGS.search(sentence):
        yield from (_of(log(v, 2)) for v in values if v >= 2)
    if _SHARE.search(sentence):
        yield from (Number(0, 0, (1 - v, 100 - 100 * v)) for v in values if v < 1)


def _errors(values: Iterable[float], ends: bool) -> Iterator[Number]:
    """Standard errors of a share, and what an interval of two of them comes to, as share and in percent."""
    errors = [v for v in values if v < 0.1][:MOST]
    yield from (_of(100 * sqrt(a * a + b * b)) for a, b in combinations(errors, 2))
    counts = [v for v in values if v >= 20 and v.is_integer() and v < 1e7][:MOST]
    parts = {0.5, *(v for v in values if 0 < v < 1), *(v / 100 for v in values if 1 < v < 100)}
    for p in sorted(parts)[:20]:
        for n in counts:
            one = sqrt(p * (1 - p) / n)
            for v in (one, 2 * one, 1.96 * one, p - 1.96 * one, p + 1.96 * one) if ends else (one,):
                yield Number(0, 0, (v, 100 * v))


def proportional(n: Number, own: Sequence[Number], single: Iterable[Number], near: bool) -> bool:
    """Whether a number is the product or quotient of two or three of the statement and of rows that give one number each."""
    mine = [m.value for m in own[:MOST] if m.value]
    both = [*dict.fromkeys((*mine, *(m.value for m in single if m.value)))][:MOST]
    exact = any(isclose(abs(n.value), abs(r), rel_tol=1e-6) for a, b in permutations(mine, 2) for r in (a * b, a / b))
    sharp = abs(n.values[0]) >= (10 if near else 100) * n.digit
    return exact or (sharp and n.known(_threes(both), near))


def within(text: str, n: Number, own: Sequence[Number], cited: Sequence[Number]) -> bool:
    """Whether the number is an end of a narrow range in which a cited number lies, or a proportion of the statement's."""
    for m in _BETWEEN.finditer(text):
        if not (m.start(1) <= n.start < m.end(2)):
            continue
        low, high = (float(m[i].rstrip(".,").replace(",", "") or 0) for i in (1, 2)) if _plain(m) else (1.0, 0.0)
        inner = [o for o in own[:MOST] if o.value and not (m.start() <= o.start < m.end())]
        if n.digit == 1 and any(abs(v - n.values[0]) == 1 for r in cited for v in r.values):
            return True
        made = (*cited, *_threes([o.value for o in inner]))
        if low < high <= 1.35 * low and any(low <= abs(v) <= high for r in made for v in r.values):
            return True
    return False


def _plain(m) -> bool:
    return all(m[i].rstrip(".,").count(".") < 2 for i in (1, 2))


def _threes(values: Sequence[float]) -> Iterator[Number]:
    for a, b in permutations(values, 2):
        yield from (_of(a / b), _of(a * b))
    for i, c in enumerate(values):
        rest = [*values[:i], *values[i + 1 :]]
        for a, b in combinations(rest, 2):
            yield from map(_of, (a * b / c, c / (a * b), a * b * c))


def _of(value: float) -> Number:
    return Number(0, 0, (value,))


def complement(n: Number, others: Iterable[Number]) -> bool:
    """Whether a share of three digits or more is what another leaves of the whole: 60.3% beside 39.7%."""
    exact = n.times and n.digit < 1 and abs(n.values[0]) >= 100 * n.digit
    return exact and n.known(Number(0, 0, (100 - 100 * o.value, 1 - o.value)) for o in others if 0 < o.value < 1)


def clocks(own: Sequence[Number], held: Sequence[Number]) -> Iterator[Number]:
    """Clock times that lie a duration of the statement after or before another."""
    times = [n for n in own if n.family == "time"]
    for at in (n for n in (*own, *held) if n.family == "clock"):
        for t in times:
            yield from (Number(0, 0, (v, v), family="clock") for v in (at.value + t.value, at.value - t.value))

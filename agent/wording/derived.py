# ruff: noqa: E501  (patterns are read as rows)
"""Whether a number of a sentence follows from other numbers by the arithmetic that its words tell of.

Numbers of one statement come first, then those with the numbers of the rows that it rests on, then numbers of one row
among themselves. Places (steps, lines, ranks) are held against places, values against values. What the numbers are about
is not told here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from math import ceil, prod

from ...tools.looking.amounts import Number
from ...tools.looking.shares import Share
from ...tools.patterns import bounded
from .formulas import proportional

SHARP, FAINT = 10, 5
"""Times its last digit that a derived number is worth at least: `1.0` may be anything. The second where a word tells of
a difference from a number of the same sentence."""
DAY = 86400
FEW = 4
"""Numbers of a row up to which each may be held against each."""
OWN, HELD = 6, 40
"""Numbers of one sentence, and of a row, that are combined."""
_PLACE = bounded(
    r"(?i)(?:(?<![A-Za-z])(?:steps?|iters?|iterations?|lines?|ranks?|epochs?|checkpoints?|number)|第|步|@|#)\W{0,4}$|\w:$"
)
_COUNTED = bounded(r"(?i)^\s?(?:points?\b|evaluations?\b|steps?\b|epochs?\b|步|行|次|个点|th\b|st\b|nd\b|rd\b)")
_EPOCH = bounded(r"(?i)\bepochs?\b|\bpass(?:es)? (?:over|through)|[遍轮]")
_A_STEP = bounded(
    r"(?i)\b(?:(?:per|a|each|every) (?:optimizer )?(?:step|update)|effective|global batch)\b|每(?:一|个)?(?:步|次更新)|有效|全局"
)
_LISTED = bounded(r"(?i)^\s?(?:,|、|，)?\s?(?:and|和|与|及)?\s?$")
_ON = bounded(r"(?i)^\s?(?:to|and|or|-|–|至|到|和|与|,|、)\s?$")
_DIFFERS = bounded(r"(?i)\b(?:after|before|later|earlier|older|newer|sooner|so(?=\s[\d~])|behind|ahead|past|above|below|more|less|fewer|higher|lower|longer|shorter|left|leaves?|leaving|remain\w{0,4}"
                   r"|short|gap|drop\w{0,4}|f[ae]ll\w{0,3}|rises?|rose|grew|increas\w{0,3}|decreas\w{0,3}|up|down|differ\w{0,6}|apart|away|gain\w{0,3}|lost|loss of|by|between|within|margin|took|spare|free|remaining|points?)\b"
                   r"|个点|之?前|之?后|相隔|相差|差(?!距|异)|距|离|高|低|多|少|早|晚|剩|缺口|超出|间隔|余|涨|跌|降|升|耗时|用了")  # fmt: skip
_GAP = bounded(
    r"(?i)\b(?:gap|difference|differ|apart|took|takes|lasted|ran for|between|until|by the end)\b|差(?!距|异)|相隔|从.{1,40}到|之间|历时|前后|缺口"
)
_LAST = bounded(
    r"(?i)\b(?:last|final|closing|remaining)\s(?:about |some |roughly |~)?$|(?:最后|末尾|后面|剩下|其余)的?\s?约?\s?$"
)
_STEPS = bounded(r"(?i)\b(?:steps?|iter\w{0,6}|lines?|updates?|epochs?|batches)\b|步|行|次|轮")
"""A stretch at the end, and of what."""
_SCORE = bounded(r"(?i)\b(?:points?|score\w?|accuracy|pp|standard error)\b|[分题]|百分点|准确率")
"""Words beside which a share is told in hundredths."""
_CHANGED = bounded(r"(?i)\b(?:more|less|fewer|higher|lower|longer|shorter|above|below|faster|slower|larger|smaller|ris\w{1,3}|rose|gr[eo]w\w{0,3}|f[ae]ll\w{0,3}|drop\w{0,4}|increas\w{0,3}|decreas\w{0,3}|lost|up|down|off|rest|left|remain\w{0,4}|change\w?|wait\w{0,3})\b"
                   r"|[高低多少升涨降跌减增快慢剩等差余]|变化")  # fmt: skip
"""Words by which a ratio is one of a difference."""
_OTHERS = bounded(r"(?i)\b(?:other|others|rest|remaining)\b|其余|其他|另外|剩下|别的")
"""Words of all but one."""
_LIMIT = bounded(
    r"(?i)\b(?:limit|threshold|criteri\w{1,3}|runbook|band|stays? (?:under|below|above)|recommend\w{0,5})\b|阈值|上限|下限|手册|标准(?![误差])|合格|范围|区间|建议"
)
"""Words that tell of a limit: it stands somewhere as it is."""
_SUM = bounded(
    r"(?i)\b(?:total|sum|together|altogether|add(?:s|ed)? up|combined|in all|plus)\b|合计|合起来|总共|一共|共|加起来|相加|总和"
)
_MADE = bounded(
    r"(?i)\b(?:leaves?|makes?|gives?|comes? to|about|around|roughly|some|so|takes?|gets?|needs?|would|total|in all|per|each|every|an?|means|that is|replicas?|of)\b|也就是|即|合|每|给|要|得|只有|其实|本来|相当于|约"
)


@dataclass(frozen=True)
class Held:
    """The numbers of one text, places and values apart."""

    places: tuple[Number, ...]
    values: tuple[Number, ...]

    @property
    def kinds(self) -> tuple[tuple[Number, ...], ...]:
        return self.places, self.values


def apart(text: str, found: Sequence[Number]) -> Held:
    """Places and values of a text; what follows a place by `to` or a comma is a place as well."""
    places, values, last = list[Number](), list[Number](), None
    for n in sorted(found, key=lambda n: n.start):
        alike = last is not None and last.values[0].is_integer() == n.values[0].is_integer()
        on = last is not None and alike and last in places and _ON.search(text[last.end : n.start])
        if (
            not n.times
            and n.values[0].is_integer()
            and (on or _PLACE.search(text[max(0, n.start - 14) : n.start]) or _COUNTED.match(text[n.end :]))
        ):
            places.append(n)
        else:
            values.append(n)
        last = n
    return Held(tuple(places[:HELD]), tuple(values[:HELD]))


def follows(
    clause: str,
    at: int,
    sentence: str,
    n: Number,
    own: Held,
    rows: Sequence[Held],
    near: bool,
    share: Share | None = None,
) -> bool:
    """Whether a number that stands nowhere follows from those that do.

    Args:
        clause: the part of the statement that the number stands in.
        at: where in the clause it stands.
        sentence: the sentence.
        n: the number.
        own: other numbers of the statement, as far as they are known.
        rows: the numbers of the rows that it rests on.
        near: whether the text gives it as about.
        share: what the number may be as a ratio.
    """
    if _LIMIT.search(clause):
        return False
    mine = [m for kind in own.kinds for m in kind if m.start != n.start][:OWN]
    made = [*_among(own, rows, _ratios if _CHANGED.search(sentence) else _quotients)] if n.times else []
    if n.known(made) or (near and share and any(share.fits(r.values[0]) for r in made)):
        return True
    size = abs(n.values[0]) / n.digit if n.digit else SHARP
    differs = bool(_DIFFERS.search(clause)) or (size >= SHARP and bool(_GAP.search(sentence)))
    if _SCORE.search(sentence) and n.known(_points(n, own, rows, differs), near):
        return True
    if _OTHERS.search(sentence) and n.known(
        [_of(v.values[0] - 1) for r in rows for v in r.values if v.digit >= 1 or not v.digit]
    ):
        return True
    if size >= (FAINT if mine and differs else SHARP) and n.known(_differences(own, rows, differs), near):
        return True
    last = _LAST.search(clause[:at]) and _STEPS.search(sentence)
    if size >= SHARP and last and n.known(_stretches(own, rows), near):
        return True
    if n.known(_plainly(mine), near):
        return True
    single = [r.values[0] for r in rows if len({abs(v.value) for v in r.values}) == 1]
    if _A_STEP.search(clause) and n.digit == 1 and n.known(_batches(single), rounded=False):
        return True
    if _SUM.search(clause) and n.known(_sums(mine, rows), near):
        return True
    if not _MADE.search(clause):
        return False
    sharp = size >= (FAINT if n.family else SHARP)
    return n.known(_products(mine, rows, sharp), near) or proportional(n, mine, single, near)


def _stretches(own: Held, rows: Sequence[Held]) -> Iterator[Number]:
    """How far two places lie apart, or one and all that there are."""
    places = list(dict.fromkeys(p.values[0] for held in (own, *rows) for p in held.places))[:HELD]
    for a, b in permutations(places, 2):
        yield from (_of(a - b), _of(a - b + 1))


def epochs(sentence: str, own: Held, rows: Iterable[Held]) -> Iterator[Number]:
    """What a row tells of epochs by its last step and its last value, where the sentence speaks of them: the steps of
    one, the epoch of a step, and which one it is that has begun."""
    if not _EPOCH.search(sentence):
        return
    for row in rows:
        steps = max((p.value for p in row.places), default=0.0)
        last = max((v.value for v in row.values if v.value < 1e3), default=0.0)
        if steps > last > 0:
            yield _of(steps / last)
            yield from (_of(p.value * last / steps) for p in own.places)
        yield from (_of(float(ceil(v.value))) for v in row.values if not v.value.is_integer() and 0 < v.value < 1e3)


def listed(text: str, found: Sequence[Number], held: Sequence[Number]) -> Iterator[Number]:
    """Numbers of a list in equal steps, `8850, 8900, 8950 and 9000`, whose two ends are known."""
    run = list[Number]()
    for n in [*sorted(found, key=lambda n: n.start), None]:
        if n and run and _LISTED.match(text[run[-1].end : n.start]):
            run.append(n)
            continue
        gaps = {round(b.value - a.value, 9) for a, b in pairwise(run)}
        if len(run) > 2 and len(gaps) == 1 and run[0] in held and run[-1] in held:
            yield from run[1:-1]
        run = [n] if n else []


def _plainly(mine: Sequence[Number]) -> Iterator[Number]:
    """What two numbers of one statement come to: their difference, also in percent, and a quotient without a rest."""
    for a, b in permutations(mine, 2):
        if a.family == b.family:
            yield Number(0, 0, (a.values[0] - b.values[0], 100 * (a.value - b.value)))
        if a.value.is_integer() and b.value.is_integer() and min(abs(a.value), abs(b.value)) > 1:
            yield _of(a.value * b.value)
        if b.value and abs(a.value) > abs(b.value) and (a.value / b.value).is_integer():
            yield _of(a.value / b.value)


def _of(value: float, family: str = "") -> Number:
    return Number(0, 0, (value, value) if family else (value,), family=family)


def _among(own: Held, rows: Sequence[Held], made) -> Iterator[Number]:
    """What two numbers give: both of the statement, one of it and one of a row, or both of one row."""
    for mine, kinds in zip(own.kinds, ([r.places for r in rows], [r.values for r in rows]), strict=True):
        few = mine[:OWN]
        theirs = [kind[:8] for kind in kinds]
        single = [kind[0] for kind in theirs if len(kind) == 1][:8]
        for a, b in permutations(few, 2):
            yield from made(a, b)
        for a in few:
            for b in dict.fromkeys(o for kind in theirs for o in kind):
                yield from made(a, b)
        for group in theirs:
            for a, b in permutations(group, 2) if made not in (_ratios, _quotients) else _fellows(group):
                yield from made(a, b)
        for a, b in permutations(single, 2):
            yield from made(a, b)


def _fellows(group: Sequence[Number]) -> Iterator[tuple[Number, Number]]:
    """The numbers of a row that may be set against each other: of a long one those that stand next to each other."""
    for (i, a), (j, b) in permutations(enumerate(group), 2):
        if len(group) <= FEW or abs(i - j) == 1:
            yield a, b


def _quotients(a: Number, b: Number) -> Iterator[Number]:
    if a.value and b.value and a.value != b.value:
        yield Number(0, 0, (a.value / b.value, 100 * a.value / b.value))


def _ratios(a: Number, b: Number) -> Iterator[Number]:
    x, y = a.value, b.value
    if x and y and x != y:
        for r in (x / y, y / x, (x - y) / y, (y - x) / x):
            yield Number(0, 0, (r, 100 * r))


def _differences(own: Held, rows: Sequence[Held], said: bool) -> Iterator[Number]:
    def gap(a: Number, b: Number) -> Iterator[Number]:
        if a.family == b.family:
            yield _of(a.value - b.value, a.family.replace("clock", "time"))
            yield from [_of((a.value - b.value) % DAY, "time")] * (a.family == "clock")
            yield from (() if a.family else (_of(a.values[0] - b.values[0]),))

    yield from _among(own, rows if said else (), gap)
    if said:
        together = list(dict.fromkeys(o for r in rows for o in r.places))[:HELD]
        yield from (d for a, b in permutations(together, 2) for d in gap(a, b))
        whole = [o for r in rows for kind in r.kinds for o in kind][:HELD]
        yield from (d for kind in own.kinds for a in kind for b in whole for d in gap(a, b))


def _points(n: Number, own: Held, rows: Sequence[Held], differs: bool) -> Iterator[Number]:
    """Shares of the rows in hundredths, and what they differ by."""
    parts = list(dict.fromkeys(abs(v.value) for r in (*rows, own) for v in r.values if 0 < abs(v.value) < 1))[:HELD]
    yield from (_of(100 * p) for p in parts)
    yield from (_of(100 * (a - b)) for a, b in permutations(parts if differs else (), 2))


def _sums(mine: Sequence[Number], rows: Sequence[Held]) -> Iterator[Number]:
    lists = [mine, *(r.values for r in rows)]
    for numbers in lists:
        for i in range(len(numbers)):
            for j in range(i + 2, min(i + 5, len(numbers)) + 1):
                yield _of(sum(m.value for m in numbers[i:j]))


def _products(mine: Sequence[Number], rows: Sequence[Held], sharp: bool) -> Iterator[Number]:
    """Products and quotients of two or three numbers of the statement, and of one of them with one of a row."""
    values = [m.value for m in mine if m.value]
    for a, b in permutations(values, 2):
        if sharp or (a / b).is_integer():
            yield from map(_of, (a * b, a / b))
        for c in values:
            if b * c and (a / (b * c)).is_integer():
                yield from map(_of, (a / (b * c), a * b * c))
    for a in values if sharp else ():
        for b in dict.fromkeys(o.value for row in rows for kind in row.kinds for o in kind if o.value):
            yield from map(_of, (a * b, a / b, b / a))


def _batches(single: Sequence[Number]) -> Iterator[Number]:
    """Products of two or three whole numbers, of rows that give one number each."""
    whole = [s.value for s in single if s.value.is_integer() and s.value > 0][:8]
    for count in (2, 3):
        yield from (_of(prod(some)) for some in combinations(whole, count))


def ratio_like(n: Number, others: Iterable[Number]) -> list[Number]:
    """The numbers that a ratio may simply repeat: ratios, and what has decimals."""
    return [o for o in others if o.times or not o.values[0].is_integer()] if n.times else list(others)

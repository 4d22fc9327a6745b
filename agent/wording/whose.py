# ruff: noqa: E501  (tables and patterns are read as rows)
"""What a number stands beside, in a sentence and in the rows: by that it is told whose it is.

Of a number's neighbourhood count its words (their beginnings, Chinese ones in pairs or as the table says) and the other
numbers of its part of the sentence. A row that no statement cites vouches for a number where both neighbourhoods meet;
a number that stands beside what another number of its row stands beside is of something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise, permutations

from ...tools.looking.amounts import Number
from ...tools.patterns import bounded
from .ledger import Row
from .ordered import JOINED

Read = Callable[[str], Sequence[Number]]
MOST = 400
"""Numbers of a row that are looked at."""
_KEYED = bounded(
    r"(?i)(?<![\w./-])([A-Za-z]\w{0,30}(?:[_.]\w{1,30}){1,5}|(?<=the )loss|(?<![\w ])loss)[`'\"]?(?: (?:in|at) (?:the end|[\w.]{1,30}))?\s?(?::|=|\bis\b|\bwas\b|ended at|ends at|is set to|从|设成了?|设为|写着|是|为)\s?(?:only |just |still )?$"
)
"""A key or measure directly before its number."""
PART = re.compile(
    r"[,，]\s?(?!\d{3}(?!\d))|[;；。、|\n]|[(（](?!\d)|\.\s|:\s|\s(?:and|while|where|but|against|vs\.?)\s|[而与和比](?=\s?\w)"
)
"""Where a neighbourhood ends."""
_WORD = bounded(r"[A-Za-z]{2,40}|[\u4e00-\u9fff]{1,40}")
_PLACE = bounded(r"(?i)\b(?:step|iter\w{0,6}|epoch|line|rank)s? $|第 ?$")
_VALUE = r"(-?\d[\d.,]{0,20}(?:[eE]-?\d{1,2})?)\s?%?"
_BETWEEN = bounded(rf"(?i)\bbetween {_VALUE} and {_VALUE}|(?:介于|取|在) ?{_VALUE} ?(?:和|与|到|至|-|–|~) ?{_VALUE}")
_RANGE = bounded(rf"(?i)(?:\bbetween |(?<!from )(?<!从 ))(?<![\d.]){_VALUE} ?(?:to|and|到|至|和|–) ?{_VALUE}")
"""A range as a sentence tells it, and as a row does."""
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "a an the is are was were be been has have had it its of to in on for by as or so no not than then "
        "that this these those which who with from into only also about some more less over under after "
        "before there here they them we you i one ones does do did can could would will may might at and but "
        "if even still just very step line value values number first gets got takes took goes went shows said "
        "says stands",
    )
)
_SAME = {
    "学习率": "learn rate", "损失": "loss", "准确率": "accur", "奖励": "rewar", "长度": "lengt", "显存": "memor", "内存": "memor", "熵": "entro", "梯度": "grad",
    "范数": "norm", "吞吐": "throu", "需要": "need", "可用": "avail", "最低": "lowes", "最高": "highe", "最大": "highe", "最小": "lowes", "最后": "last", "结束": "last",
    "起初": "first", "开始": "first", "数据": "data", "通信": "commu", "计算": "compu", "加载": "load", "其余": "other", "其他": "other", "另外": "other", "别的": "other",
    "评测": "eval", "预热": "warm", "峰值": "peak", "样本": "sampl", "请求": "reque", "缓存": "cache", "批": "batch", "种子": "seed", "训练": "train", "验证": "eval",
    "卡": "rank",
}  # fmt: skip
_SYNONYMS = {
    "maxi": "high",
    "mini": "lowe",
    "peak": "high",
    "best": "lowe",
    "fina": "last",
    "ende": "last",
    "star": "firs",
    "init": "firs",
}


@lru_cache(2048)
def words(text: str) -> frozenset[str]:
    """The beginnings of a text's words."""
    out: set[str] = set()
    for m in _WORD.finditer(text):
        word = str(m[0]).lower()
        if word.isascii():
            out |= {_SYNONYMS.get(word[:4], word[:4])} if word not in _PLAIN else set()
            continue
        for known, same in _SAME.items():
            if known in word:
                out |= {w[:4] for w in same.split()}
        out |= {a + b for a, b in pairwise(word)}
    return frozenset(out)


def beside(text: str, found: Sequence[Number]) -> dict[Number, frozenset[str]]:
    """What stands beside each number: the words up to its neighbours, and the other numbers of its part."""
    ends = [0, *(m.end() for m in PART.finditer(text)), len(text)]
    out, order = dict[Number, frozenset[str]](), sorted(found, key=lambda n: n.start)
    part = 0
    for i, n in enumerate(order):
        while part < len(ends) - 2 and ends[part + 1] <= n.start:
            part += 1
        a, z = ends[part], max(ends[part + 1], n.end)
        inside = [m for m in order[max(0, i - 3) : i + 4] if m is not n and a <= m.start < z]
        left = max((m.end for m in inside if m.end <= n.start), default=a)
        right = min((m.start for m in inside if m.start >= n.end), default=z)
        out[n] = words(text[left : n.start]) | words(text[n.end : right]) | {f"#{abs(m.values[0]):g}" for m in inside}
    return out


@lru_cache(1024)
def _told(text: str, read: Read) -> dict[Number, frozenset[str]]:
    return beside(text, [n for n in read(text)[:MOST] if n.end])


def elsewhere(n: Number, said: frozenset[str], need: int, rows: Sequence[Row], read: Read) -> bool:
    """Whether a row that is not cited holds the number beside what the statement has beside it.

    Args:
        n: the number.
        said: what the statement has beside it.
        need: words that both must share. A number that stands nowhere by chance needs one less, one that a tool showed as well.
        rows: the rows that are not cited.
        read: the numbers of a row.
    """
    need -= _sharp(n)
    for row in rows:
        head = words(row.text[:60].partition(":")[0].partition(" = ")[0]) if row.id[0] in "MVR" else frozenset()
        least = need - (row.id[0] == "T")
        if any(n.known([m]) and _weight((near | head) & said) >= least for m, near in _told(row.text, read).items()):
            return True
    return False


def _sharp(n: Number) -> int:
    """How little a number can stand somewhere by chance: 1 with three digits or a power of ten, 2 with five or as a clock."""
    shown = len(f"{abs(n.values[0]) / (n.digit or 1):.0f}")
    return (shown >= 3 or 0 < abs(n.values[0]) < 1e-3) + (shown >= 5 or n.family == "clock")


def strangers(
    text: str, found: Sequence[Number], rows: Sequence[Row], case: Sequence[Row], read: Read
) -> Iterator[Number]:
    """Numbers that the rows hold, but of something else.

    Args:
        text: the statement.
        found: its numbers.
        rows: the rows that it rests on.
        case: all rows.
        read: the numbers of a row.
    """
    for rule in (_exchanged, _mispaired, _unpaired, _borrowed, respanned):
        yield from rule(text, found, rows, read)
    yield from _unbound(text, found, case, read)


def _unbound(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """Numbers that are told as those of a key or measure (`key: 8`), of which the rows tell others."""
    for n in found:
        m = _KEYED.search(text[max(0, n.start - 60) : n.start])
        if not m or n.times:
            continue
        key = re.compile(rf"(?<![\w/.-]){re.escape(m[1])}(?![\w/-])")
        about = [row for row in rows if key.search(row.text)]
        if any(row.id[0] in "VMT" for row in about) and not any(
            n.known(_of_key(row, key, read), rounded=n.digit != 1) for row in about
        ):
            yield n


def _of_key(row: Row, key: re.Pattern[str], read: Read) -> list[Number]:
    """The numbers of a row that may be those of a key: of a long one those behind it."""
    if row.id[0] != "T":
        return [*read(row.text)]
    return [n for m in key.finditer(row.text) for n in read(row.text[m.end() : m.end() + 60].partition("\n")[0])]


def _exchanged(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """Numbers of one row, each of which stands beside what the row has beside another."""
    mine = beside(text, found)
    for told in (_told(row.text, read) for row in rows):
        held = [(n, m) for n in found for m in told if n.known([m])]
        for (a, x), (b, y) in combinations(held[:24], 2):
            if a is b or a.known([y]) or b.known([x]) or not _alike(a, b):
                continue
            of_x, of_y = told[x] - told[y], told[y] - told[x]
            of_a, of_b = mine[a] - mine[b], mine[b] - mine[a]
            straight = _weight(of_a & of_x), _weight(of_b & of_y)
            crossed = _weight(of_a & of_y), _weight(of_b & of_x)
            if not any(w[0] != "#" for w in (of_a & of_y) | (of_b & of_x)):
                continue  # beside other numbers alone stands whatever is a step of the same sum
            if (min(crossed) and sum(crossed) >= 2 * sum(straight) + 2) or (sum(crossed) > 2 and not sum(straight)):
                yield from (a, b)


def _borrowed(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """A number that stands beside what its row has beside another one, and beside nothing of its own; of a place one
    word is enough for that."""
    mine, told = beside(text, found), [(row, _told(row.text, read)) for row in rows]
    for n in found:
        own = [(row, by, y) for row, by in told for y in by if n.known([y])]
        if n.times or len(own) != 1 or own[0][0].id[0] == "M":
            continue  # a measure tells its numbers by their role
        row, by, y = own[0]
        if any(y.known(pair) for pair in _joined(row.text, read)):
            continue  # it shares its words with the one that it is joined to
        need = 1 if _PLACE.search(text[max(0, n.start - 12) : n.start]) else 2
        others = [m for m in by if _alike(n, m) and not n.known([m]) and _weight(mine[n] & (by[m] - by[y])) >= need]
        if not mine[n] & by[y] and len(others) == 1 and not any(m.known(others) for m in found):
            yield n


def respanned(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """An end of a range (`between 2 and 5`) whose other end the rows give with another one."""
    told = [pair for row in rows for m in _RANGE.finditer(row.text) if len(pair := read(f"{m[1]} | {m[2]}")) == 2]
    for m in _BETWEEN.finditer(text):
        ends = [n for n in found if m.start(1) == n.start or m.start(2) == n.start]
        if len(ends) != 2 or any(ends[0].known([x]) and ends[1].known([y]) for x, y in told):
            continue
        for x, y in told:
            if ends[0].known([x]) != ends[1].known([y]):
                yield ends[0] if ends[1].known([y]) else ends[1]


def _mispaired(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """Two numbers that alone share a part of the sentence, and that the rows pair otherwise."""
    pairs = {frozenset((a.start, b.start)): (a, b) for a, b in _pairs(beside(text, found))}.values()
    told = [[*_pairs(_told(row.text, read)), *_respective(row.text, read)] for row in rows]
    siblings = [(x, y) for row in rows for x, y in _joined(row.text, read)]
    siblings += [(y, x) for x, y in siblings]
    for a, b in pairs:
        if (
            a.values == b.values
            or any(a.known([x]) and b.known([y]) for x, y in siblings)
            or any(a.known([x]) and b.known([y]) for row in told for x, y in row)
        ):
            continue
        for row in told:
            theirs = [y for x, y in row if a.known([x]) and _alike(b, y)]
            mine = [x for x, y in row if b.known([y]) and _alike(a, x)]
            if theirs and mine:
                yield from (a, b)


def _unpaired(text: str, found: Sequence[Number], rows: Sequence[Row], read: Read) -> Iterator[Number]:
    """Two numbers of a sentence out of different columns of a table that stand on different lines, and have no other beside them."""
    for table in (t for row in rows if (t := _table(row.text, read))):
        cells = {
            n: {(i, j) for i, line in enumerate(table) for j, m in enumerate(line) if n.known([m])} for n in found[:12]
        }
        cells = {n: at for n, at in cells.items() if 0 < len(at) < len(table) and len({j for _, j in at}) == 1}
        alone = [n for n in cells if not any(_lines(cells[n]) & _lines(cells[m]) for m in cells if m is not n)]
        for a, b in combinations(alone, 2):
            if {j for _, j in cells[a]} != {j for _, j in cells[b]} and len(cells) == 2:
                yield from (a, b)


def _lines(cells: set[tuple[int, int]]) -> set[int]:
    return {i for i, _ in cells}


@lru_cache(1024)
def _table(text: str, read: Read) -> list[Sequence[Number]]:
    """The lines of a text that hold equally many numbers, two or more, where they are three or more."""
    lines = [read(line.partition(": ")[2] or line) for line in text.splitlines()[:60]] if "\n" in text else []
    most = max((len(line) for line in lines), key=[len(line) for line in lines].count, default=0)
    alike = [line for line in lines if len(line) == most]
    return alike if most >= 2 and len(alike) >= 3 else []


def _alike(a: Number, b: Number) -> bool:
    same = a.family or a.values[0].is_integer() == b.values[0].is_integer()
    return bool(a.family == b.family and a.times == b.times and same)


def _pairs(by: dict[Number, frozenset[str]]) -> Iterator[tuple[Number, Number]]:
    """Numbers of different kinds that alone share a part, both ways."""
    links = {n: [w for w in near if w.startswith("#")] for n, near in by.items()}
    for n, near in links.items():
        others = [m for m in by if abs(m.start - n.start) < 120 and m is not n and near == [f"#{abs(m.values[0]):g}"]]
        yield from ((n, m) for m in others if links[m] == [f"#{abs(n.values[0]):g}"])


def _respective(text: str, read: Read) -> Iterator[tuple[Number, Number]]:
    """What belongs together where a row joins two numbers, and two more: `70.4 and 66.2 (shots 0 / 8)`."""
    for (a, b), (x, y) in permutations(_joined(text, read), 2):
        yield from ((a, x), (b, y))


def _joined(text: str, read: Read) -> list[tuple[Number, Number]]:
    both = ((read(m[1]), read(m[2])) for m in JOINED.finditer(text) if m[1] != m[2])
    return [(x[0], y[0]) for x, y in both if x and y][:6]


def _weight(words: frozenset[str]) -> int:
    return sum(2 if w.startswith("#") else 1 for w in words)

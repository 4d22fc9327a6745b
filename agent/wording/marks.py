# ruff: noqa: E501  (tables and patterns are read as rows)
"""What a model's sentence says beyond what it cites: each number, file, key or name that stands nowhere gets a mark.

Marks delete nothing and decide nothing. A number is held against the rows that the statement cites, the facts and the
cause of the reply, triage's own answer, the question, and sums of numbers that stand together; a name against the
whole case. What only words claim carries no mark: the label says whose words they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from ...tools.looking.amounts import COUNTED, FOLD, Number, dated, numbers
from ...tools.looking.names import COMMON, FILE, NAME
from ...tools.looking.shares import shares
from ...tools.patterns import bounded
from ...tools.settings import CONTEXT, VARIABLES
from ...tools.vocabulary import VOCABULARY
from .compared import differs, equations, judged, signed, unequal
from .derived import Held, apart, epochs, follows, listed, ratio_like
from .formulas import clocks, complement, told, within
from .freely import begin, clause, free, sentence
from .ledger import Ledger, Row
from .ordered import misplaced, numbered, turned
from .owned import displaced, measures, of_another, others, tallies, unrounded
from .reply import ID, Said
from .whose import beside, elsewhere, respanned, strangers

CLOSE = 0.015
"""Share by which a number that is only derived may not come close to one that is cited."""
_ABOUT = bounded(
    r"(?i)(?:about|around|roughly|approximately|nearly|almost|some|over|under|more than|less than|at least|at most|no more than|up to|down to|beyond|~|≈|约|大约|近|接近|大概|左右|超过|不到|至少|最多|至多)\s*$"
)
_MORE = bounded(r"(?i)^\s?[\u4e00-\u9fff]?(?:左右|多|出头|上下|以上|以内)|^\s?(?:[a-z]{1,8} )?or so\b")
"""Behind a number that is given as about."""
_COUNT = bounded(
    r"(?i)\s*(?:of the (?:\d{1,2} )?|more |other |different |种|个|条|项|处|次|类|点)?(?:findings?|causes?|checks?|files?|lines?|points?|places?|things?"
    r"|settings?|reasons?|possibilit|options?|signs?|sources?|candidates?|hypothes|facts?|runs?|metrics?|发现|原因|检查|文件|设置|可能|证据|指标|方面|假设|来源)"
)
_BOUND = bounded(r"(?i)\b(?:below|under|less than|at most|never above)\s?$|(?:不到|低于|小于)\s?$")
_BEYOND = bounded(
    r"(?i)\b(?:above|over|more than|at least|exceeds?|exceeding|beyond)\s?$|(?:超过|高于|大于|多于|至少)\s?$"
)
_USUAL = {"time": (1.0,), "bytes": (1.0, 1e6, 1e9, 1024.0**2, 1024.0**3)}
"""Units that a number without one is told in."""
_REST = bounded(
    r"(?i)\b(?:rest|remain\w{0,4}|others?|left|minus|without|instead|only|waits?)\b|其余|剩|另外|其他|没有|不是|等"
)
_FORMULA = bounded(r"(?i)(?:\b(?:ln|log|sqrt|exp)|√)\s?\(?$")
_TAIL = re.compile(r"[A-Za-z][-_:](\d{1,9})(?![\w.])", re.ASCII)
_HOLE = bounded(r"(?:<\w{1,30}>|\{\w{1,30}\}|(?<!\d)%[a-zA-Z])[/._-][\w./-]*", re.ASCII)
"""A name with a place to be filled."""
_HOLED = bounded(r"(?<=[a-z_-])[NXK](?=[._-]|$)")
"""A letter for a number in a name: rankN.log."""
_OWN_NAME = bounded(r"[a-z]+(?:-[a-z]+){1,4}-\d{1,4}|[a-z]+\d?(?:_[a-z\d]+){2,6}")
"""A name that only this case can have: a host, a long key."""
_NONE = bounded(r"(?i)(?:\b(?:no|not|without|missing|nothing tells of|lacks)|没有|缺少?|未见)\s?[`'\"]?$")
"""Before a name that is said not to be there."""
_LEVEL = bounded(r"(?i)^\s?(?:%|percent)?\s?(?:confidence|interval|ci\b|range|的?(?:置信|区间))")
_RUN, _RUN_ON = re.compile(r"[\w.:/-]", re.ASCII), re.compile(r"[\w.:/-]{1,200}", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[\d.]*(?:e-?\d+)?[a-z%]{0,3}")
_AT = re.compile(r"[A-Za-z]@$")
"""Before a number that is a part of a name: pass@10."""


@dataclass(frozen=True)
class Mark:
    """A stretch of a statement that its evidence does not hold."""

    start: int
    end: int
    what: str
    """`number`, `file`, `name`; `order` for numbers that stand the wrong way round, `ratio` for what two numbers of the
    sentence do not give, and `other` for a number of another measure."""
    elsewhere: str = ""
    """The row of the case that holds it, though the statement does not cite it, or it is of another measure."""


def marks(said: Said, beside: Sequence[str], ledger: Ledger) -> list[Mark]:
    """The marks of one statement, in their order.

    Args:
        said: the statement.
        beside: ids that the whole reply rests on: its facts and its cause.
        ledger: the case.
    """
    ids = [id for id in ledger.rows if id[0] in "PA" or id in said.cites or id in beside]
    taken = [*_names(said, ledger)]
    spans = [(m.start(), m.end()) for p in (FILE, ID, _HOLE) for m in p.finditer(said.text)]
    spans += [(m.start(), m.end()) for m in NAME.finditer(said.text)]
    found = [n for n in numbers(said.text) if not any(a <= n.start < b for a, b in spans)]
    found = [n for n in found if not _AT.search(said.text[max(0, n.start - 2) : n.start])]
    return sorted([*taken, *_numbers(said, found, ids, ledger)], key=lambda m: m.start)


@dataclass(frozen=True)
class _Rests:
    """What a statement rests on: the rows, and the numbers in them."""

    rows: tuple[Row, ...]
    cited: tuple[Number, ...]
    places: tuple[Number, ...]
    words: str
    measured: tuple[Held, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Rests:
        return cls(
            tuple(rows),
            tuple(n for row in rows for n in _as_told(row)),
            tuple(n for row in rows for n in held_in(row.place)),
            " ".join(f"{row.text} {row.place}" for row in rows).lower(),
            tuple(apart(row.text, held_in(row.text)) for row in rows if row.id[0] in "FRMVTXL"),
        )

    def hold(self, text: str, n: Number, place: bool) -> bool:
        """Whether a number of the text stands in the rows."""
        token = text[n.start : n.end]
        if run_in(text, n.start, n.end, self.words):
            return True
        if unrounded(text, n):
            return n.known(self.cited, rounded=False)
        return (
            n.known(ratio_like(n, self.cited), _about(text, n))
            or (place and n.known(self.places))
            or _named(token, self.words)
            or _lettered(text, n, self.words)
            or _bounds(text, n, self.cited)
        )


def _numbers(said: Said, found: Sequence[Number], ids: Sequence[str], ledger: Ledger) -> Iterator[Mark]:
    text, on = said.text, _Rests.of([ledger.rows[id] for id in ids if _vouches(id, ledger)])
    rest = [row for id, row in ledger.rows.items() if id not in ids and _vouches(id, ledger)]
    plain = [n for n in found if not _counts(text, n)]
    own = apart(text, plain)
    ratios = [*judged(text, plain, own, on.cited)]
    yield from (Mark(r.start, r.end, "ratio") for r, _, true in ratios if not true)
    plain = [n for n in plain if not any(n.start < r.end and r.start < n.end for r, _, _ in ratios)]
    yield from (Mark(n.start, n.end, "order") for n in _ordered(text, found, plain, own, on))
    if said.kind != "unknown":
        yield from (Mark(*place) for place in ((a, b, "other", id) for a, b, id in displaced(text, on.rows)))
    if said.kind in ("answer", "because", "unknown"):
        yield from (Mark(a, b, "number") for a, b in tallies(text, on.rows, held_in))
    stray = _strays(said, plain, on, ledger)
    yield from (Mark(n.start, n.end, "other" if id else "number", id) for n, id in stray.items())
    amiss = [*unequal(text, plain), *(n for n in plain if differs(text, n, own.values, on.cited))]
    wrong = [*amiss, *(n for n in plain if _other_unit(n, on.cited) or of_another(text, n, on.rows, held_in))]
    held = [n for n in plain if n not in wrong and on.hold(text, n, n in own.places)]
    held += _elsewhere(said, found, [n for n in plain if n not in wrong and n not in held], own, rest)
    held += listed(text, [n for n in plain if n not in wrong], held)
    yield from (Mark(r.start, r.end, "ratio") for r, of, true in ratios if true and any(m in stray for m in of))
    sums = equations(text)
    for n in plain:
        near = _about(text, n)
        if n in held or n in stray or (near and not n.value):
            continue
        follows_ = n not in wrong and (
            FOLD.match(text[n.start : n.end]) or _derived(text, n, apart(text, held), on, near)
        )
        if follows_ or n.known(sums, near):
            held.append(n)
        elif not free(said, n):
            yield Mark(n.start, n.end, "ratio" if n in amiss else "number", "" if n in amiss else _holder(n, ledger))
            yield from (Mark(r.start, r.end, "ratio") for r, of, true in ratios if true and n in of)


def _elsewhere(
    said: Said, found: Sequence[Number], open_: Sequence[Number], own: Held, rest: Sequence[Row]
) -> list[Number]:
    """The numbers that rows which are not cited hold beside the same words."""
    by, need = beside(said.text, found), 1 if said.kind in ("unknown", "explain") else 2
    return [n for n in open_ if elsewhere(n, by[n], need + (n in own.places), rest, held_in)]


def _ordered(text: str, found: Sequence[Number], plain: Sequence[Number], own: Held, on: _Rests) -> Iterator[Number]:
    """Numbers that stand the wrong way round, each once."""
    rows = [row.text for row in on.rows]
    told = [row for row in on.rows if row.id[0] in "FRMX"]
    yield from dict.fromkeys((
        *turned(text, found, own.places, rows, held_in),
        *signed(text, plain, rows),
        *misplaced(text, plain, [row.text for row in told if row.id[0] == "M"], held_in),
        *numbered(text, plain, [row.text for row in told], held_in),
    ))  # fmt: skip


def _strays(said: Said, plain: Sequence[Number], on: _Rests, ledger: Ledger) -> dict[Number, str]:
    """Numbers that are of something else than the statement tells, with the row that holds them, if it is one."""
    if said.kind == "next":
        strange = respanned(said.text, plain, on.rows, held_in)
    else:
        strange = strangers(said.text, plain, on.rows, [*ledger.rows.values()], held_in)
    stray = {n: id for n in plain if (id := _stray(said.text, n, on, ledger))}
    return {n: _holder(n, ledger) for n in strange} | stray


def _holder(n: Number, ledger: Ledger) -> str:
    """A row that holds the number as it is written; empty where none does."""
    return next((id for id, row in ledger.rows.items() if n.known(held_in(row.text), rounded=False)), "")


def _stray(text: str, n: Number, on: _Rests, ledger: Ledger) -> str:
    """The row of another measure than the clause names, where no other row holds the number."""
    rows = others(clause(text, n), n.start - begin(text, n), measures(ledger), on.rows)
    theirs = [row for row in rows if n.known(held_in(row.text), _about(text, n))]
    rest = [m for row in on.rows if row not in rows for m in held_in(row.text)]
    return theirs[0].id if theirs and not n.known(rest, _about(text, n)) else ""


def _derived(text: str, n: Number, own: Held, on: _Rests, near: bool) -> bool:
    """Whether a number follows from those that stand somewhere, by what the words around it tell."""
    part, mine = clause(text, n), [m for kind in own.kinds for m in kind if m.start != n.start]
    theirs = [m for r in on.measured for m in r.values]
    if within(text, n, mine, on.cited):
        return True
    if not near and _misses(n, mine, on.cited):
        return False
    at, share = n.start - begin(text, n), next(shares(text, [n]), None)
    if follows(part, at, sentence(text, n), n, own, on.measured, near, share) or (
        _REST.search(text[max(0, n.start - 40) : n.end + 24]) and complement(n, on.cited)
    ):
        return True
    if n.family == "clock":
        return any(abs(n.value - c.value) <= 60 for c in clocks(mine, on.cited))
    if n.family == "time" and n.known(
        replace(c, values=(c.value / 60,) * 2, family="time") for c in on.cited if c.family == "clock"
    ):
        return True
    if n.known(epochs(sentence(text, n), own, on.measured), near):
        return True
    return n.known(told(sentence(text, n), mine, theirs), near)


def _misses(n: Number, mine: Sequence[Number], cited: Sequence[Number]) -> bool:
    """Whether a whole number is almost one that is cited and that the statement does not tell beside it: 124 for 125."""
    if n.family or n.times or n.digit != 1 or abs(n.value) < 20:
        return False
    close = (c for c in cited if c.digit == 1 and not c.family and 0 < abs(c.value - n.value) <= CLOSE * abs(n.value))
    return any(not any(m.value == c.value for m in mine) for c in close)


def _other_unit(n: Number, cited: Sequence[Number]) -> bool:
    """Whether the rows give the same digits another unit of its kind."""
    alike = [c for c in cited if n.family and c.values[0] == n.values[0] and c.family in (n.family, "")]
    usual = any(n.values[-1] == n.values[0] * size for size in _USUAL[n.family]) if n.family in _USUAL else True
    same = [c for c in alike if c.family or not (usual or c.times or len(c.values) > 1)]
    return bool(same) and not any(c.family and n.known([c]) for c in same) and not n.known(c for c in cited if c.family)


def _names(said: Said, ledger: Ledger) -> Iterator[Mark]:
    """Files, and outside of advice and explanation also keys and names, that the case does not hold."""
    everything = "\n".join(f"{row.text} {row.place}" for row in ledger.rows.values()).lower()
    patterns = [("file", FILE), ("name", NAME)]
    general = said.kind in ("next", "explain")
    spans: list[tuple[int, int]] = []
    for what, pattern in patterns:
        for m in pattern.finditer(said.text):
            token = m[0].rstrip(".").lower()
            if any(a < m.end() and m.start() < b for a, b in spans) or ID.fullmatch(m[0]):
                continue
            spans.append((m.start(), m.start() + len(token)))
            common = what == "name" and (COMMON.fullmatch(token) or token.lstrip("-") in vocabulary())
            known = (
                common
                or (general and what == "name" and not _OWN_NAME.fullmatch(m[0]))
                or _HOLED.search(m[0])
                or _NONE.search(said.text[max(0, m.start() - 24) : m.start()])
            )
            if (
                not known
                and not _held_name(token, everything, what)
                and not run_in(said.text, m.start(), m.end(), everything)
            ):
                yield Mark(m.start(), m.start() + len(token), what)


def _held_name(token: str, everything: str, what: str) -> bool:
    """Whether the case holds a name, also in the plural, and as a part of a longer one."""
    if re.search(rf"(?<![\w.-]){re.escape(token)}(?![\w-])", everything):
        return True
    one = token.removesuffix("s") if token[-2:-1].isdigit() else token
    return what == "name" and bool(re.search(rf"(?<![a-z0-9-]){re.escape(one)}(?![a-z0-9-])", everything))


@cache
def vocabulary() -> frozenset[str]:
    """Names of metrics and settings, as triage and the frameworks call them, and those of the shipped runbook."""
    from ...knowledge.runbook import load
    from ...tools.config.frameworks import FRAMEWORKS

    keys = {k.lower() for f in FRAMEWORKS.values() for spelled in f.keys.values() for k in spelled.split()}
    told = {m[0].lower() for e in load() for s in (*e.said("en").values(), e.check_first.en) for m in NAME.finditer(s)}
    last = {k.rpartition(".")[2].lstrip("-").replace("-", "_") for k in keys}
    return frozenset({*VOCABULARY, *VARIABLES, *CONTEXT, *keys, *last, *told, *(t.lstrip("-") for t in told)})


@lru_cache(4096)
def held_in(text: str) -> tuple[Number, ...]:
    """The numbers of a row as it tells them, without ids and names; of a name its number behind the dash, and of a
    place its line."""
    spans = [(m.start(), m.end()) for p in (FILE, NAME, ID) for m in p.finditer(text)]
    found = [n for n in numbers(text) if not any(a <= n.start < b for a, b in spans)]
    found += [n for n in dated(text) if n not in found]
    found += [Number(0, 0, (float(m[1]),)) for m in _TAIL.finditer(text)]
    return tuple(dict.fromkeys(found))


def _as_told(row: Row) -> Iterator[Number]:
    """The numbers of a row; a probability of the diagnosis stands for nothing but itself."""
    for n in held_in(row.text):
        yield replace(n, values=n.values[:1]) if row.id[0] in "AC" and n.times else n


def _vouches(id: str, ledger: Ledger) -> bool:
    """Whether the row holds measured numbers: a calculation does where those that it starts from stand somewhere."""
    row = ledger.rows[id]
    if not row.text.startswith("calc("):
        return True
    free = {10.0**i for i in range(13)} | {2.0**i for i in range(11)} | {60.0, 3600.0, 24.0, 3.0, 5.0, 6.0, 7.0, 12.0}
    known = [n for i, r in ledger.rows.items() if i != id and i[0] != "T" for n in held_in(r.text)]
    return all(n.values[0] in free or n.known(known) for n in numbers(row.place))


def _named(token: str, words: str) -> bool:
    """Whether a number with its letter is a part of a name that is cited: the 12B of a model."""
    return token[-1].isalpha() and bool(re.search(rf"(?<![\d.]){re.escape(token.lower())}(?![\w])", words))


def run_in(text: str, start: int, end: int, words: str) -> bool:
    """Whether the whole run of letters, digits and signs around a stretch stands in the rows: `2026-01`, `Mar14_14-37`."""
    while start and _RUN.match(text[start - 1]):
        start -= 1
    run = (_RUN_ON.match(text, start) or [""])[0].rstrip(".:-/").lower()
    return len(run) > 5 and start + len(run) >= end and not _PLAIN_NUMBER.fullmatch(run) and run in words


def _lettered(text: str, n: Number, words: str) -> bool:
    """Whether a name that is cited holds the number behind a word of the clause: rho 1.5 of `rho1.50_seed42`."""
    token = text[n.start : n.end].lower()
    behind = re.findall(rf"([a-z]{{2,20}})[-_=]?{re.escape(token)}{'0{0,3}' if '.' in token else ''}(?![\d.]\d)", words)
    return bool(set(behind) & set(re.findall(r"[a-z]{2,20}", clause(text, n).lower())))


def _bounds(text: str, n: Number, cited: Sequence[Number]) -> bool:
    """Whether it is a round number that a cited one stays just below, or just above; small ones by a power of ten."""
    value = abs(n.value)
    mantissa = f"{value:.3e}"[:5]
    if not value or mantissa[1:] not in (".000", ".500"):
        return False
    below, above = _BOUND.search(text[: n.start]), _BEYOND.search(text[: n.start])
    low = (0.1 if value <= 0.1 and mantissa == "1.000" else 0.8) * value
    alike = [abs(c.value) for c in cited if c.family == n.family]
    return any((below and low < c <= value) or (above and value <= c <= 1.25 * value) for c in alike)


def _about(text: str, n: Number) -> bool:
    """Whether the text gives it as about; a duration in tens is: 70 minutes for 4,162 s."""
    tens = n.family == "time" and n.values[0] >= 20 and not n.values[0] % 10
    return tens or bool(_ABOUT.search(text[max(0, n.start - 14) : n.start])) or bool(_MORE.match(text[n.end :]))


def _counts(text: str, n: Number) -> bool:
    """Whether the number counts things of the answer, or a list, or stands in a formula (`ln 2`)."""
    if _FORMULA.search(text[max(0, n.start - 6) : n.start]) or (
        n.values[0] in (68, 90, 95, 99) and _LEVEL.match(text[n.end :])
    ):
        return True
    if abs(n.values[0]) > COUNTED or n.values[0] != int(n.values[0]) or n.digit < 1:
        return False
    listed = n.start == 0 and text[n.end : n.end + 1] in (".", ")", "、")
    return listed or bool(_COUNT.match(text[n.end :])) or n.values[0] == 1

# ruff: noqa: E501  (tables and patterns are read as rows)
"""What a model's statement says beyond its evidence: each number, file, key or name that stands nowhere gets a mark.

The model is told (`prompts/system.md`) to write a number only as a row that the statement cites, or the question, has it,
and to leave arithmetic to `calc` or to write it out. So nothing is worked out here but the sums that stand in the text:
a number stands there, perhaps rounded, or it is marked. Names are held against the whole case. Marks delete nothing and
decide nothing; what only words claim carries none: the label says whose words they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from ...tools.findings import TriageError
from ...tools.looking.amounts import COUNTED, Number, dated, numbers
from ...tools.looking.calc import calc
from ...tools.looking.names import COMMON, FILE, NAME
from ...tools.patterns import bounded
from ...tools.settings import CONTEXT, VARIABLES
from ...tools.vocabulary import VOCABULARY
from .ledger import Ledger, Row
from .reply import ID, Said

FREE = {10.0**i for i in range(13)} | {2.0**i for i in range(11)} | {60.0, 3600.0, 24.0, 3.0, 5.0, 6.0, 7.0, 12.0}
"""Numbers of a calculation that need stand nowhere: sizes of units, and small counts."""
_COUNT = bounded(
    r"(?i)\s*(?:of the (?:\d{1,2} )?|more |other |different |种|个|条|项|处|次|类|点)?(?:findings?|causes?|checks?|files?|lines?|points?|places?|things?"
    r"|settings?|reasons?|possibilit|options?|signs?|sources?|candidates?|hypothes|facts?|runs?|metrics?|发现|原因|检查|文件|设置|可能|证据|指标|方面|假设|来源)"
)
_EQUATION = re.compile(
    r"((?<![\w.,-])\d[\d.,]{0,20}+(?:[eE]-?\d{1,2})?+\s?(?:[a-zA-Z%]{0,6}\s?[-+*/x×÷−]\s?\d[\d.,]{0,20}+(?:[eE]-?\d{1,2})?){1,6}[ a-zA-Z%]{0,8})\s?(?:=|≈|is|gives|makes|为|是|得)",
    re.ASCII,
)
_POINTS = bounded(r"(?i)^\s?(?:percentage )?points?\b|^\s?个?百分点")
"""Behind a difference of shares in hundredths."""
_TAIL = re.compile(r"[A-Za-z][-_:](\d{1,9})(?![\w.])", re.ASCII)
_HOLE = bounded(r"(?:<\w{1,30}>|\{\w{1,30}\}|(?<!\d)%[a-zA-Z])[/._-][\w./-]*", re.ASCII)
"""A name with a place to be filled."""
_HOLED = bounded(r"(?<=[a-z_-])[NXK](?=[._-]|$)")
"""A letter for a number in a name: rankN.log."""
_OWN_NAME = bounded(r"[a-z]+(?:-[a-z]+){1,4}-\d{1,4}|[a-z]+\d?(?:_[a-z\d]+){2,6}")
"""A name that only this case can have: a host, a long key."""
_NONE = bounded(r"(?i)(?:\b(?:no|not|without|missing|nothing tells of|lacks)|没有|缺少?|未见)\s?[`'\"]?$")
"""Before a name that is said not to be there."""
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
    """`number`, `file` or `name`."""
    elsewhere: str = ""
    """A row of the case that holds the number, though the statement does not cite it."""


def marks(said: Said, ledger: Ledger) -> list[Mark]:
    """The marks of one statement, in their order."""
    rows = _vouching(ledger)
    cited = [row for id, row in rows.items() if id[0] == "P" or id in said.cites]
    sums = [*equations(said.text)]
    known = [*(n for row in cited for n in _numbers_of(row)), *sums]
    words = " ".join(f"{row.text} {row.place}" for row in cited).lower()
    found = [*_names(said, ledger)]
    for n in _numbers(said.text):
        of_a_sum = n.values[0] in FREE and any(s.start <= n.start < s.end for s in sums)
        known_so = n.known(known) or (_POINTS.match(said.text[n.end :]) and _hundredth(n).known(known))
        if not (of_a_sum or known_so or _counts(said.text, n) or _in_name(said.text, n, words)):
            holder = next((id for id, row in rows.items() if n.known(_numbers_of(row), rounded=False)), "")
            found.append(Mark(n.start, n.end, "number", holder))
    return sorted(found, key=lambda m: m.start)


def shared(said: Said, row: str) -> list[tuple[int, int]]:
    """Where a row holds the numbers of a statement."""
    mine = [*_numbers(said.text)]
    return [(m.start, m.end) for m in held_in(row) if m.end and any(n.known([m]) for n in mine)]


def _vouching(ledger: Ledger) -> dict[str, Row]:
    """The rows that hold measured numbers: a calculation does where all that it starts from stand in rows before it."""
    out, known = dict[str, Row](), list[Number]()
    for id, row in ledger.rows.items():
        made = numbers(row.place) if row.text.startswith("calc(") else ()
        if all(_given(n, known) for n in made):
            out[id] = row
            known += held_in(row.text)
    return out


def _given(n: Number, known: Sequence[Number]) -> bool:
    """Whether a number of a calculation stands somewhere, perhaps in percent: 0.583 of 58.3."""
    share = replace(n, values=(100 * n.values[0],), digit=100 * n.digit)
    return n.values[0] in FREE or n.known(known) or (0 < n.values[0] < 1 and share.known(known))


def _hundredth(n: Number) -> Number:
    return replace(n, values=(n.values[0] / 100,), digit=n.digit / 100)


def _numbers(text: str) -> Iterator[Number]:
    """The numbers of a statement that are no part of a file, an id or a name, and no ratio in words: `doubled`, `a third`."""
    spans = [(m.start(), m.end()) for p in (FILE, ID, NAME, _HOLE) for m in p.finditer(text)]
    for n in numbers(text):
        worded = n.times and not re.search(r"\d", text[n.start : n.end], re.ASCII)
        inside = any(a <= n.start < b for a, b in spans) or _AT.search(text[max(0, n.start - 2) : n.start])
        if not worded and not inside:
            yield n


def _numbers_of(row: Row) -> Iterator[Number]:
    """The numbers of a row; a probability of the diagnosis stands for nothing but itself."""
    for n in held_in(row.text):
        yield replace(n, values=n.values[:1]) if row.id[0] in "AC" and n.times else n
    yield from held_in(row.place)


@lru_cache(4096)
def held_in(text: str) -> tuple[Number, ...]:
    """The numbers of a row as it tells them, without ids and names; of a name its number behind the dash, and of a
    place its line."""
    spans = [(m.start(), m.end()) for p in (FILE, NAME, ID) for m in p.finditer(text)]
    found = [n for n in numbers(text) if not any(a <= n.start < b for a, b in spans)]
    found += [n for n in dated(text) if n not in found]
    found += [Number(0, 0, (float(m[1]),)) for m in _TAIL.finditer(text)]
    return tuple(dict.fromkeys(found))


def equations(text: str) -> Iterator[Number]:
    """What the sums that stand in a text come to, whatever is written behind them."""
    for m in _EQUATION.finditer(text):
        with suppress(TriageError):
            yield Number(m.start(), m.end(), (calc(m[1].replace("x", "*").replace("−", "-")).value,))


def _counts(text: str, n: Number) -> bool:
    """Whether the number counts things of the answer, or a list."""
    if abs(n.values[0]) > COUNTED or n.values[0] != int(n.values[0]) or n.digit < 1:
        return False
    listed = n.start == 0 and text[n.end : n.end + 1] in (".", ")", "、")
    return listed or bool(_COUNT.match(text[n.end :])) or n.values[0] == 1


def _in_name(text: str, n: Number, words: str) -> bool:
    """Whether a name that is cited holds the number: the 12B of a model, `2026-01`, rho 1.5 of `rho1.50_seed42`."""
    token = text[n.start : n.end].lower()
    if run_in(text, n.start, n.end, words):
        return True
    if token[-1].isalpha() and re.search(rf"(?<![\d.]){re.escape(token)}(?![\w])", words):
        return True
    behind = re.findall(rf"([a-z]{{2,20}})[-_=]?{re.escape(token)}{'0{0,3}' if '.' in token else ''}(?![\d.]\d)", words)
    return bool(set(behind) & set(re.findall(r"[a-z]{2,20}", text.lower())))


def run_in(text: str, start: int, end: int, words: str) -> bool:
    """Whether the whole run of letters, digits and signs around a stretch stands in the rows: `2026-01`, `Mar14_14-37`."""
    while start and _RUN.match(text[start - 1]):
        start -= 1
    run = (_RUN_ON.match(text, start) or [""])[0].rstrip(".:-/").lower()
    return len(run) > 5 and start + len(run) >= end and not _PLAIN_NUMBER.fullmatch(run) and run in words


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
    return what == "name" and bool(re.search(rf"(?<![a-z0-9]){re.escape(one)}(?![a-z0-9])", everything))


@cache
def vocabulary() -> frozenset[str]:
    """Names of metrics and settings, as triage and the frameworks call them, and those of the shipped runbook."""
    from ...knowledge.runbook import load
    from ...tools.config.frameworks import FRAMEWORKS

    keys = {k.lower() for f in FRAMEWORKS.values() for spelled in f.keys.values() for k in spelled.split()}
    told = {m[0].lower() for e in load() for s in (*e.said("en").values(), e.check_first.en) for m in NAME.finditer(s)}
    last = {k.rpartition(".")[2].lstrip("-").replace("-", "_") for k in keys}
    return frozenset({*VOCABULARY, *VARIABLES, *CONTEXT, *keys, *last, *told, *(t.lstrip("-") for t in told)})

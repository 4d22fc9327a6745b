# ruff: noqa: E501  (tables and patterns are read as rows)
"""What a model's sentence says beyond what it cites: each number, file, key or name that stands nowhere gets a mark.

Marks delete nothing and decide nothing. A number is held against the rows that the statement cites, the facts and the
cause of the reply, triage's own answer, the question, and sums of numbers that stand together; a name against the
whole case. What only words claim carries no mark: the label says whose words they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

from ...tools.looking.calc import BYTES, COUNTS, SECONDS
from ...tools.patterns import bounded
from ...tools.settings import CONTEXT, VARIABLES
from ...tools.vocabulary import VOCABULARY
from .ledger import Ledger
from .reply import ID, Said

NEAR = 0.05
"""Share by which a number after "about" may lie off."""
TOGETHER = 8
"""Numbers of one row up to which their differences and ratios count as said."""
COUNTED = 10
"""Up to which a number before the name of counted things is no measurement."""
_UNIT = "|".join(sorted(map(re.escape, {*COUNTS, *SECONDS, *BYTES}), key=len, reverse=True))
_NUMBER = bounded(
    rf"(?<![\w.])(?:[+−-](?=\d))?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?:\s?(?:{_UNIT})s?(?![A-Za-z]))?",
    re.ASCII,
)
_PARTS = re.compile(r"([+−-]?)([\d,]+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s?(.*)", re.ASCII)
_WORD = {w: n for n, w in enumerate(["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"], 11)} | {
    w: 10 * n for n, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
} | {w: n for n, w in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)}  # fmt: skip
_SIZE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORDS = bounded(
    rf"(?i)\b(?:{'|'.join([*_WORD, *_SIZE])})(?:(?:[\s-]|\sand\s)(?:{'|'.join([*_WORD, *_SIZE])})\b){{0,6}}"
)
_HAN = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_SIZE = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_HANS = bounded("[零一二两三四五六七八九十百千万亿〇]{2,12}")
_ABOUT = bounded(
    r"(?i)(?:about|around|roughly|approximately|nearly|almost|some|over|under|more than|less than|~|≈|约|大约|近|接近|大概|左右|超过|不到)\s*$"
)
_COUNT = bounded(
    r"(?i)\s*(?:of the |more |other |different |种|个|条|项|处|次|类|点)?(?:findings?|causes?|checks?|files?|lines?|points?|places?|things?"
    r"|settings?|reasons?|possibilit|options?|signs?|sources?|candidates?|hypothes|facts?|runs?|metrics?|发现|原因|检查|文件|设置|可能|证据|指标|方面|假设|来源)"
)
_TIMES = bounded(r"(?i)^\s?(?:x\b|×|times|fold|-fold|倍|%|percent)")
_OBSERVES = bounded(
    r"(?i)\b(?:steps?|lines?|ranks?|nodes?|gpus?|loss|norm|epoch|throughput|accuracy|memory|was|were|reached|shows?|showed|fell|rose"
    r"|drops?|dropped|jump\w{0,3}|logged|logs|hit|measured|observed|recorded|at)\b|第|步|显示|日志|记录|达到|降到|升到|跌|显存|测得|观察"
)
"""Words that tell of this run: only beside them is a number of advice or of an explanation held against the case."""
_PROPOSED = bounded(r"(?i)(?:\b(?:to|for|run|try|set|every|within|least|most|by|first|next|last|another|use|with|than|below|above|and)|=|<|>|≤|≥|改为|改成|调到|降到|升到"
                    r"|设为|设成|跑|训练|每|至|到|为|前|后|再|过|用|约)\s*$")  # fmt: skip
"""Before a number that advice asks for."""
_CLAUSE = re.compile(r"[,;，；。:：(（]\s?(?!\d)|\.\s")
FILE = bounded(r"(?<![\w@:/.-])(?:~?/)?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.(?:py|log|ya?ml|json|jsonl|csv|tsv|txt|sh|md|toml|cfg|ini|pt|pth|bin|safetensors"
               r"|out|err|parquet|npz|ckpt|ipynb|conf|diff|patch|wandb|db)\b|(?<![\w/.])~?/(?:[\w.@+-]+/)*[\w.@+-]{2,}")  # fmt: skip
NAME = bounded(r"(?<![\w-])--?[a-z][\w-]{2,}|\b[A-Za-z]\w*_\w+\b|\b[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+\b|\b[A-Z]\w*(?:Error|Exception|Warning)\b"
               r"|\b[A-Za-z]+-\d[\w-]*\b|(?<![\w-])(?=[A-Za-z]*\d)[A-Za-z]+\d[\w-]*\b", re.ASCII)  # fmt: skip
_COMMON = bounded(r"(?i)fp?\d+(?:_?e\d+m\d+)?|bf16|tf32|u?int\d+|float\d+|bfloat16|l[12]|s[0-3]|log(?:2|10)|zero-?[0-3]|top-\d+|p\d\d|v\d|x86|step-\d+"
                  r"|gpt-?\d\w*|llama-?\d\w*|e\.g|i\.e|a\.k\.a|u\.s|adam\w?\d?|beta[12]|[a-z]\d?|pass@\d+|rank-?\d+|k8s|utf-?\d+|base64|sha256|md5|cuda\d*")  # fmt: skip
"""Names of formats, norms and methods: words, no references."""


@dataclass(frozen=True)
class Mark:
    """A stretch of a statement that its evidence does not hold."""

    start: int
    end: int
    what: str
    """`number`, `file` or `name`."""
    elsewhere: str = ""
    """The row of the case that holds it, though the statement does not cite it."""


@dataclass(frozen=True)
class Number:
    """A number in a text, in every size that its unit may mean."""

    start: int
    end: int
    values: tuple[float, ...]
    digit: float
    """What the last digit is worth."""
    times: bool = False
    """Whether it is a ratio."""

    def known(self, others: Iterable[float], near: bool = False, rounded: bool = True) -> bool:
        """Whether it is one of the others, perhaps rounded to the digits that it shows."""
        for v in self.values:
            size = self.digit * abs(v / self.values[0]) if self.values[0] else self.digit
            for o in others:
                gap = abs(abs(v) - abs(o))
                if gap <= 0.501 * size * rounded or gap <= 1e-6 * abs(o) or (near and gap <= NEAR * abs(o)):
                    return True
        return False


def marks(said: Said, beside: Sequence[str], ledger: Ledger) -> list[Mark]:
    """The marks of one statement, in their order.

    Args:
        said: the statement.
        beside: ids that the whole reply rests on: its facts and its cause.
        ledger: the case.
    """
    ids = [id for id in ledger.rows if id[0] in "PA" or id in said.cites or id in beside]
    taken = [*_names(said, ledger)]
    spans = [(m.start(), m.end()) for p in (FILE, ID) for m in p.finditer(said.text)]
    spans += [(m.start(), m.end()) for m in NAME.finditer(said.text)]
    found = [n for n in numbers(said.text) if not any(a <= n.start < b for a, b in spans)]
    return sorted([*taken, *_numbers(said, found, ids, ledger)], key=lambda m: m.start)


def _numbers(said: Said, found: Sequence[Number], ids: Sequence[str], ledger: Ledger) -> Iterator[Mark]:
    cited = [values_of(ledger.rows[id].text + " " + ledger.rows[id].place) for id in ids if _vouches(id, ledger)]
    all_cited = [v for row in cited for v in row]
    plain = [n for n in found if not _counts(said.text, n, len(said.cites))]
    held = {n for n in plain if n.known(all_cited, _about(said.text, n))}
    measured = [_measured(ledger.rows[id].text) for id in ids if id[0] in "FRMVT" and _vouches(id, ledger)]
    made = [v for row in measured if len(row) <= TOGETHER for v in _sums(row, False)]
    ratios = [v for row in measured if len(row) <= TOGETHER for v in _sums(row, True)]
    own = [n.values[-1] for n in held][:TOGETHER]
    inside = [*_sums(own, True), *_sums(own, False)]
    for n in plain:
        near = _about(said.text, n)
        if n in held or n.known(inside, near) or n.known(made) or (n.times and n.known(ratios, near)):
            continue
        if said.kind in ("next", "explain") and not _OBSERVES.search(_clause(said.text, n)):
            continue
        if said.kind == "next" and _PROPOSED.search(said.text[: n.start]):
            continue
        other = next((id for id, row in ledger.rows.items() if n.known(values_of(row.text), rounded=False)), "")
        yield Mark(n.start, n.end, "number", other)


def _names(said: Said, ledger: Ledger) -> Iterator[Mark]:
    """Files, and outside of advice and explanation also keys and names, that the case does not hold."""
    everything = "\n".join(f"{row.text} {row.place}" for row in ledger.rows.values()).lower()
    patterns = [("file", FILE)] + [("name", NAME)] * (said.kind in ("answer", "because", "unknown"))
    spans: list[tuple[int, int]] = []
    for what, pattern in patterns:
        for m in pattern.finditer(said.text):
            token = m[0].rstrip(".").lower()
            if any(a < m.end() and m.start() < b for a, b in spans) or ID.fullmatch(m[0]):
                continue
            spans.append((m.start(), m.start() + len(token)))
            common = what == "name" and (_COMMON.fullmatch(token) or token.lstrip("-") in vocabulary())
            if not common and not re.search(rf"(?<![\w.-]){re.escape(token)}(?![\w-])", everything):
                yield Mark(m.start(), m.start() + len(token), what)


@cache
def vocabulary() -> frozenset[str]:
    """Names of metrics and settings, as triage and the frameworks call them, and those of the shipped runbook."""
    from ...knowledge.runbook import load
    from ...tools.config.frameworks import FRAMEWORKS

    keys = {k.lower() for f in FRAMEWORKS.values() for spelled in f.keys.values() for k in spelled.split()}
    told = {m[0].lower() for e in load() for s in (*e.said("en").values(), e.check_first.en) for m in NAME.finditer(s)}
    last = {k.rpartition(".")[2].lstrip("-").replace("-", "_") for k in keys}
    return frozenset({*VOCABULARY, *VARIABLES, *CONTEXT, *keys, *last, *told, *(t.lstrip("-") for t in told)})


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text, in digits, English words and Chinese numerals."""
    for m in _NUMBER.finditer(text):
        parts = _PARTS.match(m[0])
        if parts is None:
            continue
        sign, digits, unit = parts.groups()
        if unit and not text[m.start() : m.end()].strip():
            continue
        value = float(digits.replace(",", "")) * (-1 if sign in ("-", "−") else 1)
        mantissa, _, power = digits.lower().partition("e")
        digit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        scales = [s[unit] for s in (COUNTS, SECONDS, BYTES) if unit in s] or [
            s[unit[:-1]] for s in (SECONDS, BYTES) if unit[:-1] in s
        ]
        binary = (
            [BYTES[f"{unit[0]}iB"]] if len(unit) == 2 and f"{unit[0].upper()}iB" in BYTES and unit[0].isupper() else []
        )
        times = unit == "%" or bool(_TIMES.search(text[m.end() :]))
        yield Number(m.start(), m.end(), (value, *(value * s for s in (*scales, *binary))), digit, times)
    for m in _WORDS.finditer(text):
        value = float(_worded(m[0].lower()))
        if value > COUNTED:
            yield Number(m.start(), m.end(), (value,), 1.0, bool(_TIMES.search(text[m.end() :])))
    for m in _HANS.finditer(text):
        value = float(_han(m[0]))
        if value > COUNTED and any(c in _HAN_SIZE for c in m[0]) and any(c in _HAN for c in m[0]):
            yield Number(m.start(), m.end(), (value,), 1.0, text[m.end() : m.end() + 1] == "倍")


def _worded(words: str) -> int:
    total, part = 0, 0
    for word in re.split(r"[\s-]+", words):
        if word in _SIZE:
            part = max(part, 1) * _SIZE[word]
            if _SIZE[word] > 100:
                total, part = total + part, 0
        else:
            part += _WORD.get(word, 0)
    return total + part


def _han(text: str) -> int:
    total, part, digit = 0, 0, 0
    for c in text:
        if c in _HAN:
            digit = _HAN[c]
        elif _HAN_SIZE[c] >= 10**4:
            total, part, digit = (total + part + digit) * _HAN_SIZE[c], 0, 0
        else:
            part, digit = part + max(digit, 1) * _HAN_SIZE[c], 0
    return total + part + digit


@cache
def values_of(text: str) -> tuple[float, ...]:
    """Every value of the numbers of a text; dates and places count as well."""
    digits = (float(d) for d in re.findall(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", text, re.ASCII) if len(d) < 40)
    return tuple(dict.fromkeys([*(v for n in numbers(text) for v in n.values), *digits]))


@cache
def _measured(text: str) -> tuple[float, ...]:
    """The numbers of a row as it tells them, without ids, files and names."""
    spans = [(m.start(), m.end()) for p in (FILE, NAME, ID) for m in p.finditer(text)]
    return tuple(dict.fromkeys(n.values[-1] for n in numbers(text) if not any(a <= n.start < b for a, b in spans)))


def _sums(row: Sequence[float], ratios: bool) -> Iterator[float]:
    for a, b in permutations(row, 2):
        if ratios and b:
            yield from (a / b, 100 * a / b, 100 * (a - b) / b, a / b - 1)
        elif not ratios:
            yield a - b


def _vouches(id: str, ledger: Ledger) -> bool:
    """Whether the row holds measured numbers: a calculation does where those that it starts from stand somewhere."""
    row = ledger.rows[id]
    if not row.text.startswith("calc("):
        return True
    free = {10.0**i for i in range(13)} | {2.0**i for i in range(11)} | {60.0, 3600.0, 24.0, 3.0, 5.0, 6.0, 7.0, 12.0}
    known = [v for i, r in ledger.rows.items() if i != id for v in values_of(r.text)]
    return all(n.values[0] in free or n.known(known) for n in numbers(row.place))


def _about(text: str, n: Number) -> bool:
    return bool(_ABOUT.search(text[max(0, n.start - 14) : n.start])) or text[n.end : n.end + 3].strip().startswith(
        ("左右", "多")
    )


def _counts(text: str, n: Number, cited: int) -> bool:
    """Whether the number counts things of the answer, or a list."""
    if abs(n.values[0]) > COUNTED or n.values[0] != int(n.values[0]) or n.digit < 1:
        return False
    listed = n.start == 0 and text[n.end : n.end + 1] in (".", ")", "、")
    return listed or bool(_COUNT.match(text[n.end :])) or n.values[0] == 1


def _clause(text: str, n: Number) -> str:
    start = max((m.end() for m in _CLAUSE.finditer(text) if m.end() <= n.start), default=0)
    end = next((m.start() for m in _CLAUSE.finditer(text) if m.start() >= n.end), len(text))
    return text[start:end]

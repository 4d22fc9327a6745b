"""What an answer may rest on: the evidence that the model was shown, in the forms that the guards ask for.

A number is known together with what it measures, its unit and the words around it: 42 seconds are not 42 minutes, and
a value of the loss is none of the gradient norm. Numbers are read in digits, English words and Chinese numerals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

from ....tools.findings import Finding
from ....tools.patterns import bounded
from ...propose import Proposal
from ..shown import Shown
from . import words


@dataclass(frozen=True)
class Number:
    """One number in a text."""

    value: float
    digits: int
    """Digits after the point; -1 where an exponent or a letter scales it, and rounding cannot be told."""
    unit: str = ""
    """A key of `guard_words.UNITS`, or nothing."""

    def known(self, other: Number) -> bool:
        """Whether `other`, a number of the evidence, is this one, perhaps rounded here to the digits shown."""
        gap, rounded = abs(self.value - other.value), self.digits > 0 or (self.digits == 0 and other.value >= 1)
        thousands = self.digits == 0 and self.value >= 10_000 and self.value % 1000 == 0 and gap <= 500
        equal = thousands or gap <= 1e-9 * abs(other.value) or (rounded and gap <= 0.5 * 10**-self.digits)
        return equal and self.unit in ("", "points", other.unit)


@dataclass(frozen=True)
class Context:
    """Numbers that stand together in the evidence, and what they are about."""

    words: set[str]
    subjects: set[str]
    numbers: list[Number]
    finding: int = 0
    """Number of the finding, 0 for anything else."""


class Facts:
    """The shown evidence in the forms that the rules ask for."""

    def __init__(self, shown: Shown):
        self.shown, self.answer = shown, shown.answer

    @cached_property
    def ours(self) -> str:
        return flat("\n".join(self.shown.ours))

    @cached_property
    def all(self) -> str:
        return flat("\n".join((*self.shown.ours, *self.shown.theirs)))

    @cached_property
    def quotes(self) -> set[str]:
        """Sentences of the runbook on what to check first and what to beware of."""
        entries = [h.entry for h in self.answer.diagnosis.hypotheses]
        texts = [t.say(self.answer.lang) for e in entries for t in (e.check_first, *e.cautions)]
        return {flat(plain(s)) for text in texts for s in words.SENTENCE_END.split(text)}

    @cached_property
    def said(self) -> set[str]:
        """Sentences of the built-in answer."""
        return {flat(plain(s)) for s in words.SENTENCE_END.split(self.answer.text)} | self.quotes

    @cached_property
    def words(self) -> set[str]:
        """Content words of the evidence and of the built-in answer."""
        return content(self.all) | content(self.answer.text)

    @cached_property
    def tokens(self) -> set[str]:
        checks = {c.name for c in self.answer.diagnosis.checks}
        return checks | set(re.findall(r"[\w][\w.@/:-]*\w|\w", self.all))

    @cached_property
    def contexts(self) -> list[Context]:
        findings = [_finding(f, n) for n, f in enumerate(self.answer.diagnosis.findings, 1)]
        lines = [t for t in (*self.shown.ours, *self.shown.theirs) if not re.match(r"\[F[1-9]", t)]
        texts = [
            (t, subjects(t)) for line in lines for t in (line.split(";") if words.CRITERIA.match(line) else [line])
        ]
        settings = list(self.answer.seen.settings) if self.answer.seen else []
        texts += [
            (
                f"setting config 设置 配置 {s.variable} {s.key}: {s.value} line {s.line}",
                subjects(f"{s.variable} {s.key}"),
            )
            for s in settings
        ]
        return findings + [Context(content(t) | _odds(t), about, list(numbers(t))) for t, about in texts]

    @cached_property
    def numbers(self) -> list[Number]:
        return [n for c in self.contexts for n in c.numbers]

    @cached_property
    def steps(self) -> set[float]:
        """Values that are a step, or a count of steps."""
        places = [e.step for f in self.answer.diagnosis.findings for e in f.evidence if e.step is not None]
        said = [
            n.value for f in self.answer.diagnosis.findings for n in numbers(f.say("en")) if n.unit in ("", "steps")
        ]
        named = [n.value for n in self.numbers if n.unit == "steps"]
        named += [n.value for m in words.STEP.finditer(self.all) for n in numbers(m[0])]
        settings = self.answer.seen.settings if self.answer.seen else ()
        counted = [s.value for s in settings if "step" in s.variable and isinstance(s.value, (int, float))]
        data = [v for f in self.answer.diagnosis.findings for k, v in f.data.items() if k.endswith("step")]
        places += [v for v in data if isinstance(v, (int, float))]
        return {*map(float, (*places, *said, *named, *counted))}

    @cached_property
    def odds(self) -> set[float]:
        """Probabilities of the causes, in percent."""
        return {n.value for h in self.answer.diagnosis.hypotheses for n in numbers(h.percent)}

    @cached_property
    def proposal(self) -> Proposal | None:
        return self.answer.proposal if isinstance(self.answer.proposal, Proposal) else None

    def holds(self, text: str) -> bool:
        return flat(text) in self.all

    @cached_property
    def _latin(self) -> set[str]:
        """Stems of the words that an answer may use: those of the case, and those that explain."""
        case = f"{self.all} {self.answer.text.lower()}"
        return {stem(w) for w in _LATIN.findall(case)} | _explaining()[0] | set(words.WORD_NUMBERS)

    @cached_property
    def _han(self) -> set[str]:
        """Pieces of Chinese that an answer may use: of the case, or of an explanation."""
        runs = set(_HAN.findall(f"{self.all} {self.answer.text}"))
        lengths = range(2, LONGEST_PIECE + 1)
        return {run[i : i + n] for run in runs for n in lengths for i in range(len(run) - n + 1)} | _explaining()[1]

    def news(self, text: str, unclaimed: bool) -> list[str]:
        """The words that neither the case nor an explanation has; one that claims nothing may also speak of acts."""
        latin, han = (self._latin | words.ACTS_EN, self._han | words.ACTS_ZH) if unclaimed else (self._latin, self._han)
        found = [w for w in _LATIN.findall(text.lower()) if stem(w) not in latin]
        return found + [c for run in _HAN.findall(text) for c in _uncovered(run, han)]

    def traces(self, number: Number, around: set[str], about: set[str], cited: set[int]) -> bool:
        """Whether the evidence holds the number for one of these subjects, or in a context that shares a word."""
        if number.unit == "steps" and not about:
            return number.value in self.steps
        if number.unit == "%" and not about and number.value in self.odds:
            return True
        if not about and not number.unit and number.value in range(11):
            return any(number.known(n) for n in self.numbers)
        steps = number.unit == "steps"
        bare = replace(number, unit="") if steps else number
        for c in self.contexts:
            related = c.finding in cited or (c.subjects & about if about else c.words & around)
            if related and any(bare.known(n) and not (steps and n.unit not in ("", "steps")) for n in c.numbers):
                return True
        return False


LONGEST_PIECE = 6
_LATIN = re.compile(r"[a-z]{2,}")
_HAN = re.compile(r"[\u3400-\u9fff]+")


@cache
def _explaining() -> tuple[set[str], set[str]]:
    """(English stems, Chinese pieces) in `explaining/`."""
    folder = files(__package__ or "") / "explaining"
    en, zh = (re.sub("#.*", "", (folder / f"{lang}.txt").read_text("utf-8")).split() for lang in ("en", "zh"))
    return set(map(stem, en)), set(zh)


def _uncovered(run: str, known: set[str]) -> list[str]:
    """The characters of a run of Han text that are left when known pieces are laid over it in the best way."""
    best: list[list[str]] = [[]]
    for end in range(1, len(run) + 1):
        ways = [best[start] for start in range(max(0, end - LONGEST_PIECE), end) if run[start:end] in known]
        best.append(min((*ways, [*best[end - 1], run[end - 1]]), key=len))
    return best[-1]


_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|e)?s?$")
_TWICE = re.compile(r"([b-df-hj-np-tv-z])\1$")


def stem(word: str) -> str:
    """Without the endings that say when or how many; loose, as both sides of a comparison are stemmed alike."""
    return _TWICE.sub(r"\1", _ENDING.sub("", word, count=1))


def _odds(line: str) -> set[str]:
    """The words for the number in a hypothesis's line."""
    return content("probability likely chance 概率 可能") if line.startswith("cause [") else set()


def _finding(finding: Finding, number: int) -> Context:
    """A finding's numbers: its sentence's, its places' and its data's; about the metric or setting that it names."""
    places = finding.evidence
    own = finding.data.get("metric") or finding.data.get("variable")
    named = [str(own)] if own else [finding.message]
    said = " ".join((finding.code.replace("-", " "), finding.message, finding.zh))
    values = [v for e in places for v in (e.line, e.step, e.rank, e.value)] + list(finding.data.values())
    fields = [Number(abs(float(v)), 0) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    shares = [v for k, v in finding.data.items() if k.endswith(("rate", "ratio", "share")) and isinstance(v, float)]
    fields += [Number(100 * v, 0, "%") for v in shares]
    about = {s for name in (*named, *(e.metric or "" for e in places)) for s in subjects(name)}
    return Context(
        content(said) | {"step", "line", "rank"},
        about,
        [*numbers(finding.message), *numbers(finding.zh), *fields],
        number,
    )


def subjects(text: str) -> set[str]:
    """The metrics and settings with values of their own that a text names."""
    return {name for name, pattern in words.MEASURED.items() if pattern.search(text)}


_SEAM = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[\u3400-\u9fff])")
_UNSEEN = {c: "" for c in (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)}
_WIDE = {c: c - 0xFEE0 for c in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B), 0xFF05)}


def spaced(text: str) -> str:
    """With spaces where Han and Latin meet, so that both have word ends, and with no unseen or wide letters."""
    return _SEAM.sub(" ", text.translate(_UNSEEN | _WIDE))


def flat(text: str) -> str:
    return " ".join(spaced(text).lower().replace("`", "").split())


def plain(sentence: str) -> str:
    """Without Markdown's marks."""
    return re.sub(r"\*+|^[\s>#-]+", " ", sentence).strip()


_STOP = frozenset(
    re.findall(
        "[a-z]+", "the a an is are was were be to of in on for and or it this that with by at from as too not no so"
    )
) | {"loss", "run", "training", "model"}


def content(text: str) -> set[str]:
    """Content words of English (stemmed by their first five letters) and pairs of Han characters."""
    latin = {w[:5] for w in re.findall(r"[a-z]{2,}", text.lower()) if w not in _STOP}
    han = {run[i : i + 2] for run in re.findall(r"[\u3400-\u9fff]+", text) for i in range(len(run) - 1)}
    return latin | han


_DIGITS = re.compile(r"(?<![\w.§])(\d[\d,]*(?:\.\d+)?|\.\d+)([eE][-+]?\d+)?(?:\s?([kKM])(?![A-Za-z_])|([万千]))?(?!\d)")
_POWER = bounded(r"(?:(\d+(?:\.\d+)?)\s*[×*x·]\s*)?(?<!\d)10\s*\^\s*\{?([-+]?\d+)\}?")
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_SCALE = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "万": 1e4, "千": 1e3}
_ZH = "零〇一二两三四五六七八九十百千万亿"
_ZH_NUMBER = re.compile(
    rf"([{_ZH}]{{2,}}|[二两三四五六七八九十百千])(?=[多余来]?(?:{words.ZH_COUNTERS}))|([{_ZH}]{{3,}})"
)
_SHARE = re.compile(rf"百分之([{_ZH}]+)|([一二两三四五六七八九])成(?![为员本功了])")
_ZH_DECIMAL = bounded(rf"([{_ZH}]+)点([零〇一二三四五六七八九]+)(?!钟)")
_UNIT_BEFORE = re.compile(r"\((\w+)\)\s*[=:]\s*$")
_RANGE = re.compile(r"\s*(?:to|and|or|[-–~～]|至|到)\s*")


def numbers(text: str) -> Iterator[Number]:
    """Every number of the text with its unit; in a range both ends have the last one's."""
    text = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda m: f"^{m[0]}", spaced(text)).translate(_SUPERSCRIPT)
    text = _ZH_DECIMAL.sub(lambda m: f" {_han(m[1]):g}.{''.join(map(_digit, m[2]))} ", text)
    text = _SHARE.sub(lambda m: f" {_han(m[1] or m[2] + '十'):g}% ", text)
    text = _POWER.sub(lambda m: f"{m[1] or 1}e{m[2]}", text)
    found = sorted((*_digits(text), *_english(text), *_chinese(text)), key=lambda f: f[0])
    unit, start = "", -1
    read: list[Number] = []
    for begin, end, value, digits in reversed(found):
        own = next((u for u, pattern in words.UNITS.items() if pattern.match(text, end)), "")
        if not own and (before := _UNIT_BEFORE.search(text, 0, begin)):
            own = next((u for u, pattern in words.UNITS.items() if pattern.match(before[1])), "")
        unit = own or (unit if start >= 0 and _RANGE.fullmatch(text, end, start) else "")
        start = begin
        read.append(Number(value, digits, unit))
    yield from reversed(read)


_Found = tuple[int, int, float, int]
"""(start, end, value, digits after the point or -1)"""


def _digits(text: str) -> Iterator[_Found]:
    for match in _DIGITS.finditer(text):
        digits, exponent, scale = match[1].replace(",", ""), match[2] or "", match[3] or match[4] or ""
        places = -1 if exponent or scale else len(digits.partition(".")[2])
        yield match.start(), match.end(), float(digits + exponent) * _SCALE[scale], places


def _english(text: str) -> Iterator[_Found]:
    """Numbers written as words; "one" is an article as often as a number."""
    group: list[re.Match[str]] = []
    for match in [*re.finditer(r"[a-z]+", text.lower()), None]:
        if match and match[0] in words.WORD_NUMBERS:
            group.append(match)
        elif group and not (match and match[0] == "and"):
            value = _combine([words.WORD_NUMBERS[m[0]] for m in group])
            if value > 1:
                yield group[0].start(), group[-1].end(), value, 0
            group = []


def _combine(group: list[int]) -> float:
    total, part = 0, 0
    for n in group:
        if n >= 1000:
            total, part = total + max(part, 1) * n, 0
        elif n == 100:
            part = max(part, 1) * 100
        else:
            part += n
    return float(total + part)


def _chinese(text: str) -> Iterator[_Found]:
    for match in _ZH_NUMBER.finditer(text):
        yield match.start(), match.end(), _han(match[0]), 0


def _digit(letter: str) -> str:
    return str("零一二三四五六七八九".find(letter.replace("〇", "零")))


def _han(text: str) -> float:
    total, part, digit = 0, 0, 0
    for c in text:
        if c in "十百千":
            part += max(digit, 1) * {"十": 10, "百": 100, "千": 1000}[c]
            digit = 0
        elif c in "万亿":
            total, part, digit = (total + part + digit) * (10**4 if c == "万" else 10**8), 0, 0
        else:
            digit = "零一二三四五六七八九".find(c.replace("〇", "零").replace("两", "二"))
    return float(total + part + digit)

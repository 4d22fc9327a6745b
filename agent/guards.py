"""What stands between a model's words and the person: each sentence passes every rule, or is left out and counted.

A sentence may cite, number, name, blame or advise only what the case holds. The rules look at form, not at meaning: an
odd but true sentence may be lost, and the built-in answer always follows whole, so nothing is lost with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, cached_property

from ..tools.redact import redact
from . import guard_words as words
from .propose import Proposal
from .shown import Shown, instruction

LEVEL = {"established": 3, "supported": 2, "possible": 1, "refuted": 0}
_NUMBER = re.compile(r"(?<![\w.§])(\d[\d,]*(?:\.\d+)?|\.\d+)([eE][-+]?\d+)?\s?(%|[kKM]\b)?(?![A-Za-z_]\w)")
_ZH_NUMBER = re.compile(
    r"([零〇一二两三四五六七八九十百千万亿]{2,}|[二两三四五六七八九十百千])(?=步|倍|次|张|卡|轮|天|小时|分钟|秒|条|行|个(?!原因))"
)
_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(
    rf"(?:[\w.@~-]*/)*[\w.@-]+\.(?:{words.EXTENSIONS})\b(?::\d+)?|(?<![\w.])(?:~|\.{{0,2}})/[\w.@/-]{{2,}}"
)
_NAME = re.compile(
    r"(?<!\w)--?[a-zA-Z][\w-]*(?:=\S+)?|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b\w+(?:\.\w+)+\(\)?|\b[a-z]+\(\)"
)
_MIXED = re.compile(r"(?<![\w-])(?=[\w-]*\d)[A-Za-z][\w-]*\b|\b\d+(?:\.\d+)?[A-Za-z]{1,3}\b")
_COMMON = {
    "fp16",
    "bf16",
    "fp32",
    "fp8",
    "int8",
    "int4",
    "tf32",
    "float16",
    "bfloat16",
    "float32",
    "l2",
    "l1",
    "log2",
} | {*("s0", "s1", "s2", "s3", "zero-1", "zero-2", "zero-3", "ln2")}
"""Names of number formats, norms and grades that are words, not references."""
_KEBAB = re.compile(r"[\[`]`?([a-z0-9]+(?:-[a-z0-9]+)+)`?[\]`]|\b([a-z0-9]+(?:-[a-z0-9]+){1,6})\b")
_FINDING = re.compile(r"\bF(\d+)\b")
_STEP = re.compile(
    r"\b(?:steps?|iterations?|iter)\s*(?:#|number )?\s*(\d[\d,]*)|第\s*(\d+)\s*步|(\d+)\s*步", re.IGNORECASE
)
_URL = re.compile(r"(?:https?|ftp|file|s3)://\S+|\bwww\.\S+", re.IGNORECASE)
_BOUND = re.compile(
    r"`?\b([a-z]+(?:_[a-z0-9]+)+|loss|kl|entropy|reward|learning rate|lr)`?\s*"
    r"(?:is|was|were|of|at|to|=|:|reached|hit|equals|became|为|是|到|达到|等于|约)\s*"
    r"`?(?:about |around |roughly )?(-?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\b",
    re.IGNORECASE,
)
"""A metric or setting directly followed by its value."""


class Guard:
    """The rules for one answer, fed as the model streams.

    `feed` and `close` return the text that may be shown; `dropped` counts what was left out by rule, and `kept` the
    sentences that passed.
    """

    def __init__(self, shown: Shown, lang: str):
        self.shown, self.lang = shown, lang
        self.dropped: Counter[str] = Counter()
        self.kept = 0
        self._buffer, self._fenced, self._heading = "", False, ""
        self._facts: tuple[int, Facts] | None = None
        self._said: set[str] = set()

    def feed(self, text: str) -> str:
        """The sentences that `text` completes, where they passed."""
        self._buffer += text
        *whole, self._buffer = words.SENTENCE_END.split(self._buffer)
        return "".join(map(self._pass, whole))

    def close(self, cut_off: bool = False) -> str:
        """The last sentence, when the model has ended; nothing of it where it was cut off."""
        rest, self._buffer = self._buffer, ""
        return "" if cut_off else self._pass(rest)

    def _pass(self, sentence: str) -> str:
        """The sentence, with the heading that was waiting for it; or nothing."""
        if sentence.strip().startswith("```"):
            self._fenced = not self._fenced
            self.dropped["format"] += self._fenced
            return ""
        if self._fenced:
            return ""
        if not sentence.strip(" \t\n*_#>-·.。"):
            return "\n" if "\n" in sentence else ""
        if sentence.lstrip().startswith("#"):
            self._heading = sentence if not self.judge(sentence) else ""
            return ""
        if rule := self._repeated(sentence) or self.judge(sentence):
            self.dropped[rule] += 1
            return "\n" if sentence.endswith("\n") else ""
        self.kept += 1
        heading, self._heading = self._heading, ""
        return heading + redact(sentence)

    def _repeated(self, sentence: str) -> str:
        """`repeat` for a sentence that was said before: a model in a loop."""
        said = _flat(_plain(sentence))
        again = said in self._said
        self._said.add(said)
        return "repeat" if again else ""

    def judge(self, sentence: str) -> str:
        """The name of the first rule that the sentence breaks, or an empty string.

        What the built-in answer says word for word needs no tracing: the person reads it anyway.
        """
        facts = self._facts_now()
        rules = ALWAYS if _flat(_plain(sentence)) in facts.said else RULES
        return next((name for name in rules if RULES[name](sentence, facts, self.lang)), "")

    def _facts_now(self) -> Facts:
        size = len(self.shown.ours) + len(self.shown.theirs)
        if self._facts is None or self._facts[0] != size:
            self._facts = size, Facts(self.shown)
        return self._facts[1]


class Facts:
    """The shown evidence in the forms that the rules ask for."""

    def __init__(self, shown: Shown):
        self.shown, self.answer = shown, shown.answer

    @cached_property
    def ours(self) -> str:
        return _flat("\n".join(self.shown.ours))

    @cached_property
    def all(self) -> str:
        return _flat("\n".join((*self.shown.ours, *self.shown.theirs)))

    @cached_property
    def lines(self) -> list[str]:
        return [_flat(text) for text in (*self.shown.ours, *self.shown.theirs)]

    @cached_property
    def said(self) -> set[str]:
        return {_flat(_plain(s)) for s in words.SENTENCE_END.split(self.answer.text)}

    @cached_property
    def tokens(self) -> set[str]:
        checks = {c.name for c in self.answer.diagnosis.checks}
        return checks | set(re.findall(r"[\w][\w.@/:-]*\w|\w", self.all))

    @cached_property
    def numbers(self) -> set[float]:
        places = [e for f in self.answer.diagnosis.findings for e in f.evidence]
        fields = [n for e in places for n in (e.line, e.step, e.rank, e.value) if isinstance(n, (int, float))]
        return {*(v for v, _, _ in numbers(self.all)), *_spelled(self.all), *(abs(float(n)) for n in fields)}

    @cached_property
    def steps(self) -> set[int]:
        places = [e.step for f in self.answer.diagnosis.findings for e in f.evidence if e.step is not None]
        said = {int(v) for f in self.answer.diagnosis.findings for v, _, _ in numbers(f.say("en")) if v == int(v)}
        named = {int(g.replace(",", "")) for m in _STEP.finditer(self.all) for g in m.groups() if g}
        settings = self.answer.seen.settings if self.answer.seen else ()
        counted = {int(s.value) for s in settings if "step" in s.variable and isinstance(s.value, (int, float))}
        return {*map(int, places), *said, *named, *counted}

    @cached_property
    def proposal(self) -> Proposal | None:
        return self.answer.proposal if isinstance(self.answer.proposal, Proposal) else None

    def holds(self, text: str) -> bool:
        return _flat(text) in self.all


def _flat(text: str) -> str:
    return " ".join(text.lower().replace("`", "").split())


def numbers(text: str) -> Iterator[tuple[float, int, bool]]:
    """(value, digits after the point or -1 for exponents, whether a percentage) of every number in the text."""
    for match in _NUMBER.finditer(text):
        digits, exponent, unit = match[1].replace(",", ""), match[2] or "", match[3] or ""
        value = float(digits + exponent) * {"k": 1e3, "K": 1e3, "M": 1e6}.get(unit, 1)
        yield value, -1 if exponent or unit in ("k", "K", "M") else len(digits.partition(".")[2]), unit == "%"


def untraced_citation(sentence: str, facts: Facts, lang: str) -> bool:
    """A finding, an entry, an address or a publication that was not shown."""
    count = len(facts.answer.diagnosis.findings)
    if any(not 0 < int(m[1]) <= count for m in _FINDING.finditer(sentence)):
        return True
    if any(not facts.holds(m[0].rstrip(".,)>]")) for m in _URL.finditer(sentence)):
        return True
    if any(not facts.holds(m[0]) or _flat(m[0]) not in facts.ours for m in words.OUTSIDE.finditer(sentence)):
        return True
    for match in _KEBAB.finditer(sentence):
        bracketed, bare = match.groups()
        if bracketed and bracketed not in facts.tokens and not facts.holds(bracketed):
            return True
        if bare and bare in _entry_ids() and bare not in facts.tokens:
            return True
    return False


@cache
def _entry_ids() -> set[str]:
    from ..knowledge.runbook import load

    return set(load().entries)


def untraced_number(sentence: str, facts: Facts, lang: str) -> bool:
    """A number, a step or a value of a metric or setting that was not shown."""
    for match in _STEP.finditer(sentence):
        step = next(int(g.replace(",", "")) for g in match.groups() if g)
        if step not in facts.steps:
            return True
    for match in _BOUND.finditer(sentence):
        name, value = match[1].lower().replace(" ", "_"), float(match[2].replace(",", ""))
        names = {name, name.replace("_", " ")} | ({"learning_rate"} if name == "lr" else set())
        said = [abs(v) for line in facts.lines if any(n in line for n in names) for v, _, _ in numbers(line)]
        if not any(_same(abs(value), len(match[2].partition(".")[2]), v) for v in said):
            return True
    bare = _FINDING.sub(" ", re.sub(r"^\s*(?:[-*>]\s*)?\d{1,2}[.)]\s|\bS[0-3]\b", " ", sentence))
    bare = _FILE.sub(" ", bare)
    for value, digits, percent in numbers(bare):
        known = facts.numbers | ({n * 100 for n in facts.numbers} if percent else set())
        if not any(_same(value, digits, n) for n in known):
            return True
    return any(n not in facts.numbers for n in _spelled(sentence))


def _same(value: float, digits: int, known: float) -> bool:
    """Equal, or the known number rounded to the digits shown."""
    return (
        value == known
        or (digits >= 0 and known >= 1 and abs(value - known) <= 0.5 * 10**-digits)
        or (digits > 0 and abs(value - known) <= 0.5 * 10**-digits)
        or abs(value - known) <= 1e-9 * abs(known)
    )


def _spelled(sentence: str) -> Iterator[float]:
    """Numbers written as words; "one" is an article as often as a number."""
    group: list[int] = []
    for word in [*re.findall(r"[a-z]+", sentence.lower()), ""]:
        if word in words.WORD_NUMBERS:
            group.append(words.WORD_NUMBERS[word])
        elif word != "and" and group:
            total = _combine(group)
            group = []
            if total > 1:
                yield total
    for match in _ZH_NUMBER.finditer(sentence):
        yield _chinese(match[1])


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


def _chinese(text: str) -> float:
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


def untraced_name(sentence: str, facts: Facts, lang: str) -> bool:
    """A file, flag, setting, piece of code, model or machine that was not shown."""
    if any(not _code_known(m[1], facts) for m in _CODE.finditer(sentence)):
        return True
    bare = _CODE.sub(" ", sentence)
    if any(not facts.holds(m[0].rstrip(".")) for p in (_FILE, _NAME) for m in p.finditer(bare)):
        return True
    mixed = (m[0].lower() for m in _MIXED.finditer(_FINDING.sub(" ", bare)))
    return any(m not in _COMMON and m not in facts.tokens and not facts.holds(m) for m in mixed)


def _code_known(span: str, facts: Facts) -> bool:
    span = _flat(span)
    return (
        span in _COMMON
        or span in facts.all
        or re.fullmatch(r"f\d+|nan|inf|-inf|none|null|true|false|s[0-3]", span) is not None
    )


def overstated_cause(sentence: str, facts: Facts, lang: str) -> bool:
    """A cause stated with more certainty than the diagnosis gave it, or one that the diagnosis does not hold."""
    text = _plain(sentence)
    d = facts.answer.diagnosis
    linked = _linked(text, facts)
    if words.DENIED.search(text):
        return not any(h.status == "refuted" for h in linked)
    if words.PART_SOUND.search(text) and not _clear(text, facts):
        return True
    if words.REASSURED.search(text) and d.state != "healthy":
        return True
    named = any(_flat(h.entry.title.say(lang)) in _flat(text) for h in d.hypotheses)
    if not words.CAUSAL.search(text) and not named and not (words.CERTAIN.search(text) and linked):
        return False
    level = 3
    if words.HEDGE_MIDDLE.search(text):
        level = 2
    if words.HEDGE_LOW.search(text):
        level = 1
    if words.CERTAIN.search(text) and level == 2:
        level = 3
    allowed = max((LEVEL[h.status] for h in linked), default=0)
    if d.state != "diagnosed":
        allowed = min(allowed, 1)
    return level > allowed


def _plain(sentence: str) -> str:
    return re.sub(r"\*+|^[\s>#-]+", " ", sentence).strip()


def _linked(text: str, facts: Facts) -> list:
    """The hypotheses that the sentence speaks of: by id, or by the words of their title and cause."""
    low = _flat(text)
    found = []
    for h in facts.answer.diagnosis.hypotheses:
        cause = [h.cause.text] if h.cause else []
        said = [_content(t.say(lang)) for t in (h.entry.title, *cause) for lang in ("en", "zh")]
        mine = _content(low)
        if h.entry.id in low or any(len(s & mine) >= min(2, len(s)) for s in said if s):
            found.append(h)
    return found


_STOP = frozenset(
    re.findall(
        "[a-z]+", "the a an is are was were be to of in on for and or it this that with by at from as too not no so"
    )
) | {"loss", "run", "training", "model"}


def _content(text: str) -> set[str]:
    """Content words of English (stemmed by their first five letters) and pairs of Han characters."""
    latin = {w[:5] for w in re.findall(r"[a-z]{2,}", text.lower()) if w not in _STOP}
    han = {run[i : i + 2] for run in re.findall(r"[\u3400-\u9fff]+", text) for i in range(len(run) - 1)}
    return latin | han


def _clear(text: str, facts: Facts) -> bool:
    """Whether a check that found nothing speaks of what the sentence calls sound."""
    mine = _content(text)
    clear = (c.name.replace("-", " ") for c in facts.answer.diagnosis.checks if c.result == "clear")
    return any(len(_content(name) & mine) >= 1 for name in clear)


def unfounded_advice(sentence: str, facts: Facts, lang: str) -> bool:
    """Advice to change or run anything but the one proposed change."""
    text = _plain(
        _CODE.sub(lambda m: m[1] if m[1].startswith(("triage", "--run")) else re.sub(r"\W", "_", m[1]), sentence)
    )
    text = re.sub(r"^(?:[-*>]|\d{1,2}[.)])\s+", "", text)
    urged = False
    for clause in words.CLAUSE.split(text):
        clause = clause.strip(" -*\t\n")
        advised = bool(words.ADVICE.search(clause)) or (
            urged and re.match(rf"(?:{words.VERBS})\b", clause, re.IGNORECASE)
        )
        if not advised or words.LOOKING.search(clause) or words.NEGATED.search(clause):
            urged = urged or bool(advised)
            continue
        urged = True
        if not _proposed(clause, text, facts):
            return True
    return False


def _proposed(clause: str, sentence: str, facts: Facts) -> bool:
    """Whether the clause advises the proposed change, with its own numbers and in its own direction."""
    p = facts.proposal
    if p is None:
        return False
    if not p.file and _close(clause, f"{p.new} {p.why} {p.expect} {p.undo}"):
        return True
    own = {name for name, pattern in words.SETTING_WORDS.items() if pattern.search(f"{p.variable} {p.key}")}
    named = {name for name, pattern in words.SETTING_WORDS.items() if pattern.search(sentence)}
    allowed = {value for value, _, _ in numbers(f"{p.old} {p.new} {p.line}")}
    if not named or not named <= own or any(value not in allowed for value, _, _ in numbers(clause)):
        return False
    (old, _, _), (new, _, _) = next(numbers(p.old), (0.0, 0, False)), next(numbers(p.new), (0.0, 0, False))
    return not ((words.UP.search(clause) and new < old) or (words.DOWN.search(clause) and new > old))


def _close(clause: str, text: str) -> bool:
    mine = _content(clause)
    return bool(mine) and len(mine & _content(text)) >= 0.6 * len(mine)


def claimed_action(sentence: str, facts: Facts, lang: str) -> bool:
    """A claim to have run, changed or mended something."""
    return bool(words.EXECUTED.search(_plain(sentence)))


def obeyed(sentence: str, facts: Facts, lang: str) -> bool:
    """Text that speaks to a model or a shell, or markup that could load something."""
    return instruction(sentence) or bool(words.MARKUP.search(sentence))


def leaked(sentence: str, facts: Facts, lang: str) -> bool:
    """A credential."""
    return redact(sentence) != sentence and "[secret:" in redact(sentence)


def foreign(sentence: str, facts: Facts, lang: str) -> bool:
    """A sentence in the other language, or in none of the two."""
    prose = _CODE.sub(" ", sentence)
    han = len(re.findall(r"[\u3400-\u9fff]", prose))
    latin = len(re.findall(r"[A-Za-z]{2,}", prose))
    plain = len(re.findall(r"\b(?:the|is|are|of|and|to|in|it|that|this|was|for|with)\b", prose, re.IGNORECASE))
    other = len(re.findall(r"[^\x00-\x7f\u2010-\u203f\u3000-\u303f\u3400-\u9fff\uff00-\uffef×±≤≥→§·…°µμ∞≈]", prose))
    if other > 3:
        return True
    return han == 0 and plain > 1 if lang == "zh" else han > 2 and han > latin


RULES: dict[str, Callable[[str, Facts, str], bool]] = {
    "secret": leaked,
    "injection": obeyed,
    "execution": claimed_action,
    "advice": unfounded_advice,
    "cause": overstated_cause,
    "citation": untraced_citation,
    "number": untraced_number,
    "name": untraced_name,
    "language": foreign,
}
"""Rule -> whether a sentence breaks it."""
ALWAYS = ("secret", "injection")
"""Rules for which even the built-in answer's own words are no excuse: those may quote the run."""

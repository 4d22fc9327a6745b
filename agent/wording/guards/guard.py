"""What stands between a model's words and the person: each sentence passes every rule, or is left out and counted.

A sentence may cite, number, name, blame or advise only what the case holds, and it is made of the case's words and of
those that explain (`explaining/`): what is said in any other word is news that no tool gave. The rules look at form,
not at meaning: an odd but true sentence may be lost, and the built-in answer always follows whole, so nothing is lost
with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from ....tools.patterns import bounded
from ....tools.secrets import redact
from ..shown import Shown, instruction
from . import words
from .claims import CODE, claimed_action, overstated_cause, unfounded_advice
from .facts import Facts, content, flat, numbers, plain, spaced, subjects

_FILE = re.compile(
    rf"(?<![\w.@~/-])(?:[\w.@~-]*+/)*[\w.@-]+\.(?:{words.EXTENSIONS})\b(?::\d+)?"
    r"|(?<![\w.])(?:~|\.{0,2})/[\w.@/-]{2,}"
)
_NAME = bounded(
    r"(?<!\w)--?[a-zA-Z][\w-]*(?:=\S+)?|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b\w+(?:\.\w+)+\(\)?|\b[a-z]+\(\)"
)
_MIXED = re.compile(r"(?<![\w-])(?=[\w-]*\d)[A-Za-z][\w-]*\b|\b\d+(?:\.\d+)?[A-Za-z]{1,3}\b")
_CAMEL = re.compile(r"\b[A-Z]*[a-z]+[A-Z]\w*\b")
"""A name with a capital inside: a product, a model, a class."""
_COMMON = frozenset(
    re.findall(
        r"\S+",
        "fp16 bf16 fp32 fp8 int8 int4 tf32 float16 bfloat16 float32 l2 l1 log2 ln2 s0 s1 s2 s3 zero-1 zero-2 zero-3 "
        "nan nans lora qlora --json",
    )
)
"""Names of number formats, norms, grades and methods that are words, not references."""
_KEBAB = re.compile(r"[\[`]`?([a-z0-9]+(?:-[a-z0-9]+)+)`?[\]`]|\b([a-z0-9]+(?:-[a-z0-9]+){1,6})\b")
_FINDING = re.compile(r"\bF(\d+)\b")
_URL = re.compile(r"(?:https?|ftp|file|s3)://\S+|\bwww\.\S+", re.IGNORECASE)


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
        said = flat(plain(sentence))
        again = said in self._said
        self._said.add(said)
        return "repeat" if again else ""

    def judge(self, sentence: str) -> str:
        """The name of the first rule that the sentence breaks, or an empty string.

        What the built-in answer says word for word needs no tracing: the person reads it anyway.
        """
        facts, sentence = self._facts_now(), spaced(sentence)
        rules = ALWAYS if flat(plain(sentence)) in facts.said else RULES
        return next((name for name in rules if RULES[name](sentence, facts, self.lang)), "")

    def _facts_now(self) -> Facts:
        size = len(self.shown.ours) + len(self.shown.theirs)
        if self._facts is None or self._facts[0] != size:
            self._facts = size, Facts(self.shown)
        return self._facts[1]


def untraced_citation(sentence: str, facts: Facts, lang: str) -> bool:
    """A finding, an entry, an address or a publication that was not shown."""
    count = len(facts.answer.diagnosis.findings)
    if any(not 0 < int(m[1]) <= count for m in _FINDING.finditer(sentence)):
        return True
    if any(not facts.holds(m[0].rstrip(".,)>]")) for m in _URL.finditer(sentence)):
        return True
    if any(not facts.holds(m[0]) or flat(m[0]) not in facts.ours for m in words.OUTSIDE.finditer(sentence)):
        return True
    for match in _KEBAB.finditer(sentence):
        bracketed, bare = match.groups()
        if bracketed and bracketed not in facts.tokens and not facts.holds(bracketed):
            return True
        named = bare and (bare in _entry_ids() or words.ENTRY_LIKE.fullmatch(bare) or words.ENTRY.search(sentence))
        if named and bare not in facts.tokens and not facts.holds(bare):
            return True
    return False


@cache
def _entry_ids() -> set[str]:
    from ....knowledge.runbook import load

    return set(load().entries)


def untraced_number(sentence: str, facts: Facts, lang: str) -> bool:
    """A number, a step, a rank or an amount in words that was not shown, or not of what the sentence speaks of."""
    cited = {int(m[1]) for m in _FINDING.finditer(sentence)}
    bare = _FINDING.sub(" ", re.sub(r"^\s*(?:[-*>]\s*)?\d{1,2}[.)]\s|\bS[0-3]\b|\b[A-Z]-\d{2}\b", " ", sentence))
    bare = words.COUNTED.sub(" ", _FILE.sub(" ", bare))
    if any(n.value not in facts.steps for m in words.STEP.finditer(bare) for n in numbers(m[0])):
        return True
    if any(not facts.holds(m[0]) for p in (words.VAGUE, words.LABELLED) for m in p.finditer(bare)):
        return True
    around = content(sentence)
    return any(
        not (
            (words.LOOKING.search(clause.strip()) and number.value in facts.steps)
            or facts.traces(number, around, subjects(clause), cited)
        )
        for clause in re.split(r"[,，;；](?!\d)", bare)
        for number in numbers(clause)
    )


def untraced_name(sentence: str, facts: Facts, lang: str) -> bool:
    """A file, flag, setting, piece of code, model or machine that was not shown."""
    if any(not _code_known(m[1], facts) for m in CODE.finditer(sentence)):
        return True
    bare = CODE.sub(" ", sentence)
    if any(not facts.holds(m[0].rstrip(".")) for p in (_FILE, _NAME) for m in p.finditer(bare)):
        return True
    if any(m[0].lower() not in _COMMON and not facts.holds(m[0]) for m in _CAMEL.finditer(bare)):
        return True
    mixed = (m[0].lower() for m in _MIXED.finditer(_FINDING.sub(" ", bare)))
    return any(m not in _COMMON and m not in facts.tokens and not facts.holds(m) for m in mixed)


def _code_known(span: str, facts: Facts) -> bool:
    span = flat(span)
    return (
        span in _COMMON
        or re.search(rf"(?<![\w-]){re.escape(span)}(?![\w-])", facts.all) is not None
        or re.fullmatch(r"f\d+|nan|inf|-inf|none|null|true|false|s[0-3]", span) is not None
    )


def obeyed(sentence: str, facts: Facts, lang: str) -> bool:
    """Text that speaks to a model or a shell, or markup that could load something."""
    quoted = flat(plain(sentence)) in facts.quotes
    return (instruction(sentence) and not quoted) or bool(words.MARKUP.search(sentence))


def leaked(sentence: str, facts: Facts, lang: str) -> bool:
    """A credential."""
    return redact(sentence) != sentence and "[secret:" in redact(sentence)


def unfounded(sentence: str, facts: Facts, lang: str) -> bool:
    """Words that are neither the case's nor those of an explanation: news that no tool gave, or words that are none."""
    bare = _prose(sentence)
    p = facts.proposal
    free = re.search(r"[?？]|吗|呢", bare) or (p and (p.key in sentence or p.variable in sentence))
    clauses = filter(None, words.PART.split(bare))
    return any(facts.news(clause, bool(free or words.SUPPOSED.search(clause))) for clause in clauses)


def _prose(sentence: str) -> str:
    """Without code, files and names, which have a rule of their own."""
    for pattern in (CODE, _FILE, _NAME, _MIXED, _FINDING):
        sentence = pattern.sub(" ", sentence)
    return plain(sentence)


def foreign(sentence: str, facts: Facts, lang: str) -> bool:
    """A sentence in the other language, or in none of the two."""
    prose = CODE.sub(" ", sentence)
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
    "unfounded": unfounded,
}
"""Rule -> whether a sentence breaks it."""
ALWAYS = ("secret", "injection")
"""Rules for which even the built-in answer's own words are no excuse: those may quote the run."""

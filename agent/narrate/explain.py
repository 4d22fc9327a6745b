"""What a code, an entry, a sign or a word of an answer means: everything that the package knows under one name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ...knowledge.entry import Entry
from ...knowledge.runbook import Runbook
from ...knowledge.sign import PREDICATES, code_of, parse_sign
from ...tools.catalogue import codes
from ...tools.code.check import RULES as PROGRAM
from ...tools.code.check import explain as program_page
from ...tools.config.lint import RULES
from ...tools.findings import TriageError, clean
from ...tools.phrase import phrases
from .entry import page
from .glossary import GLOSSARY

WORDS = phrases(
    "words of an explanation",
    ("finding", "`{name}`: {meaning}.", "`{name}`：{meaning}。"),
    ("checks", "Looked for by: {checks}.", "由以下检查查找：{checks}。"),
    ("rule", "Lint rule, severity {severity}.", "配置规则，严重级别 {severity}。"),
    ("sign", "`{name}` holds where:", "`{name}` 成立的条件："),
    ("not", "not: ", "不成立："),
    ("at-onset", ", where the worst symptom begins", "，且发生在最严重症状开始之处"),
    ("for", "Speaks for:", "支持："),
    ("against", "Speaks against:", "反对："),
    ("weak", "weak", "弱"),
    ("moderate", "moderate", "中等"),
    ("strong", "strong", "强"),
    ("decisive", "decisive", "决定性"),
    ("section", "A section of the entry `{entry}`.", "属于条目 `{entry}` 的一节。"),
)  # fmt: skip
ALIKE = 0.6
"""Least likeness of a name that is offered in place of one that does not exist."""
OFFERED = 3


@dataclass(frozen=True)
class Part:
    """What one name is in one place."""

    kind: str
    """`finding`, `rule`, `entry`, `section`, `sign` or `word`."""
    text: str
    """Markdown."""
    entries: dict[str, dict[str, str]]
    """`for` and `against` -> entry -> how strongly."""

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, **({"entries": self.entries} if self.entries else {})}


def explain(name: str, book: Runbook, lang: str = "en") -> list[Part]:
    """Everything that goes by this name.

    Raises:
        TriageError: nothing does; the message offers what is written nearly so.
    """
    parts = list(_parts(name.strip(), book, lang))
    if not parts:
        raise TriageError(f"nothing is called {clean(name, 80)!r}{did_you_mean(name, names(book))}")
    return parts


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a refusal: names that are written nearly like this one."""
    lower = {k.lower(): k for k in known}
    near = [lower[k] for k in get_close_matches(name.strip().lower()[:80], lower, OFFERED, ALIKE)]
    near = near or sorted(k for k in known if name.strip() and name.strip().lower() in k.lower())[:OFFERED]
    return (
        f"; did you mean {' or '.join(near)}?"
        if near
        else "; `triage runbook list` and docs/findings.md have the names"
    )


def names(book: Runbook) -> list[str]:
    """All that can be explained."""
    found = (
        {code for wing in codes().values() for code in wing}
        | RULES.keys()
        | PROGRAM.keys()
        | book.entries.keys()
        | GLOSSARY.keys()
    )
    return sorted(found | {section for e in book for section in e.sections} | signs(book).keys())


def signs(book: Runbook) -> dict[str, str]:
    """The code of every sign of the runbook -> the sign."""
    return {code_of(text): text for e in book for text in (*e.signs.for_, *e.signs.against)}


def _parts(name: str, book: Runbook, lang: str) -> Iterator[Part]:
    name = "lead" if name.startswith("lead-") else name
    if word := GLOSSARY.get(name) or GLOSSARY.get(name.upper()) or GLOSSARY.get(name.lower()):
        yield Part("word", word.say(lang), {})
    if name in RULES:
        rule = RULES[name]
        yield Part("rule", f"# {name}\n\n{WORDS['rule'].say(lang, severity=rule.severity)}\n\n{rule.page}", {})
    if name in PROGRAM:
        yield Part("rule", program_page(name), {})
    if any(name in wing for wing in codes().values()):
        yield _finding(name, book, lang)
    text = signs(book).get(name) or name
    if "(" in text:
        yield _sign(text, book, lang)
    if entry := book.get(name):
        yield Part("entry", page(entry, lang), {})
    for entry in book:
        if name in entry.sections:
            yield Part("section", WORDS["section"].say(lang, entry=entry.id), {})


def _finding(code: str, book: Runbook, lang: str) -> Part:
    known = next(wing[code] for wing in codes().values() if code in wing)
    lines = [WORDS["finding"].say(lang, name=code, meaning=known.meaning.rstrip("."))]
    if known.checks != (code,):
        lines.append(WORDS["checks"].say(lang, checks=", ".join(known.checks)))
    return _with_entries("finding", lines, code, book, lang)


def _sign(text: str, book: Runbook, lang: str) -> Part:
    try:
        sign = parse_sign(text)
    except ValueError as error:
        raise TriageError(clean(str(error), 300)) from None
    lines = [WORDS["sign"].say(lang, name=sign.text)]
    for part, link in zip(sign.parts, ("", *sign.links), strict=True):
        negated = WORDS["not"].say(lang) if part.negated else ""
        onset = WORDS["at-onset"].say(lang) if part.at_onset else ""
        about = ", ".join((*part.names, *([f"by={part.by}"] if part.by else [])))
        lines.append(f"- {f'{link} ' if link else ''}{about}: {negated}{PREDICATES[part.asks].means}{onset}")
    return _with_entries("sign", ["\n".join(lines)], sign.code, book, lang)


def _with_entries(kind: str, lines: list[str], code: str, book: Runbook, lang: str) -> Part:
    sides = {"for": {}, "against": {}}
    for entry in book:
        for side, speaks in (("for", entry.speaks.for_), ("against", entry.speaks.against)):
            if code in speaks:
                sides[side][entry.id] = speaks[code]
    for side, found in sides.items():
        if found:
            told = (f"- `{id}` ({WORDS[how].say(lang)}): {_title(book, id, lang)}" for id, how in found.items())
            lines.append("\n".join([WORDS[side].say(lang), *told]))
    return Part(kind, "\n\n".join(lines), sides)


def _title(book: Runbook, id: str, lang: str) -> str:
    entry: Entry = book.entries[id]
    return entry.title.say(lang)

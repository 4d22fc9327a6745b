"""The answer that fits a screen: cause, evidence, the person's own idea, the one change, what must hold, coverage.

At most `LINES` lines of `WIDTH` columns, plain text but for the emphasis of the headline. Everything else of an answer
stands in the whole one.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from shlex import quote

from ...tools.findings import Check, Finding, clean
from ...tools.phrase import phrases
from ..diagnose import SHOWN, Diagnosis
from ..propose import Nothing, Proposal
from .entry import criterion, next_check

LINES, WIDTH = 20, 80
CARRYING = 3
"""Findings shown."""
SAID = phrases(
    "words of a short answer",
    ("change", "Change one thing: {place} `{key}` {old} -> {new}", "只改一处：{place} `{key}` {old} -> {new}"),
    ("elsewhere", "Change one thing: {key}: {new}", "只改一处：{key}：{new}"),
    ("first", "Check first: {check}", "先检查：{check}"),
    ("none", "No change yet: {why}.", "暂不改动：{why}。"),
    ("holds", "Fixed when {criteria}.", "满足才算修好：{criteria}。"),
    ("then", "Then: triage verify --baseline {run} --candidate NEXT_RUN {by}",
     "之后：triage verify --baseline {run} --candidate 新运行 {by}"),
    ("missed", "Not read: {files}.", "未读：{files}。"),
    ("looked", "Looked at: {found} found, {clear} clear, {missing} not there, {failed} could not be checked{names}.",
     "检查：{found} 项有发现，{clear} 项正常，{missing} 项没有对应文件，{failed} 项未能检查{names}。"),
)  # fmt: skip


def short_text(
    d: Diagnosis, proposal: Proposal | Nothing, head: Sequence[str], lang: str, case: str = "", run: str = ""
) -> str:
    """The short answer.

    Args:
        head: the headline, and what is said to the person's own words.
        case: the case that the answer is kept in, empty for none.
        run: the path of the run, as the person gave it; empty for none.
    """
    if d.state == "out-of-scope":
        return "\n".join(head)
    tail = [*_change(d, proposal, lang, case, run), *_coverage(d, lang)]
    ends = [line for text in tail for line in wrapped(text, 3)]
    begins = [line for text in head for line in wrapped(text, 3)]
    room = LINES - len(begins) - len(ends)
    middle = [line for text in _carrying(d, lang) for line in wrapped(text, 2)][: max(room, 0)]
    return "\n".join([*begins, *middle, *ends][:LINES])


def _carrying(d: Diagnosis, lang: str) -> Iterator[str]:
    """The findings that carry the headline, each with its place."""
    top = d.top
    carrying = [f for f in (top.for_ if top else ()) if f.severity in SHOWN] or list(top.for_ if top else ())
    rest = [f for f in d.findings if f.severity in SHOWN and f not in carrying]
    number = {id(f): i for i, f in enumerate(d.findings, 1)}
    for f in [*carrying, *rest][:CARRYING]:
        yield f"F{number[id(f)]} {f.severity} {clean(f.say(lang), 200)}{place(f)}"


def place(f: Finding) -> str:
    """Where the finding was seen, behind a dash; empty where no file names it."""
    for e in f.evidence[:1]:
        if e.file:
            return f" ({clean(e.file, 60)}:{e.line})" if e.line else f" ({clean(e.file, 60)})"
    return ""


def _change(d: Diagnosis, proposal: Proposal | Nothing, lang: str, case: str, run: str) -> Iterator[str]:
    if isinstance(proposal, Nothing):
        if d.state == "diagnosed":
            yield SAID["none"].say(lang, why=proposal.say(lang))
        told = d.top and (d.state == "diagnosed" or (d.state == "inconclusive" and d.top.for_))
        if told and (check := next_check(d, lang)):
            yield SAID["first"].say(lang, check=check)
        return
    p = proposal
    if p.file:
        where = f"{clean(p.file, 60)}:{p.line}"
        yield SAID["change"].say(lang, place=where, key=p.key, old=clean(p.old, 60), new=p.new)
    else:
        yield SAID["elsewhere"].say(lang, key=p.key, new=p.new)
    if p.acceptance:
        yield SAID["holds"].say(lang, criteria="; ".join(criterion(c, lang).split(" (")[0] for c in p.acceptance[:3]))
    yield SAID["then"].say(lang, run=quote(run or "RUN"), by=f"--case {case}" if case else f"--entry {p.entry}")


def _coverage(d: Diagnosis, lang: str) -> Iterator[str]:
    kept: Sequence[Check] = d.checks
    if not kept:
        return
    if d.missed and d.state != "inconclusive":
        names = ", ".join(clean(name, 40) for name in d.missed[:CARRYING])
        yield SAID["missed"].say(lang, files=names + (f" +{len(d.missed) - CARRYING}" if d.missed[CARRYING:] else ""))
    count = {r: len({c.name for c in kept if c.result == r}) for r in ("found", "clear", "not-applicable", "failed")}
    failed = list(dict.fromkeys(clean(c.name, 40) for c in kept if c.result == "failed"))[:3]
    names = f" ({', '.join(failed)})" if failed else ""
    yield SAID["looked"].say(
        lang,
        found=count["found"],
        clear=count["clear"],
        missing=count["not-applicable"],
        failed=count["failed"],
        names=names,
    )


def wrapped(text: str, most: int) -> list[str]:
    """Lines of at most `WIDTH` columns; what needs more than `most` lines is cut with an ellipsis."""
    lines = _wrap(text)
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: WIDTH - 2].rstrip() + " …"]


def _wrap(text: str) -> list[str]:
    if text.isascii():
        return textwrap.wrap(text, WIDTH, subsequent_indent="   ", break_long_words=True) or [""]
    out, line, used = [], "", 0
    for character in text:
        columns = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used + columns > WIDTH:
            out.append(line)
            line, used = "   ", 3
        line, used = line + character, used + columns
    return [*out, line]

"""The answer that fits a screen: cause, evidence, the person's own idea, the one change, what must hold, coverage.

At most `LINES` lines of `WIDTH` columns, plain text but for the emphasis of the headline. Everything else of an answer
stands in the whole one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from shlex import quote

from ...knowledge.entry import Entry
from ...tools.findings import Check, Finding, clean
from ...tools.phrase import phrases
from ..diagnose import CLOSE, Diagnosis
from ..missing import SIGN
from ..propose import Nothing, Proposal
from ..ranking import SERIOUS, SHOWN, STRENGTH
from .entry import begins, criterion, next_check

LINES, WIDTH = 20, 80
RESULTS = ("found", "clear", "too-short", "not-applicable", "failed")
GOES_ON = "log-still-written"
"""The note that stands under the headline: the answer is of a run that is not over."""
CARRYING = 3
"""Findings shown."""
WHOLE, WHOLE_LINES = frozenset(
    ("asked-without-template", "batch-fell-rate-kept", "behind-sibling", "eval-settings-differ",
     "same-weights-scored-apart", "source-dropped-at-fall")
), 4  # fmt: skip
"""Findings that say what is set otherwise on two sides, which is of use only where it is not cut off; their lines."""
ALIKE = 60
"""Characters from which on two findings that begin alike say the same."""
HEADLINE = 4
"""Most lines of the headline, which says where it rests on words alone."""
INDENT = "   "
"""Before what goes on from the line above."""
_WIDE = "\\u1100-\\u115f\\u2e80-\\uffef"
_UNIT = re.compile(
    rf"\s+|[（「《【(\[]*(?:`[^`\n]{{1,60}}`|[{_WIDE}]|[^\s`{_WIDE}]+|`)[，。；：！？、）」》】)\].,;:]*"
)
"""What stays on one line: a word, a piece of code, a Chinese character, each with the signs around it."""
SAID = phrases(
    "words of a short answer",
    ("change", "Change one thing: {place} `{key}` {old} -> {new}", "只改一处：{place} `{key}` {old} -> {new}"),
    ("elsewhere", "Change one thing: {key}: {new}", "只改一处：{key}：{new}"),
    ("times", "Change one thing: multiply `{key}` by {new}; nothing that was read sets it.",
     "只改一处：`{key}` 乘以 {new}；读到的文件里没有设置它。"),
    ("also", "Also, independent of it: {title} (`{id}`); mend first {order}.",
     "另有独立故障：{title}（`{id}`）；先修 {order}。"),
    ("tied", "Nearly as likely: {title} (`{id}`), {p}.", "可能性相近：{title}（`{id}`），{p}。"),
    ("first", "Check first: {check}", "先检查：{check}"),
    ("none", "No change yet: {why}.", "暂不改动：{why}。"),
    ("holds", "Fixed when {criteria}.", "满足才算修好：{criteria}。"),
    ("then", "Then: ", "之后："),
    ("next-run", "NEXT_RUN", "新运行"),
    ("failed", "Not read: {file}: {why}.", "未读：{file}：{why}。"),
    ("missed", "Not read: {files}.", "未读：{files}。"),
    ("looked",
     "Looked at: {found} found something, {clear} clear, {short}{missing} had no file, {failed} could not be "
     "checked{names}.",
     "检查：{found} 项有发现，{clear} 项正常，{short}{missing} 项没有对应文件，{failed} 项未能检查{names}。"),
    ("too-short", "{n} too short to judge, ", "{n} 项太短无法判断，"),
)  # fmt: skip


def short_text(
    d: Diagnosis,
    proposal: Proposal | Nothing,
    head: Sequence[str],
    lang: str,
    case: str = "",
    run: str = "",
    candidate: str = "",
    most: int = LINES,
    commands: bool = True,
) -> str:
    """The short answer. The change, its command and one finding always stand; what is said before them makes room.

    Args:
        head: the headline, and what is said to the person's own words.
        case: the case that the answer is kept in, empty for none.
        run: the path of the run, as the person gave it; empty for none.
        candidate: the path of the one other run that was given, empty for none.
        most: lines.
        commands: whether the command that judges the next run is among them.
    """
    if d.state == "out-of-scope":
        return "\n".join(line for text in head for line in wrapped(text, most))
    change = [line for text in _change(d, proposal, lang) for line in wrapped(text, 3)]
    if isinstance(proposal, Proposal) and commands:
        change += command(SAID["then"].say(lang), verify_command(proposal, lang, case, run, candidate))
    also = (SAID["also"].say(lang, title=h.entry.title.say(lang), id=h.entry.id, order=f"`{d.to_mend[0].entry.id}`")
            for h in d.also)  # fmt: skip
    change = [*(line for text in also for line in wrapped(text, 2)), *change]
    ends = [*change, *(line for text in _coverage(d, lang) for line in wrapped(text, 2))]
    evidence = [*_carrying(d, lang), *_failed(d, lang)]
    least = len(wrapped(*evidence[0])) if evidence else 0
    going = [f.say(lang) for f in d.findings if f.code == GOES_ON][:1]
    head = [*head[:1], *going, *_tied(d, lang), *head[1:]]
    opening = [line for i, text in enumerate(head) for line in wrapped(text, 3 if i else HEADLINE)]
    opening = opening[: max(most - len(ends) - least, 1)]
    middle: list[str] = []
    for text, lines in evidence:
        if room := max(most - len(opening) - len(ends) - len(middle), 0):
            middle += wrapped(text, min(room, lines))
    return "\n".join([*opening, *middle, *ends][:most])


def _tied(d: Diagnosis, lang: str) -> Iterator[str]:
    """The second cause, where the first leads by so little that either may be it."""
    if d.state != "diagnosed" or not d.close:
        return
    first, second = d.hypotheses[:2]
    if first.status == second.status and first.probability < CLOSE * second.probability:
        yield SAID["tied"].say(lang, title=second.entry.title.say(lang), id=second.entry.id, p=second.percent)


def _carrying(d: Diagnosis, lang: str) -> Iterator[tuple[str, int]]:
    """The findings that carry the headline, what says most first, each with its place and its most lines."""
    top = d.top
    found = sorted(top.for_, key=lambda f: _first(f, top.entry)) if top else []
    carrying = [f for f in found if f.severity in SHOWN] or found
    rest = [f for f in d.findings if f.severity in SHOWN and f not in carrying]
    if not carrying and not rest:
        rest = [
            f for f in d.findings if f.code not in ("run-healthy", GOES_ON)
        ]  # notes, where nothing is more than that
        rest.sort(key=lambda f: f.code not in TELLING)
    number = {id(f): i for i, f in enumerate(d.findings, 1)}
    notes = not any(f.severity in SHOWN for f in carrying)  # what is more than a note stands before notes
    shown = list(_once([*rest, *carrying] if notes else [*carrying, *rest], lang))[:CARRYING]
    for f in shown:
        most = WHOLE_LINES if f.code.removeprefix(f"{SIGN}found-").startswith(tuple(WHOLE)) else 2
        yield _with_place(f"F{number[id(f)]} {f.severity} {clean(f.say(lang), 100 * most)}", place(f), most), most
        if f is shown[0] and (line := _line(f)):
            yield f"   > {line}", 2


TELLING = ("steps-do-more", "corrected-errors-few")
"""Notes that say why something that alarms is sound: before other notes."""


def _first(f: Finding, entry: Entry) -> tuple[str, bool, float]:
    """Worst first, what was seen before what a sign says of it, then what says most for the entry."""
    return f.severity, f.code.startswith(SIGN), -STRENGTH[entry.speaks.for_.get(f.code, "weak")]


def _once(found: Sequence[Finding], lang: str) -> Iterator[Finding]:
    """Without those that say again what one before them says."""
    said: list[str] = []
    for f in found:
        text = f.say(lang).rstrip(".。")
        if not any(_again(text, before) for before in said):
            said.append(text)
            yield f


def _again(text: str, before: str) -> bool:
    """Whether one of two texts begins with the other, or both with the same words."""
    return text.startswith(before[:ALIKE]) or before.startswith(text)


def _failed(d: Diagnosis, lang: str) -> Iterator[tuple[str, int]]:
    """What could not be checked, and why, where there is nothing else to go by."""
    if d.state == "diagnosed" or d.findings:
        return
    for check in [c for c in d.checks if c.cut][:CARRYING]:
        why = clean(check.say(lang).removeprefix(f"{check.cut}: "), 200).rstrip(".。")
        yield SAID["failed"].say(lang, file=clean(check.cut, 60), why=why), 2


def _with_place(said: str, where: str, most: int = 2) -> str:
    """A finding with its place behind it, which stands however long the finding is; one that begins with it has it."""
    if where and where[2:-1] in said:
        where = ""
    elif (file := where[2:-1].rpartition(":")[0]) and file in said and f"{file}:" not in said:
        said, where = said.replace(file, where[2:-1], 1), ""
    whole = said
    while said and len(wrapped(whole + where, most + 1)) > most:
        said = said[:-6].rstrip()
        whole = f"{said} …"
    return whole + where


def _line(f: Finding) -> str:
    """The error as the log has it, where one line of a log makes the finding: its message begins with that place."""
    said = next((e.text or "" for e in f.evidence[:1] if f.message.startswith(f"{e.file}:{e.line}:")), "")
    return clean(said, 2 * WIDTH - 12) if f.severity in SERIOUS else ""


def place(f: Finding) -> str:
    """Where the finding was seen, behind a dash; empty where no file names it."""
    for e in f.evidence[:1]:
        if e.file:
            return f" ({clean(e.file, 60)}:{e.line})" if e.line else f" ({clean(e.file, 60)})"
    return ""


def _change(d: Diagnosis, proposal: Proposal | Nothing, lang: str) -> Iterator[str]:
    if isinstance(proposal, Nothing):
        if d.state == "diagnosed":
            yield SAID["none"].say(lang, why=proposal.say(lang))
        if (d.state == "diagnosed" or begins(d)) and (check := next_check(d, lang)):
            yield SAID["first"].say(lang, check=check)
        return
    p = proposal
    if p.file:
        where = f"{clean(p.file, 60)}:{p.line}"
        yield SAID["change"].say(lang, place=where, key=p.key, old=clean(p.old, 60), new=p.new)
    else:
        times = p.new.startswith("x ")
        yield SAID["times" if times else "elsewhere"].say(lang, key=p.key, new=p.new.removeprefix("x "))
    if p.acceptance:
        yield SAID["holds"].say(lang, criteria="; ".join(criterion(c, lang).split(" (")[0] for c in p.acceptance[:3]))


def verify_command(p: Proposal, lang: str, case: str, run: str, candidate: str) -> list[str]:
    """The command that judges the next run, option by option."""
    return [
        "triage verify",
        f"--baseline {quote(run or 'RUN')}",
        f"--candidate {quote(candidate) if candidate else SAID['next-run'].say(lang)}",
        f"--case {case}" if case else f"--entry {p.entry}",
    ]


def _coverage(d: Diagnosis, lang: str) -> Iterator[str]:
    kept: Sequence[Check] = d.checks
    if not kept:
        return
    files = [m.file for m in d.missing if m.file]
    if files and d.state != "inconclusive":
        names = ", ".join(clean(name, 40) for name in files[:CARRYING])
        yield SAID["missed"].say(lang, files=names + (f" +{len(files) - CARRYING}" if files[CARRYING:] else ""))
    count = {r: len({c.name for c in kept if c.result == r}) for r in RESULTS}
    failed = list(dict.fromkeys(clean(c.called(lang), 40) for c in kept if c.result == "failed"))[:3]
    names = f" ({', '.join(failed)})" if failed else ""
    yield SAID["looked"].say(
        lang,
        found=count["found"],
        clear=count["clear"],
        short=SAID["too-short"].say(lang, n=count["too-short"]) if count["too-short"] else "",
        missing=count["not-applicable"],
        failed=count["failed"],
        names=names,
    )


def wrapped(text: str, most: int) -> list[str]:
    """Lines of at most `WIDTH` columns; what needs more than `most` lines is cut with an ellipsis."""
    marks = 4 if text.startswith("**") else 0
    lines = _wrap(text, WIDTH - marks)
    if len(lines) > most:
        kept = _wrap(lines[most - 1], WIDTH - marks - 2)[0].rstrip()
        lines = [*lines[: most - 1], f"{kept} …"]
    return _emphasised(lines) if marks else lines


def columns(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _wrap(text: str, width: int) -> list[str]:
    lines, empty = [""], True
    for found in _UNIT.findall(text):
        unit = found
        if columns(lines[-1] + unit.rstrip()) > width and not empty:
            lines[-1] = lines[-1].rstrip()
            lines.append(INDENT)
            unit = unit.lstrip()
        while columns(lines[-1] + unit.rstrip()) > width:
            fits = next(n for n in range(len(unit), 0, -1) if columns(lines[-1] + unit[:n]) <= width)
            lines[-1] += unit[:fits]
            lines.append(INDENT)
            unit = unit[fits:]
        lines[-1] += unit
        empty = not lines[-1].strip()
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _emphasised(lines: Sequence[str]) -> list[str]:
    """Each line with its own emphasis, so that it can be shown by itself."""
    out, inside = [], False
    for line in lines:
        begun = f"{INDENT}**{line.strip()}" if inside else line
        inside = begun.count("**") % 2 == 1
        out.append(begun + "**" * inside)
    return out


def command(label: str, words: Sequence[str]) -> list[str]:
    """A command behind its label, to be copied as it stands: where a line ends, a backslash does."""
    first, *options = words
    lines = [f"{label}{first}"]
    for word in options:
        if columns(f"{lines[-1]} {word} \\") > WIDTH:
            lines[-1] += " \\"
            lines.append(f"{INDENT}{word}")
        else:
            lines[-1] += f" {word}"
        mark = "'" if word.count("'") == 2 else ""
        while columns(lines[-1]) > WIDTH - 2 and word.count("'") in (0, 2):
            begun = lines.pop()
            lines += [f"{begun[: WIDTH - 2]}{mark}\\", f"{mark}{begun[WIDTH - 2 :]}"]
    return lines

"""What a follow-up is told without a new diagnosis: a finding explained, the next check, where to resume, thanks.

The diagnosis of the case stands; a message that brings evidence, a run or a symptom is a question of its own
(`session.ask`), and so is everything that this module has no answer for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...knowledge.entry import Entry
from ...tools.config.frameworks import FRAMEWORKS
from ...tools.findings import Finding, TriageError, clean
from ...tools.looking.lines import Excerpt
from ...tools.patterns import bounded
from ...tools.phrase import phrases
from ..answer import Answer
from ..narrate.entry import next_check, standing
from ..narrate.short import place
from ..propose import Proposal
from ..question.understand import Question

SAID = phrases(
    "follow-ups",
    ("thanks", "You are welcome. The case stays open: `triage verify` judges the next run.",
     "不客气。案例会保留：下一次运行用 `triage verify` 验证。"),
    ("bye", "Goodbye; the case is kept.", "再见，案例已保留。"),
    ("finding", "**{id}** {severity} `{code}`: {message}{place}", "**{id}** {severity} `{code}`：{message}{place}"),
    ("speaks-for", "It speaks for {entries}.", "它支持 {entries}。"),
    ("speaks-against", "It speaks against {entries}.", "它反对 {entries}。"),
    ("no-finding", "There is no {id}; this case has F1 to F{last}.", "没有 {id}；本案例有 F1 到 F{last}。"),
    ("none-yet", "This case has no findings.", "本案例没有任何发现。"),
    ("next-check", "Next, a check that changes nothing: {check}", "下一步先检查（不改动任何东西）：{check}"),
    ("next-change", "Then the one change: {change}.", "然后只改一处：{change}。"),
    ("judge", "A new run is judged by `triage verify --case {case} --candidate NEXT_RUN`; words cannot say "
     "whether it is fixed.",
     "新的运行用 `triage verify --case {case} --candidate 新运行` 判断；仅凭文字无法说明是否修好。"),
    ("resume", "Resume from `{checkpoint}`: the newest before the first bad step, {step}. It was not loaded or "
     "checked here: "
     "`triage checkpoint check` does that.",
     "从 `{checkpoint}` 恢复：它是第一个坏点（第 {step} 步）之前最新的检查点。"
     "这里没有加载检查，请先用 `triage checkpoint check`。"),
    ("no-resume", "No checkpoint from before the first bad step ({step}) was found in what was read.",
     "在读到的内容里，没有找到第一个坏点（第 {step} 步）之前的检查点。"),
    ("no-step", "Nothing that was read says at which step it went bad, so no checkpoint can be named.",
     "读到的内容没有说明从哪一步开始变坏，因此无法指出检查点。"),
    ("not-yet", "Not before the one change ({change}): `{leader}` ({status}) is still there, and a run that goes on as "
     "it is meets it again.",
     "先完成那一处改动（{change}）再继续：`{leader}`（{status}）仍在，照原样继续会再次遇到。"),
    ("first-know", "That is not known: what was read does not tell what went wrong.",
     "还不知道：读到的内容说不出哪里出了问题。"),
    ("may", "Nothing that was found speaks against going on.", "已有发现里没有反对继续的。"),
    ("lines-of", "{id}, {file}:{line}", "{id}，{file}:{line}"),
    ("no-lines", "{id} stands on no line of a file: {message}", "{id} 不对应文件里的某一行：{message}"),
    ("how-in", "In {framework}, `{variable}` is written `{keys}`.", "在 {framework} 里，`{variable}` 写作 `{keys}`。"),
    ("how-in-not", "How {framework} writes `{variable}` is not known here.",
     "这里不知道 {framework} 如何写 `{variable}`。"),
)  # fmt: skip
SAFE = bounded(r"(?i)\b(?:safe|okay?|fine|possible|can|could|may|should|shall)\b|[吗么]|能|可以|安全")
"""What asks whether to go on, rather than where."""
AROUND, PLACES, WIDE = 2, 2, 240
"""Lines shown before and after that of a finding, places of it, and characters of a line."""
STRONG = ("decisive", "strong", "moderate")
_NUMBER = bounded(r"(\d+)$")
Around = Callable[[str], list[Excerpt]]


def follow_up(asked: Question, answer: Answer, around: Around) -> str | None:
    """What is said to a follow-up, or None where it needs an answer of its own.

    Args:
        asked: the message.
        answer: the answer that stands.
        around: gives the lines around the places of a finding (`F3`).
    """
    tell = INTENTS.get(asked.wants)
    acts = [p for p in asked.plans if p.variable != "run" or asked.wants != "resume"]
    if tell is None or asked.pasted or asked.symptoms or asked.suspicions or acts:
        return None
    if asked.wants == "lines":
        return "\n".join(_lines(asked, answer, around)) or None
    return "\n".join(tell(asked, answer)) or None


def _thanks(asked: Question, answer: Answer) -> Iterator[str]:
    yield SAID[asked.wants].say(answer.lang)


def _explain(asked: Question, answer: Answer) -> Iterator[str]:
    """The finding that is named; a term is a question of its own."""
    if not asked.finding:
        return
    findings, lang = answer.diagnosis.findings, answer.lang
    n = int(asked.finding[1:])
    if not 0 < n <= len(findings):
        yield SAID["no-finding" if findings else "none-yet"].say(lang, id=asked.finding, last=len(findings))
        return
    f = findings[n - 1]
    yield SAID["finding"].say(
        lang, id=asked.finding, severity=f.severity, code=f.code, message=clean(f.say(lang), 600), place=place(f)
    )
    yield from (f"> {clean(e.text, 300)}" for e in f.evidence[:3] if e.text)
    for key, speaks in (("speaks-for", _for), ("speaks-against", _against)):
        if entries := [f"`{h.entry.id}`" for h in answer.diagnosis.hypotheses if speaks(h.entry, f)]:
            yield SAID[key].say(lang, entries=", ".join(entries))


def _lines(asked: Question, answer: Answer, around: Around) -> Iterator[str]:
    """The lines of the files on which a finding stands: the one that is named, or the worst of the leading cause."""
    findings, lang = answer.diagnosis.findings, answer.lang
    leading = [f for f in (answer.diagnosis.top.for_ if answer.diagnosis.top else ()) if _at_line(f)] or findings
    first = min(leading, key=lambda f: (not _at_line(f), f.severity), default=None)
    id = asked.finding or next((f"F{n}" for n, f in enumerate(findings, 1) if f is first), "F1")
    if not 0 < int(id[1:]) <= len(findings):
        yield SAID["no-finding" if findings else "none-yet"].say(lang, id=id, last=len(findings))
        return
    f = findings[int(id[1:]) - 1]
    try:
        shown = around(id)
    except TriageError:
        shown = []
    for found in shown[:PLACES]:
        yield SAID["lines-of"].say(lang, id=id, file=clean(found.file, 120), line=found.line)
        near = [(n, text) for n, text in found.lines if abs(n - found.line) <= AROUND]
        yield from (f"{'>' if n == found.line else ' '}{n:>7} | {clean(text, WIDE)}" for n, text in near)
    if not shown:
        yield SAID["no-lines"].say(lang, id=id, message=clean(f.say(lang), 600))


def _at_line(f: Finding) -> bool:
    return any(e.file and e.line for e in f.evidence)


def _for(entry: Entry, f: Finding) -> bool:
    return entry.speaks.for_.get(f.code) in STRONG


def _against(entry: Entry, f: Finding) -> bool:
    return f.code in entry.speaks.against


def _next(asked: Question, answer: Answer) -> Iterator[str]:
    if check := next_check(answer.diagnosis, answer.lang):
        yield SAID["next-check"].say(answer.lang, check=check)
    if isinstance(answer.proposal, Proposal):
        yield SAID["next-change"].say(answer.lang, change=_change(answer.proposal))


def _change(p: Proposal) -> str:
    where = f"{clean(p.file, 80)}:{p.line} " if p.file else ""
    return f"{where}`{p.key}` {clean(p.old, 60)} -> {p.new}" if p.old else f"{where}{p.key}: {p.new}"


def _short(asked: Question, answer: Answer) -> Iterator[str]:
    yield answer.short


def _judge(asked: Question, answer: Answer) -> Iterator[str]:
    yield SAID["judge"].say(answer.lang, case=answer.case)


def _resume(asked: Question, answer: Answer) -> Iterator[str]:
    """Whether to go on, where that is asked, and from the newest checkpoint before the first step that the leader's
    findings name."""
    if SAFE.search(asked.own):
        yield _may_resume(answer)
        if answer.diagnosis.state != "diagnosed":
            return
    top = answer.diagnosis.top
    steps = [e.step for f in (top.for_ if top else ()) for e in f.evidence if e.step is not None]
    if not steps:
        yield SAID["no-step"].say(answer.lang)
        return
    bad, kept = min(steps), answer.seen.run.of("checkpoint") if answer.seen else ()
    numbered = [(int(m[1]), a.name) for a in kept if (m := _NUMBER.search(a.name))]
    before = max((c for c in numbered if c[0] < bad), default=None)
    if before:
        yield SAID["resume"].say(answer.lang, checkpoint=clean(before[1], 80), step=bad)
    else:
        yield SAID["no-resume"].say(answer.lang, step=bad)


def _may_resume(answer: Answer) -> str:
    """Whether the run may go on as it is."""
    d, lang = answer.diagnosis, answer.lang
    if d.state == "healthy":
        return SAID["may"].say(lang)
    if d.state != "diagnosed" or d.top is None:
        return SAID["first-know"].say(lang)
    change = _change(answer.proposal) if isinstance(answer.proposal, Proposal) else next_check(d, lang)
    return SAID["not-yet"].say(lang, change=change.rstrip(".。"), leader=d.top.entry.id, status=standing(d.top, lang))


def _how_in(asked: Question, answer: Answer) -> Iterator[str]:
    """The proposed setting as another framework spells it."""
    said = asked.own.lower()
    named = [
        f for name, f in FRAMEWORKS.items() if name in said or (f.issue_form and f.issue_form.project.lower() in said)
    ]
    if not named or not isinstance(answer.proposal, Proposal):
        return
    framework, variable = named[-1], answer.proposal.variable
    chain = [framework, *(FRAMEWORKS[p] for p in framework.parents)]
    keys = [key for f in chain for key in f.keys.get(variable, "").split()]
    said_as = SAID["how-in" if keys else "how-in-not"]
    yield said_as.say(answer.lang, framework=framework.name, variable=variable, keys="`, `".join(keys[:3]))


INTENTS: dict[str, Callable[[Question, Answer], Iterator[str]]] = {
    "thanks": _thanks,
    "bye": _thanks,
    "explain": _explain,
    "lines": _explain,
    "next": _next,
    "short": _short,
    "is_fixed": _judge,
    "compare": _judge,
    "resume": _resume,
    "how_in": _how_in,
}
"""What is wanted -> what answers it."""

"""What is said to a question about the answer itself: why not another cause, why this change, how sure, what else.

All of it is read off the diagnosis that stands, with the numbers of its findings as the person has them before them;
nothing is looked at or ranked anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...knowledge.entry import Entry
from ...knowledge.search import Index
from ...knowledge.words import tokens
from ...tools.catalogue import checks as that_look_for
from ...tools.findings import Finding, clean
from ...tools.patterns import bounded
from ...tools.phrase import phrases
from ..answer import Answer
from ..narrate.answer import headline
from ..narrate.entry import standing
from ..narrate.reply import lines
from ..narrate.sources import named
from ..propose import Proposal
from ..question.actions import ACTS
from ..question.plans import last_named
from ..question.topics import mentions
from ..question.understand import Question
from ..question.wants import open_question
from ..ranking import Hypothesis, rank
from ..respond import same_variable
from .measured import measured, since

SAID = phrases(
    "questions about an answer",
    ("leads", "{title} (`{id}`) is what leads: {status}, {p}.", "{title}（`{id}`）正是排在最前的原因：{status}，{p}。"),
    ("ranked", "{title} (`{id}`): {status}, {p}.", "{title}（`{id}`）：{status}，{p}。"),
    ("unranked", "{title} (`{id}`): nothing that was found speaks for it.",
     "{title}（`{id}`）：已有发现都不支持它。"),
    ("for", "For it: {findings}.", "支持它的：{findings}。"),
    ("against", "Against it: {findings}.", "反对它的：{findings}。"),
    ("not-against", "Nothing that was found speaks against it.", "已有发现都不反对它。"),
    ("looked", "What would show it was looked for and not found: {codes}.",
     "能显示它的迹象已查过，没有发现：{codes}。"),
    ("not-looked", "Not to be seen in what was read: {codes}.", "读到的内容里看不到：{codes}。"),
    ("before", "Before it stands `{id}` ({status}, {p}): {findings}.",
     "排在它前面的是 `{id}`（{status}，{p}）：{findings}。"),
    ("sure", "`{id}`: {status}, {p}, by {findings}.", "`{id}`：{status}，{p}，依据 {findings}。"),
    ("else", "Behind it: {rest}.", "其后：{rest}。"),
    ("alone", "No other cause has evidence here.", "这里没有别的原因有证据。"),
    ("none", "No cause leads: what was read does not support one over the others.",
     "没有领先的原因：现有证据分不出高下。"),
    ("change", "Proposed is {change}. Why: {why}", "建议的是 {change}。理由：{why}"),
    ("other-change", "That is not proposed; the one change is {change}.", "没有建议这一处；唯一的改动是 {change}。"),
    ("no-change", "No change is proposed: {why}", "没有建议改动：{why}"),
    ("rests", "It rests on {findings}.", "依据：{findings}。"),
    ("named", "What you name is seen: {findings}.", "你提到的情况确有发现：{findings}。"),
    ("shown", "You describe {what}: {findings}.", "你描述的是{what}：{findings}。"),
    ("stands", "Diagnosis unchanged: {headline}", "诊断不变：{headline}"),
    ("can", "To this the evidence has no answer of its own. Ask `explain F1`, `show the lines of F1`, "
     "`why not CAUSE?`, `what next?`.",
     "证据里没有针对这一问的内容。可以问：“解释 F1”、“F1 的日志”、“为什么不是某原因？”、“下一步？”。"),
)  # fmt: skip
_DOES = bounded(
    r"(?i)(?:just|simply|not|i|we|you|train|go|do|have|let|start|run|put|get|turn|give|keep)\b|把|将|先|直接|用|再"
)
"""Begins what somebody would do rather than what a cause is called."""
_WHY_NOT = bounded(
    r"(?i)\b(?:why (?:not|isn'?t (?:it|this|that)|is (?:it|this) not|(?:couldn|can|wouldn)'?t (?:it|this) be"
    r"|(?:did|do|have) you (?:ruled? out|excluded?|not (?:think|say|blame|suspect|consider)))"
    r"|how (?:do|can) you (?:know|say) (?:that )?(?:it'?s|it is|this is) not"
    r"|(?:could|can|might) (?:it|this) (?:not |also |rather |instead )?be|what makes you (?:rule out|exclude)"
    r"|isn'?t (?:it|this) (?:rather |just |simply )?|(?:what|how) about)\b\W*(?P<x>.{2,120})$"
    r"|(?:为什么|为何|怎么|凭什么|难道|会不会|是不是|能不能|有没有可能|可能)(?:就)?"
    r"(?:不会?是|不可能是|不算|排除(?:了|掉)?|不怀疑|不考虑|不是|是|(?<=是不是))\s*"
    r"(?P<z>.{2,60}?)(?:的问题|引起的?|造成的?|导致的?)?\W*[吗呢么]?\W*$"
)
"""Asks for another cause, which follows."""
_WHY_CHANGE = bounded(
    r"(?i)\bwhy\b(?! not\b)|\bhow come\b|what(?:'s| is) the point|what good|(?:为什么|为何|为啥)(?!不)|凭什么|干嘛|何必"
)
_GIVEN = bounded(
    r"(?i)\b(?:if|when|though|although|since|while|given(?: that)?|even though|as)\b(?P<x>.{3,120})"
    r"|(?:如果|既然|可是|但是?|明明|都已经)(?P<z>.{2,60})|^(?P<before>.{2,40}?)(?=为什么|为何|为啥|还要|干嘛)"
)
"""What a question takes for granted."""
_SURE = bounded(
    r"(?i)\b(?:are you|how) (?:\w{2,10} )?(?:sure|certain|confident)\b|确定(?:吗|么|是)|(?:有|多大?)把握|靠谱吗|可信吗"
)
_AGAINST = bounded(
    r"(?i)what (?:speaks|argues|is|evidence is) (?:there )?against|counter-?evidence"
    r"|有(?:什么|哪些)?反(?:证|对)|什么(?:证据)?(?:反对|不支持)"
)
_ELSE = bounded(
    r"(?i)what (?:else|other) (?:could|can|might|cause)"
    r"|(?:other|further|alternative) (?:causes?|candidates?|explanations?|suspects?)"
    r"|还(?:有|会|可能)(?:别的|其他|哪些|什么|是什么)|(?:其他|别的)(?:原因|可能)"
)
NAMED, SHOWN_FOR, REST, CODES = 0.5, 3, 3, 3
"""Relevance of the words from which on they name an entry; findings told of a cause, causes behind it, and codes."""
TOLD = 160
"""Characters of a finding told beside its number."""


def rejoin(asked: Question, answer: Answer, books: Index) -> str | None:
    """What is said to a question about the answer, or None where the message is something else."""
    if answer.seen is None:
        return None
    for tell in (_sure, _against, _else, _since, _why_change, _why_not):
        if said := list(tell(asked.own, answer, books)):
            return "\n".join(said)
    return None


def verdicts(answer: Answer, own: bool) -> str:
    """What the evidence says to the words of a further message, without the whole answer, which stands; empty for a
    paste.

    Args:
        answer: the answer to the message.
        own: whether it was understood by its own words, and not by those of an earlier message.
    """
    asked, d, lang, number = answer.asked, answer.diagnosis, answer.lang, _numbers(answer)
    if asked is None or asked.pasted:
        return ""
    said = list(lines(answer.reply, d, answer.proposal, lang, True)) if own else []
    for s in (s for s in answer.reply.symptoms if own and s.verdict == "shown"):
        if told := _told(s.findings, number, lang):
            said.append(SAID["shown"].say(lang, what=s.symptom.kind.name.say(lang), findings=told))
    if not said:
        said = list(_leader(answer)) if own and open_question(asked.own) else list(measured(asked.own, answer))
        said = said or [SAID["can"].say(lang)]
    return "\n".join((*said, SAID["stands"].say(lang, headline=headline(d, lang, True))))


def _numbers(answer: Answer) -> dict[int, str]:
    return {id(f): f"F{i}" for i, f in enumerate(answer.diagnosis.findings, 1)}


def _told(findings: Sequence[Finding], number: dict[int, str], lang: str, most: int = SHOWN_FOR) -> str:
    """The findings by number, the first with its words."""
    known = sorted((f for f in findings if id(f) in number), key=lambda f: f.severity)[:most]
    first = [f"{number[id(f)]} ({clean(f.say(lang), TOLD).rstrip('.。')})" for f in known[:1]]
    return ", ".join((*first, *(number[id(f)] for f in known[1:])))


def _sure(own: str, answer: Answer, books: Index) -> Iterator[str]:
    if _SURE.search(own):
        yield from _leader(answer)
        yield from _behind(answer)


def _against(own: str, answer: Answer, books: Index) -> Iterator[str]:
    top, lang = answer.diagnosis.top, answer.lang
    if _AGAINST.search(own) and top:
        yield from _leader(answer)
        told = _told(top.against, _numbers(answer), lang)
        yield SAID["against" if told else "not-against"].say(lang, findings=told)


def _since(own: str, answer: Answer, books: Index) -> Iterator[str]:
    yield from since(own, answer)


def _else(own: str, answer: Answer, books: Index) -> Iterator[str]:
    if _ELSE.search(own):
        yield from _behind(answer)


def _leader(answer: Answer) -> Iterator[str]:
    top, lang = answer.diagnosis.top, answer.lang
    told = _told(top.for_, _numbers(answer), lang) if top else ""
    if top and told:
        yield SAID["sure"].say(lang, id=top.entry.id, status=standing(top, lang), p=top.percent, findings=told)
    else:
        yield SAID["none"].say(lang)


def _behind(answer: Answer) -> Iterator[str]:
    lang, number = answer.lang, _numbers(answer)
    others = [h for h in answer.diagnosis.hypotheses[1:] if h.for_ and h.status != "refuted"][:REST]
    rest = ", ".join(
        f"`{h.entry.id}` {h.percent} ({', '.join(number[id(f)] for f in h.for_[:SHOWN_FOR] if id(f) in number)})"
        for h in others
    )
    yield SAID["else" if rest else "alone"].say(lang, rest=rest)


def _why_change(own: str, answer: Answer, books: Index) -> Iterator[str]:
    """Why the proposal is made, to who asks why a setting should be moved."""
    said = _WHY_CHANGE.search(own)
    if not said or not (acts := [m for _, pattern in ACTS for m in pattern.finditer(own[said.end() :])]):
        return
    lang, p, variable = answer.lang, answer.proposal, last_named(own)
    if not isinstance(p, Proposal):
        yield SAID["no-change"].say(lang, why=p.say(lang))
        return
    meant = re.sub(r"[-_\s]+", "", own.lower())
    own_key = any(re.sub(r"[-_\s]+", "", clean(k, 80).lower()) in meant for k in (p.key, p.variable) if k)
    change = f"`{p.key}` {clean(p.old, 60)} -> {clean(p.new, 160)}" if p.old else f"`{p.key}`: {clean(p.new, 160)}"
    if not own_key and (variable is None or not same_variable(variable, p.variable)):
        if variable or not acts:
            yield SAID["other-change"].say(lang, change=change)
        return
    yield SAID["change"].say(lang, change=change, why=clean(named(p.why, lang), 400))
    top, number = answer.diagnosis.top, _numbers(answer)
    if top and (told := _told(top.for_, number, lang)):
        yield SAID["rests"].say(lang, findings=told)
    if top and (told := _told(top.against, number, lang)):
        yield SAID["against"].say(lang, findings=told)
    if told := _told(_taken_for_granted(own, answer), number, lang):
        yield SAID["named"].say(lang, findings=told)


def _taken_for_granted(own: str, answer: Answer) -> list[Finding]:
    """The findings whose words are those of what the question takes for granted."""
    given = _GIVEN.search(own)
    words = set(tokens((given["x"] or given["z"] or given["before"]) if given else ""))
    shared = [(len(words & set(tokens(f"{f.message} {f.say('zh')}"))), f) for f in answer.diagnosis.findings]
    most = max((n for n, _ in shared), default=0)
    alike = [f for n, f in shared if n == most > 0]
    return alike if len(alike) <= SHOWN_FOR else []


def _why_not(own: str, answer: Answer, books: Index) -> Iterator[str]:
    """How another cause stands, and what stands before it."""
    asked = _WHY_NOT.search(own.strip())
    name = (asked["x"] or asked["z"] or "").strip() if asked else ""
    if not name or _DOES.match(name) or any(m.start() == 0 for _, verb in ACTS for m in verb.finditer(name)):
        return
    ranked = rank(books.runbook, answer.diagnosis.findings, {})
    entry = cause(name, ranked, books)
    if entry is None:
        return
    d, lang, number = answer.diagnosis, answer.lang, _numbers(answer)
    h = next((h for h in (*d.hypotheses, *ranked) if h.entry.id == entry.id), None)
    named = {"id": entry.id, "title": entry.title.say(lang)}
    if d.top and d.top.entry.id == entry.id:
        yield SAID["leads"].say(lang, **named, status=standing(d.top, lang), p=d.top.percent)
    elif h and (h.for_ or h.against):
        yield SAID["ranked"].say(lang, **named, status=standing(h, lang), p=h.percent)
    else:
        yield SAID["unranked"].say(lang, **named)
    for key, found in (("for", h.for_), ("against", h.against)) if h else ():
        if told := _told(found, number, lang):
            yield SAID[key].say(lang, findings=told)
    if d.top is None or d.top.entry.id != entry.id:
        yield from _looked_for(entry, answer)
    if d.top and d.top.entry.id != entry.id and (told := _told(d.top.for_, number, lang)):
        yield SAID["before"].say(lang, id=d.top.entry.id, status=standing(d.top, lang), p=d.top.percent, findings=told)


def _looked_for(entry: Entry, answer: Answer) -> Iterator[str]:
    """What would show a cause, by whether it was looked for."""
    found = {f.code for f in answer.diagnosis.findings}
    results = {c.name: c.result for c in answer.diagnosis.checks}
    clear, unseen = list[str](), list[str]()
    for code, word in entry.speaks.for_.items():
        if word in ("decisive", "strong") and code not in found and (names := that_look_for(code)):
            looked = {results.get(name) for name in names}
            (clear if looked & {"clear", "found"} else unseen).append(f"`{code}`")
    for key, codes in (("looked", clear), ("not-looked", unseen)):
        if codes:
            yield SAID[key].say(answer.lang, codes=", ".join(codes[:CODES]))


def cause(name: str, ranked: Sequence[Hypothesis], books: Index) -> Entry | None:
    """The entry that a name means: its id, the one that the words clearly name, or the likeliest of what they are
    about."""
    said = re.sub(r"[\s_-]+", "-", name.lower()).strip("-?？ 。.!")
    entries = [e for e in books.runbook if e.kind == "failure"]
    if own := next((e for e in entries if e.id in said), None):
        return own
    hits = [hit for hit in books.search(name) if hit.entry.kind == "failure"]
    if hits and hits[0].score >= NAMED:
        return hits[0].entry
    topics = [topic for topic, _, _ in mentions(name)]
    likely = (e for e in (*(h.entry for h in ranked), *(hit.entry for hit in hits), *entries) if e.kind == "failure")
    best = next((e for e in likely if any(t.about(e) for t in topics)), None)
    return best or (hits[0].entry if hits and hits[0].score >= NAMED / 2 else None)

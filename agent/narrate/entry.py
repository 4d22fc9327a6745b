"""What a runbook entry says, in English or Chinese: a criterion, the check that is still open, the entry as a page."""

from __future__ import annotations

from ...knowledge.entry import Criterion, Entry
from ...tools.catalogue import checks
from ...tools.findings import Finding
from ..diagnose import LEAST, LIKELY, LOST, Diagnosis
from ..ranking import SERIOUS, Hypothesis
from ..signs.standing import UNNAMED, is_bare
from .sources import cite, named
from .words import AFTER, BASIS, IS, NEEDS, RULES, STEPS, WORDS


def criterion(c: Criterion, lang: str) -> str:
    """One acceptance criterion in words, with its basis and, where a source left it out, the assumed definition."""
    on = finding_of(c)
    kind = IS[f"{c.is_}-found" if on else c.is_]
    text = f"`{on or c.metric}` {kind.say(lang, low=c.low or 0.0, high=c.high or 0.0, value=_value(c.value, lang))}"
    if c.unit and c.is_ not in ("increases", "decreases", "stable", "finite", "true", "false"):
        text += f" {c.unit}"
    notes = (
        AFTER[c.after].say(lang) if c.after else "",
        STEPS.say(lang, n=c.window["steps"]) if c.window and "steps" in c.window else "",
        BASIS[c.basis].say(lang) + (f", {cite(c.source, lang)}" if c.source else ""),
        named(c.definition.say(lang), lang) if c.definition else "",
        NEEDS[c.needs].say(lang) if c.needs else "",
    )
    return f"{text} ({'; '.join(filter(None, notes))})"


def _value(value: object, lang: str) -> str:
    """A number without needless places; a rule of the sources in words."""
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    return RULES[value].say(lang) if isinstance(value, str) and value in RULES else str(value)


def finding_of(c: Criterion) -> str:
    """The code of the finding that a criterion asks for; empty for a criterion on a measure."""
    code = c.metric.replace("_", "-")
    return code if c.is_ in ("true", "false") and checks(code) else ""


def answered(h: Hypothesis, d: Diagnosis) -> bool:
    """Whether the run shows already what the first check of a hypothesis asks for."""
    shown = any(f.code in h.entry.check_first.answered_by for f in d.findings)
    return shown or any(f.code.startswith("sign-") and f.severity != "S3" for f in h.for_)


def standing(h: Hypothesis, lang: str) -> str:
    """How far a hypothesis is borne out; one for which nothing decisive was found rests on the words or on little."""
    return WORDS["weak" if h.status == "possible" and h.for_ else h.status].say(lang)


def checked(h: Hypothesis) -> list[Finding]:
    """What was looked up in the files to answer the checks of a hypothesis: its signs, and what its check asks for."""
    asked = h.entry.check_first.answered_by
    made = [f for f in (*h.for_, *h.against) if f.code in asked or f.code.startswith("sign-")]
    return sorted((f for f in made if f.severity != "S3"), key=lambda f: f.code not in asked)


def stopped(d: Diagnosis) -> Finding | None:
    """The error that ended a program, where it and the place where it was raised are all that is known."""
    fatal = [f for f in d.findings if f.severity in SERIOUS]
    lost = d.top is not None and any(f.code in LOST for f in d.top.for_)
    alone = d.state == "inconclusive" and not lost and all(f.code == UNNAMED or is_bare(f) for f in fatal)
    own = sorted(fatal, key=lambda f: (f.code != UNNAMED, "role" not in f.data))  # a place has no line of its own
    return next((f for f in own if f.evidence and f.evidence[0].text), None) if alone else None


def begins(d: Diagnosis) -> bool:
    """Whether an undecided answer has a cause to begin with: by evidence, or by the words where there is no run."""
    if d.state != "inconclusive" or d.top is None:
        return False
    return bool(d.top.for_) or (not d.checks and d.top.probability >= LEAST)


def next_check(d: Diagnosis, lang: str) -> str:
    """The first check that is still open, of the leader or else of a likely rival; empty where there is none."""
    if error := stopped(d):
        return WORDS["trace"].say(lang, file=error.evidence[0].file, line=error.evidence[0].line or 1)
    rivals = [h for h in d.hypotheses[1:3] if h.status != "refuted" and h.probability >= LIKELY]
    return next((h.entry.check_first.say(lang) for h in (*d.hypotheses[:1], *rivals) if not answered(h, d)), "")


def page(entry: Entry, lang: str) -> str:
    """One runbook entry whole, as Markdown."""
    lines = [f"# {entry.title.say(lang)}", f"`{entry.id}` {entry.severity} ({', '.join(entry.stages)})", ""]
    lines += [entry.check_first.say(lang), ""]
    for heading, text in entry.said(lang).items():
        lines += [f"## {heading}", named(text, lang), ""]
    lines += [f"- {criterion(c, lang)}" for c in entry.acceptance]
    lines += [f"> {named(c.say(lang), lang)}" for c in entry.cautions]
    return "\n".join([*lines, "", "; ".join(cite(s, lang) for s in entry.cited)])

"""Words a diagnosis in English or Chinese. It adds nothing: every number and name comes from the objects given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...knowledge.library import Passage
from ...knowledge.search import MEANT
from ...tools.findings import GRADES, Check, Finding, clean
from ..change.stays import called
from ..diagnose import BLIND, LEAST, LOST, Diagnosis, undecided, unseen
from ..missing import Missing
from ..propose import Nothing, Proposal
from ..ranking import BELIEVED, SHOWN, Hypothesis
from ..signs.record import held
from ..signs.standing import kind_of
from .entry import begins, checked, criterion, next_check, standing, stopped
from .short import verify_command
from .sources import cite, named
from .words import WORDS

SHOWN_FINDINGS = 10
CHECKED = 3
"""Checks that the files answered, told for the leader."""
ERROR = 56
"""Characters of an error in the headline; its line stands below."""
MISSED = 3
"""What is missing, named in the headline."""
SHOWN_CHECKS = 8
"""Names of checks of one result in the answer; its JSON has them all."""


def code(text: str, most: int = 200) -> str:
    """A run's text as a Markdown code span that cannot break out of it."""
    return "`" + clean(text, most).replace("`", "'") + "`"


def answer_text(
    diagnosis: Diagnosis,
    proposal: Proposal | Nothing,
    lang: str,
    head: Sequence[str],
    looked: bool,
    passages: Sequence[Passage] = (),
    run: str = "",
    candidate: str = "",
) -> str:
    """The whole answer as Markdown, below its `head`: the headline and what is said to the person's own words.

    `run` and `candidate` are the paths that the command names which judges the next run, as in `short_text`.
    """
    if diagnosis.state == "out-of-scope":
        return _joined(head[:1], (f"- {line}" for line in head[1:]))
    return _joined(
        head[:1],
        (f"- {line}" for line in head[1:]),
        _shows(diagnosis, lang),
        _causes(diagnosis, proposal, lang, looked),
        _conflicts(diagnosis, lang),
        _change(diagnosis, proposal, lang, run, candidate),
        _cautions(diagnosis, lang),
        _own(passages, lang),
        checks_made(diagnosis.checks, lang),
        _sources(diagnosis, lang),
    )


def _joined(*parts: Iterable[str]) -> str:
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def first(missing: Sequence[Missing], lang: str) -> str:
    """The worst of what is missing, and how much more."""
    mark, more = ("；", f" 等 {len(missing)} 项") if lang == "zh" else ("; ", f"; and {len(missing) - MISSED} more")
    return mark.join(m.say(lang) for m in missing[:MISSED]) + (more if missing[MISSED:] else "")


def headline(d: Diagnosis, lang: str, looked: bool) -> str:
    """What an answer begins with, in one or two sentences."""
    if d.state == "out-of-scope":
        return WORDS["out-of-scope"].say(lang)
    return " ".join(_head(d, lang, looked))


def _head(d: Diagnosis, lang: str, looked: bool) -> Iterator[str]:
    top = d.top
    if d.state == "diagnosed" and top:
        title, status = top.entry.title.say(lang), WORDS[top.status].say(lang)
        yield WORDS["diagnosed"].say(lang, title=title, id=top.entry.id, status=status, odds=_odds(top, lang))
    elif d.state == "inconclusive" and d.missing and any(f.code == "run-healthy" for f in d.findings):
        said = "healthy-in-part-look" if _worth(d) or any(m.told for m in d.missing) else "healthy-in-part"
        yield _and_look(WORDS[said].say(lang, missing=first(d.missing, lang)), d, lang)
    elif d.state == "healthy":
        going = any(f.code == "log-ends-before-plan" for f in d.findings)
        said = "healthy-so-far" if going else "healthy-look" if _worth(d) else "healthy"
        yield _and_look(WORDS[said].say(lang), d, lang)
        if top:
            noted = [f for f in top.for_ if f.code != "run-healthy"]
            places = _places(d, noted)
            kind = "healthy-note" if noted else "healthy-benign" if top.entry.kind == "benign" else "healthy-but"
            yield WORDS[kind].say(lang, id=top.entry.id, title=top.entry.title.say(lang), places=places)
    elif d.state == "inconclusive" and top and top.for_ and unseen(top, d.checks):
        what = _called(next(c for c in d.checks if c.result == "failed"), lang)
        yield WORDS["unseen"].say(lang, title=top.entry.title.say(lang), id=top.entry.id, what=what)
    elif d.state == "inconclusive" and top and (asked := [f for f in top.for_ if f.code in LOST and "asks" in f.data]):
        asks = "; ".join(str(one["zh" if lang == "zh" else "en"]) for f in asked for one in f.data.get("asks", ()))
        yield WORDS["untold"].say(lang, id=top.entry.id, places=_places(d, asked), asks=asks)
    elif _leans(d) and top and top.status in BELIEVED and not undecided(d):
        yield from (
            _leaning(key, h, lang)
            for key, h in zip(("leaning", "or"), d.hypotheses, strict=False)
            if h.status in BELIEVED and h.probability >= LEAST
        )
    elif _leans(d) and top and top.status == "supported":
        yield WORDS["symptom"].say(lang, title=top.entry.title.say(lang), id=top.entry.id)
        if names := next((f.data["missing"] for f in d.findings if f.code == BLIND and f.data.get("missing")), ()):
            yield WORDS["not-logged"].say(lang, names=", ".join(f"`{name}`" for name in names))
    elif error := stopped(d):
        e = error.evidence[0]
        said = e.text or ""
        short = said if len(said) <= ERROR else f"{said[:ERROR]}…"
        yield WORDS["stopped"].say(lang, error=code(short), place=code(f"{e.file}:{e.line}"))
    elif top and top.words >= MEANT and not top.entry.sources and not d.findings:
        yield WORDS["closest"].say(lang, title=top.entry.title.say(lang), id=top.entry.id, p=top.percent)
    elif broken := _broken(d):
        yield WORDS["unread"].say(lang, what=_called(broken, lang))
    elif looked and (d.hypotheses or d.findings):
        yield _seen(d, lang)
    else:
        none = "too-little" if looked else "not-covered"
        yield WORDS["inconclusive" if d.hypotheses else none].say(lang)
    if not looked:
        yield WORDS["words-only"].say(lang)


def _leans(d: Diagnosis) -> bool:
    """Whether an undecided answer has a cause that is likely, and more than the question said again."""
    return d.state == "inconclusive" and d.top is not None and d.top.probability >= LEAST and not d.restated


def _seen(d: Diagnosis, lang: str) -> str:
    """Whether trouble was seen at all, of a run of which no cause is supported; what only stands in settings and
    programs is none."""
    wrong = [f for f in d.findings if f.severity in SHOWN]
    if seen := [f for f in wrong if not kind_of(f)]:
        more = f" … ({len(seen)})" if seen[MISSED:] else ""
        return WORDS["trouble-seen"].say(lang, places=_places(d, seen[:MISSED]) + more)
    missing = first(d.missing, lang)
    said = f"{'：' if lang == 'zh' else ': '}{missing}" if missing else ""
    return _and_look(WORDS["no-failure-seen"].say(lang, missing=said), d, lang)


def _odds(top: Hypothesis, lang: str) -> str:
    """How often such an answer about a run was right; without evidence the probability by the words."""
    if not top.for_:
        return WORDS["by-words"].say(lang, p=top.percent)
    right, n = held(top.entry.id, any(f.severity == "S0" for f in top.for_))
    return WORDS["held"].say(lang, right=right, n=n)


def _leaning(key: str, h: Hypothesis, lang: str) -> str:
    return WORDS[key].say(lang, title=h.entry.title.say(lang), id=h.entry.id, p=h.percent)


def _worth(d: Diagnosis) -> str:
    """The findings that are likely wrong though nothing failed."""
    return _places(d, [f for f in d.findings if f.severity in SHOWN])


def _places(d: Diagnosis, some: Sequence[Finding]) -> str:
    return ", ".join(f"F{i}" for i, f in enumerate(d.findings, 1) if f in some)


def _and_look(said: str, d: Diagnosis, lang: str) -> str:
    places = _worth(d)
    blank = "" if lang == "zh" else " "
    return f"{said}{blank}{WORDS['look'].say(lang, places=places)}" if places else said


def lead(d: Diagnosis, lang: str, looked: bool) -> Iterator[str]:
    """What to look at first, where nothing that was read supports a cause, and something leads to one."""
    named_above = not looked and d.top is not None and d.top.words >= MEANT
    if begins(d) and d.top and d.top.status == "possible" and not _broken(d) and not named_above:
        title, status = d.top.entry.title.say(lang), standing(d.top, lang)
        yield WORDS["lead"].say(lang, title=title, id=d.top.entry.id, status=status)


def _fine(d: Diagnosis) -> bool:
    """Whether what was read shows nothing wrong."""
    return all(f.code.startswith("lead-") or f.severity not in SHOWN for f in d.findings)


def _broken(d: Diagnosis) -> Check | None:
    """The first of what could not be checked, where what could shows nothing wrong."""
    return next((c for c in d.checks if c.result == "failed"), None) if _fine(d) else None


def _called(check: Check, lang: str) -> str:
    """A check that was not made, and why."""
    return clean(f"{check.called(lang)}{'：' if lang == 'zh' else ': '}{check.say(lang)}", 200)


def _shows(d: Diagnosis, lang: str) -> Iterator[str]:
    if not d.findings:
        return
    yield WORDS["shows"].say(lang)
    yield f"{GRADES.say(lang)}{'。' if lang == 'zh' else '.'}"
    yield ""
    for i, finding in enumerate(d.findings[:SHOWN_FINDINGS], 1):
        yield f"- **F{i}** {finding.severity} `{finding.code}`: {clean(finding.say(lang), 600)}{_place(finding)}"
    if len(d.findings) > SHOWN_FINDINGS:
        yield WORDS["more"].say(lang, n=len(d.findings) - SHOWN_FINDINGS)
    if d.unexplained:
        yield WORDS["unexplained"].say(lang, codes=", ".join(f"`{f.code}`" for f in d.unexplained))


def _place(finding: Finding) -> str:
    for e in finding.evidence[:1]:
        place = f"{e.file}:{e.line}" if e.line else e.file
        return (f" — {code(place)}" if place else "") + (f" {code(e.text)}" if e.text else "")
    return ""


def _causes(d: Diagnosis, proposal: Proposal | Nothing, lang: str, looked: bool) -> Iterator[str]:
    if not d.hypotheses or d.state == "healthy":
        return
    number = {id(f): f"F{i}" for i, f in enumerate(d.findings, 1)}
    yield WORDS["causes"].say(lang)
    yield WORDS["odds"].say(lang)
    yield ""
    for i, h in enumerate(d.hypotheses, 1):
        sides = [
            f"{WORDS[side].say(lang)} " + ", ".join(number[id(f)] for f in found)
            for side, found in (("for", h.for_), ("against", h.against))
            if found
        ]
        cause = WORDS["cause"].say(lang, cause=named(h.cause.text.say(lang), lang)) if h.cause else ""
        tail = f" ({'; '.join(sides)})" if sides else ""
        words_only = h.status == "possible" and not h.for_ and looked
        odds = "" if words_only else f", {h.percent}"
        yield f"{i}. {h.entry.title.say(lang)} [`{h.entry.id}`]{cause} — {standing(h, lang)}{odds}{tail}"
    for h in d.also:
        yield WORDS["also"].say(lang, title=h.entry.title.say(lang), id=h.entry.id,
                                evidence=", ".join(number[id(f)] for f in h.for_))  # fmt: skip
    if d.also:
        yield WORDS["mend"].say(lang, order=", ".join(f"`{h.entry.id}`" for h in d.to_mend))
    for finding in checked(d.hypotheses[0])[:CHECKED]:
        yield ""
        yield WORDS["checked"].say(lang, text=clean(finding.say(lang), 400) + _place(finding))
    key = "close" if d.close and isinstance(proposal, Nothing) else "check"
    if check := next_check(d, lang):
        yield ""
        yield WORDS[key].say(lang, check=check)


def _conflicts(d: Diagnosis, lang: str) -> Iterator[str]:
    if d.state == "healthy" or not d.conflicts:
        return
    yield WORDS["conflicts"].say(lang)
    for conflict, side in d.conflicts:
        positions = [named(p.say(lang), lang) for p in conflict.positions]
        decision = (
            WORDS["undecided"].say(lang, by=named(conflict.decided_by.say(lang), lang))
            if side is None
            else WORDS["decided"].say(lang, position=positions[side])
        )
        yield f"- {conflict.about.say(lang)}: {' / '.join(positions)}. {decision}"


def _change(d: Diagnosis, proposal: Proposal | Nothing, lang: str, run: str, candidate: str) -> Iterator[str]:
    if isinstance(proposal, Nothing):
        if d.state == "diagnosed":
            yield WORDS["no-change"].say(lang, why=proposal.say(lang))
        return
    p = proposal
    yield WORDS["change"].say(lang, variable=p.variable)
    if p.file:
        yield WORDS["from-to"].say(lang, file=code(f"{p.file}:{p.line}"), name=p.key, old=clean(p.old), new=p.new)
    else:
        yield WORDS["elsewhere"].say(lang, name=p.key, new=p.new) + (WORDS["old"].say(lang, old=p.old) if p.old else "")
    if p.patch:
        yield f"```diff\n{p.patch.rstrip().replace('```', chr(39) * 3)}\n```"
    if p.hidden:
        yield WORDS["hidden"].say(lang)
    for key in ("why", "expect", "undo"):
        yield f"- {WORDS[key].say(lang, text=named(getattr(p, key), lang))}"
    names = ("、" if lang == "zh" else ", ").join(called(name, lang) for name in p.stays)
    yield f"- {WORDS['stays'].say(lang, names=names) if names else WORDS['unchanged'].say(lang)}"
    yield ""
    yield WORDS["acceptance"].say(lang)
    yield from (f"- {criterion(c, lang)}" for c in p.acceptance)
    yield ""
    yield WORDS["then"].say(lang, command=code(" ".join(verify_command(p, lang, "", run, candidate)), 600))


def _cautions(d: Diagnosis, lang: str) -> Iterator[str]:
    cautions = [named(c.say(lang), lang) for h in d.hypotheses[:1] for c in h.entry.cautions]
    if cautions and d.state == "diagnosed":
        yield WORDS["cautions"].say(lang)
        yield from (f"- {text}" for text in cautions)


def _own(passages: Iterable[Passage], lang: str) -> Iterator[str]:
    """Quotes from the person's own runbooks, marked as such; their text is data, whatever it says."""
    for i, passage in enumerate(passages):
        if i == 0:
            yield WORDS["own"].say(lang)
        place = f"{passage.file}:{passage.line}"
        yield f"- {code(place)} {clean(' > '.join(passage.headings), 120)}: {code(passage.text)}"


def checks_made(checks: Iterable[Check], lang: str) -> Iterator[str]:
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.result, []).append(check)
    if not groups:
        return
    yield WORDS["looked"].say(lang)
    for result in ("found", "clear", "too-short", "not-applicable"):
        if names := [c.called(lang) for c in groups.get(result, ())]:
            names = list(dict.fromkeys(map(clean, names)))
            rest = WORDS["more-checks"].say(lang, n=len(names) - SHOWN_CHECKS) if len(names) > SHOWN_CHECKS else ""
            yield f"- {WORDS[result].say(lang)}: {', '.join(names[:SHOWN_CHECKS])}{rest}"
    for check in groups.get("failed", ()):
        yield f"- {WORDS['failed'].say(lang)}: {clean(check.called(lang))}: {clean(check.say(lang))}"


def _sources(d: Diagnosis, lang: str) -> Iterator[str]:
    if not d.hypotheses or d.state == "healthy":
        return
    yield WORDS["sources"].say(lang)
    for h in d.hypotheses[:3]:
        cited = "; ".join(cite(source, lang) for source in h.entry.cited)
        yield f"- `{h.entry.id}`: {cited or h.entry.origin}"

"""What the run itself says to a question that no other turn answers: since when, how a setting stands, how a measure
went, and what was found of the things that the question names.

Everything is read off what the tools have read; nothing is looked at anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...knowledge.words import tokens
from ...tools.findings import Finding, clean
from ...tools.patterns import bounded
from ...tools.phrase import phrases
from ...tools.series import Series
from ..answer import Answer
from ..narrate.measured import Spoken
from ..question.named import named

SAID = phrases(
    "what the run says to a question",
    ("since", "The first sign of it is at step {step}: {finding}.", "最早的迹象在第 {step} 步：{finding}。"),
    ("set", "`{key}` is {value} ({file}:{line}).", "`{key}` 为 {value}（{file}:{line}）。"),
    ("went", "`{key}` goes from {first:.4g} (step {start}) to {last:.4g} (step {end}), between {low:.4g} and "
     "{high:.4g} ({file}){rest}.",
     "`{key}` 从 {first:.4g}（第 {start} 步）到 {last:.4g}（第 {end} 步），"
     "介于 {low:.4g} 和 {high:.4g} 之间（{file}）{rest}。"),
    ("not-finite", "; {n} values are nan or infinite", "；另有 {n} 个值是 nan 或无穷"),
    ("found", "Found of what you name: {id} {message}", "与你所问相关的发现：{id} {message}"),
)  # fmt: skip
_SINCE = bounded(
    r"(?i)\b(?:from|at|since|in|on|by) (?:which|what) (?:step|epoch|iteration|point)\b|\b(?:which|what) step\b"
    r"|\b(?:since )?when (?:did|does|was|is|do|has) .{2,60}\b(?:start\w*|beg[iau]n\w*|go|going|turn\w*|break|broke|bad"
    r"|wrong|happen\w*)\b|从(?:哪|什么|第几)一?步|(?:第几|哪一?)步|(?:什么时候|何时|几步)(?:开始|变|坏|出)"
)
_RESUMES = bounded(
    r"(?i)\bresum\w+|\bcontinue|\bgo(?:ing)? (?:on|back)|roll|checkpoint|ckpt|恢复|续训|继续|回滚|检查点"
)
_ASKS = bounded(
    r"(?i)\?|？|\b(?:what|which|where|how (?:much|many|big|high|low)|is|did|does|was|show)\b|[吗呢么]|什么|哪|多少|几"
)
DATES = ("metric-changed", "onset")
"""Findings that say at which step a measure changed."""
MOST, SHARE = 2, 0.34
"""Things told of each kind, and the share of the findings that may hold a word that tells them apart."""
LONG, TELLING = 3, 5
"""Letters of a word from which on it can tell findings apart, and from which on it does so alone."""


def since(own: str, answer: Answer) -> Iterator[str]:
    """Since which step it is as it is, where that is asked; where to go on from is another question."""
    if _SINCE.search(own) and not _RESUMES.search(own):
        yield from _since(answer)


def measured(own: str, answer: Answer) -> Iterator[str]:
    """What was read of what a question names; nothing where that is no question, or nothing was read of it."""
    if answer.seen is None or not _ASKS.search(own):
        return
    settings, series = list(_settings(own, answer)), list(_series(own, answer.seen.table))
    yield from settings
    for s in list({s.key: s for s in reversed(series)}.values())[: -MOST - 1 : -1]:
        real = np.flatnonzero(np.isfinite(s.values))
        lost = len(s) - len(real)
        values, at = s.values[real], s.steps[real]
        yield SAID["went"].say(
            answer.lang, key=clean(s.key, 60), first=float(values[0]), start=int(at[0]), last=float(values[-1]),
            end=int(at[-1]), low=float(values.min()), high=float(values.max()), file=clean(s.file, 80),
            rest=SAID["not-finite"].say(answer.lang, n=lost) if lost else "",
        )  # fmt: skip
    for number, f in _findings(own, answer.diagnosis.findings):
        yield SAID["found"].say(answer.lang, id=f"F{number}", message=clean(f.say(answer.lang), 300))


def _since(answer: Answer) -> Iterator[str]:
    """The earliest step at which the leading cause's findings stand, or one that dates a change of what they measure.

    A sign stands where its measure begins, and a finding on the last point of one says nothing of when.
    """
    top, findings = answer.diagnosis.top, answer.diagnosis.findings
    of = {e.metric for f in (top.for_ if top else ()) for e in f.evidence if e.metric}
    ends = {int(s.steps[-1]) for s in (answer.seen.table if answer.seen else ()) if len(s)}
    dated = [
        (int(e.step), n, f)
        for n, f in enumerate(findings, 1)
        for e in f.evidence[:1]
        if isinstance(e.step, (int, float)) and not f.code.startswith("sign-") and int(e.step) not in ends
        if (top and f in top.for_) or (f.code in DATES and e.metric in of)
    ]
    if dated:
        step, n, f = min(dated, key=lambda one: one[:2])
        yield SAID["since"].say(
            answer.lang, step=step, finding=f"F{n} ({clean(f.say(answer.lang), 200).rstrip('.。')})"
        )


def _plainly(f: Finding, lang: str) -> str:
    return clean(f.say(lang), 200).rstrip(".。")


def _settings(own: str, answer: Answer) -> Iterator[str]:
    """The settings that the question names, by their own keys or by what they are."""
    if answer.seen is None:
        return
    have = answer.seen.settings
    keys = {s.key.rpartition(".")[2].lower(): s for s in (*have, *have.others.values())}
    words = {w.lower().lstrip("-") for w in own.split() if "_" in w or w.startswith("--")}
    words = {w.strip("`'\"?.,;:!()") for w in words}
    asked = [keys[w] for w in words if w in keys]
    asked += [s for _, _, name in named(own) if (s := have.get(name)) and s not in asked]
    for s in asked[:MOST]:
        yield SAID["set"].say(
            answer.lang, key=clean(s.key, 60), value=clean(s.raw, 80), file=clean(s.file, 80), line=s.line
        )


def _series(own: str, table: Iterable[Series]) -> list[Series]:
    """The series whose own name, or what it means, the question says; those called by their own name first."""
    spoken, plain = Spoken.of(own), Spoken(Spoken.of(own).words, frozenset())
    found = [s for s in table if np.isfinite(s.values).any() and spoken.name(s.key, s.metric)]
    return sorted(found, key=lambda s: (not plain.name(s.key, s.metric), -len(s)))


def _findings(own: str, findings: Sequence[Finding]) -> list[tuple[int, Finding]]:
    """The findings that share words with the question which few of them hold, those that share most first."""
    words = {w for w in tokens(own) if len(w) >= LONG or w > "\u33ff"}
    said = [set(tokens(f"{f.code} {f.message} {f.say('zh')}")) for f in findings]
    rare = {w for w in words if 0 < sum(w in one for one in said) <= max(1.0, SHARE * len(findings))}
    shared = ((n, rare & one) for n, one in enumerate(said, 1))
    ranked = sorted((-len(w), n) for n, w in shared if len(w) > 1 or max(map(len, w), default=0) >= TELLING)
    return [(n, findings[n - 1]) for _, n in ranked[:MOST]]

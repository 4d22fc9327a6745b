"""Causes that no table of topics names: what stands where a belief has its object, looked up among the entries.

The belief is told as everywhere (`cues`), with the noun phrase as its cause; the nearest entry by words and by the
encoder says what topic that is. A phrase that is near to no entry is no cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ...knowledge.search import Hit
from ...tools.patterns import bounded
from .cues import CUES, Polarity
from .parts import clauses
from .phrases import X, plain
from .polarity import Suspicion
from .symptoms import spans
from .topics import mentions, of_entry

NEAR = 0.6
"""How near an entry is that a phrase can mean; phrases of the field score 0.6 to 1.0, everyday words below 0.4."""
MOST = 4
"""Clauses of a message that are looked up."""
_WORDS = r"[a-z][a-z0-9-]{1,20}(?: (?!is\b|are\b|was\b|has\b|did\b|again\b|right\b|then\b)[a-z][a-z0-9-]{1,20}){0,2}"
_OBJECT = bounded(
    r"\b(?:blam(?:e|es|ing)|suspect(?:s|ing)?|culprit is|fault of|because of|due to|caused by|"
    r"(?:money(?:'s| is)?|bet) on"
    r"|(?:smells|looks|sounds|feels|seems) like|it'?s(?: not)?|(?:must|might|may|could|can'?t|cannot) be|is(?:n'?t)? it"
    r"|it (?:was|is)(?:n'?t| not)?|rule[ds]? out|doubt(?: it'?s)?) (?:really |just |all |probably |still |definitely )?"
    rf"(?:the |my |our |some |that |those |these )(?P<what>{_WORDS})",
    re.IGNORECASE,
)
_SUBJECT = bounded(
    rf"^(?:so |and |maybe |perhaps |i think |i bet )?(?:the |our |my |that |those )(?P<what>{_WORDS})"
    r" (?:(?:is|was|are|were|isn'?t|wasn'?t) (?:not )?(?:to blame|at fault|(?:the|a) (?:culprit|problem|cause"
    r"|reason|issue))"
    r"|(?:broke|caused|killed|did) (?:it|this|that))",
    re.IGNORECASE,
)
_HAN = bounded(
    r"(?:怀疑|是不是|会不会|难道|莫非|八成|肯定|多半|估计|应该|可能|我看|我猜|一定|准)(?:就|又|还)?是?"
    r"(?P<what>[\u3400-\u9fff]{2,8}?)(?<![了过着得到])(?:的锅|的问题|导致|引起|惹的|搞的|害的|闹的|吧|吗|$)"
)


def unnamed(message: Sequence[str], search: Callable[[str, int], list[Hit]]) -> Iterator[Suspicion]:
    """The suspicions of a message in which no topic is named."""
    told = ((sentence, clause) for sentence in message for clause in clauses(sentence))
    found = [(s, c, m) for s, c in told if not mentions(c) and (m := _slot(c)) and not _seen(c, m)]
    for sentence, clause, slot in found[:MOST]:
        masked = plain(clause[: slot.start("what")] + X + clause[slot.end("what") :])
        sign: Polarity | None = next((polarity for polarity, pattern in CUES if pattern.search(masked)), None)
        best = next(iter(search(slot["what"], 1)), None) if sign else None
        topic = next(iter(of_entry(best.entry)), None) if best and best.score >= NEAR else None
        if sign and topic:
            yield Suspicion(topic, sign, False, sentence)


def _slot(clause: str) -> re.Match[str] | None:
    return _OBJECT.search(clause) or _SUBJECT.search(clause) or _HAN.search(clause)


def _seen(clause: str, slot: re.Match[str]) -> bool:
    """Whether the phrase tells a symptom."""
    return any(start < slot.end("what") and slot.start("what") < end for start, end in spans(clause))

"""What a person is about to do: a variable, a direction, a value.

A clause is cut where one action ends and the next begins ("and", "then", "再"). Each part has a verb and its object:
in English after the verb, in Chinese also before it; a part without a verb takes the one before it ("raise A and B");
"it" is what was spoken of last. What was done already ("I halved the rate") is no plan, and neither is what is denied
("don't touch the rate") or only a noun ("on resume").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ...tools.patterns import bounded
from .actions import ACTS, SAID_AS, Direction
from .parts import clauses
from .topics import TOPICS

MOST = 20
"""Actions of one part that are looked at; nobody plans more in one breath."""
REACH = 40
"""Characters between a verb and what it acts on."""


@dataclass(frozen=True)
class Plan:
    """One action that the person has in mind."""

    variable: str
    """Canonical setting, or what else would be acted on: `data`, `checkpoint`, `code`, `run`."""
    direction: Direction
    value: str
    """As typed, empty where none is named."""
    text: str
    """The clause that says it."""


@dataclass(frozen=True)
class _Act:
    """One verb in a part of a clause."""

    direction: Direction
    start: int
    end: int
    said: str


_ALONE = (
    ("library", bounded("upgrad|downgrad|pin|install|升级|降级|重装", re.IGNORECASE)),
    ("checkpoint", bounded("roll|rewind|back|回滚|回退|退回", re.IGNORECASE)),
    ("run", bounded("")),
)
"""What a verb of doing acts on where it has no object."""

_TOPICS = {
    "run": "checkpoint",
    "library": "library-version",
    "code": "code-change",
    "reward": "reward-model",
    "num_generations": "batch-size",
    "global_batch_size": "batch-size",
}
"""What a variable that is no setting of an entry belongs to."""

_INTENT = bounded(
    r"\b(?:should|shall|can|could|may|might|must|need|ought|will|would|gonna|going to|about to|wanna|want|gotta"
    r"|plan\w*"
    r"|intend\w*|thinking|tempted|consider\w*|propos\w+|suggest\w*|prefer|rather|better|ready|let'?s|let me|lemme"
    r"|(?:i|we|you|they)['’]?(?:ll|d|m|re)|what if|how about|what about|why not|why don'?t|ok|okay|safe|fine|worth"
    r"|help"
    r"|just|simply|fix|next|tonight|tomorrow|now|try\w*|before i|instead|please|pls|idea|objections?|unless|sense"
    r"|enough"
    r"|harmless|thoughts|wise|smart|dumb|stupid|wrong to|enough to|time to)\b|\?"
    r"|打算|准备|想(?!不|起|问)|要(?!是|么|不然)|能不能|可以|行[吗不么]|好[吗么]|直接|干脆|应该|需要|[该得]不?该?|试|不如|先|就|把|将"
    r"|为什么不|怎么不|计划|考虑|必要|有用|会好|一下|吧|算了|今晚|明天|下一?[轮次步]|[吗么？]|省得|免得|看看|再",
    re.IGNORECASE,
)
_PAST = bounded(
    r"\b(?:already|yesterday|last (?:night|week|run|time|month)|ago|(?:after|when|since|once|because) (?:i|we|they"
    r"|he"
    r"|she|someone)|who(?:ever)?(?= \w{1,12}ed)|(?:i|we)(?:'ve| have| had) (?:just |already |now )?|did(?:n'?t)?"
    r"|used to|never|someone|somebody"
    r"|(?:after|since|despite|upon|even)(?= \w{1,12}ing))\b"
    r"|已经|早就|早已|昨天|刚|之前就?|上次|试过|过了|改完|调完|换完|没有?用",
    re.IGNORECASE,
)
"""What stands in a part that tells what was done."""
_DENIED = bounded(
    r"(?:\b(?:don'?t|do not|won'?t|wouldn'?t|never|not|no|without|instead of|rather than|refuse to|cannot|can'?t"
    r"|doesn'?t|didn'?t|isn'?t|fails? to|seems? to|starts? to|tends? to|keeps?|it|which|that)\s+(?:\w{1,12} )?"
    r"|(?<![要能可何否会])(?:别|不要?|没有?|不会|无需|不用|不想|不打算|不能|不准|勿|一)\s*(?:再|去|先|想)?)$",
    re.IGNORECASE,
)
"""What right before a verb means that nobody will act."""
_WHY_NOT = bounded(
    r"\bwhy (?:not|don'?t|can'?t)|\bcan'?t (?:i|we)|\bunless|为什么|为啥|干嘛|怎么|何不|要不|能不|可不", re.IGNORECASE
)
_NOUN = bounded(
    r"\b(?:the|a|an|my|our|your|their|this|that|each|every|on|after|at|upon|since|in|during|no|last|first|any|of"
    r"|from)\s+"
    r"(?:[\w-]{1,20} ){0,3}$|\b(?:is|are|was|were|be|been|looks?|seems?|'s|all)\s+(?:\w{1,12}ly )?$",
    re.IGNORECASE,
)
"""What right before a verb makes it a noun."""
_NOUNS = bounded(
    r"resume|restart|re-?run|update|upgrade|patch|merge|reset|drop|cut|bump|increase|decrease|change|fix|stop|use"
    r"|set"
    r"|switch|kill|boost|try|revert|retry|swap|replay|ship|push up|scale up|move to|triple|clean|clip|half",
    re.IGNORECASE,
)
_INVARIANT = bounded(r"set|cut|put in|reset|cut down", re.IGNORECASE)
_DONE = bounded(r"(?!算了)[多少大小高低好完掉到]?[了过]")
"""What follows a Chinese verb that tells what was done."""
_MOVES = bounded(r"go(?:es|ing) (?:back )?(?:up|down)", re.IGNORECASE)
"""What measures do by themselves; a plan only with a value."""
_SUBJECT = bounded(r"\b(?:i|we|he|she|they|you|someone|\w{1,20}ing)\s+(?:just |also |only |had )?$", re.IGNORECASE)
"""Whom a verb without a past form follows when it tells what was done."""
_IMMINENT = bounded(r"要|准备|打算|想|把.{1,20}(?:吧|吗|行|可以|算)|先|直接|干脆|吧|不就|试|看|[吗？?]")
_AND = bounded(
    r"\s*[&+]\s+|\s+(?:and(?: then| also)?|then|plus|while|or|but)\s+|(?=再(?!说|看)|然后|并且|并(?!行|发)|同时|顺便"
    r"|接着(?!训|跑))"
    r"|(?<=吧)(?=\S)",
    re.IGNORECASE,
)
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_WORDS = r"b?f(?:loat|p)?(?:16|32|8)|true|false|none|sdpa|eager|adamw?|sgd|step[- ]?\d+k?"
_TO = bounded(
    rf"(?:\b(?:to|at|with|by|of|from scratch with)\s+|=\s*|->\s*|→\s*|到|成|为|用|回|至)\s*(?:about |around )?"
    rf"(?P<value>~?{_NUMBER}(?:\.\d+)?\s?[%kKxXMB]?|{_WORDS})(?![\w.]*\d)",
    re.IGNORECASE,
)
_THERE = bounded(rf"\s?(?P<value>~?{_NUMBER}\s?[%kKxXMB]?|{_WORDS})", re.IGNORECASE)
_BARE = bounded(rf"(?<![\w.-])({_NUMBER}[%xXk]?|bf16|fp16|fp32)(?![\w.])", re.IGNORECASE)
_SHIFT = bounded(
    rf"^[\s:]*(?:from {_NUMBER} )?(?P<way>be|goes|going|back|should be|up|down|go|gets|is|从\s?{_NUMBER}\s?|直接"
    rf"|先|就)?\s?"
    r"(?P<more>up|down|back)?\s?"
    rf"(?:to\s|(?<=be )|=|->|→|降到|将到|掉到|到|改成|设成|改为|成|调成|弄成|搞成|给到)\s*"
    rf"(?P<value>~?{_NUMBER}[kKxX%]?|{_WORDS})",
    re.IGNORECASE,
)
"""What follows a variable that goes to a value without any verb: "temperature to 0.7"."""
_WISH = bounded(
    rf"\b(?:want|have|like|keep|put|get) it (?:at|to|be|around) (?P<value>{_NUMBER}|{_WORDS})", re.IGNORECASE
)
"""A value that "it" shall have."""
_FROM_TO = bounded(
    rf"(?:from|从)\s*(?:[a-z_]{{1,20}}\s)?({_NUMBER})\s*\S{{0,3}}\s*(?:to|->|到|成|为)\s*({_NUMBER})", re.IGNORECASE
)
_NO_OBJECT = bounded(
    r"\s*(?:$|[^\w\s]|\d|[\u3400-\u9fff]|(?:it|them|that|this|those|these|both|over|again|from|with|without|now"
    r"|tonight|today|tomorrow|and|at|to"
    r"|by|in|for|a bit|entirely|everything|if|unless|until|asap|then|or|first|right|anyway|once|back|the next)\b)",
    re.IGNORECASE,
)
"""What follows a verb whose object is left out or a pronoun."""
_FROM_STEP = bounded(r"\bfrom (?:step )?\d|从.{0,6}(?:步|ckpt|万|k\b)", re.IGNORECASE)
_FRONTED = bounded(r"\b(?:is|be|what|should|could|needs?|gets?)\b")
"""What stands between an object and the verb after it."""
_SETTING = bounded(r"(?<![\w.])[a-z]{2,20}(?:_[a-z0-9]{1,20}){1,5}(?![\w.])", re.IGNORECASE)
"""A name that only a setting has, whether or not the table knows it."""
_JOINED = bounded(r"\s*(?:,|/|、|和|与|跟|及|and|&|\+|plus)\s*(?:the |my |our )?", re.IGNORECASE)
_AIM = bounded(r"[把将从给让对]")
_BATCH = bounded(r"batch|批", re.IGNORECASE)
_HAN = bounded(r"[\u3400-\u9fff]")
_GIVEN = bounded(
    r"\b(?:with|at|when|if|using|under|is|was|had|have|has|in|\w{1,12}ed)\s+(?:the |our |my )?$", re.IGNORECASE
)


def plans(sentence: str, spoken_of: str = "") -> Iterator[Plan]:
    """The actions that one sentence has in mind: an intention, a verb that begins a clause, a value to go to.

    Args:
        spoken_of: the variable that was named last before it, which "it" means.
    """
    meant = _INTENT.search(sentence) is not None
    for clause in clauses(sentence):
        last: Plan | None = None
        for part in _AND.split(clause):
            for plan in _of_part(part, clause, spoken_of, last, meant):
                yield (last := plan)
            spoken_of = last_named(part) or spoken_of


def last_named(text: str) -> str:
    """The variable that a text names last, empty for none."""
    return next((name for _, _, name in reversed(_named(text)) if name != "run"), "")


def topic_of(variable: str) -> str:
    """The topic whose setting a variable is, empty for none."""
    return _TOPICS.get(variable) or next((t.id for t in TOPICS.values() if variable in t.variables), "")


def _of_part(part: str, clause: str, spoken_of: str, last: Plan | None, meant: bool) -> Iterator[Plan]:
    """The actions of one part; without a verb it shifts a variable or goes on with the verb before it."""
    acts = list(islice(_acts(part, clause), MOST))
    shifts = [] if _PAST.search(part) else list(_without_verb(part, clause, spoken_of, last, meant))
    if all(a.direction == "enable" for a in acts) and (not acts or any(s.value for s in shifts)):
        yield from shifts
        return
    for act in acts:
        rest = part[act.end :]
        to = _TO.search(rest) or _THERE.match(rest)
        value = (to["value"] if to else next(iter(_BARE.findall(rest)), "")).strip()
        if not (meant or (to and act.direction != "do") or act.start <= 12):
            continue
        for name in _objects(part, act, [a for a in acts if a is not act]) or _unsaid(act, part, spoken_of):
            if name == "run" and act.direction != "do":
                continue
            if name == "data" and act.direction in ("raise", "lower") and _BATCH.search(part):
                name = "global_batch_size"
            yield Plan(name, _meant(act.direction, name, value, part), "" if act.direction == "do" else value, clause)


def _acts(part: str, clause: str) -> Iterator[_Act]:
    """The verbs of a part that somebody will act by; of two in one place the more particular."""
    found = sorted(
        (m.start(), -len(m[0]), order, _Act(direction, m.start(), m.end(), m[0]))
        for order, (direction, pattern) in enumerate(ACTS)
        for m in pattern.finditer(part)
    )
    covered, named = -1, _named(part)
    for start, *_, act in found:
        if start < covered:
            continue
        covered = act.end
        before, after = part[:start], part[act.end :]
        done = _DONE.match(after) and not _IMMINENT.search(part)
        denied = _DENIED.search(before) and not _WHY_NOT.search(clause)
        noun = _NOUN.search(before) and _NOUNS.fullmatch(act.said)
        told = _INVARIANT.fullmatch(act.said) and _SUBJECT.search(before)
        within = any(n < start and act.end <= n - size for n, size, _ in named)
        done = done or (_MOVES.match(act.said) and not _TO.search(after))
        told = told or re.match("得?太|不下", after)
        if not (within or done or denied or noun or told or _PAST.search(part[: act.end + 12])):
            yield act


def _without_verb(part: str, clause: str, spoken_of: str, last: Plan | None, meant: bool) -> Iterator[Plan]:
    """ "temperature to 0.7", "warmup_steps=2000"; or more objects of the verb before."""
    named = _named(part)
    if spoken_of and (wish := _WISH.search(part)):
        yield Plan(spoken_of, "set", wish["value"], clause)
    for place, (start, size, name) in enumerate(named):
        end = named[place + 1][0] if place + 1 < len(named) else len(part)
        shift = _SHIFT.match(part[start - size : end])
        if shift and (meant or last or "=" not in shift[0]) and not _GIVEN.search(part[max(0, start - 30) : start]):
            way = {shift["way"], shift["more"]}
            direction: Direction = (
                "lower" if "down" in way or re.search("[降将]到", shift[0]) else "raise" if "up" in way else "set"
            )
            yield Plan(name, direction, shift["value"], clause)
        elif last and len(part) <= -size + 12 and last.direction != "do":
            yield Plan(name, last.direction, "", clause)


def _meant(direction: Direction, variable: str, value: str, part: str) -> Direction:
    """The direction once it is known what is acted on."""
    thing = variable in ("data", "checkpoint", "code", "run", "hardware", "library")
    moved = _FROM_TO.search(part)
    if direction == "set" and moved and not thing and moved[1] != moved[2]:
        return "raise" if float(moved[2]) > float(moved[1]) else "lower"
    if direction == "lower" and thing:
        return "remove"
    if direction == "remove" and value and variable not in ("data", "checkpoint"):
        return "lower"
    if direction == "remove" and not thing:
        return "disable"
    if direction == "enable" and (value or variable in ("library", "optimizer", "tokenizer", "seed")):
        return "set"
    if direction == "enable" and variable in ("checkpoint", "run", "library", "code"):
        return "do"
    return direction


def _named(part: str) -> list[tuple[int, int, str]]:
    """Place, minus length, and name of every variable in a part; one inside a longer one is left out."""
    spans = sorted((-len(m[0]), m.start(), name) for name, pattern in SAID_AS.items() for m in pattern.finditer(part))
    kept: list[tuple[int, int, str]] = []
    for size, start, name in (*spans, *sorted((-len(m[0]), m.start(), m[0].lower()) for m in _SETTING.finditer(part))):
        if all(start - size <= s or start >= s - k for s, k, _ in kept):
            kept.append((start, size, name))
    return sorted(kept)


def _objects(part: str, act: _Act, others: list[_Act]) -> list[str]:
    """The variables that a verb acts on: inside it, after it, else (Chinese, passive) before it; their list."""
    named = _named(part)
    after_limit = min((a.start for a in others if a.start > act.start), default=len(part))
    before_limit = max((a.end for a in others if a.start < act.start), default=0)
    inside = [i for i, n in enumerate(named) if act.start <= n[0] < act.end]
    after = [i for i, n in enumerate(named) if act.end - 1 <= n[0] < min(after_limit, act.end + REACH)]
    before = [i for i, n in enumerate(named) if before_limit <= n[0] < act.start and act.start - n[0] < REACH]
    han, goes = _HAN.search(act.said) is not None, act.said.lower().startswith("go")
    first = before and (
        goes or (han and (not after or _AIM.search(part[: act.start]) or named[after[0]][0] - act.end > 4))
    )
    near = not han and before and not after and _FRONTED.search(part[named[before[-1]][0] : act.start])
    if act.direction == "do" and han and not _AIM.search(part[: act.start]):
        first = False
    if inside:
        return [named[inside[0]][2]]
    if first or (near and act.direction != "do"):
        return _list(part, named, before[-1], -1)
    return _list(part, named, after[0], 1) if after else []


def _list(part: str, named: list[tuple[int, int, str]], at: int, step: int) -> list[str]:
    """The variable at a place, and those that are joined to it."""
    out = [named[at][2]]
    while 0 <= at + step < len(named):
        left, right = sorted((at, at + step))
        if not _JOINED.fullmatch(part[named[left][0] - named[left][1] : named[right][0]]):
            break
        at += step
        out.append(named[at][2])
    return out


def _unsaid(act: _Act, part: str, spoken_of: str) -> list[str]:
    """What a verb without a known object acts on; nothing where the object is a thing that is not known."""
    rest = part[act.end :]
    if not (_HAN.search(act.said) or _NO_OBJECT.match(rest)):
        return []
    if act.direction != "do":
        return [spoken_of] if spoken_of else []
    if spoken_of and re.match(rf"\s*(?:it )?with {_NUMBER}", rest):
        return [spoken_of]
    if _FROM_STEP.search(part):
        return ["checkpoint"]
    return [next(name for name, verbs in _ALONE if verbs.search(act.said))]

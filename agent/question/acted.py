"""What a message plans beyond what `plans` finds by verbs and names: a linear model reads every clause.

Whether a clause plans anything is weighed by its words and by what the rules say of it; which setting is meant is
ranked by `acted.txt`, which holds how people name each, and by what the rules name; where it goes is weighed again
where the rules leave it open. `evals.train_plans` trains all three.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...knowledge.embedding import encoder, unit
from ...knowledge.words import places
from ...tools.patterns import bounded
from ...tools.settings import CONTEXT
from ...tools.settings import VARIABLES as CANONICAL
from . import amounts, clause, signs, weigh
from .actions import ACTS, AFTERWARDS, Direction
from .blamed import Phrases, indexed
from .named import THINGS, named
from .phrases import OTHER, X, plain
from .plans import Plan, seen

FILE = Path(__file__).parent / "acted.txt"
THING, NAMED, SAID, ENCODED = 4, 2, 5, 7
"""Places among what tells how near a variable is: whether it is no setting, whether it is named, what the words say,
and what the encoder says."""
Vector = NDArray[np.float64]
GOES: tuple[Direction, ...] = ("raise", "lower", "set", "enable", "disable", "remove", "do")
"""What the columns of the table of directions say."""
FAR = -6.0
"""What the words of a clause say from which on nothing else is asked."""
LEAST, HOPELESS = 0.0, -1.5
"""Score from which on a clause plans something though no rule says so, and below which none does though one says so."""
ALONE = 1.0
"""Score below which the rules are left alone in a message of few clauses in which they find something: they read a bare
order well."""
SURE, CLEAR = (1.0, 5.0), (1.0, 1.5)
"""By how much another variable must be nearer than the one that the rules name, and a direction outweigh theirs: in
general, and in such a message."""
FEW = 3
"""Clauses from which on a message has more than few."""
LENGTH = 80
"""Characters from which on a clause is long."""
_MARK = bounded(r"->|→|=>|:=|=|\bfrom\b|\bto\b|instead|rather|从|到|成|为|不再|别")
VALUE = re.compile(r"(?<![\w.])[-±]?(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?(?:[kKmM%]\b)?")


@cache
def rows() -> dict[str, tuple[str, list[str]]]:
    """Of each variable its usual value, and the names."""
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    split = (line.split(": ", 1) for line in lines)
    return {head.split()[0]: (head.split()[1], said.split(" | ")) for head, said in split}


@cache
def names() -> Phrases:
    return indexed({variable: said for variable, (_, said) in rows().items()})


@cache
def _centres() -> NDArray[np.float32]:
    return unit(weigh.table("acted").astype(np.float32))


@lru_cache(4096)
def _said(part: str) -> tuple[str, ...]:
    """What a clause says by itself of being a plan: its words, its marks, and what it names."""
    out = [f"M{mark.lower()}" for mark in {m[0] for m in _MARK.finditer(part)}]
    here = named(part)
    out += (f"V{name}" for name in {name for _, _, name in here})
    out += (f"N{min(len(here), 3)}", f"moved{amounts.moved(part)}", f"things{sum(n in THINGS for *_, n in here)}")
    out += (f"set{any(n in CANONICAL for *_, n in here):d}", f"values{min(len(VALUE.findall(part)), 3)}")
    signed = {"intent": signs.INTENT, "past": signs.PAST, "given": signs.GIVEN, "asked": signs.ASKED}
    out += (f"{name}{pattern.search(part) is not None:d}" for name, pattern in signed.items())
    out += (f"start{here[0][0] < 2:d}",) if here else ()
    words = ["^", *weigh.words(_masked(part)), "$"]
    out += ("A" + " ".join(words[n : n + size]) for size in (1, 2, 3, 4) for n in range(len(words) - size + 1))
    return tuple(out)


@lru_cache(4096)
def _masked(part: str) -> str:
    """The clause with `X` for every setting and `OTHER` for every other thing that it names."""
    out, at = list[str](), 0
    for start, size, name in named(part):
        out += [part[at:start], f" {OTHER if name in THINGS else X} "]
        at = start - size
    return plain("".join((*out, part[at:])))


def features(parts: Sequence[str], at: int, acts: Sequence[Plan]) -> list[str]:
    """All by which it is told whether one clause of a message plans something."""
    mine = [p for p in acts if p.text == parts[at]]
    out = [*clause.features(parts, at, {p.text for p in acts}), *_said(parts[at])]
    out += (f"rule{p.direction}" for p in mine)
    out += (f"rule={p.variable}" for p in mine)
    out += (f"rule={p.variable} {p.direction}" for p in mine)
    return [*out, f"rules{min(len(mine), 2)}", f"value{any(p.value for p in mine):d}"]


def margin(parts: Sequence[str], at: int, acts: Sequence[Plan]) -> float:
    """By how much the words of a clause, and the rules, say that it plans something."""
    scores = weigh.table("plans")[places(features(parts, at, acts), weigh.BITS)].sum(0, dtype=np.int64)
    return float(scores[1] - scores[0]) / weigh.SCALE


def shaped(margin: float, near: NDArray[np.float64], parts: Sequence[str], at: int, mine: Sequence[Plan]) -> Vector:
    """What tells whether a clause plans something: its words, the nearest variable, what the rules say, its shape."""
    scores = near @ weigh.table("nearest")
    first, second = np.argsort(-scores, kind="stable")[:2]
    best = near[first]
    ruled = (bool(mine), any(p.direction not in signs.VAGUE for p in mine))
    agreed = any(p.variable == names().entries[first] for p in mine)
    shape = (min(len(parts[at]), LENGTH) / LENGTH, len(parts) == 1, best[THING])
    apart = scores[first] - scores[second]
    return np.array([1.0, margin, scores[first], apart, *ruled, agreed, best[NAMED], best[SAID], best[ENCODED], *shape])


def planned(parts: Sequence[str], acts: Sequence[Plan]) -> list[Plan]:
    """The plans of a message, clause by clause, given those that the rules find.

    Args:
        parts: its clauses.
    """
    out, brief = [p for p in acts if p.text not in parts], bool(acts) and len(parts) < FEW
    for at, part in enumerate(parts[: clause.MOST]):
        mine = [p for p in acts if p.text == part]
        words = margin(parts, at, acts)
        if not mine and (words < FAR or seen(part)):
            continue
        near = ranked(parts, at, acts)
        score = shaped(words, near, parts, at, mine) @ weigh.table("planned")
        if brief and score < ALONE:
            out += mine
            continue
        if score < (HOPELESS if mine else LEAST):
            continue
        out += _of(part, mine, near @ weigh.table("nearest"), {p.variable for p in out}, brief)
    return out


def _of(part: str, mine: Sequence[Plan], scores: Vector, taken: AbstractSet[str], brief: bool) -> Iterator[Plan]:
    """The plans of one clause that plans something."""
    entries = names().entries
    first = int(scores.argmax())
    said = max((float(scores[entries.index(p.variable)]) for p in mine if p.variable in entries), default=None)
    added = bool(mine) and entries[first] not in THINGS and all(p.variable in THINGS for p in mine)
    kept = bool(mine) and (said is None or scores[first] - said <= SURE[brief])
    if kept:
        yield from (_turned(p, part, mine, brief) for p in mine)
    if entries[first] not in taken and (added or not kept):
        values = VALUE.findall(part)
        plan = Plan(entries[first], "set", values[-1] if values else "", part)
        yield replace(plan, direction=GOES[int(_ways(part, plan.variable, mine).argmax())])


def _turned(plan: Plan, part: str, mine: Sequence[Plan], brief: bool) -> Plan:
    """A plan of the rules with where it goes, of which what they say is one sign; a bare value is only set."""
    said = brief and (plan.value or plan.direction not in signs.VAGUE)
    if said or plan.variable not in names().entries:
        return plan
    ways = _ways(part, plan.variable, mine)
    best = int(ways.argmax())
    outweighs = ways[best] - ways[GOES.index(plan.direction)] > CLEAR[brief] * weigh.SCALE
    return replace(plan, direction=GOES[best]) if outweighs else plan


def _ways(part: str, variable: str, mine: Sequence[Plan]) -> NDArray[np.int64]:
    return weigh.table("goes")[places(going(part, variable, mine), weigh.BITS)].sum(0, dtype=np.int64)


def ranked(parts: Sequence[str], at: int, acts: Sequence[Plan], known: Phrases | None = None) -> NDArray[np.float64]:
    """`[variables, 8]` how near a clause is to each variable.

    Args:
        known: other names than those of the table, to train.
    """
    known = known or names()
    here, near = _place(parts[at]), [_place(parts[n]) for n in (at - 1, at + 1, at - 2) if 0 <= n < len(parts)]
    out = np.zeros((len(known.entries), 8))
    for i, variable in enumerate(known.entries):
        mine = [p for p in acts if p.text == parts[at] and p.variable == variable]
        out[i, 0] = bool(mine)
        out[i, 1] = any(p.direction not in signs.VAGUE for p in mine)
        out[i, 2] = variable in here
        out[i, 3] = any(variable in n for n in near)
        out[i, 4] = variable in THINGS
    out[:, 5] = known.shared(parts[at])
    out[:, 6] = known.shared(" ".join(parts[max(0, at - 2) : at + 2]))
    out[:, 7] = _centres() @ encoder().encode([parts[at]])[0]
    return out


@lru_cache(4096)
def _place(part: str) -> frozenset[str]:
    return frozenset(name for *_, name in named(part))


def going(part: str, variable: str, acts: Sequence[Plan]) -> list[str]:
    """All by which it is told where a clause takes a variable."""
    kind = (CANONICAL | CONTEXT)[variable].type if variable in CANONICAL | CONTEXT else "thing"
    words = ["^", *weigh.words(_masked(part)), "$"]
    out = [" ".join(words[n : n + size]) for size in (1, 2, 3) for n in range(len(words) - size + 1)]
    out += (f"K{kind}", f"V{variable}", *(f"M{m[0].lower()}" for m in _MARK.finditer(part)))
    out += (f"rule{p.direction}" + ("" if p.variable == variable else "~") for p in acts if p.text == part)
    verbs = sorted((m.start(), way) for way, verb in (*ACTS, *AFTERWARDS) for m in verb.finditer(part))
    out += (f"act{way}" for way in {way for _, way in verbs})
    out += (f"first act{verbs[0][1]}", f"last act{verbs[-1][1]}") if verbs else ("no act",)
    out += (f"moved{amounts.moved(part)}", f"usual{beyond(part, variable)}", f"K{kind} usual{beyond(part, variable)}")
    return [*out, f"n{min(len(VALUE.findall(part)), 2)}"]


def beyond(part: str, variable: str) -> str:
    """Whether the last value in a clause is above or below the usual one of a variable, empty where nothing says so."""
    usual = rows().get(variable, ("-",))[0]
    values = [v for v in VALUE.findall(part) if v]
    try:
        step = _number(values[-1]) - float(usual) if values else 0.0
    except ValueError:
        return ""
    return "" if not step else "above" if step > 0 else "below"


def _number(said: str) -> float:
    times = {"k": 1e3, "m": 1e6, "%": 0.01}.get(said[-1].lower(), 1.0)
    return float(said.strip("±kKmM%")) * times

"""What a person is about to do: a variable, a direction, a value.

A clause is cut where one action ends and the next begins ("and", "then", "再"). Each part has a verb and its object:
in English after the verb, in Chinese also before it; a part without a verb takes the one before it ("raise A and B");
"it" is what was spoken of last. What was done already ("I halved the rate") is no plan, and neither is what is denied
("don't touch the rate") or only a noun ("on resume").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ...tools.settings import VARIABLES as CANONICAL
from . import amounts, signs
from .actions import ACTS, AFTERWARDS, WISHED, Direction
from .named import THINGS, named
from .parts import clauses
from .topics import TOPICS

SWITCHES = frozenset(
    (*(name for name, v in CANONICAL.items() if v.type == "bool"), "packing", "torch_compile", "enable_prefix_caching")
)
"""What is on or off and has no amount."""
NUMBERS = frozenset(name for name, v in CANONICAL.items() if v.type in ("int", "float"))
"""What has more or less of an amount."""
MOST = 20
"""Actions of one part that are looked at; nobody plans more in one breath."""
TERSE = 9
"""Characters beside a setting that leave no room for anything but where it goes."""
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
    thing: str = ""
    """What it acts on, where it stands right beside it."""


def plans(sentence: str, spoken_of: str = "") -> Iterator[Plan]:
    """The actions that one sentence has in mind: an intention, a verb that begins a clause, a value to go to.

    Args:
        spoken_of: the variable that was named last before it, which "it" means.
    """
    meant, terse = signs.INTENT.search(sentence) is not None, _terse(sentence)
    if signs.ADVISED.search(sentence) and signs.REFUSED.search(sentence):
        return
    sentence = signs.IDIOM.sub("", signs.SUPPOSED.sub(_bare, signs.SUPPOSED_IRREGULAR.sub(_irregular, sentence)))
    for clause in clauses(sentence):
        if seen(clause) or signs.CHOICE.search(clause):
            continue
        last: Plan | None = None
        for part in signs.AND.split(clause):
            for plan in _of_part(part, clause, spoken_of, last, meant, terse):
                way = amounts.beside(plan.value, sentence) if plan.direction == "set" else None
                yield (last := replace(plan, direction=way) if way else plan)
            spoken_of = last_named(part) or spoken_of


def seen(clause: str) -> bool:
    """Whether a clause tells what something did by itself."""
    moved = signs.MOVED.search(clause)
    return moved is not None and not signs.SUPPOSES.search(clause[: moved.start()])


def _bare(supposed: re.Match[str]) -> str:
    """ "if I dropped it" is "if I drop it"."""
    start, verb, twice, e = supposed.groups()
    doubled = twice and verb.endswith(twice)
    return f"{start}{verb}{'' if doubled else twice}{e if verb + twice + e in signs.IN_E else ''}"


def _irregular(supposed: re.Match[str]) -> str:
    """ "if I got rid of it" is "if I get rid of it"."""
    return supposed[1] + signs.IRREGULAR[supposed[2].lower()]


def last_named(text: str) -> str:
    """The variable that a text names last, empty for none; what has an amount or a switch rather than anything else."""
    names = [name for _, _, name in reversed(named(text)) if name != "run"]
    return next((name for name in names if name in NUMBERS | SWITCHES), next(iter(names), ""))


def topic_of(variable: str) -> str:
    """The topic whose setting a variable is, empty for none."""
    return signs.TOPICS.get(variable) or next((t.id for t in TOPICS.values() if variable in t.variables), "")


def _of_part(part: str, clause: str, spoken_of: str, last: Plan | None, meant: bool, terse: bool) -> Iterator[Plan]:
    """The actions of one part; without a verb it shifts a variable or goes on with the verb before it."""
    acts = list(islice(_acts(part, clause), MOST))
    acts += (
        islice(_beside(part, acts), MOST)
        if meant or any(a.direction == "set" for a in acts) or terse or signs.MOVER.match(part)
        else []
    )
    shifts = [] if signs.PAST.search(part) else list(_without_verb(part, clause, spoken_of, last, meant))
    if all(a.direction == "enable" for a in acts) and (not acts or any(s.value for s in shifts)):
        yield from shifts
        return
    found = [plan for act in acts for plan in _by_act(act, acts, part, clause, spoken_of, meant)]
    found += [
        s for s in shifts if s.variable not in {p.variable for p in found if p.direction != "enable" or not s.value}
    ]
    yield from (p for p in found if not (p.direction in signs.VAGUE and any(_clearer(other, p) for other in found)))


def _clearer(one: Plan, other: Plan) -> bool:
    """Whether a plan says of the same thing what the other leaves open."""
    if one.variable != other.variable or one is other:
        return False
    return one.direction not in signs.VAGUE or (one.direction == "set" and bool(one.value) and not other.value)


def _by_act(act: _Act, acts: list[_Act], part: str, clause: str, spoken_of: str, meant: bool) -> Iterator[Plan]:
    """The plans that one verb makes: one for every object."""
    rest = part[act.end :]
    to = signs.TO.search(rest) or signs.THERE.match(rest)
    value = (to["value"] if to else next(iter(signs.BARE.findall(rest)), "")).strip()
    if not (meant or act.thing or (to and act.direction != "do") or act.start <= 12):
        return
    others = [a for a in acts if a is not act and not a.thing]
    for name in [act.thing] if act.thing else _objects(part, act, others) or _unsaid(act, part, spoken_of):
        if signs.EXCLUDES.match(act.said) and name not in signs.EXCLUDED:
            continue
        if name == "run" and act.direction not in ("do", "remove", "disable"):
            continue
        if name in THINGS and signs.NOT_OF_THINGS.fullmatch(act.said):
            continue
        if name == "data" and act.direction in ("raise", "lower") and signs.BATCH.search(part):
            name = "global_batch_size"
        yield Plan(name, _meant(act, name, value, part), "" if act.direction == "do" else value, clause)


def _beside(part: str, acts: list[_Act]) -> Iterator[_Act]:
    """What stands right behind or before a thing and moves it: "temperature up", "a lower rate", "no packing"."""
    if signs.PAST.search(part) or signs.ASKED.match(part):
        return
    for start, size, name in named(part):
        end, before = start - size, part[:start]
        if signs.GIVEN.search(before) and not signs.TRIAL.search(before):
            continue
        gap = signs.GAP.match(part, end)
        for direction, pattern in AFTERWARDS:
            said = pattern.match(part, gap.end() if gap else end)
            if said and not any(a.start <= said.start() < a.end and a.direction != direction for a in acts):
                yield _Act(direction, said.start(), said.end(), said[0], name)
        for direction, pattern in WISHED:
            said = next((m for m in pattern.finditer(before) if not before[m.end() :].strip()), None)
            known = name not in THINGS or name in ("data", "seed") or direction == "set"
            if said and known and not any(a.start <= said.start() < a.end for a in acts):
                yield _Act(direction, said.start(), said.end(), said[0], name)


def _acts(part: str, clause: str) -> Iterator[_Act]:
    """The verbs of a part that somebody will act by; of two in one place the more particular."""
    found = sorted(
        (m.start(), -len(m[0]), order, _Act(direction, m.start(), m.end(), m[0]))
        for order, (direction, pattern) in enumerate(ACTS)
        for m in pattern.finditer(part)
    )
    covered, here = -1, named(part)
    for start, *_, act in found:
        within = any(n < start < n - size for n, size, _ in here)
        if start < covered or within:
            continue
        covered = act.end
        before, after = part[:start], part[act.end :]
        done = (
            signs.DONE.match(after) or signs.LATER.match(after) or act.said.endswith("了")
        ) and not signs.IMMINENT.search(part)
        denied = signs.DENIED.search(before) and not signs.WHY_NOT.search(clause)
        noun = signs.NOUN.search(before) and signs.NOUNS.fullmatch(act.said)
        told = signs.INVARIANT.fullmatch(act.said) and signs.SUBJECT.search(before)
        done = done or (signs.MOVES.match(act.said) and not signs.TO.search(after))
        told = (
            told
            or signs.TURNED_OUT.match(after)
            or signs.BY_ITSELF.search(before)
            or (act.said.endswith("ing") and signs.OUTCOME.search(after))
        )
        told = told or (
            signs.HABIT.fullmatch(act.said) and signs.SUBJECT.search(before) and not signs.INTENT.search(clause)
        )
        told = told or any(said.fullmatch(act.said) and then.match(after) for said, then in signs.NO_ACTS)
        told = told or (act.said.lower() in ("make", "making") and not signs.BARE.search(after))
        told = told or (act.said == "设置" and signs.IS_SO.match(after)) or signs.WHEN.match(after) is not None
        told = told or signs.BLAMING.match(after) is not None or (signs.MENDS.match(act.said) and signs.IT.match(after))
        told = told or (signs.OFFERED.match(act.said) and _unoffered(part[act.end :]))
        told = told or (signs.RUNNING.match(act.said) and signs.BEING.search(before))
        if not (done or denied or noun or told or signs.PAST.search(part[: act.end + 12])):
            yield act


def _unoffered(rest: str) -> bool:
    """Whether "what about X" names no value and nothing that is turned on: then X is suspected."""
    first = next((name for _, _, name in named(rest)), "")
    return first in signs.ASKED_ABOUT and not signs.BARE.search(rest)


def _without_verb(part: str, clause: str, spoken_of: str, last: Plan | None, meant: bool) -> Iterator[Plan]:
    """ "temperature to 0.7", "warmup_steps=2000"; or more objects of the verb before."""
    here = named(part)
    if spoken_of and (wish := signs.WISH.search(part)):
        yield Plan(spoken_of, "set", wish["value"], clause)
    for place, (start, size, name) in enumerate(here):
        end = here[place + 1][0] if place + 1 < len(here) else len(part)
        if signs.SINCE.match(part, start - size):
            continue
        shift = signs.SHIFT.match(part[start - size : end])
        if (
            shift
            and (meant or last or "=" not in shift[0])
            and not signs.GIVEN.search(part[max(0, start - 30) : start])
        ):
            way = {shift["way"], shift["more"]}
            direction: Direction = (
                "lower" if "down" in way or re.search("[降将]到", shift[0]) else "raise" if "up" in way else "set"
            )
            act = _Act(direction, start, end, "")
            yield Plan(name, _meant(act, name, shift["value"], part[start:]), shift["value"], clause)
        elif (meant or not part[:start].strip()) and amounts.BESIDE.match(part, start - size) and _free(part, start):
            yield Plan(name, amounts.moved(part[start - size :]) or "set", "", clause)
        elif (
            (value := signs.VALUE.match(part[start - size : end]))
            and meant
            and _desired(part, start, start - size + value.end())
        ):
            yield Plan(name, "set", value["value"], clause)
        elif last and len(part) <= -size + 12 and last.direction != "do":
            yield Plan(name, last.direction, "", clause)


def _terse(sentence: str) -> bool:
    """Whether a sentence is hardly more than a setting and where it goes, as one tells somebody what to do."""
    here = named(sentence)
    return len(here) == 1 and len(sentence) + here[0][1] <= TERSE and not signs.PAST.search(sentence)


def _free(part: str, start: int) -> bool:
    """Whether nothing says that it is so, or was."""
    return not (signs.PAST.search(part) or signs.ASKED.match(part) or signs.GIVEN.search(part[:start]))


def _desired(part: str, start: int, end: int) -> bool:
    """Whether a value right beside a variable is one to be tried, not one that is."""
    if signs.PAST.search(part) or signs.ASKED.match(part):
        return False
    before = part[:start]
    if not before.strip() and not part[end:].strip(" ?.!"):
        return True
    return bool(signs.WANTED.search(before) or signs.ASK_AFTER.match(part[end:])) and not (
        signs.GIVEN.search(before) and not signs.TRIAL.search(before)
    )


def _meant(act: _Act, variable: str, value: str, part: str) -> Direction:
    """The direction once it is known what is acted on."""
    direction, thing = act.direction, variable in THINGS
    if direction in ("remove", "disable") and variable == "run":
        return "do"
    if direction == "do" and not thing and variable not in ("seed", "optimizer"):
        return "disable" if signs.ENDS.match(act.said) else "set" if value else "do"
    if direction == "remove" and signs.LESS.match(act.said) and signs.AMOUNTS.search(variable):
        return "lower"
    if direction in ("set", "enable", "remove") and not thing and (moved := amounts.moved(part)):
        return moved
    if direction == "lower" and variable in SWITCHES and not value:
        return "disable"
    if value.lower() in signs.OFF and variable in SWITCHES:
        return "disable"
    if value.lower() in signs.ON and variable in SWITCHES:
        return "enable"
    if direction == "enable" and act.said == "加" and variable in NUMBERS:
        return "raise"
    if direction in ("lower", "raise") and variable == "library":
        return "do"
    if direction == "lower" and thing:
        return "remove"
    if direction == "remove" and value and variable not in ("data", "checkpoint", "precision"):
        return "lower"
    if direction == "remove" and not thing:
        return "disable"
    if act.direction == "enable" and act.said.lower().endswith(" on"):
        return "enable"
    if direction == "enable" and (
        (value and variable != "freeze") or variable in ("library", "optimizer", "tokenizer", "seed")
    ):
        return "set"
    if direction == "enable" and variable in ("checkpoint", "run", "library", "code"):
        return "do"
    return direction


def _objects(part: str, act: _Act, others: list[_Act]) -> list[str]:
    """The variables that a verb acts on: inside it, after it, else (Chinese, passive) before it; their list."""
    here = named(part)
    after_limit = min((a.start for a in others if a.start > act.start), default=len(part))
    before_limit = max((a.end for a in others if a.start < act.start), default=0)
    inside = [i for i, n in enumerate(here) if act.start <= n[0] < act.end and n[2] != "run"]
    after = [i for i, n in enumerate(here) if act.end - 1 <= n[0] < min(after_limit, act.end + REACH)]
    before = [i for i, n in enumerate(here) if before_limit <= n[0] < act.start and act.start - n[0] < REACH]
    han, goes = signs.HAN.search(act.said) is not None, act.said.lower().startswith("go")
    first = before and (
        goes or (han and (not after or signs.AIM.search(part[: act.start]) or here[after[0]][0] - act.end > 4))
    )
    near = not han and before and not after and signs.FRONTED.search(part[here[before[-1]][0] : act.start])
    near = near or (not after and before and signs.HAN.search(part[here[before[-1]][0] : act.start]))
    if act.direction == "do" and han and not signs.AIM.search(part[: act.start]):
        first = False
    if inside:
        return [here[inside[0]][2]]
    if first or (near and act.direction != "do"):
        return _list(part, here, before[-1], -1)
    return _list(part, here, after[0], 1) if after else []


def _list(part: str, named: tuple[tuple[int, int, str], ...], at: int, step: int) -> list[str]:
    """The variable at a place, and those that are joined to it."""
    out = [named[at][2]]
    while 0 <= at + step < len(named):
        left, right = sorted((at, at + step))
        if not signs.JOINED.fullmatch(part[named[left][0] - named[left][1] : named[right][0]]):
            break
        at += step
        out.append(named[at][2])
    return out


def _unsaid(act: _Act, part: str, spoken_of: str) -> list[str]:
    """What a verb without a known object acts on; nothing where the object is a thing that is not known."""
    rest = part[act.end :]
    if not (signs.HAN.search(act.said) or signs.NO_OBJECT.match(rest) or signs.SIEVE.match(act.said)):
        return []
    if signs.SIEVE.match(act.said) and (not spoken_of or spoken_of == "data"):
        return ["data"]
    if act.direction != "do" or (spoken_of in signs.DONE_TO and signs.IT.match(rest)):
        return [spoken_of] if spoken_of else []
    if spoken_of and re.match(rf"\s*(?:it )?with {signs.NUMBER}", rest):
        return [spoken_of]
    if signs.FROM_STEP.search(part):
        return ["checkpoint"]
    return [next(name for name, verbs in signs.ALONE if verbs.search(act.said))]

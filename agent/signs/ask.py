"""The runbook's signs asked of a run: each that holds is a finding, with the places that show it.

A sign holds only where all of its parts can be seen; what is not measured says nothing, whichever way it is asked. What
a sign says for an entry is in the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise, product

from ...knowledge.entry import Entry
from ...knowledge.sign import Part, Sign, parse_sign
from ...tools.findings import Check, Finding, Report, Severity
from ...tools.relate.line import CLOCK
from ...tools.relate.moves import Move
from ...tools.relate.relate import Related
from ...tools.relate.siblings import taken_from
from .held import Asked, Held
from .parts import ASKS, of_group
from .standing import ABSENT, standing

CHECK = "signs of the runbook"
MOST_WAYS = 12
"""Ways in which one part may hold that are compared with those of the next."""
WITHOUT = {
    "found": ("none of {0} found", "没有发现 {0}"),
    "event": ("no event of {0}", "没有 {0} 的事件"),
    "rises": ("{0} does not rise", "{0} 没有上升"),
    "falls": ("{0} does not fall", "{0} 没有下降"),
    "set": ("{0} not set", "没有设置 {0}"),
    "nonfinite": ("{0} stays finite", "{0} 一直有限"),
}
"""How it is said that a part of a sign does not hold."""
GRADES = {"decisive": Severity.S2, "strong": Severity.S2, "moderate": Severity.S2, "weak": Severity.S3}


def ask(entries: Iterable[Entry], related: Related, findings: Iterable[Finding]) -> Report:
    """The signs of the entries that hold, the strongest that any entry gives them."""
    entries, asked = tuple(entries), Asked(related, findings)
    words: dict[str, str] = {}
    order = list(GRADES)
    for entry in entries:
        for side in (entry.signs.for_, entry.signs.against):
            for text, word in side.items():
                word = word if side is entry.signs.for_ and entry.kind != "benign" else "weak"
                words[text] = min(word, words.get(text, "weak"), key=order.index)
    held = {text: f for text, word in words.items() if (f := _finding(text, word, asked)) is not None}
    useful = _of_use(entries, held, asked)
    found = [f for text, f in held.items() if text in useful]
    results = {text: _result(text, held.get(text), asked) for text in words}
    seen = words and (related.moves or related.quantities or related.contrasts)
    check = Check(CHECK, "found" if found else "clear" if seen else "not-applicable", f"{len(words)} signs asked",
                  f"查了 {len(words)} 个征象")  # fmt: skip
    return Report("signs", tuple(found), (check,), {"signs": results})


def _result(text: str, held: Finding | None, asked: Asked) -> tuple[str, str]:
    """What became of a sign, and why."""
    if held is not None:
        return "holds", held.message
    unseen = [", ".join(part.names) for part in read(text).parts if not _seen(part, asked)]
    if unseen:
        return "cannot-tell", f"no file of the run shows {unseen[0]}"
    return "does-not-hold", "the run shows otherwise"


def _of_use(entries: Sequence[Entry], held: dict[str, Finding], asked: Asked) -> set[str]:
    """The signs that say something of an entry for which more than a weak sign, or another tool's finding, speaks."""
    out: set[str] = set()
    for entry in entries:
        strong = any(text in held and word != "weak" for text, word in entry.signs.for_.items())
        if strong or any(code in asked.findings for code in entry.findings.for_):
            out |= entry.signs.for_.keys() | entry.signs.against.keys()
    return out


def _finding(text: str, word: str, asked: Asked) -> Finding | None:
    ways = holds(read(text), asked)
    if ways is None:
        return None
    evidence = tuple(dict.fromkeys(e for held in ways for e in held.evidence))[:8]
    en, zh = (
        "; ".join(dict.fromkeys(h.en for h in ways if h.en)),
        "；".join(dict.fromkeys(h.zh for h in ways if h.zh)),
    )
    asks = [part.names[0] for part in read(text).parts if part.asks in ("changed", "alone")]
    told = {key: value for h in ways for key, value in h.data.items()}
    if not all("follows" in h.data for h in ways if h.standing != ABSENT):
        told.pop("follows", None)  # only what is made of consequences alone is one
    data = {"sign": text, **told, **taken_from(asked.findings.get("behind-sibling"), asks)}
    data |= standing(held.standing for held in ways)
    grade = Severity.S3 if all(held.note for held in ways) else GRADES[word]  # notes do not grow by their number
    return Finding(read(text).code, grade, f"{en}.", f"{zh}。", evidence, data)


@lru_cache(maxsize=4096)
def read(text: str) -> Sign:
    return parse_sign(text)


def holds(sign: Sign, asked: Asked) -> tuple[Held, ...] | None:
    """One way in which all parts hold together, None where there is none."""
    ways = []
    for part in sign.parts:
        found = list(islice(_ways(part, asked), MOST_WAYS))
        if not found:
            return None
        ways.append(found)
    for together in islice(product(*ways), 5000):
        pairs = [*pairwise(together)]
        linked = all(_linked(link, *pair, asked) for link, pair in zip(sign.links, pairs, strict=False))
        if linked and not any(asked.related.experiments.apart(*map(_files, pair)) for pair in pairs):
            return together
    return None


def _ways(part: Part, asked: Asked) -> Iterator[Held]:
    """The ways in which a part holds; of one that is turned round, that it could be seen and does not."""
    found = [h for h in ASKS[part.asks](part, asked) if not part.at_onset or _at_onset(h, asked)]
    if not part.negated:
        yield from found
    elif not found and _seen(part, asked):
        en, zh = WITHOUT.get(part.asks, (f"not {part.asks} {{0}}", f"没有 {part.asks} {{0}}"))
        names, known = ", ".join(part.names), part.asks in ("found", "set")
        yield Held(en.format(names), zh.format(names), standing=ABSENT if known else "", note=known)


def _seen(part: Part, asked: Asked) -> bool:
    """Whether the run holds what the part asks about."""
    if part.asks in ("found", "event", "set", "changed", "alone", "shows"):
        return bool(asked.related.moves or asked.related.settings.values or asked.findings)
    if part.asks in ("above", "below", "near"):
        return all(asked.value(name) is not None for name in part.names)
    if part.asks == "differs" and any(of_group(part, *names) for names in asked.related.compared):
        return True
    return bool(asked.of(part.names[0])) or part.names[0] == "any"


def _at_onset(held: Held, asked: Asked) -> bool:
    begun = asked.related.onset
    if begun is None or held.span is None or begun.move.line.axis != "step":
        return False
    if held.span[1] - held.span[0] > 0.5 * (begun.move.line.x[-1] - begun.move.line.x[0]):
        return False  # the way of a whole run begins nowhere
    return held.span[1] >= begun.low - 2 * asked.slack and held.span[0] <= begun.high + asked.slack


def _linked(link: str, a: Held, b: Held, asked: Asked) -> bool:
    """Whether two parts lie as their link says; what holds everywhere lies with everything."""
    if link == "and":
        return True
    if link == "with" and a.move is b.move is None and a.span is b.span is None:
        return _in_one_file(a, b)
    if _of_other_starts(a.move, b.move):
        return False
    if b.span is None and b.move is not None and a.span is not None:
        return b.move.still(*a.span) or b.move.way == "flat"
    if a.span is None or b.span is None or (a.span[1] > CLOCK) != (b.span[1] > CLOCK):
        return True
    if link == "with":
        slack = asked.slack_of_time if a.span[1] > CLOCK else asked.slack
        return a.span[1] + slack >= b.span[0] and b.span[1] + slack >= a.span[0]
    first, second = (a.span, b.span) if link == "before" else (b.span, a.span)
    return first[1] <= second[1] and first[0] < second[0]


def _of_other_starts(a: Move | None, b: Move | None) -> bool:
    """Whether two measures of one file were written by different starts, one behind the other."""
    if a is None or b is None or a.line.file != b.line.file or a.line.attempt == b.line.attempt:
        return False
    mine, theirs = a.line.at, b.line.at
    return len(mine) > 0 < len(theirs) and bool(mine.max() < theirs.min() or theirs.max() < mine.min())


def _in_one_file(a: Held, b: Held) -> bool:
    """Whether two things that lie nowhere on the way of the run are told of one file; what names none is of all."""
    mine, theirs = _files(a), _files(b)
    return not mine or not theirs or bool(mine & theirs)


def _files(held: Held) -> set[str]:
    return {e.file for e in held.evidence if e.file}

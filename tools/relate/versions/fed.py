"""What two versions of a model were fed: the mixtures that their files set, and the part whose share moved most where
one version measures worse than the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ..results.read import FILLER
from .cells import ordered

NAME = bounded(r"(?i)^(?:name|source|dataset|path|id|corpus|data|subset|domain|数据集|来源|名称)$")
WEIGHT = bounded(r"(?i)^(?:weight|ratio|share|prob(?:ability)?|fraction|proportion|mix(?:ing)?_?(?:weight|ratio)"
                 r"|sampling_(?:weight|ratio)|占比|权重|比例|配比)$")  # fmt: skip
PARTS, NEARLY = 2, 0.02
"""Parts of a mixture at least, and by how much of the whole they may miss it."""
BY, TIMES = 0.1, 2.0
"""By how much of the whole a part's share moves, and how many times, to be told. Own judgement."""
NEAR = 4
"""Lines between a part's name and its weight."""


@dataclass
class Mix:
    """The shares that one file sets: part -> (share, where)."""

    file: str
    parts: dict[str, tuple[float, Evidence]] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        return sum(share for share, _ in self.parts.values())


def fed(worse: Sequence[Finding], stated: Sequence[Stated]) -> Iterator[Finding]:
    """The part of the data that came up or went between two versions of which the later one measures worse."""
    mixes = [m for m in _mixes(stated) if len(m.parts) >= PARTS and _whole(m)]
    for f in worse:
        a, b = f.data["versions"]
        for old, new in ((x, y) for x in mixes for y in mixes if x is not y and _between(x.file, y.file, a, b)):
            moved = [(p, was, now) for p, was, now in _moved(old, new)
                     if abs(now - was) >= BY and max(was, now) >= TIMES * min(was, now)]  # fmt: skip
            if moved:
                yield _told(f, old, new, max(moved, key=lambda m: (_linked(m[0], f), abs(m[2] - m[1]))))
                return


def _mixes(stated: Sequence[Stated]) -> list[Mix]:
    """Weights behind the name that stands nearest before them, or keys whose numbers are the whole of a part."""
    found: dict[str, Mix] = {}
    keyed: dict[tuple[str, str], Mix] = {}
    named: Stated | None = None
    for s in stated:
        number = _number(s.value)
        if s.how != "said":
            continue
        if NAME.fullmatch(s.key) and number is None:
            named = s
        elif WEIGHT.fullmatch(s.key) and number is not None and named is not None and named.file == s.file:
            if 0 <= (s.line or 0) - (named.line or 0) <= NEAR:
                where = Evidence(s.file, s.line, value=number, text=s.text[:120])
                found.setdefault(s.file, Mix(s.file)).parts[named.value] = (number, where)
        elif number is not None and 0 <= number <= 100:
            where = Evidence(s.file, s.line, value=number, text=s.text[:120])
            keyed.setdefault((s.file, s.part), Mix(s.file)).parts[s.key] = (number, where)
    return [*found.values(), *(m for m in keyed.values() if m.file not in found and len(m.parts) > PARTS)]


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _whole(mix: Mix) -> bool:
    return any(abs(mix.whole - whole) <= NEARLY * whole for whole in (1.0, 100.0))


def _moved(old: Mix, new: Mix) -> Iterator[tuple[str, float, float]]:
    """(part, share before, share after) of the parts of either."""
    for part in dict.fromkeys((*old.parts, *new.parts)):
        was, now = (m.parts[part][0] / m.whole if part in m.parts else 0.0 for m in (old, new))
        yield part, was, now


def _between(old: str, new: str, a: str, b: str) -> bool:
    """Whether two files are of one name but for the versions, or for words that say earlier and later."""
    x, y = (re.sub(r"\.[a-z]{2,5}$", "", name.lower()) for name in (old, new))
    if a.lower() in x and b.lower() in y:
        return x.replace(a.lower(), "", 1) == y.replace(b.lower(), "", 1) and not (b.lower() in x and a.lower() in y)
    return ordered(x, y) and re.sub(r"[\d._]+|old|new|prev\w*|before|after", "", x) == re.sub(
        r"[\d._]+|old|new|prev\w*|before|after", "", y
    )


def _linked(part: str, f: Finding) -> bool:
    """Whether the part is called after what got worse, or the slice that did."""
    said = f"{f.data['measure']} {' '.join(f.data['slices'])}".lower()
    words = {w[:5] for w in re.split(r"[\W_\d]+", said) if len(w) > 3 and not FILLER.fullmatch(w)} - {
        "rates",
        "share",
        "benig",
    }
    return any(w[:5] in words for w in re.split(r"[\W_\d]+", part.lower()) if len(w) > 3)


def _told(f: Finding, old: Mix, new: Mix, moved: tuple[str, float, float]) -> Finding:
    part, was, now = moved
    (a, b), measure = f.data["versions"], clean(str(f.data["measure"]), 40)
    others = [p for p, x, y in _moved(old, new) if p != part and abs(y - x) >= BY]
    beside = f"; {', '.join(clean(p, 40) for p in others[:3])} moved too" if others else ""
    beside_zh = f"；{'、'.join(clean(p, 40) for p in others[:3])} 也有变动" if others else ""
    places: Mapping[str, tuple[float, Evidence]] = new.parts if part in new.parts else old.parts
    here = places[part][1]
    there = old.parts[part][1] if part in old.parts and part in new.parts else None
    return Finding(
        "fed-otherwise-and-worse", Severity.S1 if _linked(part, f) else Severity.S2,
        f"The share of {clean(part, 60)} in the data goes from {was:.0%} ({clean(old.file, 60)}) to {now:.0%} "
        f"({clean(new.file, 60)}){beside}, and from {clean(a, 40)} to {clean(b, 40)} {measure} "
        f"gets worse ({f.data['before']:.3g} -> {f.data['after']:.3g}).",
        f"数据中 {clean(part, 60)} 的占比从 {was:.0%}（{clean(old.file, 60)}）变为 {now:.0%}（{clean(new.file, 60)}）"
        f"{beside_zh}，同时从 {clean(a, 40)} 到 {clean(b, 40)}，{measure} 变差"
        f"（{f.data['before']:.3g} -> {f.data['after']:.3g}）。",
        (here, *([there] if there else ()), *f.evidence[:1]),
        {"part": part, "before": was, "after": now, "linked": _linked(part, f), "measure": f.data["measure"]},
    )  # fmt: skip

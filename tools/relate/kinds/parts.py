"""Parts that are not all there, by a line that counts them, and names numbered `of` a whole that another place has
otherwise: 64 optimizer shards for a world of 128.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.counted import Counted
from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import texts
from ..line import plain
from .names import demand, kinds

LOST = 0.02
"""Share of the parts that may be missing without a word. Own judgement."""
MOST = 3
ALL_OF = 10
"""Parts of which not one is there, from which on that is more than a note where the line says that they failed."""
FAILED = bounded(r"(?i)\bfail(?:ed|ures?)\b|失败")
WORLD = bounded(r"^(?:world_?size|nproc|num_?(?:gpus|ranks|processes)|data_?parallel(?:_size)?|dp(?:_size)?|n_?gpus)$")
NUMBERED = bounded(r"(?:-of-|_of_)0{0,6}(\d{1,6})(?!\d)|world_?size_?(\d{1,6})|(?:^|[_-])mp_rank_\d+_of_(\d+)")


def not_all_there(lines: Sequence[Counted], said: Sequence[Stated], tables: Sequence[Table]) -> list[Finding]:
    """Counts of parts that fall short, those with the largest share first."""
    short = [c for c in lines if c.whole - c.there > LOST * c.whole]
    short.sort(key=lambda c: c.there / c.whole)
    seen: set[str] = set()
    found = []
    for c in short:
        shape = "".join("#" if ch.isdigit() else ch for ch in c.text)
        if shape not in seen:
            seen.add(shape)
            found.append(_told(c))
    return [*found[:MOST], *_other_world(said, tables)]


def _told(c: Counted) -> Finding:
    gone = c.whole - c.there
    return Finding(
        "fewer-than-whole", Severity.S2 if not c.there and c.whole >= ALL_OF and FAILED.search(c.text) else Severity.S3,
        f"{c.file}:{c.line} counts {c.there} of {c.whole}, {gone} ({gone / c.whole:.0%}) are not there: "
        f"{c.text[:160]}.",
        f"{c.file}:{c.line} 计数 {c.there} / {c.whole}，缺 {gone}（{gone / c.whole:.0%}）：{c.text[:160]}。",
        (c.evidence(),),
        {"there": c.there, "whole": c.whole, "kinds": kinds(c.text),
         "names": f"{c.there} / {c.whole} ({c.file}:{c.line})",
         "asks": [demand("parts_found", "at-least", c.whole, f"{c.there} of {c.whole}", f"{c.there} / {c.whole}")]},
    )  # fmt: skip


def _other_world(said: Sequence[Stated], tables: Sequence[Table]) -> list[Finding]:
    """Files numbered of one whole while the run says another."""
    world = next((s for s in said if s.how == "said" and WORLD.match(plain(s.key)) and (s.number or 0) > 1), None)
    if world is None:
        return []
    places = [(s.text, s.evidence()) for s in said] + [
        (str(v), Evidence(t.file, int(t.lines[i]) or None, text=str(v)))
        for t in tables[:50] for c in t.of("text", "identifier") for i, v in enumerate(texts(c)[:200].tolist())
    ]  # fmt: skip
    for text, where in places:
        for groups in NUMBERED.findall(text):
            number = int(next(g for g in groups if g))
            if number > 1 and number != world.number and "optim" in text.lower() + where.text.lower():  # pyright: ignore
                return [_apart(world, number, where)]
    return []


def _apart(world: Stated, number: int, where: Evidence) -> Finding:
    return Finding(
        "parts-of-another-whole", Severity.S3,
        f"{where.file}:{where.line} has parts of {number}, and {world.file}:{world.line} says {world.key} "
        f"{world.value}.",
        f"{where.file}:{where.line} 是 {number} 份中的各份，而 {world.file}:{world.line} 的 {world.key} 为 "
        f"{world.value}。",
        (where, world.evidence()),
        {"of": world.key, "values": [number, world.number], "kinds": kinds(where.text or "")},
    )  # fmt: skip

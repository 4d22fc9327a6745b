"""Which collective each rank is in, as dumps and tables tell it: flight recorders, thread stacks, a row for each rank.

Numbers are compared inside one process group only. A rank that is behind the others never entered what they wait in;
one that is in another operation, or brings another size, cannot meet them.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..patterns import bounded
from ..reading import head, parse_json
from ..run import Artifact, Run

CHECK = "collectives in dumps"
CODES = declare(
    "collectives",
    ("collectives-part-by-rank", CHECK, "ranks are in different operations, or bring different sizes to one"),
    ("rank-behind-in-collectives", CHECK, "ranks have entered fewer collectives of a group than the others"),
    ("ranks-wait-in-collective", CHECK, "the stacks of most ranks stand in a collective or wait for one"),
)
BYTES = 8 << 20
LEAST_RANKS, MOST_RANKS, MOST_ENTRIES = 2, 4096, 4096
MOST_SHARE = 0.5
"""Share of the ranks that stand in a collective from which on they wait."""
_RANK = bounded(r"(?i)(?:rank|worker|(?:^|[_./-])r)[_.-]?(\d{1,5})(?!\d)|[_.-](\d{1,5})(?=\.|$)")
_THREAD = bounded(r"(?m)^(?:Thread|Current thread) .{0,200}$")
_FRAME = bounded(r"(?m)^\s{2,12}(?:File \"[^\"\n]{1,300}\", line \d{1,9}, in )?(\w{1,80})(?: \(([^)\n]{1,300})\))?")
_WAITS = bounded(r"(?i)^(?:_?all_?reduce|_?all_?gather\w{0,20}|_?reduce_?scatter\w{0,20}|barrier|broadcast\w{0,20}|all_?to_?all\w{0,12}"
                 r"|monitored_barrier|nccl\w{0,40}|wait|synchroni[sz]e)$")  # fmt: skip
_MAIN = bounded(r"(?i)MainThread|main")


class Place(NamedTuple):
    """The last collective of a rank in one process group."""

    rank: int
    group: str
    number: int
    what: str
    size: str
    evidence: Evidence
    pending: bool = True
    """Whether it is not known to have come to an end."""


def check_collectives(run: Run) -> Report:
    """What the dumps of a run say of the collectives of its ranks."""
    dumps = [*run.of("stack")][:MOST_RANKS]
    places: list[Place] = []
    waits: dict[str, tuple[str, Evidence]] = {}
    for i, artifact in enumerate(dumps):
        text = head(artifact.path, BYTES).decode("utf-8", "replace")
        if text.lstrip()[:1] in ("{", "["):
            places += _recorded(artifact, text, i)
        elif (found := _standing(artifact.name, text)) is not None:
            waits[artifact.name] = found
    told = [*compared(places), *_waiting(waits)]
    said = "found" if told else "clear" if dumps else "not-applicable"
    return Report("collectives", tuple(told), (Check(CHECK, said),))


def compared(places: Sequence[Place]) -> Iterator[Finding]:
    """Ranks that are in another collective than the others of their group."""
    for group in dict.fromkeys(p.group for p in places):
        mine = {p.rank: p for p in places if p.group == group}
        if len(mine) < LEAST_RANKS:
            continue
        last = max(p.number for p in mine.values())
        behind = [p for p in mine.values() if p.number < last]
        level = [p for p in mine.values() if p.number == last]
        kinds = Counter((p.what, p.size) for p in level)
        if len(kinds) > 1:
            yield _apart(level, kinds)
        elif 0 < len(behind) <= len(mine) / 2 and any(p.pending for p in level):
            yield _behind(sorted(behind), level, last)
        else:
            continue
        return


def _apart(level: Sequence[Place], kinds: Counter[tuple[str, str]]) -> Finding:
    usual = kinds.most_common(1)[0][0]
    odd = [p for p in level if (p.what, p.size) != usual]
    number, rest = level[0].number, next(p for p in level if (p.what, p.size) == usual)
    each = ", ".join(f"rank {p.rank} {p.what} {p.size}".strip() for p in odd[:4])
    return Finding(
        "collectives-part-by-rank", Severity.S1,
        f"Collective number {number}: {each}, the other {kinds[usual]} {' '.join(usual).strip()}: they cannot meet.",
        f"第 {number} 次集合通信：{each}，其余 {kinds[usual]} 个为 {' '.join(usual).strip()}：无法配对。",
        tuple(p.evidence for p in (*odd[:4], rest)), {"number": number, "ranks": [p.rank for p in odd][:20]},
    )  # fmt: skip


def _behind(behind: Sequence[Place], level: Sequence[Place], last: int) -> Finding:
    each = ", ".join(f"rank {p.rank} at {p.number}" for p in behind[:6])
    return Finding(
        "rank-behind-in-collectives", Severity.S2,
        f"{len(level)} ranks have entered collective number {last}, {each}: what the others wait for was never called "
        "there.",
        f"{len(level)} 个 rank 已进入第 {last} 次集合通信，而 {each}：其余 rank 等待的那次调用在它那里没有发生。",
        tuple(p.evidence for p in (*behind[:4], level[0])),
        {"ranks": [p.rank for p in behind][:20], "last": last, "behind": last - behind[0].number},
    )  # fmt: skip


def _recorded(artifact: Artifact, text: str, i: int) -> Iterator[Place]:
    """The last collective of each group in a flight recorder's dump."""
    try:
        value = parse_json(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return
    entries = value.get("entries") if isinstance(value, dict) else value
    rank = value.get("rank") if isinstance(value, dict) else None
    if not isinstance(rank, int):
        rank = rank_of(artifact.name, i)
    last: dict[str, dict[str, Any]] = {}
    for entry in entries[-MOST_ENTRIES:] if isinstance(entries, list) else ():
        number = entry.get("collective_seq_id", entry.get("seq_id")) if isinstance(entry, dict) else None
        if isinstance(number, int) and not entry.get("is_p2p"):
            group = str(entry.get("process_group") or entry.get("pg_id", ""))
            if number >= last.get(group, {}).get("number", -1):
                last[group] = {**entry, "number": number}
    for group, entry in last.items():
        what, size = str(entry.get("profiling_name", ""))[:60], str(entry.get("input_sizes", ""))[:60]
        said = f"rank {rank} number {entry['number']} {what} {size} {str(entry.get('state', ''))[:20]}"
        yield Place(rank, group, entry["number"], what, size, Evidence(artifact.name, rank=rank, text=said),
                    entry.get("state") != "completed")  # fmt: skip


def rank_of(name: str, i: int) -> int:
    """The rank that a file's name says, else its place among them."""
    found = [next(filter(None, m.groups())) for m in _RANK.finditer(PurePosixPath(name).as_posix())]
    return int(found[-1]) if found else i


def _standing(name: str, text: str) -> tuple[str, Evidence] | None:
    """(where the main thread stands, its line), by the innermost frames; the function empty where it waits for none."""
    starts = [m for m in _THREAD.finditer(text)]
    main = next((m for m in starts if _MAIN.search(m[0])), starts[0] if starts else None)
    if main is None:
        return None
    frames = [m for m in _FRAME.finditer(text, main.end(), main.end() + 6000)][:3]
    waits = next((m for m in frames if _WAITS.search(m[1])), None)
    shown = waits or (frames[0] if frames else None)
    if shown is None:
        return None
    line = text.count("\n", 0, shown.start()) + 1
    return waits[1] if waits else "", Evidence(name, line, text=shown[0].strip()[:160])


def _waiting(waits: dict[str, tuple[str, Evidence]]) -> Iterator[Finding]:
    stuck = [e for what, e in waits.values() if what]
    if len(waits) < LEAST_RANKS or len(stuck) <= MOST_SHARE * len(waits):
        return
    free = [(name, e) for name, (what, e) in waits.items() if not what]
    where = Counter(what for what, _ in waits.values() if what).most_common(1)[0][0]
    also = f"; {free[0][0]} stands in {free[0][1].text}" if free else ""
    also_zh = f"；{free[0][0]} 停在 {free[0][1].text}" if free else ""
    yield Finding(
        "ranks-wait-in-collective", Severity.S2,
        f"{len(stuck)} of {len(waits)} stacks stand in {where}{also}.",
        f"{len(waits)} 份堆栈中有 {len(stuck)} 份停在 {where}{also_zh}。",
        (*stuck[:3], *(e for _, e in free[:2])), {"stacks": len(waits), "waiting": len(stuck), "in": where},
    )  # fmt: skip

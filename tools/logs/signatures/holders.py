"""Who holds the GPU's memory, as an error says it: this process, or others on the same card.

An out-of-memory error of PyTorch names the processes; an engine that does not start says how much of the card is free.

A process that sits in a container may be listed by its number only; it is told from others by what PyTorch says of
itself. Which of the processes should give way is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...findings import Evidence, Finding, clean, declare
from ...patterns import bounded
from .match import Hit
from .signature import CHECK

MUCH = 0.2
"""Share of the card that others hold at least to be named. Own judgement."""
IDLE = 0.4
"""Share of the card that lies reserved and unused from which on the pool is fragmented. Own judgement."""
SLACK = 1.5
"""Gigabytes that a process takes beside what PyTorch counts (context, libraries), with some room. Own judgement."""
ALIKE, LAUNCHED = 1.5, 4
"""Most that the sizes of processes of one run differ by, as a ratio, and most numbers between processes that one launch
started, for each of them. Own judgement."""
ABOVE = 2_000
"""Characters above an error in which its process may be named."""
_UNITS = {"GiB": 1.0, "MiB": 1 / 1024, "KiB": 1 / 1024**2, "bytes": 1 / 1024**3}
_SIZE = r"(\d{1,6}(?:\.\d{1,3})?) (GiB|MiB|KiB|bytes)"
_CARD = bounded(rf"total capaci?ty of {_SIZE}")
_FREE = bounded(
    r"Free memory on device (\S{0,20}) ?\((\d{1,6}(?:\.\d{1,3})?)/(\d{1,6}(?:\.\d{1,3})?) GiB\) on startup is less"
)
_HELD = bounded(rf"\bProcess (\d{{1,9}}) has {_SIZE} memory in use")
_OWN = bounded(rf"\bthis process has {_SIZE} memory in use")
_COUNTED = bounded(rf"{_SIZE} (?:is|are) (?:allocated|reserved) by PyTorch")

_UNUSED = bounded(rf"{_SIZE} (?:is|are) reserved by PyTorch but unallocated")
_WANTED = bounded(rf"Tried to allocate {_SIZE}")

CODES = declare(
    "holders",
    ("gpu-memory-held-elsewhere", CHECK, "another process holds much of the GPU's memory"),
    ("ranks-share-a-card", CHECK, "the processes of one run all hold memory of the same GPU"),
    ("memory-fragmented", CHECK, "much of the GPU's memory is reserved and lies unused, in pieces too small"),
)


def holders(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The first of the errors that names other processes with much of the card."""
    for hit in hits:
        card = _CARD.search(hit.text)
        held = [pair for pair in _others(hit.text) if not _speaks(hit, pair[0])]
        if card is None or not held:
            continue
        total, most = _size(*card.groups()), max(held, key=lambda pair: pair[1])
        if (share := sum(size for _, size in held) / total if total else 0.0) < MUCH:
            continue
        code, text, zh = _held_by(hit.text, held, most, total)
        yield Finding(
            code,
            of.severity,
            f"{file}:{hit.line}: {text}",
            f"{file}:{hit.line}：{zh}",
            (Evidence(file, hit.line, rank=hit.rank, text=clean(hit.text)),),
            {key: of.data[key] for key in ("survived", "follows") if key in of.data} | {"share": round(share, 3)},
        )
        return


def _held_by(text: str, held: list[tuple[str, float]], most: tuple[str, float], total: float) -> tuple[str, str, str]:
    """The code, and what is said of those who hold the card."""
    own = _OWN.search(text)
    mine, mine_zh = (f"; this one has {own[1]} {own[2]}", f"；本进程占 {own[1]} {own[2]}") if own else ("", "")
    if not _of_one_run(held, _size(*own.groups()) if own else None):
        return (
            "gpu-memory-held-elsewhere",
            f"process {most[0]} holds {most[1]:.4g} GiB of the card's {total:.4g} GiB when this one runs out of memory"
            f"{mine}.",
            f"显存耗尽时，进程 {most[0]} 占着该卡 {total:.4g} GiB 中的 {most[1]:.4g} GiB{mine_zh}。",
        )
    least, names = min(size for _, size in held), ", ".join(sorted(number for number, _ in held))
    return (
        "ranks-share-a-card",
        f"{len(held)} other processes ({names}) hold {least:.4g} to {most[1]:.4g} GiB each of this card's {total:.4g} "
        f"GiB{mine}: they are alike, as the ranks of one run are that all use the same card.",
        f"另有 {len(held)} 个进程（{names}）各占该卡 {total:.4g} GiB 中的 {least:.4g} 到 {most[1]:.4g} GiB{mine_zh}："
        "它们彼此相仿，像是同一次运行的各个 rank 都用了同一张卡。",
    )


def _of_one_run(held: list[tuple[str, float]], own: float | None) -> bool:
    """Whether two or more others hold about as much as each other, and are like this one or were started together."""
    sizes, numbers = [size for _, size in held], [int(number) for number, _ in held]
    if len(held) < 2 or max(sizes) > ALIKE * min(sizes):
        return False
    like_this = own is not None and max(*sizes, own) <= ALIKE * min(*sizes, own)
    return like_this or 0 < max(numbers) - min(numbers) <= LAUNCHED * len(numbers)


def fragmented(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The first of the errors in which far more lies reserved and unused than was asked for."""
    for hit in hits:
        card, unused, wanted = (shape.search(hit.text) for shape in (_CARD, _UNUSED, _WANTED))
        if not (card and unused and wanted):
            continue
        total, idle, asked = (_size(*found.groups()) for found in (card, unused, wanted))
        if idle < max(IDLE * total, 2 * asked):
            continue
        yield Finding(
            "memory-fragmented",
            of.severity,
            f"{file}:{hit.line}: {idle:.4g} GiB of the card's {total:.4g} GiB are reserved and unused while "
            f"{asked:.4g} GiB cannot be had: the pool is fragmented, not full.",
            f"{file}:{hit.line}：该卡 {total:.4g} GiB 中有 {idle:.4g} GiB 已保留却未使用，而 {asked:.4g} GiB 分配失败："
            "是显存池碎片化，不是真的用满。",
            (Evidence(file, hit.line, rank=hit.rank, text=clean(hit.text)),),
            {key: of.data[key] for key in ("survived", "follows") if key in of.data}
            | {"share": round(idle / total, 3)},
        )
        return


def taken(file: str, hits: Iterable[Hit], of: Finding) -> Iterator[Finding]:
    """The first error of an engine that finds much of a card taken before it has loaded anything itself."""
    for hit in hits:
        found = _FREE.search(hit.text)
        if found is None:
            continue
        free, total = float(found[2]), float(found[3])
        if (share := (total - free) / total if total else 0.0) < MUCH:
            continue
        yield Finding(
            "gpu-memory-held-elsewhere",
            of.severity,
            f"{file}:{hit.line}: {total - free:.4g} GiB of the card's {total:.4g} GiB ({share:.0%}) are taken when the "
            "engine starts, before it has loaded anything: other processes hold them.",
            f"{file}:{hit.line}：引擎启动、尚未加载任何东西时，该卡 {total:.4g} GiB 中已有 {total - free:.4g} GiB"
            f"（{share:.0%}）被其他进程占用。",
            (Evidence(file, hit.line, rank=hit.rank, text=clean(hit.text)),),
            {key: of.data[key] for key in ("survived", "follows") if key in of.data} | {"share": round(share, 3)},
        )
        return


def capacity(text: str) -> float | None:
    """GiB of the card, where the error says it."""
    found = _CARD.search(text)
    return _size(*found.groups()) if found else None


def _others(text: str) -> list[tuple[str, float]]:
    """(process, GiB) of those that are not the one that failed."""
    held = [(number, _size(size, unit)) for number, size, unit in _HELD.findall(text)]
    if not held or _OWN.search(text):
        return held
    counted = sum(_size(*found) for found in _COUNTED.findall(text))
    own = min(held, key=lambda pair: abs(pair[1] - counted))
    return [pair for pair in held if pair is not own] if abs(own[1] - counted) <= SLACK + 0.1 * counted else held


def _speaks(hit: Hit, process: str) -> bool:
    """Whether the lines above the error were written by this process: its number stands in their prefix."""
    return bounded(rf"\bpid[ =:]{{1,2}}{process}\b").search(hit.above[-ABOVE:]) is not None


def _size(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]

"""Processes that do not find each other: what each was told to dial, and whether anybody answers there.

A few refused connections are usual while the first process comes up. What is told here goes on to the end of the log,
or for a minute and longer, with no step and no request behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ..signatures.signature import CHECK
from ..texts import CLOCK, Text

CODES = declare(
    "meeting",
    ("rendezvous-waits", CHECK, "processes go on dialling a master that does not answer, or wait for others to join"),
    ("master-addresses-differ", CHECK, "processes of one job are told different masters to meet at"),
    ("master-ports-differ", CHECK, "processes of one job are told different ports of one master"),
    ("ranks-duplicated", CHECK, "two processes of one job are told the same rank"),
    ("node-ranks-duplicated", CHECK, "two machines of one job are told the same node rank"),
    ("ranks-short-of-world", CHECK, "fewer processes start than the world that they wait for has"),
)
WORDS = (
    b"MASTER_ADDR",
    b"master",
    b"ank",
    b"ANK",
    b"socket",
    b"join",
    b"onnect",
    b"egister",
    b"rrived",
    b"hecked in",
    b"eady",
)
"""One of which a log has that says anything of a meeting."""
MASTER = bounded(
    r"(?i)\bmaster(?:_?addr(?:ess)?)?[\"']?\s{0,2}[=:]\s{0,2}[\"']?\[?([\w.:-]{3,80}?)[\"'\],;)]{0,2}(?=\s|$)"
)
PORT = bounded(r"(?i)\bmaster_?port[\"']?\s{0,2}[= ]\s{0,2}[\"']?(\d{2,5})\b")
WORLD = bounded(
    r"(?i)\bworld(?:_?size)?[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(\d{1,6})\b|\brank \d{1,6} ?(?:of|/) ?(\d{1,6})\b"
)
NODE = bounded(r"(?i)\bnode_?rank[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(\d{1,5})\b")
NODES = bounded(r"(?i)\b(?:nnodes|num_?nodes|num_?machines)[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(\d{1,5})\b")
RANK = bounded(r"(?:(?i:\b(?:global_?)?rank[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(\d{1,6})\b))")
_LOCAL = bounded(r"(?i)\b(?:local|node|group|machine)_?rank[\"']?\s{0,2}[=: ]\s{0,2}[\"']?\d{1,6}")
REFUSED = bounded(
    r"(?i)client socket has failed to connect to (?:\(?\[?)([\w.:-]{3,80}?)\]?(?:,\s?|:)(\d{2,5})\)?[^\n]{0,40}"
    r"(?:errno: ?1(?:11|10|13)|refused|timed out|no route)"
    r"|(?:retry|again|waiting)[^\n]{0,60}connect\w* (?:to )?([\w.-]{3,80}):(\d{2,5})[^\n]{0,40}refused"
    r"|connect\w* to ([\w.-]{3,80}):(\d{2,5})[^\n]{0,40}refused[^\n]{0,60}(?:retry|again|waiting)"
)
JOINED = bounded(
    r"(?i)(?:joined|connected|registered|arrived|checked in|ready)[:=]?\s{0,2}(\d{1,6}) ?(?:/|of|out of) ?(\d{1,6})\b"
    r"|\b(\d{1,6}) ?(?:/|of|out of) ?(\d{1,6}) (?:\w+ ){0,2}(?:joined|connected|registered|arrived|checked in|ready)\b"
)
BARRIER = bounded(r"store based barrier[^\n]{0,160}world_size=(\d{1,6}), worker_count=(\d{1,6})")
WHO = bounded(r"(?i)\b(?:worker|client|rank|node|peer|process(?:es)?|member|participant|agent|host)s?\b")
TRIES, MINUTE = 5, 60.0
"""Refused attempts, and seconds from the first to the last, from which on nobody will answer. Own judgement."""
RANKS = 3
"""Refused attempts that count where the clock is not told, for each process that dials."""
SHOWN = 4
MANY = 3
"""Logs of one world that must be there for its ranks to be set against each other, where it is not smaller."""
_TIME = bounded(r"(?<![\d:.])(\d\d:\d\d:\d\d)(?![\d:])")
_IP = bounded(r"\d{1,3}(?:\.\d{1,3}){3}")


@dataclass(frozen=True)
class Line:
    """One line of a log that says something of the meeting."""

    file: str
    number: int
    text: str

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.number, text=clean(self.text))

    @property
    def rank(self) -> str:
        """The process that says it; its file where it says no rank."""
        found = RANK.search(_LOCAL.sub("", self.text))
        return found[1] if found else self.file

    @property
    def clock(self) -> float | None:
        """Seconds of the day."""
        found = CLOCK.search(self.text[:80]) or _TIME.search(self.text[:80])
        said = next((g for g in (found.groups() if found else ()) if g and ":" in g), None)
        return None if said is None else sum(int(x) * n for x, n in zip(said.split(":"), (3600, 60, 1), strict=True))


def meeting(texts: Mapping[str, Text], found: Iterable[Finding]) -> Iterator[Finding]:
    """What the logs of one job say of how its processes meet.

    Args:
        texts: what each log says, by its name.
        found: what else was found; a log with an error is left to it.
    """
    blamed = {e.file for f in found if f.severity < Severity.S2 for e in f.evidence if e.file}
    waits = {name: _said(name, text) for name, text in texts.items() if text.whole and _waits(text)}
    yield from _apart([line for said in waits.values() for line in said])
    yield from _ranked(waits, blamed)
    for name, said in waits.items():
        if name not in blamed:
            yield from _dials(name, said) or _misses(name, said)


def _waits(text: Text) -> bool:
    """Whether nothing but the meeting can have happened: no step, no request, no end."""
    begun = max(text.life.starts, default=0)
    ran = any(last > begun for _, _, last in text.life.attempts)
    return not ran and max(text.life.alive, text.life.serves) <= begun


def _said(name: str, text: Text) -> list[Line]:
    lines: list[Line] = []
    for chunk in text.whole:
        if any(word in chunk.data for word in WORDS):
            lines += [Line(name, chunk.first_line + i, raw.decode("utf-8", "replace")[:600])
                      for i, raw in enumerate(chunk.data.split(b"\n")) if raw.strip()]  # fmt: skip
    return lines


def _dials(name: str, said: Sequence[Line]) -> list[Finding]:
    """One finding where one address is dialled in vain to the end."""
    tried = [(line, next(g for g in m.groups() if g)) for line in said if (m := REFUSED.search(line.text))]
    if len(tried) < TRIES:
        return []
    first, last = tried[0][0], tried[-1][0]
    begin, end = first.clock, last.clock
    ranks = {line.rank for line, _ in tried}
    lasts = (end - begin) % 86_400 if begin is not None and end is not None else None
    behind = [line for line in said if line.number > last.number and not REFUSED.search(line.text)]
    if len(behind) >= TRIES or (lasts < MINUTE if lasts is not None else len(tried) < RANKS * len(ranks)):
        return []
    where = ", ".join(dict.fromkeys(address for _, address in tried))
    long, zh = (f" for {lasts / 60:.0f} min", f"，持续 {lasts / 60:.0f} 分钟") if lasts else ("", "")
    return [Finding(
        "rendezvous-waits", Severity.S1,
        f"{name}: {len(ranks)} processes dial {where} {len(tried)} times{long} and nobody answers: it is a wait, not "
        "an end. Is this the machine on which the first process listens?",
        f"{name}：{len(ranks)} 个进程连接 {where} 共 {len(tried)} 次{zh}，没有应答：进程在等待，并没有结束。"
        "请确认第一个进程是否在这个地址上监听。",
        (first.evidence(), last.evidence()), {"address": where, "tries": len(tried), "processes": len(ranks)},
    )]  # fmt: skip


def _joined(text: str) -> list[int]:
    """How many have come, and of how many; empty where a line says no such thing."""
    if barrier := BARRIER.search(text):
        return [int(barrier[2]), int(barrier[1])]
    match = JOINED.search(text) if WHO.search(text) else None
    return [int(g) for g in match.groups() if g] if match else []


def _misses(name: str, said: Sequence[Line]) -> list[Finding]:
    """One finding where the last count of those who joined is short and does not grow."""
    counts = [(line, joined) for line in said if (joined := _joined(line.text))]
    if len(counts) < 2:
        return []
    (first, (_, whole)), (last, (there, of)) = counts[0], counts[-1]
    same = [c for _, c in counts if c == [there, of]]
    begin, end = first.clock, last.clock
    lasts = (end - begin) % 86_400 if begin is not None and end is not None else MINUTE
    if there == of or whole != of or len(same) < 2 or lasts < MINUTE:
        return []
    if there > of:
        return [Finding(
            "rendezvous-waits", Severity.S1,
            f"{name}: {there} have come to a meeting of {of}: the store is an old one, or another job uses its port.",
            f"{name}：{of} 个进程的会合来了 {there} 个：store 是旧的，或端口被另一个任务共用。",
            (first.evidence(), last.evidence()), {"there": there, "whole": of},
        )]  # fmt: skip
    return [Finding(
        "rendezvous-waits", Severity.S1,
        f"{name}: {there} of {of} have joined, {len(same)} times the same: {of - there} never come.",
        f"{name}：{of} 个中只有 {there} 个加入，连续 {len(same)} 次没有变化：其余 {of - there} 个一直没有来。",
        (first.evidence(), last.evidence()), {"there": there, "whole": of},
    )]  # fmt: skip


def _apart(said: Sequence[Line]) -> Iterator[Finding]:
    """One finding where different processes of one world have different masters."""
    told: dict[str, tuple[str, Line]] = {}
    worlds: set[int] = set()
    for line in said:
        if match := MASTER.search(line.text):
            port = PORT.search(line.text)
            address = match[1].lower() + (f":{port[1]}" if port else "")
            before = told.setdefault(line.rank, (address, line))
            if before[0] != address:
                return  # started again elsewhere
            worlds |= {int(w) for pair in WORLD.findall(line.text) for w in pair if w}
    masters: dict[str, list[str]] = {}
    for rank, (address, _) in told.items():
        masters.setdefault(address, []).append(rank)
    alike = len({_IP.fullmatch(address.partition(":")[0]) is None for address in masters}) == 1
    whole = next(iter(worlds)) if len(worlds) == 1 else 0
    if len(masters) < 2 or not alike or whole < 2 or len(told) > whole or max(map(len, masters.values())) >= whole:
        return
    each = "; ".join(f"{address} on rank {', '.join(ranks[:SHOWN])}{' ...' if ranks[SHOWN:] else ''}"
                     for address, ranks in [*masters.items()][:SHOWN])  # fmt: skip
    hosts = {address.partition(":")[0] for address in masters}
    yield Finding(
        "master-addresses-differ" if len(hosts) > 1 else "master-ports-differ", Severity.S1,
        f"Processes of one world of {whole} are to meet at {len(masters)} different masters: {each}.",
        f"同一个 world（{whole} 个进程）要在 {len(masters)} 个不同的 master 会合：{each}。",
        tuple(told[ranks[0]][1].evidence() for ranks in [*masters.values()][:SHOWN]),
        {"masters": {a: len(r) for a, r in masters.items()}, "world_size": whole},
    )  # fmt: skip


def _ranked(waits: Mapping[str, Sequence[Line]], blamed: set[str]) -> Iterator[Finding]:
    """Processes, or machines, that are told one rank; and a world of which part alone has started.

    A log is one process where all of it says one rank; logs of several starts are more than their world has.
    """
    for code, of, among, en, zh in (
        ("ranks-duplicated", RANK, WORLD, "processes", "个进程"),
        ("node-ranks-duplicated", NODE, NODES, "machines", "台机器"),
    ):
        told, whole = _one_each(waits, of, among)
        if len(told) < min(MANY, whole) or not whole >= 2 or len(told) > whole:
            continue
        same: dict[int, list[Line]] = {}
        for number, line in told.values():
            same.setdefault(number, []).append(line)
        twice = {number: lines for number, lines in same.items() if len(lines) > 1}
        gone = sorted(set(range(whole)) - same.keys())
        if twice and len(same) > 1:
            names = ", ".join(f"{n} ({', '.join(x.file for x in lines[:SHOWN])})" for n, lines in sorted(twice.items()))
            yield Finding(
                code, Severity.S1,
                f"{len(told)} {en} of {whole} start, and more than one is told the same rank: {names}; "
                f"nobody is {', '.join(map(str, gone[:SHOWN]))}. They can never be complete.",
                f"{whole} {zh}中启动了 {len(told)} {zh[0]}，其中有重复的 rank：{names}；"
                f"缺少 {', '.join(map(str, gone[:SHOWN]))}，永远凑不齐。",
                tuple(x.evidence() for lines in twice.values() for x in lines[:2])[:8],
                {"twice": sorted(twice), "missing": gone[:40], "whole": whole},
            )  # fmt: skip
        elif (
            code == "ranks-duplicated"
            and blamed.isdisjoint(told)
            and same.keys() == set(range(len(told)))
            and len(told) < whole
        ):
            last = told[max(told, key=lambda name: told[name][0])][1]
            yield Finding(
                "ranks-short-of-world", Severity.S2,
                f"The logs are those of ranks 0 to {len(told) - 1}, which wait for a world of {whole}: "
                f"{whole - len(told)} processes have not started, or their logs are elsewhere.",
                f"日志只有 rank 0 到 {len(told) - 1}，而它们在等待 {whole} 个进程："
                f"其余 {whole - len(told)} 个没有启动，或其日志不在这里。",
                (last.evidence(),), {"there": len(told), "whole": whole},
            )  # fmt: skip


def _one_each(
    waits: Mapping[str, Sequence[Line]], of: re.Pattern[str], among: re.Pattern[str]
) -> tuple[dict[str, tuple[int, Line]], int]:
    """The one rank that each log is told, and the one size of the world; no log where they differ."""
    told: dict[str, tuple[int, Line]] = {}
    wholes: set[int] = set()
    for name, said in waits.items():
        cleared = [(line, _LOCAL.sub("", line.text) if of is RANK else line.text) for line in said]
        ranks = {int(found[1]): line for line, text in cleared if (found := of.search(text))}
        sizes = {int(w) for line in said for found in among.findall(line.text)
                 for w in ([found] if isinstance(found, str) else found) if w}  # fmt: skip
        if len(ranks) == 1 and len(sizes) == 1:
            told[name] = next(iter(ranks.items()))
            wholes |= sizes
    return (told, next(iter(wholes))) if len(wholes) == 1 else ({}, 0)

"""Processes that do not find each other: what each was told to dial, and whether anybody answers there.

A few refused connections are usual while the first process comes up. What is told here goes on to the end of the log,
or for a minute and longer, with no step and no request behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..findings import Evidence, Finding, Severity, clean, declare
from ..patterns import bounded
from .signatures.signature import CHECK
from .texts import CLOCK, Text

CODES = declare(
    "meeting",
    ("rendezvous-waits", CHECK, "processes go on dialling a master that does not answer, or wait for others to join"),
    ("master-addresses-differ", CHECK, "processes of one job are told different masters to meet at"),
)
WORDS = (b"MASTER_ADDR", b"master_addr", b"socket", b"join", b"onnect", b"egister", b"rrived", b"hecked in", b"eady")
"""One of which a log has that says anything of a meeting."""
MASTER = bounded(r"(?i)\bmaster_?addr(?:ess)?[\"']?\s{0,2}[=:]\s{0,2}[\"']?\[?([\w.:-]{3,80}?)[\"'\],;)]{0,2}(?=\s|$)")
WORLD = bounded(r"(?i)\bworld_?size[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(\d{1,6})\b")
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
WHO = bounded(r"(?i)\b(?:worker|client|rank|node|peer|process(?:es)?|member|participant|agent|host)s?\b")
TRIES, MINUTE = 5, 60.0
"""Refused attempts, and seconds from the first to the last, from which on nobody will answer. Own judgement."""
RANKS = 3
"""Refused attempts that count where the clock is not told, for each process that dials."""
SHOWN = 4
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
    blamed = {e.file for f in found if f.severity < Severity.S2 for e in f.evidence}
    waits = {name: _said(name, text) for name, text in texts.items() if text.whole and _waits(text)}
    yield from _apart([line for said in waits.values() for line in said])
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


def _misses(name: str, said: Sequence[Line]) -> list[Finding]:
    """One finding where the last count of those who joined is short and does not grow."""
    counts = [(line, [int(g) for g in m.groups() if g]) for line in said
              if WHO.search(line.text) and (m := JOINED.search(line.text))]  # fmt: skip
    if len(counts) < 2:
        return []
    (first, (_, whole)), (last, (there, of)) = counts[0], counts[-1]
    same = [c for _, c in counts if c == [there, of]]
    begin, end = first.clock, last.clock
    lasts = (end - begin) % 86_400 if begin is not None and end is not None else MINUTE
    if there >= of or whole != of or len(same) < 2 or lasts < MINUTE:
        return []
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
            before = told.setdefault(line.rank, (match[1].lower(), line))
            if before[0] != match[1].lower():
                return  # started again elsewhere
            worlds |= {int(w) for w in WORLD.findall(line.text)}
    masters: dict[str, list[str]] = {}
    for rank, (address, _) in told.items():
        masters.setdefault(address, []).append(rank)
    alike = len({_IP.fullmatch(address) is None for address in masters}) == 1
    whole = next(iter(worlds)) if len(worlds) == 1 else 0
    if len(masters) < 2 or not alike or whole < 2 or len(told) > whole or max(map(len, masters.values())) >= whole:
        return
    each = "; ".join(f"{address} on rank {', '.join(ranks[:SHOWN])}{' ...' if ranks[SHOWN:] else ''}"
                     for address, ranks in [*masters.items()][:SHOWN])  # fmt: skip
    yield Finding(
        "master-addresses-differ", Severity.S1,
        f"Processes of one world of {whole} are to meet at {len(masters)} different masters: {each}.",
        f"同一个 world（{whole} 个进程）要在 {len(masters)} 个不同的 master 会合：{each}。",
        tuple(told[ranks[0]][1].evidence() for ranks in [*masters.values()][:SHOWN]),
        {"masters": {a: len(r) for a, r in masters.items()}, "world_size": whole},
    )  # fmt: skip

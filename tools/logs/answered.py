"""What an inference server answered by its own log, and what still ran when it last said so; counted, not judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..patterns import bounded

FEW = 0.01
"""Share of the answers that may be refusals, or as many as may still run at the last report. Own judgement."""
ANSWER = bounded(
    rb'(?:"POST [^" \n]{1,200} HTTP/1\.\d"|done request: POST [^" \n]{1,200} [0-9a-fA-F.:]{2,45}) (\d)\d\d'
)
"""As uvicorn and as llama.cpp write it."""
DECODED = bounded(
    rb"(prompt )?eval time =\s{1,20}[\d.]{1,20} ms /\s{0,20}(\d{1,9}) (?:tokens|runs)\s{0,5}"
    rb"\(\s{0,20}[\d.]{1,20} ms per token,\s{0,20}([\d.]{1,20}) tokens per second"
)
"""The speed of one answer, as llama.cpp writes it."""
READING = 5.0
"""Tokens per second below which an answer comes slower than people read: about 230 words a minute."""
SENTENCE = 10
"""Tokens of an answer below which its speed says little."""
MANY, TOGETHER, FULL, FASTER = 20, 0.2, 0.95, 10
"""Requests that end in one burst, their share of all answers, the share of those that ran, and how many times as many
as between the two reports before it, from which on they ended for one reason. Own judgement."""
LOAD = bounded(rb"\bRunning: (\d{1,9}) reqs|#running-req: (\d{1,9})")


@dataclass(frozen=True)
class Served:
    """What one log says so far."""

    good: int = 0
    bad: int = 0
    """Requests that were answered, and answered with an error."""
    broken: int = 0
    """Of the latter, those that the server itself failed at (5xx)."""
    broken_at: int = 0
    """Line of the first of them, 0 for none."""
    last: int = 0
    """Line of the last answer."""
    running: int = 0
    """Requests that ran at the last report of the load."""
    told: int = 0
    """Its line, 0 for none."""
    since: int = 0
    """Requests that were answered since then."""
    pace: int = 0
    """Requests that were answered between that report and the one before it."""
    decoded: int = 0
    slow: int = 0
    """Answers of which the speed is told, and those that came slower than people read."""
    slow_at: int = 0
    """Line of the first slow one, 0 for none."""
    slowest: float = 0.0
    """Its speed and that of those after it at least, in tokens per second."""

    @property
    def busy(self) -> bool:
        return self.running > max(1, FEW * (self.good + self.bad))

    @property
    def burst(self) -> bool:
        """Whether all that ran at the last report were answered before the next, far faster than those before, which
        ended one by one: of requests that all have one length nothing is told."""
        most = self.running >= max(MANY, TOGETHER * (self.good + self.bad))
        return most and self.since >= FULL * self.running and self.since >= FASTER * self.pace > 0

    @property
    def refused(self) -> bool:
        return self.bad > FEW * (self.good + self.bad)


NOTHING = Served()
HINTS = (b" HTTP/1.", b"done request: ", b"eval time =", b" reqs", b"#running-req")
"""Of which a piece of a log holds one wherever a pattern above is found."""


def heard(data: bytes, number: int, before: Served) -> Served:
    """The same after another piece of the log, of which `number` is the first line; it holds one of `HINTS`."""
    before = _decoded(data, number, before)
    answers = [*ANSWER.finditer(data)] if b" HTTP/1." in data or b"done request: " in data else []
    loads = [*LOAD.finditer(data)] if b" reqs" in data or b"#running-req" in data else []
    if not answers and not loads:
        return before
    bad = sum(m[1] in b"45" for m in answers)
    last = number + data.count(b"\n", 0, answers[-1].start()) if answers else before.last
    own = [m for m in answers if m[1] == b"5"]
    at = before.broken_at or (number + data.count(b"\n", 0, own[0].start()) if own else 0)
    running, told = before.running, before.told
    since, pace = before.since + len(answers), before.pace
    if loads:
        ends = [m.start() for m in loads]
        counts = [
            sum(a <= m.start() < b for m in answers) for a, b in zip([-1, *ends], [*ends, len(data)], strict=True)
        ]
        counts[0] += before.since
        since, pace = counts[-1], counts[-2]
        running, told = int(loads[-1][1] or loads[-1][2]), number + data.count(b"\n", 0, loads[-1].start())
    good, bad = before.good + len(answers) - bad, before.bad + bad
    before = replace(before, broken=before.broken + len(own), broken_at=at)
    return replace(before, good=good, bad=bad, last=last, running=running, told=told, since=since, pace=pace)


def _decoded(data: bytes, number: int, before: Served) -> Served:
    told = [m for m in DECODED.finditer(data) if not m[1] and int(m[2]) >= SENTENCE] if b"eval time =" in data else []
    slow = [m for m in told if float(m[3]) < READING]
    if not slow:
        return replace(before, decoded=before.decoded + len(told))
    at = before.slow_at or number + data.count(b"\n", 0, slow[0].start())
    least = min([float(m[3]) for m in slow] + ([before.slowest] if before.slow else []))
    return replace(before, decoded=before.decoded + len(told), slow=before.slow + len(slow), slow_at=at, slowest=least)

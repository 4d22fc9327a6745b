"""What an inference server answered by its own log, and what still ran when it last said so; counted, not judged."""

from __future__ import annotations

from dataclasses import dataclass

from ..patterns import bounded

FEW = 0.01
"""Share of the answers that may be refusals, or as many as may still run at the last report. Own judgement."""
ANSWER = bounded(
    rb'(?:"POST [^" \n]{1,200} HTTP/1\.\d"|done request: POST [^" \n]{1,200} [0-9a-fA-F.:]{2,45}) (\d)\d\d'
)
"""As uvicorn and as llama.cpp write it."""
LOAD = bounded(rb"\bRunning: (\d{1,9}) reqs|#running-req: (\d{1,9})")


@dataclass(frozen=True)
class Served:
    """What one log says so far."""

    good: int = 0
    bad: int = 0
    """Requests that were answered, and answered with an error."""
    last: int = 0
    """Line of the last answer."""
    running: int = 0
    """Requests that ran at the last report of the load."""
    told: int = 0
    """Its line, 0 for none."""

    @property
    def busy(self) -> bool:
        return self.running > max(1, FEW * (self.good + self.bad))

    @property
    def refused(self) -> bool:
        return self.bad > FEW * (self.good + self.bad)


NOTHING = Served()


def heard(data: bytes, number: int, before: Served) -> Served:
    """The same after another piece of the log, of which `number` is the first line."""
    answers = [*ANSWER.finditer(data)] if b" HTTP/1." in data or b"done request: " in data else []
    loads = [*LOAD.finditer(data)] if b" reqs" in data or b"#running-req" in data else []
    if not answers and not loads:
        return before
    bad = sum(m[1] in b"45" for m in answers)
    last = number + data.count(b"\n", 0, answers[-1].start()) if answers else before.last
    running, told = before.running, before.told
    if loads:
        running, told = int(loads[-1][1] or loads[-1][2]), number + data.count(b"\n", 0, loads[-1].start())
    return Served(before.good + len(answers) - bad, before.bad + bad, last, running, told)

"""From signature hits to findings: the first cause of each failure, its echoes, and failures that the run survived.

The error at the end of a log is the last in a cascade; the first one above it is the cause. Order is the order of
lines in one file; across files only "somebody else failed for a reason of his own" is used, clocks are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...findings import Evidence, Finding, Severity, clean, declare
from ...phrase import LINE, counted
from ...series import Series
from ...vocabulary import VOCABULARY
from .holders import capacity, fragmented, holders, taken
from .longest import longest
from .match import TABLE, Hit, Hits
from .parts import TOLD, bare, parts
from .phases import FRAME, frames, in_a_start, phases, recomputing
from .signature import CHECK
from .software import GENERIC
from .uncaught import aside, handled, restarts, stop

PROGRESS_STEPS = 3
"""Different steps logged after a hit, within the attempt, that show that the run survived it. Own judgement."""
CASCADE_LINES = 4_000
"""Lines within which a later failure is taken for the consequence of the first. Own judgement."""
CAUGHT, OPENING = 10, 24
"""Exceptions of a log from which on the program is taken to catch them where it logs steps between two of one kind, and
characters of what they say that tell the kind. Own judgement."""

_NUMBERS = re.compile(r"\d+")
WRAPPED_LINES = 150
"""Lines within which the cause follows the message that wraps it (`BackendCompilerFailed: ... raised:`, the report of
torchrun that names the signal at its end): a traceback of an engine may stand between."""

TOLD_OF = {
    "cuda-oom": (phases, recomputing, holders, fragmented, longest),
    "engine-init-failure": (taken,),
    **dict.fromkeys(TOLD, (parts,)),
}
"""What more is told of a code: the phase, who holds the memory, the part of the training."""
DEATHS, AGAIN = ("native-crash", "killed-without-reason"), 3
"""Codes of a process that is gone, and times that a program dies of the same, start after start, from which on it is no
matter of an earlier start. Own judgement."""
ENDS_SERVING = "engine-crash"
"""Code of a server's engine that is gone."""

AS_FAR = 0.5
"""Share of the lines up to a failure that the last start must have, to have got beyond it. Own judgement."""

SERVES = (b"Application startup complete", b"Avg prompt throughput", b'HTTP/1.1" 200', b"Prefill batch",
    b"Decode batch", b"fired up and ready", b"text_generation_router::server", b"print_timing: id",
    b"all slots are idle", b'"Active Request Count"', b"[TM][INFO] [Forward]")  # fmt: skip
"""An inference server answers: vLLM, SGLang, TGI, llama.cpp, TensorRT-LLM, LMDeploy."""
ALIVE = (b"exits successfully", b"'train_runtime'", b'"train_runtime"', b"raining complete", b"raining is complete",
    b"raining done", b"raining is done", b"raining finished", b"raining is finished", b"inished training",
    b"inished Training", *SERVES)  # fmt: skip
"""The run ended well, or a server answers. Plain words: a search for them costs a tenth of that for a pattern."""
EARLY = (b"stopping_early", b"topping early", b"topped early", b"arly stopping triggered", b"arly stop triggered",
         b"arly stopping at ", b"arly stop at ", b"arly stopping after ", "触发早停".encode(),
         "早停触发".encode())  # fmt: skip
"""The training ended as it was to, patience or time ran out; before its first step it is a text of the program."""
STARTED = (b"Application startup complete", b"fired up and ready")
"""Of these what a server says once, at its start: what was shut down before is another one."""
SHUTS = (
    b"Draining requests and shutting down",
    b"hutting down FastAPI HTTP server",
    b"INFO:     Shutting down",
    b"SIGTERM received.",
    b"trigger received signal=SIGTERM",
)
"""A server was told to stop."""

ECHOES = {("nccl-timeout", "echo"): "timeout-after-error", ("job-cancelled", "echo"): "step-ended-after-error"}
STOPPED, WAITED = ("job-cancelled", "node-lost", "interrupted"), ("nccl-timeout",)
"""How a run is stopped from outside, and what takes minutes of waiting to be said."""
LET_GO = (*STOPPED, "dependency-conflict")
"""Of what steps come after it is a note: who stopped a run has let it go on, and what an installer complained of has
done its work."""
TAKEN_BACK = "failure-taken-back"
CODES = declare(
    "causes",
    ("timeout-after-error", CHECK, "a collective timed out because another rank had failed before"),
    ("step-ended-after-error", CHECK, "the scheduler ended what was left of a job step after a task of it had failed"),
    (TAKEN_BACK, CHECK, "a line sounds like a failure, and the log itself says that it is none"),
)

ENGINE_CRASH = next(i for i, row in enumerate(TABLE) if row.code == "engine-crash")
"""The row that an engine's failure belongs to once the engine has served: it did start."""


@dataclass(frozen=True)
class Timeline:
    """What the metrics of one file say about its life."""

    attempts: tuple[tuple[str, int, int], ...] = ()
    """(attempt, first line, last line) in the order of lines."""
    lines: Mapping[str, tuple[int, ...]] | None = None
    """Attempt -> lines at which a new step was logged (a sample of at most 1,000, and the last ten)."""
    alive: int = 0
    """Last line that matches `ALIVE`."""
    serves: int = 0
    """First line that matches `SERVES`, 0 for none."""
    starts: tuple[int, ...] = ()
    """Lines at which the program was started again."""
    shut: int = 0
    """First line since the last start that says that a server is shut down on purpose, 0 for none."""
    end: int = 0
    """Last line, 0 where it is not known."""

    def survives(self, line: int) -> bool:
        """Whether the same attempt logs further steps after the line, or the run is said to end well."""
        if self.alive > line:
            return True
        for name, first, last in self.attempts:
            if first < line < last and self.lines is not None:
                return sum(at > line for at in self.lines.get(name, ())) >= PROGRESS_STEPS
        return False

    def resumes(self, line: int) -> bool:
        """Whether the run goes on later in the file: a later start or attempt, or the first step of the run."""
        if any(start > line for start in self.starts) and self._beyond(line):
            return True
        later = [name for name, first, _ in self.attempts if first > line]
        return any(len((self.lines or {}).get(name, ())) >= PROGRESS_STEPS for name in later)

    def _beyond(self, line: int) -> bool:
        """Whether the last start got about as far as the one in which the line stands."""
        begun = max((start for start in self.starts if start <= line), default=0)
        return not self.end or self.end - max(self.starts) >= AS_FAR * (line - begun)


def timelines(series: Iterable[Series]) -> dict[str, Timeline]:
    """Timeline of every file, from its longest series of each attempt."""
    best: dict[tuple[str, str], Series] = {}
    for one in series:
        if one.confidence < 1.0 and one.metric not in VOCABULARY:
            continue  # numbers of lines that may be no steps
        where = (one.file, one.attempt)
        if len(one) and (where not in best or len(one) > len(best[where])):
            best[where] = one
    result: dict[str, Timeline] = {}
    for (file, attempt), one in best.items():
        stride = max(1, len(one) // 1000)
        lines = tuple(int(x) for x in (*one.lines[::stride], *one.lines[-10:]))
        old = result.get(file, Timeline((), {}))
        spans = (*old.attempts, (attempt, int(one.lines.min()), int(one.lines.max())))
        result[file] = Timeline(tuple(sorted(spans, key=lambda s: s[1])), {**(old.lines or {}), attempt: lines})
    return result


@dataclass(frozen=True)
class _Event:
    """One code in one file, at its first hit."""

    file: str
    hit: Hit
    hits: Hits
    severity: Severity
    survived: str = ""
    back: bool = False
    """The log itself says that it is no failure: what the code stands for is not the case."""

    @property
    def code(self) -> str:
        return self.hit.signature.code

    @property
    def order(self) -> tuple[Severity, Severity, bool, int]:
        """What of several hits of a code is shown: the worst, by what it would be alone too, no echo, the first."""
        return self.severity, self.hit.signature.severity, self.hit.signature.role == "echo", self.hit.line

    @property
    def only_warned(self) -> bool:
        """A warning, though its row speaks of what ends a run."""
        return self.hit.warns and self.severity == Severity.S0 and not self.hit.signature.lasting


def judge(found: Mapping[str, Mapping[int, Hits]], lives: Mapping[str, Timeline]) -> list[Finding]:
    """Findings of all files, most severe first.

    Args:
        found: file name -> row index -> hits.
        lives: file name -> timeline; a file without metrics may be absent.
    """
    events = {file: _events(file, hits, lives.get(file, Timeline())) for file, hits in found.items()}
    causes = {file: _first_cause(file_events) for file, file_events in events.items()}
    pairs = [(event, _finding(event, _follows(event, causes))) for each in events.values() for event in each]
    findings = [f for _, f in pairs]
    findings += [p for e, f in pairs for tell in TOLD_OF.get(e.code, ()) for p in tell(e.file, _kept(e.hits), f)]
    return sorted(findings, key=lambda f: f.severity)


def _events(file: str, rows: Mapping[int, Hits], life: Timeline) -> list[_Event]:
    """One event for each code, in the order of lines; a generic exception that a better row names is dropped."""
    known = [h for row, hits in rows.items() if TABLE[row] is not GENERIC for h in _kept(hits)]
    words = {_NUMBERS.sub("", h.text) for h in known}
    named = {n for h in known for n in (h.line, *handled(h))}
    again = restarts(h for hits in rows.values() for h in _kept(hits))
    life = replace(life, starts=tuple(sorted({*life.starts, *again}))) if again else life
    events: dict[str, _Event] = {}
    for row, hits in rows.items():
        for hit in _kept(hits):
            if TABLE[row] is GENERIC and (hit.line in named or _NUMBERS.sub("", hit.text) in words):
                continue
            event = _graded(file, hit, hits, life)
            old = events.get(event.code)
            if old is None or event.order < old.order:
                events[event.code] = event
    return _without_warnings(sorted(_each_time([*events.values()]), key=lambda e: e.hit.line))


def _each_time(events: list[_Event]) -> list[_Event]:
    """What a server dies of time after time is not survived because somebody starts it again."""
    deaths = next((e for e in events if e.code == ENDS_SERVING and _recurs(e.hits)), None)
    if deaths is None:
        return events
    lines = [hit.line for hit in _kept(deaths.hits)]

    def with_a_death(event: _Event) -> bool:
        near = [hit for hit in _kept(event.hits) if any(abs(hit.line - line) <= WRAPPED_LINES for line in lines)]
        return event.hit.signature.role == "cause" and event.hit.signature.severity < Severity.S2 and len(near) >= AGAIN

    return [replace(e, severity=Severity.S1, survived="") if e.survived and not e.back and with_a_death(e) else e
            for e in events]  # fmt: skip


def _without_warnings(events: list[_Event]) -> list[_Event]:
    """The events; what Python only warned of is a note where nothing else failed."""
    if any(e.severity <= Severity.S1 and not e.only_warned for e in events):
        return events
    note = {"severity": Severity.S3, "survived": "it is only a warning", "back": True}
    return [replace(e, **note) if e.only_warned else e for e in events]


def _kept(hits: Hits) -> list[Hit]:
    return hits.first + ([hits.last] if hits.last is not None and hits.last not in hits.first else [])


def _graded(file: str, hit: Hit, hits: Hits, life: Timeline) -> _Event:
    """The hit with its severity in this run: a note when the attempt goes on, S2 when steps come later."""
    if hit.signature.code == "engine-init-failure" and 0 < life.serves < hit.line:
        hit = replace(hit, row=ENGINE_CRASH)
    severity = hit.signature.severity
    if hit.signature.lasting:
        return _Event(file, hit, hits, severity)
    if hit.line < hits.undone:
        return _Event(file, hit, hits, Severity.S3, f"line {hits.undone} takes it back", back=True)
    if hit.absolved and not frames(hit):
        return _Event(file, hit, hits, Severity.S3, hit.absolved, back=True)
    if aside(hit):
        return _Event(file, hit, hits, Severity.S3, "Python prints such an exception and drops it", back=True)
    if hit.noted and severity < Severity.S2 and not frames(hit):
        return _Event(file, hit, hits, Severity.S3, "the program tells it as a note (INFO)")
    if hit.signature.code in DEATHS and _recurs(hits):
        return _Event(file, hit, hits, Severity.S0)
    if severity < Severity.S2 and _dies_again(hits, life):
        return _Event(file, hit, hits, severity)
    if severity < Severity.S2 and life.serves > 0 and hit.line < life.alive and in_a_start(hit):
        return _Event(file, hit, hits, Severity.S2, "another server, or a later start, answers in the same file")
    if severity == Severity.S0 and hit.signature.role == "cause" and 0 < life.serves < hit.line < life.alive:
        return _Event(file, hit, hits, Severity.S2, "the server goes on, without what it was asked for then")
    if life.survives(hit.line):
        return _Event(file, hit, hits, Severity.S3, "the run goes on after it")
    if hit.signature is GENERIC and _caught(hit, hits, life):
        return _Event(file, hit, hits, Severity.S3, "it is one of many, and steps were logged after others of its kind")
    if 0 < life.serves < life.shut < hit.line:
        return _Event(file, hit, hits, Severity.S3, "the server was being shut down on purpose")
    if life.resumes(hit.line) and severity < Severity.S2:
        again = any(start > hit.line for start in life.starts)
        why = "the program is started again later" if again else "steps are logged later"
        left = Severity.S3 if hit.signature.code in LET_GO else Severity.S2
        return _Event(file, hit, hits, left, f"{why} in the same file")
    return _Event(file, hit, hits, severity)


def _caught(hit: Hit, hits: Hits, life: Timeline) -> bool:
    """Whether the program lives with such exceptions: there are many, and after one of this kind it logged a step in
    the same attempt. One that ends the script itself is not caught."""
    stack = frames(hit)
    if hits.count < CAUGHT or (stack and any(text.rstrip().endswith("in <module>") for _, text in stack)):
        return False
    spans = [(name, first, last) for name, first, last in life.attempts if first <= hit.line or hit.line <= last]
    if len(spans) != 1 or any(start > 1 for start in life.starts):
        return False
    logged = (life.lines or {}).get(spans[0][0], ())
    kind = _kind(hit)
    alike = [h.line for h in _kept(hits) if h.line <= hit.line and _kind(h) == kind]
    return any(at > min(alike) for at in logged)


def _kind(hit: Hit) -> str:
    return _NUMBERS.sub("", hit.text).strip()[:OPENING]


def _recurs(hits: Hits) -> bool:
    """Whether it ends one start after the other, and not several processes at once: then no start mends anything."""
    lines = [hit.line for hit in _kept(hits)]
    return sum(b - a > WRAPPED_LINES for a, b in pairwise([-WRAPPED_LINES - 1, *lines])) >= AGAIN


def _dies_again(hits: Hits, life: Timeline) -> bool:
    """Whether a program ends by it, start after start, having logged steps in between."""
    ends = [h.line for h in _kept(hits) if (stack := frames(h)) and stack[0][1].rstrip().endswith("in <module>")]
    logged = sorted(at for lines in (life.lines or {}).values() for at in lines)
    between = sum(any(a < at < b for at in logged) for a, b in pairwise(ends))
    return between + 1 >= AGAIN


def _first_cause(events: Sequence[_Event]) -> _Event | None:
    """The first serious event that is no echo; if all are echoes, the first of the gravest."""
    serious = [e for e in events if e.severity in (Severity.S0, Severity.S1) or e.code == "interrupted"]
    own = [e for e in serious if e.hit.signature.role == "cause" and e.severity != Severity.S3]
    return own[0] if own else min(serious, key=lambda e: e.severity, default=None)


def _follows(event: _Event, causes: Mapping[str, _Event | None]) -> _Event | None:
    """The event that this one follows from, None when it is the first."""
    if (first := causes.get(event.file)) is not None and first.code != event.code:
        gap = event.hit.line - first.hit.line
        reach = 5 if first.hit.signature is GENERIC else WRAPPED_LINES  # a bare exception says less than its wrapper
        wraps = event.hit.signature.role == "echo" and -reach <= gap <= 0
        after = any(0 < event.hit.line - hit.line <= CASCADE_LINES for hit in _kept(first.hits))
        if after or wraps:
            return first
    if event.hit.signature.role == "echo" and (first is None or first.code == event.code):
        return next((c for c in causes.values() if c is not None and c.file != event.file and _led_to(c, event)), None)
    return None


def _led_to(cause: _Event, event: _Event) -> bool:
    """Whether what stands in another log can be why; who was stopped waits for nobody until a time limit."""
    stopped = cause.code in STOPPED and event.code in WAITED
    return cause.hit.signature.role == "cause" and not stopped


def _finding(event: _Event, cause: _Event | None) -> Finding:
    """The finding of an event; a consequence is graded S2 (S3 stays)."""
    hit, severity, note, note_zh = event.hit, event.severity, "", ""
    said, said_zh, data = _said(event)
    if cause is not None:
        severity = max(severity, Severity.S2)
        data["follows"] = {"code": cause.code, "file": cause.file, "line": cause.hit.line}
        note = f" It follows {cause.code} at {cause.file}:{cause.hit.line}."
        note_zh = f" 它是 {cause.file}:{cause.hit.line} 处 {cause.code} 的后果。"
    if event.survived:
        data["survived"] = event.survived
        note += f" Not fatal: {event.survived}."
        note_zh += " 并不致命：运行在此之后继续。"
    if event.back:
        data["code"] = hit.signature.code
    evidence = tuple(Evidence(event.file, h.line, rank=h.rank, text=clean(h.text)) for h in _kept(event.hits))
    first = Evidence(event.file, hit.line, rank=hit.rank, text=clean(hit.text))
    return Finding(
        _code(event, cause),
        severity,
        f"{event.file}:{hit.line}: {said} ({counted(event.hits.count, LINE)}).{note}",
        f"{event.file}:{hit.line}：{said_zh}（共 {event.hits.count} 行）。{note_zh}",
        (first, *(e for e in evidence if e != first)),
        data,
    )


def _code(event: _Event, cause: _Event | None) -> str:
    if event.back:
        return TAKEN_BACK
    return ECHOES.get((event.code, event.hit.signature.role), event.code) if cause is not None else event.code


def _said(event: _Event) -> tuple[str, str, dict[str, object]]:
    """What the event means, in both languages, and its data: of a bare exception, what it says and where it was."""
    signature = event.hit.signature
    data: dict[str, object] = {"count": event.hits.count, "role": signature.role, **bare(event.hit)}
    told = stop(event.hit) if signature is GENERIC else None
    if event.code == "cuda-oom" and (card := capacity(event.hit.text)) is not None:
        data["card"] = card
    if told is None:
        return signature.en, signature.zh, data
    data |= {"exception": told.type, "message": told.message}
    if told.file:
        data["at"] = {"file": told.file, "line": told.line, "in": told.inside}
    en, zh = told.place
    return f"the program stopped on {told.words}{en}", f"程序因 {told.words} 退出{zh}", data


def cut_traceback(lines: Sequence[tuple[int, str]], before: int) -> tuple[int, str] | None:
    """The last frame of a traceback whose own last line is missing, within 12 lines above line `before`.

    Watchdog text can be glued to a traceback in place of the exception (field notes).
    """
    frames = [(n, text) for n, text in lines if before - 12 <= n <= before and FRAME.match(text)]
    return frames[-1] if frames else None

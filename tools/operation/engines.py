"""Engines that sleep between rollouts: the order of their events, one engine at a time.

An engine that is asked to generate while it sleeps waits for ever, and says nothing. Only logs that show the usual
round, asleep and awake again, are judged, and only what is the end of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ..patterns import bounded
from ..reading import head
from ..run import Artifact, Run

CHECK = "sleep and wake of rollout engines"
CODES = declare(
    "engines", ("engine-used-asleep", CHECK, "an engine is asked to generate while it sleeps, and no more is heard")
)
SLEEPS = bounded(
    r"(?i)fall(?:s|ing)? asleep|fell asleep|\bsleep(?:s|ing)?\b(?! ?mode)|release_memory_occupation|休眠|睡眠"
)
WAKES = bounded(r"(?i)\bwak(?:e|es|ing)[ _-]?up|\bwoke\b|\bawake\b|resume_memory_occupation|唤醒")
WORKS = bounded(r"(?i)\bgenerat(?:e|es|ing|ion)\b|rollout (?:start|begin)|开始(?:生成|采样)|Running: [1-9]\d{0,5} reqs")
OVER = bounded(r"(?i)finish|done|complete|took \d|throughput: 0|结束|完成|用时|not |disabl")
NOT = bounded(r"(?i)\bnot\b|disabl|enable_?sleep|sleep_mode")
ENGINE = bounded(r"(?i)\b(?:engine|llm|actor|worker|replica|server)\w{0,20}[ _#=:\[]{1,2}(\d{1,4})\b|引擎 ?(\d{1,4})")
FILES, BYTES = 40, 8 << 20
ROUNDS, BEHIND = 2, 60
"""Whole rounds that a log must show, and lines that may follow what is taken for its end. Own judgement."""


@dataclass
class State:
    """One engine so far."""

    asleep: int = 0
    """Line on which it fell asleep, 0 while it is awake."""
    rounds: int = 0
    used: int = 0
    """Line on which it was asked to work while asleep."""


def _lines(artifact: Artifact) -> list[str]:
    """The first lines of a log that speaks of sleep; none of another, or of one that cannot be read."""
    with suppress(TriageError, OSError):
        data = head(artifact.path, BYTES)
        return data.decode("utf-8", "replace").splitlines() if b"sleep" in data or b"Sleep" in data else []
    return []


def check_engines(run: Run) -> Report:
    """Engines that were asked to work in their sleep."""
    logs = [*run.of("log")][:FILES]
    found = [f for a in logs for f in _told(a.name, _lines(a))]
    return Report(
        "engines", tuple(found[:1]), (Check(CHECK, "found" if found else "clear" if logs else "not-applicable"),)
    )


def _told(name: str, lines: list[str]) -> Iterator[Finding]:
    engines: dict[str, State] = {}
    for number, line in enumerate(lines, 1):
        text = line[:400]
        wakes, sleeps = WAKES.search(text), SLEEPS.search(text)
        if not (wakes or sleeps or WORKS.search(text)):
            continue
        who = ENGINE.search(text)
        state = engines.setdefault(next(filter(None, who.groups()), "") if who else "", State())
        if wakes:
            state.rounds += bool(state.asleep)
            state.asleep = state.used = 0
        elif sleeps and not NOT.search(text):
            state.asleep = state.asleep or number
        elif state.asleep and not state.used and not OVER.search(text):
            state.used = number
    bad = [(who, s) for who, s in engines.items() if s.used and s.rounds >= ROUNDS and len(lines) - s.used <= BEHIND]
    for who, state in bad[:1]:
        named = f"engine {who}" if who else "the engine"
        yield Finding(
            "engine-used-asleep", Severity.S1,
            f"{name}:{state.used}: {named} is asked to generate, and has slept since line {state.asleep} with no wake "
            f"between, after {state.rounds} rounds that had one. Nothing follows that would wake it.",
            f"{name}:{state.used}：引擎 {who}在睡眠中（第 {state.asleep} 行起）被要求生成，之前 "
            f"{state.rounds} 轮都先唤醒过；之后也没有任何唤醒。",
            tuple(Evidence(name, n, text=clean(lines[n - 1], 200)) for n in (state.asleep, state.used)),
            {"engine": who, "rounds": state.rounds},
        )  # fmt: skip
